//! Compares JSON with `shapes.json`, which has the keys of SERVICE sections 1.6 and 9 with the type of each.
//!
//! A type is `i`, `f`, `s`, `b` or `any`; `[T]` is a list, `{T}` a map, `@name` another shape. `T?` may be null in real
//! captures too; `T??` only here, where no feed may report it. `key*` may be absent, and `+key` is an addition of
//! this interface. `...` takes the keys of another shape.

use serde_json::{Map, Value};

/// How a value differs from a shape, with the place of each difference.
pub(crate) fn differences(shape: &str, value: &Value) -> Vec<String> {
    let shapes = serde_json::from_str(include_str!("shapes.json")).expect("the shapes are JSON");
    let mut comparison = Comparison { shapes, differences: Vec::new() };
    comparison.check(&format!("@{shape}"), value, shape);
    comparison.differences
}

struct Comparison {
    shapes: Value,
    differences: Vec<String>,
}

impl Comparison {
    fn check(&mut self, kind: &str, value: &Value, path: &str) {
        let base = kind.trim_end_matches('?');
        if value.is_null() && base.len() < kind.len() {
            return;
        }
        let inner = |open: char, close: char| base.strip_prefix(open)?.strip_suffix(close);
        let holds = match base {
            "any" => true,
            "i" => value.is_i64() || value.is_u64(),
            "f" => value.is_number(),
            "s" => value.is_string(),
            "b" => value.is_boolean(),
            _ => match (inner('[', ']'), inner('{', '}'), value) {
                (Some(item), _, Value::Array(items)) => {
                    items.iter().for_each(|it| self.check(item, it, &format!("{path}[]")));
                    true
                }
                (_, Some(item), Value::Object(fields)) => {
                    fields
                        .iter()
                        .for_each(|(key, it)| self.check(item, it, &format!("{path}.{key}")));
                    true
                }
                (None, None, Value::Object(fields)) => {
                    let keys = self.keys(base);
                    self.check_object(&keys, fields, path);
                    true
                }
                _ => false,
            },
        };
        if !holds {
            self.differences.push(format!("{path} is {value}, and should be {kind}"));
        }
    }

    /// The keys of a shape with their types.
    fn keys(&self, name: &str) -> Vec<(String, String)> {
        let name = name.trim_start_matches('@');
        let shape = self.shapes[name].as_object().unwrap_or_else(|| panic!("no shape {name}"));
        let mut keys = Vec::new();
        for (key, kind) in shape {
            let kind = kind.as_str().expect("a type");
            match key.as_str() {
                "..." => keys.extend(self.keys(kind)),
                _ => keys.push((key.trim_start_matches('+').to_owned(), kind.to_owned())),
            }
        }
        keys
    }

    fn check_object(&mut self, keys: &[(String, String)], fields: &Map<String, Value>, path: &str) {
        for (key, kind) in keys {
            let name = key.trim_end_matches('*');
            match fields.get(name) {
                Some(value) => self.check(kind, value, &format!("{path}.{name}")),
                None if name.len() < key.len() => {}
                None => self.differences.push(format!("{path}.{name} is missing")),
            }
        }
        let is_known =
            |name: &String| keys.iter().any(|(key, _)| key.trim_end_matches('*') == name);
        let others = fields.keys().filter(|name| !is_known(name));
        self.differences.extend(others.map(|name| format!("{path}.{name} is in no capture")));
    }
}
