//! Makes values from feeds safe and short for a model: no invisible characters, no nulls, no prices of
//! suspended markets.

use serde_json::{Map, Value};

/// The longest name, in characters. The longest other text is five times that.
const NAME_CHARS_MAX: usize = 200;
const TEXT_CHARS_MAX: usize = 5 * NAME_CHARS_MAX;

/// The fields that are prices. They are left out of what is suspended.
const PRICES: [&str; 8] =
    ["price", "decimal_odds", "odds", "best_odds", "lay", "back", "price_now", "best"];

/// Whether a reader does not see the character, or sees others in another order because of it. Feeds carry
/// names that people typed; instructions to a model could hide in such characters.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}'
            // Zero width, directional marks, line and paragraph separators, embeddings, isolates.
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            // Tags, which repeat ASCII invisibly.
            | '\u{e0000}'..='\u{e007f}'
        )
}

/// A text without hidden characters, at most so long.
pub(crate) fn clean(text: &str, chars_max: usize) -> String {
    let shown = text.chars().filter(|letter| !is_hidden(*letter));
    let mut clean: String = shown.clone().take(chars_max).collect();
    if shown.count() > chars_max {
        clean.pop();
        clean.push('…');
    }
    clean
}

/// Cleans every text of a document, and leaves out nulls and prices that are suspended.
pub(crate) fn tidy(value: &mut Value) {
    tidy_at(value, TEXT_CHARS_MAX, false);
}

/// `is_suspended`: whether what contains the value is suspended, and so its prices.
fn tidy_at(value: &mut Value, chars_max: usize, is_suspended: bool) {
    match value {
        Value::String(text) => {
            if text.len() > chars_max || !text.bytes().all(|byte| (b' '..0x7f).contains(&byte)) {
                *text = clean(text, chars_max);
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| tidy_at(item, chars_max, is_suspended));
        }
        Value::Object(fields) => {
            let is_suspended = is_suspended || suspends(fields);
            fields.retain(|name, value| {
                !(value.is_null() || is_suspended && PRICES.contains(&name.as_str()))
            });
            // Keys of maps come from feeds too, such as those of bookmakers.
            if fields.keys().any(|name| name.chars().any(is_hidden)) {
                let renamed = std::mem::take(fields).into_iter();
                *fields =
                    renamed.map(|(name, value)| (clean(&name, NAME_CHARS_MAX), value)).collect();
            }
            for (name, value) in fields {
                let is_name = name.contains("name") || name.ends_with("team");
                let chars_max = if is_name { NAME_CHARS_MAX } else { TEXT_CHARS_MAX };
                tidy_at(value, chars_max, is_suspended);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether an object says that its prices cannot be had: a row or a whole book that is suspended, or a market
/// that is not open.
fn suspends(fields: &Map<String, Value>) -> bool {
    let is_market = fields.contains_key("selections");
    let status = fields.get("status").and_then(Value::as_str);
    fields.get("suspended") == Some(&Value::Bool(true))
        || is_market && status.is_some_and(|status| status != "open")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hidden_characters_and_nulls_are_left_out() {
        let mut value = json!({
            "name": "Ars\u{202e}enal\u{0}\u{e0041}\n FC", "venue": null, "rows": [null, {"a": null}],
            "long_name": "x".repeat(300),
        });
        tidy(&mut value);
        assert_eq!(value["name"], "Arsenal FC");
        assert_eq!(value.get("venue"), None);
        assert_eq!(value["rows"], json!([null, {}]));
        assert_eq!(value["long_name"].as_str().unwrap().chars().count(), 200);
    }

    #[test]
    fn suspended_prices_are_not_shown() {
        let mut value = json!({"rows": [
            {"suspended": true, "price": "2.10", "outcome": "home"},
            {"suspended": false, "price": "3.40", "outcome": "draw"},
        ]});
        tidy(&mut value);
        assert_eq!(value["rows"][0], json!({"suspended": true, "outcome": "home"}));
        assert_eq!(value["rows"][1]["price"], "3.40");
    }

    #[test]
    fn books_show_prices_of_open_markets_only() {
        let market = |status: &str| json!({"status": status, "selections": {"1": {"price": "2.10", "last": "2.08"}}});
        let mut book = json!({"markets": {"a": market("open"), "b": market("suspended")}});
        tidy(&mut book);
        assert_eq!(book["markets"]["a"]["selections"]["1"]["price"], "2.10");
        assert_eq!(book["markets"]["b"]["selections"]["1"], json!({"last": "2.08"}));
        let mut held = json!({"suspended": true, "markets": {"a": market("open")}});
        tidy(&mut held);
        assert_eq!(held["markets"]["a"]["selections"]["1"].get("price"), None);
    }
}
