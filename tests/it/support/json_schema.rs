//! Values compared with the schemas in the hub's documents.

use serde_json::{Value, json};

/// The mismatches between a value and a schema, within the document that its references point into.
pub(crate) fn problems(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let whole = json!({"allOf": [schema], "components": document["components"]});
    let validator = jsonschema::draft202012::new(&whole).expect("it is a schema");
    let errors = validator.iter_errors(value);
    errors.map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// The same, plus each field that the schema does not name, if it names any and does not allow
/// others. It knows a part of JSON Schema and rejects everything else, so that nothing goes unchecked.
pub(crate) fn problems_and_unnamed(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    Reading { document }.check(schema, value, "", &mut found);
    found
}

#[derive(Clone, Copy)]
struct Reading<'a> {
    document: &'a Value,
}

/// Keywords that describe, and restrict nothing.
const NOTES: [&str; 6] = ["description", "examples", "title", "format", "default", "example"];

impl Reading<'_> {
    fn check(self, schema: &Value, value: &Value, way: &str, found: &mut Vec<String>) {
        let Some(rules) = schema.as_object() else { return };
        for (rule, spec) in rules.iter().filter(|(rule, _)| !NOTES.contains(&rule.as_str())) {
            let mut wrong = |what: String| found.push(format!("{way}: {what}: {value}"));
            let list = || spec.as_array().into_iter().flatten();
            match rule.as_str() {
                "$ref" => {
                    let target =
                        spec.as_str().and_then(|it| self.document.pointer(it.strip_prefix('#')?));
                    let target = target.unwrap_or_else(|| panic!("{spec} leads nowhere"));
                    self.check(target, value, way, found);
                }
                "type" => {
                    let is_one = spec.as_str().map_or_else(
                        || list().any(|it| is_of(it.as_str().expect("a type"), value)),
                        |name| is_of(name, value),
                    );
                    if !is_one {
                        wrong(format!("not {spec}"));
                    }
                }
                "const" if value != spec => wrong(format!("not {spec}")),
                "enum" if !list().any(|it| it == value) => wrong(format!("none of {spec}")),
                "const" | "enum" => {}
                "minimum" if value.as_f64() < spec.as_f64() => wrong(format!("less than {spec}")),
                "maximum" if value.is_number() && value.as_f64() > spec.as_f64() => {
                    wrong(format!("more than {spec}"));
                }
                "minimum" | "maximum" => {}
                "required" => {
                    for name in list().filter_map(Value::as_str) {
                        if value.is_object() && value.get(name).is_none() {
                            found.push(format!("{way}: no {name}: {value}"));
                        }
                    }
                }
                "properties" => {
                    for (name, schema) in spec.as_object().expect("properties") {
                        if let Some(field) = value.get(name) {
                            self.check(schema, field, &format!("{way}/{name}"), found);
                        }
                    }
                    if !rules.contains_key("additionalProperties") {
                        let fields = value.as_object().into_iter().flatten();
                        let unnamed = fields.filter(|(name, _)| spec.get(name.as_str()).is_none());
                        found
                            .extend(unnamed.map(|(name, _)| format!("{way}: {name} is not named")));
                    }
                }
                "additionalProperties" => {
                    let properties = rules.get("properties");
                    for (name, field) in value.as_object().into_iter().flatten() {
                        if properties.is_none_or(|properties| properties.get(name).is_none()) {
                            self.check(spec, field, &format!("{way}/{name}"), found);
                        }
                    }
                }
                "items" => {
                    for (at, field) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(spec, field, &format!("{way}/{at}"), found);
                    }
                }
                "anyOf" => {
                    let tries = list().map(|schema| {
                        let mut found = Vec::new();
                        self.check(schema, value, "", &mut found);
                        found
                    });
                    let tries: Vec<_> = tries.collect();
                    if !tries.iter().any(Vec::is_empty) {
                        found.push(format!("{way}: nothing fits: {tries:?}"));
                    }
                }
                rule => panic!("the rule {rule} is not known here"),
            }
        }
    }
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        name => panic!("no such type: {name}"),
    }
}
