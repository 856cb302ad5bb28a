//! The published file is that of the types, and complete.

use serde_json::Value;

#[test]
fn published_schema_is_that_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/documents.schema.json");
    let schema = schema::text();
    if std::fs::read_to_string(path).unwrap_or_default() != schema {
        std::fs::write(path, schema).unwrap();
        panic!("schema/documents.schema.json was not up to date; it is now");
    }
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
