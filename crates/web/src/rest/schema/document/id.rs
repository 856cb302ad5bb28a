//! Constraints of ids in paths and responses: they fit a signed 32-bit integer.

use serde_json::{Value, json};

use crate::ids::NUMBERS_MAX;

/// Adds the constraint to every id in the document: to properties by name, and to parameters in paths.
/// Filters accept larger numbers, too, and match nothing.
pub(super) fn complete(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.get("in").is_some_and(|location| location == "path")
                && fields.get("name").and_then(Value::as_str).is_some_and(is_id)
                && let Some(schema) = fields.get_mut("schema").filter(|it| is_integer(it))
            {
                // A larger number is not an error: no id has it.
                schema["format"] = "int32".into();
            }
            if let Some(Value::Object(properties)) = fields.get_mut("properties") {
                let ids = properties.iter_mut().filter(|(name, _)| is_id(name));
                for (_, schema) in ids.filter(|(_, schema)| is_integer(schema)) {
                    schema["format"] = "int32".into();
                    schema["minimum"] = json!(1);
                    schema["maximum"] = json!(NUMBERS_MAX);
                }
            }
            fields.values_mut().for_each(complete);
        }
        Value::Array(items) => items.iter_mut().for_each(complete),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_id(name: &str) -> bool {
    name == "id" || name.ends_with("_id")
}

fn is_integer(schema: &Value) -> bool {
    let kind = &schema["type"];
    let kinds = kind.as_array().map_or_else(|| std::slice::from_ref(kind), Vec::as_slice);
    kinds.iter().any(|kind| kind == "integer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_are_limited_to_31_bits() {
        let mut document = json!({
            "parameters": [
                {"in": "path", "name": "id", "schema": {"type": "integer", "format": "int64"}},
                {"in": "query", "name": "team_id", "schema": {"type": "integer", "format": "int64"}},
            ],
            "properties": {
                "player_id": {"type": ["integer", "null"], "format": "int64", "minimum": 0},
                "id": {"type": "string"},
                "count": {"type": "integer", "format": "int64"},
            },
        });
        complete(&mut document);
        assert_eq!(document["parameters"][0]["schema"]["format"], "int32");
        assert_eq!(document["parameters"][1]["schema"]["format"], "int64");
        let expected = json!({
            "player_id": {"type": ["integer", "null"], "format": "int32", "minimum": 1, "maximum": i32::MAX},
            "id": {"type": "string"},
            "count": {"type": "integer", "format": "int64"},
        });
        assert_eq!(document["properties"], expected);
    }
}
