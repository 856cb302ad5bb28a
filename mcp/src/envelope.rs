//! What every result says about itself: when it is from, whether its feed is healthy, where to resume, and
//! how to cite it.

use std::sync::Arc;

use base::{Micros, clock, time_format};
use fanout::Epoch;
use record::{Freshness, Key, MatchRecord, Position};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;

use crate::fit::{self, Cursor, Cut};

/// The bound of a result in bytes of JSON, and of a result that is a list.
pub(crate) const RESULT_BYTES_MAX: usize = 24 * 1024;
pub(crate) const LIST_BYTES_MAX: usize = 12 * 1024;

/// What the other fields may take of it.
const ENVELOPE_BYTES: usize = 1024;

/// The state of the data of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DataState {
    /// `live`, `late`, `down`, `recovering`; `archived` for what the hub no longer follows.
    pub feed: &'static str,
    pub source_at: Option<Micros>,
    /// When the hub received it.
    pub received_at: Option<Micros>,
    pub position: Option<Position>,
}

impl DataState {
    pub(crate) const ARCHIVED: Self =
        Self { feed: "archived", source_at: None, received_at: None, position: None };

    /// That of a match: as its source has it while the hub follows it.
    pub(crate) fn of_match(record: Option<&Arc<MatchRecord>>) -> Self {
        let Some(record) = record else { return Self::ARCHIVED };
        match record.freshness {
            Some(Freshness { position, feed, source_at, received_at }) => {
                Self { feed, source_at, received_at, position: Some(position) }
            }
            None => Self { received_at: Some(record.brief.updated), ..Self::ARCHIVED },
        }
    }
}

/// A result before its bound is applied.
#[derive(Debug)]
pub(crate) struct Answer {
    pub data: Value,
    pub state: DataState,
    /// The address of the same in the REST interface.
    pub url: String,
    pub bytes_max: usize,
    /// What the call asks to leave out at the beginning of a list.
    pub cursor: Option<Cursor>,
    /// The list that REST pages, as a JSON pointer: what the cursor leaves out there is left out already.
    pub paged: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Envelope<'a> {
    as_of: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    age_ms: Option<i64>,
    feed: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stale_after_ms: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<PositionText>,
    url: &'a str,
    cite: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    truncated: Vec<Cut>,
    data: Value,
}

#[derive(Debug, Serialize)]
struct PositionText {
    epoch: String,
    seq: u64,
}

/// What names an answer in its citation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cited<'a> {
    pub tool: &'a str,
    pub id: Option<Key>,
}

impl Answer {
    /// The value of the result, tidied and within its bound.
    pub(crate) fn into_value(self, cited: Cited<'_>, stale_after_ms: u32) -> Value {
        let Self { mut data, state, url, bytes_max, cursor, paged } = self;
        crate::text::tidy(&mut data);
        if let Some(cursor) = cursor.as_ref().filter(|cursor| paged != Some(&cursor.at)) {
            cursor.apply(&mut data);
        }
        let mut truncated = fit::fit(&mut data, bytes_max - ENVELOPE_BYTES, cursor.as_ref());
        if let Some(list) = paged {
            mention_later_pages(&data, list, cursor.as_ref(), &mut truncated);
        }
        let now = clock::now();
        let as_of = time_format::zulu(now).unwrap_or_default();
        let is_followed = state.feed != DataState::ARCHIVED.feed;
        let envelope = Envelope {
            cite: cite(cited, state.position, &as_of),
            as_of,
            source_at: state.source_at.and_then(moment),
            age_ms: state.received_at.filter(|_| is_followed).map(|at| (now - at).max(0) / 1000),
            feed: state.feed,
            stale_after_ms: is_followed.then_some(stale_after_ms),
            position: state.position.map(|Position { epoch, seq }| PositionText {
                epoch: Epoch(epoch).to_string(),
                seq,
            }),
            url: &url,
            truncated,
            data,
        };
        serde_json::to_value(envelope).unwrap_or_default()
    }
}

/// A page is cut as well: the answer says how many rows there are, and how to go on.
fn mention_later_pages(
    data: &Value,
    list: &str,
    cursor: Option<&Cursor>,
    truncated: &mut Vec<Cut>,
) {
    let skip = cursor.filter(|cursor| cursor.at == list).map_or(0, |cursor| cursor.skip);
    let shown = data.pointer(list).and_then(Value::as_array).map_or(0, Vec::len);
    let total = data["count"].as_u64().and_then(|count| usize::try_from(count).ok());
    truncated.retain(|cut| cut.at != list);
    if let Some(total) = total.filter(|total| skip + shown < *total) {
        let cursor = format!("{list}@{}", skip + shown);
        truncated.insert(0, Cut { at: list.to_owned(), shown, total, cursor });
    }
}

/// A result with this value, as structured content and as the same JSON in text.
pub(crate) fn result(value: Value) -> CallToolResult {
    let text = value.to_string();
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(value);
    result
}

/// One line to paste: `matchwire get_match_detail 204849 seq 813, 2026-11-22T14:05:09Z`.
fn cite(Cited { tool, id }: Cited<'_>, position: Option<Position>, as_of: &str) -> String {
    let id = id.map(|id| format!(" {id}")).unwrap_or_default();
    let seq = position.map(|position| format!(" seq {}", position.seq)).unwrap_or_default();
    format!("matchwire {tool}{id}{seq}, {as_of}")
}

/// `2026-11-22T14:05:09.123Z`.
pub(crate) fn moment(at: Micros) -> Option<String> {
    let at = jiff::Timestamp::from_microsecond(at).ok()?;
    Some(at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(state: DataState) -> Value {
        let data = json!({"home": "Alpha\u{202e}", "away": null});
        let url = "https://hub/api/v2/events/7/".to_owned();
        let answer =
            Answer { data, state, url, bytes_max: RESULT_BYTES_MAX, cursor: None, paged: None };
        answer.into_value(Cited { tool: "get_match_detail", id: Some(7) }, 15_000)
    }

    #[test]
    fn followed_match_has_position_age_and_citation() {
        let position = Some(Position { epoch: 36 * 36, seq: 813 });
        let now = clock::now();
        let state =
            DataState { feed: "live", source_at: Some(now), received_at: Some(now), position };
        let value = answer(state);
        assert_eq!(value["position"], json!({"epoch": "100", "seq": 813}));
        assert_eq!(value["data"], json!({"home": "Alpha"}));
        assert_eq!(value["stale_after_ms"], 15_000);
        assert!(value["age_ms"].as_i64().unwrap() >= 0);
        let cite = value["cite"].as_str().unwrap();
        assert!(cite.starts_with("matchwire get_match_detail 7 seq 813, 20"), "{cite}");
    }

    #[test]
    fn archived_match_has_no_age() {
        let value = answer(DataState::ARCHIVED);
        assert_eq!(value["feed"], "archived");
        assert_eq!((value.get("age_ms"), value.get("position")), (None, None));
    }
}
