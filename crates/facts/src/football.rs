//! The periods of a football match, how scoreboards count its minutes, and its momentum.
//!
//! Rules and conventions that no feed reports: pure functions.

use std::collections::BTreeMap;

use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

use crate::event::{FootballStatus, Micros, Pair, Situation};

const SECOND_US: Micros = 1_000_000;
const MINUTE_US: Micros = 60 * SECOND_US;

/// A part of a match, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Period {
    FirstHalf,
    SecondHalf,
    ExtraFirst,
    ExtraSecond,
    Shootout,
}

impl Period {
    pub const ALL: [Self; 5] =
        [Self::FirstHalf, Self::SecondHalf, Self::ExtraFirst, Self::ExtraSecond, Self::Shootout];

    /// By the number that providers give them: 1 to 4, and 5 for the shoot-out.
    #[must_use]
    pub fn numbered(number: u64) -> Option<Self> {
        Some(match number {
            1 => Self::FirstHalf,
            2 => Self::SecondHalf,
            3 => Self::ExtraFirst,
            4 => Self::ExtraSecond,
            5 => Self::Shootout,
            _ => return None,
        })
    }

    /// The word in documents and lines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FirstHalf => "first_half",
            Self::SecondHalf => "second_half",
            Self::ExtraFirst => "extra_first",
            Self::ExtraSecond => "extra_second",
            Self::Shootout => "shootout",
        }
    }

    /// The period of a status; `None` in breaks, and where the source does not say in which part play is.
    #[must_use]
    pub fn played_in(status: FootballStatus) -> Option<Self> {
        Self::ALL.into_iter().find(|period| period.status() == status)
    }

    /// Whether it comes directly after a status: a source that reported that status has reported its start.
    #[must_use]
    pub fn follows(self, status: FootballStatus) -> bool {
        use FootballStatus::{
            ExtraFirst, ExtraHalf, ExtraSecond, FirstHalf, HalfTime, NotStarted, SecondHalf,
        };
        match self {
            Self::FirstHalf => status == NotStarted,
            Self::SecondHalf => matches!(status, FirstHalf | HalfTime),
            Self::ExtraFirst => status == SecondHalf,
            Self::ExtraSecond => matches!(status, ExtraFirst | ExtraHalf),
            Self::Shootout => matches!(status, SecondHalf | ExtraSecond),
        }
    }

    #[must_use]
    pub fn status(self) -> FootballStatus {
        match self {
            Self::FirstHalf => FootballStatus::FirstHalf,
            Self::SecondHalf => FootballStatus::SecondHalf,
            Self::ExtraFirst => FootballStatus::ExtraFirst,
            Self::ExtraSecond => FootballStatus::ExtraSecond,
            Self::Shootout => FootballStatus::Penalties,
        }
    }

    /// Its first minute, counted from 1.
    #[must_use]
    pub fn first_minute(self) -> u16 {
        match self {
            Self::FirstHalf => 1,
            Self::SecondHalf => 46,
            Self::ExtraFirst => 91,
            Self::ExtraSecond => 106,
            Self::Shootout => 121,
        }
    }

    /// Its length without stoppage time.
    #[must_use]
    pub fn minutes(self) -> u16 {
        match self {
            Self::FirstHalf | Self::SecondHalf => 45,
            Self::ExtraFirst | Self::ExtraSecond => 15,
            Self::Shootout => 0,
        }
    }

    /// The match clock at its start, in seconds: 2700 for the second half, whatever was added to
    /// the first.
    #[must_use]
    pub fn first_second(self) -> u32 {
        u32::from(self.first_minute() - 1) * 60
    }

    /// The break that usually stands before it, by law 7 and custom.
    #[must_use]
    pub fn break_before_us(self) -> Micros {
        let minutes = match self {
            Self::FirstHalf => 0,
            Self::SecondHalf => 15,
            Self::ExtraFirst | Self::Shootout => 5,
            Self::ExtraSecond => 1,
        };
        minutes * MINUTE_US
    }

    /// The minute in progress and the added one, like every scoreboard: 17:58 is minute 18, and
    /// 46:15 of the first half is 45 and 2 added.
    #[must_use]
    pub fn minute(self, since_start_us: Micros) -> (u16, Option<u16>) {
        let passed = u16::try_from(since_start_us / MINUTE_US).unwrap_or(u16::MAX - 1);
        match passed.checked_sub(self.minutes()) {
            None => (self.first_minute() + passed, None),
            Some(beyond) => (self.last_minute(), Some(beyond.saturating_add(1))),
        }
    }

    /// Its last minute before stoppage time.
    #[must_use]
    pub fn last_minute(self) -> u16 {
        self.first_minute() + self.minutes() - 1
    }
}

/// When each period began, by the clock of the source that reported it.
pub type PeriodStarts = BTreeMap<Period, Micros>;

/// The moment at which a minute in progress begins, as microseconds since the start of a period
/// in which the match was: `last` is the last one played, and takes its own stoppage time.
#[must_use]
pub fn moment_of_minute(minute: u16, last: Period) -> (Period, Micros) {
    let regular = [Period::FirstHalf, Period::SecondHalf, Period::ExtraFirst];
    let contains = |period: &Period| minute <= period.last_minute();
    let period = regular.into_iter().find(contains).unwrap_or(Period::ExtraSecond).min(last);
    let before = minute.saturating_sub(period.first_minute());
    (period, Micros::from(before) * MINUTE_US)
}

/// What a situation is worth to the side that has the ball.
#[must_use]
pub fn pressure(situation: Situation) -> u32 {
    match situation {
        Situation::Attack | Situation::Offside => 1,
        Situation::Dangerous => 3,
        Situation::Corner => 4,
        Situation::ShotOffTarget => 8,
        Situation::ShotOnTarget => 12,
        Situation::Goal | Situation::Penalty => 16,
        Situation::Possession
        | Situation::Safe
        | Situation::FreeKick
        | Situation::ThrowIn
        | Situation::GoalKick
        | Situation::Injury
        | Situation::Substitution => 0,
    }
}

/// From -100 to 100: the difference of what a minute was worth to both. A little of it is worth
/// little, although the other side had nothing.
#[must_use]
pub fn momentum([first, second]: Pair<u32>) -> i8 {
    const STEADY: i64 = 20;
    let (first, second) = (i64::from(first), i64::from(second));
    let value = 100 * (first - second) / (first + second + STEADY);
    i8::try_from(value).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shown(period: Period, second: Micros, expected: (u16, Option<u16>)) {
        assert_eq!(period.minute(second * SECOND_US), expected);
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
    fn each_period_is_that_of_its_status_and_does_not_follow_on_itself() {
        for period in Period::ALL {
            assert_eq!(Period::played_in(period.status()), Some(period));
            assert!(!period.follows(period.status()) && !period.follows(FootballStatus::Live));
        }
        assert_eq!(Period::played_in(FootballStatus::HalfTime), None);
    }

    #[test]
    fn minute_leads_back_to_its_period() {
        let moment = |minute, last| moment_of_minute(minute, last);
        assert_eq!(moment(46, Period::SecondHalf), (Period::SecondHalf, 0));
        assert_eq!(moment(92, Period::SecondHalf), (Period::SecondHalf, 46 * 60 * SECOND_US));
        assert_eq!(moment(92, Period::ExtraSecond), (Period::ExtraFirst, 60 * SECOND_US));
        assert_eq!(moment(0, Period::SecondHalf), (Period::FirstHalf, 0));
    }

    #[test]
    fn momentum_is_between_its_ends() {
        assert_eq!(momentum([0, 0]), 0);
        assert_eq!(momentum([20, 0]), 50);
        assert_eq!(momentum([0, 20]), -50);
        assert_eq!(momentum([7, 7]), 0);
        assert_eq!(momentum([u32::MAX, 0]), 99);
    }
}
