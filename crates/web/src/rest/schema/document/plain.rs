//! Schemas in the idioms that generators of clients share: no composed objects, no references to numbers and texts, a
//! discriminator where a member tells objects apart, and references from pages to their rows.

use std::{collections::BTreeSet, mem};

use serde_json::{Map, Value, json};

const COMPONENTS: &str = "#/components/schemas/";

/// Rewrites all schemas of the document. What nothing refers to any more is left out.
pub(super) fn complete(document: &mut Value) {
    add_discriminators(&mut document["components"]["schemas"]);
    let declared = document["components"]["schemas"].clone();
    simplify(document, &declared);
    refer_to_rows(&mut document["components"]["schemas"]);
    remove_unused(document);
}

/// One object of a union, told apart by the word in a member.
#[derive(Debug)]
struct Variant {
    component: String,
    member: String,
    word: String,
}

/// Unions of components that a member tells apart: each component gets the member, as a constant.
fn add_discriminators(schemas: &mut Value) {
    let declared = schemas.as_object().into_iter().flatten();
    let unions: Vec<_> =
        declared.filter_map(|(name, union)| Some((name.clone(), variants(union)?))).collect();
    for (union, variants) in unions {
        let (mut mapping, mut alternatives) = (Map::new(), Vec::new());
        for Variant { component, member, word } in &variants {
            let content = schemas[component].take();
            let mut tag = json!({"required": [member]});
            tag["properties"][member] = json!({"type": "string", "const": word});
            let description = content["description"].clone();
            schemas[component] = json!({"description": description, "allOf": [content, tag]});
            mapping.insert(word.clone(), format!("{COMPONENTS}{component}").into());
            alternatives.push(reference(component));
            schemas[&union]["discriminator"]["propertyName"] = member.as_str().into();
        }
        schemas[&union]["discriminator"]["mapping"] = mapping.into();
        schemas[&union]["oneOf"] = alternatives.into();
    }
}

/// The objects of such a union; `None` for other schemas.
fn variants(union: &Value) -> Option<Vec<Variant>> {
    let variant = |schema: &Value| {
        let [content, tag] = schema["allOf"].as_array()?.as_slice() else { return None };
        let component = content["$ref"].as_str()?.strip_prefix(COMPONENTS)?.to_owned();
        let (member, words) = tag["properties"].as_object()?.iter().next()?;
        let [word] = words["enum"].as_array()?.as_slice() else { return None };
        Some(Variant { component, member: member.clone(), word: word.as_str()?.to_owned() })
    };
    union["oneOf"].as_array()?.iter().map(variant).collect()
}

/// Replaces composed objects by one object, references to numbers and texts by what they refer to, and objects
/// without a declared member by such with any.
fn simplify(value: &mut Value, declared: &Value) {
    if value["allOf"].is_array() {
        *value = merged(value, declared);
    }
    if let Some(simple) = simple(value, declared) {
        *value = simple;
    }
    match value {
        Value::Object(fields) => {
            let is_open =
                ["properties", "additionalProperties"].iter().all(|it| !fields.contains_key(*it));
            if is_open && fields.get("type").is_some_and(|kind| kind == "object") {
                fields.insert("additionalProperties".to_owned(), true.into());
            }
            fields.values_mut().for_each(|it| simplify(it, declared));
        }
        Value::Array(items) => items.iter_mut().for_each(|it| simplify(it, declared)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The object that a composition describes, as a struct with flattened fields does.
fn merged(schema: &Value, declared: &Value) -> Value {
    let mut object = Map::new();
    object.insert("type".to_owned(), "object".into());
    if schema["description"].is_string() {
        object.insert("description".to_owned(), schema["description"].clone());
    }
    merge(schema, declared, true, &mut object);
    object.into()
}

/// Adds the members of a part to an object. Of a part that may be null none is required.
fn merge(part: &Value, declared: &Value, is_required: bool, object: &mut Map<String, Value>) {
    if let Some(target) = target(part, declared) {
        merge(target, declared, is_required, object);
        return;
    }
    for (name, value) in part.as_object().into_iter().flatten() {
        match (name.as_str(), value) {
            ("allOf" | "oneOf", Value::Array(parts)) => {
                let is_required = is_required && name == "allOf";
                parts.iter().for_each(|part| merge(part, declared, is_required, object));
            }
            ("properties", Value::Object(members)) => {
                let properties = object.entry("properties").or_insert_with(|| json!({}));
                properties.as_object_mut().into_iter().for_each(|all| all.extend(members.clone()));
            }
            ("required", Value::Array(names)) if is_required => {
                let list = object.entry("required").or_insert_with(|| json!([]));
                list.as_array_mut().into_iter().for_each(|all| all.extend(names.iter().cloned()));
            }
            ("type" | "description" | "required", _) => {}
            _ => {
                object.insert(name.clone(), value.clone());
            }
        }
    }
}

/// What stands for a reference to a number, a flag or a text that may be null; `None` for other schemas.
fn simple(schema: &Value, declared: &Value) -> Option<Value> {
    let (reference, may_be_null) = match schema["oneOf"].as_array().map(Vec::as_slice) {
        Some([reference, null]) if null["type"] == "null" => (reference, true),
        _ => (schema, false),
    };
    let mut simple = target(reference, declared)?.as_object()?.clone();
    let kind = simple.get("type")?.clone();
    if kind == "object" || kind == "array" || simple.contains_key("enum") {
        return None;
    }
    if may_be_null {
        simple.insert("type".to_owned(), json!([kind, "null"]));
    }
    // That of the type is about the code.
    simple.remove("description");
    let mut descriptions = [schema, reference].into_iter().map(|it| &it["description"]);
    if let Some(description) = descriptions.find(|it| it.is_string()) {
        simple.insert("description".to_owned(), description.clone());
    }
    Some(simple.into())
}

/// `Page_Team` contains a copy of `Team`, which generators would make a type of its own.
fn refer_to_rows(schemas: &mut Value) {
    let names: Vec<String> =
        schemas.as_object().into_iter().flatten().map(|it| it.0.clone()).collect();
    for page in names {
        let Some((_, row)) = page.split_once('_') else { continue };
        let items = schemas[&page].pointer_mut("/properties/results/items");
        let Some(items) = items.filter(|items| items["properties"].is_object()) else { continue };
        let copy = mem::replace(items, reference(row));
        if schemas.get(row).is_none() {
            schemas[row] = copy;
        }
    }
}

fn remove_unused(document: &mut Value) {
    loop {
        let mut used = BTreeSet::new();
        collect_references(document, &mut used);
        let Some(schemas) = document["components"]["schemas"].as_object_mut() else { return };
        let before = schemas.len();
        schemas.retain(|name, _| used.contains(name));
        if schemas.len() == before {
            return;
        }
    }
}

fn collect_references(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            let name = value["$ref"].as_str().and_then(|it| it.strip_prefix(COMPONENTS));
            names.extend(name.map(ToOwned::to_owned));
            fields.values().for_each(|it| collect_references(it, names));
        }
        Value::Array(items) => items.iter().for_each(|it| collect_references(it, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn reference(component: &str) -> Value {
    json!({"$ref": format!("{COMPONENTS}{component}")})
}

/// The component to which a schema refers.
fn target<'a>(schema: &Value, declared: &'a Value) -> Option<&'a Value> {
    declared.get(schema["$ref"].as_str()?.strip_prefix(COMPONENTS)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compositions_become_plain_objects() {
        let schemas = json!({
            "Key": {"type": "integer", "description": "of the code"},
            "Kind": {"type": "string", "enum": ["a", "b"]},
            "Goal": {"type": "object", "description": "A goal", "properties": {"minute": {"type": "integer"}}, "required": ["minute"]},
            "Card": {"type": "object", "properties": {"colour": {"type": "string"}}},
            "Incident": {"oneOf": [
                {"allOf": [{"$ref": "#/components/schemas/Goal"}, {"type": "object", "properties": {"type": {"type": "string", "enum": ["goal"]}}, "required": ["type"]}]},
                {"allOf": [{"$ref": "#/components/schemas/Card"}, {"type": "object", "properties": {"type": {"type": "string", "enum": ["card"]}}, "required": ["type"]}]},
            ]},
            "Standing": {"type": "object", "properties": {"set": {"type": "integer"}}, "required": ["set"]},
            "Match": {"description": "A match", "allOf": [
                {"oneOf": [{"$ref": "#/components/schemas/Standing"}, {"type": "null"}]},
                {"type": "object", "properties": {
                    "id": {"$ref": "#/components/schemas/Key"},
                    "winner_id": {"description": "Its winner", "oneOf": [{"$ref": "#/components/schemas/Key"}, {"type": "null"}]},
                    "kind": {"oneOf": [{"$ref": "#/components/schemas/Kind"}, {"type": "null"}]},
                    "incidents": {"type": "array", "items": {"$ref": "#/components/schemas/Incident"}},
                    "more": {"type": "object"},
                }, "required": ["id"]},
            ]},
            "Page_Match": {"type": "object", "properties": {"results": {"type": "array", "items": {"allOf": [{"$ref": "#/components/schemas/Match"}]}}}},
        });
        let mut document = json!({
            "paths": {"/matches/": {"$ref": "#/components/schemas/Page_Match"}},
            "components": {"schemas": schemas},
        });
        complete(&mut document);
        let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
        let tag = |word: &str| json!({"type": "string", "const": word});
        let expected = json!({
            "Kind": {"type": "string", "enum": ["a", "b"]},
            "Goal": {"type": "object", "description": "A goal", "properties": {"minute": {"type": "integer"}, "type": tag("goal")}, "required": ["minute", "type"]},
            "Card": {"type": "object", "properties": {"colour": {"type": "string"}, "type": tag("card")}, "required": ["type"]},
            "Incident": {
                "oneOf": [reference("Goal"), reference("Card")],
                "discriminator": {
                    "propertyName": "type",
                    "mapping": {"goal": "#/components/schemas/Goal", "card": "#/components/schemas/Card"},
                },
            },
            "Match": {
                "type": "object",
                "description": "A match",
                "properties": {
                    "set": {"type": "integer"},
                    "id": {"type": "integer"},
                    "winner_id": {"type": ["integer", "null"], "description": "Its winner"},
                    "kind": {"oneOf": [reference("Kind"), {"type": "null"}]},
                    "incidents": {"type": "array", "items": reference("Incident")},
                    "more": {"type": "object", "additionalProperties": true},
                },
                "required": ["id"],
            },
            "Page_Match": {"type": "object", "properties": {"results": {"type": "array", "items": reference("Match")}}},
        });
        assert_eq!(document["components"]["schemas"], expected);
    }
}
