//! What has passed through the hub is kept, whatever becomes of the hub.

use std::collections::BTreeMap;

use serde_json::Value;
use sqlx::AnyPool;

use crate::support::{Hub, Setting, on_each, shared};

const WRITES: Setting = ("ARCHIVE_WRITE_MS", "50");
const WRITTEN: &str = "matchwire_archive_matches_total";

async fn count(pool: &AnyPool, question: &'static str) -> i64 {
    sqlx::query_scalar(question).fetch_one(pool).await.expect("it answers")
}

/// Each of these finds what hangs in the air.
async fn check_consistent(pool: &AnyPool, when: &str) {
    let loose = [
        "SELECT count(*) FROM archive_odds o
         WHERE NOT EXISTS (SELECT 1 FROM archive_matches m WHERE m.id = o.match_id)",
        "SELECT count(*) FROM archive_ticks t
         WHERE NOT EXISTS (SELECT 1 FROM archive_odds o WHERE o.id = t.odds)",
        "SELECT count(*) FROM archive_odds o WHERE o.ticked_us <>
             (SELECT max(t.at_us) FROM archive_ticks t WHERE t.odds = o.id)",
        "SELECT count(*) FROM archive_odds o JOIN archive_ticks t
             ON t.odds = o.id AND t.at_us = o.ticked_us
         WHERE (o.is_offered = 1 AND t.price <> o.price) OR (o.is_offered = 0) <> (t.price IS NULL)",
        "SELECT count(*) FROM archive_odds WHERE is_open = 1 AND is_offered = 0",
        "SELECT count(*) FROM archive_odds o
         WHERE NOT EXISTS (SELECT 1 FROM archive_bookmakers b WHERE b.slug = o.bookmaker)",
        "SELECT count(*) FROM archive_appearances a
         WHERE NOT EXISTS (SELECT 1 FROM archive_matches m WHERE m.id = a.match_id)",
        "SELECT count(*) FROM archive_matches
         WHERE change > (SELECT change FROM archive_counter WHERE id = 1)",
    ];
    for question in loose {
        assert_eq!(count(pool, question).await, 0, "{when}: {question}");
    }
}

/// By id: how many incidents and points are kept of each match.
async fn told(pool: &AnyPool) -> BTreeMap<i64, usize> {
    let records: Vec<(i64, String)> = sqlx::query_as("SELECT id, record FROM archive_matches")
        .fetch_all(pool)
        .await
        .expect("they are read");
    let size = |record: &str| {
        let record: Value = serde_json::from_str(record).expect("a record is JSON");
        let length = |name: &str| record["play"][name].as_array().map_or(0, Vec::len);
        length("incidents") + length("points")
    };
    records.into_iter().map(|(id, record)| (id, size(&record))).collect()
}

async fn openings(pool: &AnyPool) -> BTreeMap<i64, (String, i64)> {
    let rows: Vec<(i64, String, i64)> =
        sqlx::query_as("SELECT id, opening, opening_us FROM archive_odds")
            .fetch_all(pool)
            .await
            .expect("they are read");
    rows.into_iter().map(|(id, price, at)| (id, (price, at))).collect()
}

#[tokio::test]
async fn what_was_kept_outlasts_a_crash() {
    on_each(async |place| {
        let mut hub = Hub::start_on(&place, &["serve"], &[WRITES]);
        hub.until_counted_to(WRITTEN, 100.0).await;
        hub.kill();
        let pool = place.pool().await;
        check_consistent(&pool, "after the crash").await;
        let (before, opened) = (told(&pool).await, openings(&pool).await);
        assert!(!before.is_empty() && !opened.is_empty(), "the demo tells matches and prices");

        let mut hub = Hub::start_on(&place, &["serve"], &[WRITES]);
        hub.until_counted_to(WRITTEN, 100.0).await;
        assert_eq!(hub.stop(), Some(0));
        check_consistent(&pool, "after the stop").await;
        let after = told(&pool).await;
        for (id, size) in before {
            assert!(after.get(&id).is_some_and(|it| *it >= size), "match {id} lost some of it");
        }
        let reopened = openings(&pool).await;
        for (id, opening) in opened {
            assert_eq!(reopened.get(&id), Some(&opening), "a price opens once");
        }
        pool.close().await;
    })
    .await;
}

/// SQLite has one writer at a time. Programs beside a hub that fills the archive get their turn.
#[tokio::test]
async fn accounts_are_written_while_the_archive_is_filled() {
    let files = [
        "football-data-couk/E0-2016-2017.csv.gz",
        "football-data-couk/E0-2019-2020.csv.gz",
        "betfair-stream/football-200-markets.live.bz2",
        "betfair-stream/football-1-event-77-markets.basic.bz2",
    ];
    let Some(files) = files.map(shared).into_iter().collect::<Option<Vec<_>>>() else { return };
    let files = files.iter().map(|path| path.to_str().expect("a path of text"));
    let arguments: Vec<_> = ["replay", "--speed", "max"].into_iter().chain(files).collect();
    let hub = Hub::start(&arguments);
    let place = hub.place.clone();
    let (mut keys, mut before) = (Vec::new(), 0);
    // Until all of it has been written.
    while hub.metric(WRITTEN).await < 760.0 {
        let now = place.program().args(["key", "create", "--db", &place.db()]).output();
        let made = now.expect("the command runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        keys.push(String::from_utf8(made.stdout).expect("a key is text").trim().to_owned());
        before += u32::from(hub.metric(WRITTEN).await < 760.0);
    }
    assert!(before > 0, "all was written before anybody else could");
    for key in &keys {
        let headers = [("authorization", &*format!("Token {key}"))];
        assert_eq!(hub.request("GET", "/api/v2/account/", &headers).await.status, 200);
    }
    assert!(!hub.printed().contains("database is locked"), "{}", hub.printed());
}
