//! The published files are those of the types, and complete.

use std::{fs, path::Path};

use facts::line::Line;
use schemars::schema_for;
use serde_json::Value;

/// Writes the file again if it is not up to date.
#[track_caller]
fn check(file: &str, schema: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    if fs::read_to_string(&path).unwrap_or_default() != schema {
        fs::write(&path, schema).unwrap();
        panic!("{file} was not up to date; it is now");
    }
}

#[test]
fn published_schema_is_that_of_the_types() {
    check("tools/schema/documents.schema.json", &schema::text());
}

#[test]
fn published_schema_of_lines_is_that_of_the_types() {
    let schema = serde_json::to_string_pretty(&schema_for!(Line<'_>)).unwrap();
    check("docs/events.schema.json", &(schema + "\n"));
}

#[test]
fn schema_is_valid_and_describes_each_definition_and_field() {
    let schema = schema::document();
    let valid = jsonschema::draft202012::meta::validate(&schema);
    assert!(valid.is_ok(), "{:?}", valid.err().map(|error| error.to_string()));
    let is_described =
        |value: &Value| value["description"].as_str().is_some_and(|it| it.ends_with('.'));
    for (name, definition) in schema["$defs"].as_object().expect("definitions") {
        assert!(is_described(definition), "{name}");
        for (field, its) in definition["properties"].as_object().into_iter().flatten() {
            assert!(is_described(its), "{name}.{field}");
        }
    }
}
