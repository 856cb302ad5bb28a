//! Answers of The Odds API v4: odds of a sport, odds of an event, scores, events, and the historical
//! wrapper around any of them.
//!
//! Format: the-odds-api.com/liveapi/guides/v4. What a body is follows from its shape: a list, one
//! event, or `{timestamp, data}` around one of these. Everything is optional but the ids, and what
//! is wrong costs only the smallest list item that it stands in. Ignored: links, bet limits, source
//! ids, `multipliers`, and the times of the neighbours of a historical answer.

mod wire;

use facts::event::Micros;
use rust_decimal::Decimal;

use crate::error::{DecodeError, RefusalKind, Result};

/// The whole of one answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// When a historical answer was so; the others do not say.
    pub timestamp: Option<Micros>,
    pub is_list: bool,
    /// An event of the list could not be used: then it does not say what is no longer offered.
    pub has_gaps: bool,
    pub events: Vec<OddsApiEvent>,
    /// What in it could not be used; never more than [`NOTICES_MAX`].
    pub notices: Vec<DecodeError>,
}

/// Notices stored per response: enough to see what is wrong with it.
pub const NOTICES_MAX: usize = 100;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct OddsApiEvent {
    pub id: String,
    pub sport_key: String,
    pub sport_title: Option<String>,
    pub commence: Option<Micros>,
    /// Absent, as the away side, in outrights.
    pub home: Option<String>,
    pub away: Option<String>,
    /// `None` where the answer is not about odds.
    pub bookmakers: Option<Vec<Bookmaker>>,
    /// `None` where the answer is not about scores.
    pub result: Option<EventResult>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bookmaker {
    pub key: String,
    /// Absent in the odds of one event.
    pub last_update: Option<Micros>,
    pub markets: Vec<Market>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Market {
    /// `h2h`, `totals`, `spreads`, ...
    pub key: String,
    /// Absent in older historical answers.
    pub last_update: Option<Micros>,
    pub outcomes: Vec<OddsApiOutcome>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct OddsApiOutcome {
    pub name: String,
    /// The player of a player market.
    pub description: Option<String>,
    /// Decimal or American, as requested.
    pub price: Option<Decimal>,
    pub point: Option<Decimal>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct EventResult {
    pub completed: bool,
    /// By name of the side; `None` before the start.
    pub scores: Option<Vec<(String, String)>>,
    pub last_update: Option<Micros>,
}

/// Reads the body of an answer.
///
/// # Errors
///
/// If it is not JSON of one of the shapes, or says that the request was refused.
pub fn decode(body: &[u8]) -> Result<Answer> {
    let mut answer = wire::answer(body)?;
    let dropped = answer.notices.len().saturating_sub(NOTICES_MAX);
    if dropped > 0 {
        answer.notices.truncate(NOTICES_MAX - 1);
        let reason = format!("{} more values could not be used", dropped + 1);
        answer.notices.push(DecodeError::new(RefusalKind::Value, reason));
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = r#"{"id":"e1","sport_key":"soccer_epl","commence_time":"2024-03-21T23:00:00Z",
        "home_team":"A","away_team":"B","bookmakers":[{"key":"b","title":"B","markets":[
        {"key":"totals","outcomes":[{"name":"Over","price":1.90,"point":2.50},
        {"name":"Under","price":"x"},17]},{"key":5}]}]}"#;

    #[test]
    fn response_shapes_are_distinguished() {
        let check = |body: String, is_list: bool, timestamp: Option<Micros>| {
            let answer = decode(body.as_bytes()).unwrap();
            assert_eq!((answer.is_list, answer.timestamp), (is_list, timestamp), "{body}");
            assert_eq!(answer.events.len(), 1, "{body}");
        };
        let stamp = r#""timestamp":"1970-01-01T00:00:01Z","previous_timestamp":null"#;
        check(format!("[{EVENT}]"), true, None);
        check(EVENT.to_owned(), false, None);
        check(format!(r#"{{{stamp},"data":[{EVENT}]}}"#), true, Some(1_000_000));
        check(format!(r#"{{{stamp},"data":{EVENT}}}"#), false, Some(1_000_000));
    }

    #[test]
    fn invalid_values_are_dropped_alone() {
        let answer = decode(EVENT.as_bytes()).unwrap();
        let bookmaker = &answer.events[0].bookmakers.as_ref().unwrap()[0];
        assert_eq!(bookmaker.markets.len(), 1);
        let outcomes = &bookmaker.markets[0].outcomes;
        assert_eq!(outcomes.len(), 2);
        assert_eq!(outcomes[0].price.unwrap().to_string(), "1.9");
        assert_eq!(outcomes[0].point.unwrap().to_string(), "2.5");
        assert_eq!(outcomes[1].price, None);
        assert_eq!(answer.notices.len(), 3, "{:?}", answer.notices);
    }

    #[test]
    fn list_with_gaps_is_marked() {
        let has_gaps = |body: &str| decode(body.as_bytes()).map(|answer| answer.has_gaps);
        assert_eq!(has_gaps("[]"), Ok(false));
        assert_eq!(has_gaps(&format!("[{EVENT},1]")), Ok(true));
        let sports = has_gaps(r#"[{"key":"soccer_epl","group":"Soccer"}]"#).unwrap_err();
        assert!(sports.reason.starts_with("missing field `id`"), "{}", sports.reason);
    }

    #[test]
    fn refused_request_gives_the_reason() {
        let error = decode(br#"{"message":"Usage quota has been reached","error_code":"X"}"#);
        assert_eq!(error.unwrap_err().reason, "the answer is \"Usage quota has been reached\"");
        assert_eq!(decode(b"{}").unwrap_err().reason, "the answer is of no known shape");
        assert_eq!(decode(b"[{").unwrap_err().kind, RefusalKind::Truncated);
    }

    #[test]
    fn times_are_iso_or_seconds() {
        for (time, expected) in [
            (r#""1970-01-01T00:01:00Z""#, Some(60_000_000)),
            ("60", Some(60_000_000)),
            ("null", None),
            (r#""soon""#, None),
        ] {
            let body = format!(r#"{{"id":"e","sport_key":"s","commence_time":{time}}}"#);
            assert_eq!(decode(body.as_bytes()).unwrap().events[0].commence, expected, "{time}");
        }
    }

    #[test]
    fn notices_are_limited() {
        let body = format!(r#"[{}{{"id":"e","sport_key":"s"}}]"#, "1,".repeat(501));
        let answer = decode(body.as_bytes()).unwrap();
        assert_eq!(answer.notices.len(), NOTICES_MAX);
        assert_eq!(answer.notices.last().unwrap().reason, "402 more values could not be used");
    }
}
