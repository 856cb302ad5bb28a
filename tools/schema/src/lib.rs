//! The typed contract of `/stream/v1`: a definition for each document, event, frame and command, with a description for
//! each field.
//!
//! Documents and events are the types that the hub fills (`hub::wire`), frames those that `fanout::protocol` sends. Commands, which
//! are read by hand for the sake of their errors, are declared here, and the two frames that carry documents.
//!
//! An `Option` is a field that may be absent. Null occurs in patches only, but for the few fields of [`fanout::protocol::values::Nullable`].

mod channels;
mod checker;
pub mod command;
pub mod document;
pub mod frame;
mod patch;

use fanout::protocol::values::NULLABLE;
use hub::wire::{board, feeds, football, odds, race, scoreboard, signals, tennis};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

use patch::Definitions;

pub use self::{
    channels::{ChannelKind, kinds},
    checker::Checker,
};

/// The JSON Schema of the stream protocol.
#[must_use]
pub fn document() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    add_types(&mut generator);
    let mut definitions = generator.take_definitions(true);
    definitions.values_mut().for_each(tidy);
    split_scoreboards(&mut definitions);
    channels::add(&mut definitions);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Matchwire stream protocol, version 1",
        "description": "Every document, event, frame and command of `/stream/v1`. A message of the socket is a `Frame` or a `Command`. Objects may have further fields, and there will be more types, kinds and words: ignore what you do not know.",
        "anyOf": [{"$ref": "#/$defs/Frame"}, {"$ref": "#/$defs/Command"}],
        "$defs": definitions,
    })
}

/// The text of `tools/schema/documents.schema.json`.
///
/// # Panics
///
/// Never: a schema is JSON.
#[must_use]
pub fn text() -> String {
    // This type writes the keywords of a definition in their usual order.
    let schema = Schema::try_from(document()).expect("the document is an object");
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

fn add_types(generator: &mut SchemaGenerator) {
    add::<document::OpeningDocument>(generator);
    add::<football::FootballMatch>(generator);
    add::<board::FootballBoard>(generator);
    add::<tennis::TennisMatch>(generator);
    add::<board::TennisBoard>(generator);
    add::<scoreboard::ScoreboardMatch>(generator);
    add::<board::ScoreboardBoard>(generator);
    add::<race::HorseRace>(generator);
    add::<board::HorseRacingBoard>(generator);
    add::<odds::Odds>(generator);
    add::<odds::ConsensusOdds>(generator);
    add::<feeds::Feeds>(generator);
    add::<signals::Signals>(generator);
    add::<document::Event>(generator);
    add::<document::Correct>(generator);
    add::<frame::Frame>(generator);
    add::<frame::AddonOffer>(generator);
    add::<command::Command>(generator);
}

fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
    drop(generator.subschema_for::<T>());
}

/// Removes what the derive macro adds but this contract does not say: the null of an `Option`, and the formats of Rust's
/// integers. Joins the lines of a description.
fn tidy(schema: &mut Value) {
    if let Some(rules) = schema.as_object_mut() {
        let is_integer =
            |format: &Value| format.as_str().is_some_and(|it| it.contains("int") || it == "double");
        if rules.get("format").is_some_and(is_integer) {
            rules.remove("format");
        }
        if let Some(Value::String(text)) = rules.get_mut("description") {
            *text = text.split('\n').map(str::trim).collect::<Vec<_>>().join(" ");
        }
        if rules.remove(NULLABLE).is_none() {
            remove_null(rules);
        }
    }
    match schema {
        Value::Object(rules) => {
            for (rule, value) in rules.iter_mut() {
                match rule.as_str() {
                    "properties" => {
                        value.as_object_mut().into_iter().flatten().for_each(|(_, it)| tidy(it))
                    }
                    "anyOf" => value.as_array_mut().into_iter().flatten().for_each(tidy),
                    "items" | "additionalProperties" => tidy(value),
                    _ => {}
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {}
    }
}

fn remove_null(rules: &mut Definitions) {
    let null = json!({"type": "null"});
    if let Some(Value::Array(branches)) = rules.get_mut("anyOf") {
        branches.retain(|it| *it != null);
        if let [only] = &branches[..] {
            let only = only.as_object().cloned().unwrap_or_default();
            rules.remove("anyOf");
            // The description of the field is more specific than that of its type.
            let specific = std::mem::take(rules);
            rules.extend(only);
            rules.extend(specific);
        }
    }
    if let Some(Value::Array(types)) = rules.get("type")
        && let [only, last] = &types[..]
        && last == "null"
    {
        let only = only.clone();
        rules.insert("type".to_owned(), only);
    }
}

/// Makes a definition of the match and the board of each sport that is followed by its scoreboard.
fn split_scoreboards(definitions: &mut Definitions) {
    for (sport, name) in channels::scoreboards() {
        let word = sport.as_str();
        for (kind, channel) in [("Match", format!("{word}/{{id}}")), ("Board", word.to_owned())] {
            let mut definition = definitions[&format!("Scoreboard{kind}")].clone();
            definition["description"] = format!(
                "{} The document of `{channel}`.",
                definition["description"].as_str().unwrap_or_default()
            )
            .into();
            if kind == "Match" {
                definition["properties"]["sport"] = json!({"type": "string", "const": word, "description": format!("Always `{word}`.")});
            }
            definitions.insert(format!("{name}{kind}"), definition);
        }
    }
    for kind in ["Match", "Board"] {
        let branches: Vec<_> = channels::scoreboards()
            .map(|(_, name)| json!({"$ref": format!("#/$defs/{name}{kind}")}))
            .collect();
        let general = definitions.get_mut(&format!("Scoreboard{kind}")).expect("it was added");
        *general = json!({"description": general["description"], "anyOf": branches});
    }
}
