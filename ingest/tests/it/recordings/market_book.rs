//! Polls of Betfair's `listMarketBook`.

use std::fs;

use facts::event::{
    Fact, Level, MarketChange, MarketDefinition, MarketStatus, SelectionChange, SelectionStatus,
    Timed,
};
use ingest::normalize::{Interpret, Interpretation, Signal, betfair::book::Interpreter};
use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::{facts, fixture, recording, shared};

const FILE: &str = "betfair-rest/list_market_book.json";

#[test]
fn market_book_matches_the_answer_sheet() {
    let Some((batches, sheet)) = recording(FILE) else { return };
    let [book] = &sheet["books"].as_array().unwrap()[..] else { panic!("one book") };
    let key = format!("market/{}", book["market_id"].as_str().unwrap());
    assert_eq!(*fixture(&batches).provider_key, *key);
    let (definition, selections, volume) = image(&batches, book);
    assert_eq!(definition.status, MarketStatus::Suspended);
    assert_eq!(json!(definition.in_play), book["in_play"]);
    assert_eq!(volume.to_string(), book["total_matched"].to_string());
    let runners = book["runners"].as_array().unwrap();
    assert_eq!(definition.selections.len(), runners.len());
    for (runner, defined) in runners.iter().zip(&definition.selections) {
        assert_eq!(*defined.id, runner["id"].to_string());
        let removed = runner["status"] == "REMOVED";
        let status = if removed { SelectionStatus::Removed } else { SelectionStatus::Active };
        assert_eq!(defined.status, status);
        check_prices(selections.iter().find(|it| it.id == defined.id), runner);
    }
}

/// The only image in the recording: clear, define, prices.
fn image<'b>(
    batches: &'b [Timed],
    book: &Value,
) -> (&'b MarketDefinition, &'b [SelectionChange], Decimal) {
    let odds: Vec<_> = facts(batches)
        .filter_map(|fact| match fact {
            Fact::Odds(odds) => Some(odds),
            _ => None,
        })
        .collect();
    for change in &odds {
        assert_eq!((&*change.book, json!(&*change.market)), ("betfair", book["market_id"].clone()));
    }
    let changes: Vec<_> = odds.iter().map(|it| &it.change).collect();
    match changes[..] {
        [
            MarketChange::Clear,
            MarketChange::Define(definition),
            MarketChange::Prices { selections, volume: Some(volume) },
        ] => (definition, selections, *volume),
        _ => panic!("not an image: {changes:?}"),
    }
}

fn check_prices(change: Option<&SelectionChange>, runner: &Value) {
    let nothing = SelectionChange::default();
    let change = change.unwrap_or(&nothing);
    let counts = json!([change.back.len(), change.lay.len(), change.traded.len()]);
    assert_eq!(
        counts,
        json!([runner["back_levels"], runner["lay_levels"], runner["traded_levels"]])
    );
    let rung = |level: &Level| json!([number(level.price), number(level.size)]);
    let best_back = change.back.iter().max_by_key(|level| level.price).map(rung);
    let best_lay = change.lay.iter().min_by_key(|level| level.price).map(rung);
    assert_eq!(best_back.as_ref(), runner.get("best_back"));
    assert_eq!(best_lay.as_ref(), runner.get("best_lay"));
    assert_eq!(change.last.map(number).as_ref(), runner.get("ltp"));
}

fn number(number: Decimal) -> Value {
    json!(number.to_string().parse::<f64>().unwrap())
}

#[test]
fn repeated_market_book_emits_nothing() {
    let Some(path) = shared(FILE) else { return };
    let bytes = fs::read(path).unwrap();
    let mut interpreter = Interpreter::default();
    let mut polls = [0, 1].map(|received| {
        let mut played = Interpretation::default();
        interpreter.message(&bytes, received, &mut played).unwrap();
        played
    });
    assert_eq!(polls[0].batches.len(), 1);
    assert_eq!(
        std::mem::take(&mut polls[1]),
        Interpretation { signals: vec![Signal::Fresh], ..Interpretation::default() }
    );
}
