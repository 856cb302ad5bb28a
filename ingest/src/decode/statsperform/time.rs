//! Times as the provider writes them.

use facts::event::Micros;
use jiff::{Timestamp, civil, tz::TimeZone};

/// `2021-09-11T18:30:06Z`, with milliseconds or without; one without a zone is UTC as well.
pub(super) fn instant(text: &str) -> Option<Micros> {
    let zoned = text.parse::<Timestamp>().ok();
    let civil = || text.parse::<civil::DateTime>().ok()?.to_zoned(TimeZone::UTC).ok();
    Some(zoned.or_else(|| Some(civil()?.timestamp()))?.as_microsecond())
}

/// `2021-09-11Z`.
pub(super) fn date(text: &str) -> Option<civil::Date> {
    text.trim_end_matches('Z').parse().ok()
}

/// `18:30:00Z` on a day.
pub(super) fn on(day: civil::Date, text: &str) -> Option<Micros> {
    let time: civil::Time = text.trim_end_matches('Z').parse().ok()?;
    Some(day.to_datetime(time).to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond())
}

/// Microseconds of a match clock, `73:39`.
pub(super) fn clock(text: &str) -> Option<Micros> {
    let (minutes, seconds) = text.split_once(':')?;
    let (minutes, seconds): (u16, u8) = (minutes.parse().ok()?, seconds.parse().ok()?);
    Some((Micros::from(minutes) * 60 + Micros::from(seconds)) * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        let half_past_six = Some(1_631_385_006_000_000);
        assert_eq!(instant("2021-09-11T18:30:06Z"), half_past_six);
        assert_eq!(instant("2021-09-11T18:30:06.000"), half_past_six);
        assert_eq!(instant("2021-09-11Z"), None);
        let day = date("2021-09-11Z").unwrap();
        assert_eq!(on(day, "18:30:06Z"), half_past_six);
        assert_eq!(
            (clock("95:22"), clock("95"), clock("-1:00")),
            (Some(5_722_000_000), None, None)
        );
    }
}
