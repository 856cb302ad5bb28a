//! Rules that a generator would rarely reach: when matches are evicted, what follows, and what documents count.

use facts::event::{
    Batch, Event, Fact, Fixture, FootballFact, FootballScore, FootballStatus, Id, Incident,
    IncidentKind, MarketChange, MarketDefinition, MarketStatus, MarketTerms, OddsFact,
    SelectionChange, SelectionDefinition, SelectionStatus, SelectionTerms, Side, Sport, Stat,
};
use fanout::Micros;
use hub::{ApplyError, HubSettings, feeds::SourcePolicy};
use serde_json::{Value, json};

use crate::bench::{Bench, SETTINGS, START};

const MINUTE: Micros = 60_000_000;

/// Ended matches remain for ten minutes, and there is room for two.
const SHORT: HubSettings = HubSettings { ended_keep_us: 10 * MINUTE, matches_max: 2, ..SETTINGS };

pub(crate) fn event(id: u64, fact: Fact) -> Event {
    Event { sport: Sport::Football, match_id: Id(id), fact }
}

pub(crate) fn fixture(id: u64) -> Event {
    let fixture = Fixture {
        provider: "test".into(),
        provider_key: id.to_string().into(),
        competition: None,
        start: None,
        date: None,
        sides: None,
        ..Fixture::default()
    };
    event(id, Fact::Fixture(fixture))
}

fn status(id: u64, status: FootballStatus) -> Event {
    event(id, Fact::Football(FootballFact::Status(status)))
}

/// A market for the winner, without selections.
pub(crate) fn match_winner(status: MarketStatus) -> MarketDefinition {
    MarketDefinition {
        kind: "match_winner".into(),
        name: None,
        line: None,
        period: None,
        status,
        in_play: false,
        selections: Vec::new(),
        terms: None,
    }
}

pub(crate) fn market(id: u64, market: &str, status: MarketStatus) -> Event {
    let change = MarketChange::Define(match_winner(status));
    event(id, Fact::Odds(OddsFact { book: "betfair".into(), market: market.into(), change }))
}

pub(crate) fn at(minute: Micros, events: &[Event]) -> Batch {
    Batch { at: Some(START + minute * MINUTE), price_changes: 0, events: events.to_vec() }
}

fn has(bench: &Bench, id: u64) -> bool {
    bench.readers.contains_key(&format!("football/{id}"))
}

#[test]
fn ended_match_is_evicted_and_comes_back_under_another_epoch() {
    let mut bench = Bench::new(SHORT);
    bench.apply(&at(0, &[fixture(1), status(1, FootballStatus::Finished)]));
    bench.apply(&at(10, &[fixture(2)]));
    assert!(has(&bench, 1));
    bench.apply(&at(11, &[fixture(2), status(2, FootballStatus::FirstHalf)]));
    assert!(!has(&bench, 1));
    // The bench rejects an epoch that a channel of this name has had before.
    bench.apply(&at(12, &[fixture(1)]));
    assert!(has(&bench, 1));
    bench.check_images();
    bench.check_log();
}

#[test]
fn match_is_evicted_by_the_clock_of_its_source() {
    let mut bench = Bench::new(SHORT);
    let later = bench.source("years later", "betfair-stream", SourcePolicy::default());
    bench.apply(&at(0, &[fixture(1), status(1, FootballStatus::Finished)]));
    bench.apply_from(later, &at(5_000_000, &[fixture(2)]));
    assert!(has(&bench, 1) && has(&bench, 2));
    bench.check_images();
    bench.check_log();
}

#[test]
fn match_goes_on_when_a_market_opens_after_all_closed() {
    let mut bench = Bench::new(SHORT);
    bench.apply(&at(0, &[fixture(1), market(1, "a", MarketStatus::Closed)]));
    bench.apply(&at(1, &[market(1, "b", MarketStatus::Open)]));
    bench.apply(&at(30, &[fixture(2)]));
    assert!(has(&bench, 1));
    bench.apply(&at(31, &[market(1, "b", MarketStatus::Closed)]));
    bench.apply(&at(40, &[fixture(2)]));
    assert!(has(&bench, 1));
    bench.apply(&at(42, &[fixture(2)]));
    assert!(!has(&bench, 1));
    bench.check_images();
    bench.check_log();
}

#[test]
fn new_match_replaces_the_first_that_ended() {
    let mut bench = Bench::new(SHORT);
    bench.apply(&at(0, &[fixture(1), fixture(2)]));
    let (_, errors) = bench.apply(&at(0, &[fixture(3)]));
    assert_eq!(errors, [ApplyError::TooManyMatches(Id(3), 2)]);
    bench.apply(&at(1, &[status(1, FootballStatus::Finished)]));
    // The evicted match is reported in the same batch that needs its slot, before and after the
    // eviction.
    let abandoned = status(1, FootballStatus::Abandoned);
    let (_, errors) = bench.apply(&at(2, &[abandoned.clone(), fixture(3), abandoned]));
    assert_eq!(errors, [ApplyError::UnknownMatch(Id(1))]);
    assert!(!has(&bench, 1) && has(&bench, 2) && has(&bench, 3));
    bench.check_images();
    bench.check_log();
}

#[test]
fn market_and_readers_keep_the_same_last_transitions() {
    let mut bench = Bench::new(SETTINGS);
    bench.apply(&at(0, &[fixture(1)]));
    for minute in 1..=50 {
        let suspended = market(1, "a", MarketStatus::Suspended);
        bench.apply(&at(minute, &[market(1, "a", MarketStatus::Open), suspended]));
    }
    bench.check_images();
    let transitions = &bench.readers["football/1/odds/betfair"].data["markets"]["a"]["transitions"];
    assert_eq!(transitions.as_object().expect("they are by number").len(), 64);
    assert_eq!(transitions["100"]["status"], "suspended");
    bench.check_some_resumes(usize::MAX);
}

/// A source at its own limit evicts only its own matches; if all slots are in use, the source with
/// the most matches gives one up.
#[test]
fn source_with_most_matches_makes_room_for_others() {
    let settings = HubSettings { matches_max: 4, matches_max_per_source: 3, ..SETTINGS };
    let mut bench = Bench::new(settings);
    let other = bench.source("other", "push", SourcePolicy::default());
    let over = |id| status(id, FootballStatus::Finished);
    bench.apply_from(other, &at(0, &[fixture(9), over(9)]));
    bench.apply(&at(1, &[fixture(1), fixture(2), fixture(3)]));
    let (_, errors) = bench.apply(&at(2, &[fixture(4)]));
    assert_eq!(errors, [ApplyError::TooManyOfSource(Id(4), 3)]);
    assert!(has(&bench, 9), "the other source gave up its place");

    bench.apply(&at(3, &[over(2)]));
    bench.apply(&at(3, &[fixture(4)]));
    assert!(!has(&bench, 2) && has(&bench, 4) && has(&bench, 9));

    bench.apply(&at(4, &[over(3)]));
    let (_, errors) = bench.apply_from(other, &at(5, &[fixture(8)]));
    assert_eq!(errors, []);
    assert!(!has(&bench, 3) && has(&bench, 8), "the greedy source stayed");
    assert!(has(&bench, 9), "the source with fewer matches gave one up");
    bench.check_images();
    bench.check_log();
}

/// The terms of a market and of its selections, a dead heat among them, and what takes them back.
#[test]
fn terms_and_dead_heats_are_published_until_they_are_taken_back() {
    let odds = |change| {
        event(1, Fact::Odds(OddsFact { book: "betfair".into(), market: "a".into(), change }))
    };
    let define = |status, factors: [Option<&str>; 2], terms: Option<MarketTerms>| {
        let selection = |(id, factor): (&str, Option<&str>)| SelectionDefinition {
            id: id.into(),
            name: None,
            status: SelectionStatus::Winner,
            outcome: None,
            terms: factor.map(|factor| {
                let dead_heat_factor = Some(factor.parse().expect("a number"));
                Box::new(SelectionTerms { dead_heat_factor, ..SelectionTerms::default() })
            }),
        };
        let selections = ["x", "y"].into_iter().zip(factors).map(selection).collect();
        let terms = terms.map(Box::new);
        odds(MarketChange::Define(MarketDefinition { selections, terms, ..match_winner(status) }))
    };
    let terms = MarketTerms {
        bet_delay: Some(5),
        bet_delay_models: vec!["PASSIVE".into()],
        ..MarketTerms::default()
    };
    let near = |near_price: i64| {
        let change = SelectionChange {
            id: "x".into(),
            near_price: Some(near_price.into()),
            ..SelectionChange::default()
        };
        odds(MarketChange::Prices { selections: vec![change], volume: None })
    };
    let mut bench = Bench::new(SETTINGS);
    let open = define(MarketStatus::Open, [None; 2], Some(terms));
    bench.apply(&at(0, &[fixture(1), open, near(3)]));
    let market =
        |bench: &Bench| bench.readers["football/1/odds/betfair"].data["markets"]["a"].clone();
    let opened = market(&bench);
    let stated = [
        &opened["bet_delay"],
        &opened["bet_delay_models"],
        &opened["selections"]["x"]["near_price"],
    ];
    assert_eq!(stated, [&json!(5), &json!(["PASSIVE"]), &json!("3")]);
    bench.apply(&at(1, &[define(MarketStatus::Closed, [Some("0.5"); 2], None), near(0)]));
    let closed = market(&bench);
    let x = &closed["selections"]["x"];
    let stated = [&closed["bet_delay"], &x["near_price"], &x["dead_heat_factor"]];
    assert_eq!(stated, [&Value::Null, &Value::Null, &json!("0.5")]);
    bench.apply(&at(2, &[define(MarketStatus::Closed, [Some("0.25"), None], None)]));
    bench.apply(&at(3, &[define(MarketStatus::Closed, [None; 2], None)]));
    let events = bench.readers["football/1/odds/betfair"].events();
    let factors = |event: &Value| (event["kind"].clone(), event["dead_heat_factors"].clone());
    let found: Vec<_> = events.iter().map(factors).collect();
    let expected = [
        ("open", Value::Null),
        ("settle", json!({"x": "0.5", "y": "0.5"})),
        ("correct", json!({"x": "0.25"})),
        ("correct", Value::Null),
    ];
    assert_eq!(found, expected.map(|(kind, factors)| (json!(kind), factors)));
    bench.check_images();
    bench.check_log();
}

/// A counter has both sides once a source counts the kind; cards without a counter are those of the incidents.
#[test]
fn counters_of_a_document_are_complete() {
    let mut bench = Bench::new(SETTINGS);
    let football = |fact| event(1, Fact::Football(fact));
    let card = |eid: &str, kind| {
        let incident = Incident::new(eid, kind, (10, None), Some(Side::Second));
        football(FootballFact::Incident(incident))
    };
    let counted =
        |stat| football(FootballFact::Stats { side: Side::First, values: vec![(stat, 3)] });
    let retracted = football(FootballFact::Retract {
        eid: "y1".into(),
        why: "mistaken_identity".into(),
        score: FootballScore::default(),
    });
    for (minute, (changes, home, away)) in (0..).zip([
        (vec![fixture(1), status(1, FootballStatus::FirstHalf)], json!({}), json!({})),
        (
            vec![card("y1", IncidentKind::Yellow), card("r1", IncidentKind::SecondYellow)],
            json!({"yellow_cards": 0, "red_cards": 0}),
            json!({"yellow_cards": 1, "red_cards": 1}),
        ),
        (
            vec![retracted, counted(Stat::CornerKicks)],
            json!({"yellow_cards": 0, "red_cards": 0, "corner_kicks": 3}),
            json!({"yellow_cards": 0, "red_cards": 1, "corner_kicks": 0}),
        ),
        (
            vec![counted(Stat::YellowCards)],
            json!({"yellow_cards": 3, "red_cards": 0, "corner_kicks": 3}),
            json!({"yellow_cards": 0, "red_cards": 1, "corner_kicks": 0}),
        ),
    ]) {
        bench.apply(&at(minute, &changes));
        let stats = &bench.data("football/1")["stats"];
        assert_eq!((&stats["home"], &stats["away"]), (&home, &away), "{minute}");
    }
    bench.check_images();
    bench.check_log();
}
