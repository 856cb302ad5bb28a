//! Where in the match we are: period, match clock, and the clock that paces the recording.
//!
//! The events say only the time since the start of their period. Half time and the other breaks
//! are not in the data; the recording is given breaks of the usual length.

use crate::{
    decode::wyscout::Period,
    event::{FootballStatus, Micros},
};

const SECOND_US: Micros = 1_000_000;

/// Lengths of the breaks by law 7 and custom, in minutes.
const HALF_TIME_MIN: Micros = 15;
const BEFORE_EXTRA_TIME_MIN: Micros = 5;
const WITHIN_EXTRA_TIME_MIN: Micros = 1;
const BEFORE_SHOOTOUT_MIN: Micros = 5;

#[derive(Debug, Default)]
pub(super) struct Timeline {
    period: Option<Period>,
    /// The period before a shoot-out, at whose end the match clock stays.
    played: Option<Period>,
    /// Microseconds since the start of the period.
    since_start_us: Micros,
    /// The match clock in seconds.
    second: u32,
    /// The recording's clock at the start of the period.
    base_us: Micros,
}

impl Timeline {
    pub(super) fn period(&self) -> Option<Period> {
        self.period
    }

    /// The recording's clock.
    pub(super) fn clock_us(&self) -> Micros {
        self.base_us + self.since_start_us
    }

    /// The match clock in seconds; it stands still while penalties are taken.
    pub(super) fn second(&self) -> u32 {
        self.second
    }

    /// The minute in progress, and the added one.
    pub(super) fn minute(&self) -> (u16, Option<u16>) {
        match self.period {
            None => (1, None),
            Some(Period::Shootout) => {
                let played = self.played.unwrap_or(Period::ExtraSecond);
                (first_minute(played) + minutes(played) - 1, None)
            }
            Some(period) => minute(period, self.since_start_us),
        }
    }

    /// Starts a period after the break that stands before it.
    pub(super) fn begin(&mut self, period: Period) {
        if self.period.is_some() {
            self.base_us = self.clock_us() + break_us(period);
        }
        self.since_start_us = 0;
        self.played = self.period.or(self.played);
        if period != Period::Shootout {
            self.second = u32::from(first_minute(period) - 1) * 60;
        }
        self.period = Some(period);
    }

    /// Moves to a moment of the period. One before the last is not gone back to: `false`.
    pub(super) fn advance(&mut self, since_start_us: Micros) -> bool {
        let forward = since_start_us >= self.since_start_us;
        self.since_start_us = self.since_start_us.max(since_start_us);
        if let Some(period) = self.period.filter(|period| *period != Period::Shootout) {
            let passed = u32::try_from(self.since_start_us / SECOND_US).unwrap_or(0);
            self.second = u32::from(first_minute(period) - 1) * 60 + passed;
        }
        forward
    }
}

/// The moment at which a minute in progress begins, as microseconds since the start of a period
/// in which the match was: `last` is the last one played, and takes its own stoppage time.
pub(super) fn moment_of_minute(minute: u16, last: Period) -> (Period, Micros) {
    let regular = [Period::FirstHalf, Period::SecondHalf, Period::ExtraFirst];
    let contains = |period: &Period| minute < first_minute(*period) + minutes(*period);
    let period = regular.into_iter().find(contains).unwrap_or(Period::ExtraSecond).min(last);
    let before = minute.saturating_sub(first_minute(period));
    (period, Micros::from(before) * 60 * SECOND_US)
}

pub(super) fn status(period: Period) -> FootballStatus {
    match period {
        Period::FirstHalf => FootballStatus::FirstHalf,
        Period::SecondHalf => FootballStatus::SecondHalf,
        Period::ExtraFirst => FootballStatus::ExtraFirst,
        Period::ExtraSecond => FootballStatus::ExtraSecond,
        Period::Shootout => FootballStatus::Penalties,
    }
}

/// Like every scoreboard: 17:58 is minute 18, and 46:15 of the first half is 45 and 2 added.
pub(super) fn minute(period: Period, since_start_us: Micros) -> (u16, Option<u16>) {
    let passed = u16::try_from(since_start_us / (60 * SECOND_US)).unwrap_or(u16::MAX - 1);
    let last = first_minute(period) + minutes(period) - 1;
    match passed.checked_sub(minutes(period)) {
        None => (first_minute(period) + passed, None),
        Some(beyond) => (last, Some(beyond + 1)),
    }
}

fn first_minute(period: Period) -> u16 {
    match period {
        Period::FirstHalf => 1,
        Period::SecondHalf => 46,
        Period::ExtraFirst => 91,
        Period::ExtraSecond => 106,
        Period::Shootout => 121,
    }
}

fn minutes(period: Period) -> u16 {
    match period {
        Period::FirstHalf | Period::SecondHalf => 45,
        Period::ExtraFirst | Period::ExtraSecond => 15,
        Period::Shootout => 0,
    }
}

fn break_us(before: Period) -> Micros {
    let minutes = match before {
        Period::FirstHalf => 0,
        Period::SecondHalf => HALF_TIME_MIN,
        Period::ExtraFirst => BEFORE_EXTRA_TIME_MIN,
        Period::ExtraSecond => WITHIN_EXTRA_TIME_MIN,
        Period::Shootout => BEFORE_SHOOTOUT_MIN,
    };
    minutes * 60 * SECOND_US
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shown(period: Period, second: Micros, expected: (u16, Option<u16>)) {
        assert_eq!(minute(period, second * SECOND_US), expected);
    }

    #[test]
    fn minute_is_the_one_in_progress() {
        shown(Period::FirstHalf, 0, (1, None));
        shown(Period::FirstHalf, 17 * 60 + 58, (18, None));
        shown(Period::FirstHalf, 2699, (45, None));
        shown(Period::FirstHalf, 2700, (45, Some(1)));
        shown(Period::SecondHalf, 2852, (90, Some(3)));
        shown(Period::ExtraFirst, 982, (105, Some(2)));
        shown(Period::ExtraSecond, 735, (118, None));
    }

    #[test]
    fn minute_leads_back_to_its_period() {
        let moment = |minute, last| moment_of_minute(minute, last);
        assert_eq!(moment(46, Period::SecondHalf), (Period::SecondHalf, 0));
        assert_eq!(moment(92, Period::SecondHalf), (Period::SecondHalf, 46 * 60 * SECOND_US));
        assert_eq!(moment(92, Period::ExtraSecond), (Period::ExtraFirst, 60 * SECOND_US));
        assert_eq!(moment(0, Period::SecondHalf), (Period::FirstHalf, 0));
    }
}
