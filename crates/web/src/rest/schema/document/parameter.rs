//! Parameters that follow from paths, and constraints that the kinds of `rest::kind` do not have.

use facts::event::Sport;
use fanout::channel::NAME_BYTES_MAX;
use serde_json::{Value, json};

use super::FOOTBALL_V1;
use crate::products::Product;

/// Numbers that are capped: larger values count as the maximum.
const CAPPED: [&str; 5] = ["limit", "offset", "page", "page_size", "size"];

/// As `fanout` reads it.
const CHANNEL: &str = "^[A-Za-z0-9_.@+:-]+(/[A-Za-z0-9_.@+:-]+)*$";

/// The parameters of a page.
const WINDOW: [(&str, &str); 2] =
    [("limit", "Page size (default 50, max 200)"), ("offset", "Number of rows to skip")];

/// Those of a numbered page.
const NUMBERED: [(&str, &str); 2] =
    [("page", "Page number, from 1"), ("page_size", "Page size (default 100, max 500)")];

/// What an id in a path identifies, by the segment before it.
const SUBJECTS: [(&str, &str); 10] = [
    ("events", "The match"),
    ("leagues", "The league"),
    ("managers", "The manager"),
    ("matches", "The match"),
    ("players", "The player"),
    ("referees", "The referee"),
    ("seasons", "The season"),
    ("teams", "The team"),
    ("venues", "The venue"),
    ("webhooks", "The webhook"),
];

/// Adds the parameters that handlers need not declare: ids in the path, and those of a page.
pub(super) fn add_implied(path: &str, tag: &str, operation: &mut Value) {
    let mut parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
    let is_declared =
        |parameters: &[Value], name: &str| parameters.iter().any(|it| it["name"] == name);
    let segments: Vec<&str> = path.split('/').collect();
    for pair in segments.windows(2) {
        let name = pair[1].strip_prefix('{').and_then(|it| it.strip_suffix('}'));
        let Some(name) = name.filter(|name| !is_declared(&parameters, name)) else { continue };
        let id = json!({"type": "integer", "format": "int64", "minimum": 0});
        let mut parameter = json!({"name": name, "in": "path", "required": true, "schema": id});
        if let Some((_, subject)) = SUBJECTS.into_iter().find(|(segment, _)| *segment == pair[0]) {
            parameter["description"] = subject.into();
        }
        parameters.push(parameter);
    }
    if is_page(operation) {
        // Lists of version 1 have numbered pages, except those that declare `limit`.
        let numbered = tag == FOOTBALL_V1 && !is_declared(&parameters, "limit");
        let paging = if numbered { NUMBERED } else { WINDOW };
        for (name, description) in paging {
            if !is_declared(&parameters, name) {
                let what = json!({"name": name, "in": "query", "required": false, "description": description});
                parameters.push(what);
            }
        }
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
}

/// Whether it answers a `Page`.
fn is_page(operation: &Value) -> bool {
    let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"];
    schema.as_str().is_some_and(|it| it.starts_with("#/components/schemas/Page_"))
}

/// Adds what the declaration of a parameter leaves out.
pub(super) fn complete(path: &str, parameter: &mut Value) {
    let name = parameter["name"].as_str().unwrap_or_default();
    let first = path.split('/').nth(1).unwrap_or_default();
    let schema = match name {
        _ if CAPPED.contains(&name) => json!({"type": "integer", "minimum": 0}),
        "timezone" => json!({"type": "string", "format": "time-zone"}),
        "sport" => {
            let has_all = ["odds", "stream"].contains(&first);
            let mut names = Sport::ALL.map(Sport::as_str).to_vec();
            names.retain(|name| has_all || Product::named(name).is_some());
            match (first, names.split_last()) {
                ("odds", _) => parameter["description"] = names.join(", ").into(),
                ("signals", Some((last, others))) => {
                    parameter["description"] = format!("{} or {last}", others.join(", ")).into();
                }
                _ => {}
            }
            one_of(names)
        }
        "format" => one_of(["png", "webp"]),
        "on_slow" => one_of(["merge", "resync", "close"]),
        "channel" => json!({"type": "string", "maxLength": NAME_BYTES_MAX, "pattern": CHANNEL}),
        _ => return,
    };
    parameter["schema"] = schema;
}

fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> Value {
    json!({"type": "string", "enum": words.into_iter().collect::<Vec<_>>()})
}
