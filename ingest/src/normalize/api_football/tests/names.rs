//! Names that are missing, and answers that are named only.

use super::*;

/// A name is stated or absent, and not made of a number; a later image without it leaves it as it was.
#[test]
fn name_that_is_missing_is_absent() {
    let whole = fixture("1H 31", "0-0", "");
    let without = |field: &str| {
        assert!(whole.contains(field), "{field}");
        whole.replacen(field, "", 1)
    };
    let unnamed = without(r#","name":"Premier League""#);
    let named = |images: &[&String]| {
        let (mut interpreter, mut out) = (Interpreter::default(), Interpretation::default());
        for image in images {
            interpreter.message(answer(image).as_bytes(), 0, &mut out).unwrap();
        }
        let events = out.batches.iter().flat_map(|timed| &timed.batch.events);
        let fixtures = events.filter_map(|event| match &event.fact {
            Fact::Fixture(fixture) => {
                Some(fixture.competition.as_ref().map(|named| named.name.clone()))
            }
            _ => None,
        });
        let notices = out.notices.iter().map(|notice| notice.reason.clone()).collect::<Vec<_>>();
        (fixtures.map(|name| name.as_deref().map(ToOwned::to_owned)).collect::<Vec<_>>(), notices)
    };
    let league = Some("Premier League".to_owned());
    let reason = "league 39 without a name".to_owned();
    assert_eq!(named(&[&unnamed]), (vec![None], vec![reason.clone()]));
    assert_eq!(named(&[&unnamed, &whole]), (vec![None, league.clone()], vec![reason.clone()]));
    assert_eq!(named(&[&whole, &unnamed]), (vec![league], vec![reason]));
    let refused = named(&[&without(r#","name":"City""#)]);
    assert_eq!(refused, (vec![], vec!["fixture without an away team with a name".to_owned()]));
}

#[test]
fn answer_without_a_use_is_named() {
    for endpoint in ["injuries", "standings", "predictions"] {
        let mut out = Interpretation::default();
        let answer = part(endpoint, "", r#"{"league":{"id":39}}"#);
        Interpreter::default().message(answer.as_bytes(), 1, &mut out).unwrap();
        let reasons: Vec<_> = out.notices.iter().map(|it| it.reason.as_str()).collect();
        assert_eq!(reasons, [format!("an answer of {endpoint:?} has no use here")]);
        assert!(out.batches.is_empty() && out.signals.is_empty());
    }
}
