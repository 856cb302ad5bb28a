//! `matchwire import` as an operator runs it: the archive matches the answer sheets, also after a
//! repeated import.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
    sync::{Arc, OnceLock},
};

use database::{Database, DatabaseName};
use history::{
    archive::{Archive, OddsFilter, Window},
    query::MatchQuery,
};
use record::{FootballRecord, IncidentRecord, MatchRecord, PlayRecord, Status};
use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::{
    replay::sheet,
    support::{Hub, QUIET, TestDatabase, is_long, program, shared},
};

const SEASONS: [(&str, &str, &str); 2] =
    [("E0-2016-2017", "pinnacle", "PSC"), (LARGER_SEASON, "bet365", "B365C")];
const LARGER_SEASON: &str = "E0-2019-2020";
const STATSBOMB: &str = "statsbomb/15986.events.json.gz";
const WYSCOUT: &str = "wyscout/2058017.events.json.gz";
const SHOOTOUT: &str = "wyscout/2058009.events.json.gz";
const STATSPERFORM: &str = "statsperform/hsv-svs-2021-09-11.ma3.json.gz";
const ANSWER: &str = "api-football/fixtures-cl-penalties.json";
const SLAM: &str = "slam-pointbypoint/2012-ausopen-1701.points.csv.gz";
const STRINGS: &str = "pointbypoint-strings/matches.csv";

/// What [`imported`] contains: matches by event, by summary and by response, points, and seasons.
const IMPORTED: [&str; 11] = [
    "football-data-couk/E0-2016-2017.csv.gz",
    "football-data-couk/E0-2019-2020.csv.gz",
    STATSBOMB,
    "statsbomb/3788741.events.json.gz",
    WYSCOUT,
    SHOOTOUT,
    "wyscout/2516847.events.json.gz",
    STATSPERFORM,
    ANSWER,
    SLAM,
    STRINGS,
];

/// A database that the program has written, for tests that read it.
pub(crate) struct ImportedDatabase {
    database: Vec<u8>,
    printed: String,
}

impl ImportedDatabase {
    /// The hub on a copy that tests share.
    pub(crate) fn hub(&self) -> Arc<Hub> {
        Hub::shared_from("imported", || Hub::start_on(&self.copy(), &["serve"], &[QUIET]))
    }

    /// A copy that the test may change.
    pub(crate) fn copy(&self) -> TestDatabase {
        let database = TestDatabase::file();
        fs::write(database.db(), &self.database).expect("a file in a folder of our own");
        database
    }
}

fn recordings() -> Option<Vec<PathBuf>> {
    IMPORTED.into_iter().map(shared).collect()
}

/// One import for all tests, because it takes ten seconds of processor time. `None`, with a message,
/// if the recordings are missing.
pub(crate) fn imported() -> Option<&'static ImportedDatabase> {
    static ONCE: OnceLock<Option<ImportedDatabase>> = OnceLock::new();
    let write = || {
        let files = recordings()?;
        let test_database = TestDatabase::file();
        let (code, printed) = import(Path::new(&test_database.db()), &files);
        assert_eq!(code, Some(0), "{printed}");
        assert_eq!(printed.matches(", 0 messages refused").count(), files.len(), "{printed}");
        // The last connection has written the whole log into the file.
        let database = fs::read(test_database.db()).expect("the database is written");
        Some(ImportedDatabase { database, printed })
    };
    ONCE.get_or_init(write).as_ref()
}

fn import(db: &Path, files: &[PathBuf]) -> (Option<i32>, String) {
    let output = program().args(["import", "--db"]).arg(db).args(files).output();
    let Output { status, stdout, stderr } = output.expect("it runs");
    let said = [stdout, stderr].concat();
    (status.code(), String::from_utf8(said).expect("text"))
}

/// The whole archive, by id.
async fn archived_matches(db: &Path) -> Vec<Arc<MatchRecord>> {
    let database = Database::open_existing(&DatabaseName::from(db)).await.expect("a database");
    let archive = Archive::open(&database).await.expect("an archive");
    let found = archive.find(&MatchQuery::default());
    let mut ids: Vec<_> = found.summaries.iter().map(|summary| summary.id).collect();
    ids.sort_unstable();
    let records = archive.records(&ids).await.expect("records");
    assert_eq!(records.len(), found.count, "a record for each brief");
    database.close().await;
    records
}

/// The one match of a provider under this key.
fn find_record<'a>(records: &'a [Arc<MatchRecord>], provider: &str, key: &str) -> &'a MatchRecord {
    let is = |record: &&Arc<MatchRecord>| record.refs.get(provider).is_some_and(|it| &**it == key);
    let mut found = records.iter().filter(is);
    let record = found.next().unwrap_or_else(|| panic!("{provider}/{key} was not archived"));
    assert!(found.next().is_none(), "{provider}/{key} is archived twice");
    record
}

fn football(record: &MatchRecord) -> &FootballRecord {
    match &record.play {
        PlayRecord::Football(football) => football,
        other => panic!("{other:?} of a football match"),
    }
}

/// A price keeps each of its changes at the time of the file, however quickly it is read, and also after a second import.
#[tokio::test]
async fn history_has_every_price_of_the_file() {
    const START: i64 = 1_788_280_000_000_000;
    let line = |second: i64, fact: Value| {
        let at = START + second * 1_000_000;
        let line = json!({"at": at, "sport": "football", "match": "m", "fact": fact});
        format!("{line}\n")
    };
    let odds = |change: Value| json!({"odds": {"book": "acme", "market": "m1", "change": change}});
    let selection = json!({"id": "1", "status": "active", "outcome": "home"});
    let market = json!({"kind": "match_winner", "status": "open", "selections": [selection]});
    let sides = json!([{"name": "Home FC"}, {"name": "Away FC"}]);
    let mut lines = line(0, json!({"fixture": {"start": START, "sides": sides}}));
    lines += &line(0, odds(json!({"define": market})));
    let price = |change: i64| Decimal::new(135 + change, 2);
    for change in 0..120 {
        let price = json!([{"id": "1", "price": price(change).to_string()}]);
        lines += &line(change * 10, odds(json!({"prices": {"selections": price}})));
    }
    let test_database = TestDatabase::file();
    let (db, file) = (
        PathBuf::from(test_database.db()),
        PathBuf::from(test_database.db()).with_extension("ndjson"),
    );
    fs::write(&file, lines).expect("a folder of our own");
    for _ in 0..2 {
        let (code, printed) = import(&db, std::slice::from_ref(&file));
        assert_eq!(code, Some(0), "{printed}");
        let database =
            Database::open_existing(&DatabaseName::from(&*db)).await.expect("a database");
        let archive = Archive::open(&database).await.expect("an archive");
        let filter =
            OddsFilter { bookmakers: Some(vec!["acme".to_owned()]), ..OddsFilter::default() };
        let (_, rows) = archive.odds(&filter, Window::ALL, |_| None).await.expect("prices");
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        assert_eq!((row.opening, row.opening_us, row.price), (price(0), START, price(119)));
        let ticks = archive.ticks(row.match_id, &[row.id]).await.expect("ticks");
        let ticks: Vec<_> = ticks.iter().map(|tick| (tick.at_us, tick.price)).collect();
        let expected = (0..120).map(|it| (START + it * 10_000_000, Some(price(it))));
        assert_eq!(ticks, expected.collect::<Vec<_>>());
        database.close().await;
    }
}

#[tokio::test]
async fn archive_matches_the_answer_sheets_after_repeated_imports() {
    let (Some(files), Some(imported)) = (recordings(), imported()) else { return };
    assert_eq!(imported.printed.matches("380 matches").count(), 2, "{}", imported.printed);
    let database = imported.copy();
    let db = PathBuf::from(database.db());
    let first = archived_matches(&db).await;
    check_all(&first);

    // The larger season takes half of the time and is like the other.
    let is_repeated = |text: &str| is_long() || !text.contains(LARGER_SEASON);
    let files: Vec<_> =
        files.into_iter().filter(|path| is_repeated(&path.to_string_lossy())).collect();
    let expected: Vec<_> = imported.printed.lines().filter(|line| is_repeated(line)).collect();
    let (code, again) = import(&db, &files);
    assert_eq!((code, again.lines().collect::<Vec<_>>()), (Some(0), expected));
    let second = archived_matches(&db).await;
    assert_eq!(first.len(), second.len());
    for (first, second) in first.iter().zip(&second) {
        assert_eq!(first, second, "the second import has changed a match");
    }
}

fn check_all(records: &[Arc<MatchRecord>]) {
    for (season, bookmaker, columns) in SEASONS {
        check_season(records, season, bookmaker, columns);
    }
    check_events(find_record(records, "statsbomb", "15986"), STATSBOMB);
    check_events(find_record(records, "wyscout", "2058017"), WYSCOUT);
    let hamburg = sheet(STATSPERFORM)["provider_match_id"].as_str().expect("an id").to_owned();
    check_events(find_record(records, "statsperform", &hamburg), STATSPERFORM);
    let shootout = find_record(records, "wyscout", "2058009");
    check_events(shootout, SHOOTOUT);
    assert_eq!(shootout.summary.penalties, Some([3, 4]));
    check_line_ups(records);
    check_answer(records);
    check_tennis(records);
}

/// Scores, cards and prices of a season, as sums over its matches.
fn check_season(records: &[Arc<MatchRecord>], season: &str, bookmaker: &str, columns: &str) {
    let sheet = sheet(&format!("football-data-couk/{season}.csv.gz"));
    let name = season.replace("E0-", "").replace("-20", "/");
    let is_of_season = |record: &&Arc<MatchRecord>| {
        let of_season = record.names.season.as_ref().is_some_and(|it| *it.name == *name);
        of_season && record.refs.contains_key("football-data-couk")
    };
    let played: Vec<_> = records.iter().filter(is_of_season).collect();
    assert_eq!(json!(played.len()), sheet["rows"], "matches of {name}");
    let (mut goals, mut cards, mut prices) = ([0; 2], [0; 2], [0.0; 3]);
    for record in played {
        assert_eq!(record.summary.status, Status::Finished, "{:?}", record.refs);
        assert!(record.summary.referee.is_some(), "a referee of {:?}", record.refs);
        let score = record.summary.score.expect("a score");
        for side in [0, 1] {
            goals[side] += score[side];
            cards[side] += football(record).stats[side]["yellow_cards"];
        }
        for (index, outcome) in ["home", "draw", "away"].into_iter().enumerate() {
            let mut closing = record.prices.iter().filter(|price| {
                *price.bookmaker == *bookmaker
                    && &*price.market == "match_winner"
                    && *price.outcome == *outcome
            });
            let closing = closing.next().expect("a closing price");
            assert!(!closing.in_play && !closing.open, "a price of a match that is over");
            prices[index] +=
                closing.price.expect("a price").to_string().parse::<f64>().expect("it");
        }
    }
    assert_eq!(json!({ "home": goals[0], "away": goals[1] }), sheet["goals"], "goals of {name}");
    assert_eq!(json!(cards), json!([sheet["cards"]["HY"], sheet["cards"]["AY"]]), "{name}");
    for (index, sum) in ["sum_home", "sum_draw", "sum_away"].into_iter().enumerate() {
        let expected = sheet["odds_1x2"][columns][sum].as_f64().expect("a sum");
        assert!((prices[index] - expected).abs() < 0.005, "{sum} {} of {name}", prices[index]);
    }
}

/// Goals with minute and scorer, cards and substitutions of a match reported event by event.
fn check_events(record: &MatchRecord, file: &str) {
    let sheet = sheet(file);
    let names = record.names.sides.as_ref().expect("two sides");
    let sides: Vec<_> = names.iter().map(|side| json!(&*side.name)).collect();
    assert_eq!(sides, [sheet["home"].clone(), sheet["away"].clone()], "{file}");
    let rows = |kinds: &[&str], row: &dyn Fn(&IncidentRecord) -> Value| {
        let incidents = football(record).incidents.iter();
        let of_kinds = incidents.filter(|it| kinds.contains(&&*it.kind) && it.retracted.is_none());
        of_kinds.map(row).collect::<Vec<_>>()
    };
    let team = |it: &IncidentRecord| json!(it.side.map(|side| &*names[usize::from(side)].name));
    let player = |it: &IncidentRecord| json!(it.player.as_ref().map(|player| &*player.name));
    let minute = |it: &IncidentRecord| u64::from(it.minute + it.added.unwrap_or(0));
    let all = |rows: &Value| rows.as_array().expect("rows").clone();
    let played = |row: &Value| row["minute"].as_u64().expect("a minute") + 1;

    let goals = rows(&["goal"], &|incident| {
        let score = incident.score.map(|[home, away]| format!("{home}-{away}"));
        json!([minute(incident), team(incident), player(incident), incident.detail, score])
    });
    let expected: Vec<_> = all(&sheet["goals"])
        .iter()
        .map(|goal| {
            let detail = match (&goal["own_goal"], &goal["penalty"]) {
                (Value::Bool(true), _) => "own_goal",
                (_, Value::Bool(true)) => "penalty",
                _ => "regular",
            };
            json!([played(goal), goal["team"], goal["player"], detail, goal["score_after"]])
        })
        .collect();
    assert_eq!(goals, expected, "goals of {file}");

    let cards = rows(&["yellow", "second_yellow", "red"], &|it| json!([team(it), player(it)]));
    let expected: Vec<_> =
        all(&sheet["cards"]).iter().map(|card| json!([card["team"], card["player"]])).collect();
    assert_eq!(cards, expected, "cards of {file}");

    let substitutions = rows(&["substitution"], &|incident| {
        json!([
            team(incident),
            player(incident),
            incident.assist.as_ref().map(|player| &*player.name)
        ])
    });
    let mut substitutions: Vec<_> = substitutions.iter().map(Value::to_string).collect();
    substitutions.sort_unstable();
    let mut expected: Vec<_> = all(&sheet["substitutions"])
        .iter()
        .map(|row| json!([row["team"], row["off"], row["on"]]).to_string())
        .collect();
    expected.sort_unstable();
    assert_eq!(substitutions, expected, "substitutions of {file}");

    let score = record.summary.score.expect("a score");
    let expected = ["home", "away"].map(|side| sheet["final_score"][side].as_u64());
    assert_eq!(score.map(|goals| Some(u64::from(goals))), expected, "score of {file}");
    assert_eq!(record.summary.status, Status::Finished, "{file}");
}

fn check_line_ups(records: &[Arc<MatchRecord>]) {
    let record = find_record(records, "statsbomb", "15986");
    let lineups = sheet("statsbomb/15986.lineups.json");
    for (side, line_up) in football(record).line_ups.iter().enumerate() {
        let line_up = line_up.as_ref().expect("a line-up");
        let name = &*record.names.sides.as_ref().expect("two sides")[side].name;
        let mut teams = lineups["teams"].as_array().expect("teams").iter();
        let team = teams.find(|team| team["team"] == name).expect("its sheet");
        assert_eq!(json!(line_up.players.len()), team["players"], "{name}");
        assert_eq!(line_up.players.iter().filter(|it| it.starter).count(), 11, "{name}");
    }
    assert_eq!(record.summary.start, None, "nothing says when it was");
}

fn check_answer(records: &[Arc<MatchRecord>]) {
    for fixture in sheet(ANSWER)["fixtures"].as_array().expect("fixtures") {
        let record = find_record(records, "api-football", &fixture["id"].to_string());
        let pair = |score: &Value| json!([score["home"], score["away"]]);
        let summary = &record.summary;
        assert_eq!(json!(summary.score), pair(&fixture["goals"]));
        assert_eq!(json!(summary.penalties), pair(&fixture["score"]["penalty"]));
        assert_eq!(json!(summary.half_time), pair(&fixture["score"]["halftime"]));
        assert_eq!(json!(summary.round_name), fixture["round"]);
        let start = summary.start.expect("a start") / 1_000_000;
        assert_eq!(json!(start), fixture["timestamp"]);
        let kicks = football(record).incidents.iter().filter(|it| &*it.kind == "shootout").count();
        assert_eq!(Some(kicks), fixture["shootout"].as_array().map(Vec::len));
    }
}

fn check_tennis(records: &[Arc<MatchRecord>]) {
    let slam = sheet(SLAM);
    let record =
        find_record(records, "slam-pointbypoint", slam["match_id"].as_str().expect("an id"));
    let PlayRecord::Tennis(tennis) = &record.play else { panic!("{:?}", record.play) };
    let sets: Vec<_> = tennis.sets.iter().map(|set| json!(set.games)).collect();
    let expected = slam["sets_by_replay"].as_array().expect("sets").iter();
    assert_eq!(sets, expected.map(|set| set["games"].clone()).collect::<Vec<_>>());
    assert_eq!(json!(tennis.points.len()), slam["points"]);
    assert_eq!(record.summary.winner.map(|winner| json!(winner + 1)), Some(slam["winner"].clone()));
    for row in sheet(STRINGS)["matches"].as_array().expect("matches") {
        let record = find_record(records, "pointbypoint-strings", &row["pbp_id"].to_string());
        let PlayRecord::Tennis(tennis) = &record.play else { panic!("{:?}", record.play) };
        assert_eq!(json!(tennis.points.len()), row["points"], "points of {}", row["pbp_id"]);
        let sets: Vec<_> = tennis.sets.iter().map(|set| json!(set.games)).collect();
        let expected = row["sets"].as_array().expect("sets").iter();
        assert_eq!(sets, expected.map(|set| set["games"].clone()).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn import_does_not_disturb_a_running_hub() {
    let Some(file) = shared(ANSWER) else { return };
    let hub = Hub::start_with(&["serve"], &[QUIET]);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let db = hub.db();
    let (code, said) = import(Path::new(&db), &[file]);
    assert_eq!(code, Some(0), "{said}");
    hub.json(&key, "/stream/v1/channels/feeds").await;
    assert_eq!(archived_matches(Path::new(&db)).await.len(), 2);
}

#[test]
fn faults_of_a_file_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("it is written");
        path
    };
    let db = folder.path().join("kept.db");
    let (code, said) = import(&db, &[file("shopping.txt", "milk, bread")]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("shopping.txt is in no known format"), "{said}");
    let (code, said) = import(&db, &[folder.path().join("none.csv")]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("none.csv cannot be read"), "{said}");

    let rows =
        "Div,Date,HomeTeam,AwayTeam,FTHG,FTAG\nE0,31/02/2019,A,B,1,0\nE0,01/02/2019,A,B,1,0\n";
    let (code, said) = import(&db, &[file("season.csv", rows)]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("1 matches, 0 prices, 1 messages refused"), "{said}");
    assert!(said.contains("row 2: date \"31/02/2019\" is none"), "{said}");
}
