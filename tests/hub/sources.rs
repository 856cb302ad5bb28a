//! Several sources of one match: which one is believed, what is held back, and takeovers.

use facts::event::{
    Batch, Event, Fact, FootballFact, FootballScore, FootballStatus, GoalKind, Incident,
    IncidentKind, Level, MarketChange, MarketDefinition, MarketStatus, OddsFact, Outcome, Point,
    SelectionChange, SelectionDefinition, SelectionStatus, Side, Sport, TennisFact, TennisScore,
    TennisStatus, VarDecision,
};
use fanout::{Change, Micros};
use hub::{
    HubSettings,
    feeds::{FactKind, FeedState, Ranks, SourceNumber, SourcePolicy},
    push::{PushDeadlines, PushDuty},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    bench::{Bench, SETTINGS, START},
    rules::{at, event, fixture, match_winner},
};

const SECOND: Micros = 1_000_000;
const MATCH: &str = "football/1";
const BOOK: &str = "football/1/odds/betfair";
const CONSENSUS: &str = "football/1/odds";

fn football(fact: FootballFact) -> Event {
    event(1, Fact::Football(fact))
}

fn score(home: u16, away: u16) -> Event {
    let score = FootballScore { goals: [home, away], ..FootballScore::default() };
    football(FootballFact::Score(score))
}

fn playing() -> Event {
    football(FootballFact::Status(FootballStatus::FirstHalf))
}

fn incident(eid: &str, kind: IncidentKind, minute: u16) -> Incident {
    Incident::new(eid, kind, (minute, None), Some(Side::First))
}

fn goal(eid: &str, minute: u16) -> Event {
    let goal = incident(eid, IncidentKind::Goal(GoalKind::Regular), minute);
    football(FootballFact::Incident(goal))
}

fn retract(eid: &str, home: u16) -> Event {
    let score = FootballScore { goals: [home, 0], ..FootballScore::default() };
    football(FootballFact::Retract { eid: eid.into(), why: "var".into(), score })
}

fn odds(slug: &str, change: MarketChange) -> Event {
    event(1, Fact::Odds(OddsFact { book: slug.into(), market: "m".into(), change }))
}

fn market(slug: &str, status: MarketStatus) -> Event {
    let selections = [("1", Outcome::Home), ("x", Outcome::Draw), ("2", Outcome::Away)];
    let selections = selections.map(|(id, outcome)| SelectionDefinition {
        id: id.into(),
        name: None,
        status: SelectionStatus::Active,
        outcome: Some(outcome),
        terms: None,
    });
    let definition =
        MarketDefinition { in_play: true, selections: selections.into(), ..match_winner(status) };
    odds(slug, MarketChange::Define(definition))
}

fn prices(slug: &str, cents: [i64; 3]) -> Event {
    let price = |(id, cents): (&str, i64)| SelectionChange {
        id: id.into(),
        price: Some(rust_decimal::Decimal::new(cents, 2)),
        ..SelectionChange::default()
    };
    let selections = ["1", "x", "2"].into_iter().zip(cents).map(price).collect();
    odds(slug, MarketChange::Prices { selections, volume: None })
}

/// By seconds since the start.
fn then(second: Micros, events: &[Event]) -> Batch {
    Batch { at: Some(START + second * SECOND), price_changes: 0, events: events.to_vec() }
}

fn ranked(ranks: u8) -> SourcePolicy {
    SourcePolicy { ranks: Ranks([ranks; FactKind::COUNT]), ..SourcePolicy::default() }
}

fn second_source(bench: &mut Bench, policy: SourcePolicy) -> SourceNumber {
    bench.source("second", "push", policy)
}

fn kinds(bench: &Bench, channel: &str) -> Vec<String> {
    let events = bench.readers[channel].events();
    events.iter().map(|event| format!("{} {}", text(event, "kind"), text(event, "eid"))).collect()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

#[test]
fn same_goal_of_two_sources_is_published_once() {
    let mut bench = Bench::new(SETTINGS);
    let second = second_source(&mut bench, SourcePolicy::default());
    bench.apply(&at(1, &[fixture(1), playing(), score(1, 0), goal("g1", 23)]));
    bench.apply_from(second, &at(2, &[fixture(1), playing(), score(1, 0), goal("other", 24)]));
    assert_eq!(kinds(&bench, MATCH), ["goal g1"]);
    // The second source reports the second goal first: only the primary source publishes it.
    bench.apply_from(second, &at(3, &[score(2, 0), goal("another", 40)]));
    assert_eq!(bench.data(MATCH)["score"]["home"], 1);
    bench.apply(&at(4, &[score(2, 0), goal("g2", 39)]));
    assert_eq!(kinds(&bench, MATCH), ["goal g1", "goal g2"]);
    bench.check_images();
    bench.check_log();
}

#[test]
fn second_source_takes_over_when_the_first_is_down() {
    let mut bench = Bench::new(SETTINGS);
    let second = second_source(&mut bench, SourcePolicy::default());
    bench.apply(&at(1, &[fixture(1), playing(), score(1, 0), goal("g1", 23)]));
    bench.apply_from(second, &at(2, &[playing(), score(1, 0), goal("a", 24)]));
    bench.apply_from(second, &at(3, &[score(2, 0), goal("b", 40)]));
    bench.health(bench.source, FeedState::Down);
    assert_eq!(bench.data(MATCH)["score"]["home"], 2);
    assert_eq!(bench.data(MATCH)["feed"], "live", "the second is live, and reports it");
    assert_eq!(kinds(&bench, MATCH), ["goal g1", "goal b"]);
    // It retracts, by its own id, a goal that both sources have reported.
    bench.apply_from(second, &at(4, &[retract("a", 1)]));
    assert_eq!(kinds(&bench, MATCH), ["goal g1", "goal b", "retract retract-g1"]);
    assert_eq!(bench.data(MATCH)["score"]["home"], 1);
    bench.check_images();
    bench.check_log();
}

#[test]
fn takeover_by_a_source_that_is_behind_keeps_the_score() {
    let mut bench = Bench::new(SETTINGS);
    let second = second_source(&mut bench, SourcePolicy::default());
    bench.apply(&at(1, &[fixture(1), playing(), score(2, 0)]));
    bench.apply_from(second, &at(1, &[playing(), score(1, 0)]));
    bench.health(bench.source, FeedState::Down);
    assert_eq!(bench.data(MATCH)["score"]["home"], 2);
    bench.apply_from(second, &at(2, &[score(2, 0)]));
    assert_eq!(kinds(&bench, MATCH), [""; 0]);
    bench.apply_from(second, &at(3, &[score(1, 0)]));
    assert_eq!(kinds(&bench, MATCH), ["correct correct-score-1"]);
    bench.check_images();
    bench.check_log();
}

#[test]
fn higher_rank_leads_from_its_first_message() {
    let mut bench = Bench::new(SETTINGS);
    let better = second_source(&mut bench, ranked(200));
    bench.apply(&at(1, &[fixture(1), playing(), score(1, 0)]));
    bench.apply_from(better, &at(1, &[playing(), score(1, 1)]));
    assert_eq!(bench.data(MATCH)["score"]["away"], 1);
    bench.apply(&at(2, &[score(2, 0)]));
    assert_eq!(bench.data(MATCH)["score"]["home"], 1, "the lesser one is not believed");
    bench.health(better, FeedState::Late);
    bench.apply(&at(3, &[score(2, 1)]));
    assert_eq!(bench.data(MATCH)["score"], json!({ "home": 2, "away": 1 }));
    bench.check_images();
    bench.check_log();
}

#[test]
fn falling_score_is_announced_and_a_late_one_is_ignored() {
    let mut bench = Bench::new(SETTINGS);
    bench.apply(&at(1, &[fixture(1), playing(), score(1, 0)]));
    bench.apply(&at(3, &[score(2, 0)]));
    bench.apply(&at(2, &[score(1, 0)]));
    assert_eq!(bench.data(MATCH)["score"]["home"], 2, "it was late");
    bench.apply(&at(4, &[score(1, 0)]));
    assert_eq!(bench.data(MATCH)["score"]["home"], 1);
    let events = bench.readers[MATCH].events();
    let expected = json!({
        "kind": "correct", "eid": "correct-score-1", "of": "score",
        "score": { "home": 1, "away": 0 },
    });
    assert_eq!(events, [expected]);
    bench.check_images();
    bench.check_log();
}

/// A source that has lost a connection repeats what was not acknowledged.
#[test]
fn repeated_retraction_and_point_of_tennis_change_nothing() {
    let tennis = |fact| Event { sport: Sport::Tennis, ..event(1, Fact::Tennis(fact)) };
    let fixture = Event { sport: Sport::Tennis, ..fixture(1) };
    let score = |points| TennisScore { points, ..TennisScore::start(Side::First) };
    let point = |eid: &str| {
        let (winner, server) = (Side::First, Side::First);
        let point = Point { eid: eid.into(), winner, server, how: None, score: score(6) };
        tennis(TennisFact::Point(point))
    };
    let retract = TennisFact::Retract { eid: "p1".into(), why: "let".into(), score: score(5) };
    let retract = at(2, &[tennis(retract)]);
    let mut bench = Bench::new(SETTINGS);
    bench.apply(&at(0, &[fixture, tennis(TennisFact::Status(TennisStatus::Live))]));
    bench.apply(&at(1, &[point("p1")]));
    for _ in 0..2 {
        bench.apply(&retract);
        bench.apply(&at(3, &[point("p2")]));
    }
    let events = bench.readers["tennis/1"].events();
    let eids: Vec<&str> = events.iter().map(|event| text(event, "eid")).collect();
    assert_eq!(eids, ["p1", "retract-p1", "p2"]);
    assert_eq!(bench.data("tennis/1")["points"], 6);
    bench.check_images();
    bench.check_log();
}

fn with_book(bench: &mut Bench, source: SourceNumber, second: Micros) {
    let events = [
        fixture(1),
        market("betfair", MarketStatus::Open),
        prices("betfair", [200, 340, 410]),
        playing(),
    ];
    bench.apply_from(source, &then(second, &events));
}

/// A hub, and a source with a book that is late after a second of silence.
fn with_deadline() -> (Bench, SourceNumber) {
    let mut bench = Bench::new(SETTINGS);
    let policy = SourcePolicy { deadline_us: Some(SECOND), ..SourcePolicy::default() };
    let source = second_source(&mut bench, policy);
    with_book(&mut bench, source, 0);
    (bench, source)
}

#[test]
fn absurd_price_is_left_out_of_the_consensus() {
    let mut bench = Bench::new(SETTINGS);
    let absurd = |id: &str| SelectionChange {
        id: id.into(),
        price: Some(rust_decimal::Decimal::MAX),
        ..SelectionChange::default()
    };
    let selections = ["1", "x", "2"].map(absurd);
    for slug in ["betfair", "second", "third", "fourth"] {
        let change = MarketChange::Prices { selections: selections.clone().into(), volume: None };
        let events = [fixture(1), playing(), market(slug, MarketStatus::Open), odds(slug, change)];
        bench.apply(&then(1, &events));
    }
    bench.apply(&then(2, &[prices("betfair", [200, 340, 410])]));
    let consensus = bench.data(CONSENSUS).to_string();
    assert!(consensus.contains("3.4") && !consensus.contains("79228"), "{consensus}");
    bench.check_images();
    bench.check_log();
}

#[test]
fn silent_source_is_late_and_its_books_are_held_until_it_is_complete_again() {
    let (mut bench, source) = with_deadline();
    bench.silence(SECOND - 1_000);
    assert_eq!(bench.data(BOOK)["suspended"], false);
    bench.silence(2_000);
    for channel in [BOOK, CONSENSUS] {
        assert_eq!(bench.data(channel)["suspended"], true, "{channel}");
        assert_eq!(bench.data(channel)["feed"], "late", "{channel}");
        assert_eq!(bench.data(channel)["life"], "suspended", "{channel}");
    }
    assert_eq!(bench.data(BOOK)["markets"]["m"]["status"], "open", "the bookmaker's own word");
    assert_eq!(bench.data(CONSENSUS)["markets"]["match_winner"]["status"], "suspended");
    assert_eq!(bench.data(MATCH)["life"], "suspended");
    bench.health(source, FeedState::Recovering);
    bench.apply_from(source, &then(5, &[prices("betfair", [210, 330, 400])]));
    assert_eq!(bench.data(BOOK)["suspended"], true, "it is not whole yet");
    bench.health(source, FeedState::Live);
    for channel in [BOOK, CONSENSUS] {
        assert_eq!(bench.data(channel)["suspended"], false, "{channel}");
        assert_eq!(bench.data(channel)["feed"], "live", "{channel}");
    }
    let expected = ["open m:1", "suspend hold-1", "resume lift-1"];
    assert_eq!(kinds(&bench, BOOK), expected);
    assert_eq!(bench.readers[BOOK].events()[1]["why"], "feed");
    bench.check_images();
    bench.check_log();
}

/// No source was silent while the clock jumped.
#[test]
fn clock_that_jumps_makes_no_source_late() {
    let (mut bench, _) = with_deadline();
    bench.jump(3_600 * SECOND);
    bench.silence(SECOND - 1_000);
    assert_eq!(bench.data(BOOK)["feed"], "live");
    bench.silence(2_000);
    assert_eq!(bench.data(BOOK)["feed"], "late");
}

#[test]
fn heartbeats_keep_a_quiet_source_live() {
    let (mut bench, source) = with_deadline();
    for _ in 0..10 {
        bench.silence(SECOND / 2);
        bench.sign_of_life(source);
    }
    assert_eq!(bench.data(BOOK)["feed"], "live");
}

#[test]
fn silent_source_is_live_with_its_next_message() {
    let (mut bench, source) = with_deadline();
    bench.silence(2 * SECOND);
    assert_eq!(bench.data(BOOK)["feed"], "late");
    bench.sign_of_life(source);
    assert_eq!(bench.data(BOOK)["feed"], "live");
    bench.silence(2 * SECOND);
    bench.apply_from(source, &then(5, &[prices("betfair", [210, 330, 400])]));
    assert_eq!(bench.data(BOOK)["feed"], "live");
    let holds = ["suspend hold-1", "resume lift-1", "suspend hold-2", "resume lift-2"];
    assert_eq!(kinds(&bench, BOOK)[1..], holds);
    bench.check_images();
    bench.check_log();
}

#[test]
fn source_that_reported_trouble_is_live_only_after_it_reports_recovery() {
    for said in [FeedState::Late, FeedState::Down, FeedState::Recovering] {
        let (mut bench, source) = with_deadline();
        bench.silence(2 * SECOND);
        bench.health(source, said);
        bench.sign_of_life(source);
        bench.apply_from(source, &then(5, &[prices("betfair", [210, 330, 400])]));
        assert_eq!(bench.data(BOOK)["suspended"], true, "{said:?}");
        bench.health(source, FeedState::Live);
        assert_eq!(bench.data(BOOK)["suspended"], false, "{said:?}");
        bench.check_images();
    }
}

#[test]
fn source_that_goes_on_gets_its_own_open_markets() {
    let mut bench = Bench::new(SETTINGS);
    let source = second_source(&mut bench, SourcePolicy::default());
    assert_eq!(bench.hub.source_facts(source).last, None);
    with_book(&mut bench, source, 0);
    let facts_of_source = bench.hub.source_facts(source);
    assert!(facts_of_source.last.is_some());
    let [open_match] = &facts_of_source.matches[..] else { panic!("{facts_of_source:?}") };
    let [(market, definition)] = &open_match.markets[..] else { panic!("{open_match:?}") };
    let ids: Vec<&str> = definition.selections.iter().map(|it| &*it.id).collect();
    assert_eq!(
        (&**market, definition.status, &ids[..]),
        ("m", MarketStatus::Open, &["1", "x", "2"][..])
    );
    assert_eq!((open_match.sport, open_match.key.is_empty()), (Sport::Football, false));
    assert_eq!(bench.hub.source_facts(bench.source).matches, [], "another source");
    bench.apply_from(source, &then(1, &[self::market("betfair", MarketStatus::Closed)]));
    assert_eq!(bench.hub.source_facts(source).matches, [], "closed");
}

/// What of a source's facts somebody may rely on, from the first fixture to the end of the match.
#[test]
fn duty_of_a_source_follows_its_matches() {
    let mut bench = Bench::new(SETTINGS);
    let source = second_source(&mut bench, SourcePolicy::default());
    let status = |status| football(FootballFact::Status(status));
    let define = |status| odds("acme", MarketChange::Define(match_winner(status)));
    for (event, expected) in [
        (fixture(1), PushDuty::Nothing),
        (define(MarketStatus::Open), PushDuty::Prices),
        (define(MarketStatus::Suspended), PushDuty::Prices),
        (playing(), PushDuty::InPlay),
        (define(MarketStatus::Closed), PushDuty::InPlay),
        (status(FootballStatus::Finished), PushDuty::Nothing),
    ] {
        let id = event.match_id;
        bench.apply_from(source, &then(1, std::slice::from_ref(&event)));
        assert_eq!(bench.hub.duty_of(source, id), expected, "{event:?}");
        assert_eq!(bench.hub.duties()[source.0], expected, "{event:?}");
        assert_eq!(bench.hub.duties()[bench.source.0], PushDuty::Nothing, "another source");
    }
    let unknown = event(7, playing().fact).match_id;
    assert_eq!(bench.hub.duty_of(source, unknown), PushDuty::Nothing);
    let deadlines = PushDeadlines { in_play_us: Some(60), prices_us: None };
    let duties = [PushDuty::Nothing, PushDuty::Prices, PushDuty::InPlay];
    assert_eq!(duties.map(|duty| deadlines.deadline_us(duty)), [None, None, Some(60)]);
}

#[test]
fn source_of_complete_messages_recovers_with_the_next_one() {
    let (mut bench, source) = with_deadline();
    bench.silence(2 * SECOND);
    assert_eq!(bench.data(BOOK)["suspended"], true);
    bench.apply_from(source, &then(3, &[prices("betfair", [210, 330, 400])]));
    assert_eq!(bench.data(BOOK)["suspended"], false);
    bench.check_images();
    bench.check_log();
}

/// The change that a channel made among those of one batch.
fn position(changes: &[Change], channel: &str) -> Option<usize> {
    changes.iter().position(|change| match change {
        Change::Published(_, publication) => publication.channel.name.as_str() == channel,
        _ => false,
    })
}

#[track_caller]
fn check_hold(kind: IncidentKind, why: Option<&str>) {
    let mut bench = Bench::new(SETTINGS);
    let book = second_source(&mut bench, SourcePolicy::default());
    bench.apply(&then(0, &[fixture(1), playing()]));
    with_book(&mut bench, book, 0);
    let happened = football(FootballFact::Incident(incident("i", kind, 23)));
    let (changes, _) = bench.apply(&then(60, &[happened]));
    let (played, held) = (position(&changes, MATCH), position(&changes, BOOK));
    let Some(why) = why else {
        assert_eq!((held, &bench.data(BOOK)["suspended"]), (None, &json!(false)), "{kind:?}");
        return;
    };
    assert!(played.is_some() && played < held, "{kind:?}: in the same transaction");
    assert_eq!(bench.data(BOOK)["suspended"], true, "{kind:?}");
    let events = bench.readers[BOOK].events();
    let hold = json!({ "kind": "suspend", "eid": "hold-1", "why": why, "of": "i" });
    assert_eq!(events.last(), Some(&hold));
    // Facts from before the source can know of the goal do not lift the hold.
    bench.apply_from(book, &then(69, &[prices("betfair", [210, 340, 410])]));
    assert_eq!(bench.data(BOOK)["suspended"], true, "{kind:?}");
    bench.apply_from(book, &then(70, &[prices("betfair", [150, 440, 610])]));
    assert_eq!(bench.data(BOOK)["suspended"], false, "{kind:?}");
    bench.check_images();
    bench.check_log();
}

#[test]
fn decisive_incident_holds_books_in_the_same_transaction() {
    check_hold(IncidentKind::Goal(GoalKind::Penalty), Some("goal"));
    check_hold(IncidentKind::Red, Some("red_card"));
    check_hold(IncidentKind::SecondYellow, Some("red_card"));
    check_hold(IncidentKind::Var(VarDecision::Checking), Some("var"));
    check_hold(IncidentKind::Var(VarDecision::Confirmed), None);
    check_hold(IncidentKind::Yellow, None);
    check_hold(IncidentKind::Substitution, None);
}

#[test]
fn book_suspended_by_its_source_is_not_held_and_reopens_itself() {
    let mut bench = Bench::new(SETTINGS);
    let book = second_source(&mut bench, SourcePolicy::default());
    bench.apply(&then(0, &[fixture(1), playing()]));
    with_book(&mut bench, book, 0);
    bench.apply_from(book, &then(59, &[market("betfair", MarketStatus::Suspended)]));
    bench.apply(&then(60, &[goal("g", 1)]));
    bench.apply_from(book, &then(61, &[market("betfair", MarketStatus::Open)]));
    assert_eq!(bench.data(BOOK)["suspended"], false);
    assert_eq!(kinds(&bench, BOOK), ["open m:1", "suspend m:2", "resume m:3"]);
    // A source that suspends late is held, and released when it reopens.
    bench.apply(&then(70, &[goal("h", 20)]));
    bench.apply_from(book, &then(71, &[market("betfair", MarketStatus::Suspended)]));
    bench.apply_from(book, &then(72, &[market("betfair", MarketStatus::Open)]));
    assert_eq!(bench.data(BOOK)["suspended"], false);
    let expected = ["suspend hold-1", "suspend m:4", "resume m:5", "resume lift-1"];
    assert_eq!(kinds(&bench, BOOK)[3..], expected);
    bench.check_images();
    bench.check_log();
}

#[test]
fn incidents_hold_no_books_when_holds_are_disabled() {
    let mut bench = Bench::new(HubSettings { hold_us: 0, ..SETTINGS });
    let first = bench.source;
    with_book(&mut bench, first, 0);
    bench.apply(&then(60, &[goal("g", 1)]));
    assert_eq!(bench.data(BOOK)["suspended"], false);
}

#[test]
fn another_source_of_a_book_takes_over_under_another_epoch() {
    let mut bench = Bench::new(SETTINGS);
    let second = second_source(&mut bench, SourcePolicy::default());
    let first = bench.source;
    with_book(&mut bench, first, 0);
    let ladder = SelectionChange {
        id: "1".into(),
        back: vec![Level { price: 3.into(), size: 7.into() }],
        ..SelectionChange::default()
    };
    let ladder = MarketChange::Prices { selections: vec![ladder], volume: None };
    let (changes, _) = bench.apply_from(
        second,
        &then(1, &[market("betfair", MarketStatus::Open), odds("betfair", ladder)]),
    );
    assert_eq!(changes.len(), 0, "another source has this book");
    let epoch = bench.readers[BOOK].epoch.clone();
    bench.health(bench.source, FeedState::Down);
    assert_ne!(bench.readers[BOOK].epoch, epoch);
    let selection = &bench.data(BOOK)["markets"]["m"]["selections"]["1"];
    assert_eq!(selection["back"], json!({ "3": "7" }));
    assert_eq!(bench.data(BOOK)["feed"], "live");
    let consensus = &bench.data(CONSENSUS)["markets"]["match_winner"]["selections"];
    assert_eq!(consensus["home"]["price"], "3");
    assert_eq!(consensus["draw"]["price"], Value::Null, "no bookmaker offers it now");
    bench.check_images();
    bench.check_log();
}

#[test]
fn one_source_of_two_restarts_and_the_match_stays() {
    let mut bench = Bench::new(SETTINGS);
    let second = second_source(&mut bench, SourcePolicy::default());
    bench.apply(&then(0, &[fixture(1), playing(), score(1, 0)]));
    with_book(&mut bench, second, 0);
    bench.restart(second);
    assert!(!bench.readers.contains_key(BOOK));
    assert_eq!(bench.data(MATCH)["score"]["home"], 1);
    with_book(&mut bench, second, 1);
    assert!(bench.readers.contains_key(BOOK));
    bench.check_images();
    bench.check_log();
}

#[derive(Debug, Clone)]
enum Step {
    Score(bool, u16),
    Goal(bool, u16),
    Retract(bool, u16),
    Price(bool, i64),
    Market(bool, MarketStatus),
    Health(bool, FeedState),
}

fn step() -> impl Strategy<Value = Step> {
    let which = any::<bool>();
    let feed = prop_oneof![
        3 => Just(FeedState::Live),
        1 => Just(FeedState::Late),
        1 => Just(FeedState::Down),
        1 => Just(FeedState::Recovering),
    ];
    let status = prop_oneof![Just(MarketStatus::Open), Just(MarketStatus::Suspended)];
    prop_oneof![
        (which, 0..4_u16).prop_map(|(who, goals)| Step::Score(who, goals)),
        (which, 1..6_u16).prop_map(|(who, n)| Step::Goal(who, n)),
        (which, 1..6_u16).prop_map(|(who, n)| Step::Retract(who, n)),
        (which, 150..400_i64).prop_map(|(who, cents)| Step::Price(who, cents)),
        (which, status).prop_map(|(who, status)| Step::Market(who, status)),
        (which, feed).prop_map(|(who, feed)| Step::Health(who, feed)),
    ]
}

proptest! {
    /// For any facts and states of two sources: readers end with the image, no event arrives twice,
    /// no score falls without an announcement, and no book of a source in trouble is open.
    #[test]
    fn two_sources_make_one_match(steps in prop::collection::vec(step(), 1..60)) {
        let mut bench = Bench::new(SETTINGS);
        let second = second_source(&mut bench, ranked(101));
        let who = [bench.source, second];
        bench.apply(&then(0, &[fixture(1), playing()]));
        with_book(&mut bench, second, 0);
        for (second, step) in (1..).zip(steps) {
            let before = bench.data(MATCH)["score"]["home"].as_u64().unwrap_or(0);
            let events_before = bench.readers[MATCH].events().len();
            let (number, events) = match step {
                Step::Score(number, goals) => (number, vec![playing(), score(goals, 0)]),
                Step::Goal(number, n) => (number, vec![goal(&format!("{number}{n}"), n * 15)]),
                Step::Retract(number, n) => (number, vec![retract(&format!("{number}{n}"), n - 1)]),
                Step::Price(number, cents) => (number, vec![prices("betfair", [cents, 300, 300])]),
                Step::Market(number, status) => (number, vec![market("betfair", status)]),
                Step::Health(number, feed) => {
                    bench.health(who[usize::from(number)], feed);
                    (number, vec![])
                }
            };
            bench.apply_from(who[usize::from(number)], &then(second * 3, &events));
            let after = bench.data(MATCH)["score"]["home"].as_u64().unwrap_or(0);
            let new_events = &bench.readers[MATCH].events()[events_before..];
            let says_so = new_events.iter().any(|it| ["retract", "correct"].contains(&text(it, "kind")));
            prop_assert!(after >= before || says_so, "{before} to {after} by {new_events:?}");
            let book = bench.data(BOOK);
            if text(book, "feed") != "live" {
                prop_assert_eq!(&book["suspended"], true);
            }
        }
        bench.check_images();
    }
}
