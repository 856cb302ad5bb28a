//! What a client asks for, and the hub's answers.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::script::Wanted;

/// What a client has still to ask for.
#[derive(Debug)]
pub struct Subscriptions<'a> {
    hello: &'a Value,
    left: BTreeMap<String, Wanted>,
}

impl<'a> Subscriptions<'a> {
    /// On a connection with this `hello`.
    #[must_use]
    pub fn new(hello: &'a Value, wanted: &BTreeMap<String, Wanted>) -> Self {
        Self { hello, left: wanted.clone() }
    }

    /// Whether the client has requested everything.
    #[must_use]
    pub fn are_complete(&self) -> bool {
        self.left.is_empty()
    }

    /// The names that are still missing.
    #[must_use]
    pub fn missing(&self) -> String {
        self.left.keys().take(5).map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    /// Handles a `subscribe`. Returns the hub's answer.
    ///
    /// # Errors
    ///
    /// If the client asks for something else, or breaks a limit.
    pub fn answer(&mut self, command: &Value, size: usize) -> Result<Value, String> {
        check_size(self.hello, command, size)?;
        let has_batch =
            self.hello["features"].as_array().is_some_and(|it| it.contains(&"batch".into()));
        let entries = match command.get("chs") {
            None => vec![command.clone()],
            Some(_) if !has_batch => {
                return Err("it sends `chs` to a hub without the feature `batch`".to_owned());
            }
            Some(entries) => entries.as_array().cloned().unwrap_or_default(),
        };
        let mut answers = Map::new();
        for entry in entries {
            let (name, from) = match &entry {
                Value::String(name) => (name.as_str(), Value::Null),
                entry => (entry["ch"].as_str().unwrap_or_default(), entry["from"].clone()),
            };
            let Some(Wanted { from: expected, answer }) = self.left.remove(name) else {
                return Err(format!("it asks for {name:?}, which is not expected here"));
            };
            // An empty list of positions is none.
            let from = if from == json!({}) { Value::Null } else { from };
            if from != expected {
                return Err(format!("it asks for {name} from {from}, not from {expected}"));
            }
            answers.insert(name.to_owned(), answer);
        }
        Ok(answer(command, answers))
    }
}

/// The answer to a command that subscribes to nothing: `ping`, `set`, `unsubscribe`, and what this hub does not offer.
#[must_use]
pub fn other(command: &Value, now: &Value) -> Value {
    let id = &command["id"];
    match command["op"].as_str() {
        Some("ping") => {
            let mut pong = json!({"type": "pong", "id": id, "now": now});
            if let Some(t) = command.get("t") {
                pong["t"] = t.clone();
            }
            pong
        }
        Some("unsubscribe") => match command.get("chs") {
            Some(names) => json!({"type": "unsubscribed", "id": id, "chs": names}),
            None => json!({"type": "unsubscribed", "id": id, "ch": command["ch"]}),
        },
        _ => {
            let message = "this hub does not offer it";
            json!({"type": "error", "id": id, "code": "bad_command", "message": message, "retry": false})
        }
    }
}

fn check_size(hello: &Value, command: &Value, size: usize) -> Result<(), String> {
    let is_pattern = command["ch"].as_str().is_some_and(|ch| ch.contains('*'));
    let has_positions = command.get("chs").is_some() || is_pattern && command.get("from").is_some();
    let limit = if has_positions { "from_bytes" } else { "command_bytes" };
    match hello["limits"][limit].as_u64() {
        Some(most) if size as u64 > most => {
            Err(format!("a command has {size} bytes, and limits.{limit} is {most}"))
        }
        _ => Ok(()),
    }
}

fn answer(command: &Value, answers: Map<String, Value>) -> Value {
    let every_ms = command.get("every_ms").cloned().unwrap_or_else(|| 0.into());
    let mut frame = json!({"type": "subscribed", "id": command["id"], "every_ms": every_ms, "on_slow": "merge"});
    if command.get("chs").is_some() {
        frame["chs"] = answers.into();
        return frame;
    }
    let Some((ch, answer)) = answers.into_iter().next() else { return frame };
    if let Some(code) = answer["error"].as_str() {
        let retry = code == "not_tracked";
        frame = json!({"type": "error", "id": command["id"], "code": code, "message": "refused", "retry": retry});
        if let Some(addons) = answer.get("addons") {
            frame["addons"] = addons.clone();
        }
    } else {
        for (name, value) in answer.as_object().into_iter().flatten() {
            frame[name] = value.clone();
        }
    }
    frame["ch"] = ch.into();
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscriptions(hello: &Value) -> Subscriptions<'_> {
        let from = json!({"epoch": "e1", "seq": 4});
        let answer = json!({"epoch": "e1", "seq": 4, "resumed": true});
        let refused = json!({"error": "not_tracked"});
        let wanted = [
            ("a".to_owned(), Wanted { from, answer }),
            ("b".to_owned(), Wanted { from: Value::Null, answer: refused }),
        ];
        Subscriptions::new(hello, &wanted.into())
    }

    #[track_caller]
    fn check(features: &Value, commands: &[Value], expected: Result<&[Value], &str>) {
        let hello =
            json!({"features": features, "limits": {"command_bytes": 100, "from_bytes": 200}});
        let mut subscriptions = subscriptions(&hello);
        let answers: Result<Vec<Value>, String> = commands
            .iter()
            .map(|command| subscriptions.answer(command, command.to_string().len()))
            .collect();
        assert_eq!(answers.as_deref().map_err(String::as_str), expected);
        assert_eq!(expected.is_ok(), subscriptions.are_complete());
    }

    const OPTIONS: &str = r#"{"type":"subscribed","id":1,"every_ms":0,"on_slow":"merge"}"#;

    #[test]
    fn names_may_be_asked_for_together_or_one_by_one() {
        let mut together: Value = serde_json::from_str(OPTIONS).expect("JSON");
        let mut alone = together.clone();
        let position = json!({"epoch": "e1", "seq": 4});
        together["chs"] =
            json!({"a": {"epoch": "e1", "seq": 4, "resumed": true}, "b": {"error": "not_tracked"}});
        check(
            &json!(["batch"]),
            &[json!({"op": "subscribe", "id": 1, "chs": ["b", {"ch": "a", "from": position}]})],
            Ok(&[together]),
        );
        for (name, value) in [
            ("ch", json!("a")),
            ("epoch", json!("e1")),
            ("seq", json!(4)),
            ("resumed", json!(true)),
        ] {
            alone[name] = value;
        }
        let error = json!({"type": "error", "id": 2, "ch": "b", "code": "not_tracked", "message": "refused", "retry": true});
        check(
            &json!([]),
            &[
                json!({"op": "subscribe", "id": 1, "ch": "a", "from": position}),
                json!({"op": "subscribe", "id": 2, "ch": "b"}),
            ],
            Ok(&[alone, error]),
        );
    }

    #[test]
    fn wrong_commands_are_faults() {
        let missing = "it asks for a from null, not from {\"epoch\":\"e1\",\"seq\":4}";
        check(&json!([]), &[json!({"op": "subscribe", "ch": "a"})], Err(missing));
        let other = "it asks for \"c\", which is not expected here";
        check(&json!([]), &[json!({"op": "subscribe", "ch": "c"})], Err(other));
        let batch = "it sends `chs` to a hub without the feature `batch`";
        check(&json!([]), &[json!({"op": "subscribe", "chs": ["b"]})], Err(batch));
        let long = json!({"op": "subscribe", "ch": "b", "note": "x".repeat(100)});
        let size = format!(
            "a command has {} bytes, and limits.command_bytes is 100",
            long.to_string().len()
        );
        check(&json!([]), &[long], Err(&size));
    }
}
