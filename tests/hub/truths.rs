//! What the hub publishes at the end of each public recording equals what independent scripts compute from the raw file: see
//! `tests/truths/README.md`; and a match's record, from which REST and MCP answer, has the figures of its document. Only the
//! images at the end are read, so that all of them can be played; `recordings` follows some.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use facts::event::{Fact, Sport};
use fanout::{
    Epoch, Pattern,
    catch_up::{HostRequest, HostResponse},
    channel::Rate,
};
use hub::{Epochs, Hub, HubInput, feeds::SourcePolicy, identity::Identity};
use record::{LiveRecords, MatchRecord, MatchSummary};
use serde_json::{Map, Value, json};

use crate::{
    bench::{SETTINGS, START},
    json::parse,
    recordings::{batches_with, shared},
};

/// Files that are not played, by the begin of the path, with the reason.
const LEFT_OUT: &[(&str, &str)] = &[
    ("feeds-2/wyscout/matches.json", "match records: they only go with recordings"),
    ("feeds-2/wyscout/v3-5154199.json", "version 3 is refused; of this match two events are left"),
    ("feeds-2/api-football/fixture-predictions-bvb.json", "an answer of `predictions`: not read"),
    ("feeds-2/the-odds-api/RetrieveHistoricalSportEvent", "American football has no channels"),
    ("feeds-2/football-data-couk/MEX.csv", "long: 3,926 rows in the columns of USA.csv"),
    ("feeds-2/football-data-couk/ROU.csv", "long: 3,481 rows in the columns of USA.csv"),
];

/// What a recording that contradicts itself leaves unknown: the begin of its path, the field, and the reason. All else is compared.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("feeds-2/slam-pointbypoint/2012-frenchopen-2111", "set 2", "its rows are empty"),
    ("feeds-2/wyscout/api-2852835", "half_time", "five events are left, none after the half"),
];

/// By recording, as a path below `../shared`: keys of its matches or markets, each with what is true of it.
type Truths = BTreeMap<String, Vec<(String, Value)>>;

/// Documents by channel.
type Documents = BTreeMap<String, Value>;

/// What the script of a format says of the recordings in both folders; `None`, with a message, if it cannot run.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn truths(format: &str) -> Option<Truths> {
    let script = format!("{}/tests/truths/{format}.py", env!("CARGO_MANIFEST_DIR"));
    let mut truths = Truths::new();
    for feeds in ["feeds", "feeds-2"] {
        let folder = shared(&format!("{feeds}/{format}"))?;
        let mut python = Command::new("python3");
        // Without `-B` it would write compiled modules next to the script.
        let Ok(output) = python.args(["-X", "utf8", "-B", script.as_str()]).arg(folder).output()
        else {
            eprintln!("skipped: python3 is not here");
            return None;
        };
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let line: Value = serde_json::from_str(line).expect("a line of a script is JSON");
            let (file, key, truth) = (text(&line["file"]), text(&line["key"]), &line["truth"]);
            let recording = format!("{feeds}/{format}/{file}");
            let is_left_out = LEFT_OUT.iter().any(|(begin, _)| recording.starts_with(*begin));
            // Other lines are of events, odds or tables without their match, and of markets without a definition.
            let is_whole = truth["definition"].as_bool().unwrap_or_else(|| {
                ["home", "p1", "matches"].iter().any(|field| truth.get(field).is_some())
            });
            if is_whole && !is_left_out {
                truths.entry(recording).or_default().push((key.to_owned(), truth.clone()));
            }
        }
    }
    Some(truths)
}

/// Compares what is true of each match or market with the documents at the end of its recording.
fn compare(format: &str, with_books: bool, check: fn(&mut Comparison, &Documents, &Value)) {
    let Some(truths) = truths(format) else { return };
    let mut comparison = Comparison::default();
    for (recording, truths) in truths {
        let documents = documents(&recording, with_books);
        comparison.recording = recording;
        for (key, truth) in truths {
            comparison.key = key;
            check(&mut comparison, &documents, &truth);
        }
    }
    comparison.finish();
}

/// The matches and, if they are wanted, the books at the end of a recording. Companions beside it are found by themselves.
fn documents(recording: &str, with_books: bool) -> Documents {
    let epochs = Epochs { matches: Epoch(7), feeds: Epoch(8) };
    let mut hub = Hub::new(SETTINGS, epochs, Identity::default());
    let source = hub.source("truths".into(), "simulator", SourcePolicy::default());
    let batches = batches_with(recording, &[]).expect("a file that a script has read");
    let (mut now, mut changes) = (START, Vec::new());
    for mut batch in batches {
        if !with_books {
            batch.events.retain(|event| !matches!(event.fact, Fact::Odds(_)));
        }
        now += 1_000;
        let input = HubInput::Batch { source, batch, received: now - 100, now };
        // What cannot be applied is missing at the end.
        hub.take(&input, &mut changes);
        changes.clear();
    }
    let records = LiveRecords::default().apply(hub.take_changed(now)).records;
    let mut documents = Documents::new();
    for pattern in ["*/*", "*/*/odds/*"] {
        let pattern = Pattern::parse(pattern).expect("it is well formed");
        let request = HostRequest::MatchChannels { pattern, has: Vec::new() };
        let HostResponse::Channels(channels) = hub.answer(&request) else {
            panic!("a pattern is answered with channels");
        };
        for channel in channels {
            let name = channel.name.to_string();
            let channel = Pattern::parse(&name).expect("a channel's name is well formed");
            let (rate, from, why, bytes_max) = (Rate::Each, None, "resume", usize::MAX);
            let request =
                HostRequest::CatchUp { channel, rate, from, why, bytes_max, with_hash: false };
            let HostResponse::CatchUp(caught_up) = hub.answer(&request) else {
                panic!("{name} is answered with its image");
            };
            documents.insert(name, parse(&caught_up.frames[0].frame)["data"].take());
        }
    }
    for record in records.iter().filter(|record| record.summary.sport == Sport::Football) {
        check_record(recording, record, &documents);
    }
    documents
}

/// A figure of football is the same in a match's record and in its document, if it has one.
fn check_record(recording: &str, record: &MatchRecord, documents: &Documents) {
    let MatchSummary { id, score, half_time, extra_time, penalties, .. } = &*record.summary;
    let Some(document) = documents.get(&format!("football/{id}")) else { return };
    let in_document = |part: &Value| pair(part, ["home", "away"]);
    let shown = &document["score"];
    for (part, in_record) in [
        (shown, json!(score)),
        (&shown["ht"], json!(half_time)),
        (&shown["et"], json!(extra_time)),
        (&shown["pens"], json!(penalties)),
    ] {
        assert_eq!(in_document(part), in_record, "{recording} {id}: {shown}");
    }
    let Some(football) = record.play.football() else { return };
    let counters = football.counters();
    for (side, in_record) in ["home", "away"].into_iter().zip(&counters) {
        assert_eq!(document["stats"][side], json!(in_record), "{recording} {id}: {side}");
    }
    let names = counters.each_ref().map(|side| side.keys().collect::<Vec<_>>());
    assert_eq!(names[0], names[1], "{recording} {id}: a counter has both sides");
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Decimals are texts in documents, and numbers in what a script prints.
fn is_equal(published: &Value, truth: &Value) -> bool {
    let decimal = published.as_str().and_then(|text| text.parse::<f64>().ok());
    match (decimal, truth.as_f64()) {
        (Some(published), Some(truth)) => (published - truth).abs() <= 1e-9 * truth.abs(),
        _ => published == truth,
    }
}

/// The values of two sides, if there are any.
fn pair(values: &Value, sides: [&str; 2]) -> Value {
    match values {
        Value::Null => Value::Null,
        values => json!(sides.map(|side| &values[side])),
    }
}

/// What was compared, and the differences.
#[derive(Default)]
struct Comparison {
    recording: String,
    /// The provider's key of the match or market that is compared now.
    key: String,
    count: usize,
    wrong: Vec<String>,
}

impl Comparison {
    fn check(&mut self, field: &str, published: &Value, truth: &Value) {
        let Self { recording, key, .. } = &*self;
        let mut exceptions = EXCEPTIONS.iter();
        let is_one = exceptions.any(|(begin, listed_field, _)| {
            recording.starts_with(*begin) && *listed_field == field
        });
        if !is_one && !is_equal(published, truth) {
            let line = format!("{recording} {key}: {field} is {published}, and not {truth}");
            self.wrong.push(line);
        }
        self.count += 1;
    }

    fn missing(&mut self, what: &str) {
        self.wrong.push(format!("{}: {what} is not published", self.recording));
    }

    fn finish(self) {
        let Self { count, wrong, .. } = self;
        assert!(wrong.is_empty() && count > 0, "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    }
}

/// The channel and the document of the match with the provider's key.
fn match_of<'a>(
    comparison: &mut Comparison,
    documents: &'a Documents,
) -> Option<(&'a str, &'a Value)> {
    let key = comparison.key.clone();
    let has_key = |refs: &Map<String, Value>| refs.values().any(|listed| text(listed) == key);
    let found = documents.iter().find(|(_, it)| it["refs"].as_object().is_some_and(has_key));
    if found.is_none() {
        comparison.missing(&key);
    }
    found.map(|(channel, document)| (channel.as_str(), document))
}

#[test]
fn wyscout() {
    compare("wyscout", false, check_football);
}

#[test]
fn statsbomb() {
    compare("statsbomb", false, check_football);
}

#[test]
fn statsperform() {
    compare("statsperform", false, check_football);
}

#[test]
fn api_football() {
    compare("api-football", false, check_football);
}

/// Status, score by part, goals, cards and kicks of a shoot-out.
fn check_football(comparison: &mut Comparison, documents: &Documents, truth: &Value) {
    let Some((_, document)) = match_of(comparison, documents) else { return };
    // Without a match record the script knows sides by their names only.
    let sides = ["home", "away"].map(|side| match &truth["home"] {
        Value::Null => text(&document[side]["name"]),
        _ => side,
    });
    if let Some(status) = truth.get("status") {
        comparison.check("status", &document["status"], status);
    }
    let score = &document["score"];
    for (field, published) in [
        ("score", score),
        ("half_time", &score["ht"]),
        ("extra_time", &score["et"]),
        ("shootout", &score["pens"]),
    ] {
        if let Some(values) = truth.get(field) {
            let published = pair(published, ["home", "away"]);
            comparison.check(field, &published, &pair(values, sides));
        }
    }
    // A fragment has no incidents.
    if truth["events_complete"].as_bool() != Some(false) {
        check_incidents(comparison, document, truth, sides);
    }
}

/// The lists of the script with their word for what an incident is; the kinds of the document with its word.
const LISTS: [(&str, &str, &[&str], &str); 3] = [
    ("goals", "type", &["goal"], "type"),
    ("cards", "card", &["yellow", "second_yellow", "red"], "kind"),
    ("kicks", "scored", &["shootout"], "scored"),
];

fn check_incidents(to: &mut Comparison, document: &Value, truth: &Value, sides: [&str; 2]) {
    let incidents = document["incidents"].as_object().into_iter().flatten().map(|(_, it)| it);
    let incidents: Vec<_> = incidents.filter(|it| it["retracted"].is_null()).collect();
    for (list, word, kinds, published_word) in LISTS {
        let Some(stated) = truth.get(list).and_then(Value::as_array) else { continue };
        let describe = |row: &Value, side: &str, what: &Value| match list {
            // A provider numbers them with their minutes.
            "kicks" => format!("{side} {what}"),
            _ => format!("{side} {what} {}+{}", row["minute"], row["added"]),
        };
        let stated = stated.iter().map(|row| describe(row, text(&row["side"]), &row[word]));
        let of_kind = incidents.iter().copied().filter(|row| kinds.contains(&text(&row["kind"])));
        let published = of_kind.map(|row| {
            let side = ["home", "away"].iter().position(|side| row["side"] == *side);
            describe(row, side.map_or("no side", |side| sides[side]), &row[published_word])
        });
        let (mut stated, mut published): (Vec<_>, Vec<_>) = (stated.collect(), published.collect());
        stated.sort_unstable();
        published.sort_unstable();
        to.check(list, &json!(published), &json!(stated));
    }
}

#[test]
fn slam_pointbypoint() {
    compare("slam-pointbypoint", false, check_tennis);
}

/// Status, winner, points, and the sets with their games and tie-breaks.
fn check_tennis(comparison: &mut Comparison, documents: &Documents, truth: &Value) {
    let Some((_, document)) = match_of(comparison, documents) else { return };
    for field in ["status", "winner", "points"] {
        comparison.check(field, &document[field], &truth[field]);
    }
    let sets = truth["sets"].as_array().expect("the script lists sets");
    let count = document["sets"].as_object().map_or(0, |sets| sets.len());
    comparison.check("number of sets", &json!(count), &json!(sets.len()));
    for set in sets {
        let name = set["number"].to_string();
        let published = &document["sets"][&name];
        let published = [published, &published["tb"]].map(|points| pair(points, ["p1", "p2"]));
        let stated = json!([set["games"], set["tie_break"]]);
        comparison.check(&format!("set {name}"), &json!(published), &stated);
    }
}

#[test]
fn betfair_stream() {
    compare("betfair-stream", true, check_market);
}

/// Status, winners, starting prices and matched volumes. A document has no volume that no source states, and the script adds up
/// what was traded: so volumes are compared where there are any.
fn check_market(comparison: &mut Comparison, documents: &Documents, truth: &Value) {
    let key = comparison.key.clone();
    let Some(market) = documents.values().find_map(|it| it["markets"].get(&key)) else {
        return comparison.missing(&key);
    };
    let lower = |value: &Value| json!(text(value).to_lowercase());
    // A handicap is a decimal here, and a number there.
    let of_selection = |id: &str| &market["selections"][id.strip_suffix(".0").unwrap_or(id)];
    comparison.check("status", &market["status"], &lower(&truth["status"]));
    let selections = market["selections"].as_object().into_iter().flatten();
    let winners = selections.filter(|(_, selection)| text(&selection["status"]) == "winner");
    let stated = truth["winners"].as_array().map_or(0, Vec::len);
    comparison.check("number that won", &json!(winners.count()), &json!(stated));
    for (id, runner) in truth["runners"].as_object().into_iter().flatten() {
        let selection = of_selection(id);
        let [status, bsp] = ["status", "bsp"].map(|field| &selection[field]);
        comparison.check(&format!("status of {id}"), status, &lower(&runner["status"]));
        comparison.check(&format!("bsp of {id}"), bsp, &runner["bsp"]);
    }
    // The script has no volumes if all are 0.
    let (volumes, zero) = (&truth["matched_volume"], json!(0));
    let of_market = ("the market", &market["volume"], volumes.get("market").unwrap_or(&zero));
    let of_runners = volumes["runners"].as_object().into_iter().flatten();
    let of_runners = of_runners.map(|(id, it)| (id.as_str(), &of_selection(id)["volume"], it));
    for (what, published, volume) in of_runners.chain([of_market]) {
        if !published.is_null() {
            comparison.check(&format!("volume of {what}"), published, volume);
        }
    }
}

/// How many matches have a result, and the sides and goals of each, at half time too.
#[test]
fn football_data_couk() {
    let Some(truths) = truths("football-data-couk") else { return };
    let line = |[home, away]: [&str; 2], [goals, half]: [Value; 2]| {
        format!("{home} - {away} {goals} {half}")
    };
    let mut comparison = Comparison::default();
    for (recording, truths) in truths {
        let documents = documents(&recording, false);
        comparison.recording = recording;
        let finished = documents.values().filter(|it| text(&it["status"]) == "finished");
        let published: Vec<_> = finished
            .map(|row| {
                let names = ["home", "away"].map(|side| text(&row[side]["name"]));
                let goals = [&row["score"], &row["score"]["ht"]];
                line(names, goals.map(|goals| pair(goals, ["home", "away"])))
            })
            .collect();
        let seasons = truths.iter().flat_map(|(_, truth)| truth["matches"].as_array());
        let stated: Vec<_> = seasons
            .flatten()
            .filter(|it| !it["score"].is_null())
            .map(|row| {
                let names = ["home", "away"].map(|side| text(&row[side]));
                line(names, ["score", "half_time"].map(|part| row[part].clone()))
            })
            .collect();
        let counts = [&published, &stated].map(|lines| json!(lines.len()));
        comparison.check("number of results", &counts[0], &counts[1]);
        let published: BTreeSet<_> = published.iter().collect();
        for line in stated.iter().filter(|line| !published.contains(line)) {
            comparison.missing(line);
        }
    }
    comparison.finish();
}

#[test]
fn the_odds_api() {
    compare("the-odds-api", true, check_books);
}

/// The prices of each bookmaker for the winner, and the status and score if the answer has them.
fn check_books(comparison: &mut Comparison, documents: &Documents, truth: &Value) {
    let Some((channel, document)) = match_of(comparison, documents) else { return };
    if let Some(status) = truth.get("status") {
        comparison.check("status", &document["status"], status);
        comparison.check("score", &document["score"], &truth["score"]);
    }
    for (bookmaker, book) in truth["prices"].as_object().into_iter().flatten() {
        let Some(stated) = book["h2h"]["outcomes"].as_object() else { continue };
        let Some(document) = documents.get(&format!("{channel}/odds/{bookmaker}")) else {
            comparison.missing(&format!("{channel} of {bookmaker}"));
            continue;
        };
        let selections = &document["markets"]["h2h"]["selections"];
        let count = selections.as_object().map_or(0, |selections| selections.len());
        comparison.check(&format!("outcomes of {bookmaker}"), &json!(count), &json!(stated.len()));
        for (outcome, price) in stated {
            let published = &selections[outcome]["price"];
            comparison.check(&format!("price of {bookmaker} for {outcome}"), published, price);
        }
    }
}
