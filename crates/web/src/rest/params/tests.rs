use proptest::prelude::*;

use super::*;

const A_STATUS: Param = Param::new::<kind::Text>(STATUS, "");

const A: Param = Param::new::<kind::Text>("a", "");

const SPEC: Spec = Spec {
    aliases: &[("league", "league_id"), ("page_size", "limit")],
    tolerated: &["tz"],
    // In version 1 the aliases are documented, and the filters are read by their full names.
    ..Spec::new(&[&[
        Param::new::<kind::Id>("league", ""),
        Param::new::<kind::Id>("league_id", ""),
        A_STATUS,
    ]])
    .paged()
};

#[test]
fn unknown_names_are_refused_and_aliases_are_found() {
    let params = Params::read(Some("league=7&page_size=900&tz=x&token=k&status="), SPEC);
    let params = params.unwrap();
    assert_eq!(params.id("league_id").unwrap(), Some(7));
    assert_eq!(
        params.window_of(PageSize::USUAL).unwrap(),
        Window { offset: 0, limit: PageSize::USUAL.max }
    );
    assert_eq!(params.text("status"), None);
    let Err(ApiError::UnknownParameters { unknown, .. }) = Params::read(Some("foo=1"), SPEC) else {
        panic!("an unknown name was taken");
    };
    assert_eq!(unknown, ["foo"]);
}

params! {
    struct Sample { #[alias("league")] league_id: Ids = "Leagues", kind as "type": Word = "" }
}

#[test]
fn declared_parameters_are_accepted_and_read() {
    const SAMPLE: Spec = Spec::new(&[Sample::PARAMS]);
    let params = |query: &str| Params::read(Some(query), SAMPLE).expect("accepted");
    let Sample { league_id, kind } = Sample::read(&params("league=7,8&type=A")).unwrap();
    assert_eq!(league_id.ids(), Some(vec![7, 8]));
    assert!(kind.passes(Some("a")) && !kind.passes(Some("b")) && !kind.passes(None));
    assert!(Sample::read(&params("league_id=x")).is_err());
    let names = SAMPLE.documented().map(|parameter| parameter.name).collect::<Vec<_>>();
    assert_eq!(names, ["league_id", "type", "timezone"]);
}

#[test]
fn parameters_without_effect_are_named() {
    const FIRST: Spec =
        Spec { ignores_others: true, ..Spec::new(&[&[Param::new::<kind::Text>("tz", ""), A]]) };
    const SECOND: Spec = Spec {
        tolerated: &["full", "ordering", "tz"],
        ..Spec::new(&[&[A, Param::new::<kind::Text>("ordering", "")]]).paged()
    };
    let check = |spec: Spec, query: &str, expected: Option<&str>| {
        let params = Params::read(Some(query), spec).expect("accepted");
        assert_eq!(params.ignored().as_deref(), expected, "{query}");
    };
    check(FIRST, "a=1&tz=Europe/Berlin&token=k&format=json", None);
    check(FIRST, "tz=", None);
    check(FIRST, "tz=Nope/Zone&a=1", Some("tz"));
    check(FIRST, "tz=%2B03:00", Some("tz"));
    check(FIRST, "search=x&full=1&search=y&tz=x", Some("full, search, tz"));
    check(FIRST, "a%0D%0Ab%2C=1", Some("a%0D%0Ab%2C"));
    check(SECOND, "a=1&limit=5&tz=UTC", None);
    check(SECOND, "tz=Europe/Berlin&full=true&ordering=a", Some("full, tz"));
}

fn read(query: &str) -> Params {
    Params::read(Some(query), SPEC).expect("known names")
}

#[test]
fn extreme_page_numbers_are_accepted() {
    let check = |query: &str, offset, limit| {
        assert_eq!(
            read(query).window_of(PageSize::USUAL).unwrap(),
            Window { offset, limit },
            "{query}"
        );
    };
    check("offset=99999999999999999999999999&limit=0", usize::MAX, PageSize::USUAL.default);
    check("offset=007&limit=99999999999999999999999999", 7, PageSize::USUAL.max);
    check("limit=10&limit=20", 0, 20);
    check("limit=&offset=%20", 0, PageSize::USUAL.default);
    for query in ["limit=-1", "offset=1.5", "offset=1e3", "limit=%2B1", "offset=٣", "limit=0x1"] {
        let refused = read(query).window_of(PageSize::USUAL);
        assert!(matches!(refused, Err(ApiError::BadParameter(_))), "{query}: {refused:?}");
    }
}

#[test]
fn invalid_ids_are_refused() {
    let most = i64::MAX;
    let id = |text: &str| read(&format!("league_id={text}")).id("league_id");
    assert_eq!(id(&most.to_string()).unwrap(), Some(most.unsigned_abs()));
    for text in ["9223372036854775808", "-1", "%2B1", "1.0", "null", "0x1"] {
        assert!(matches!(id(text), Err(ApiError::BadParameter(_))), "{text}");
    }
}

#[test]
fn unknown_words_of_status_are_ignored_with_a_warning() {
    let check = |query: &str, has_statuses: bool, ignored: Option<&str>, warnings: &[&str]| {
        let params = read(query);
        assert_eq!(
            params.statuses(params.text(STATUS), Vocabulary::FootballV2).is_some(),
            has_statuses,
            "{query}"
        );
        assert_eq!(
            (params.ignored().as_deref(), params.warnings()),
            (ignored, warnings.iter().map(|it| (*it).to_owned()).collect()),
            "{query}"
        );
    };
    check("status=finished,live", true, None, &[]);
    check("status=", false, None, &[]);
    check("", false, None, &[]);
    let warning = "status \"soon\" is not known and was ignored.";
    check("status=soon", false, Some("status"), &[warning]);
    check("status=soon,finished&tz=x", true, Some("status, tz"), &[warning]);
}

#[test]
fn days_are_those_of_the_zone() {
    let check = |zone: &str, [from, before]: [&str; 2]| {
        let params = Params::read(Some(&format!("a=2026-08-30&timezone={zone}")), DAYS).unwrap();
        let bounds = [params.from("a"), params.before("a")];
        let bounds = bounds.map(|bound| bound.unwrap().and_then(time::zulu).unwrap());
        assert_eq!(bounds, [from, before], "{zone}");
    };
    const DAYS: Spec = Spec::new(&[&[A]]);
    check("", ["2026-08-30T00:00:00Z", "2026-08-31T00:00:00Z"]);
    check("UTC", ["2026-08-30T00:00:00Z", "2026-08-31T00:00:00Z"]);
    check("Europe/Berlin", ["2026-08-29T22:00:00Z", "2026-08-30T22:00:00Z"]);
    check("America/New_York", ["2026-08-30T04:00:00Z", "2026-08-31T04:00:00Z"]);
    for unknown in ["Nope/Zone", "x", "%2B03:00"] {
        let refused = Params::read(Some(&format!("timezone={unknown}")), DAYS);
        assert!(matches!(refused, Err(ApiError::BadParameter(_))), "{unknown}: {refused:?}");
    }
    let timestamp = Params::read(Some("a=2026-08-30T01:00:00Z&timezone=Asia/Tokyo"), DAYS);
    let from = timestamp.unwrap().from("a").unwrap();
    assert_eq!(from.and_then(time::zulu).as_deref(), Some("2026-08-30T01:00:00Z"));
}

#[test]
fn values_of_closed_lists_are_refused_with_those_accepted() {
    let one = |text: &str| ["a", "b"].into_iter().find(|word| *word == text);
    assert_eq!(read("status=b").choice("status", ["a", "b"], one).unwrap(), Some("b"));
    assert_eq!(read("status=").choice("status", ["a", "b"], one).unwrap(), None);
    match read("status=c").choice("status", ["a", "b"], one) {
        Err(ApiError::UnknownValue { detail, accepted }) => {
            assert_eq!(
                (&*detail, accepted),
                ("status is to be one of a, b.", vec!["a".into(), "b".into()])
            );
        }
        other => panic!("{other:?}"),
    }
    assert!(read("league_id=1,2,3").ids_up_to("league_id", 2).is_err());
    assert_eq!(read("league_id=1,2").ids_up_to("league_id", 2).unwrap(), Some(vec![1, 2]));
}

#[test]
fn several_ids_are_separated_by_commas() {
    assert_eq!(read("league_id=1,2").ids("league_id").unwrap(), Some(vec![1, 2]));
    assert_eq!(read("league_id=7").ids("league_id").unwrap(), Some(vec![7]));
    assert_eq!(read("league_id=").ids("league_id").unwrap(), None);
    for bad in ["1,x", "1;2", ",", "1,-2"] {
        let refused = read(&format!("league_id={bad}")).ids("league_id");
        assert!(matches!(refused, Err(ApiError::BadParameter(_))), "{bad}: {refused:?}");
    }
}

proptest! {
    #[test]
    fn any_query_is_parsed_or_refused(query in ".{0,60}", name in "[a-z_]{0,9}", value in ".{0,30}") {
        for query in [query.clone(), format!("{name}={value}"), format!("status={query}")] {
            if let Ok(params) = Params::read(Some(&query), SPEC) {
                for name in SPEC.accepted() {
                    let refused = [
                        params.number(name).err(),
                        params.flag(name).err(),
                        params.from(name).err(),
                        params.before(name).err(),
                    ];
                    for error in refused.into_iter().flatten() {
                        prop_assert!(matches!(error, ApiError::BadParameter(_)), "{error:?}");
                    }
                }
                let window = params.window_of(PageSize::USUAL);
                prop_assert!(window.is_err() || window.is_ok_and(|it| (1..=PageSize::USUAL.max).contains(&it.limit)));
            }
        }
    }

    #[test]
    fn encoded_values_are_decoded(values in prop::collection::vec(".{0,20}", 1..4)) {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(values.iter().map(|value| ("status", value)));
        let params = read(&query.finish());
        let last = values.last().map(|value| value.trim()).filter(|value| !value.is_empty());
        prop_assert_eq!(params.text("status"), last);
        let filters: Vec<_> = params.filters().map(|(_, value)| value.to_owned()).collect();
        prop_assert_eq!(filters, values);
    }
}
