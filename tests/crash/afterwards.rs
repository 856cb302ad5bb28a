//! Quotas, archive and signals after a run, against what clients counted and what the log has.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::Ordering,
};

use rust_decimal::Decimal;
use serde_json::Value;
use sqlx::{Connection, Row, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::{
    checker::{
        published::LogContent,
        report::{Report, Rule},
    },
    http::Response,
    hub::Place,
    rest::CallCounters,
};

/// Checks a hub that was stopped in order.
pub(crate) async fn check(
    place: &Place,
    log: &LogContent,
    account: Option<Response>,
    calls: &CallCounters,
    report: &mut Report,
) {
    check_calls(account, calls, report);
    if log.was_damaged() {
        // The archive has what the log has lost.
        return;
    }
    let options = SqliteConnectOptions::new().filename(place.database());
    let mut database = SqliteConnection::connect_with(&options).await.expect("it opens");
    check_ticks(&mut database, report).await;
    check_prices(&mut database, log, report).await;
    check_signals(&mut database, log, report).await;
    database.close().await.expect("it closes");
}

/// Each call that was responded to is counted, and none that was not made.
fn check_calls(account: Option<Response>, calls: &CallCounters, report: &mut Report) {
    let account = account.filter(|response| response.status == 200);
    let account: Value =
        account.map_or(Value::Null, |it| serde_json::from_str(&it.body).unwrap_or_default());
    let Some(counted) = account["usage"]["total"]["calls"].as_u64() else {
        return report.add(Rule::Accounts, "usage", format_args!("no usage in {account}"));
    };
    let [least, unknown] = [&calls.responded, &calls.unknown].map(|it| it.load(Ordering::Relaxed));
    if !(least..=least + unknown).contains(&counted) {
        report.add(Rule::Accounts, "usage", format_args!(
            "{counted} calls are counted, {least} were responded to, and {unknown} may have been"
        ));
    }
}

/// No price of a selection has two ticks: each tick is a change.
async fn check_ticks(database: &mut SqliteConnection, report: &mut Report) {
    let twice = "SELECT odds, at_us, price FROM (SELECT odds, at_us, price, \
                 lag(price) OVER of AS before, lag(at_us) OVER of AS first \
                 FROM archive_ticks WINDOW of AS (PARTITION BY odds ORDER BY at_us)) \
                 WHERE first IS NOT NULL AND price IS before";
    let twice = sqlx::query(twice).fetch_all(&mut *database).await.expect("it is read");
    if let Some(first) = twice.first() {
        let (odds, at): (i64, i64) = (first.get(0), first.get(1));
        let price: Option<String> = first.get(2);
        report.add(
            Rule::Accounts,
            "archive",
            format_args!(
                "{} ticks change nothing, such as {price:?} of row {odds} at {at}",
                twice.len()
            ),
        );
    }
}

/// The prices of open books are those of the documents.
async fn check_prices(database: &mut SqliteConnection, log: &LogContent, report: &mut Report) {
    let rows = "SELECT match_id, bookmaker, market, line, outcome, price FROM archive_odds";
    let rows = sqlx::query(rows).fetch_all(&mut *database).await.expect("it is read");
    let mut archived = BTreeMap::new();
    for row in rows {
        let line: Option<String> = row.get(3);
        let key =
            (row.get(0), row.get(1), row.get(2), line.and_then(|line| decimal(&line)), row.get(4));
        let price: String = row.get(5);
        if archived.insert(key.clone(), decimal(&price)).is_some() {
            report.add(Rule::Accounts, "archive", format_args!("two rows of {key:?}"));
        }
    }
    let mut compared = 0;
    for (channel, numbering) in log.current().filter(|(_, numbering)| numbering.is_open()) {
        let parts: Vec<&str> = channel.split('/').collect();
        let ["football" | "tennis", id, "odds", book] = parts[..] else { continue };
        let document = numbering.document();
        // The archive has the last price that was on offer.
        let markets = document["markets"].as_object().into_iter().flat_map(|all| all.values());
        let is_open =
            |market: &&Value| document["suspended"] == false && market["status"] == "open";
        for market in markets.filter(is_open) {
            for selection in
                market["selections"].as_object().into_iter().flat_map(|all| all.values())
            {
                let (Some(outcome), Some(price), Some(kind)) = (
                    selection["outcome"].as_str(),
                    selection["price"].as_str(),
                    market["kind"].as_str(),
                ) else {
                    continue;
                };
                let line = market["line"].as_str().and_then(decimal);
                let id: i64 = id.parse().expect("a number");
                let key = (id, book.to_owned(), kind.to_owned(), line, outcome.to_owned());
                compared += 1;
                let archived = archived.get(&key);
                if archived != Some(&decimal(price)) {
                    let what = format_args!("{key:?} is {archived:?}, and {price} in the document");
                    report.add(Rule::Accounts, "archive", what);
                }
            }
        }
    }
    if compared == 0 {
        report.add(Rule::Accounts, "archive", "no price of an open book to compare");
    }
}

fn decimal(text: &str) -> Option<Decimal> {
    text.parse::<Decimal>().ok().map(|number| number.normalize())
}

/// Each signal that was published is archived once. Signals are told apart by kind, match and begin, and
/// counted: those of several outcomes can begin together.
async fn check_signals(database: &mut SqliteConnection, log: &LogContent, report: &mut Report) {
    let mut seen = BTreeSet::new();
    let mut balance: BTreeMap<(String, i64, i64), i64> = BTreeMap::new();
    for event in log.events("signals").filter(|event| event["kind"] == "signal") {
        let signal = &event["signal"];
        let (Some(kind), Some(of), Some(began)) =
            (signal["kind"].as_str(), signal["match"].as_i64(), signal["began"].as_i64())
        else {
            report.add(
                Rule::Accounts,
                "signals",
                format_args!("an event of another form: {event}"),
            );
            continue;
        };
        if seen.insert(event["id"].to_string()) {
            *balance.entry((kind.to_owned(), of, began)).or_default() += 1;
        }
    }
    let rows = "SELECT kind, match_id, began_us FROM archive_signals";
    let rows = sqlx::query(rows).fetch_all(database).await.expect("it is read");
    for row in &rows {
        *balance.entry((row.get(0), row.get(1), row.get(2))).or_default() -= 1;
    }
    let of = |sign: i64| -> Vec<_> {
        balance.iter().filter(|(_, count)| count.signum() == sign).map(|(key, _)| key).collect()
    };
    let (missing, extra) = (of(1), of(-1));
    if !missing.is_empty() || !extra.is_empty() {
        report.add(Rule::Accounts, "signals", format_args!(
            "{} were published and {} archived; {} are not archived, such as {:?}, and {} not published, such as {:?}",
            seen.len(),
            rows.len(),
            missing.len(),
            missing.first(),
            extra.len(),
            extra.first()
        ));
    }
}
