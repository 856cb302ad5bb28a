//! What a file is, from how it begins.

use std::{io::Read, path::Path};

use super::{Format, OpenError, bytes};

/// A recording, or only what goes with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Recording(Format),
    Companion(Format),
    /// Messages of some format with the moments at which they came.
    Container,
}

/// How much of a file is looked at. The first line of a stream may be longer, but the keys that
/// tell it apart stand near its beginning; a line of garbage before it does no harm.
const HEAD_BYTES: u64 = 64 * 1024;

/// Looks at the beginning of a file, as far as it can be read.
pub(super) fn recognise(path: &Path) -> Result<Content, OpenError> {
    let io = |source| OpenError::Io { path: path.to_owned(), source };
    let mut head = Vec::new();
    let read = bytes::open(path).map_err(io)?.take(HEAD_BYTES).read_to_end(&mut head);
    if head.trim_ascii().is_empty() {
        read.map_err(io)?;
        return Err(OpenError::Empty { path: path.to_owned() });
    }
    of(&head).ok_or_else(|| OpenError::UnknownFormat { path: path.to_owned() })
}

/// Keys are searched for, not parsed: the head is cut somewhere, and a stream may be damaged where
/// it begins. The most particular key comes first.
fn of(head: &[u8]) -> Option<Content> {
    let holds = |key: &str| head.windows(key.len()).any(|window| window == key.as_bytes());
    let any = |keys: &[&str]| keys.iter().any(|key| holds(key));
    if holds("\"matchwire\":\"recording\"") {
        Some(Content::Container)
    } else if holds("\"fact\"") && holds("\"sport\"") {
        Some(Content::Recording(Format::Events))
    } else if any(&["\"eventSec\"", "\"matchPeriod\""]) {
        Some(Content::Recording(Format::Wyscout))
    } else if holds("\"teamsData\"") {
        Some(Content::Companion(Format::Wyscout))
    } else if any(&["\"op\"", "\"clk\"", "\"marketDefinition\""]) {
        Some(Content::Recording(Format::BetfairStream))
    } else if holds("match_id") && holds("PointNumber") {
        Some(Content::Recording(Format::SlamPointByPoint))
    } else if holds("match_id") && holds("player1") {
        Some(Content::Companion(Format::SlamPointByPoint))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(head: &str, expected: Option<Content>) {
        assert_eq!(of(head.as_bytes()), expected, "of {head}");
    }

    #[test]
    fn format_is_told_by_its_keys() {
        let betfair = Content::Recording(Format::BetfairStream);
        check(r#"{"op":"mcm","pt":1}"#, Some(betfair));
        check("}}garbage\n{\"pt\":1, \"clk\": \"a\"", Some(betfair));
        let wyscout = Format::Wyscout;
        check(r#"{"events": [{"eventSec": 1.0"#, Some(Content::Recording(wyscout)));
        check(r#"[{"wyId":1,"teamsData":{"#, Some(Content::Companion(wyscout)));
        let slam = Format::SlamPointByPoint;
        check("match_id,\"SetNo\",\"PointNumber\"\n", Some(Content::Recording(slam)));
        check("match_id,year,player1\n", Some(Content::Companion(slam)));
        let line = r#"{"at":1,"sport":"football","match":"m1","fact":{"fixture":{}}}"#;
        check(line, Some(Content::Recording(Format::Events)));
        check(r#"{"matchwire":"recording","version":1}"#, Some(Content::Container));
        check("date,home,away\n", None);
    }
}
