//! How long a state takes to save and to restore, and its bytes: 1,000 live matches with 500,000 prices.
//!
//! `cargo test --release -p matchwire-hub --lib -- --ignored --nocapture speed_of_saving`

use std::{fs, time::Duration};

use facts::event::{
    Batch, Competition, Event, Fact, Fixture, FootballFact, FootballScore, FootballStatus, Id,
    MarketChange, MarketDefinition, MarketStatus, OddsFact, Outcome, Participant, SelectionChange,
    SelectionDefinition, SelectionStatus, Sport,
};
use fanout::{Change, Epoch, channel::Rate};
use record::ids::PublicIds;
use rust_decimal::Decimal;

use super::twin::{SETTINGS, START, payload};
use crate::{Epochs, Hub, feeds::SourcePolicy, identity::Identity, sequence::TailFrame};

const MATCHES: u64 = 1_000;
const BOOKS: [&str; 6] = ["acme", "borealis", "cobalt", "delta", "ember", "fathom"];
const MARKETS: i64 = 28;
const OUTCOMES: [Outcome; 3] = [Outcome::Home, Outcome::Draw, Outcome::Away];
/// Updates of a second at the rate of a Saturday, for as long as tails last.
const UPDATES: usize = 300_000;

fn introduction(number: u64) -> Batch {
    let side = |name: &str| Participant {
        id: Id(1_000_000 + number * 2 + u64::from(name == "Away")),
        name: format!("{name} Town {number}").into(),
    };
    let fixture = Fixture {
        provider: "load".into(),
        provider_key: number.to_string().into(),
        competition: Some(Competition { id: Id(9), name: "League".into(), season: None }),
        start: Some(START),
        date: None,
        sides: Some([side("Home"), side("Away")]),
        ..Fixture::default()
    };
    let score = FootballScore { goals: [1, 0], ..FootballScore::default() };
    let mut facts = vec![
        Fact::Fixture(fixture),
        Fact::Football(FootballFact::Status(FootballStatus::FirstHalf)),
        Fact::Football(FootballFact::Score(score)),
    ];
    for book in BOOKS {
        for market in 0..MARKETS {
            let selection = |outcome: Outcome| SelectionDefinition {
                id: format!("{market}-{}", outcome.as_str()).into(),
                name: Some(outcome.as_str().into()),
                status: SelectionStatus::Active,
                outcome: Some(outcome),
                terms: None,
            };
            let definition = MarketDefinition {
                kind: "asian_handicap".into(),
                name: Some(format!("Handicap {market}").into()),
                line: Some(Decimal::new(market * 5, 1)),
                period: None,
                status: MarketStatus::Open,
                in_play: true,
                selections: OUTCOMES.map(selection).to_vec(),
                terms: None,
            };
            let odds = |change| {
                let market = format!("1.{number}{market}").into();
                Fact::Odds(OddsFact { book: book.into(), market, change })
            };
            facts.push(odds(MarketChange::Define(definition)));
            facts.push(odds(prices(market, number as i64)));
        }
    }
    batch(number, facts)
}

fn prices(market: i64, cents: i64) -> MarketChange {
    let selections = OUTCOMES.map(|outcome| SelectionChange {
        id: format!("{market}-{}", outcome.as_str()).into(),
        price: Some(Decimal::new(290 + cents % 40 + outcome as i64, 2)),
        ..SelectionChange::default()
    });
    MarketChange::Prices { selections: selections.to_vec(), volume: None }
}

fn batch(number: u64, facts: Vec<Fact>) -> Batch {
    let sport = Sport::Football;
    let events = facts.into_iter().map(|fact| Event { sport, match_id: Id(number), fact });
    Batch { at: Some(START), price_changes: 3, events: events.collect() }
}

/// The time that this thread has had a core, so that other programs do not count.
fn on_core() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("it is Linux");
    let ns = text.split(' ').next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.expect("the first number is the time on a core"))
}

#[test]
#[ignore = "a measurement"]
#[expect(clippy::print_stdout, reason = "a measurement says what it found")]
fn speed_of_saving_and_restoring() {
    let epochs = Epochs { matches: Epoch(7), feeds: Epoch(8) };
    let ids = PublicIds::default();
    let mut hub = Hub::new(SETTINGS, epochs, Identity::default()).with_ids(ids.clone());
    let source = hub.source("load".into(), "simulator", SourcePolicy::default());
    let mut changes = Vec::new();
    for number in 1..=MATCHES {
        hub.apply(source, &introduction(number), START, START, &mut changes);
    }
    hub.tick(START, &mut changes);
    hub.export(START);
    changes.clear();
    let mut updates = Vec::new();
    for number in 0..2_000_000_u64 {
        let (id, market) = (1 + number % MATCHES, (number / MATCHES) as i64 % MARKETS);
        let odds = OddsFact {
            book: BOOKS[number as usize % BOOKS.len()].into(),
            market: format!("1.{id}{market}").into(),
            change: prices(
                market,
                (number / (MATCHES * MARKETS as u64)) as i64 * 7 + number as i64,
            ),
        };
        hub.apply(source, &batch(id, vec![Fact::Odds(odds)]), START, START, &mut changes);
        updates.extend(changes.drain(..).filter_map(|change| match change {
            Change::Published(Rate::Each, it) => {
                Some((it.channel.clone(), it.prev, it.seq, payload(&it)))
            }
            _ => None,
        }));
        if updates.len() >= UPDATES {
            break;
        }
    }
    hub.export(START);
    for _ in 0..3 {
        let began = on_core();
        let mut bytes = Vec::new();
        hub.save(&mut bytes);
        let saved = on_core() - began;
        let began = on_core();
        let mut restored = Hub::restore(&bytes, SETTINGS, ids.clone()).expect("it was saved");
        let read = on_core() - began;
        let began = on_core();
        for (channel, prev, seq, frame) in updates.iter().rev() {
            let older = TailFrame { prev: *prev, seq: *seq, payload: frame.clone() };
            restored
                .restore_tail(&channel.name, channel.epoch, [older])
                .expect("they are in order");
        }
        let tails = on_core() - began;
        println!(
            "{} matches, {} bytes: saved in {saved:?}, restored in {read:?}; {} frames in {tails:?}",
            restored.matches(),
            bytes.len(),
            updates.len(),
        );
    }
}
