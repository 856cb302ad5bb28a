//! The form of a document in XML, as the JSON of the same document.
//!
//! Attributes are fields. An element is an object, or an element of a list if the JSON has one there; an element that only
//! wraps such a list is left out. The text of an element with attributes is its name. A document that is cut gives what was
//! complete before the cut.

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};
use serde_json::{Map, Value};

use crate::error::{DecodeError, RefusalKind};

/// Elements of which the JSON has a list.
const LISTED: [&str; 15] = [
    "contestant",
    "period",
    "event",
    "qualifier",
    "goal",
    "card",
    "substitute",
    "missedPen",
    "penaltyShot",
    "VAR",
    "lineUp",
    "player",
    "teamOfficial",
    "matchOfficial",
    "stat",
];

/// Elements around such lists, which the JSON does not have.
const WRAPPERS: [&str; 7] =
    ["contestants", "periods", "events", "qualifiers", "lineUps", "players", "matchOfficials"];

/// Attributes that the JSON has as numbers where text is not read.
const NUMBERS: [&str; 2] = ["x", "y"];

/// Elements that stand in each other. A document has six.
const DEPTH_MAX: usize = 64;

/// An element that is not complete yet.
struct Open {
    name: String,
    fields: Map<String, Value>,
    text: String,
}

/// The document as JSON text, and why it ends before its end, if it does.
pub(super) fn to_json(bytes: &[u8]) -> (String, Option<DecodeError>) {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
    let (mut open, mut document) = (Vec::<Open>::new(), Map::new());
    let broken = loop {
        match reader.read_event() {
            Ok(Event::Start(start)) if open.len() < DEPTH_MAX => open.push(Open::new(&start)),
            Ok(Event::Start(_)) => {
                break Some(broken(RefusalKind::Syntax, "it is nested too deep"));
            }
            Ok(Event::Empty(start)) => close(Open::new(&start), &mut open, &mut document),
            Ok(Event::End(_)) => {
                if let Some(element) = open.pop() {
                    close(element, &mut open, &mut document);
                }
            }
            Ok(Event::Text(text)) => add_text(&mut open, &text.xml10_content()),
            Ok(Event::GeneralRef(entity)) => {
                let named = quick_xml::escape::resolve_predefined_entity(&entity.xml10_content());
                let number = entity.resolve_char_ref().ok().flatten().map(String::from);
                add_text(&mut open, named.unwrap_or(&number.unwrap_or_default()));
            }
            Ok(Event::Eof) if open.is_empty() => break None,
            Ok(Event::Eof) => break Some(broken(RefusalKind::Truncated, "it ends in its middle")),
            Ok(_) => {}
            Err(error) => break Some(broken(RefusalKind::Syntax, &error.to_string())),
        }
    };
    while let Some(element) = open.pop() {
        if !LISTED.contains(&element.name.as_str()) {
            close(element, &mut open, &mut document);
        }
    }
    (Value::Object(document).to_string(), broken)
}

impl Open {
    fn new(start: &BytesStart<'_>) -> Self {
        let mut fields = Map::new();
        for attribute in start.attributes().with_checks(false).flatten() {
            let Ok(value) = attribute.normalized_value(XmlVersion::Explicit1_0) else { continue };
            let key: &str = attribute.key.as_ref();
            let number = || value.parse().ok().and_then(serde_json::Number::from_f64);
            let number = if NUMBERS.contains(&key) { number() } else { None };
            let text = || Value::String(value.clone().into_owned());
            fields.insert(key.to_owned(), number.map_or_else(text, Value::Number));
        }
        Self { name: start.local_name().as_ref().to_owned(), fields, text: String::new() }
    }
}

fn add_text(open: &mut [Open], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

/// Adds an element that is complete to the one that it stands in.
fn close(element: Open, open: &mut [Open], document: &mut Map<String, Value>) {
    let Open { name, mut fields, text } = element;
    let Some(parent) = open.last_mut() else {
        *document = fields;
        return;
    };
    if WRAPPERS.contains(&name.as_str()) {
        for (key, value) in fields {
            let value = match (parent.fields.remove(&key), value) {
                (Some(Value::Array(mut list)), Value::Array(more)) => {
                    list.extend(more);
                    Value::Array(list)
                }
                (_, value) => value,
            };
            parent.fields.insert(key, value);
        }
        return;
    }
    let text = text.trim();
    let value = if fields.is_empty() && !text.is_empty() {
        Value::String(text.to_owned())
    } else {
        if !text.is_empty() {
            fields.entry("name").or_insert_with(|| Value::String(text.to_owned()));
        }
        Value::Object(fields)
    };
    if LISTED.contains(&name.as_str()) {
        let list = parent.fields.entry(name).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = list {
            list.push(value);
        }
    } else {
        parent.fields.insert(name, value);
    }
}

fn broken(kind: RefusalKind, reason: &str) -> DecodeError {
    DecodeError::new(kind, reason.chars().take(200).collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn document_has_the_json_of_its_other_form() {
        let xml = r#"<?xml version="1.0"?><matchEvents><matchInfo id="m" week="6"><description>A &amp; B</description>
            <stage id="s">Regular</stage><contestants><contestant id="1" position="home"/><contestant id="2"/></contestants></matchInfo>
            <liveData><events><event id="7" x="50.5" timeMin="1"><qualifier qualifierId="5" value="a,b"/></event></events></liveData></matchEvents>"#;
        let expected = json!({
            "matchInfo": {
                "id": "m", "week": "6", "description": "A & B",
                "stage": {"id": "s", "name": "Regular"},
                "contestant": [{"id": "1", "position": "home"}, {"id": "2"}],
            },
            "liveData": {"event": [
                {"id": "7", "x": 50.5, "timeMin": "1", "qualifier": [{"qualifierId": "5", "value": "a,b"}]},
            ]},
        });
        let (text, broken) = to_json(xml.as_bytes());
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
        assert_eq!(broken, None);
        // What is cut in an event costs that event.
        let (text, broken) = to_json(&xml.as_bytes()[..xml.find("</event>").unwrap()]);
        let cut: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&cut["matchInfo"], &cut["liveData"]), (&expected["matchInfo"], &json!({})));
        assert_eq!(broken.unwrap().kind, RefusalKind::Truncated);
    }
}
