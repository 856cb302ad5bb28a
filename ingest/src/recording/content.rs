//! What a file is, from how it begins.

use std::{io::Read, path::Path};

use memchr::memmem;

use super::{Format, OpenError, bytes};
use crate::decode::api_football::PARTS;

/// A recording, or only what goes with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Recording(Format),
    Companion(Format),
    /// What goes with a recording, and can be played by itself.
    Either(Format),
    /// Messages of some format with the moments at which they came.
    Container,
}

/// How much of a file is looked at. The first line of a stream may be longer, but the keys that
/// tell it apart stand near its beginning; a line of garbage before it does no harm.
const HEAD_BYTES: u64 = 64 * 1024;

/// Looks at the beginning of a file, as far as it can be read.
pub(super) fn recognise(path: &Path) -> Result<Content, OpenError> {
    by_head(&head(path)?).ok_or_else(|| OpenError::UnknownFormat { path: path.to_owned() })
}

/// The beginning of a file, as far as it can be read.
pub(super) fn head(path: &Path) -> Result<Vec<u8>, OpenError> {
    let io = |source| OpenError::Io { path: path.to_owned(), source };
    let mut head = Vec::new();
    let read = bytes::open(path).map_err(io)?.take(HEAD_BYTES).read_to_end(&mut head);
    if head.trim_ascii().is_empty() {
        read.map_err(io)?;
        return Err(OpenError::Empty { path: path.to_owned() });
    }
    Ok(head)
}

/// How the roots of the messages of the Unified Odds Feed begin.
const UOF_ROOTS: [&str; 15] = [
    "<odds_change",
    "<bet_stop",
    "<bet_settlement",
    "<bet_cancel",
    "<rollback_bet_settlement",
    "<rollback_bet_cancel",
    "<fixture_change",
    "<fixtures_fixture",
    "<snapshot_complete",
    "<alive ",
    "<schedule",
    "<match_summary",
    "<match_timeline",
    "<product_down",
    "<cashout",
];

/// Keys are searched for, not parsed: the head is cut somewhere, and a stream may be damaged where
/// it begins. The most particular key comes first.
fn by_head(head: &[u8]) -> Option<Content> {
    let holds = |key: &str| memmem::find(head, key.as_bytes()).is_some();
    let any = |keys: &[&str]| keys.iter().any(|key| holds(key));
    let all = |keys: &[&str]| keys.iter().all(|key| holds(key));
    if holds("\"matchwire\":\"recording\"") {
        Some(Content::Container)
    } else if holds("\"fact\"") && holds("\"sport\"") {
        Some(Content::Recording(Format::Events))
    } else if any(&["\"eventSec\"", "\"matchPeriod\""]) {
        Some(Content::Recording(Format::Wyscout))
    } else if holds("\"teamsData\"") {
        Some(Content::Companion(Format::Wyscout))
    } else if holds("\"parameters\"") && holds("\"response\"") && holds("\"errors\"") {
        let endpoint = endpoint(head);
        let is_part = PARTS.iter().any(|(part, _)| endpoint.as_deref() == Some(part.as_bytes()));
        let content = if is_part { Content::Companion } else { Content::Recording };
        Some(content(Format::ApiFootball))
    } else if holds("\"possession_team\"") && holds("\"play_pattern\"") {
        Some(Content::Recording(Format::StatsBomb))
    } else if holds("\"matchInfo\"") && holds("\"contestant\"") {
        let events = holds("\"event\"") && holds("\"typeId\"");
        let content = if events { Content::Recording } else { Content::Either };
        Some(content(Format::StatsPerform))
    } else if holds("<matchInfo ") && holds("<contestant ") {
        let events = holds("<event ") && holds("typeId=");
        let content = if events { Content::Recording } else { Content::Either };
        Some(content(Format::StatsPerform))
    } else if all(&["\"lineup\"", "\"player_nickname\""])
        || all(&["\"match_date\"", "\"home_team_id\"", "\"competition_id\""])
    {
        Some(Content::Companion(Format::StatsBomb))
    } else if any(&["\"op\"", "\"clk\"", "\"marketDefinition\""]) {
        Some(Content::Recording(Format::BetfairStream))
    } else if holds("\"marketId\"")
        && any(&["\"selectionId\"", "\"totalMatched\"", "\"isMarketDataDelayed\""])
    {
        Some(Content::Recording(Format::BetfairMarketBook))
    } else if holds("\"eventTypeId\"")
        && any(&[
            "\"updateContext\"",
            "\"updateDetails\"",
            "\"bookingPoints\"",
            "\"halfTimeScore\"",
            "\"gameSequence\"",
        ])
    {
        Some(Content::Recording(Format::BetfairScores))
    } else if holds("pbp_id") && holds("server1") {
        Some(Content::Recording(Format::PointByPointStrings))
    } else if holds("match_id") && holds("PointNumber") {
        Some(Content::Recording(Format::SlamPointByPoint))
    } else if holds("match_id") && holds("player1") {
        Some(Content::Companion(Format::SlamPointByPoint))
    } else if holds("\"sport_key\"") {
        Some(Content::Recording(Format::TheOddsApi))
    } else if (holds("HomeTeam") && holds("AwayTeam")) || holds("Country,League,Season,Date") {
        Some(Content::Recording(Format::FootballDataCoUk))
    } else if any(&UOF_ROOTS) {
        Some(Content::Recording(Format::SportradarUof))
    } else {
        None
    }
}

/// The endpoint that an answer of API-Football is of: `"get": "fixtures/events"`, the slash perhaps escaped.
fn endpoint(head: &[u8]) -> Option<Vec<u8>> {
    const KEY: &[u8] = b"\"get\"";
    let value = head[memmem::find(head, KEY)? + KEY.len()..].trim_ascii_start();
    let value = value.strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"\"")?;
    let end = memchr::memchr(b'"', value)?;
    Some(value[..end].iter().filter(|byte| **byte != b'\\').copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(head: &str, expected: Option<Content>) {
        assert_eq!(by_head(head.as_bytes()), expected, "of {head}");
    }

    #[test]
    fn format_is_recognised_by_its_keys() {
        let betfair = Content::Recording(Format::BetfairStream);
        check(r#"{"op":"mcm","pt":1}"#, Some(betfair));
        check("}}garbage\n{\"pt\":1, \"clk\": \"a\"", Some(betfair));
        let wyscout = Format::Wyscout;
        check(r#"{"events": [{"eventSec": 1.0"#, Some(Content::Recording(wyscout)));
        check(r#"[{"wyId":1,"teamsData":{"#, Some(Content::Companion(wyscout)));
        let statsbomb = Format::StatsBomb;
        let event = r#"[{"id":"a","possession_team":{},"play_pattern":{},"tactics":{"lineup":[]}"#;
        check(event, Some(Content::Recording(statsbomb)));
        let line_up = r#"[{"team_id":1,"lineup":[{"player_nickname":null"#;
        check(line_up, Some(Content::Companion(statsbomb)));
        let matches = r#"[{"match_id":5,"match_date":"2018-08-18","competition":{"competition_id":11},"home_team":{"home_team_id":1"#;
        check(matches, Some(Content::Companion(statsbomb)));
        let ma3 = r#"{"matchInfo":{"contestant":[]},"liveData":{"event":[{"typeId":34"#;
        check(ma3, Some(Content::Recording(Format::StatsPerform)));
        let ma1 = r#"{"matchInfo":{"contestant":[]},"liveData":{"goal":[]}}"#;
        check(ma1, Some(Content::Either(Format::StatsPerform)));
        let ma1 = r#"<match><matchInfo id="m"><contestants><contestant id="1""#;
        check(ma1, Some(Content::Either(Format::StatsPerform)));
        let ma3 = format!("{ma1}\"/></contestants></matchInfo><events><event typeId=\"1");
        check(&ma3, Some(Content::Recording(Format::StatsPerform)));
        let answer = r#"{"get":"fixtures","parameters":{},"errors":[],"response":["#;
        check(answer, Some(Content::Recording(Format::ApiFootball)));
        let part =
            r#"{"get": "fixtures\/events","parameters":{"fixture":"1"},"errors":[],"response":["#;
        check(part, Some(Content::Companion(Format::ApiFootball)));
        let odds = r#"{"get":"odds/live","parameters":[],"errors":[],"response":["#;
        check(odds, Some(Content::Recording(Format::ApiFootball)));
        let slam = Format::SlamPointByPoint;
        check("match_id,\"SetNo\",\"PointNumber\"\n", Some(Content::Recording(slam)));
        check("match_id,year,player1\n", Some(Content::Companion(slam)));
        let the_odds_api = Content::Recording(Format::TheOddsApi);
        check(r#"[{"id":"a","sport_key":"soccer_epl""#, Some(the_odds_api));
        let football_data = Content::Recording(Format::FootballDataCoUk);
        check("Div,Date,HomeTeam,AwayTeam,FTHG\n", Some(football_data));
        check("Country,League,Season,Date,Time,Home,Away\n", Some(football_data));
        let uof = Content::Recording(Format::SportradarUof);
        check("<?xml version=\"1.0\"?>\n<bet_cancel end_time=\"1\"", Some(uof));
        check(r#"<product_down product="1"/>"#, Some(uof));
        check("<html>", None);
        let book = Content::Recording(Format::BetfairMarketBook);
        check(r#"{"result":[{"marketId":"1.5","isMarketDataDelayed":false"#, Some(book));
        let scores = Content::Recording(Format::BetfairScores);
        check(r#"{"eventTypeId":1,"score":{"home":{"halfTimeScore":""#, Some(scores));
        check(r#"[{"eventTypeId":"2","incidents":{"0":{"updateContext":{"#, Some(scores));
        let strings = Content::Recording(Format::PointByPointStrings);
        check("pbp_id,date,tny_name,server1,server2\n", Some(strings));
        let line = r#"{"at":1,"sport":"football","match":"m1","fact":{"fixture":{}}}"#;
        check(line, Some(Content::Recording(Format::Events)));
        check(r#"{"matchwire":"recording","version":1}"#, Some(Content::Container));
        check("date,home,away\n", None);
    }
}
