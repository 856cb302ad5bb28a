//! The start of a match, in the precision of its feed.

use facts::event::{Fixture, Micros, Sport};
use jiff::{civil::Date, tz::TimeZone};

const HOUR_US: Micros = 3_600_000_000;
const DAY_US: Micros = 24 * HOUR_US;

/// Exact starts that differ by more than this are never those of one match.
pub(super) const NEAR_US: Micros = 36 * HOUR_US;

/// A simulated match may be played again after this.
pub(super) const AGAIN_SIMULATED_US: Micros = HOUR_US / 6;

/// Two players may meet in the main draw so long after they met in the qualification.
pub(super) const AGAIN_IN_TOURNAMENT_US: Micros = 12 * HOUR_US;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartTime {
    At(Micros),
    /// On this day since the epoch, in an unknown time zone.
    On(i64),
}

/// The relation of two starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartGap {
    /// Close enough for one match, and the difference; 0 if only dates are known.
    Fits(Micros),
    /// Too far apart to be sure.
    Near(Micros),
    Far,
}

impl StartTime {
    pub(super) fn from_fixture(fixture: &Fixture) -> Option<Self> {
        fixture.start.map(Self::At).or_else(|| fixture.date.and_then(day_of).map(Self::On))
    }

    pub(super) fn day(self) -> i64 {
        match self {
            Self::At(at) => at.div_euclid(DAY_US),
            Self::On(day) => day,
        }
    }

    pub(super) fn gap(self, other: Self, sport: Sport) -> StartGap {
        match (self, other) {
            (Self::At(one), Self::At(other)) => {
                // The difference may overflow.
                let apart = one.checked_sub(other).map_or(Micros::MAX, Micros::saturating_abs);
                match apart {
                    apart if apart <= window(sport) => StartGap::Fits(apart),
                    apart if apart <= NEAR_US => StartGap::Near(apart),
                    _ => StartGap::Far,
                }
            }
            _ if (self.day() - other.day()).abs() <= 1 => StartGap::Fits(0),
            _ => StartGap::Far,
        }
    }
}

/// The largest difference between two feeds' starts of one match.
pub(super) fn window(sport: Sport) -> Micros {
    sport.profile().start_window_h * HOUR_US
}

/// Hours for display, to a tenth.
pub(super) fn hours(us: Micros) -> String {
    let tenths = us / (HOUR_US / 10);
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn day_of(date: Date) -> Option<i64> {
    let midnight = date.to_zoned(TimeZone::UTC).ok()?.timestamp();
    Some(midnight.as_microsecond().div_euclid(DAY_US))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_gap_depends_on_sport_and_precision() {
        let at = |hours| StartTime::At(hours * HOUR_US);
        for (one, other, sport, expected) in [
            (at(0), at(3), Sport::Football, StartGap::Fits(3 * HOUR_US)),
            (at(4), at(0), Sport::Football, StartGap::Near(4 * HOUR_US)),
            (at(37), at(0), Sport::Football, StartGap::Far),
            (at(36), at(0), Sport::Tennis, StartGap::Fits(36 * HOUR_US)),
            (at(2), at(0), Sport::Basketball, StartGap::Near(2 * HOUR_US)),
            (at(47), StartTime::On(0), Sport::Football, StartGap::Fits(0)),
            (at(48), StartTime::On(0), Sport::Football, StartGap::Far),
            (StartTime::On(5), StartTime::On(4), Sport::Tennis, StartGap::Fits(0)),
            (StartTime::At(Micros::MIN), StartTime::At(Micros::MAX), Sport::Tennis, StartGap::Far),
        ] {
            assert_eq!(one.gap(other, sport), expected, "{one:?} {other:?}");
            assert_eq!(other.gap(one, sport), expected, "{other:?} {one:?}");
        }
    }

    #[test]
    fn day_is_counted_from_the_epoch() {
        assert_eq!(day_of(jiff::civil::date(1970, 1, 2)), Some(1));
        assert_eq!(day_of(jiff::civil::date(1969, 12, 31)), Some(-1));
    }
}
