//! Merge patches, as a client applies them.

use serde_json::{Value, json};

/// RFC 7396. A frame without a patch changes nothing.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else { return };
    if !target.is_object() {
        *target = json!({});
    }
    let target = target.as_object_mut().expect("made an object above");
    for (name, value) in fields {
        match value {
            Value::Null => drop(target.remove(name)),
            Value::Object(_) => merge(target.entry(name.clone()).or_insert(json!({})), value),
            _ => drop(target.insert(name.clone(), value.clone())),
        }
    }
}
