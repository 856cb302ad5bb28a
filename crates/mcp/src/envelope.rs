//! What every result says about itself: when it is from, whether its feed is healthy, where to resume, and
//! how to cite it.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use base::{Micros, clock, time_format};
use fanout::Epoch;
use hyper::header::HeaderValue;
use record::{Freshness, Key, MatchRecord, Position};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;

use crate::{
    argument::Notes,
    fit::{self, Cursor, Truncation},
    refusal::Refusal,
    rest::RestAnswer,
};

/// The bound of a result in bytes of JSON, and of a result that is a list.
pub(crate) const RESULT_BYTES_MAX: usize = 24 * 1024;
pub(crate) const LIST_BYTES_MAX: usize = 12 * 1024;

/// What the other fields may take of it.
pub(crate) const ENVELOPE_BYTES: usize = 1024;

/// The line of a result while matches are being added: as REST's header `X-Matchwire-Partial` has it.
const PAST_IS_MISSING: &str = "past: matches are still being added, ask again in some seconds";

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
    pub(crate) fn for_match(record: Option<&Arc<MatchRecord>>) -> Self {
        let Some(record) = record else { return Self::ARCHIVED };
        match record.freshness {
            Some(Freshness { position, feed, source_at, received_at }) => {
                Self { feed, source_at, received_at, position: Some(position) }
            }
            None => Self { received_at: Some(record.summary.updated), ..Self::ARCHIVED },
        }
    }
}

/// A result before its bound is applied.
#[derive(Debug)]
pub(crate) struct Answer {
    pub data: AnswerData,
    pub state: DataState,
    /// The address of the same in the REST interface.
    pub url: String,
    pub bytes_max: usize,
    /// What the call asks to leave out at the beginning of a list.
    pub cursor: Option<Cursor>,
    /// The list that REST pages, as a JSON pointer: what the cursor leaves out there is left out already.
    pub paged: Option<&'static str>,
}

/// The data of an answer.
#[derive(Debug)]
pub(crate) enum AnswerData {
    Value(Value),
    /// As REST answers: rendered once for all calls until its tag changes.
    Rest(RestAnswer),
    Rendered(Arc<Rendered>),
}

/// Everything before the data.
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
    #[serde(flatten)]
    notes: &'a Notes,
    #[serde(skip_serializing_if = "Option::is_none")]
    partial: Option<&'static str>,
    #[serde(skip_serializing_if = "<[Truncation]>::is_empty")]
    truncated: &'a [Truncation],
}

#[derive(Debug, Serialize)]
struct PositionText {
    epoch: String,
    seq: u64,
}

/// What names an answer in its citation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Citation<'a> {
    pub tool: &'a str,
    pub id: Option<Key>,
    /// How the call was understood.
    pub notes: &'a Notes,
    /// Whether matches are missing that are being added.
    pub is_partial: bool,
}

/// The data of results as JSON, tidied and within its bound.
#[derive(Debug)]
pub(crate) struct Rendered {
    json: String,
    /// The same inside of a JSON string.
    escaped: String,
    truncated: Vec<Truncation>,
}

/// Rendered data by address, bound and cursor, while REST's tag is the same.
#[derive(Debug)]
pub(crate) struct RenderedCache {
    entries: Mutex<CacheEntries>,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct CacheEntries {
    by_key: HashMap<String, (HeaderValue, Arc<Rendered>)>,
    bytes: usize,
}

/// The result of a tool.
#[derive(Debug)]
pub(crate) struct ToolResult {
    /// The envelope up to its data.
    head: String,
    data: Arc<Rendered>,
}

impl Rendered {
    fn new(data: &Value, truncated: Vec<Truncation>) -> Self {
        let json = data.to_string();
        let escaped = escaped(&json);
        Self { json, escaped, truncated }
    }

    /// A document, tidied and within a bound.
    pub(crate) fn from_document(mut document: Value, bytes_max: usize) -> Self {
        crate::text::tidy(&mut document);
        let truncated = fit::fit(&mut document, bytes_max - ENVELOPE_BYTES, None);
        Self::new(&document, truncated)
    }

    fn bytes(&self) -> usize {
        self.json.len() + self.escaped.len()
    }
}

/// The inside of a JSON string.
fn escaped(text: &str) -> String {
    let mut quoted = serde_json::to_string(text).unwrap_or_default();
    quoted.pop();
    if !quoted.is_empty() {
        quoted.remove(0);
    }
    quoted
}

impl RenderedCache {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { entries: Mutex::default(), bytes_max }
    }

    fn lock(&self) -> MutexGuard<'_, CacheEntries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, key: &str, tag: &HeaderValue) -> Option<Arc<Rendered>> {
        let entries = self.lock();
        let (cached_tag, rendered) = entries.by_key.get(key)?;
        (cached_tag == tag).then(|| Arc::clone(rendered))
    }

    fn put(&self, key: String, tag: HeaderValue, rendered: &Arc<Rendered>) {
        let mut entries = self.lock();
        let bytes = key.len() + rendered.bytes();
        // Answers about live matches are requested again within seconds, so the cache refills by itself.
        if entries.bytes + bytes > self.bytes_max {
            *entries = CacheEntries::default();
        }
        if let Some((_, old)) = entries.by_key.insert(key, (tag, Arc::clone(rendered))) {
            entries.bytes -= old.bytes().min(entries.bytes);
        }
        entries.bytes += bytes;
    }
}

impl Answer {
    /// The same with each row of a page of REST changed.
    ///
    /// # Errors
    ///
    /// If the page is not JSON.
    pub(crate) fn with_rows(mut self, change: impl FnMut(&mut Value)) -> Result<Self, Refusal> {
        if let AnswerData::Rest(answer) = &self.data {
            let mut data = answer.value()?;
            let rows = self.paged.and_then(|list| data.pointer_mut(list));
            rows.and_then(Value::as_array_mut).into_iter().flatten().for_each(change);
            remove_page_links(&mut data);
            self.data = AnswerData::Value(data);
        }
        Ok(self)
    }

    /// The result, tidied and within its bound.
    ///
    /// # Errors
    ///
    /// If the data is not JSON.
    pub(crate) fn into_result(
        mut self,
        cited: Citation<'_>,
        stale_after_ms: u32,
        cache: &RenderedCache,
    ) -> Result<ToolResult, Refusal> {
        let data = match mem::replace(&mut self.data, AnswerData::Value(Value::Null)) {
            AnswerData::Value(data) => Arc::new(self.render(data)),
            AnswerData::Rest(answer) => self.render_rest(&answer, cache)?,
            AnswerData::Rendered(data) => data,
        };
        let head = self.head(cited, stale_after_ms, &data.truncated);
        Ok(ToolResult { head, data })
    }

    fn render_rest(
        &self,
        answer: &RestAnswer,
        cache: &RenderedCache,
    ) -> Result<Arc<Rendered>, Refusal> {
        let cursor = self.cursor.as_ref().map(ToString::to_string).unwrap_or_default();
        let key = format!("{} {} {cursor}", self.bytes_max, self.url);
        let cached = answer.tag.as_ref().and_then(|tag| cache.get(&key, tag));
        if let Some(cached) = cached {
            return Ok(cached);
        }
        let mut data = answer.value()?;
        if self.paged.is_some() {
            remove_page_links(&mut data);
        }
        let rendered = Arc::new(self.render(data));
        if let Some(tag) = &answer.tag {
            cache.put(key, tag.clone(), &rendered);
        }
        Ok(rendered)
    }

    fn render(&self, mut data: Value) -> Rendered {
        crate::text::tidy(&mut data);
        let cursor = self.cursor.as_ref();
        if let Some(cursor) = cursor.filter(|cursor| self.paged != Some(&cursor.at)) {
            cursor.apply(&mut data);
        }
        let mut truncated = fit::fit(&mut data, self.bytes_max - ENVELOPE_BYTES, cursor);
        if let Some(list) = self.paged {
            mention_later_pages(&data, list, cursor, &mut truncated);
        }
        Rendered::new(&data, truncated)
    }

    fn head(&self, cited: Citation<'_>, stale_after_ms: u32, truncated: &[Truncation]) -> String {
        let state = &self.state;
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
            url: &self.url,
            notes: cited.notes,
            partial: cited.is_partial.then_some(PAST_IS_MISSING),
            truncated,
        };
        let mut head = serde_json::to_string(&envelope).unwrap_or_default();
        head.pop();
        head.push_str(",\"data\":");
        head
    }
}

impl ToolResult {
    /// The result as JSON.
    pub(crate) fn structured(&self) -> String {
        [&self.head, &self.data.json, "}"].concat()
    }

    /// The members `content`, `structuredContent` and `isError` of a result, as JSON.
    pub(crate) fn members(&self) -> String {
        let Rendered { json, escaped: text, .. } = &*self.data;
        let head = escaped(&self.head);
        [
            r#""content":[{"type":"text","text":""#,
            &head,
            text,
            r#"}"}],"structuredContent":"#,
            &self.head,
            json,
            r#"},"isError":false"#,
        ]
        .concat()
    }
}

/// The result in the types of the library: as structured content, and as the same JSON in text.
impl From<ToolResult> for CallToolResult {
    fn from(result: ToolResult) -> Self {
        let text = result.structured();
        let value = serde_json::from_str(&text).unwrap_or_default();
        let mut result = Self::success(vec![ContentBlock::text(text)]);
        result.structured_content = Some(value);
        result
    }
}

/// A result has a cursor instead of the links of REST's page.
pub(crate) fn remove_page_links(data: &mut Value) {
    if let Some(fields) = data.as_object_mut() {
        fields.remove("next");
        fields.remove("previous");
    }
}

/// A page is cut as well: the answer says how many rows there are, and how to go on.
fn mention_later_pages(
    data: &Value,
    list: &str,
    cursor: Option<&Cursor>,
    truncated: &mut Vec<Truncation>,
) {
    let skip = cursor.filter(|cursor| cursor.at == list).map_or(0, |cursor| cursor.skip);
    let shown = data.pointer(list).and_then(Value::as_array).map_or(0, Vec::len);
    let total = data["count"].as_u64().and_then(|count| usize::try_from(count).ok());
    truncated.retain(|cut| cut.at != list);
    if let Some(total) = total.filter(|total| skip + shown < *total) {
        let cursor = format!("{list}@{}", skip + shown);
        truncated.insert(0, Truncation { at: list.to_owned(), shown, total, cursor });
    }
}

/// One line to paste: `matchwire get_match_detail 204849 seq 813, 2026-11-22T14:05:09Z`.
fn cite(
    Citation { tool, id, .. }: Citation<'_>,
    position: Option<Position>,
    as_of: &str,
) -> String {
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

    fn answer(state: DataState, is_partial: bool) -> Value {
        let data = AnswerData::Value(json!({"home": "Alpha\u{202e} \"A\"", "away": null}));
        let url = "https://hub/api/v2/events/7/".to_owned();
        let (bytes_max, cursor, paged) = (RESULT_BYTES_MAX, None, None);
        let answer = Answer { data, state, url, bytes_max, cursor, paged };
        let notes = Notes::default();
        let cited = Citation { tool: "get_match_detail", id: Some(7), notes: &notes, is_partial };
        let result = answer.into_result(cited, 15_000, &RenderedCache::new(0)).unwrap();
        let members: Value = serde_json::from_str(&format!("{{{}}}", result.members())).unwrap();
        let structured = result.structured();
        assert_eq!(members["content"][0]["text"], structured);
        let value: Value = serde_json::from_str(&structured).unwrap();
        assert_eq!(members["structuredContent"], value);
        value
    }

    #[test]
    fn body_is_rendered_once_for_each_tag() {
        let cache = RenderedCache::new(10_000);
        let render = |body: &'static str, tag: &'static str| {
            let tag = Some(HeaderValue::from_static(tag));
            let data = AnswerData::Rest(RestAnswer { body: body.into(), tag });
            let url = "https://hub/api/v2/teams/".to_owned();
            let (bytes_max, cursor, paged) = (LIST_BYTES_MAX, None, Some("/results"));
            let answer = Answer { data, state: DataState::ARCHIVED, url, bytes_max, cursor, paged };
            let notes = Notes::default();
            let cited =
                Citation { tool: "search_teams", id: None, notes: &notes, is_partial: false };
            let result = answer.into_result(cited, 1, &cache);
            result.unwrap().data.json.clone()
        };
        let first = r#"{"count":1,"next":null,"results":[1]}"#;
        assert_eq!(render(first, "a"), r#"{"count":1,"results":[1]}"#);
        assert_eq!(render(r#"{"count":0,"results":[]}"#, "a"), r#"{"count":1,"results":[1]}"#);
        assert_eq!(render(r#"{"count":0,"results":[]}"#, "b"), r#"{"count":0,"results":[]}"#);
    }

    #[test]
    fn followed_match_has_position_age_and_citation() {
        let position = Some(Position { epoch: 36 * 36, seq: 813 });
        let now = clock::now();
        let state =
            DataState { feed: "live", source_at: Some(now), received_at: Some(now), position };
        let value = answer(state, false);
        assert_eq!(value["position"], json!({"epoch": "100", "seq": 813}));
        assert_eq!(value["data"], json!({"home": "Alpha \"A\""}));
        assert_eq!(value["stale_after_ms"], 15_000);
        assert!(value["age_ms"].as_i64().unwrap() >= 0);
        let cite = value["cite"].as_str().unwrap();
        assert!(cite.starts_with("matchwire get_match_detail 7 seq 813, 20"), "{cite}");
    }

    #[test]
    fn result_says_that_matches_are_missing_while_they_are() {
        assert_eq!(answer(DataState::ARCHIVED, false).get("partial"), None);
        let partial = answer(DataState::ARCHIVED, true)["partial"].clone();
        assert!(partial.as_str().is_some_and(|text| text.starts_with("past: ")), "{partial}");
    }

    #[test]
    fn archived_match_has_no_age() {
        let value = answer(DataState::ARCHIVED, false);
        assert_eq!(value["feed"], "archived");
        assert_eq!((value.get("age_ms"), value.get("position")), (None, None));
    }
}
