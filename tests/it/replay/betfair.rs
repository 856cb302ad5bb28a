//! Markets: their transitions with times, prices at each, ladders, volumes, and winners.

use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Playback, play};
use crate::support::ChannelState;

#[tokio::test]
async fn football_basic() {
    check("football-1-event-77-markets.basic.bz2", "max").await;
}

#[tokio::test]
async fn football_live() {
    check("football-200-markets.live.bz2", "max").await;
}

#[tokio::test]
async fn tennis_pro() {
    check("tennis-29788105.pro.jsonl.gz", "max").await;
}

#[tokio::test]
async fn tennis_pro_with_four_markets() {
    check("tennis-29788457-4-markets.pro.jsonl.gz", "max").await;
}

#[tokio::test]
async fn tennis_basic() {
    check("tennis-1.223716976.basic.bz2", "max").await;
}

#[tokio::test]
async fn racing_live() {
    check("racing-1.241629436.live.jsonl.gz", "max").await;
}

#[tokio::test]
async fn paced() {
    check("tennis-29788105.pro.jsonl.gz", "5000").await;
}

async fn check(file: &str, speed: &str) {
    let Some(played) = play(&format!("betfair-stream/{file}"), speed).await else { return };
    let Playback { sheet, markets: seen, client, .. } = &played;
    let markets = sheet["markets"].as_array().expect("a list of markets");
    let mut books = BTreeMap::new();
    for expected in markets {
        let id = text(&expected["market_id"]);
        let (name, book) = book_of(&client.channels, id);
        assert!(name.ends_with("/odds/betfair"), "{name}");
        assert_eq!(name.split('/').next(), Some(sport(expected)), "{name}");
        let event = books.entry(name).or_insert_with(|| &expected["event_id"]);
        assert_eq!(*event, &expected["event_id"], "a match is one event: {name}");
        let market = &book.data["markets"][id];
        check_definition(market, expected);
        check_transitions(market, expected);
        let events = book.events.iter().filter(|event| event["market"] == id);
        check_events(&events.collect::<Vec<_>>(), expected);
        let images = seen.iter().filter(|(event, transition)| {
            event["market"] == id
                && event["kind"] != "correct"
                && transition.get("transitions").is_some()
        });
        check_snapshots(&images.collect::<Vec<_>>(), expected);
        check_end(market, expected);
    }
    let counts = books.keys().map(|name| super::count(&client.channels[*name].data["markets"]));
    assert_eq!(counts.sum::<usize>(), markets.len());
    let all = client.channels.keys().filter(|name| name.contains("/odds/")).count();
    assert_eq!(all, books.len());
    played.check_end();
}

fn book_of<'a>(
    channels: &'a BTreeMap<String, ChannelState>,
    market: &str,
) -> (&'a str, &'a ChannelState) {
    let has = |it: &ChannelState| it.data["markets"].get(market).is_some();
    let mut found = channels.iter().filter(|(name, it)| name.contains("/odds/") && has(it));
    let (name, book) = found.next().unwrap_or_else(|| panic!("no match has market {market}"));
    assert!(found.next().is_none(), "market {market} is in one book");
    (name, book)
}

fn sport(expected: &Value) -> &'static str {
    match text(&expected["event_type_id"]) {
        "1" => "football",
        "2" => "tennis",
        "7" => "horseracing",
        other => panic!("no recording is of sport {other}"),
    }
}

fn check_definition(market: &Value, expected: &Value) {
    let id = &expected["market_id"];
    assert_eq!(market["status"], lower(&expected["final_status"]), "{id}");
    assert_eq!(market["in_play"], expected["final_in_play"], "{id}");
    assert_eq!(market.get("name"), expected.get("market_name"), "{id}");
    let selections = market["selections"].as_object().expect("a market has selections");
    assert_eq!(selections.len(), expected["runners_defined"], "{id}");
    let won = selections.iter().filter(|(_, it)| it["status"] == "winner");
    let won = won.map(|(id, _)| id.split('@').next().unwrap_or_default().to_owned());
    let expected_won = list(&expected["winners"]).map(Value::to_string);
    assert_eq!(sorted(won), sorted(expected_won), "{id}");
    // The sheet omits the runners of very large markets.
    for runner in list(&expected["runners"]) {
        let selection = &selections[&runner_id(runner)];
        assert_eq!(selection["status"], lower(&runner["status"]), "{id} {runner}");
        let name = runner.get("name").map(|name| json!(text(name).trim()));
        assert_eq!(selection.get("name"), name.as_ref(), "{id} {runner}");
    }
}

fn transition(definition: &Value) -> (i64, Value, Value) {
    let at = definition["at"].as_i64().expect("a moment");
    (at, definition["status"].clone(), definition["in_play"].clone())
}

fn expected_transitions(expected: &Value) -> Vec<(i64, Value, Value)> {
    let each = |transition: &Value| {
        let at = transition["pt"].as_i64().expect("a moment") * 1_000;
        (at, lower(&transition["status"]), transition["in_play"].clone())
    };
    list(&expected["status_transitions"]).map(each).collect()
}

/// As in the document.
fn check_transitions(market: &Value, expected: &Value) {
    let transitions = market["transitions"].as_object().expect("a market has transitions");
    let mut shown: Vec<(u32, &Value)> = transitions
        .iter()
        .map(|(number, it)| (number.parse().expect("they are numbered"), it))
        .collect();
    shown.sort_by_key(|(number, _)| *number);
    assert!(shown.iter().zip(1..).all(|((number, _), expected_number)| *number == expected_number));
    let shown: Vec<_> = shown.into_iter().map(|(_, it)| transition(it)).collect();
    assert_eq!(shown, expected_transitions(expected), "{}", expected["market_id"]);
}

/// As in the events.
fn check_events(events: &[&Value], expected: &Value) {
    let moved = events.iter().filter(|event| event["kind"] != "correct");
    let actual: Vec<_> = moved.clone().map(|event| transition(event)).collect();
    assert_eq!(actual, expected_transitions(expected), "{}", expected["market_id"]);
    let mut open = None;
    for event in moved {
        let is_open = event["status"] == "open";
        let kind = match (text(&event["status"]), open) {
            ("closed", _) => "settle",
            (_, None) if is_open => "open",
            (_, Some(true) | None) if !is_open => "suspend",
            (_, Some(false)) if is_open => "resume",
            _ => "in_play",
        };
        assert_eq!(event["kind"], kind, "{event}");
        open = Some(is_open);
    }
    // A market may be settled again; the last settlement counts.
    if let Some(settled) = events.iter().rfind(|event| event.get("winners").is_some()) {
        let won =
            list(&settled["winners"]).map(|id| text(id).split('@').next().unwrap().to_owned());
        let expected_won = list(&expected["winners"]).map(Value::to_string);
        assert_eq!(sorted(won), sorted(expected_won), "{}", expected["market_id"]);
    }
}

/// The market as of each of its events: the event is alone in its update, so that no later price is
/// in it.
fn check_snapshots(seen: &[&(Value, Value)], expected: &Value) {
    let transitions: Vec<_> = list(&expected["status_transitions"]).collect();
    assert_eq!(seen.len(), transitions.len(), "{}", expected["market_id"]);
    for ((event, market), transition) in seen.iter().zip(transitions) {
        let Some(runners) = transition["runners"].as_array() else { continue };
        let selections = market["selections"].as_object().expect("a market has selections");
        for (id, selection) in selections {
            let Some(runner) = runners.iter().find(|runner| runner_id(runner) == *id) else {
                let empty = ["price", "lay", "last"].iter().all(|it| selection.get(it).is_none());
                assert!(empty, "{id} at {event}");
                continue;
            };
            let best =
                |side: &str| runner.get(side).map(|rung| [decimal(&rung[0]), decimal(&rung[1])]);
            assert_eq!(rung(selection, "price", "back"), best("best_back"), "{id} at {event}");
            assert_eq!(rung(selection, "lay", "lays"), best("best_lay"), "{id} at {event}");
            let last = if event["status"] == "closed" {
                last_with_meaning(id, runner, expected)
            } else {
                runner.get("ltp").map(decimal)
            };
            assert_eq!(selection.get("last").map(decimal), last, "{id} at {event}");
        }
    }
}

/// A best price and its size.
fn rung(selection: &Value, best: &str, ladder: &str) -> Option<[Decimal; 2]> {
    let price = decimal(selection.get(best)?);
    let size = &selection[ladder][price.to_string()];
    Some([price, decimal(size)])
}

/// The sheet's last price for a wiped runner is a meaningless value that Betfair sent at the wipe.
/// The hub keeps the price before it, which is the one at the last suspension.
fn last_with_meaning(id: &str, at_end: &Value, expected: &Value) -> Option<Decimal> {
    let wiped = list(&expected["runner_tv_at_end"])
        .any(|runner| runner_id(runner) == id && decimal(&runner["tv"]).is_zero());
    let mut suspended = list(&expected["ltp_at_last_suspension"]["runners"]);
    let runner = if wiped { suspended.find(|it| runner_id(it) == id) } else { Some(at_end) };
    runner?.get("ltp").map(decimal)
}

fn check_end(market: &Value, expected: &Value) {
    let id = &expected["market_id"];
    let selections = &market["selections"];
    for runner in list(&expected["ltp_at_end"]) {
        let selection_id = runner_id(runner);
        let last = last_with_meaning(&selection_id, runner, expected);
        assert_eq!(
            selections[&selection_id].get("last").map(decimal),
            last,
            "{selection_id} of {id}"
        );
    }
    let priced =
        selections.as_object().into_iter().flatten().filter(|(_, it)| it.get("last").is_some());
    let traded = list(&expected["ltp_at_end"]).map(runner_id);
    assert_eq!(
        sorted(priced.map(|(selection_id, _)| selection_id.clone())),
        sorted(traded),
        "{id}"
    );
    for runner in list(&expected["runner_tv_at_end"]) {
        let selection_id = runner_id(runner);
        let volume = selections[&selection_id].get("volume").map(decimal);
        let tv = decimal(&runner["tv"]);
        if tv.is_zero() {
            // The wipe before the close: what was traded until then stays.
            let traded = selections[&selection_id]["traded"].as_object();
            let sum: Decimal = traded.into_iter().flat_map(|all| all.values()).map(decimal).sum();
            let apart = volume.unwrap_or_default() - sum;
            assert!(
                !sum.is_zero() && apart.abs() <= Decimal::new(5, 2),
                "{selection_id}: {volume:?} {sum}"
            );
        } else {
            assert_eq!(volume, Some(tv), "{selection_id} of {id}");
        }
    }
    let volume = market.get("volume").map(decimal);
    match expected.get("market_tv_at_end").map(decimal) {
        Some(tv) if tv.is_zero() => assert!(volume.is_some_and(|it| !it.is_zero()), "{id}"),
        tv => assert_eq!(volume, tv, "{id}"),
    }
    check_ladders(market, expected);
}

const LADDERS: [(&str, &str); 3] = [("atb", "back"), ("atl", "lays"), ("trd", "traded")];

/// The number of levels and their sum, the best prices, and the sheet's hash of all rungs: over
/// sorted lines `id|hc|side|price|size`.
fn check_ladders(market: &Value, expected: &Value) {
    let (id, cache) = (&expected["market_id"], &expected["cache_at_end"]);
    let wiped = list(&expected["runner_tv_at_end"]).filter(|it| decimal(&it["tv"]).is_zero());
    let wiped: Vec<_> = wiped.map(runner_id).collect();
    let mut lines = Vec::new();
    for (side, name) in LADDERS {
        let mut sizes = Vec::new();
        for (selection, it) in market["selections"].as_object().into_iter().flatten() {
            // Of a runner that was wiped, the sheet has no ladder of what was traded.
            if side == "trd" && wiped.contains(selection) {
                continue;
            }
            let ladder: BTreeMap<Decimal, Decimal> = it[name]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(price, size)| (decimal(&json!(price)), decimal(size)))
                .collect();
            let (runner, hc) = selection.split_once('@').unwrap_or((selection, "0"));
            lines.extend(
                ladder.iter().map(|(price, size)| format!("{runner}|{hc}|{side}|{price}|{size}\n")),
            );
            match side {
                "atb" => assert_eq!(it.get("price").map(decimal), ladder.keys().last().copied()),
                "atl" => assert_eq!(it.get("lay").map(decimal), ladder.keys().next().copied()),
                _ => {}
            }
            sizes.extend(ladder.into_values());
        }
        assert_eq!(sizes.len() as u64, cache["levels"][side].as_u64().unwrap_or(0), "{side} {id}");
        let sum = cache["size_sum"].get(side).map(decimal).unwrap_or_default();
        assert_eq!(sizes.iter().sum::<Decimal>(), sum, "{side} of {id}");
    }
    lines.sort();
    let hash = (!lines.is_empty()).then(|| HEXLOWER.encode(&Sha256::digest(lines.concat())));
    assert_eq!(hash.as_deref(), cache["sha256"].as_str(), "{id}");
}

// ------------------------------------------------------------------------------------ sheets

fn runner_id(runner: &Value) -> String {
    match runner.get("hc").map(decimal).filter(|hc| !hc.is_zero()) {
        None => runner["id"].to_string(),
        Some(hc) => format!("{}@{hc}", runner["id"]),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn lower(value: &Value) -> Value {
    json!(text(value).to_lowercase())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn sorted(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut texts: Vec<_> = texts.collect();
    texts.sort();
    texts
}

/// A number of a sheet or a text of a document, without trailing zeros.
fn decimal(value: &Value) -> Decimal {
    let digits = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    Decimal::from_str_exact(&digits).expect("plain numbers").normalize()
}
