//! Constraints of parameters, which follow from their names and paths.

use fanout::channel::NAME_BYTES_MAX;
use ingest::event::Sport;
use serde_json::{Value, json};

use crate::{api::odds::market, products::Product, signals::SignalKind};

/// Numbers that are capped: larger values count as the maximum.
const CAPPED: [&str; 8] =
    ["limit", "offset", "page", "page_size", "days", "min_capacity", "min_matches", "size"];

/// Days and timestamps.
const TIMES: [&str; 4] = ["date", "date_from", "date_to", "updated_after"];

/// As `fanout` reads it.
const CHANNEL: &str = "^[A-Za-z0-9_.@+:-]+(/[A-Za-z0-9_.@+:-]+)*$";

/// Adds what the declaration of a parameter leaves out.
pub(super) fn complete(path: &str, parameter: &mut Value) {
    let name = parameter["name"].as_str().unwrap_or_default();
    let first = path.split('/').nth(1).unwrap_or_default();
    let schema = match name {
        _ if CAPPED.contains(&name) => json!({"type": "integer", "minimum": 0}),
        _ if TIMES.contains(&name) => {
            json!({"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]})
        }
        "movement" => one_of(["SHORTENING", "DRIFTING"]),
        "kind" => one_of(SignalKind::ALL.map(SignalKind::as_str)),
        "sport" => {
            let names = Sport::ALL.map(Sport::as_str).into_iter();
            one_of(names.filter(|name| first == "odds" || Product::named(name).is_some()))
        }
        "format" => one_of(["png", "webp"]),
        "gender" => one_of(["M", "F"]),
        "market" if first == "api" => one_of(market::names().split(", ")),
        "bookmaker" | "bookmaker_slug" => {
            json!({"type": "string", "pattern": "^[a-z0-9_.-]+(,[a-z0-9_.-]+)*$"})
        }
        "channel" => json!({"type": "string", "maxLength": NAME_BYTES_MAX, "pattern": CHANNEL}),
        _ => return,
    };
    parameter["schema"] = schema;
}

fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> Value {
    json!({"type": "string", "enum": words.into_iter().collect::<Vec<_>>()})
}
