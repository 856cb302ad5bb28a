//! Betfair's in-play scores and event timelines.
//!
//! Two services, four answers: `scores` and `eventTimelines` of the in-play service (football, and
//! the scores of tennis), `listScores` and `listIncidents` of the Scores API (tennis). An answer
//! holds one event or a list of them, bare or as the `result` of JSON-RPC, of any of these kinds.
//! Values are mostly text. What is odd in an event is left out; an event that cannot be used costs
//! only itself.
//!
//! Ignored: booking points and counts that follow from others, the clock of the tennis match
//! (`eventTime`, `matchTime`, `utcTime`), the toss, serves and strokes as such, highlights, seeds and
//! broadcasts, and other sports.

mod board;
mod fields;
mod incident;

use serde_json::Value;

use self::fields::Fields;
use super::json_error;
use crate::error::{DecodeError, RefusalKind, Result};

pub use self::{
    board::{Board, Team, Update},
    incident::{DisplayedPoints, Kind, Reading, TennisIncident},
};

/// One response, event by event.
#[derive(Debug, Default)]
pub struct Answer {
    pub events: Vec<ScoresEvent>,
    /// Events that could not be used.
    pub refused: Vec<DecodeError>,
}

#[derive(Debug)]
pub struct ScoresEvent {
    /// `eventId`, the same as in the stream.
    pub id: String,
    /// `eventTypeId`: "1" is football, "2" tennis.
    pub event_type: Option<String>,
    pub content: EventContent,
}

#[derive(Debug)]
pub enum EventContent {
    /// A tennis match stroke by stroke, in order.
    Incidents { incidents: Vec<TennisIncident>, status: Option<String> },
    /// The current state of a tennis match.
    Score { incident: Box<TennisIncident>, status: Option<String> },
    /// The current state of a match of any sport, with the updates so far if it is a timeline.
    Board(Box<Board>),
    /// There is no data about the event.
    Nothing,
}

/// The most events of one response. A poll requests a few; Betfair allows a hundred.
const EVENTS_MAX: usize = 1000;

/// Reads one answer.
///
/// # Errors
///
/// When it is not JSON, is an error itself, or contains no events.
pub fn decode(bytes: &[u8]) -> Result<Answer> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| json_error(&error))?;
    let mut answer = Answer::default();
    match envelope(&value)? {
        Value::Array(events) => {
            for event in events.iter().take(EVENTS_MAX) {
                answer.take(envelope(event)?);
            }
            if events.len() > EVENTS_MAX {
                let reason = format!("{} events in one answer", events.len());
                answer.refused.push(value_error(reason));
            }
        }
        event => answer.take(event),
    }
    match answer.refused.pop() {
        Some(refused) if answer.events.is_empty() => Err(refused),
        refused => {
            answer.refused.extend(refused);
            Ok(answer)
        }
    }
}

/// What a JSON-RPC envelope holds; anything else as it is.
fn envelope(value: &Value) -> Result<&Value> {
    let Some(fields) = Fields::from_value(value) else { return Ok(value) };
    if let Some(error) = ["error", "faultstring"].iter().find(|key| fields.has(key)) {
        let message = fields.object(error).and_then(|error| error.owned("message"));
        let message = message.or_else(|| fields.owned(error)).unwrap_or_default();
        return Err(value_error(format!("the answer is an error: {message}")));
    }
    Ok(value.get("result").unwrap_or(value))
}

impl Answer {
    fn take(&mut self, value: &Value) {
        if let Value::Array(events) = value {
            return events.iter().take(EVENTS_MAX).for_each(|event| self.event(event));
        }
        self.event(value);
    }

    fn event(&mut self, value: &Value) {
        match event(value) {
            Ok(event) => self.events.push(event),
            Err(refused) => self.refused.push(refused),
        }
    }
}

fn event(value: &Value) -> Result<ScoresEvent> {
    let missing = |what: &str| value_error(format!("{what} is missing"));
    let fields = Fields::from_value(value).ok_or_else(|| missing("an event"))?;
    let id = fields.owned("eventId").ok_or_else(|| missing("eventId"))?;
    let status = fields.owned("eventStatus");
    let content = if let Some(incidents) = fields.object("incidents") {
        EventContent::Incidents { incidents: incident::all(incidents), status }
    } else if fields.has("values") {
        let incident = incident::one(fields, None);
        let incident = incident.ok_or_else(|| missing(&format!("updateSequence of event {id}")))?;
        EventContent::Score { incident: Box::new(incident), status }
    } else if ["score", "updateDetails", "inPlayMatchStatus"].iter().any(|key| fields.has(key)) {
        EventContent::Board(Box::new(Board::new(fields)))
    } else if fields.has("responseCode") {
        EventContent::Nothing
    } else {
        return Err(missing(&format!("what is known of event {id}")));
    };
    Ok(ScoresEvent { id, event_type: fields.owned("eventTypeId"), content })
}

fn value_error(reason: String) -> DecodeError {
    DecodeError::new(RefusalKind::Value, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let summary = match decode(text.as_bytes()) {
            Err(error) => format!("! {}", error.reason),
            Ok(answer) => {
                let events = answer.events.iter().map(|event| {
                    let kind = match &event.content {
                        EventContent::Incidents { incidents, .. } => {
                            format!("{}i", incidents.len())
                        }
                        EventContent::Score { .. } => "score".to_owned(),
                        EventContent::Board(board) if board.updates.is_some() => {
                            "timeline".to_owned()
                        }
                        EventContent::Board(_) => "board".to_owned(),
                        EventContent::Nothing => "nothing".to_owned(),
                    };
                    format!("{}:{kind} ", event.id)
                });
                let refused = answer.refused.iter().map(|it| format!("({}) ", it.reason));
                events.chain(refused).collect()
            }
        };
        assert_eq!(summary.trim(), expected, "of {text}");
    }

    #[test]
    fn all_forms_of_a_response_are_decoded() {
        check(r#"{"eventId":5,"score":{}}"#, "5:board");
        check(
            r#"[{"eventId":"5","score":{}},{"eventId":6,"updateDetails":[]}]"#,
            "5:board 6:timeline",
        );
        check(r#"{"jsonrpc":"2.0","result":[{"eventId":"7","incidents":{}}]}"#, "7:0i");
        check(r#"[{"result":[{"eventId":"7","responseCode":"NO_NEW_UPDATES"}]}]"#, "7:nothing");
        let score = r#"[{"eventId":"8","updateContext":{"updateSequence":4},"values":{}}]"#;
        check(score, "8:score");
    }

    #[test]
    fn unusable_event_is_skipped_alone() {
        check(
            r#"[{"eventId":5,"score":{}},{"score":{}},7]"#,
            "5:board (eventId is missing) (an event is missing)",
        );
        check(r#"[{"score":{}}]"#, "! eventId is missing");
        check(r#"{"error":{"message":"ANGX-0003"}}"#, "! the answer is an error: ANGX-0003");
        check("[]", "");
    }
}
