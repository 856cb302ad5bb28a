//! Matches of several providers that are the same match: joined at once, joined later, and joined
//! by order of the operator.

use std::sync::Arc;

use facts::event::{
    Batch, Event, Fact, Fixture, FootballFact, FootballScore, FootballStatus, GoalKind, Id,
    Incident, IncidentKind, MarketChange, MarketDefinition, MarketStatus, OddsFact, Outcome,
    Participant, SelectionChange, SelectionDefinition, SelectionStatus, Side, Sport, TennisFact,
    TennisScore, TennisStatus,
};
use fanout::Micros;
use hub::{
    feeds::{FactKind, Ranks, SourceNumber, SourcePolicy},
    identity::{self, MatchOrder, NumberedOrder},
};
use serde_json::json;

use crate::{
    bench::{Bench, SETTINGS, START},
    rules::match_winner,
};

const HOUR: Micros = 3_600_000_000;

/// A provider's match.
struct ProviderFixture {
    sport: Sport,
    provider: &'static str,
    key: &'static str,
    names: Option<[&'static str; 2]>,
}

const BETFAIR: ProviderFixture = ProviderFixture {
    sport: Sport::Football,
    provider: "betfair",
    key: "28201421",
    names: Some(["Middlesbrough", "Man City"]),
};
const CSV: ProviderFixture = ProviderFixture {
    sport: Sport::Football,
    provider: "football-data-couk",
    key: "E0/2017-04-30/Middlesbrough/Man City",
    names: Some(["Middlesbrough", "Manchester City"]),
};

impl ProviderFixture {
    fn id(&self) -> Id {
        identity::local_id(self.provider, self.key)
    }

    fn event(&self, fact: Fact) -> Event {
        Event { sport: self.sport, match_id: self.id(), fact }
    }

    fn fixture(&self) -> Event {
        let name = |name: &str| Participant {
            id: Id::derive(self.provider, "team", name),
            name: name.into(),
        };
        self.event(Fact::Fixture(Fixture {
            provider: self.provider.into(),
            provider_key: self.key.into(),
            competition: None,
            start: Some(START + HOUR),
            date: None,
            sides: self.names.map(|names| names.map(name)),
            ..Fixture::default()
        }))
    }

    fn score(&self, home: u16, away: u16) -> [Event; 2] {
        let score = FootballScore { goals: [home, away], ..FootballScore::default() };
        [FootballFact::Status(FootballStatus::SecondHalf), FootballFact::Score(score)]
            .map(|fact| self.event(Fact::Football(fact)))
    }

    fn book(&self, slug: &str, outcomes: [Outcome; 2]) -> [Event; 2] {
        let selections = [("a", outcomes[0]), ("b", outcomes[1])].map(|(id, outcome)| {
            let (name, status) = (None, SelectionStatus::Active);
            SelectionDefinition { id: id.into(), name, status, outcome: Some(outcome), terms: None }
        });
        let definition =
            MarketDefinition { selections: selections.into(), ..match_winner(MarketStatus::Open) };
        let price =
            SelectionChange { id: "a".into(), price: Some(2.into()), ..SelectionChange::default() };
        let price = MarketChange::Prices { selections: vec![price], volume: None };
        [MarketChange::Define(definition), price].map(|change| {
            let (book, market): (Arc<str>, Arc<str>) = (slug.into(), "m".into());
            self.event(Fact::Odds(OddsFact { book, market, change }))
        })
    }
}

fn batch(events: impl IntoIterator<Item = Event>) -> Batch {
    Batch { at: None, price_changes: 0, events: events.into_iter().collect() }
}

fn second(bench: &mut Bench) -> SourceNumber {
    bench.source("second", "football-data-couk", SourcePolicy::default())
}

fn order(bench: &mut Bench, number: i64, order: MatchOrder) {
    bench.order(&NumberedOrder { number, order });
}

/// A match that two sources report, each with a book; the second source.
fn joined() -> (Bench, SourceNumber) {
    let mut bench = Bench::new(SETTINGS);
    let csv = second(&mut bench);
    let outcomes = [Outcome::Home, Outcome::Away];
    let odds = BETFAIR.book("betfair", outcomes);
    bench.apply(&batch([BETFAIR.fixture()].into_iter().chain(odds)));
    let events = [CSV.fixture()].into_iter().chain(CSV.score(2, 2));
    bench.apply_from(csv, &batch(events.chain(CSV.book("bet365", outcomes))));
    (bench, csv)
}

#[test]
fn identical_matches_are_joined_from_the_start() {
    let (mut bench, _) = joined();
    let name = format!("football/{}", BETFAIR.id());
    assert_eq!(bench.hub.matches(), 1);
    let data = bench.data(&name);
    assert_eq!(data["score"], json!({ "home": 2, "away": 2 }));
    assert_eq!(data["refs"], json!({ "betfair": BETFAIR.key, "football-data-couk": CSV.key }));
    assert_eq!(data["home"]["name"], "Middlesbrough", "as who was first has it");
    let consensus = bench.data(&format!("{name}/odds"));
    assert_eq!(consensus["markets"]["match_winner"]["selections"]["home"]["bookmakers"], 2);
    bench.check_images();
    bench.check_log();
}

#[test]
fn sides_keep_their_ids_when_a_better_source_joins() {
    let mut bench = Bench::new(SETTINGS);
    let ranks = Ranks(FactKind::ALL.map(|_| Ranks::DEFAULT + 1));
    let policy = SourcePolicy { ranks, ..SourcePolicy::default() };
    let csv = bench.source("second", "football-data-couk", policy);
    bench.apply(&batch([BETFAIR.fixture()]));
    let name = format!("football/{}", BETFAIR.id());
    let before = ["home", "away"].map(|side| bench.data(&name)[side]["id"].clone());
    bench.apply_from(csv, &batch([CSV.fixture()]));
    assert_eq!(bench.hub.matches(), 1);
    let data = bench.data(&name);
    assert_eq!(data["away"]["name"], "Manchester City", "as the better source has it");
    assert_eq!(["home", "away"].map(|side| data[side]["id"].clone()), before);
    bench.check_images();
    bench.check_log();
}

#[test]
fn player_1_of_one_is_player_2_of_another() {
    let provider_fixture =
        |provider, key, names| ProviderFixture { sport: Sport::Tennis, provider, key, names };
    let one = provider_fixture("betfair", "1", Some(["Novak Djokovic", "Rafael Nadal"]));
    let other = provider_fixture("slam-pointbypoint", "2", Some(["R. Nadal", "N. Djokovic"]));
    let mut bench = Bench::new(SETTINGS);
    let points = second(&mut bench);
    let outcomes = [Outcome::Player1, Outcome::Player2];
    bench.apply(&batch([one.fixture()].into_iter().chain(one.book("betfair", outcomes))));
    let score = TennisScore { server: Some(Side::First), ..TennisScore::start(Side::First) };
    let facts = [TennisFact::Status(TennisStatus::Live), TennisFact::Score(score)];
    let facts = facts.map(|fact| other.event(Fact::Tennis(fact)));
    let odds = other.book("bet365", outcomes);
    let events = [other.fixture()].into_iter().chain(facts).chain(odds);
    bench.apply_from(points, &batch(events));
    let name = format!("tennis/{}", one.id());
    assert_eq!(bench.data(&name)["server"], 2, "Nadal serves, who is player 2 here");
    let selections = &bench.data(&format!("{name}/odds"))["markets"]["match_winner"]["selections"];
    assert_eq!(selections["p1"]["best"], "betfair");
    assert_eq!(selections["p2"]["best"], "bet365");
    bench.check_images();
    bench.check_log();
}

#[test]
fn match_that_is_named_later_merges_with_all_its_facts() {
    let mut bench = Bench::new(SETTINGS);
    let csv = second(&mut bench);
    bench.apply(&batch([BETFAIR.fixture()]));
    let nameless = ProviderFixture { names: None, ..CSV };
    let outcomes = [Outcome::Home, Outcome::Away];
    let odds = nameless.book("bet365", outcomes);
    let events = [nameless.fixture()].into_iter().chain(nameless.score(1, 0)).chain(odds);
    bench.apply_from(csv, &batch(events));
    assert_eq!(bench.hub.matches(), 2);
    // The names arrive in a batch that continues both matches.
    let events = nameless.score(2, 0).into_iter().chain([CSV.fixture()]).chain(CSV.score(2, 1));
    bench.apply_from(csv, &batch(events));
    assert_eq!(bench.hub.matches(), 1);
    let name = format!("football/{}", BETFAIR.id());
    assert_eq!(bench.data(&name)["score"], json!({ "home": 2, "away": 1 }));
    let book = bench.data(&format!("{name}/odds/bet365"));
    assert_eq!(book["markets"]["m"]["selections"]["a"]["price"], "2");
    assert!(!bench.readers.contains_key(&format!("football/{}", CSV.id())));
    bench.check_images();
    bench.check_log();
}

#[test]
fn operator_splits_and_joins_and_nothing_is_lost() {
    let (mut bench, csv) = joined();
    let (provider, key) = (CSV.provider.to_owned(), CSV.key.to_owned());
    order(&mut bench, 1, MatchOrder::Split { provider: provider.clone(), key: key.clone() });
    assert_eq!(bench.hub.matches(), 2);
    let [one, other] = [BETFAIR.id(), CSV.id()].map(|digest| format!("football/{digest}"));
    assert_eq!(bench.data(&one)["refs"], json!({ "betfair": BETFAIR.key }));
    assert_eq!(bench.data(&other)["score"], json!({ "home": 2, "away": 2 }));
    assert!(bench.readers.contains_key(&format!("{other}/odds/bet365")));
    assert!(!bench.readers.contains_key(&format!("{one}/odds/bet365")));
    bench.check_images();
    // New facts now go to each match separately.
    bench.apply_from(csv, &batch([CSV.fixture()].into_iter().chain(CSV.score(3, 2))));
    assert_eq!(bench.data(&other)["score"], json!({ "home": 3, "away": 2 }));
    let join = MatchOrder::Join { provider, key, into: BETFAIR.id(), swapped: false, with: None };
    order(&mut bench, 2, join);
    assert_eq!(bench.hub.matches(), 1);
    assert_eq!(bench.data(&one)["score"], json!({ "home": 3, "away": 2 }));
    assert!(bench.readers.contains_key(&format!("{one}/odds/bet365")));
    bench.apply_from(csv, &batch(CSV.score(4, 2)));
    assert_eq!(bench.data(&one)["score"], json!({ "home": 4, "away": 2 }));
    bench.check_images();
    bench.check_log();
}

/// Only the source whose score clients do not see is compared with what they see.
#[test]
fn sources_that_report_other_scores_are_counted() {
    let (mut bench, csv) = joined();
    let agreements = |bench: &Bench| {
        bench.hub.agreements().into_iter().map(|it| (it.compared, it.differing)).collect::<Vec<_>>()
    };
    assert_eq!(agreements(&bench), [(0, 0), (0, 0)], "one source has no score");
    bench.apply(&batch(BETFAIR.score(2, 2)));
    assert_eq!(agreements(&bench), [(1, 0), (0, 0)], "the same score");
    bench.apply_from(csv, &batch(CSV.score(3, 2)));
    assert_eq!(agreements(&bench), [(1, 1), (0, 0)], "a goal that one has not reported yet");
    bench.apply(&batch(BETFAIR.score(3, 2)));
    assert_eq!(agreements(&bench), [(1, 0), (0, 0)], "both have it");
}

/// A goal is published only once the leading score includes it, no matter which source reports it.
#[test]
fn goals_of_one_source_wait_for_the_score_of_another() {
    let mut bench = Bench::new(SETTINGS);
    let csv = second(&mut bench);
    let goal = |eid: &str, side, score| {
        let kind = IncidentKind::Goal(GoalKind::Regular);
        let incident = Incident { score, ..Incident::new(eid, kind, (60, None), Some(side)) };
        CSV.event(Fact::Football(FootballFact::Incident(incident)))
    };
    let name = format!("football/{}", BETFAIR.id());
    let shown = |bench: &Bench| {
        let incidents = bench.data(&name)["incidents"].clone();
        incidents.as_object().map_or(0, serde_json::Map::len)
    };
    bench.apply(&batch([BETFAIR.fixture()].into_iter().chain(BETFAIR.score(1, 0))));
    let goals = [goal("1", Side::First, None), goal("2", Side::Second, Some([0, 9]))];
    bench.apply_from(csv, &batch([CSV.fixture()].into_iter().chain(goals)));
    assert_eq!(bench.data(&name)["score"], json!({ "home": 1, "away": 0 }));
    assert_eq!(shown(&bench), 1, "the one that the score has");

    bench.apply_from(csv, &batch([goal("3", Side::First, None)]));
    assert_eq!(shown(&bench), 1, "the score does not have it yet");
    bench.apply(&batch(BETFAIR.score(2, 0)));
    assert_eq!(shown(&bench), 2, "the score has it now");
    bench.apply(&batch(BETFAIR.score(2, 1)));
    assert_eq!(shown(&bench), 2, "it is not 0-9");
    bench.check_images();
    bench.check_log();
}
