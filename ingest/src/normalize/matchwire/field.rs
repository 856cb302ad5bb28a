//! Fields of a document: what is absent, of another kind or not known is `None`.

use std::sync::Arc;

use facts::event::{Id, Pair, Participant};
use rust_decimal::Decimal;
use serde_json::Value;

/// The provider's slug of ids that come from another hub's.
pub(super) const PROVIDER: &str = "matchwire";

pub(super) fn text<'a>(node: &'a Value, name: &str) -> Option<&'a str> {
    node.get(name)?.as_str()
}

pub(super) fn shared(node: &Value, name: &str) -> Option<Arc<str>> {
    text(node, name).map(Arc::from)
}

pub(super) fn number<T: TryFrom<i64>>(node: &Value, name: &str) -> Option<T> {
    node.get(name)?.as_i64()?.try_into().ok()
}

pub(super) fn flag(node: &Value, name: &str) -> bool {
    node.get(name).and_then(Value::as_bool).unwrap_or_default()
}

/// A decimal, which is written as a string, digit for digit. `Err` with what stands there where it
/// is none.
pub(super) fn decimal(node: &Value, name: &str) -> Result<Option<Decimal>, String> {
    match node.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => exact(value).map(Some),
    }
}

pub(super) fn exact(value: &Value) -> Result<Decimal, String> {
    let parsed = value.as_str().and_then(|text| Decimal::from_str_exact(text).ok());
    parsed.ok_or_else(|| value.to_string())
}

/// Numbers under the names of the two sides.
pub(super) fn pair<T: TryFrom<i64>>(node: &Value, names: [&str; 2]) -> Option<Pair<T>> {
    Some([number(node, names[0])?, number(node, names[1])?])
}

pub(super) fn participant(node: &Value, name: &str, kind: &str) -> Option<Participant> {
    let node = node.get(name)?;
    let id = number::<u64>(node, "id")?;
    Some(Participant { id: derived(kind, id), name: shared(node, "name")? })
}

pub(super) fn derived(kind: &str, id: u64) -> Id {
    Id::derive(PROVIDER, kind, &id.to_string())
}

/// The value that is written so, of all that there are.
pub(super) fn word<T: Copy>(all: &[T], as_str: fn(T) -> &'static str, word: &str) -> Option<T> {
    all.iter().copied().find(|value| as_str(*value) == word)
}
