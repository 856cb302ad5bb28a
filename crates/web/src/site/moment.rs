//! Dates and times as text, always in UTC.

use jiff::{Timestamp, tz::TimeZone};

use accounts::Micros;

const HOUR_US: Micros = 60 * 60 * 1_000_000;
const DAY_US: Micros = 24 * HOUR_US;

/// A time for people and for machines: the text, and the attribute `datetime`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) iso: String,
    pub(super) text: String,
}

impl Moment {
    /// `22 Nov 2026`.
    pub(super) fn day(at: Micros) -> Self {
        Self::written(at, "%-d %b %Y")
    }

    /// `22 Nov 2026, 14:05 UTC`.
    pub(super) fn minute(at: Micros) -> Self {
        Self::written(at, "%-d %b %Y, %H:%M UTC")
    }

    /// `14:05:09 UTC`.
    pub(super) fn second(at: Micros) -> Self {
        Self::written(at, "%H:%M:%S UTC")
    }

    /// `14:05:09.120`, for tables whose head names the time zone.
    pub(super) fn millisecond(at: Micros) -> Self {
        Self::written(at, "%H:%M:%S.%3f")
    }

    fn written(at: Micros, format: &str) -> Self {
        // Only times that no clock shows are out of range.
        let at = Timestamp::from_microsecond(at).unwrap_or(Timestamp::MAX);
        let text = at.to_zoned(TimeZone::UTC).strftime(format).to_string();
        Self { iso: at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(), text }
    }
}

/// `12 days left` or `5 hours left`, rounded up, so that 30 days bought a second ago read as 30. `None` when
/// nothing is left.
pub(super) fn left(expiry: Micros, now: Micros) -> Option<String> {
    let left = expiry.checked_sub(now).filter(|left| *left > 0)?;
    if left < HOUR_US {
        return Some("less than an hour left".to_owned());
    }
    let (unit_us, unit) = if left < DAY_US { (HOUR_US, "hour") } else { (DAY_US, "day") };
    let count = (left - 1) / unit_us + 1;
    let plural = if count == 1 { "" } else { "s" };
    Some(format!("{count} {unit}{plural} left"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_formatted_for_people_and_for_machines() {
        let at = 1_795_356_300_000_000;
        assert_eq!(Moment::minute(at).text, "22 Nov 2026, 14:05 UTC");
        assert_eq!(Moment::day(at).text, "22 Nov 2026");
        assert_eq!(Moment::day(at).iso, "2026-11-22T14:05:00Z");
    }

    #[test]
    fn time_left_is_rounded_up() {
        let left_after = |left_us| left(1_000 + left_us, 1_000);
        assert_eq!(left_after(30 * DAY_US).as_deref(), Some("30 days left"));
        assert_eq!(left_after(30 * DAY_US - 1).as_deref(), Some("30 days left"));
        assert_eq!(left_after(29 * DAY_US).as_deref(), Some("29 days left"));
        assert_eq!(left_after(DAY_US).as_deref(), Some("1 day left"));
        assert_eq!(left_after(DAY_US - 1).as_deref(), Some("24 hours left"));
        assert_eq!(left_after(HOUR_US).as_deref(), Some("1 hour left"));
        assert_eq!(left_after(HOUR_US - 1).as_deref(), Some("less than an hour left"));
        assert_eq!(left_after(1).as_deref(), Some("less than an hour left"));
        assert_eq!(left_after(0), None);
        assert_eq!(left_after(-5), None);
    }
}
