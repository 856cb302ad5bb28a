//! Where in the match we are: period, match clock, and the clock that paces the recording.
//!
//! Events say the time since the start of their period. Where the data does not contain when a period
//! began, the recording is given breaks of the usual length.

use facts::{event::Micros, football::Period};

const SECOND_US: Micros = 1_000_000;

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

    /// Microseconds since the start of the period.
    pub(super) fn since_start_us(&self) -> Micros {
        self.since_start_us
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
                (self.played.unwrap_or(Period::ExtraSecond).last_minute(), None)
            }
            Some(period) => period.minute(self.since_start_us),
        }
    }

    /// Starts a period: where the data says it, so long after the start of the match, else after
    /// the break that usually stands before it.
    pub(super) fn begin(&mut self, period: Period, since_match_us: Option<Micros>) {
        if self.period.is_some() {
            let now = self.clock_us();
            let given_us =
                since_match_us.filter(|given_us| (now..now + BREAK_US_MAX).contains(given_us));
            self.base_us = given_us.unwrap_or_else(|| now + period.break_before_us());
        }
        self.since_start_us = 0;
        self.played = self.period.or(self.played);
        if period != Period::Shootout {
            self.second = period.first_second();
        }
        self.period = Some(period);
    }

    /// Moves to a moment of the period. One before the last is not gone back to: `false`.
    pub(super) fn advance(&mut self, since_start_us: Micros) -> bool {
        let forward = since_start_us >= self.since_start_us;
        self.since_start_us = self.since_start_us.max(since_start_us);
        if let Some(period) = self.period.filter(|period| *period != Period::Shootout) {
            let passed = u32::try_from(self.since_start_us / SECOND_US).unwrap_or(0);
            self.second = period.first_second() + passed;
        }
        forward
    }
}

/// A break longer than this is no break but a match that went on another day; it is played with a
/// usual one.
const BREAK_US_MAX: Micros = 4 * 3600 * SECOND_US;
