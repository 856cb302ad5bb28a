//! `docs/PROTOCOL.md` says what the schema says: it names the same fields, its examples conform, and it uses no words that the
//! schema does not have. `docs/generate.py` makes its tables from the schema.

use std::collections::BTreeSet;

use schema::Checker;
use serde_json::{Deserializer, Value};

const PROTOCOL: &str = include_str!("../../../../docs/PROTOCOL.md");

/// The part of the page between two headings.
fn section(start: &str, end: &str) -> &'static str {
    let (_, rest) = PROTOCOL.split_once(start).unwrap_or_else(|| panic!("no {start}"));
    rest.split_once(end).unwrap_or_else(|| panic!("no {end}")).0
}

/// The texts in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
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

/// Words in the sections of documents and events that are values of open sets: names of sources, kinds of markets, parts of
/// matches; and those of channels.
const OTHER_WORDS: [&str; 8] = [
    "asian_handicap",
    "both_teams_to_score",
    "feeds",
    "match_winner",
    "over_under",
    "overtime",
    "simulator",
    "steady",
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
    let checker = Checker::new();
    let page = PROTOCOL.split_once("\n## The older sockets\n").expect("the older sockets").0;
    let blocks = page.split("```json\n").skip(1).filter_map(|rest| rest.split_once("\n```"));
    let mut checked = 0;
    for (block, _) in blocks {
        for example in Deserializer::from_str(block).into_iter::<Value>() {
            let example = example.unwrap_or_else(|error| panic!("{error}: {block}"));
            let is_any = |names: &[&str]| {
                let tries = names.iter().map(|name| checker.check(name, &example));
                tries.reduce(Result::or).expect("a name")
            };
            let wrong = if example.get("type").is_some() {
                checker.check_frame(&example)
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
