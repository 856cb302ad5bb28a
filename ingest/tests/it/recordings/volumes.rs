//! Matched volumes of the markets in Betfair streams, which the data tiers report differently.

use std::collections::{BTreeMap, HashMap};

use facts::event::{Fact, MarketChange, SelectionChange};
use ingest::recording::{Limits, Recording, Step};
use rust_decimal::Decimal;

use super::{START, shared};

/// The traded amount of a selection at each price.
type TradedVolumes = BTreeMap<Decimal, Decimal>;

#[test]
fn volumes_are_running_totals_in_pro_and_live_streams() {
    for file in [
        "tennis-29788105.pro.jsonl.gz",
        "tennis-29788457-4-markets.pro.jsonl.gz",
        "racing-1.241629436.live.jsonl.gz",
    ] {
        let Some(path) = shared(&format!("betfair-stream/{file}")) else { return };
        let recording = Recording::open(&path, &[], START, &Limits::default()).unwrap();
        let mut markets: HashMap<String, HashMap<String, TradedVolumes>> = HashMap::new();
        let mut volumes = 0;
        for step in recording {
            let Step::Batch(timed) = step else { panic!("nothing is refused of {file}") };
            for event in &timed.batch.events {
                let Fact::Odds(odds) = &event.fact else { continue };
                let market = markets.entry(odds.market.to_string()).or_default();
                volumes += check(&odds.change, market, file);
            }
        }
        assert!(volumes > 1000, "{volumes} volumes of {file}");
    }
}

/// Compares the volumes of a change with the ladders; returns how many there were.
fn check(change: &MarketChange, market: &mut HashMap<String, TradedVolumes>, file: &str) -> usize {
    let MarketChange::Prices { selections, volume } = change else {
        market.retain(|_, _| !matches!(change, MarketChange::Clear));
        return 0;
    };
    let mut volumes = 0;
    for selection in selections {
        let traded = market.entry(selection.id.to_string()).or_default();
        volumes += check_selection(selection, traded, file);
    }
    let all: Decimal = market.values().flat_map(BTreeMap::values).sum();
    if let Some(volume) = volume.filter(|volume| !volume.is_zero()) {
        assert!((volume - all).abs() < Decimal::ONE, "{volume} of {all} in {file}");
    }
    volumes
}

fn check_selection(selection: &SelectionChange, traded: &mut TradedVolumes, file: &str) -> usize {
    for rung in &selection.traded {
        traded.insert(rung.price, rung.size);
    }
    let Some(volume) = selection.volume.filter(|volume| !volume.is_zero()) else { return 0 };
    let sum: Decimal = traded.values().sum();
    assert!((volume - sum).abs() <= Decimal::new(5, 2), "{volume} of {sum} in {file}");
    1
}
