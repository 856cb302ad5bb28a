//! Responses of The Odds API: the best prices of each event, and the scores.

use std::collections::{BTreeMap, BTreeSet};

use facts::event::{
    Event, Fact, Id, MarketChange, OddsFact, Scoreboard, ScoreboardStatus, Sport, Timed,
};
use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::recording;

#[test]
fn odds_of_a_sport_match_the_answer_sheet() {
    check_odds("the-odds-api/sport-odds.json");
}

#[test]
fn odds_of_an_event_match_the_answer_sheet() {
    check_odds("the-odds-api/event-odds.json");
}

#[test]
fn scores_match_the_answer_sheet() {
    let Some((batches, sheet)) = recording("the-odds-api/sport-scores.json") else { return };
    let keys = keys(&batches);
    assert_eq!(json!(keys.len()), sheet["events"]);
    for row in sheet["list"].as_array().unwrap() {
        let board = scoreboard(&batches, keys[row["id"].as_str().unwrap()]);
        let completed = board.status == ScoreboardStatus::Finished;
        assert_eq!(json!(completed), row["completed"], "{row}");
        let score = |side: &str| row["scores"][row[side].as_str().unwrap()].as_str();
        let expected = score("home").zip(score("away"));
        let expected = expected.map(|(home, away)| [home, away].map(|it| it.parse().unwrap()));
        assert_eq!(board.score, expected, "{row}");
    }
}

fn check_odds(file: &str) {
    let Some((batches, sheet)) = recording(file) else { return };
    let keys = keys(&batches);
    assert_eq!(json!(keys.len()), sheet["distinct_event_ids"]);
    let odds = || events(&batches).filter(|event| matches!(event.fact, Fact::Odds(_)));
    assert!(odds().all(|event| event.sport == Sport::Hockey));
    let outcomes: u32 = batches.iter().map(|it| it.batch.price_changes).sum();
    assert_eq!(json!(outcomes), sheet["outcomes"]);
    for row in sheet["list"].as_array().unwrap() {
        let odds_of_match = || odds().filter(|it| it.match_id == keys[row["id"].as_str().unwrap()]);
        let books: BTreeSet<_> = odds_of_match().map(|event| &*fact(event).book).collect();
        assert_eq!(json!(books.len()), row["bookmakers"], "{row}");
        assert_eq!(best(odds_of_match()), rows(&row["best"]), "{row}");
    }
}

/// The highest price of each market and selection, with the first book that has it.
fn best<'a>(
    events: impl Iterator<Item = &'a Event>,
) -> BTreeMap<(String, String), (Decimal, String)> {
    let mut best: BTreeMap<_, (Decimal, String)> = BTreeMap::new();
    for odds in events.map(fact) {
        let MarketChange::Prices { selections, .. } = &odds.change else { continue };
        for selection in selections {
            let key = (odds.market.to_string(), selection.id.to_string());
            let price = selection.price.unwrap();
            if best.get(&key).is_none_or(|(best_price, _)| price > *best_price) {
                best.insert(key, (price, odds.book.to_string()));
            }
        }
    }
    best
}

fn rows(best: &Value) -> BTreeMap<(String, String), (Decimal, String)> {
    let row = |row: &Value| {
        let point = row["point"].as_number().map(|it| format!("@{it}")).unwrap_or_default();
        let text = |key: &str| row[key].as_str().unwrap().to_owned();
        let price: Decimal = row["price"].to_string().parse().unwrap();
        let key = (text("market") + &point, text("name"));
        (key, (price.normalize(), text("first_bookmaker_with_it")))
    };
    best.as_array().unwrap().iter().map(row).collect()
}

fn events(batches: &[Timed]) -> impl Iterator<Item = &Event> {
    batches.iter().flat_map(|it| &it.batch.events)
}

fn fact(event: &Event) -> &OddsFact {
    let Fact::Odds(odds) = &event.fact else { panic!("{event:?} is not about odds") };
    odds
}

fn keys(batches: &[Timed]) -> BTreeMap<String, Id> {
    let fixture = |event: &Event| match &event.fact {
        Fact::Fixture(fixture) => Some((fixture.provider_key.to_string(), event.match_id)),
        _ => None,
    };
    events(batches).filter_map(fixture).collect()
}

fn scoreboard(batches: &[Timed], id: Id) -> &Scoreboard {
    let boards = events(batches).filter(|event| event.match_id == id).filter_map(|event| {
        let Fact::Scoreboard(board) = &event.fact else { return None };
        Some(board)
    });
    boards.last().unwrap()
}
