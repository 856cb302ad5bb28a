//! Writes JSON as block YAML.
//!
//! `yaml_serde`, behind utoipa's feature `yaml`, and the other descendants of `serde_yaml` write strings
//! without quotes where YAML 1.2 allows it. Many readers still follow YAML 1.1: there the fields `yes` and `no`
//! of these documents are booleans, and the examples of times are dates.

use serde_json::Value;

/// Converts a document. Strings are in double quotes, which YAML reads as JSON does, so that none is read as
/// a number or a boolean.
pub(super) fn to_yaml(value: &Value) -> String {
    let mut out = String::new();
    write(value, 0, &mut out);
    out.push('\n');
    out
}

fn write(value: &Value, depth: usize, out: &mut String) {
    let line = |out: &mut String| {
        if !out.is_empty() {
            out.push('\n');
        }
        out.extend(std::iter::repeat_n("  ", depth));
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                line(out);
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write_behind(value, depth, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                line(out);
                out.push('-');
                write_behind(item, depth, out);
            }
        }
        plain => out.push_str(&plain.to_string()),
    }
}

/// Writes a value after a name or a dash: scalars on the same line, others on their own lines.
fn write_behind(value: &Value, depth: usize, out: &mut String) {
    let is_block = match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    if !is_block {
        out.push(' ');
    }
    write(value, depth + 1, out);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_keep_their_types_and_order() {
        let value = json!({"a": {"b": [1, "yes", {"c": null}], "d": []}, "200": "x: \"y\"\n"});
        let expected = concat!(
            "\"200\": \"x: \\\"y\\\"\\n\"\n",
            "\"a\":\n",
            "  \"b\":\n",
            "    - 1\n",
            "    - \"yes\"\n",
            "    -\n",
            "      \"c\": null\n",
            "  \"d\": []\n",
        );
        let mut lines: Vec<_> = expected.lines().collect();
        // The order of names is the JSON library's; one of its features may change it.
        if to_yaml(&value).starts_with("\"a\"") {
            lines.rotate_left(1);
        }
        assert_eq!(to_yaml(&value).lines().collect::<Vec<_>>(), lines);
    }
}
