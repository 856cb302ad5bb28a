//! `teams/{id}/calendar/`: a team's matches for calendar programs, as RFC 5545 writes them.

use hyper::{
    StatusCode,
    header::{CONTENT_TYPE, HeaderValue},
};
use jiff::Timestamp;

use super::{request, snapshot::Matches, teams::FixtureParams};
use crate::rest::{ApiRequest, ApiResult, CacheControl};
use base::Micros;
use history::query::{EntityKind, MatchQuery, Window};
use record::{MatchSummary, Status};

/// Without `date_from`, matches of this time before now.
const PAST_US: Micros = 365 * 24 * 60 * 60 * 1_000_000;

/// Events in a calendar, at most: several seasons of a team.
const EVENTS_MAX: usize = 500;

/// Octets of a line without its end, at most; a longer one is folded.
const LINE_MAX: usize = 75;

endpoints! {
    /// Its matches for calendar programs, as `text/calendar`: those of the last year and all to come, at most 500. Matches without a
    /// known day are left out.
    "/api/v2/teams/{id}/calendar/", params(request::spec(&[FixtureParams::PARAMS])),
        answers(String, content_type = "text/calendar"), |request| calendar(&request);
}

fn calendar(request: &ApiRequest) -> ApiResult {
    let (matches, team) = Matches::for_entity(request, EntityKind::Team)?;
    let query = MatchQuery {
        team: Some(team.id),
        window: Window { offset: 0, limit: EVENTS_MAX },
        ..request.match_query(&FixtureParams::read(&request.params)?)?
    };
    let from = query.from.or_else(|| query.before.is_none().then_some(matches.now - PAST_US));
    let found = matches.find(&MatchQuery { from, ..query });
    let url = request.page_url().base();
    let mut calendar = Calendar::new(&team.name);
    for summary in &found.summaries {
        calendar.event(&matches, summary, &url);
    }
    let body = calendar.finish().into();
    let mut response = CacheControl::REFERENCE.answer_bytes(request.headers(), body);
    if response.status() == StatusCode::OK {
        let kind = HeaderValue::from_static("text/calendar; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    Ok(request.name_ignored(response))
}

/// A calendar while it is written.
struct Calendar {
    text: String,
}

impl Calendar {
    fn new(name: &str) -> Self {
        let mut calendar = Self { text: String::new() };
        for (property, value) in [
            ("BEGIN", "VCALENDAR"),
            ("VERSION", "2.0"),
            ("PRODID", "-//Matchwire//Matches of a team//EN"),
            ("CALSCALE", "GREGORIAN"),
            ("METHOD", "PUBLISH"),
            ("REFRESH-INTERVAL;VALUE=DURATION", "PT1H"),
        ] {
            calendar.line(property, value);
        }
        calendar.line("X-WR-CALNAME", &escaped(name));
        calendar
    }

    /// Adds a match. One without a start has no place in a calendar.
    fn event(&mut self, matches: &Matches<'_>, summary: &MatchSummary, url: &str) {
        let Some(start) = summary.start else { return };
        let Some(times) = EventTimes::new(start, summary.day_only, summary.updated) else { return };
        let name = |side: usize| summary.sides.map(|sides| matches.team_name(sides[side]));
        let sides = [name(0), name(1)].map(Option::unwrap_or_default);
        let league = summary.competition.map(|it| matches.name(EntityKind::Competition, it));
        let round = summary.round_name.as_deref().map(ToOwned::to_owned);
        let round = round.or_else(|| summary.round.map(|round| format!("Round {round}")));
        let about: Vec<_> = [league, round].into_iter().flatten().collect();
        self.line("BEGIN", "VEVENT");
        // The same for all time, at any address of the hub.
        self.line("UID", &format!("match-{}@matchwire", summary.id));
        self.line("DTSTAMP", &times.changed);
        self.line("LAST-MODIFIED", &times.changed);
        self.line(times.start_property, &times.start);
        if !summary.day_only {
            self.line("DURATION", "PT2H");
        }
        self.line("SUMMARY", &escaped(&title(&sides, summary)));
        if let Some(venue) = summary.venue.map(|venue| matches.name(EntityKind::Venue, venue)) {
            self.line("LOCATION", &escaped(&venue));
        }
        if !about.is_empty() {
            self.line("DESCRIPTION", &escaped(&about.join(", ")));
        }
        self.line("URL", &format!("{url}/match/football/{}/", summary.id));
        self.line("STATUS", status(summary.status));
        self.line("TRANSP", "TRANSPARENT");
        self.line("END", "VEVENT");
    }

    fn finish(mut self) -> String {
        self.line("END", "VCALENDAR");
        self.text
    }

    /// Adds a content line, folded: a line that goes on begins with a blank.
    fn line(&mut self, property: &str, value: &str) {
        let mut octets = 0;
        for c in property.chars().chain([':']).chain(value.chars()) {
            if octets + c.len_utf8() > LINE_MAX {
                self.text.push_str("\r\n ");
                octets = 1;
            }
            self.text.push(c);
            octets += c.len_utf8();
        }
        self.text.push_str("\r\n");
    }
}

/// The times of an event, as the format writes them.
struct EventTimes {
    start_property: &'static str,
    start: String,
    changed: String,
}

impl EventTimes {
    /// `None` of times that there are not.
    fn new(start: Micros, day_only: bool, changed: Micros) -> Option<Self> {
        let at = |at: Micros| Timestamp::from_microsecond(at).ok();
        let utc = |at: Timestamp| at.strftime("%Y%m%dT%H%M%SZ").to_string();
        let start = at(start)?;
        let (start_property, start) = if day_only {
            ("DTSTART;VALUE=DATE", start.strftime("%Y%m%d").to_string())
        } else {
            ("DTSTART", utc(start))
        };
        Some(Self { start_property, start, changed: utc(at(changed)?) })
    }
}

/// `Alpha v Beta`, with the score once there is a result: `Alpha 2-1 Beta`.
fn title([home, away]: &[String; 2], summary: &MatchSummary) -> String {
    match summary.score.filter(|_| summary.status.has_result()) {
        Some([one, other]) => format!("{home} {one}-{other} {away}"),
        None => format!("{home} v {away}"),
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Cancelled | Status::Abandoned => "CANCELLED",
        Status::Postponed => "TENTATIVE",
        _ => "CONFIRMED",
    }
}

/// A text without the signs that the format gives a meaning, and without control characters.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\\' | ';' | ',' => escaped.extend(['\\', c]),
            '\n' => escaped.push_str("\\n"),
            c if c.is_control() => {}
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_escaped_and_lines_folded() {
        assert_eq!(escaped("a,b;c\\d\r\ne\u{7}"), "a\\,b\\;c\\\\d\\ne");
        let mut calendar = Calendar { text: String::new() };
        calendar.line("SUMMARY", &"ö".repeat(50));
        let lines: Vec<_> = calendar.text.split_terminator("\r\n").collect();
        assert_eq!(lines.iter().map(|line| line.len()).collect::<Vec<_>>(), [74, 35]);
        assert!(lines[1].starts_with(' '));
    }

    #[test]
    fn day_without_a_time_is_a_day() {
        let noon = 1_788_091_200_000_000;
        let times = |day_only| EventTimes::new(noon, day_only, noon).unwrap();
        assert_eq!(
            (times(true).start_property, &*times(true).start),
            ("DTSTART;VALUE=DATE", "20260830")
        );
        assert_eq!(
            (times(false).start_property, &*times(false).start),
            ("DTSTART", "20260830T120000Z")
        );
        assert_eq!(times(true).changed, "20260830T120000Z");
    }

    proptest! {
        #[test]
        fn folded_lines_are_short_and_whole(value in "\\PC{0,300}") {
            let mut calendar = Calendar { text: String::new() };
            calendar.line("DESCRIPTION", &escaped(&value));
            prop_assert!(calendar.text.ends_with("\r\n"));
            let lines = calendar.text.split_terminator("\r\n");
            prop_assert!(lines.clone().all(|line| line.len() <= LINE_MAX));
            let unfolded = calendar.text.replace("\r\n ", "");
            prop_assert_eq!(unfolded, format!("DESCRIPTION:{}\r\n", escaped(&value)));
        }
    }
}
