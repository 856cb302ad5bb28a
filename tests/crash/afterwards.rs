//! Quotas, archive and signals after a run, against what clients counted and what the log has.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::atomic::Ordering};

use ::history::archive::{Archive, OddsFilter, Period, Window};
use database::{Database, DatabaseName};
use fanout::Micros;
use rust_decimal::Decimal;
use serde_json::Value;
use sqlx::{AnyConnection, Connection, Executor, Row};

use crate::{
    checker::{
        published::LogContent,
        report::{Report, Rule},
    },
    http::Response,
    hub::Site,
    load::{Generator, PushCounters},
    rest::CallCounters,
};

/// Checks a hub that was stopped in order.
pub(crate) async fn check(
    site: &Site,
    log: &LogContent,
    account: Option<Response>,
    calls: &CallCounters,
    report: &mut Report,
) {
    let account = account.filter(|response| response.status == 200);
    check_calls(account.and_then(|it| serde_json::from_str(&it.body).ok()), calls, report);
    let url = format!("sqlite:{}", site.database().display());
    check_archive(&url, log, TICK_LIMITS, true, report).await;
}

/// How ticks may differ from what was published, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TickLimits {
    /// Between the time of a tick, which is that of the source or of its receipt, and its update, which has that of the
    /// writer.
    pub(crate) distance_us: Micros,
    /// A price that stood for longer has a tick: longer than the archive may be without a write.
    pub(crate) stood_us: Micros,
}

/// The archive is without a write for no longer than the interval of the exports and a restart.
const TICK_LIMITS: TickLimits = TickLimits { distance_us: 10_000_000, stood_us: 10_000_000 };

/// Checks archive and signals in the database of hubs that were stopped in order. `leaders_know_all`: each leader had the
/// records from which the archive was written before. Another one may write a price again.
pub(crate) async fn check_archive(
    url: &str,
    log: &LogContent,
    limits: TickLimits,
    leaders_know_all: bool,
    report: &mut Report,
) {
    let mut database = unpacked(url).await;
    if leaders_know_all {
        check_ticks(&mut database, report).await;
    }
    check_database(&mut database, log, limits, report).await;
    database.close().await.expect("it closes");
}

/// The tables of [`unpacked`].
const TABLES: &str =
    "CREATE TABLE archive_odds (id INTEGER, match_id INTEGER, bookmaker TEXT, market TEXT,
        line TEXT, outcome TEXT, price TEXT);
    CREATE TABLE archive_ticks (odds INTEGER, at_us INTEGER, price TEXT);
    CREATE TABLE archive_signals (kind TEXT, match_id INTEGER, began_us INTEGER, ended_us INTEGER)";

/// The archive in a database in memory, a row for each price and tick.
async fn unpacked(url: &str) -> AnyConnection {
    let name = DatabaseName::from(url.strip_prefix("sqlite:").unwrap_or(url));
    let source = Database::open_existing(&name).await.expect("it opens");
    let archive = Archive::open(&source).await.expect("it is read");
    let mut database = AnyConnection::connect("sqlite::memory:").await.expect("it opens");
    database.execute(TABLES).await.expect("tables");
    let mut filled = database.begin().await.expect("a transaction");
    let all = OddsFilter { period: Period::Any, ..OddsFilter::default() };
    let (_, rows) = archive.odds(&all, Window::ALL, |_| None).await.expect("prices are read");
    let mut matches: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for row in rows {
        matches.entry(row.match_id).or_default().push(row.id);
        sqlx::query("INSERT INTO archive_odds VALUES ($1, $2, $3, $4, $5, $6, $7)")
            .bind(row.id.cast_signed())
            .bind(row.match_id.cast_signed())
            .bind(row.bookmaker.to_string())
            .bind(row.market.to_string())
            .bind(row.line.map(|line| line.to_string()))
            .bind(row.outcome.to_string())
            .bind(row.price.to_string())
            .execute(&mut *filled)
            .await
            .expect("a row");
    }
    for (match_id, ids) in matches {
        for tick in archive.ticks(match_id, &ids).await.expect("ticks are read") {
            sqlx::query("INSERT INTO archive_ticks VALUES ($1, $2, $3)")
                .bind(tick.odds.cast_signed())
                .bind(tick.at_us)
                .bind(tick.price.map(|price| price.to_string()))
                .execute(&mut *filled)
                .await
                .expect("a row");
        }
    }
    let signals = "SELECT kind, match_id, began_us, ended_us FROM archive_signals";
    let signals: Vec<(String, i64, i64, Option<i64>)> =
        sqlx::query_as(signals).fetch_all(source.pool()).await.expect("signals are read");
    for (kind, match_id, began, ended) in signals {
        sqlx::query("INSERT INTO archive_signals VALUES ($1, $2, $3, $4)")
            .bind(kind)
            .bind(match_id)
            .bind(began)
            .bind(ended)
            .execute(&mut *filled)
            .await
            .expect("a row");
    }
    filled.commit().await.expect("they are written");
    source.close().await;
    database
}

async fn check_database(
    database: &mut AnyConnection,
    log: &LogContent,
    limits: TickLimits,
    report: &mut Report,
) {
    let archived = archived_prices(database, report).await;
    if log.was_damaged() {
        // The archive has what the log has lost.
        return;
    }
    check_tick_prices(database, log, limits, report).await;
    check_prices(&archived, log, report);
    check_signals(database, log, report).await;
}

/// Each call that was responded to is counted, and none that was not made.
fn check_calls(account: Option<Value>, calls: &CallCounters, report: &mut Report) {
    let account = account.unwrap_or_default();
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
async fn check_ticks(database: &mut AnyConnection, report: &mut Report) {
    let twice = "SELECT odds, at_us, price FROM (SELECT odds, at_us, price, \
                 lag(price) OVER of_odds AS before, lag(at_us) OVER of_odds AS first \
                 FROM archive_ticks WINDOW of_odds AS (PARTITION BY odds ORDER BY at_us)) \
                 AS compared WHERE first IS NOT NULL AND price IS NOT DISTINCT FROM before";
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

/// The last price of each selection. None has two rows.
async fn archived_prices(
    database: &mut AnyConnection,
    report: &mut Report,
) -> BTreeMap<PriceKey, Option<Decimal>> {
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
    archived
}

/// The prices of open books are those of the documents.
fn check_prices(
    archived: &BTreeMap<PriceKey, Option<Decimal>>,
    log: &LogContent,
    report: &mut Report,
) {
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

/// The key of a price: match, bookmaker, kind of market, line, outcome.
type PriceKey = (i64, String, String, Option<Decimal>, String);

/// Each archived tick is the log's price at its time, and each price that stood long enough has a tick.
async fn check_tick_prices(
    database: &mut AnyConnection,
    log: &LogContent,
    limits: TickLimits,
    report: &mut Report,
) {
    let rows = "SELECT match_id, bookmaker, market, line, outcome, at_us, archive_ticks.price \
                FROM archive_ticks JOIN archive_odds ON archive_odds.id = odds";
    let rows = sqlx::query(rows).fetch_all(&mut *database).await.expect("it is read");
    let mut ticks: BTreeMap<PriceKey, Vec<(Micros, Option<Decimal>)>> = BTreeMap::new();
    for row in rows {
        let line: Option<String> = row.get(3);
        let line = line.and_then(|line| decimal(&line));
        let price: Option<String> = row.get(6);
        let key = (row.get(0), row.get(1), row.get(2), line, row.get(4));
        ticks.entry(key).or_default().push((row.get(5), price.and_then(|it| decimal(&it))));
    }
    ticks.values_mut().for_each(|of_one| of_one.sort());
    let logged = logged_prices(log);
    let (mut compared, mut wrong, mut holes) = (0, Vec::new(), Vec::new());
    for (key, prices) in &logged {
        let archived = ticks.get(key).map_or(&[][..], Vec::as_slice);
        for (at, price) in archived.iter().filter(|(_, price)| price.is_some()) {
            compared += 1;
            // The document has the price of an update with the same time, or of a later one.
            if !prices.iter().any(|(since, published)| {
                published == price && (since - at).abs() < limits.distance_us
            }) {
                wrong.push(format!("{key:?}: {price:?} at {at}"));
            }
        }
        for pair in prices.windows(2) {
            let [(since, price), (until, _)] = pair else { continue };
            let is_long = until - since > limits.stood_us;
            let has_tick = archived.iter().any(|(_, published)| published == price);
            if is_long && price.is_some() && !has_tick {
                holes.push(format!("{key:?}: {price:?} from {since} to {until}"));
            }
        }
    }
    for (what, found) in [("not in the log", wrong), ("not archived", holes)] {
        if let Some(first) = found.first() {
            let what = format_args!("{} ticks are {what}, such as {first}", found.len());
            report.add(Rule::Accounts, "archive", what);
        }
    }
    if compared == 0 {
        report.add(Rule::Accounts, "archive", "no tick to compare");
    }
}

/// The prices of the log's documents, each from when on it stood.
fn logged_prices(log: &LogContent) -> BTreeMap<PriceKey, Vec<(Micros, Option<Decimal>)>> {
    let mut logged: BTreeMap<PriceKey, Vec<(Micros, Option<Decimal>)>> = BTreeMap::new();
    for (channel, numbering) in log.all() {
        let parts: Vec<&str> = channel.split('/').collect();
        let ["football" | "tennis", id, "odds", book] = parts[..] else { continue };
        let id: i64 = id.parse().expect("a number");
        numbering.each_document(|at, document, patch| {
            // Only the markets that the update touches.
            let markets = patch["markets"].as_object().into_iter().flatten();
            for (name, _) in markets {
                let market = &document["markets"][name];
                let line = market["line"].as_str().and_then(decimal);
                let Some(kind) = market["kind"].as_str() else { continue };
                for selection in
                    market["selections"].as_object().into_iter().flat_map(|all| all.values())
                {
                    let Some(outcome) = selection["outcome"].as_str() else { continue };
                    let price = selection["price"].as_str().and_then(decimal);
                    let key = (id, book.to_owned(), kind.to_owned(), line, outcome.to_owned());
                    let of_one = logged.entry(key).or_default();
                    if of_one.last().is_none_or(|(_, last)| *last != price) {
                        of_one.push((at, price));
                    }
                }
            }
        });
    }
    logged
}

/// What sources were told is right, and the documents have what they sent last. `has_all`: the hub has lost nothing.
pub(crate) fn check_pushes(
    generators: &[Generator],
    log: &LogContent,
    counters: &PushCounters,
    has_all: bool,
    report: &mut Report,
) {
    for problem in counters.problems() {
        report.add(Rule::Push, "source", problem);
    }
    if !has_all {
        return;
    }
    let refused = counters.refused.load(Ordering::Relaxed);
    if refused > 0 {
        report.add(Rule::Push, "sources", format_args!("{refused} lines were refused"));
    }
    let mut documents = BTreeMap::new();
    for (name, numbering) in log.current().filter(|(_, numbering)| numbering.is_open()) {
        let document = numbering.document();
        for side in ["home", "p1"] {
            if let Some(home) = document[side]["name"].as_str() {
                documents.insert(home.to_owned(), (name, document));
            }
        }
    }
    let books: BTreeMap<&str, &Value> =
        log.current().map(|(name, numbering)| (name, numbering.document())).collect();
    let mut compared = 0;
    for of_match in generators.iter().flat_map(Generator::matches) {
        let home = of_match.home();
        let Some((channel, document)) = documents.get(&home) else {
            // Its announcement may not have been sent.
            continue;
        };
        for (field, value) in of_match.values() {
            compared += 1;
            let of_log = document.pointer(field);
            if of_log != Some(&value) {
                let what = format_args!("{channel}: {field} is {of_log:?}, and {value} was sent");
                report.add(Rule::Push, &home, what);
            }
        }
        for (book, kind, outcome, price) in of_match.last_prices() {
            compared += 1;
            let markets = books.get(&*format!("{channel}/odds/{book}")).map(|it| &it["markets"]);
            let market = markets.and_then(Value::as_object).into_iter().flat_map(|it| it.values());
            let selections = market.filter(|market| market["kind"] == kind).flat_map(|market| {
                market["selections"].as_object().into_iter().flat_map(|it| it.values())
            });
            let of_log = selections
                .filter(|it| it["outcome"] == outcome)
                .find_map(|selection| selection["price"].as_str().and_then(decimal));
            if of_log != decimal(&price) {
                let what = format_args!(
                    "{channel}: {book} {kind} {outcome} is {of_log:?}, and {price} was sent"
                );
                report.add(Rule::Push, &home, what);
            }
        }
    }
    if compared < 50 {
        let what = format_args!("only {compared} last values could be compared");
        report.add(Rule::Coverage, "sources", what);
    }
}

/// A signal: its kind, its match, when it began and when it ended.
type SignalKey = (String, i64, i64, Option<i64>);

/// Each signal that was published is archived once, with its end. Signals are told apart by these, and
/// counted: those of several outcomes can begin together.
async fn check_signals(database: &mut AnyConnection, log: &LogContent, report: &mut Report) {
    let mut published: BTreeMap<String, SignalKey> = BTreeMap::new();
    for event in log.events("signals") {
        if event["kind"] == "signal_end" {
            let ended = event["of"].as_str().unwrap_or_default();
            match published.get_mut(ended) {
                Some(signal) => signal.3 = event["at"].as_i64(),
                None => {
                    let what = format_args!("the end of a signal that never began: {event}");
                    report.add(Rule::Accounts, "signals", what);
                }
            }
            continue;
        }
        let signal = &event["signal"];
        let (Some(kind), Some(match_id), Some(began)) =
            (signal["kind"].as_str(), signal["match"].as_i64(), signal["began"].as_i64())
        else {
            report.add(
                Rule::Accounts,
                "signals",
                format_args!("an event of another form: {event}"),
            );
            continue;
        };
        let id = event["id"].as_str().unwrap_or_default();
        published.insert(id.to_owned(), (kind.to_owned(), match_id, began, None));
    }
    let mut balance: BTreeMap<SignalKey, i64> = BTreeMap::new();
    for key in published.values() {
        *balance.entry(key.clone()).or_default() += 1;
    }
    let rows = "SELECT kind, match_id, began_us, ended_us FROM archive_signals";
    let rows = sqlx::query(rows).fetch_all(database).await.expect("it is read");
    for row in &rows {
        *balance.entry((row.get(0), row.get(1), row.get(2), row.get(3))).or_default() -= 1;
    }
    let keys_with_sign = |sign: i64| -> Vec<_> {
        balance.iter().filter(|(_, count)| count.signum() == sign).map(|(key, _)| key).collect()
    };
    let (missing, extra) = (keys_with_sign(1), keys_with_sign(-1));
    if !missing.is_empty() || !extra.is_empty() {
        report.add(Rule::Accounts, "signals", format_args!(
            "{} were published and {} archived; {} are not archived, such as {:?}, and {} not published, such as {:?}",
            published.len(),
            rows.len(),
            missing.len(),
            missing.first(),
            extra.len(),
            extra.first()
        ));
    }
    if published.is_empty() {
        report.add(Rule::Coverage, "signals", "none was published");
    }
}
