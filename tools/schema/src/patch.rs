//! The schemas of patches, made from those of documents.
//!
//! A patch is a JSON merge patch: it has the changed fields only, and null deletes a field that the document may lack. A
//! list is replaced as a whole.

use serde_json::{Map, Value, json};

/// Definitions by name.
pub(crate) type Definitions = Map<String, Value>;

/// Adds the patch of each of these definitions, and of those that they refer to, under its name and `Patch`.
pub(crate) fn add(definitions: &mut Definitions, names: &[String]) {
    let mut open = names.to_vec();
    while let Some(name) = open.pop() {
        let patch_name = name_of(&name);
        if definitions.contains_key(&patch_name) {
            continue;
        }
        let mut patches = Patches { definitions, found: Vec::new() };
        let mut patch = patches.schema_of(&patches.definitions[&name]);
        open.append(&mut patches.found);
        patch["description"] = format!(
            "A change of `{name}`: the changed fields, with null for a field that is deleted."
        )
        .into();
        definitions.insert(patch_name, patch);
    }
}

/// The name of the patch of a definition.
pub(crate) fn name_of(name: &str) -> String {
    format!("{name}Patch")
}

struct Patches<'a> {
    definitions: &'a Definitions,
    /// The definitions whose patches are referred to.
    found: Vec<String>,
}

impl Patches<'_> {
    /// The schema of changes of a value.
    fn schema_of(&mut self, schema: &Value) -> Value {
        let mut patch = schema.clone();
        if let Some(name) = reference(schema) {
            if self.has_fields(name) {
                self.found.push(name.to_owned());
                patch["$ref"] = format!("#/$defs/{}", name_of(name)).into();
            }
            return patch;
        }
        let Some(rules) = patch.as_object_mut() else { return patch };
        let required = rules.remove("required");
        let is_required = |name: &str| {
            required.iter().flat_map(|it| it.as_array().into_iter().flatten()).any(|it| it == name)
        };
        for rule in ["maxProperties", "minProperties"] {
            rules.remove(rule);
        }
        for (name, field) in
            rules.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten()
        {
            let changed = self.schema_of(field);
            *field = if is_required(name) { changed } else { nullable(changed) };
        }
        if let Some(each) = rules.get_mut("additionalProperties").filter(|it| it.is_object()) {
            *each = nullable(self.schema_of(each));
        }
        for branch in rules.get_mut("anyOf").and_then(Value::as_array_mut).into_iter().flatten() {
            *branch = self.schema_of(branch);
        }
        patch
    }

    /// Whether a change of a value of this definition changes its fields.
    fn has_fields(&self, name: &str) -> bool {
        let schema = &self.definitions[name];
        let is_changed = |branch: &Value| {
            branch["type"] == "object"
                || reference(branch).is_some_and(|name| self.has_fields(name))
        };
        is_changed(schema) || schema["anyOf"].as_array().into_iter().flatten().any(is_changed)
    }
}

/// The name of the definition that a schema refers to.
pub(crate) fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// The schema of this value, or null.
fn nullable(mut schema: Value) -> Value {
    let is_plain =
        schema["const"].is_null() && schema["enum"].is_null() && schema["anyOf"].is_null();
    if let Some(kind) = schema["type"].as_str().filter(|_| is_plain) {
        schema["type"] = json!([kind, "null"]);
        return schema;
    }
    let description = schema.as_object_mut().and_then(|it| it.remove("description"));
    let mut out = json!({"anyOf": [schema, {"type": "null"}]});
    if let Some(description) = description {
        out["description"] = description;
    }
    out
}
