//! What holds for every result: it is within its bound, it has no character that a reader does not see, it
//! conforms to the schema of its tool, and it is what REST answers.

use std::{collections::BTreeMap, fmt};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::client::McpClient;
use crate::support::Hub;

/// The bound of a result in bytes, and that of a list.
pub(super) const RESULT_BYTES_MAX: usize = 24 * 1024;
pub(super) const LIST_BYTES_MAX: usize = 12 * 1024;

/// That of matches in play: 4,000 tokens of four characters.
const LIVE_BYTES_MAX: usize = 16_000;

/// The bound of an answer.
pub(super) fn bytes_max(tool: &str, answer: &Value) -> usize {
    match tool {
        "get_live_scores" => LIVE_BYTES_MAX,
        _ if is_page(answer) => LIST_BYTES_MAX,
        _ => RESULT_BYTES_MAX,
    }
}

/// The prices that are left out of what is suspended: MCP.md section 7, "suspended prices".
const PRICES: [&str; 8] =
    ["price", "decimal_odds", "odds", "best_odds", "lay", "back", "price_now", "best"];

/// The tools of a server with the schemas of their results.
pub(super) struct Checker {
    client: McpClient,
    schemas: BTreeMap<String, Validator>,
    /// The tools whose results are pages.
    pub(super) listed: Vec<Value>,
}

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checker").field("client", &self.client).finish_non_exhaustive()
    }
}

impl Checker {
    pub(super) async fn new(client: McpClient) -> Self {
        let listed = client.tools().await;
        let schema = |tool: &Value| {
            let name = tool["name"].as_str().expect("a name").to_owned();
            let schema = jsonschema::draft202012::new(&tool["outputSchema"]);
            let schema = schema.unwrap_or_else(|error| panic!("{name}: no JSON Schema: {error}"));
            (name, schema)
        };
        Self { client, schemas: listed.iter().map(schema).collect(), listed }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.schemas.keys().map(String::as_str)
    }

    /// Calls a tool and checks what holds for every answer; `Err` is its refusal.
    pub(super) async fn call(&self, tool: &str, arguments: &Value) -> Result<Value, Value> {
        let result = self.client.call(tool, arguments.clone()).await;
        let what = format!("{tool} {arguments}");
        check_text(&what, &result);
        if result["isError"] == true {
            return Err(super::client::refusal(&result));
        }
        let answer = &result["structuredContent"];
        let text = result["content"][0]["text"].as_str().expect("a text");
        let parsed: Value = serde_json::from_str(text).expect("the text is JSON");
        assert_eq!(parsed, *answer, "{what}: the text differs");
        let schema = self.schemas.get(tool).expect("a tool of the list");
        let errors = schema.iter_errors(answer).take(3);
        let errors: Vec<_> = errors.map(|it| format!("{} at {}", it, it.instance_path())).collect();
        assert!(errors.is_empty(), "{what} does not conform: {errors:#?}");
        let max = bytes_max(tool, answer);
        assert!(text.len() <= max, "{what} has {} bytes", text.len());
        Ok(answer.clone())
    }
}

/// Whether an answer is a page of a list.
pub(super) fn is_page(answer: &Value) -> bool {
    let data = &answer["data"];
    data["count"].is_u64() && (data["results"].is_array() || data["events"].is_array())
}

/// Fails if a value has a character that a reader does not see.
pub(super) fn check_text(what: &str, value: &Value) {
    match value {
        Value::String(text) => {
            // Line breaks are in the texts of prompts and documents, which are not of feeds.
            let hidden = text.chars().find(|letter| is_hidden(*letter));
            assert_eq!(hidden, None, "{what}: a hidden character in {text:?}");
        }
        Value::Array(items) => items.iter().for_each(|item| check_text(what, item)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            check_text(what, &json!(name));
            check_text(what, value);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Control characters, directional marks, and tags.
pub(super) fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(letter, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether the data of an answer is what REST answers at its address, and in the same state: after nulls, the
/// links of pages, hidden characters and suspended prices are left out, and up to where the answer says that a
/// list is cut.
pub(super) async fn compare_with_rest(hub: &Hub, key: &str, what: &str, answer: &Value) {
    let url = answer["url"].as_str().expect("an address");
    let path = url.strip_prefix(&format!("http://{}", hub.address));
    let path = path.unwrap_or_else(|| panic!("{what}: {url} is not of this hub"));
    let rest = hub.get_as(key, path).await;
    assert_eq!(rest.status, 200, "{what}: {path}: {}", rest.body);
    if let Some(position) = rest.header("x-matchwire-seq") {
        let tool_position = &answer["position"];
        let tool_position = format!(
            "{}:{}",
            tool_position["epoch"].as_str().unwrap_or_default(),
            tool_position["seq"]
        );
        assert_eq!(tool_position, position, "{what}");
    }
    let cuts = answer["truncated"].as_array().into_iter().flatten();
    let cuts = cuts.map(|cut| (cut["at"].as_str().expect("a pointer").to_owned(), cut.clone()));
    let comparison = Comparison { cuts: cuts.collect() };
    let mut rest = rest.json();
    // REST gives some rows under two names, tools under one.
    if let Some(fields) = rest.as_object_mut()
        && ["events", "incidents"].iter().any(|rows| fields.contains_key(*rows))
    {
        fields.remove("results");
    }
    if let Err(difference) = comparison.check(&answer["data"], &rest, "", true) {
        panic!("{what} differs from {path}: {difference}");
    }
}

/// Whether the lines of an answer are rows of REST at its address, without some of their fields, in its order.
pub(super) async fn compare_lines_with_rest(hub: &Hub, key: &str, what: &str, answer: &Value) {
    const ADDED: [&str; 3] = ["league_name", "home_red_cards", "away_red_cards"];
    let rows = |page: &Value| -> Vec<Value> {
        let rows = page["results"].as_array().or_else(|| page["events"].as_array());
        rows.unwrap_or_else(|| panic!("{what}: no rows: {page}")).clone()
    };
    let url = answer["url"].as_str().expect("an address");
    let path = url.strip_prefix(&format!("http://{}", hub.address)).expect("of this hub");
    let lines = rows(&answer["data"]);
    let rest = rows(&hub.json(key, path).await);
    assert!(lines.len() <= rest.len(), "{what}: {} lines of {}", lines.len(), rest.len());
    let mut indexes = Vec::new();
    for line in &lines {
        let index = rest.iter().position(|row| row["id"] == line["id"]);
        let index = index.unwrap_or_else(|| panic!("{what}: {line} is not at {path}"));
        indexes.push(index);
        for (name, value) in line.as_object().expect("a line") {
            // A team of another sport is its name and its id.
            let id_of = name.strip_suffix("_id").map(|base| &rest[index][base]["id"]);
            let of_rest = [Some(&rest[index][name]), Some(&rest[index][name]["name"]), id_of];
            let is_equal =
                ADDED.contains(&&**name) || of_rest.into_iter().flatten().any(|it| it == value);
            assert!(is_equal, "{what}: {name} is {value}, not {}", rest[index][name]);
        }
    }
    assert!(indexes.is_sorted(), "{what}: {indexes:?}");
}

struct Comparison {
    cuts: BTreeMap<String, Value>,
}

impl Comparison {
    fn check(&self, tool: &Value, rest: &Value, at: &str, is_root: bool) -> Result<(), String> {
        let differs = || Err(format!("at {at:?}: {tool} is not {rest}"));
        let shown = |len: usize, total: usize| {
            let Some(cut) = self.cuts.get(at) else { return len == total };
            cut["shown"].as_u64() == Some(len as u64) && len <= total
        };
        match (tool, rest) {
            (Value::Array(tool), Value::Array(rest)) => {
                if !shown(tool.len(), rest.len()) {
                    return Err(format!("at {at:?}: {} rows are not {}", tool.len(), rest.len()));
                }
                let pairs = tool.iter().zip(rest).enumerate();
                for (index, (tool, rest)) in pairs {
                    self.check(tool, rest, &format!("{at}/{index}"), false)?;
                }
                Ok(())
            }
            (Value::Object(tool), Value::Object(rest)) => {
                self.check_fields(tool, rest, at, is_root)
            }
            (Value::String(text), Value::String(rest)) => {
                let rest: String = rest.chars().filter(|letter| !is_hidden(*letter)).collect();
                let begin = text.strip_suffix('…').filter(|_| text.chars().count() >= 200);
                let is_same = *text == rest || begin.is_some_and(|begin| rest.starts_with(begin));
                if is_same { Ok(()) } else { differs() }
            }
            _ if tool == rest => Ok(()),
            _ => differs(),
        }
    }

    fn check_fields(
        &self,
        tool: &Map<String, Value>,
        rest: &Map<String, Value>,
        at: &str,
        is_root: bool,
    ) -> Result<(), String> {
        let is_suspended = rest.get("suspended") == Some(&Value::Bool(true));
        let is_page = is_root && (rest.contains_key("results") || rest.contains_key("events"));
        let is_left_out = |name: &str, value: &Value| {
            value.is_null()
                || is_suspended && PRICES.contains(&name)
                || is_page && ["next", "previous"].contains(&name)
        };
        let is_cut = self.cuts.contains_key(at);
        for (name, value) in rest.iter().filter(|(name, value)| !is_left_out(name, value)) {
            let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            match tool.get(name) {
                Some(tool) => self.check(tool, value, &at, false)?,
                None if is_cut => {}
                None => return Err(format!("{at:?} is missing: {value}")),
            }
        }
        let added = tool.keys().find(|name| rest.get(*name).is_none_or(Value::is_null));
        added.map_or(Ok(()), |name| Err(format!("{at}/{name} is not in REST")))
    }
}
