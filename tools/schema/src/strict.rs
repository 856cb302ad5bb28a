//! The contract for tests: nothing may be there that it does not name.

use serde_json::Value;

/// The schema, without room for further fields and channels.
#[must_use]
pub(crate) fn strict() -> Value {
    let mut schema = crate::document();
    let definitions = schema["$defs"].as_object_mut().into_iter().flatten();
    definitions.for_each(|(_, definition)| close(definition));
    schema
}

fn close(schema: &mut Value) {
    let Some(rules) = schema.as_object_mut() else { return };
    let names_fields = rules.contains_key("properties") || rules.contains_key("patternProperties");
    if names_fields && !rules.contains_key("additionalProperties") {
        rules.insert("additionalProperties".to_owned(), false.into());
    }
    for (rule, value) in rules.iter_mut() {
        match rule.as_str() {
            "properties" | "patternProperties" => {
                value.as_object_mut().into_iter().flatten().for_each(|(_, it)| close(it));
            }
            "anyOf" => value.as_array_mut().into_iter().flatten().for_each(close),
            "items" | "additionalProperties" => close(value),
            _ => {}
        }
    }
}
