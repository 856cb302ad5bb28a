//! Signals on what bookmakers really quoted: each arbitrage is one by the definition, none is missed.

use std::{collections::BTreeSet, path::PathBuf};

use fanout::Epoch;
use ingest::{
    event::Outcome,
    recording::{Limits, Recording, Step},
};
use rust_decimal::Decimal;

use super::*;
use crate::{
    hub::{Epochs, feeds::Terms, sequence::Window},
    identity::Identity,
    signals::{Finding, Kind},
};

const START: Micros = 1_788_220_800_000_000;

fn hub() -> Hub {
    let settings = crate::hub::Settings {
        window: Window { bytes: 1 << 20, age_us: 60_000_000 },
        matches_max: 10_000,
        ended_keep_us: 1 << 60,
        stale_after_ms: 15_000,
        hold_us: 0,
    };
    Hub::new(settings, Epochs { matches: Epoch(7), feeds: Epoch(8) }, Identity::default())
}

/// The outcomes of which one comes true, by what the market has.
fn outcomes(quotes: &[Quote]) -> Option<Vec<Outcome>> {
    let all: BTreeSet<_> = quotes.iter().map(|quote| quote.outcome).collect();
    let all: Vec<_> = all.into_iter().collect();
    match all.as_slice() {
        [Outcome::Home, Outcome::Draw, Outcome::Away]
        | [Outcome::Home, Outcome::Away]
        | [Outcome::Player1, Outcome::Player2]
        | [Outcome::Over, Outcome::Under]
        | [Outcome::Yes, Outcome::No] => Some(all),
        _ => None,
    }
}

/// Whether some choice of prices that can be taken wins whatever comes true: every choice is tried.
fn can_be_won(quotes: &[Quote]) -> bool {
    let Some(outcomes) = outcomes(quotes) else { return false };
    let mut sums = vec![Decimal::ZERO];
    for outcome in outcomes {
        let open = |it: &&Quote| it.outcome == outcome && it.state == QuoteState::Open;
        let prices: Vec<_> = quotes.iter().filter(open).filter_map(|it| it.price).collect();
        sums = sums
            .into_iter()
            .flat_map(|sum| prices.iter().map(move |price| sum + Decimal::ONE / price))
            .collect();
    }
    // A fair book of thirds and sixths adds up to a little less than 1 in decimals.
    sums.iter().any(|sum| *sum < Decimal::ONE - Decimal::new(1, 12))
}

/// The markets of a match that can be won, by brute force and by what is told.
fn compare(hub: &Hub, id: Id, file: &str) -> usize {
    let state = &hub.matches[&id].state;
    let mut expected = BTreeSet::new();
    if state.life() != Life::Ended {
        for key in state.consensus.markets.keys() {
            if can_be_won(&quotes(state, key)) {
                expected.insert(key.id().to_string());
            }
        }
    }
    let mut found = BTreeSet::new();
    for record in hub.signals.active.values().filter(|it| it.match_id == id.0) {
        let Finding::Arbitrage { legs, .. } = &record.signal.finding else { continue };
        assert_eq!(record.signal.topic.kind, Kind::Arbitrage);
        let staked: Decimal = legs.iter().map(|leg| leg.stake).sum();
        assert_eq!(staked, Decimal::ONE, "{file}: {record:?}");
        for leg in legs {
            assert!(leg.price * leg.stake >= Decimal::ONE, "{file}: a leg that loses: {record:?}");
        }
        found.extend(record.signal.topic.market.as_ref().map(ToString::to_string));
    }
    assert_eq!(found, expected, "{file}, match {id}");
    found.len()
}

/// Plays a file batch by batch; the number of arbitrages that stood after any of them.
fn play(file: &str) -> Option<usize> {
    let feeds = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/feeds"));
    if !feeds.is_dir() {
        crate::database::testing::skipped("shared recordings are not here");
        return None;
    }
    let recording = Recording::open(&feeds.join(file), &[], START, &Limits::default()).unwrap();
    let mut hub = hub();
    let source = hub.source("recording".into(), "recording", Terms::default());
    let (mut changes, mut stood) = (Vec::new(), 0);
    for step in recording {
        let Step::Batch(timed) = step else { continue };
        let now = timed.clock_us;
        assert_eq!(hub.apply(source, &timed.batch, now, now, &mut changes), [], "{file}");
        changes.clear();
        let touched: BTreeSet<_> = timed.batch.events.iter().map(|event| event.match_id).collect();
        stood += touched.into_iter().map(|id| compare(&hub, id, file)).sum::<usize>();
    }
    Some(stood)
}

#[test]
fn every_arbitrage_of_bookmakers_is_found() {
    for file in [
        "football-data-couk/E0-2016-2017.csv.gz",
        "football-data-couk/E0-2019-2020.csv.gz",
        "the-odds-api/sport-odds.json",
        "the-odds-api/event-odds.json",
    ] {
        let Some(stood) = play(file) else { return };
        // Prices of the CSV are of the same day, not of the same minute: some cross.
        assert!(stood > 0 || !file.ends_with(".gz"), "{file}: nothing was compared");
    }
}

#[test]
fn every_arbitrage_of_an_exchange_is_found() {
    for file in [
        "football-1-event-77-markets.basic.bz2",
        "football-200-markets.live.bz2",
        "tennis-29788105.pro.jsonl.gz",
    ] {
        if play(&format!("betfair-stream/{file}")).is_none() {
            return;
        }
    }
}
