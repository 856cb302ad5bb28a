//! Moments in requests and answers.

use fanout::Micros;
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};

/// What a filter takes, for people.
pub const EXPECTED: &str = "a day as 2026-08-30 or a moment as 2026-08-30T18:00:00Z";

/// The begin of a day in UTC, or a moment.
#[must_use]
pub fn begin(text: &str) -> Option<Micros> {
    day(text).map_or_else(|| moment(text), midnight)
}

/// The end of a day in UTC, or just after a moment.
#[must_use]
pub fn end(text: &str) -> Option<Micros> {
    match day(text) {
        Some(day) => midnight(day.checked_add(1.day()).ok()?),
        None => moment(text)?.checked_add(1),
    }
}

/// `2026-08-30`.
#[must_use]
pub fn day(text: &str) -> Option<Date> {
    (text.len() == 10).then(|| text.parse().ok()).flatten()
}

fn midnight(day: Date) -> Option<Micros> {
    Some(day.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond())
}

/// ISO 8601; without an offset it is taken for UTC. A `+` that came as a blank is a `+`.
fn moment(text: &str) -> Option<Micros> {
    let text = text.replace(' ', "+");
    let moment: Option<Timestamp> = text.parse().ok().or_else(|| {
        let civil: jiff::civil::DateTime = text.parse().ok()?;
        Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp())
    });
    Some(moment?.as_microsecond())
}

/// `2026-07-31T00:30:00+00:00`, as dates of events are written.
#[must_use]
pub fn offset(at: Micros) -> Option<String> {
    let at = Timestamp::from_microsecond(at).ok()?;
    Some(at.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string())
}

/// `2026-07-31T00:30:00Z`, as times of odds and predictions are written.
#[must_use]
pub fn zulu(at: Micros) -> Option<String> {
    let at = Timestamp::from_microsecond(at).ok()?;
    Some(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_moments_are_read_and_written() {
        assert_eq!(begin("2026-08-30").and_then(zulu).unwrap(), "2026-08-30T00:00:00Z");
        assert_eq!(end("2026-08-30").and_then(zulu).unwrap(), "2026-08-31T00:00:00Z");
        let moment = begin("2026-08-30T20:00:00+02:00");
        assert_eq!(moment.and_then(offset).unwrap(), "2026-08-30T18:00:00+00:00");
        assert_eq!(begin("2026-08-30T18:00:00").unwrap(), moment.unwrap());
        assert_eq!(begin("yesterday"), None);
        assert_eq!(end("2026-02-30"), None);
    }
}
