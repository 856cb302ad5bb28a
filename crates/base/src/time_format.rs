//! Dates and times as text, in requests, responses and frames.

use crate::Micros;
use jiff::{Timestamp, civil::Date, tz::TimeZone};

/// The expected format, for error messages.
pub const EXPECTED: &str = "a day as 2026-08-30 or a moment as 2026-08-30T18:00:00Z";

/// The beginning of a day in UTC, or a timestamp.
#[must_use]
pub fn begin(text: &str) -> Option<Micros> {
    begin_in(text, &TimeZone::UTC)
}

/// The end of a day in UTC, or just after a timestamp.
#[must_use]
pub fn end(text: &str) -> Option<Micros> {
    end_in(text, &TimeZone::UTC)
}

/// The beginning of a day in a zone, or a timestamp, which is of the zone if it has no offset.
#[must_use]
pub fn begin_in(text: &str, zone: &TimeZone) -> Option<Micros> {
    day(text).map_or_else(|| moment(text, zone), |day| Some(midnight(day, zone)))
}

/// The end of a day in a zone, or just after a timestamp, which is of the zone if it has no offset.
#[must_use]
pub fn end_in(text: &str, zone: &TimeZone) -> Option<Micros> {
    match day(text) {
        Some(day) => Some(midnight(day.tomorrow().unwrap_or(Date::MAX), zone)),
        None => moment(text, zone)?.checked_add(1),
    }
}

/// `2026-08-30`.
#[must_use]
pub fn day(text: &str) -> Option<Date> {
    (text.len() == 10).then(|| text.parse().ok()).flatten()
}

/// The last representable day begins after the last timestamp.
fn midnight(day: Date, zone: &TimeZone) -> Micros {
    let begin = day.to_zoned(zone.clone()).map_or(Timestamp::MAX, |day| day.timestamp());
    begin.as_microsecond()
}

/// ISO 8601, in the zone if there is no offset. A `+` that arrives as a blank is read as `+`, except between date
/// and time, where it stands for `T`.
fn moment(text: &str, zone: &TimeZone) -> Option<Micros> {
    let (day, rest) = text.split_at_checked(10)?;
    let text = match rest.strip_prefix(' ') {
        Some(time) => format!("{day}T{}", time.replace(' ', "+")),
        None => text.replace(' ', "+"),
    };
    let moment: Option<Timestamp> = text.parse().ok().or_else(|| {
        let civil: jiff::civil::DateTime = text.parse().ok()?;
        Some(civil.to_zoned(zone.clone()).ok()?.timestamp())
    });
    Some(moment?.as_microsecond())
}

/// `2026-07-31T00:30:00+00:00`, the format of event dates.
#[must_use]
pub fn offset(at: Micros) -> Option<String> {
    let at = Timestamp::from_microsecond(at).ok()?;
    Some(at.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string())
}

/// `2026-07-31T00:30:00Z`, the format of times in odds and predictions.
#[must_use]
pub fn zulu(at: Micros) -> Option<String> {
    let at = Timestamp::from_microsecond(at).ok()?;
    Some(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_and_times_are_parsed_and_formatted() {
        assert_eq!(begin("2026-08-30").and_then(zulu).unwrap(), "2026-08-30T00:00:00Z");
        assert_eq!(end("2026-08-30").and_then(zulu).unwrap(), "2026-08-31T00:00:00Z");
        let moment = begin("2026-08-30T20:00:00+02:00");
        assert_eq!(moment.and_then(offset).unwrap(), "2026-08-30T18:00:00+00:00");
        for same in ["2026-08-30T18:00:00", "2026-08-30 18:00:00", "2026-08-30 18:00:00 00:00"] {
            assert_eq!(begin(same), moment, "{same}");
        }
        assert_eq!(begin("2026-08-30T20:00:00 02:00"), moment);
        assert_eq!(end("9999-12-31"), Some(Timestamp::MAX.as_microsecond()));
        let tokyo = TimeZone::get("Asia/Tokyo").expect("a known zone");
        let in_tokyo = |text: &str| [begin_in(text, &tokyo), end_in(text, &tokyo)];
        assert_eq!(in_tokyo("2026-08-30T20:00:00+02:00"), [moment, moment.map(|at| at + 1)]);
        assert_eq!(in_tokyo("2026-08-31T03:00:00"), [moment, moment.map(|at| at + 1)]);
        let day = in_tokyo("2026-08-31").map(|at| at.and_then(zulu).unwrap());
        assert_eq!(day, ["2026-08-30T15:00:00Z", "2026-08-31T15:00:00Z"]);
        let new_york = TimeZone::get("America/New_York").expect("a known zone");
        assert_eq!(end_in("9999-12-31", &new_york), Some(Timestamp::MAX.as_microsecond()));
        assert_eq!(begin("yesterday"), None);
        assert_eq!(end("2026-02-30"), None);
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in ".{0,30}", digits in "[0-9TZ:+. -]{0,30}") {
            for text in [&text, &digits] {
                let span = begin(text).zip(end(text));
                prop_assert!(span.is_none_or(|(begin, end)| begin <= end), "{text}");
            }
        }

        #[test]
        fn formatted_times_are_parsed(second in -62_000_000_000_i64..253_000_000_000) {
            let at = second * 1_000_000;
            for text in [offset(at), zulu(at)] {
                let text = text.expect("a moment that there is");
                prop_assert_eq!(begin(&text), Some(at), "{}", text);
                prop_assert_eq!(end(&text), Some(at + 1), "{}", text);
            }
        }
    }
}
