//! Keeps answers within the context window of a model: lists are cut from the end, and the answer says so.

use std::{collections::BTreeMap, fmt, io};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::refusal::Refusal;

/// A list that was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Truncation {
    /// Where it is in `data`, as a JSON pointer.
    pub at: String,
    pub shown: usize,
    pub total: usize,
    /// The argument `cursor` of the call that continues it.
    pub cursor: String,
}

/// A cursor: a list of the answer, and the number of its rows to skip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub at: String,
    pub skip: usize,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.at, self.skip)
    }
}

impl Cursor {
    /// Reads a cursor. A bare number, as other servers use it, skips rows of the list itself.
    pub(crate) fn parse(text: &str, list: &str) -> Result<Self, Refusal> {
        let (at, skip) = text.rsplit_once('@').unwrap_or((list, text));
        let skip = skip.parse().map_err(|_| {
            Refusal::bad_argument("cursor is to be the cursor of an earlier answer.")
                .with("argument", "cursor")
        })?;
        Ok(Self { at: at.to_owned(), skip })
    }

    /// Leaves out the rows before it.
    pub(crate) fn apply(&self, data: &mut Value) {
        match data.pointer_mut(&self.at) {
            Some(Value::Array(items)) => {
                items.drain(..self.skip.min(items.len()));
            }
            Some(Value::Object(fields)) => {
                let rest = std::mem::take(fields).into_iter().skip(self.skip);
                *fields = rest.collect();
            }
            _ => {}
        }
    }
}

/// The size of a value as JSON, in bytes.
pub(crate) fn size(value: &impl Serialize) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Only a writer that fails makes this fail.
    serde_json::to_writer(&mut counter, value).ok();
    counter.0
}

/// Cuts lists until the value has at most so many bytes; the largest one first, by a quarter at a time.
/// `skipped`: the rows of a list that a cursor has left out already.
pub(crate) fn fit(data: &mut Value, max: usize, skipped: Option<&Cursor>) -> Vec<Truncation> {
    let mut totals: BTreeMap<String, usize> = BTreeMap::new();
    let mut left = size(data);
    while left > max {
        let mut largest = None;
        find_largest(data, &mut String::new(), &mut largest);
        let Some((at, bytes)) = largest else { break };
        let Some(list) = data.pointer_mut(&at) else { break };
        let len = len(list);
        totals.entry(at).or_insert(len);
        // As many as are too many by their mean size, but not more than a quarter at a time.
        let too_many = ((left - max) * len / bytes.max(1)).clamp(1, (len / 4).max(1));
        truncate(list, len - too_many);
        left = size(data);
    }
    let skip = |at: &str| skipped.filter(|cursor| cursor.at == at).map_or(0, |cursor| cursor.skip);
    let cut = totals.into_iter().filter_map(|(at, total)| {
        // A list inside of a row that was cut itself is not mentioned.
        let shown = len(data.pointer(&at)?);
        let skip = skip(&at);
        let cursor = format!("{at}@{}", skip + shown);
        Some(Truncation { at, shown, total: total + skip, cursor })
    });
    cut.collect()
}

/// A map by ids or names, as opposed to an object with fields, has many entries of one shape.
const MAP_ENTRIES_MIN: usize = 6;

fn is_map(fields: &Map<String, Value>) -> bool {
    fields.len() >= MAP_ENTRIES_MIN && fields.values().all(Value::is_object)
}

fn len(list: &Value) -> usize {
    match list {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    }
}

fn truncate(list: &mut Value, len: usize) {
    match list {
        Value::Array(items) => items.truncate(len),
        Value::Object(fields) => *fields = std::mem::take(fields).into_iter().take(len).collect(),
        _ => {}
    }
}

/// Finds the list or map with more than one entry that has most bytes: the outermost, since it contains the
/// others. Returns the bytes of the value.
fn find_largest(value: &Value, at: &mut String, largest: &mut Option<(String, usize)>) -> usize {
    let mut total = 2;
    let is_list = match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                total += 1 + inside(item, at, &index.to_string(), largest);
            }
            items.len() > 1
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let name_bytes = name.len() + 4;
                let name = name.replace('~', "~0").replace('/', "~1");
                total += name_bytes + inside(field, at, &name, largest);
            }
            is_map(fields)
        }
        simple => return size(simple),
    };
    if is_list && largest.as_ref().is_none_or(|(_, bytes)| total >= *bytes) {
        *largest = Some((at.clone(), total));
    }
    total
}

fn inside(
    value: &Value,
    at: &mut String,
    name: &str,
    largest: &mut Option<(String, usize)>,
) -> usize {
    let before = at.len();
    at.push('/');
    at.push_str(name);
    let bytes = find_largest(value, at, largest);
    at.truncate(before);
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rows(count: usize) -> Vec<Value> {
        (0..count)
            .map(|id| json!({"id": id, "name": "A team with a name", "form": ["W", "L"]}))
            .collect()
    }

    #[test]
    fn small_values_stay_as_they_are() {
        let mut value = json!({"results": rows(3)});
        assert_eq!(fit(&mut value, 10_000, None), []);
        assert_eq!(value["results"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn lists_are_cut_from_the_end_and_continue_at_their_cursor() {
        let all = json!({"count": 100, "results": rows(100)});
        let mut first = all.clone();
        let cut = fit(&mut first, 2_000, None);
        assert!(size(&first) <= 2_000);
        let [cut] = cut.as_slice() else { panic!("{cut:?}") };
        assert_eq!((cut.at.as_str(), cut.total), ("/results", 100));
        assert_eq!(first["results"].as_array().unwrap().len(), cut.shown);
        let cursor = Cursor::parse(&cut.cursor, "/results").unwrap();
        let mut second = all;
        cursor.apply(&mut second);
        let cut_again = fit(&mut second, 2_000, Some(&cursor));
        assert_eq!(second["results"][0]["id"], cut.shown);
        assert_eq!(cut_again[0].total, 100);
    }

    #[test]
    fn every_large_list_is_cut_before_one_is_gone() {
        let mut value = json!({"incidents": rows(100), "players": rows(100)});
        let cut = fit(&mut value, 3_000, None);
        assert_eq!(cut.len(), 2);
        assert!(cut.iter().all(|cut| cut.shown > 5), "{cut:?}");
    }

    #[test]
    fn maps_are_cut_like_lists() {
        let markets: Map<String, Value> =
            (0..40).map(|id| (format!("market{id}"), json!({"price": "2.10"}))).collect();
        let mut value = json!({"markets": markets});
        let cut = fit(&mut value, 500, None);
        assert_eq!(cut[0].at, "/markets");
        assert!(size(&value) <= 500);
    }
}
