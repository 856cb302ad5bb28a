//! JSON merge patches.

use serde_json::{Map, Value};

/// Applies a JSON merge patch (RFC 7396, section 2).
pub fn merge_patch(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(fields) = target else { return };
    for (name, value) in patch {
        if value.is_null() {
            fields.remove(&name);
        } else {
            merge_patch(fields.entry(name).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(mut target: Value, patch: Value, expected: &Value) {
        merge_patch(&mut target, patch);
        assert_eq!(&target, expected);
    }

    #[test]
    fn cases_of_the_appendix_of_the_rfc_hold() {
        check(json!({"a": "b"}), json!({"a": "c"}), &json!({"a": "c"}));
        check(json!({"a": "b", "b": "c"}), json!({"a": null}), &json!({"b": "c"}));
        check(
            json!({"a": {"b": "c"}}),
            json!({"a": {"b": "d", "c": null}}),
            &json!({"a": {"b": "d"}}),
        );
        check(json!({"a": [{"b": "c"}]}), json!({"a": [1]}), &json!({"a": [1]}));
        check(json!(["a"]), json!({"a": "c"}), &json!({"a": "c"}));
        check(json!({"e": null}), json!({"a": 1}), &json!({"e": null, "a": 1}));
        check(json!({}), json!({"a": {"bb": {"ccc": null}}}), &json!({"a": {"bb": {}}}));
    }
}
