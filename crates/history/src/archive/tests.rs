//! Records in, rows out, on a database of each kind.

mod lag;
mod prices;

use std::{collections::BTreeMap, time::Duration};

use base::Micros;
use rust_decimal::{Decimal, dec};
use tokio::time::sleep;

use super::*;
use crate::{
    config::{ArchiveConfig, Deduction},
    query::{History, View},
    reader::Reader,
};
use database::{Fence, WriteBudget, is_deposed, testing::on_each};
use record::{
    ChangedRecords, FootballRecord, PlayRecord, PriceRecord, Status,
    testing::{AWAY, HOME, MATCH, NOW, SEASON, football, incident, line_up, played, price, record},
};

const SECOND: Micros = 1_000_000;

async fn put(archive: &Archive, record: MatchRecord, now: Micros) {
    archive.put(&[Arc::new(record)], now).await.unwrap();
}

async fn with_prices(archive: &Archive, prices: Vec<PriceRecord>, now: Micros) {
    let mut record = record(MATCH, football());
    record.summary_mut().updated = now;
    put(archive, MatchRecord { prices, ..record }, now).await;
}

/// What the hub reports in one export: these records, and matches that it has removed.
fn changed(records: &[Arc<MatchRecord>], gone: &[Key]) -> ChangedRecords {
    ChangedRecords { records: records.to_vec(), evicted: Vec::new(), gone: gone.to_vec() }
}

async fn all_odds(archive: &Archive) -> Vec<OddsRow> {
    archive.odds(&OddsFilter::default(), Window::ALL, |_| None).await.unwrap().1
}

/// Issue 16: what another node has written while it led is not overwritten with what this one cached before.
#[tokio::test]
async fn node_that_leads_again_knows_what_was_written_meanwhile() {
    on_each(async |database| {
        let fences = [Fence::default(), Fence::default()];
        let [one, other] = [0, 1].map(|it: usize| database.fenced(&fences[it]));
        let (one, other) =
            (Archive::open(&one).await.unwrap(), Archive::open(&other).await.unwrap());
        let put = async |archive: &Archive, to: Decimal, seconds| {
            let at = NOW + seconds * SECOND;
            let record = PriceRecord { at, ..price("acme", "home", Some(to)) };
            with_prices(archive, vec![record], at).await;
        };
        fences[0].lead("MW_a 1", 1, false);
        put(&one, dec!(2.10), 0).await;
        fences[1].lead("MW_a 1", 2, false);
        put(&other, dec!(2.20), 1).await;
        fences[0].lead("MW_a 1", 3, false);
        put(&one, dec!(2.30), 2).await;
        let row = all_odds(&one).await.pop().unwrap();
        assert_eq!((row.previous, row.price), (Some(dec!(2.20)), dec!(2.30)));
        let ticks = one.ticks(MATCH, &[row.id]).await.unwrap();
        let prices: Vec<_> = ticks.iter().map(|tick| tick.price).collect();
        assert_eq!(prices, [Some(dec!(2.10)), Some(dec!(2.20)), Some(dec!(2.30))]);
        let record = Arc::new(record(MATCH, football()));
        let refused = other.put(&[record], NOW).await.unwrap_err();
        assert!(is_deposed(&refused), "{refused}");
    })
    .await;
}

/// Issue 16: a leader that was suspended in a transaction can still commit it, until the next one has stored its term.
#[tokio::test]
async fn node_that_leads_knows_what_the_one_before_has_committed_last() {
    on_each(async |database| {
        if database.is_sqlite() {
            // A cluster has PostgreSQL, and SQLite one writer at a time.
            return;
        }
        let fences = [Fence::default(), Fence::default()];
        let [one, other] = [0, 1].map(|it: usize| database.fenced(&fences[it]));
        fences[0].lead("MW_a 1", 1, false);
        let first = Archive::open(&one).await.unwrap();
        with_prices(&first, vec![price("acme", "home", Some(dec!(2.10)))], NOW).await;
        let row = all_odds(&first).await.pop().unwrap();
        let mut suspended = one.begin().await.unwrap();
        fences[1].lead("MW_a 1", 2, false);
        let second = Archive::open(&other).await.unwrap();
        let at = NOW + SECOND;
        let again = PriceRecord { at, ..price("acme", "home", Some(dec!(2.20))) };
        let writing = async { with_prices(&second, vec![again], at).await };
        let committing = async {
            // It waits for this transaction, or has read too early.
            until_waiting(&database).await;
            let mut moved = first.inner.store.stored_prices(&[MATCH]).await.unwrap();
            moved[0].row.price = dec!(2.20);
            moved[0].ticked_us = at;
            let moved = BTreeMap::from([(MATCH, moved)]);
            store::put_rows(&mut suspended, false, &moved).await.unwrap();
            suspended.commit().await.unwrap();
        };
        tokio::join!(writing, committing);
        let ticks = second.ticks(MATCH, &[row.id]).await.unwrap();
        let prices: Vec<_> = ticks.iter().map(|tick| tick.price).collect();
        assert_eq!(prices, [Some(dec!(2.10))], "the price was there already");
    })
    .await;
}

/// Waits until a statement waits for a lock.
async fn until_waiting(database: &Database) {
    let statement = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    loop {
        let waiting: i64 = sqlx::query_scalar(statement).fetch_one(database.pool()).await.unwrap();
        if waiting > 0 {
            return;
        }
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn match_that_is_put_once_is_not_cached() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let open = Arc::new(record(MATCH, football()));
        assert!(!open.summary.status.is_over(), "what is over is never cached");
        let mut pace = WriteBudget::for_starts();
        archive.put_once(&[Arc::clone(&open)], &mut pace, NOW).await.unwrap();
        assert!(!archive.inner.cache.lock().await.knows(MATCH));
        assert!(archive.summary(MATCH).is_some(), "it is in the archive all the same");
        archive.put(&[Arc::clone(&open)], NOW).await.unwrap();
        archive.put_once(&[open], &mut pace, NOW).await.unwrap();
        assert!(archive.inner.cache.lock().await.knows(MATCH), "the hub still reports it");
    })
    .await;
}

#[tokio::test]
async fn appearances_are_stored_with_their_counts() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        put(&archive, record(MATCH, played()), NOW).await;
        let filter = AppearanceFilter { matches: Some(vec![MATCH]), ..AppearanceFilter::default() };
        let (count, rows) = archive.appearances(&filter, Window::ALL).await.unwrap();
        assert_eq!(count, 8);
        let found: Vec<_> = rows
            .iter()
            .map(|appearance| {
                let counts =
                    [appearance.goals, appearance.assists, appearance.yellow, appearance.red];
                (appearance.player, appearance.team, appearance.starter, appearance.played, counts)
            })
            .collect();
        let expected = [
            (101, HOME, true, true, [1, 0, 0, 0]),
            (102, HOME, true, true, [0, 1, 0, 0]),
            (103, HOME, true, true, [0, 0, 0, 0]),
            (112, HOME, false, true, [0, 0, 0, 0]),
            (113, HOME, false, false, [0, 0, 0, 0]),
            (201, AWAY, true, true, [0, 0, 0, 0]),
            (202, AWAY, true, true, [0, 0, 1, 1]),
            (213, AWAY, false, false, [0, 0, 1, 0]),
        ];
        assert_eq!(found, expected);
        let two = Window { offset: 6, limit: 5 };
        assert_eq!(archive.appearances(&filter, two).await.unwrap().1.len(), 2);
        // A corrected line-up removes its former players.
        put(&archive, record(MATCH, FootballRecord { line_ups: [None, None], ..played() }), NOW)
            .await;
        let (count, _) = archive.appearances(&filter, Window::ALL).await.unwrap();
        assert_eq!(count, 7, "113 is no longer reported");
    })
    .await;
}

/// Leaders, the rows of players and the totals of teams agree on cards: one on the bench is the player's, one of the staff
/// the team's alone.
#[tokio::test]
async fn cards_beside_the_pitch_are_of_players_but_not_of_staff() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let mut football = played();
        football.incidents.insert(0, incident("red", None, 1, 777, None));
        football.incidents.insert(0, incident("yellow", None, 0, 112, None));
        let totals = football.counters();
        let totals = totals.map(|side| [side["yellow_cards"], side["red_cards"]]);
        assert_eq!(totals, [[1, 0], [2, 2]], "with the card of the coach");
        put(&archive, record(MATCH, football), NOW).await;
        let rows = async |filter| {
            let (count, rows) = archive.appearances(&filter, Window::ALL).await.unwrap();
            assert_eq!(count, rows.len());
            rows
        };
        let booked = AppearanceFilter { played_by: Some(NOW), ..AppearanceFilter::default() };
        let booked = rows(booked).await.into_iter().filter(|it| it.yellow + it.red > 0);
        let booked: Vec<_> = booked.map(|it| (it.player, it.played, [it.yellow, it.red])).collect();
        assert_eq!(
            booked,
            [(112, true, [1, 0]), (202, true, [1, 1]), (213, false, [1, 0])],
            "777 is in no line-up"
        );
        let leaders = async |leader| {
            let leaders = archive.leaders(SEASON, leader, 10).await.unwrap();
            leaders.iter().map(|it| (it.player, it.value, it.matches)).collect::<Vec<_>>()
        };
        assert_eq!(leaders(Leader::Yellow).await, [(213, 1, 0), (112, 1, 1), (202, 1, 1)]);
        assert_eq!(leaders(Leader::Red).await, [(202, 1, 1)]);
        // Ids of a filter may be several.
        let players = Some(vec![213, 101, 9]);
        let some = rows(AppearanceFilter { players, ..AppearanceFilter::default() }).await;
        assert_eq!(some.iter().map(|it| it.player).collect::<Vec<_>>(), [101, 213]);
        let (teams, matches) = (Some(vec![HOME, 9]), Some(vec![MATCH]));
        let some = rows(AppearanceFilter { teams, matches, ..AppearanceFilter::default() }).await;
        assert!(some.len() == 5 && some.iter().all(|it| it.team == HOME), "{some:?}");
    })
    .await;
}

#[tokio::test]
async fn leaders_of_a_season_are_counted_over_its_matches() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let again = FootballRecord {
            incidents: vec![
                incident("goal", Some("regular"), 0, 101, None),
                incident("goal", Some("regular"), 1, 202, None),
            ],
            ..played()
        };
        let next_season = |id| {
            let mut record = record(id, played());
            record.summary_mut().season = Some(SEASON + 1);
            record
        };
        for record in [record(MATCH, played()), record(8, again), next_season(9)] {
            put(&archive, record, NOW).await;
        }
        let leaders = archive.leaders(SEASON, Leader::Goals, 10).await.unwrap();
        let leader = |player, team, value| LeaderRow { player, team, value, matches: 2 };
        assert_eq!(leaders, [leader(101, HOME, 2), leader(202, AWAY, 1)]);
        assert_eq!(archive.leaders(SEASON, Leader::Red, 10).await.unwrap(), [leader(202, AWAY, 1)]);
        assert_eq!(archive.leaders(SEASON, Leader::Goals, 1).await.unwrap().len(), 1);
        assert!(archive.leaders(SEASON + 7, Leader::Goals, 10).await.unwrap().is_empty());
        for (season, expected) in [(SEASON, 2), (SEASON + 1, 1), (SEASON + 7, 0)] {
            let counted = archive.leader_matches(season, Leader::Goals).await.unwrap();
            assert_eq!(counted, expected, "{season}");
        }
    })
    .await;
}

/// A deduction that an operator entered is missing in the table of its season, and nowhere else.
#[tokio::test]
async fn entered_deductions_are_in_the_tables_of_their_season() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        put(&archive, record(MATCH, football()), NOW).await;
        let history = History::new(Reader::default(), archive.clone());
        let league = history.entity(EntityKind::Competition, 5).unwrap();
        let competition = format!("Ruritania/{}", league.name);
        let team = history.name(EntityKind::Team, HOME).unwrap();
        let deduction = |season: &str, points| Deduction {
            season: season.to_owned(),
            team: team.clone(),
            points,
            date: None,
            reason: Some("administration".to_owned()),
        };
        let season = history.name(EntityKind::Season, SEASON).unwrap();
        for (competition, deduction) in [
            (&*competition, deduction(&season, 4)),
            (&*competition, deduction("1950", 8)),
            ("Ruritania/Other", deduction(&season, 16)),
        ] {
            archive.add_deduction(competition, &deduction, NOW).await.unwrap();
        }
        let points = async || {
            let (season, country) = (Some(SEASON), "Ruritania");
            let found = MatchQuery { season, ..MatchQuery::default() };
            let matches = View::now(&history, None).all(&found);
            let tables = history.football_tables(&league, country, season, &matches);
            let rows = tables.await.unwrap().ungrouped;
            let row = rows.iter().find(|row| row.team == HOME).unwrap();
            (row.deducted, row.points)
        };
        let (deducted, with) = points().await;
        assert_eq!(deducted, 4);
        let stored = archive.deductions().await.unwrap();
        assert_eq!(stored.iter().map(|it| it.deduction.points).collect::<Vec<_>>(), [16, 8, 4]);
        archive.remove_deduction(stored[2].id).await.unwrap();
        assert_eq!(points().await, (0, with + 4));
        // Two are left.
        let rows = vec!["('Other', '1950', 'Nobody', 1, 0)"; 998].join(", ");
        let columns = "competition, season, team, points, entered_us";
        let fill = format!("INSERT INTO deductions ({columns}) VALUES {rows}");
        sqlx::query(sqlx::AssertSqlSafe(fill)).execute(database.pool()).await.unwrap();
        let added = archive.add_deduction(&competition, &deduction(&season, 4), NOW).await;
        assert_eq!((added.unwrap(), points().await), (false, (0, with + 4)));
        assert_eq!(archive.deductions().await.unwrap().len(), 1000);
    })
    .await;
}

#[tokio::test]
async fn starters_have_not_played_before_the_match() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let line_ups = [Some(line_up(&[101], &[])), None];
        let mut record = record(MATCH, FootballRecord { line_ups, ..football() });
        record.summary_mut().status = Status::NotStarted;
        put(&archive, record, NOW).await;
        let all = AppearanceFilter::default();
        let (_, rows) = archive.appearances(&all, Window::ALL).await.unwrap();
        assert_eq!(
            rows.iter().map(|it| (it.starter, it.played)).collect::<Vec<_>>(),
            [(true, false)]
        );
    })
    .await;
}

fn statuses(archive: &Archive) -> Vec<(Key, Status)> {
    let all = archive.find(&MatchQuery::default()).summaries;
    all.iter().map(|summary| (summary.id, summary.status)).collect()
}

#[tokio::test]
async fn rows_written_by_another_program_are_reloaded() {
    on_each(async |database| {
        let first = Archive::open(&database).await.unwrap();
        let other = Archive::open(&database).await.unwrap();
        with_prices(&other, vec![price("acme", "home", Some(dec!(2)))], NOW).await;
        assert!(statuses(&first).is_empty());
        first.reload().await.unwrap();
        assert_eq!(statuses(&first), [(MATCH, Status::FirstHalf)]);
        assert_eq!(first.bookmakers(), ["acme".into()]);
        assert!(first.entity(EntityKind::Team, HOME).is_some());
        // Writing in turns, neither misses a change of the other.
        put(&first, record(8, played()), NOW).await;
        put(&other, record(9, played()), NOW).await;
        put(&first, record(10, played()), NOW).await;
        for archive in [&first, &other] {
            archive.reload().await.unwrap();
            let ids: Vec<_> = statuses(archive).into_iter().map(|(id, _)| id).collect();
            assert_eq!(ids, [MATCH, 8, 9, 10]);
        }
        // A price that the other program changed is known when it changes again.
        let moved = |odds| PriceRecord { at: NOW + SECOND, ..price("acme", "home", Some(odds)) };
        with_prices(&first, vec![moved(dec!(3))], NOW + SECOND).await;
        other.reload().await.unwrap();
        with_prices(&other, vec![moved(dec!(4))], NOW + 2 * SECOND).await;
        let row = all_odds(&first).await.pop().unwrap();
        assert_eq!((row.opening, row.previous, row.price), (dec!(2), Some(dec!(3)), dec!(4)));
    })
    .await;
}

#[tokio::test]
async fn match_given_up_is_unresolved_until_it_is_reported_again() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let mut waiting = record(MATCH, FootballRecord::default());
        waiting.summary_mut().status = Status::NotStarted;
        waiting.prices = vec![price("acme", "home", Some(dec!(2)))];
        put(&archive, waiting, NOW).await;
        archive.give_up(&[MATCH], NOW + SECOND).await.unwrap();
        assert_eq!(statuses(&archive), [(MATCH, Status::Unresolved)]);
        assert!(!all_odds(&archive).await[0].is_open);
        assert_eq!(
            Archive::open(&database).await.unwrap().find(&MatchQuery::default()),
            archive.find(&MatchQuery::default()),
            "as it is stored"
        );
        put(&archive, record(MATCH, played()), NOW + 2 * SECOND).await;
        assert_eq!(statuses(&archive), [(MATCH, Status::FirstHalf)]);
    })
    .await;
}

#[tokio::test]
async fn old_matches_are_deleted_with_all_their_rows() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        for (id, start) in [(MATCH, NOW), (8, NOW + SECOND), (9, NOW)] {
            let mut record = record(id, played());
            record.summary_mut().start = Some(start);
            record.prices = vec![price("acme", "home", Some(dec!(2)))];
            put(&archive, record, NOW).await;
        }
        assert_eq!(archive.drop_before(NOW + 1, 1).await.unwrap(), 1);
        assert_eq!(archive.drop_before(NOW + 1, 1).await.unwrap(), 1);
        assert_eq!(archive.drop_before(NOW + 1, 1).await.unwrap(), 0);
        assert_eq!(statuses(&archive), [(8, Status::FirstHalf)]);
        let rows = all_odds(&archive).await;
        assert_eq!(rows.iter().map(|row| row.match_id).collect::<Vec<_>>(), [8]);
        let all = AppearanceFilter::default();
        assert_eq!(archive.appearances(&all, Window::ALL).await.unwrap().0, 8);
        let ticks = async |id| {
            let row = price("acme", "home", None).id(id);
            archive.ticks(id, &[row]).await.unwrap().len()
        };
        assert_eq!((ticks(MATCH).await, ticks(8).await, ticks(9).await), (0, 1, 0));
        assert_eq!(archive.drop_ticks_before(NOW + 1).await.unwrap(), 1);
        assert_eq!(ticks(8).await, 0);
        archive.drop_signals_before(NOW).await.unwrap();
        archive.reload().await.unwrap();
        assert_eq!(statuses(&archive), [(8, Status::FirstHalf)]);
    })
    .await;
}

/// On SQLite a write of many matches goes through its tables once, and adds new ones at the end.
#[tokio::test]
async fn matches_are_written_in_the_order_in_which_they_are_stored() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        for id in [30, 10, 20] {
            put(&archive, record(id, football()), NOW).await;
        }
        let mut records = [5, 10, 20, 30, 40].map(|id| Arc::new(record(id, football())));
        archive.inner.store.sort_as_stored(&mut records).await.unwrap();
        let expected = if database.is_sqlite() { [30, 10, 20, 5, 40] } else { [5, 10, 20, 30, 40] };
        assert_eq!(records.map(|record| record.summary.id), expected);
    })
    .await;
}

#[tokio::test]
async fn records_are_returned_in_the_requested_order() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let records: Vec<_> = (0..1200).map(|id| Arc::new(record(id, football()))).collect();
        archive.put(&records, NOW).await.unwrap();
        let requested: Vec<Key> = (0..1300).rev().collect();
        let found = archive.records(&requested).await.unwrap();
        let ids: Vec<_> = found.iter().map(|it| it.summary.id).collect();
        assert_eq!(ids, (0..1200).rev().collect::<Vec<_>>());
    })
    .await;
}

#[tokio::test]
async fn worker_writes_its_inbox_and_gives_up_matches_without_news() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let reader = Reader::default();
        let config = ArchiveConfig { keep_days: 2, ..ArchiveConfig::default() };
        let (inbox, worker) = Inbox::new(archive.clone(), reader.clone(), &config);
        let waiting = |id| {
            let mut record = record(id, FootballRecord::default());
            record.summary_mut().status = Status::NotStarted;
            Arc::new(record)
        };
        let (current, unknown) = (waiting(MATCH), waiting(8));
        let live = Arc::new(record(9, played()));
        reader.update(&[Arc::clone(&current)], &[]);
        let home = live.names.sides.as_ref().unwrap()[0].id;
        inbox.put(&changed(&[current, unknown, live], &[]), PriceTrail::default(), NOW);
        let teams = || archive.entities(EntityKind::Team, |it| it.id == home).len();
        assert!(statuses(&archive).is_empty(), "nothing is written");
        assert_eq!(teams(), 1, "the announced team is known");
        worker.write().await;
        assert_eq!(teams(), 1, "and once afterwards");
        let hours = |hours: i64| NOW + hours * 60 * 60 * SECOND;
        worker.resolve(NOW + 30 * 60 * SECOND).await.unwrap();
        let open = [(MATCH, Status::NotStarted), (8, Status::NotStarted), (9, Status::FirstHalf)];
        assert_eq!(statuses(&archive), open, "not yet");
        worker.resolve(hours(6)).await.unwrap();
        let lost = [(MATCH, Status::NotStarted), (8, Status::NotStarted), (9, Status::Unresolved)];
        assert_eq!(statuses(&archive), lost, "the match in play is no longer reported");
        worker.resolve(hours(7)).await.unwrap();
        let given_up =
            [(MATCH, Status::NotStarted), (8, Status::Unresolved), (9, Status::Unresolved)];
        assert_eq!(statuses(&archive), given_up, "the hub knows the first");
        retention::sweep(&archive, &config, hours(47)).await.unwrap();
        assert_eq!(statuses(&archive).len(), 3);
        retention::sweep(&archive, &config, hours(49)).await.unwrap();
        assert!(statuses(&archive).is_empty());
        // Records that are pending when the last sender is dropped are written before the worker
        // ends.
        inbox.put(&changed(&[waiting(10)], &[MATCH]), PriceTrail::default(), NOW);
        drop(inbox);
        worker.run().await;
        assert_eq!(statuses(&archive), [(10, Status::NotStarted)]);
    })
    .await;
}

#[tokio::test]
async fn failed_write_is_retried() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let (inbox, worker) =
            Inbox::new(archive.clone(), Reader::default(), &ArchiveConfig::default());
        let rename = |from: &str, to: &str| {
            let rename = format!("ALTER TABLE {from} RENAME TO {to}");
            sqlx::query(sqlx::AssertSqlSafe(rename)).execute(database.pool())
        };
        rename("archive_trails", "away").await.unwrap();
        let mut first = record(MATCH, played());
        first.prices = vec![price("acme", "home", Some(dec!(2)))];
        inbox.put(&changed(&[Arc::new(first.clone())], &[]), PriceTrail::default(), NOW);
        worker.write().await;
        assert!(statuses(&archive).is_empty(), "all of it or nothing");
        first.prices[0].price = Some(dec!(3));
        inbox.put(&changed(&[Arc::new(first)], &[]), PriceTrail::default(), NOW);
        rename("away", "archive_trails").await.unwrap();
        worker.write().await;
        let row = all_odds(&archive).await.pop().unwrap();
        assert_eq!((row.opening, row.price), (dec!(3), dec!(3)), "the newest was written");
    })
    .await;
}

#[tokio::test]
async fn reader_shows_the_stored_record_until_a_complete_report() {
    let reader = Reader::default();
    let reported = Arc::new(record(MATCH, FootballRecord::default()));
    let stored = Arc::new(record(MATCH, played()));
    reader.update(&[Arc::clone(&reported)], &[]);
    let version = reader.version();
    reader.complete(vec![Arc::clone(&stored), Arc::new(record(8, played()))]);
    assert!(reader.version() > version, "answers are others now");
    assert_eq!(reader.get(MATCH).unwrap().play, stored.play);
    assert!(reader.get(8).is_none(), "the hub does not know it");
    reader.update(&[reported], &[]);
    assert_eq!(reader.get(MATCH).unwrap().play, stored.play);
    let whole = Arc::new(record(MATCH, played()));
    reader.update(&[Arc::clone(&whole)], &[]);
    assert!(Arc::ptr_eq(&reader.get(MATCH).unwrap(), &whole));
    reader.update(&[], &[MATCH]);
    assert!(reader.get(MATCH).is_none());
}
