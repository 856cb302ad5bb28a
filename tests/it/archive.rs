//! Everything that has passed through the hub is archived, even if the hub crashes.

use std::collections::BTreeMap;

use database::{Database, DatabaseName};
use history::{
    archive::{Archive, OddsFilter, OddsRow, Period, Window},
    query::MatchQuery,
};
use jiff::Timestamp;
use record::PlayRecord;
use serde_json::{Value, json};
use sqlx::AnyPool;

use crate::support::{Hub, QUIET, Setting, TestDatabase, on_sqlite, pause, poll_until, shared};

const WRITES: Setting = ("ARCHIVE_WRITE_MS", "50");
const WRITTEN: &str = "matchwire_archive_matches_total";

async fn count(pool: &AnyPool, question: &'static str) -> i64 {
    sqlx::query_scalar(question).fetch_one(pool).await.expect("it answers")
}

pub(crate) async fn open_archive(database: &TestDatabase) -> Archive {
    let name = DatabaseName::from(&*database.db());
    let database = Database::open_existing(&name).await.expect("the database opens");
    Archive::open(&database).await.expect("the archive is read")
}

async fn prices(archive: &Archive) -> Vec<OddsRow> {
    let all = OddsFilter { period: Period::Any, ..OddsFilter::default() };
    archive.odds(&all, Window::ALL, |_| None).await.expect("prices are read").1
}

async fn open_prices(archive: &Archive) -> usize {
    prices(archive).await.iter().filter(|row| row.is_open).count()
}

/// Each price has a bookmaker, an id that finds it, and a history that ends with it or its withdrawal.
async fn check_prices(archive: &Archive, when: &str) {
    for row in prices(archive).await {
        let found = archive.odds_row(row.public_id()).await.expect("it is read");
        assert_eq!(found.as_ref(), Some(&row), "{when}");
        let ticks = archive.ticks(row.match_id, &[row.id]).await.expect("ticks are read");
        let last = ticks.last().and_then(|tick| tick.price);
        assert!(!ticks.is_empty() && last.is_none_or(|last| last == row.price), "{when}: {row:?}");
        assert!(!row.is_open || last.is_some(), "{when}: {row:?}");
    }
}

/// Each start of the hub looks for unresolved matches.
async fn check_consistent(pool: &AnyPool, when: &str) {
    let loose = [
        "SELECT count(*) FROM archive_prices o
         WHERE NOT EXISTS (SELECT 1 FROM archive_matches m WHERE m.id = o.match_id)",
        "SELECT count(*) FROM archive_trails t
         WHERE NOT EXISTS (SELECT 1 FROM archive_prices o WHERE o.match_id = t.match_id)",
        "SELECT count(*) FROM archive_appearances a
         WHERE NOT EXISTS (SELECT 1 FROM archive_matches m WHERE m.id = a.match_id)",
        "SELECT count(*) FROM archive_matches
         WHERE change > (SELECT change FROM archive_counter WHERE id = 1)",
    ];
    for question in loose {
        assert_eq!(count(pool, question).await, 0, "{when}: {question}");
    }
}

/// By id: the number of archived incidents and points of each match.
async fn item_counts(archive: &Archive) -> BTreeMap<u64, usize> {
    archive.reload().await.expect("the archive is read");
    let all = archive.find(&MatchQuery::default()).summaries;
    let ids: Vec<_> = all.iter().map(|summary| summary.id).collect();
    let records = archive.records_without_detail(&ids).await.expect("they are read");
    let size = |play: &PlayRecord| match play {
        PlayRecord::Football(football) => football.incidents.len(),
        PlayRecord::Tennis(tennis) => tennis.points.len(),
        PlayRecord::Scoreboard(_) | PlayRecord::Race(_) | PlayRecord::None => 0,
    };
    records.iter().map(|record| (record.summary.id, size(&record.play))).collect()
}

async fn openings(archive: &Archive) -> BTreeMap<u64, (String, i64)> {
    let rows = prices(archive).await.into_iter();
    rows.map(|row| (row.id, (row.opening.to_string(), row.opening_us))).collect()
}

#[tokio::test]
async fn archive_survives_a_crash() {
    on_sqlite(async |database| {
        let mut hub = Hub::start_on(&database, &["serve"], &[WRITES]);
        hub.until_counted_to(WRITTEN, 100.0).await;
        hub.kill();
        let pool = database.pool().await;
        let archive = open_archive(&database).await;
        check_consistent(&pool, "after the crash").await;
        check_prices(&archive, "after the crash").await;
        let (before, opened) = (item_counts(&archive).await, openings(&archive).await);
        assert!(!before.is_empty() && !opened.is_empty(), "the demo has matches and prices");

        let mut hub = Hub::start_on(&database, &["serve"], &[WRITES]);
        hub.until_counted_to(WRITTEN, 100.0).await;
        assert_eq!(hub.stop(), Some(0));
        check_consistent(&pool, "after the stop").await;
        check_prices(&archive, "after the stop").await;
        let after = item_counts(&archive).await;
        for (id, size) in before {
            assert!(after.get(&id).is_some_and(|it| *it >= size), "match {id} lost some of it");
        }
        let reopened = openings(&archive).await;
        for (id, opening) in opened {
            assert_eq!(reopened.get(&id), Some(&opening), "a price opens once");
        }
        pool.close().await;
    })
    .await;
}

/// A source's report of a match in play, an hour after its start.
async fn push_in_play(hub: &Hub, feed: &str) {
    let now = Timestamp::now().as_microsecond();
    let fixture = json!({
        "competition": {"name": "League", "key": "l", "season": "2026"},
        "start": now - 3_600_000_000_i64,
        "sides": [{"name": "Home FC"}, {"name": "Away FC"}],
    });
    let selection = |id: &str| json!({"id": id, "status": "active", "outcome": id});
    let selections = ["home", "draw", "away"].map(selection);
    let define = json!({"kind": "match_winner", "status": "open", "in_play": true, "selections": selections});
    let prices = ["home", "draw", "away"].map(|id| json!({"id": id, "price": "3.00"}));
    let odds = |change: Value| json!({"odds": {"book": "one", "market": "m", "change": change}});
    let facts = [
        json!({"fixture": fixture}),
        json!({"football": {"status": "second_half"}}),
        json!({"football": {"score": {"goals": [2, 1]}}}),
        odds(json!({"define": define})),
        odds(json!({"prices": {"selections": prices}})),
    ];
    let lines: Vec<_> = facts
        .iter()
        .map(|fact| json!({"at": now, "sport": "football", "match": "m", "fact": fact}).to_string())
        .collect();
    hub.push(feed, &lines).await;
}

async fn until(hub: &Hub, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    poll_until(path, async || hub.get(path).await.json(), is_so).await
}

/// A match in play when the hub is killed, without later reports, does not stay in play forever,
/// has no invented result, and is not settled. A source that reports it again is believed.
#[tokio::test]
async fn match_in_play_at_a_crash_is_unresolved_until_a_source_reports_it() {
    on_sqlite(async |database| {
        // With a log on the disk, the hub itself knows the match after the crash.
        let settings =
            [QUIET, WRITES, ("ARCHIVE_UNTOLD_AFTER_MS", "300"), ("LOG_ENGINE", "memory")];
        let mut hub = Hub::start_on(&database, &["serve"], &settings);
        let (key, feed) = (hub.key(&["odds"]), hub.feed_key("acme", &[]));
        push_in_play(&hub, &feed).await;
        let odds = |id: &Value| format!("/odds/api/events/{id}/?token={key}");
        let price = |odds: &Value| odds["markets"][0]["outcomes"][0]["bookmakers"][0].clone();
        let list = format!("/api/v2/events/?token={key}");
        let page = until(&hub, &list, |page| page["results"][0]["home_score"] == 2).await;
        let id = &page["results"][0]["id"];
        let event = format!("/api/v2/events/{id}/?token={key}");
        until(&hub, &odds(id), |odds| price(odds)["suspended"] == false).await;
        // The hub knows it, however old the report is.
        let archive = open_archive(&database).await;
        while open_prices(&archive).await == 0 {
            pause().await;
        }
        assert_eq!(hub.get(&event).await.json()["status"], "2nd_half");
        hub.kill();
        assert!(open_prices(&archive).await > 0, "as it stood");

        let mut hub = Hub::start_on(&database, &["serve"], &settings);
        let unresolved = until(&hub, &event, |event| event["status"] == "unresolved").await;
        assert_eq!(
            json!([unresolved["home_score"], unresolved["away_score"]]),
            json!([null, null]),
            "no result"
        );
        assert_eq!(
            (&unresolved["live_websocket"], &unresolved["period"]),
            (&json!(false), &json!(""))
        );
        let live = hub.get(&format!("/api/v2/events/live/?token={key}")).await.json();
        assert_eq!(live["count"], 0, "{live}");
        let prices = hub.get(&odds(id)).await.json();
        assert_eq!(price(&prices)["suspended"], true, "{prices}");
        assert_eq!(open_prices(&archive).await, 0, "a price that no bookmaker offers");
        let table = format!("/api/v2/leagues/{}/standings/?token={key}", unresolved["league_id"]);
        let table = hub.get(&table).await.json();
        for row in table["standings"].as_array().expect("a table") {
            assert_eq!((&row["played"], &row["live"]), (&json!(0), &json!(false)), "{table}");
        }

        push_in_play(&hub, &feed).await;
        until(&hub, &event, |event| event["status"] == "2nd_half").await;
        until(&hub, &odds(id), |odds| price(odds)["suspended"] == false).await;
        assert_eq!(hub.stop(), Some(0));
    })
    .await;
}

/// SQLite has one writer at a time. Other programs get their turn while a hub fills the archive.
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
    let database = hub.database.clone();
    let (mut keys, mut before) = (Vec::new(), 0);
    // Until everything has been written.
    while hub.metric(WRITTEN).await < 760.0 {
        let now = database.program().args(["key", "create", "--db", &database.db()]).output();
        let made = now.expect("the command runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        keys.push(String::from_utf8(made.stdout).expect("a key is text").trim().to_owned());
        before += u32::from(hub.metric(WRITTEN).await < 760.0);
    }
    assert!(before > 0, "all was written before anybody else could");
    for key in &keys {
        assert_eq!(hub.get_as(key, "/api/v2/account/").await.status, 200);
    }
    assert!(!hub.printed().contains("database is locked"), "{}", hub.printed());
}
