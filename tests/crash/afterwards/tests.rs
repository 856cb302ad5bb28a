//! The checks find what is planted in a database.

use bytes::Bytes;
use fanout::{ChannelId, Epoch};
use log::record::{Output, Record};
use serde_json::json;

use super::*;

const BOOK: &str = "football/7/odds/alpha";
const SECOND: Micros = 1_000_000;

/// A log in which a price is 2.10 at 20 s, 2.20 at 40 s, and 2.30 at 60 s, and a signal begins and ends.
fn log() -> LogContent {
    let (mut log, mut report) = (LogContent::default(), Report::default());
    let opened = |channel: &str| {
        let image = json!({"type": "image", "ch": channel, "epoch": Epoch(1).to_string(), "seq": 0, "data": {}});
        let (channel, payload) = (ChannelId::new(channel), image.to_string().into());
        Output::Opened { channel, epoch: Epoch(1), seq: 0, payload }
    };
    let update = |channel: &str, seq: u64, rest: Value| {
        let mut frame = json!({"type": "update", "ch": channel, "seq": seq, "prev": seq - 1});
        let fields = rest.as_object().expect("an object").clone();
        let has_events = fields.contains_key("events");
        frame.as_object_mut().expect("an object").extend(fields);
        let (channel, payload) = (ChannelId::new(channel), frame.to_string().into());
        let (prev, epoch) = (seq - 1, Epoch(1));
        Output::Published { channel, epoch, prev, seq, urgent: false, has_events, payload }
    };
    let price = |price: &str| {
        let selection = json!({"outcome": "home", "price": price});
        let market =
            json!({"kind": "match_winner", "status": "open", "selections": {"home": selection}});
        json!({"patch": {"suspended": false, "markets": {"match_winner": market}}})
    };
    let began = {
        let signal = json!({"kind": "arbitrage", "match": 7, "began": SECOND});
        json!({"patch": {}, "events": [{"kind": "signal", "eid": "1", "id": "5", "signal": signal}]})
    };
    let ended = json!({"patch": {}, "events": [
        {"kind": "signal_end", "eid": "2", "of": "5", "at": 30 * SECOND},
    ]});
    let outputs = [
        vec![opened(BOOK), opened("signals")],
        vec![update(BOOK, 1, price("2.10")), update("signals", 1, began)],
        vec![update(BOOK, 2, price("2.20")), update("signals", 2, ended)],
        vec![update(BOOK, 3, price("2.30"))],
    ];
    for (number, outputs) in (1..).zip(outputs) {
        let at = 20 * SECOND * (Micros::try_from(number).expect("small") - 1);
        log.add(&Record { number, at, inputs: Bytes::new(), outputs }, &mut report);
    }
    assert!(report.is_clean(), "{report}");
    log
}

/// The database that agrees with the log, after these statements.
async fn check_after(statements: &'static str) -> Report {
    sqlx::any::install_default_drivers();
    let mut database = AnyConnection::connect("sqlite::memory:").await.expect("it opens");
    let rows = "INSERT INTO archive_odds VALUES (1, 7, 'alpha', 'match_winner', NULL, 'home', '2.30');
        INSERT INTO archive_ticks VALUES (1, 20000000, '2.10'), (1, 40000000, '2.20'), (1, 60000000, '2.3');
        INSERT INTO archive_signals VALUES ('arbitrage', 7, 1000000, 30000000);";
    database.execute(TABLES).await.expect("tables");
    database.execute(rows).await.expect("rows");
    database.execute(statements).await.expect("a fault");
    let (log, mut report) = (log(), Report::default());
    check_ticks(&mut database, &mut report).await;
    check_database(&mut database, &log, TICK_LIMITS, &mut report).await;
    report
}

#[tokio::test]
async fn database_that_agrees_is_clean() {
    let report = check_after("SELECT 1").await;
    assert!(report.is_clean(), "{report}");
}

#[tokio::test]
async fn faults_of_the_archive_are_found() {
    for (fault, words) in [
        ("INSERT INTO archive_ticks VALUES (1, 50000000, '2.20')", "ticks change nothing"),
        ("UPDATE archive_ticks SET price = '2.15' WHERE at_us = 40000000", "not in the log"),
        ("DELETE FROM archive_ticks WHERE at_us = 40000000", "not archived"),
        ("DELETE FROM archive_ticks", "no tick to compare"),
        ("UPDATE archive_odds SET price = '2.20'", "in the document"),
        (
            "INSERT INTO archive_odds SELECT 2, 7, 'alpha', market, line, outcome, price FROM archive_odds",
            "two rows",
        ),
        ("DELETE FROM archive_signals", "1 are not archived"),
        ("INSERT INTO archive_signals SELECT * FROM archive_signals", "1 not published"),
        ("UPDATE archive_signals SET ended_us = NULL", "1 are not archived"),
    ] {
        let report = check_after(fault).await;
        assert_eq!(report.rules(), [Rule::Accounts], "{fault}: {report}");
        assert!(report.to_string().contains(words), "{fault}: {report}");
    }
}

#[test]
fn calls_that_are_not_counted_once_are_found() {
    let check = |counted: u64, responded: u64, unknown: u64| {
        let calls = CallCounters { responded: responded.into(), unknown: unknown.into() };
        let body = json!({"usage": {"total": {"calls": counted}}}).to_string();
        let mut report = Report::default();
        check_calls(serde_json::from_str(&body).ok(), &calls, &mut report);
        report.is_clean()
    };
    assert!(check(10, 10, 0) && check(12, 10, 2));
    assert!(!check(9, 10, 2) && !check(13, 10, 2));
}
