//! Prices of bookmakers and of exchanges.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{RecordedHub, array, number};
use crate::replay::sheet;

const SPORT_ODDS: &str = "the-odds-api/sport-odds.json";
const EVENT_ODDS: &str = "the-odds-api/event-odds.json";
const BOOK: &str = "betfair-rest/list_market_book.json";
const RACE: &str = "betfair-stream/racing-1.241629436.live.jsonl.gz";
const MARKETS: &str = "betfair-stream/football-200-markets.live.bz2";
const BASIC: &str = "betfair-stream/football-1-event-77-markets.basic.bz2";

#[tokio::test]
async fn highest_prices_name_their_bookmakers() {
    for file in [SPORT_ODDS, EVENT_ODDS] {
        let Some(hub) = RecordedHub::replay(&[file]) else { return };
        let sheet = sheet(file);
        let list = "/hockey/api/v2/matches/?date_from=2024-03-01&date_to=2024-03-31&limit=200";
        let page = hub.until(list, |page| page["count"] == sheet["events"]).await;
        let (mut outcomes, mut entries, mut slugs) = (0, 0, BTreeSet::new());
        for expected in array(&sheet["list"]) {
            let is_own = |row: &&Value| {
                row["home_team"]["name"] == expected["home"]
                    && row["away_team"]["name"] == expected["away"]
            };
            let mut found = array(&page["results"]).iter().filter(is_own);
            let row = found.next().unwrap_or_else(|| panic!("{expected} is not among {page}"));
            assert!(found.next().is_none(), "{expected} is there twice");
            let start = expected["commence_time"].as_str().expect("a time").replace('Z', "+00:00");
            assert_eq!(row["match_date"], start);
            let odds = hub.get(&format!("/hockey/api/v2/matches/{}/odds/", row["id"])).await;
            assert_eq!(
                (&odds["source"], &odds["bookmakers_count"]),
                (&json!("multi"), &expected["bookmakers"])
            );
            let books = array(&odds["bookmakers"]);
            for best in array(&expected["best"]) {
                let side = if best["name"] == expected["home"] { "odds_home" } else { "odds_away" };
                let price = |book: &Value| book[side].as_f64().expect("a price");
                let highest = books.iter().map(price).fold(0.0, f64::max);
                assert_eq!(Some(highest), best["price"].as_f64(), "{best}");
                let first = books
                    .iter()
                    .find(|book| book["bookmaker_slug"] == best["first_bookmaker_with_it"]);
                assert_eq!(
                    Some(price(first.expect("its bookmaker"))),
                    best["price"].as_f64(),
                    "{best}"
                );
            }
            entries += books.len();
            slugs.extend(
                books
                    .iter()
                    .filter_map(|book| book["bookmaker_slug"].as_str())
                    .map(ToOwned::to_owned),
            );
            outcomes += check_odds_api(&hub, row, expected).await;
        }
        assert_eq!(json!(entries), sheet["bookmaker_entries"], "{file}");
        assert_eq!(json!(outcomes), sheet["outcomes"], "{file}");
        assert_eq!(json!(slugs), sheet["bookmakers"], "{file}");
    }
}

/// The same through the Odds API: all prices, and which are the highest. Returns their number.
async fn check_odds_api(hub: &RecordedHub, row: &Value, expected: &Value) -> usize {
    let odds = hub.get(&format!("/odds/api/events/{}/", row["id"])).await;
    assert_eq!((&odds["home_team"], &odds["away_team"]), (&expected["home"], &expected["away"]));
    assert_eq!(
        (&odds["event_date"], &odds["bookmakers_count"]),
        (&expected["commence_time"], &expected["bookmakers"])
    );
    let [market] = array(&odds["markets"]) else { panic!("one market in {odds}") };
    assert_eq!((&market["market"], &market["line"]), (&json!("match_winner"), &Value::Null));
    let mut prices = 0;
    for best in array(&expected["best"]) {
        let outcome = if best["name"] == expected["home"] { "home" } else { "away" };
        let outcome_row = array(&market["outcomes"]).iter().find(|it| it["outcome"] == outcome);
        let books = array(&outcome_row.expect("the outcome")["bookmakers"]);
        let named: Vec<_> = books.iter().filter(|it| it["bookmaker_slug"] != "consensus").collect();
        prices += named.len();
        for price in named {
            let is_best = price["price"].as_f64() == best["price"].as_f64();
            assert_eq!(price["is_max"], is_best, "{price}");
            assert_eq!((&price["suspended"], &price["previous"]), (&json!(false), &Value::Null));
        }
    }
    prices
}

/// A Betfair response contains neither the sport nor names: runners appear under their ids.
#[tokio::test]
async fn market_book_matches_its_runners() {
    let Some(hub) = RecordedHub::replay(&[BOOK]) else { return };
    let page = hub.until("/odds/api/events/?sport=other", |page| page["count"] == 1).await;
    let path = format!("/odds/api/events/{}/", page["results"][0]["event_id"]);
    let has_prices = |odds: &Value| odds["prices_count"].as_u64() > Some(0);
    let odds = hub.until(&path, has_prices).await;
    let [market] = array(&odds["markets"]) else { panic!("one market in {odds}") };
    let sheet = sheet(BOOK);
    let [book] = array(&sheet["books"]) else { panic!("one book in {sheet}") };
    let runners = array(&book["runners"]);
    let priced: Vec<_> = runners.iter().filter(|it| it.get("best_back").is_some()).collect();
    assert_eq!(array(&market["outcomes"]).len(), priced.len(), "{market}");
    for runner in priced {
        let id = runner["id"].to_string();
        let runner_row = array(&market["outcomes"]).iter().find(|it| it["outcome"] == *id);
        let [price] = array(&runner_row.expect("the runner")["bookmakers"]) else {
            panic!("one price of {id}")
        };
        assert_eq!(price["bookmaker_slug"], "betfair");
        assert_eq!(price["price"].as_f64(), runner["best_back"][0].as_f64(), "{id}");
        assert_eq!((&price["suspended"], &price["in_play"]), (&json!(true), &book["in_play"]));
    }
}

/// Nothing is on offer at the end, and the winner is known.
#[tokio::test]
async fn race_ends_as_its_market_was_settled() {
    let Some(hub) = RecordedHub::replay(&[RACE]) else { return };
    let sheet = &sheet(RACE)["markets"][0];
    let list = "/horseracing/api/v2/races/?date_from=2025-04-01&date_to=2025-04-01";
    let is_over = |page: &Value| page["results"][0]["state"] == "archived";
    let race = hub.until(list, is_over).await["results"][0].clone();
    assert_eq!(race["competitors_count"], sheet["runners_defined"]);
    let start = sheet["market_time_last"].as_str().expect("a time").replace(".000Z", "+00:00");
    assert_eq!(race["starts_at"], start);
    let runners = hub.all(&format!("/horseracing/api/v2/runners/?race={}", race["id"])).await;
    let statuses = |all: &[Value]| {
        let mut all: Vec<_> =
            all.iter().map(|it| it["status"].as_str().expect("a status").to_lowercase()).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(statuses(&runners), statuses(array(&sheet["runners"])));
    let first: Vec<_> = runners.iter().filter(|it| it["finish_position"] == 1).collect();
    assert_eq!(first.len(), array(&sheet["winners"]).len());
    for runner in &runners {
        let odds = hub.get(&format!("/horseracing/api/v2/runners/{}/odds/", runner["id"])).await;
        assert_eq!(
            (&odds["source"], &odds["bookmakers"]),
            (&json!("none"), &json!([])),
            "a settled market"
        );
        let bsp = odds["bsp_win"].as_f64();
        let mut stated = array(&sheet["runners"]).iter().filter_map(|it| it["bsp"].as_f64());
        assert!(bsp.is_some_and(|bsp| stated.any(|price| (price - bsp).abs() < 1e-9)), "{odds}");
    }
}

#[tokio::test]
async fn matches_of_many_markets() {
    for (file, count) in [(MARKETS, 140), (BASIC, 1)] {
        let Some(hub) = RecordedHub::replay(&[file]) else { return };
        let sheet = sheet(file);
        let markets = array(&sheet["markets"]);
        let events: BTreeSet<_> = markets.iter().map(|it| it["event_id"].to_string()).collect();
        assert_eq!(events.len(), count, "the sheet");
        let list = "/api/v2/events/?limit=200";
        let is_complete = |page: &Value| {
            let all_over = || array(&page["results"]).iter().all(|it| it["status"] == "finished");
            page["count"] == count && (file == MARKETS || all_over())
        };
        let page = hub.until(list, is_complete).await;
        let closed = |status: &str| markets.iter().all(|it| it["final_status"] == status);
        let expected = if closed("CLOSED") { "finished" } else { "notstarted" };
        let mut starts: BTreeSet<_> = BTreeSet::new();
        for market in markets {
            starts.insert(
                market["market_time_last"].as_str().expect("a time").replace(".000Z", "+00:00"),
            );
        }
        for row in array(&page["results"]) {
            assert_eq!(row["status"], expected, "{row}");
            assert!(row["event_date"].as_str().is_some_and(|at| starts.contains(at)), "{row}");
        }
        if file == BASIC {
            let names = format!(
                "{} v {}",
                page["results"][0]["home_team"], page["results"][0]["away_team"]
            );
            assert_eq!(json!(names.replace('"', "")), markets[0]["event_name"]);
            let odds = hub.get(&format!("/odds/api/events/{}/", page["results"][0]["id"])).await;
            assert_eq!(number(&odds["prices_count"]), 0, "it has no ladders: {odds}");
        }
    }
}
