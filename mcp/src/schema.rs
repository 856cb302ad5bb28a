//! Output schemas of tools, made of the OpenAPI document: so they come from the same types as REST.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::rest::has_two_names;

const COMPONENTS: &str = "#/components/schemas/";
const DEFINITIONS: &str = "#/$defs/";

/// The fields of a page that an answer leaves out: it has a cursor instead.
const PAGE_LINKS: [&str; 2] = ["next", "previous"];

/// The schema of a result whose `data` has this schema. `definitions` are those that it refers to.
pub(crate) fn result(data: &Value, definitions: Map<String, Value>) -> Map<String, Value> {
    let text = || json!({"type": "string"});
    let integer = || json!({"type": "integer"});
    let mut schema = json!({
        "type": "object",
        "properties": {
            "as_of": text(),
            "source_at": text(),
            "age_ms": integer(),
            "feed": {"enum": ["live", "late", "down", "recovering", "archived"]},
            "stale_after_ms": integer(),
            "position": {
                "type": "object",
                "properties": {"epoch": text(), "seq": integer()},
                "required": ["epoch", "seq"],
            },
            "url": text(),
            "cite": text(),
            "truncated": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"at": text(), "shown": integer(), "total": integer(), "cursor": text()},
                    "required": ["at", "shown", "total", "cursor"],
                },
            },
            "data": data,
        },
        "required": ["as_of", "feed", "url", "cite", "data"],
    });
    if !definitions.is_empty() {
        schema["$defs"] = definitions.into();
    }
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// The schema of what `GET` answers at a path of the OpenAPI document, and the definitions that it needs.
pub(crate) fn of_path(openapi: &Value, path: &str) -> Option<(Value, Map<String, Value>)> {
    let content = &openapi["paths"][path]["get"]["responses"]["200"]["content"];
    let schema = &content["application/json"]["schema"];
    if !schema.is_object() {
        return None;
    }
    Some(with_definitions(openapi, schema))
}

/// A schema of the OpenAPI document as JSON schema, with the definitions that it refers to.
fn with_definitions(openapi: &Value, schema: &Value) -> (Value, Map<String, Value>) {
    let components = &openapi["components"]["schemas"];
    let mut names = BTreeSet::new();
    let converted = convert(components, schema, &mut names);
    let mut definitions = Map::new();
    while let Some(name) = names.pop_first() {
        if !definitions.contains_key(&name) {
            let definition = convert(components, &components[&name], &mut names);
            definitions.insert(name, definition);
        }
    }
    (converted, definitions)
}

/// The schema without texts for people, with its references moved, and with optional fields where REST has
/// nulls, which answers leave out. Collects the names that it refers to.
fn convert(components: &Value, schema: &Value, names: &mut BTreeSet<String>) -> Value {
    match schema {
        Value::Object(fields) => {
            let mut converted = Map::new();
            for (name, value) in fields {
                match (name.as_str(), value) {
                    (
                        "description" | "example" | "examples" | "title" | "format",
                        Value::String(_),
                    )
                    | ("example" | "examples" | "default" | "propertyNames", _) => {}
                    ("$ref", Value::String(reference)) => {
                        let target = reference.strip_prefix(COMPONENTS).unwrap_or(reference);
                        names.insert(target.to_owned());
                        converted.insert(name.clone(), format!("{DEFINITIONS}{target}").into());
                    }
                    ("required", Value::Array(required)) => {
                        let properties = &fields["properties"];
                        let always = required.iter().filter(|name| {
                            let name = name.as_str().unwrap_or_default();
                            !PAGE_LINKS.contains(&name)
                                && !name.contains("price")
                                && !name.contains("odds")
                                && !may_be_null(components, &properties[name])
                        });
                        let always: Vec<Value> = always.cloned().collect();
                        if !always.is_empty() {
                            converted.insert(name.clone(), always.into());
                        }
                    }
                    ("properties", Value::Object(properties)) => {
                        let kept = properties.iter().filter(|(name, _)| {
                            let has_results = properties.contains_key("results");
                            match name.as_str() {
                                "results" => !has_two_names(properties),
                                name => !has_results || !PAGE_LINKS.contains(&name),
                            }
                        });
                        let kept: Map<String, Value> = kept
                            .map(|(name, value)| (name.clone(), convert(components, value, names)))
                            .collect();
                        converted.insert(name.clone(), kept.into());
                    }
                    _ => {
                        converted.insert(name.clone(), convert(components, value, names));
                    }
                }
            }
            without_null_alternative(converted)
        }
        Value::Array(items) => items.iter().map(|item| convert(components, item, names)).collect(),
        simple => simple.clone(),
    }
}

/// `{"oneOf": [X, {"type": "null"}]}` is X here, since nulls are left out.
fn without_null_alternative(mut schema: Map<String, Value>) -> Value {
    let null = json!({"type": "null"});
    if let Some(Value::Array(alternatives)) = schema.get_mut("oneOf")
        && alternatives.contains(&null)
    {
        alternatives.retain(|alternative| *alternative != null);
        if schema.len() == 1
            && let Some(Value::Array(alternatives)) = schema.get("oneOf")
            && let [one] = alternatives.as_slice()
        {
            return one.clone();
        }
    }
    schema.into()
}

fn may_be_null(components: &Value, schema: &Value) -> bool {
    let has_null = |kind: &Value| match kind {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "null"),
        kind => kind == "null",
    };
    let alternatives = ["oneOf", "anyOf"].into_iter().filter_map(|name| schema[name].as_array());
    let referred = schema["$ref"].as_str().and_then(|it| it.strip_prefix(COMPONENTS));
    // A schema without a type lets everything through.
    schema.as_object().is_none_or(Map::is_empty)
        || has_null(&schema["type"])
        || alternatives.flatten().any(|schema| may_be_null(components, schema))
        || referred.is_some_and(|name| may_be_null(components, &components[name]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_refers_to_its_own_definitions_and_nulls_are_optional() {
        let openapi = json!({
            "paths": {"/api/teams/": {"get": {"responses": {"200": {"content": {"application/json": {
                "schema": {"$ref": "#/components/schemas/Page"}}}}}}}},
            "components": {"schemas": {
                "Page": {
                    "type": "object", "description": "A page",
                    "properties": {
                        "count": {"type": "integer"},
                        "next": {"type": ["string", "null"]},
                        "results": {"type": "array", "items": {"$ref": "#/components/schemas/Team"}},
                    },
                    "required": ["count", "next", "results"],
                },
                "Team": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "integer", "format": "int64"},
                        "venue": {"oneOf": [{"$ref": "#/components/schemas/Venue"}, {"type": "null"}]},
                    },
                    "required": ["id", "venue"],
                },
                "Venue": {"type": "object"},
                "Unused": {"type": "object"},
            }},
        });
        let (schema, definitions) = of_path(&openapi, "/api/teams/").unwrap();
        assert_eq!(schema, json!({"$ref": "#/$defs/Page"}));
        assert_eq!(definitions.keys().collect::<Vec<_>>(), ["Page", "Team", "Venue"]);
        assert_eq!(definitions["Page"]["required"], json!(["count", "results"]));
        assert_eq!(
            definitions["Team"],
            json!({
                "type": "object",
                "properties": {"id": {"type": "integer"}, "venue": {"$ref": "#/$defs/Venue"}},
                "required": ["id"],
            })
        );
        assert_eq!(of_path(&openapi, "/api/none/"), None);
    }
}
