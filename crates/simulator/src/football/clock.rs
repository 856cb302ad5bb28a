//! The match clock: which period, which second, which minute, how much is left.

use crate::{dice::SECOND, truth::Minute};
use facts::event::{FootballStatus, Micros};

const HALF_S: u32 = 45 * 60;
/// The expected stoppage time of the halves, until it is known.
const EXPECTED_ADDED_S: [u32; 2] = [130, 290];

/// Seconds that may be played beyond the board: no half ends to the second.
const LAST_S: u32 = 20;

/// The length of a match with its usual stoppage time: what goal rates refer to.
pub(super) const FULL_S: f64 = (2 * HALF_S + EXPECTED_ADDED_S[0] + EXPECTED_ADDED_S[1]) as f64;

#[derive(Debug)]
pub(super) struct Clock {
    pub(super) status: FootballStatus,
    /// When the period in progress began.
    began: Micros,
    /// Its stoppage time in seconds, which its length exceeds by a few.
    added_s: u32,
    /// What the clock shows while it is stopped.
    stopped_s: u32,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { status: FootballStatus::NotStarted, began: 0, added_s: 0, stopped_s: 0 }
    }

    /// Starts the next half, which will have that much stoppage time.
    pub(super) fn start(&mut self, now: Micros, added_s: u32) {
        self.status = match self.status {
            FootballStatus::NotStarted => FootballStatus::FirstHalf,
            _ => FootballStatus::SecondHalf,
        };
        (self.began, self.added_s) = (now, added_s);
    }

    /// Stops at the end of the half in progress.
    pub(super) fn stop(&mut self, now: Micros) {
        self.stopped_s = self.second(now);
        self.status = match self.status {
            FootballStatus::FirstHalf => FootballStatus::HalfTime,
            _ => FootballStatus::Finished,
        };
    }

    pub(super) fn running(&self) -> bool {
        matches!(self.status, FootballStatus::FirstHalf | FootballStatus::SecondHalf)
    }

    /// The second of the match, as the clock shows it: the second half starts at 45:00.
    pub(super) fn second(&self, now: Micros) -> u32 {
        if self.running() { self.base_s() + self.elapsed_s(now) } else { self.stopped_s }
    }

    pub(super) fn minute(&self, now: Micros) -> Minute {
        let minute = (self.second(now) / 60 + 1) as u16;
        let last = if self.in_second() { 90 } else { 45 };
        Minute { minute: minute.min(last), added: minute.checked_sub(last).filter(|&n| n > 0) }
    }

    /// Whether the time of the half in progress is up.
    pub(super) fn is_up(&self, now: Micros) -> bool {
        self.running() && self.elapsed_s(now) >= HALF_S + self.added_s
    }

    /// Seconds of play still to come, as far as anybody can know: stoppage time is known once the
    /// board is shown at its beginning.
    pub(super) fn remaining_s(&self, now: Micros) -> f64 {
        let [first, second] = EXPECTED_ADDED_S;
        let after = match self.status {
            FootballStatus::NotStarted => return FULL_S,
            FootballStatus::HalfTime => return f64::from(HALF_S + second),
            FootballStatus::FirstHalf => HALF_S + second,
            FootballStatus::SecondHalf => 0,
            _ => return 0.0,
        };
        let elapsed = self.elapsed_s(now);
        let expected = if after > 0 { first } else { second };
        let added = if elapsed >= HALF_S { self.added_s } else { expected };
        f64::from((HALF_S + added).saturating_sub(elapsed).max(LAST_S) + after)
    }

    fn in_second(&self) -> bool {
        matches!(self.status, FootballStatus::SecondHalf | FootballStatus::Finished)
    }

    fn base_s(&self) -> u32 {
        if self.in_second() { HALF_S } else { 0 }
    }

    fn elapsed_s(&self, now: Micros) -> u32 {
        ((now - self.began) / SECOND) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_counted_as_scoreboards_do() {
        let mut clock = Clock::new();
        clock.start(0, 120);
        let minute = |clock: &Clock, second: i64| {
            let Minute { minute, added } = clock.minute(second * SECOND);
            (minute, added)
        };
        assert_eq!(minute(&clock, 0), (1, None));
        assert_eq!(minute(&clock, 17 * 60 + 58), (18, None));
        assert_eq!(minute(&clock, 2699), (45, None));
        assert_eq!(minute(&clock, 2700), (45, Some(1)));
        assert!(!clock.is_up(2819 * SECOND) && clock.is_up(2820 * SECOND));
        clock.stop(2825 * SECOND);
        assert_eq!(minute(&clock, 3000), (45, Some(3)));
        clock.start(3700 * SECOND, 200);
        assert_eq!((clock.second(3700 * SECOND), minute(&clock, 3700)), (2700, (46, None)));
        assert_eq!(minute(&clock, 3700 + 2700 + 70), (90, Some(2)));
    }
}
