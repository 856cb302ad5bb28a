//! Small inputs made of public reports of faults (`../shared/trials/cases`), and recordings that were published wrongly, with the
//! values that are right.

use facts::event::{Fact, TennisFact};
use ingest::recording::{Limits, Recording, Step};
use serde_json::{Value, json};

use crate::{
    bench::{Bench, SETTINGS, START},
    recordings,
};

/// The hub after a file of a case; `None` if the cases are missing.
fn play(case: &str, files: &[&str]) -> Option<Bench> {
    let paths: Vec<_> = files.iter().map(|file| format!("trials/cases/{case}/{file}")).collect();
    let (companions, recording) = paths.split_last().map(|(last, first)| (first, last))?;
    played(recording, &companions.iter().map(String::as_str).collect::<Vec<_>>())
}

fn played(recording: &str, companions: &[&str]) -> Option<Bench> {
    let mut bench = Bench::new(SETTINGS);
    for batch in recordings::batches_with(recording, companions)? {
        let (_, errors) = bench.apply(&batch);
        assert_eq!(errors, [], "{recording}");
    }
    bench.check_images();
    bench.check_log();
    Some(bench)
}

/// The document of the match whose first side has this name, with its events.
fn of_side(bench: &Bench, name: &str) -> (Value, Vec<Value>) {
    let has_name =
        |data: &Value| ["home", "p1"].iter().any(|side| data[side]["name"].as_str() == Some(name));
    let found = bench.readers.values().find(|reader| has_name(&reader.data));
    let reader = found.unwrap_or_else(|| panic!("no match of {name}"));
    (reader.data.clone(), reader.events())
}

/// The one book, with its events.
fn the_book(bench: &Bench) -> (&Value, Vec<Value>) {
    let mut books = bench.readers.iter().filter(|(name, _)| name.contains("/odds/"));
    let (_, reader) = books.next().expect("there is a book");
    assert!(books.next().is_none(), "there is one");
    (&reader.data, reader.events())
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["kind"].as_str()).collect()
}

fn pair(home: u16, away: u16) -> Value {
    json!({"home": home, "away": away})
}

/// The score without its parts.
fn total(document: &Value) -> Value {
    json!({"home": document["score"]["home"], "away": document["score"]["away"]})
}

#[test]
fn result_that_nobody_reported_is_no_score() {
    let Some(bench) = play("25-odds-api-scores", &["scores.json"]) else { return };
    let (in_play, _) = of_side(&bench, "Alder Town");
    assert_eq!((&in_play["status"], total(&in_play)), (&json!("live"), pair(2, 1)));
    for side in ["Cedar", "Elm"] {
        let (document, _) = of_side(&bench, side);
        assert_eq!((&document["status"], &document["score"]), (&json!("finished"), &Value::Null));
    }
}

#[test]
fn kicks_of_a_shoot_out_are_no_goals() {
    let case = "31-apifootball-shootout-without-comment";
    let Some(bench) = play(case, &["shootout.ndjson"]) else { return };
    let (document, events) = of_side(&bench, "Alder Town");
    assert_eq!((total(&document), &document["score"]["pens"]), (pair(1, 1), &pair(3, 3)));
    let goals = kinds(&events).into_iter().filter(|kind| *kind == "goal").count();
    assert_eq!((goals, kinds(&events).contains(&"penalty_missed")), (2, false), "{events:?}");
}

#[test]
fn interruption_and_unknown_part_are_statuses() {
    let Some(bench) = play("32-apifootball-suspended", &["suspended.ndjson"]) else { return };
    let mut statuses: Vec<_> =
        bench.readers.values().filter_map(|reader| reader.data["status"].as_str()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, ["interrupted", "interrupted", "live"]);
}

#[test]
fn cancelled_goal_that_is_still_listed_is_retracted() {
    let Some(bench) = play("33-apifootball-cancelled-goal-stays", &["var.ndjson"]) else { return };
    let (document, events) = of_side(&bench, "Alder Town");
    assert_eq!(total(&document), pair(1, 1));
    assert!(kinds(&events).contains(&"retract"), "{events:?}");
    let last = events.iter().rev().find(|event| event["kind"] == "goal").expect("a goal");
    assert_eq!(last["score"], pair(1, 1));
}

#[test]
fn half_ends_when_play_does() {
    let Some(bench) = play("50-statsbomb-extra-half-end", &["3999001.events.json"]) else { return };
    let mut matches = bench.readers.values().filter(|reader| reader.data["score"].is_object());
    let document = &matches.next().expect("a match").data;
    assert_eq!(document["score"]["ht"], pair(1, 1));
}

#[test]
fn newer_copy_of_a_market_holds() {
    for file in ["new-first.jsonl", "old-first.jsonl"] {
        let Some(bench) = play("01-betfair-moved-event", &[file]) else { return };
        let books = bench.readers.iter().filter(|(name, _)| name.contains("/odds/"));
        let prices: Vec<_> = books
            .map(|(_, reader)| &reader.data["markets"]["1.901"]["selections"]["11"]["price"])
            .filter(|price| !price.is_null())
            .collect();
        assert_eq!(prices, [&json!("2.02")], "{file}");
    }
}

#[test]
fn line_is_no_price() {
    let Some(bench) = play("02-betfair-line-market", &["line.jsonl"]) else { return };
    for (name, reader) in bench.readers.iter().filter(|(name, _)| name.contains("/odds/")) {
        for market in reader.data["markets"].as_object().into_iter().flatten() {
            for (_, selection) in market.1["selections"].as_object().into_iter().flatten() {
                let is_absent = |field: &str| selection.get(field).is_none_or(Value::is_null);
                assert!(is_absent("price") && is_absent("last"), "{name}: {selection}");
            }
        }
    }
}

#[test]
fn runner_that_a_definition_leaves_out_keeps_its_status() {
    for file in ["close.jsonl", "open.jsonl"] {
        let case = "04-betfair-definition-lacks-runners";
        let Some(bench) = play(case, &[file]) else { return };
        let (book, _) = the_book(&bench);
        let market = book["markets"].as_object().expect("markets").values().next().expect("one");
        let statuses = ["1", "2", "3"].map(|id| market["selections"][id]["status"].clone());
        assert_eq!(statuses, ["active", "active", "removed"].map(Value::from), "{file}");
    }
}

#[test]
fn prices_wait_for_the_name_of_their_runner() {
    let Some(bench) = play("05-betfair-reserve-runner", &["reserve.jsonl"]) else { return };
    let (book, _) = the_book(&bench);
    let runner = &book["markets"]["1.905"]["selections"]["4"];
    let found = ["price", "last", "volume"].map(|field| runner[field].clone());
    assert_eq!(found, ["20", "21", "3"].map(Value::from));
}

#[test]
fn second_settlement_corrects_the_first() {
    let Some(bench) = play("06-betfair-settled-again", &["again.jsonl"]) else { return };
    let (_, events) = the_book(&bench);
    assert_eq!(kinds(&events), ["open", "suspend", "settle", "reopen", "correct"]);
    assert_eq!((&events[4]["of"], &events[4]["winners"]), (&events[2]["eid"], &json!(["12"])));
}

/// A recording of one race: its course, name and distance, its winner and its runners that were removed.
#[test]
fn race_is_a_match() {
    for (recording, key, start, title, winner, removed) in [
        (
            "1.211006011.bz2",
            "32165834.0645",
            1_678_344_300_000_000_i64,
            ["Pakenham", "R1 1200m 3yo", "1200m", "AU"],
            ["Sisterhood", "9404610", "1.86"],
            ["Adrett", "Extreme Ally"].as_slice(),
        ),
        (
            "flumine-BASIC-1.132153978.jsonl.gz",
            "28270094.1855",
            1_497_466_500_000_000,
            ["Hamilton", "1m Hcap", "1m", "GB"],
            ["Brother Mcgonagall", "12115648", "4.15"],
            ["Hellavashock", "Hymn For The Dudes"].as_slice(),
        ),
    ] {
        let Some(bench) = played(&format!("feeds-2/betfair-stream/{recording}"), &[]) else {
            return;
        };
        let races = bench.readers.values().filter(|reader| reader.data["runners"].is_object());
        let races: Vec<_> = races.collect();
        let [race] = races[..] else { panic!("one race") };
        let data = &race.data;
        assert_eq!(data["refs"], json!({ "betfair": key }));
        assert_eq!((&data["start"], &data["status"]), (&json!(start), &json!("finished")));
        let found = ["course", "name", "distance", "country"].map(|field| data[field].clone());
        assert_eq!(found, title.map(Value::from));
        let runners: Vec<_> = data["runners"].as_object().expect("runners").values().collect();
        let named = |status: &str| {
            let with_status = runners.iter().filter(|runner| runner["status"] == status);
            let mut names: Vec<_> =
                with_status.filter_map(|runner| runner["name"].as_str()).collect();
            names.sort_unstable();
            names
        };
        let [name, id, bsp] = winner;
        assert_eq!((named("finished"), named("non_runner")), (vec![name], removed.to_vec()));
        assert!(kinds(&race.events()).contains(&"finish"), "{:?}", race.events());
        let (book, _) = the_book(&bench);
        let market = book["markets"].as_object().expect("markets").values().next().expect("one");
        let selection = &market["selections"][id];
        assert_eq!((&selection["status"], &selection["bsp"]), (&json!("winner"), &json!(bsp)));
        assert_eq!(market["number_of_winners"], 1);
    }
}

/// Betfair sets what was matched to 0 before it closes a market.
#[test]
fn matched_volume_stays_when_the_market_closes() {
    for (recording, market, volume, runner, of_runner) in [
        ("feeds-2/betfair-stream/1.185781277.bz2", "1.185781277", 52_333.0, "40364042", 16_868.3),
        (
            "feeds/betfair-stream/racing-1.241629436.live.jsonl.gz",
            "1.241629436",
            253_190.53,
            "59626646",
            16_367.1,
        ),
    ] {
        let Some(bench) = played(recording, &[]) else { return };
        let (book, _) = the_book(&bench);
        let market = &book["markets"][market];
        assert_eq!(market["status"], "closed");
        let number = |value: &Value| value.as_str().and_then(|text| text.parse::<f64>().ok());
        let matched = number(&market["volume"]).expect("a volume");
        assert!((matched - volume).abs() <= 0.05, "{matched} of {volume}");
        let selection = &market["selections"][runner];
        let matched = number(&selection["volume"]).expect("a volume");
        assert!((matched - of_runner).abs() <= 0.05, "{matched} of {of_runner}");
        assert!(selection["traded"].as_object().is_some_and(|ladder| !ladder.is_empty()));
    }
}

#[test]
fn newest_statement_holds_in_whatever_answer_it_is() {
    let Some(bench) = play("24-odds-api-upcoming", &["upcoming.ndjson"]) else { return };
    let books = bench.readers.iter().filter(|(name, _)| name.starts_with("football/"));
    let mut books = books.filter(|(name, _)| name.ends_with("/odds/book1"));
    let (_, reader) = books.next().expect("the book");
    let selections = &reader.data["markets"]["h2h"]["selections"];
    assert_eq!(selections["Alder Town"]["price"], "2");
}

#[test]
fn bet_stop_of_a_group_and_late_hand_over_leave_other_markets_open() {
    for (case, file, markets) in [
        ("11-uof-bet-stop-group", "groups.ndjson", ["1", "166/total=9.5"]),
        ("10-uof-handover", "handover.ndjson", ["1", "18/total=2.5"]),
    ] {
        let Some(bench) = play(case, &[file]) else { return };
        let (book, _) = the_book(&bench);
        let statuses = markets.map(|id| book["markets"][id]["status"].clone());
        assert_eq!(statuses, ["open", "open"].map(Value::from), "{case}");
    }
}

#[test]
fn halves_of_a_stake_are_results() {
    let Some(bench) = play("16-uof-void-factor", &["half.ndjson"]) else { return };
    let (book, events) = the_book(&bench);
    let statuses = book["markets"].as_object().expect("markets").values().flat_map(|market| {
        market["selections"].as_object().expect("selections").values().map(|it| &it["status"])
    });
    let statuses: Vec<_> = statuses.filter_map(Value::as_str).collect();
    assert!(statuses.contains(&"half_won") && statuses.contains(&"half_lost"), "{statuses:?}");
    let settled = events.iter().find(|event| event["results"].is_object());
    assert!(settled.is_some_and(|event| event["kind"] == "settle"), "{events:?}");
}

#[test]
fn names_in_windows_1252_are_read() {
    let Some(bench) = play("41-couk-cp1252", &["cp1252.csv"]) else { return };
    let matches = bench.readers.values().filter(|reader| reader.data["home"].is_object());
    let ids = matches.flat_map(|reader| [&reader.data["home"], &reader.data["away"]]);
    let mut names: Vec<_> = ids.map(|side| side["name"].to_string()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names, ["\"Birch\"", "\"Köln\"", "\"Nott’m Alder\""]);
}

#[test]
fn set_of_thirteen_games_is_won() {
    let files = ["2019-wimbledon-1701.match.csv", "2019-wimbledon-1701.points.csv"];
    let Some(bench) = play("60-slam-12-12-tie-break", &files) else { return };
    let sets = bench.readers.values().flat_map(|reader| reader.events());
    let sets: Vec<_> = sets.filter(|event| event["kind"] == "set").collect();
    let fifth = sets.iter().find(|event| event["set"] == 5).expect("a fifth set");
    assert_eq!(fifth["games"], json!({"p1": 13, "p2": 12}));
}

/// The record's score is that after 90 minutes.
#[test]
fn goals_of_extra_time_count() {
    for (key, home, away) in [("1694440", 1, 0), ("1694428", 0, 1), ("2058015", 2, 1)] {
        let recording = format!("feeds-2/wyscout/{key}.events.json.gz");
        let Some(bench) = played(&recording, &["feeds-2/wyscout/matches.json"]) else { return };
        let matches = bench.readers.values().filter(|reader| reader.data["score"].is_object());
        let documents: Vec<_> = matches.map(|reader| &reader.data).collect();
        let [document] = documents[..] else { panic!("one match") };
        assert_eq!(total(document), pair(home, away), "{key}");
    }
}

/// A field of the selections of the one book's market.
fn of_selections<const N: usize>(
    bench: &Bench,
    market: &str,
    field: &str,
    ids: [&str; N],
) -> [Value; N] {
    let (book, _) = the_book(bench);
    ids.map(|id| book["markets"][market]["selections"][id][field].clone())
}

/// Why parts of a file were refused.
fn refusals(case: &str, file: &str) -> Option<Vec<String>> {
    let path = recordings::shared(&format!("trials/cases/{case}/{file}"))?;
    let recording = Recording::open(&path, &[], START, &Limits::default()).expect("it opens");
    let refused = recording.filter_map(|step| match step {
        Step::Refused(refusal) => Some(refusal.reason),
        Step::Batch(_) => None,
    });
    Some(refused.collect())
}

#[test]
fn levels_of_one_runner_are_merged() {
    let Some(bench) = play("03-betfair-image-oddities", &["image.jsonl"]) else { return };
    let fields = ["price", "lay", "last", "volume"];
    let found = fields.map(|field| of_selections(&bench, "1.903", field, ["11"])[0].clone());
    assert_eq!(found, ["1.01", "2.3", "2.28", "12.5"].map(Value::from));
}

#[test]
fn selection_of_each_handicap_has_its_own_price() {
    let Some(bench) = play("08-betfair-handicap", &["handicap.jsonl"]) else { return };
    let ids = ["11@-0.5", "11", "11@0.5", "12@0.5", "12", "12@-0.5"];
    let prices = of_selections(&bench, "1.908", "price", ids);
    assert_eq!(
        (&prices[0], &prices[1], &prices[3]),
        (&json!("2.2"), &json!("1.72"), &json!("1.8"))
    );
    assert!(prices.iter().all(Value::is_string), "{prices:?}");
}

#[test]
fn sets_are_won_as_the_source_states() {
    let case = "13-uof-tennis-tie-break-set";
    for (file, name, sets, winner) in [
        ("tennis.ndjson", "A. Alder", [1, 0], Value::Null),
        ("tennis-ended.ndjson", "C. Cedar", [2, 0], json!(1)),
        ("tennis-retired.ndjson", "E. Elm", [0, 1], json!(1)),
    ] {
        let path = format!("trials/cases/{case}/{file}");
        let Some(batches) = recordings::batches_with(&path, &[]) else { return };
        let scores = batches.flat_map(|batch| batch.events).filter_map(|event| match event.fact {
            Fact::Tennis(TennisFact::Score(score)) => Some(score.sets_won()),
            _ => None,
        });
        assert_eq!(scores.last(), Some(sets), "{file}");
        let bench = play(case, &[file]).expect("it is here");
        assert_eq!(of_side(&bench, name).0["winner"], winner, "{file}");
    }
}

#[test]
fn prices_belong_to_the_names_of_outcomes() {
    let Some(bench) = play("20-odds-api-outcome-order", &["order.json"]) else { return };
    let prices = of_selections(&bench, "h2h", "price", ["Alder Town", "Draw", "Birch City"]);
    assert_eq!(prices, ["1.9", "3.5", "4"].map(Value::from));
}

#[test]
fn outcome_without_a_price_is_refused_alone() {
    let (case, file) = ("21-odds-api-missing-values", "missing.json");
    let Some(bench) = play(case, &[file]) else { return };
    let books = bench.readers.iter().find(|(name, _)| name.ends_with("/odds/book1"));
    let (_, book) = books.expect("a book");
    let selections = &book.data["markets"]["h2h"]["selections"];
    assert_eq!(selections["Alder Town"]["price"], "1.9");
    assert_eq!(selections["Birch City"]["price"], Value::Null);
    let refused = refusals(case, file).unwrap_or_default();
    assert!(!refused.is_empty(), "they are named");
}

#[test]
fn line_that_two_markets_have_keeps_both_prices() {
    let Some(bench) = play("23-odds-api-same-line-twice", &["alternate.json"]) else { return };
    let (book, _) = the_book(&bench);
    let markets = book["markets"].as_object().expect("markets").values();
    let prices = markets.filter(|market| market["line"] == "2.5").flat_map(|market| {
        market["selections"].as_object().expect("selections").values().map(|it| it["price"].clone())
    });
    let mut prices: Vec<_> = prices.filter_map(|it| it.as_str().map(ToOwned::to_owned)).collect();
    prices.sort_unstable();
    assert_eq!(prices, ["1.85", "1.9", "1.9", "1.95"]);
}

#[test]
fn prices_to_lay_are_in_no_consensus() {
    let Some(bench) = play("26-odds-api-lay", &["lay.json"]) else { return };
    let (_, consensus) =
        bench.readers.iter().find(|(name, _)| name.ends_with("/odds")).expect("one");
    let selections = &consensus.data["markets"]["match_winner"]["selections"];
    let best = ["home", "draw", "away"].map(|outcome| selections[outcome]["price"].clone());
    assert_eq!(best, ["2.5", "3.3", "3"].map(Value::from));
    assert_eq!(selections["home"]["bookmakers"], 2);
}

#[test]
fn moved_match_stays_one_match() {
    let Some(bench) = play("27-odds-api-rescheduled", &["moved.ndjson"]) else { return };
    let matches = bench.readers.values().filter(|reader| reader.data["home"].is_object());
    let starts: Vec<_> = matches.map(|reader| reader.data["start"].clone()).collect();
    // 2026-10-05T18:00:00Z.
    assert_eq!(starts, [json!(1_791_223_200_000_000_i64)]);
}

#[test]
fn two_goals_of_one_player_in_one_minute_are_two() {
    let Some(bench) = play("35-apifootball-quick-double", &["double.ndjson"]) else { return };
    let (document, events) = of_side(&bench, "Alder Town");
    assert_eq!(total(&document), pair(2, 0));
    let goals = kinds(&events).into_iter().filter(|kind| *kind == "goal").count();
    assert!(goals >= 2, "{events:?}");
}

#[test]
fn file_with_a_byte_order_mark_and_blank_rows_is_read() {
    let (case, file) = ("40-couk-bom-and-blank-columns", "bom.csv");
    let Some(bench) = play(case, &[file]) else { return };
    let (alder, _) = of_side(&bench, "Alder");
    let (cedar, _) = of_side(&bench, "Cedar");
    assert_eq!((total(&alder), total(&cedar)), (pair(2, 1), pair(0, 0)));
    let has_price = |price: &str| {
        bench.readers.iter().any(|(name, reader)| {
            name.contains("/odds/") && reader.data.to_string().contains(&format!("\"{price}\""))
        })
    };
    assert!(["1.9", "1.88", "1.95", "2.5"].iter().all(|price| has_price(price)));
}

#[test]
fn optional_parts_of_events_may_be_missing() {
    let (case, file) = ("51-statsbomb-odd-values", "3999002.events.json");
    let Some(bench) = play(case, &[file]) else { return };
    let mut matches = bench.readers.values().filter(|reader| reader.data["score"].is_object());
    let document = &matches.next().expect("a match").data;
    assert_eq!((total(document), &document["score"]["ht"]), (pair(2, 0), &pair(2, 0)));
    assert_eq!(refusals(case, file), Some(Vec::new()));
}

#[test]
fn player_who_retires_loses() {
    let files = ["2024-usopen-1102.match.csv", "2024-usopen-1102.points.csv"];
    let Some(bench) = play("62-slam-retired", &files) else { return };
    let (document, _) = of_side(&bench, "E. Elm");
    assert_eq!((&document["status"], &document["winner"]), (&json!("retired"), &json!(2)));
}
