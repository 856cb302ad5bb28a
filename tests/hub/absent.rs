//! A field that is missing is absent in what is published, and an older statement changes nothing: over small inputs of all
//! formats, with one field removed at a time, or one message sent again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use facts::event::Batch;
use flate2::read::GzDecoder;
use ingest::recording::{Limits, Recording, Step};
use serde_json::Value;

use crate::{
    bench::{Bench, SETTINGS, START},
    recordings::shared,
};

/// The files of each input, below `../shared`: companions, then the recording.
const INPUTS: &[&[&str]] = &[
    &["trials/cases/01-betfair-moved-event/old-first.jsonl"],
    &["trials/cases/02-betfair-line-market/line.jsonl"],
    &["trials/cases/03-betfair-image-oddities/image.jsonl"],
    &["trials/cases/05-betfair-reserve-runner/reserve.jsonl"],
    &["trials/cases/06-betfair-settled-again/again.jsonl"],
    &["trials/cases/10-uof-handover/handover.ndjson"],
    &["trials/cases/13-uof-tennis-tie-break-set/tennis-ended.ndjson"],
    &["trials/cases/13-uof-tennis-tie-break-set/tennis-retired.ndjson"],
    &["trials/cases/16-uof-void-factor/half.ndjson"],
    &["trials/cases/24-odds-api-upcoming/upcoming.ndjson"],
    &["trials/cases/25-odds-api-scores/scores.json"],
    &["trials/cases/26-odds-api-lay/lay.json"],
    &["trials/cases/27-odds-api-rescheduled/moved.ndjson"],
    &["trials/cases/31-apifootball-shootout-without-comment/shootout.ndjson"],
    &["trials/cases/32-apifootball-suspended/suspended.ndjson"],
    &["trials/cases/40-couk-bom-and-blank-columns/bom.csv"],
    &["trials/cases/50-statsbomb-extra-half-end/3999001.events.json"],
    &["trials/cases/51-statsbomb-odd-values/3999002.events.json"],
    &[
        "trials/cases/62-slam-retired/2024-usopen-1102.match.csv",
        "trials/cases/62-slam-retired/2024-usopen-1102.points.csv",
    ],
    &["feeds/sportradar-uof/fixture-0.xml"],
    &["feeds/sportradar-uof/odds_change-0.xml"],
    &["feeds/betfair-scores/eventtimeline.json"],
    &["feeds/betfair-scores/score.json"],
    &["feeds/betfair-scores/scores.json"],
    &["feeds/the-odds-api/event-odds.json"],
    &["feeds/pointbypoint-strings/matches.csv"],
    &["feeds/statsperform/hsv-svs-2021-09-11.ma1.json.gz"],
];

/// Inputs whose messages have a time by which the provider orders them.
const ORDERED: &[&str] = &[
    "trials/cases/10-uof-handover/in-order.ndjson",
    "trials/cases/13-uof-tennis-tie-break-set/tennis-ended.ndjson",
    "trials/cases/24-odds-api-upcoming/upcoming.ndjson",
    "trials/cases/27-odds-api-rescheduled/moved.ndjson",
];

/// The most removals from one file.
const REMOVALS_MAX: usize = 28;

/// A file: its name and its text.
type File = (String, String);

#[test]
fn missing_field_is_never_replaced_by_a_value() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for paths in INPUTS {
        let Some(files) = paths.iter().map(|path| file(path)).collect::<Option<Vec<_>>>() else {
            return;
        };
        let whole = Published::by(&files);
        assert!(!whole.values.is_empty(), "{paths:?} publishes nothing");
        for (index, (_, text)) in files.iter().enumerate() {
            for (removed, text) in removals(text) {
                let mut files = files.clone();
                files[index].1 = text;
                count += 1;
                let name = &files[index].0;
                for (field, value) in Published::by(&files).not_stated(&whole, &files) {
                    let is_expected = EXPECTED.iter().any(|(file, part, ending)| {
                        name.starts_with(file) && removed.contains(part) && field.ends_with(ending)
                    });
                    if !is_expected {
                        wrong.push(format!("{name} without {removed}: {field} = {value}"));
                    }
                }
            }
        }
    }
    assert!(count > 500, "{count}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn older_statement_changes_nothing() {
    let mut wrong = Vec::new();
    for path in ORDERED {
        let Some((name, text)) = file(path) else { return };
        let lines: Vec<_> = text.lines().collect();
        let whole = documents((name.clone(), text.clone()));
        for (index, line) in lines.iter().enumerate().skip(1) {
            let again = format!("{text}\n{}\n", sent_at_the_end(line, lines[lines.len() - 1]));
            let found = documents((name.clone(), again));
            for (channel, document) in &whole {
                if found.get(channel) != Some(document) {
                    wrong.push(format!("{path}: line {} again changes {channel}", index + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// What was published at any time.
#[derive(Default)]
struct Published {
    /// The values of each field, by its path in documents of one kind.
    values: BTreeMap<String, BTreeSet<String>>,
}

impl Published {
    fn by(files: &[File]) -> Self {
        let mut published = Self::default();
        let mut bench = Bench::new(SETTINGS);
        for batch in batches(files) {
            bench.apply(&batch);
            published.take(&bench);
        }
        published
    }

    fn take(&mut self, bench: &Bench) {
        for (channel, reader) in &bench.readers {
            let kind = match channel.split('/').collect::<Vec<_>>()[..] {
                [_, _] => "match",
                [_, _, _, _] => "book",
                // What is computed from several books changes with each of them.
                _ => continue,
            };
            self.walk(kind, &reader.data);
        }
    }

    fn walk(&mut self, path: &str, value: &Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    // Ids, of which there are many.
                    let is_id = path.ends_with("markets") || path.ends_with("selections");
                    let name = if is_id || name.contains(|c: char| c.is_ascii_digit()) {
                        "*"
                    } else {
                        name
                    };
                    self.walk(&format!("{path}.{name}"), value);
                }
            }
            Value::Array(all) => all.iter().for_each(|value| self.walk(path, value)),
            Value::Null => {}
            value => {
                let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
                self.values.entry(path.to_owned()).or_default().insert(text);
            }
        }
    }

    /// The values that neither the whole input publishes in this field nor the input states.
    fn not_stated<'a>(&'a self, whole: &Self, files: &[File]) -> Vec<(&'a str, &'a str)> {
        let stated = |value: &str| {
            // Nobody needs to say nothing: a zero has to be published of the whole input.
            !value.trim_matches(['0', '.']).is_empty()
                && files.iter().any(|(_, text)| text.contains(value))
        };
        let mut wrong = Vec::new();
        for (path, values) in &self.values {
            let is_looked_at = |value: &str| {
                let mut defaults = DEFAULTS.iter();
                LOOKED_AT.split_whitespace().any(|field| path.ends_with(field)) && value != NO_PLAY
                    || defaults.any(|(field, default)| path.ends_with(field) && value == *default)
            };
            for value in values.iter().filter(|value| is_looked_at(value)) {
                let is_published = whole.values.get(path).is_some_and(|all| all.contains(value));
                if !is_published && !stated(value) {
                    wrong.push((path.as_str(), value.as_str()));
                }
            }
        }
        wrong
    }
}

/// The ends of the paths of fields that are looked at: names, starts, statuses and minutes of matches, scores, prices, sizes and
/// counts. Statuses of markets follow from what is there: one without a price is not offered.
const LOOKED_AT: &str = ".name .start match.score.home match.score.away .ht.home .ht.away .et.home .et.away .pens.home .pens.away \
     .price .last .lay .volume .winner .line .back .lays .traded .minute match.status";

/// The end of the path of each number that is worked out, and what stands there by default: only that is looked for.
const DEFAULTS: [(&str, &str); 3] =
    [("match.clock.s", "0"), ("match.server", "0"), ("match.points", "0")];

/// The status of a match of which no play is reported.
const NO_PLAY: &str = "not_started";

/// What may be published all the same: the begin of the file's name, a part of what is removed, and the end of the field.
const EXPECTED: &[(&str, &str, &str)] = &[
    // Goals are counted: a shot of which no more is known is none.
    ("3999001.events", "/shot", ".ht.home"),
    // The name of a market is that of its description, with the specifiers that there are.
    ("odds_change-0", "specifiers", ".name"),
    // The coarse status stands: a match that is on, or over.
    ("odds_change-0", "match_status", "match.status"),
    ("tennis-retired", "match_status", "match.status"),
    // Extra time of which the part is not known.
    ("shootout", "/elapsed", "match.status"),
    // A match with a winner is over, in whatever way.
    ("2024-usopen-1102.match", "status", "match.status"),
];

/// The channels of matches and books after a file, and their documents.
fn documents(file: File) -> BTreeMap<String, Value> {
    let mut bench = Bench::new(SETTINGS);
    batches(&[file]).iter().for_each(|batch| drop(bench.apply(batch)));
    let all = bench.readers.into_iter().filter(|(channel, _)| channel.contains('/'));
    all.map(|(channel, reader)| (channel, reader.data)).collect()
}

/// The batches of a recording, the last of these files; none if it cannot be opened.
fn batches(files: &[File]) -> Vec<Batch> {
    let folder = tempfile::tempdir().expect("a folder");
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.path().join(name)).collect();
    for (path, (_, text)) in paths.iter().zip(files) {
        fs::write(path, text).expect("it is written");
    }
    let Some((recording, companions)) = paths.split_last() else { return Vec::new() };
    let Ok(recording) = Recording::open(recording, companions, START, &Limits::default()) else {
        return Vec::new();
    };
    let batch = |step| match step {
        Step::Batch(timed) => Some(timed.batch),
        Step::Refused(_) => None,
    };
    recording.filter_map(batch).collect()
}

/// A shared file as text; `None` if it is missing.
fn file(path: &str) -> Option<File> {
    let bytes = fs::read(shared(path)?).expect("it is read");
    let name = Path::new(path).file_name().and_then(|name| name.to_str()).expect("a name");
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    let unpacked = name.strip_suffix(".gz");
    if unpacked.is_some() {
        text.clear();
        GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("it is text");
    }
    // As the removals write it, so that only what is removed differs.
    let lines: Vec<_> = lines(&text).iter().map(|line| line.write(None)).collect();
    Some((unpacked.unwrap_or(name).to_owned(), lines.join("\n")))
}

/// A message of a file, or all of it.
enum Line {
    Json(Value),
    /// A message within a line of a recorded source.
    Within(Value, Box<Self>),
    /// XML or CSV.
    Text(String),
}

fn lines(text: &str) -> Vec<Line> {
    let is_json = |text: &str| text.starts_with(['{', '[']);
    if is_json(text) && serde_json::from_str::<Value>(text).is_err() {
        return text.lines().map(Line::read).collect();
    }
    vec![Line::read(text)]
}

impl Line {
    fn read(text: &str) -> Self {
        match serde_json::from_str::<Value>(text) {
            Ok(line) => match line["text"].as_str() {
                Some(inner) => {
                    let inner = Box::new(Self::read(inner));
                    Self::Within(line, inner)
                }
                None => Self::Json(line),
            },
            Err(_) => Self::Text(text.to_owned()),
        }
    }

    /// With another text in the innermost message.
    fn write(&self, replaced: Option<&str>) -> String {
        match self {
            Self::Json(value) => replaced.map_or_else(|| value.to_string(), ToOwned::to_owned),
            Self::Text(text) => replaced.unwrap_or(text).to_owned(),
            Self::Within(line, inner) => {
                let mut line = line.clone();
                line["text"] = inner.write(replaced).into();
                line.to_string()
            }
        }
    }

    /// Each removal: what, and the innermost message without it.
    fn removals(&self) -> Vec<(String, String)> {
        match self {
            Self::Within(_, inner) => inner.removals(),
            Self::Json(value) => fields(value),
            Self::Text(text) if text.trim_start().starts_with('<') => attributes(text),
            Self::Text(text) => cells(text),
        }
    }
}

/// The file without one field at a time, at even distances.
fn removals(text: &str) -> Vec<(String, String)> {
    let lines = lines(text);
    let is_head = |line: &Line| matches!(line, Line::Json(value) if value["matchwire"].is_string());
    let mut all = Vec::new();
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| !is_head(line)) {
        for (removed, message) in line.removals() {
            let text = lines
                .iter()
                .enumerate()
                .map(|(other, line)| line.write((other == index).then_some(message.as_str())));
            let text = text.collect::<Vec<_>>().join("\n");
            all.push((format!("{removed} in message {}", index + 1), text));
        }
    }
    let step = all.len().div_ceil(REMOVALS_MAX).max(1);
    all.into_iter().step_by(step).collect()
}

/// A JSON document without one field.
fn fields(document: &Value) -> Vec<(String, String)> {
    fn find(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                found.push((path.to_owned(), name.clone()));
                find(value, &format!("{path}/{name}"), found);
            }),
            Value::Array(all) => all.iter().enumerate().for_each(|(index, value)| {
                find(value, &format!("{path}/{index}"), found);
            }),
            _ => {}
        }
    }
    let mut found = Vec::new();
    find(document, "", &mut found);
    let without = |(parent, name): (String, String)| {
        let mut document = document.clone();
        document.pointer_mut(&parent)?.as_object_mut()?.remove(&name)?;
        Some((format!("{parent}/{name}"), document.to_string()))
    };
    found.into_iter().filter_map(without).collect()
}

/// XML without one attribute.
fn attributes(text: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (equals, _) in text.match_indices("=\"") {
        let Some(begin) = text[..equals].rfind(' ') else { continue };
        let Some(length) = text[equals + 2..].find('"') else { continue };
        let end = equals + 2 + length + 1;
        let without = format!("{}{}", &text[..begin], &text[end..]);
        all.push((text[begin + 1..end].to_owned(), without));
    }
    all
}

/// CSV without a cell of the first row or the last, and without a whole column.
fn cells(text: &str) -> Vec<(String, String)> {
    let rows: Vec<Vec<&str>> = text.lines().map(|row| row.split(',').collect()).collect();
    let Some((head, last)) = rows.first().zip(rows.len().checked_sub(1)) else { return Vec::new() };
    let mut all = Vec::new();
    for (column, name) in head.iter().enumerate() {
        for rows_in_question in [1..2, last..last + 1, 1..last + 1] {
            let row = |(index, row): (usize, &Vec<&str>)| {
                let cell = |(at, cell): (usize, &&str)| {
                    if at == column && rows_in_question.contains(&index) {
                        String::new()
                    } else {
                        (*cell).to_owned()
                    }
                };
                row.iter().enumerate().map(cell).collect::<Vec<_>>().join(",")
            };
            let text = rows.iter().enumerate().map(row).collect::<Vec<_>>().join("\n");
            all.push((format!("{name} of rows {rows_in_question:?}"), text));
        }
    }
    all
}

/// A line as it arrives after the last one: with its own version and time, received later.
fn sent_at_the_end(line: &str, last: &str) -> String {
    let parse = |line: &str| serde_json::from_str::<Value>(line).expect("it is JSON");
    let (mut again, last) = (parse(line), parse(last));
    if let (true, Some(at)) = (again["at"].is_i64(), last["at"].as_i64()) {
        again["at"] = (at + 1_000_000).into();
    }
    again.to_string()
}
