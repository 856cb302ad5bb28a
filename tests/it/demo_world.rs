//! The demo's world in its database: two weeks of results, and some days ahead.

use std::{collections::BTreeMap, ffi::OsString, fs, time::Duration};

use facts::event::Sport;
use history::query::MatchQuery;
use record::Status;
use serde_json::Value;
use sqlx::{AnyPool, Row};

use crate::{
    agreement::{Rest, score_on_board, sports},
    answers::agreement::HubRest,
    archive::open_archive,
    mcp::recordings::check_boards,
    support::{ALL_ADDONS, Hub, Setting, TestDatabase},
};

const PAST: Setting = ("DEMO_PAST", "true");

const SPORTS: [&str; 7] =
    ["football", "tennis", "csgo", "darts", "hockey", "basketball", "horseracing"];

/// A database with a past, written by a hub before the tests. `make test-systems` names one, because a
/// hub takes minutes to write it.
#[expect(clippy::disallowed_methods, reason = "no setting of the hub's")]
fn written() -> Option<OsString> {
    std::env::var_os("TEST_DEMO_DATABASE")
}

/// The demo's coverage, once complete.
async fn done(pool: &AnyPool) -> Value {
    let mut look = tokio::time::interval(Duration::from_millis(100));
    loop {
        look.tick().await;
        let stored = sqlx::query_scalar("SELECT value FROM meta WHERE name = 'demo_chronicle'");
        let stored: Option<String> =
            stored.fetch_optional(pool).await.expect("the database answers");
        let done: Value = stored.map_or(Value::Null, |it| serde_json::from_str(&it).expect("JSON"));
        if done["fixtures"].as_u64() >= Some(4) {
            return done;
        }
    }
}

/// Matches by sport, of those that the condition selects.
async fn count(pool: &AnyPool, condition: &'static str) -> BTreeMap<String, i64> {
    let start = "SELECT sport, CAST(count(*) AS BIGINT) AS n FROM archive_matches WHERE ";
    let query = sqlx::AssertSqlSafe(format!("{start}{condition} GROUP BY sport"));
    let rows = sqlx::query(query).fetch_all(pool).await.expect("the database answers");
    rows.iter().map(|row| (row.get("sport"), row.get("n"))).collect()
}

#[tokio::test]
#[ignore = "needs the demo's past: make test-systems runs it"]
async fn database_has_a_past_and_a_future_and_a_restart_adds_nothing() {
    let database = TestDatabase::file();
    if let Some(written) = written() {
        fs::copy(written, database.db()).expect("it is copied");
    }
    let hub = Hub::start_on(&database, &["serve"], &[PAST]);
    let pool = database.pool().await;
    let first = done(&pool).await;
    let played = count(&pool, "status IN ('finished', 'retired', 'walkover')").await;
    let to_come = count(&pool, "status = 'not_started'").await;
    for sport in SPORTS {
        // Four days of the leagues, of which the first has begun, and fewer of the others.
        assert!(to_come[sport] > 80, "{sport} to come: {to_come:?}");
        assert!((36..1_200).contains(&played[sport]), "{sport} played: {played:?}");
    }
    check_tables(&database).await;
    check_results(&hub).await;
    let again = {
        drop(hub);
        let hub = Hub::start_on(&database, &["serve"], &[PAST]);
        // It listens only after it has resumed its run.
        let again = done(&pool).await;
        drop(hub);
        again
    };
    assert_eq!(again, first);
}

/// Before the demo's own days each league that plays on the first of them has played five rounds, but for matches that were in
/// play when the demo began, and so have two others. On those days it plays at most once more, and a database of another day
/// may have some more.
async fn check_tables(database: &TestDatabase) {
    let archive = open_archive(database).await;
    let query = MatchQuery {
        statuses: Some(vec![Status::Finished]),
        ..MatchQuery::of_sport(Sport::Football)
    };
    let mut tables: BTreeMap<u64, BTreeMap<u64, u32>> = BTreeMap::new();
    let mut goals: BTreeMap<u64, i64> = BTreeMap::new();
    for summary in archive.find(&query).summaries {
        let league = summary.competition.expect("a league");
        let (sides, score) = (summary.sides.expect("two sides"), summary.score.expect("a score"));
        for side in 0..2 {
            let table = tables.entry(league).or_default();
            *table.entry(sides[side]).or_default() += 1;
            let difference = i64::from(score[side]) - i64::from(score[1 - side]);
            *goals.entry(league).or_default() += difference;
        }
    }
    assert!(goals.values().all(|sum| *sum == 0), "goals for and against: {goals:?}");
    assert!((8..=18).contains(&tables.len()), "{tables:?}");
    for table in tables.values() {
        assert_eq!(table.len(), 22);
        assert!(table.values().all(|played| (4..=8).contains(played)), "{table:?}");
    }
}

/// MCP tells the results that REST tells.
async fn check_results(hub: &Hub) {
    let key = hub.key(&ALL_ADDONS);
    let rest = HubRest { hub, key: &key };
    let results = "date_from=2000-01-01&status=finished&";
    let rows = rest.all(&format!("/api/v2/events/?{results}")).await;
    check_boards(hub, "/mcp", &rows, score_on_board).await;
    for product in sports::SPORTS {
        let rows = rest.all(&format!("{}?{results}", sports::matches(product))).await;
        let score = |row: &Value| sports::score(product, row);
        check_boards(hub, &format!("/{product}/mcp"), &rows, score).await;
    }
}
