//! JSON as a client sees it.

#[path = "../it/support/merge_patch.rs"]
mod merge_patch;

use bytes::Bytes;
use fanout::encode::payload;
use serde_json::Value;

pub(crate) use merge_patch::merge;

pub(crate) fn parse(frame: &Bytes) -> Value {
    serde_json::from_slice(&payload(frame)).expect("a frame is JSON")
}

/// The content of a frame without timestamps: everything after the moments of its change.
pub(crate) fn content(frame: &Bytes) -> String {
    let text = String::from_utf8(payload(frame).to_vec()).expect("a frame is text");
    let at = text.find(r#","at":{"#).expect("a frame has its moments");
    let behind = text[at..].find('}').expect("the moments end") + at;
    format!("{}{}", &text[..at], &text[behind..])
}

/// The first difference of two documents, in readable form.
pub(crate) fn difference(ours: &Value, theirs: &Value) -> Option<String> {
    if ours == theirs {
        return None;
    }
    let (Value::Object(our_fields), Value::Object(their_fields)) = (ours, theirs) else {
        return Some(format!(": {ours} and {theirs}"));
    };
    let names = our_fields.keys().chain(their_fields.keys());
    let absent = Value::Null;
    let different = names.map(|name| {
        let value = |object: &serde_json::Map<String, Value>| object.get(name).cloned();
        let (ours, theirs) = (value(our_fields), value(their_fields));
        if ours.is_some() == theirs.is_some() {
            let inner = difference(&ours.unwrap_or_default(), &theirs.unwrap_or_default())?;
            return Some(format!("/{name}{inner}"));
        }
        let [ours, theirs] = [&ours, &theirs].map(|it| it.as_ref().unwrap_or(&absent));
        Some(format!("/{name}: {ours} and {theirs}"))
    });
    different.flatten().next()
}
