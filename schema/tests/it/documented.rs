//! `docs/PROTOCOL.md` says what the schema says: its tables have the same fields, its examples conform, and it uses no words
//! that the schema does not have.

use std::collections::BTreeSet;

use schema::Contract;
use serde_json::{Deserializer, Value};

const PROTOCOL: &str = include_str!("../../../docs/PROTOCOL.md");

/// The tables of documents: a text shortly before the table, and the definitions whose fields it has, with tables that have
/// others of their fields.
const TABLES: [(&str, &[&str]); 12] = [
    ("Every document has these fields", &[]),
    ("### A match", &[]),
    ("**Football** also has:", &["FootballMatch"]),
    ("An incident stays in the document", &["Incident"]),
    ("**Tennis** also has:", &["TennisMatch"]),
    (
        "are followed by their scoreboard, and also have:",
        &["Cs2Match", "DartsMatch", "HockeyMatch", "BasketballMatch"],
    ),
    ("**Horse racing** (`horseracing`) also has:", &["HorseRace"]),
    ("the book of one bookmaker:", &["Odds"]),
    ("| field of a market |", &["Market"]),
    ("| field of a selection |", &["Selection"]),
    (
        "below 0 it is an arbitrage before commission), and is absent unless",
        &["ConsensusSelection"],
    ),
    ("at most one update a second, and one at once", &["Source"]),
];

/// Fields of matches that a sport does not have.
const OF_OTHER_SPORTS: [&str; 4] = ["home", "away", "p1", "p2"];

/// A row of a table of fields.
struct Row<'a> {
    fields: Vec<&'a str>,
    is_optional: bool,
}

/// The part of the page between two headings.
fn section(start: &str, end: &str) -> &'static str {
    let (_, rest) = PROTOCOL.split_once(start).unwrap_or_else(|| panic!("no {start}"));
    rest.split_once(end).unwrap_or_else(|| panic!("no {end}")).0
}

/// The texts in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The rows of the first table after a text.
fn rows(mark: &str) -> Vec<Row<'static>> {
    let (_, rest) = PROTOCOL.split_once(mark).unwrap_or_else(|| panic!("no {mark}"));
    let lines = rest
        .lines()
        .skip(1)
        .skip_while(|line| !line.starts_with("|--") && !line.starts_with("|---"));
    let lines = lines.skip(1).take_while(|line| line.starts_with('|'));
    let row = |line: &'static str| {
        let mut cells = line.trim_matches('|').split(" | ");
        let fields = quoted(cells.next()?).collect();
        let kind = cells.next()?;
        Some(Row { fields, is_optional: kind.contains("opt") })
    };
    let rows: Vec<_> = lines.filter_map(row).collect();
    assert!(!rows.is_empty(), "no table after {mark:?}");
    rows
}

fn definition<'a>(schema: &'a Value, name: &str) -> &'a Value {
    let found = &schema["$defs"][name];
    assert!(found.is_object(), "no definition {name}");
    found
}

fn fields(definition: &Value) -> BTreeSet<&str> {
    definition["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect()
}

fn is_required(definition: &Value, field: &str) -> bool {
    definition["required"].as_array().into_iter().flatten().any(|it| it == field)
}

#[test]
fn tables_have_the_fields_of_the_schema() {
    let schema = schema::document();
    let header = rows(TABLES[0].0);
    let fixture = rows(TABLES[1].0);
    let mut wrong = Vec::new();
    for (mark, names) in &TABLES[2..] {
        let marked = rows(mark);
        for name in *names {
            let definition = definition(&schema, name);
            let declared = fields(definition);
            let mut all: Vec<&Row<'_>> = marked.iter().collect();
            if declared.contains("life") {
                all.extend(&header);
            }
            if declared.contains("refs") {
                // A sport has its own words for the status.
                all.extend(fixture.iter().filter(|row| row.fields != ["status"]));
            }
            let documented: BTreeSet<&str> =
                all.iter().flat_map(|row| row.fields.iter().copied()).collect();
            let extra = documented.difference(&declared).filter(|it| !OF_OTHER_SPORTS.contains(it));
            wrong.extend(extra.map(|field| format!("{name}.{field} is only in the page")));
            let missing = declared.difference(&documented);
            wrong.extend(missing.map(|field| format!("{name}.{field} is only in the schema")));
            for row in all {
                for field in row.fields.iter().filter(|it| declared.contains(*it)) {
                    if row.is_optional == is_required(definition, field) {
                        wrong.push(format!("{name}.{field} is optional in only one of them"));
                    }
                }
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// Definitions that are described in running text: each field of each is named in the section.
#[test]
fn texts_name_the_fields_of_the_schema() {
    let schema = schema::document();
    let check = |part: &str, names: &[&str]| {
        let words = words_and_keys(part);
        for name in names {
            let missing: Vec<_> = fields(definition(&schema, name))
                .into_iter()
                .filter(|it| !words.contains(*it))
                .collect();
            assert_eq!(missing, [""; 0], "fields of {name} that its section does not name");
        }
    };
    let documents = section("\n## Documents\n", "\n## Events\n");
    check(
        documents,
        &[
            "Ball",
            "Clock",
            "Competition",
            "ConsensusMarket",
            "ConsensusOdds",
            "FootballBoard",
            "FootballRow",
            "FootballScore",
            "HorseRacingRow",
            "Participant",
            "Runner",
            "ScoreboardRow",
            "SideStats",
            "Signals",
            "TennisGame",
            "TennisRow",
            "TennisSet",
            "Transition",
        ],
    );
    let signals = section("\n### `signals`\n", "\n## Events\n");
    for kind in schema["$defs"]["Signal"]["anyOf"].as_array().expect("kinds") {
        check(
            signals,
            &[kind["$ref"].as_str().expect("a reference").rsplit('/').next().expect("a name")],
        );
    }
    check(signals, &["ArbitrageLeg"]);
    let events = section("\n## Events\n", "\n## Promises\n");
    for union in [
        "FootballEvent",
        "TennisEvent",
        "ScoreboardEvent",
        "RaceEvent",
        "OddsEvent",
        "ConsensusEvent",
        "SignalEvent",
    ] {
        for kind in schema["$defs"][union]["anyOf"].as_array().expect("kinds") {
            let name =
                kind["$ref"].as_str().expect("a reference").rsplit('/').next().expect("a name");
            let definition = definition(&schema, name);
            let word = definition["properties"]["kind"]["const"].as_str().expect("a kind");
            assert!(words_and_keys(events).contains(word), "{word}");
            let here = [events, documents].concat();
            check(&here, &[name]);
        }
    }
    let (connecting, frames, replays) = (
        section("\n## Connecting\n", "\n## Commands\n"),
        section("\n## Frames\n", "\n## Channels\n"),
        section("\n## Replays\n", "\n## A client in pseudo-code\n"),
    );
    check(connecting, &["HelloFrame", "HelloLimits"]);
    check(
        &[
            frames,
            section("\n### What an account may follow\n", "\n### The id of a match\n"),
            replays,
        ]
        .concat(),
        &[
            "SubscribedFrame",
            "ImageFrame",
            "UpdateFrame",
            "Moments",
            "ResyncFrame",
            "BeatFrame",
            "LagFrame",
            "StaleFrame",
            "UnsubscribedFrame",
            "UnsubscribedBatchFrame",
            "HashFrame",
            "EntitlementFrame",
            "PongFrame",
            "ErrorFrame",
            "AddonOffer",
            "ByeFrame",
        ],
    );
    check(
        replays,
        &[
            "ReplaySubscribedFrame",
            "ReplayChannel",
            "ReplaySpan",
            "ReplayUnsubscribedFrame",
            "ReplayEndFrame",
            "SubscribeReplayCommand",
            "ReplayOptions",
            "ReplayFromTime",
            "ReplayFromSeq",
            "ReplayCommand",
            "UnsubscribeReplayCommand",
        ],
    );
    check(
        section("\n## Commands\n", "\n## Frames\n"),
        &[
            "SubscribeCommand",
            "SetCommand",
            "UnsubscribeCommand",
            "PingCommand",
            "HashCommand",
            "SubscribeBatchCommand",
            "SubscribedBatchFrame",
            "BatchAnswer",
            "BatchPosition",
            "UnsubscribeBatchCommand",
            "Position",
        ],
    );
}

/// The words in backquotes of a text, those in braces and lists one by one, and the keys of its examples.
fn words_and_keys(text: &str) -> BTreeSet<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words =
        quoted(text).flat_map(|it| it.split(move |c| !is_word(c))).filter(|it| !it.is_empty());
    let keys = text.split('"').skip(1).step_by(2).filter(|it| it.chars().all(is_word));
    words.chain(keys).map(str::to_owned).collect()
}

/// Each word of an enumeration stands in the page.
#[test]
fn page_has_every_word_of_the_schema() {
    let schema = schema::document();
    let sections = [
        section("\n## Commands\n", "\n## Promises\n"),
        section("\n## Closing\n", "\n## Limits\n"),
        section("\n## Replays\n", "\n## A client in pseudo-code\n"),
    ];
    let words = words_and_keys(&sections.concat());
    for (name, definition) in schema["$defs"].as_object().expect("definitions") {
        for word in definition["enum"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            assert!(words.contains(word), "{name}: {word} is not in the page");
        }
    }
}

/// Words in the sections of documents and events that are values of open sets: names and formats of sources, kinds of
/// markets, parts of matches; and those of JSON and of channels.
const OTHER_WORDS: [&str; 13] = [
    "asian_handicap",
    "both_teams_to_score",
    "feeds",
    "match_winner",
    "matchwire",
    "over_under",
    "overtime",
    "simulator",
    "statsbomb",
    "statsperform",
    "steady",
    "true",
    "wyscout",
];

#[test]
fn page_uses_no_words_that_the_schema_does_not_have() {
    let schema = schema::document();
    let mut documented = BTreeSet::new();
    let mut open = vec![&schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                documented.extend(fields.keys().map(String::as_str));
                open.extend(fields.values());
            }
            Value::Array(items) => open.extend(items),
            Value::String(word) => {
                documented.insert(word);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let sections =
        [section("\n## Documents\n", "\n## Events\n"), section("\n## Events\n", "\n## Promises\n")];
    let is_word = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_lowercase() || c == '_')
    };
    let unknown: BTreeSet<&str> = sections
        .into_iter()
        // Examples are checked as a whole.
        .flat_map(|section| section.split("```").step_by(2))
        .flat_map(quoted)
        .filter(is_word)
        .filter(|word| !documented.contains(word))
        .collect();
    assert_eq!(unknown, BTreeSet::from(OTHER_WORDS));
}

#[test]
fn examples_conform_to_the_schema() {
    let contract = Contract::new();
    let page = PROTOCOL.split_once("\n## The older sockets\n").expect("the older sockets").0;
    let blocks = page.split("```json\n").skip(1).filter_map(|rest| rest.split_once("\n```"));
    let mut checked = 0;
    for (block, _) in blocks {
        for example in Deserializer::from_str(block).into_iter::<Value>() {
            let example = example.unwrap_or_else(|error| panic!("{error}: {block}"));
            let is_any = |names: &[&str]| {
                let tries = names.iter().map(|name| contract.check(name, &example));
                tries.reduce(Result::or).expect("a name")
            };
            let wrong = if example.get("type").is_some() {
                contract.check_frame(&example)
            } else if example.get("op").is_some() {
                is_any(&["Command"])
            } else if example.get("eid").is_some() {
                is_any(&["Event"])
            } else {
                is_any(&["Runner", "FootballRow"])
            };
            wrong.unwrap_or_else(|wrong| panic!("{wrong}"));
            checked += 1;
        }
    }
    assert!(checked > 40, "only {checked} examples");
}
