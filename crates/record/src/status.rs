//! The status of a match, in one vocabulary for all sports.

mod words;

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::{FootballStatus, RaceStatus, ScoreboardStatus, TennisStatus};
use serde::{Deserialize, Serialize};

pub use self::words::Vocabulary;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    NotStarted,
    /// In play, but no feed provides the phase.
    Live,
    FirstHalf,
    HalfTime,
    SecondHalf,
    ExtraFirst,
    ExtraHalf,
    ExtraSecond,
    Penalties,
    Interrupted,
    AtThePost,
    Finished,
    Retired,
    Walkover,
    Postponed,
    Abandoned,
    Cancelled,
    /// The scheduled time is long past, but no play was seen and there is no result.
    Unresolved,
}

impl Status {
    /// In the order in which a match goes through them.
    pub const ALL: [Self; 18] = [
        Self::NotStarted,
        Self::AtThePost,
        Self::Live,
        Self::FirstHalf,
        Self::HalfTime,
        Self::SecondHalf,
        Self::ExtraFirst,
        Self::ExtraHalf,
        Self::ExtraSecond,
        Self::Penalties,
        Self::Interrupted,
        Self::Finished,
        Self::Retired,
        Self::Walkover,
        Self::Postponed,
        Self::Abandoned,
        Self::Cancelled,
        Self::Unresolved,
    ];

    /// Statuses before the start of a match that is expected to start.
    pub const UPCOMING: [Self; 2] = [Self::NotStarted, Self::AtThePost];

    /// Statuses with a result: played to the end, or awarded to one side.
    pub const RESULTS: [Self; 3] = [Self::Finished, Self::Retired, Self::Walkover];

    /// Statuses of matches that are in play, or of which play may follow.
    #[must_use]
    pub fn not_over() -> Vec<Self> {
        Self::ALL.into_iter().filter(|status| !status.is_over()).collect()
    }

    /// Whether it is in play, breaks and interruptions included.
    #[must_use]
    pub fn is_live(self) -> bool {
        matches!(
            self,
            Self::Live
                | Self::FirstHalf
                | Self::HalfTime
                | Self::SecondHalf
                | Self::ExtraFirst
                | Self::ExtraHalf
                | Self::ExtraSecond
                | Self::Penalties
                | Self::Interrupted
        )
    }

    /// The minute at which a football clock stops in this part of the match, and in the break after it:
    /// stoppage time does not count. `None` unless a known part is in progress.
    #[must_use]
    pub fn last_minute(self) -> Option<u32> {
        match self {
            Self::FirstHalf | Self::HalfTime => Some(45),
            Self::SecondHalf => Some(90),
            Self::ExtraFirst | Self::ExtraHalf => Some(105),
            Self::ExtraSecond | Self::Penalties => Some(120),
            Self::NotStarted
            | Self::Live
            | Self::Interrupted
            | Self::AtThePost
            | Self::Finished
            | Self::Retired
            | Self::Walkover
            | Self::Postponed
            | Self::Abandoned
            | Self::Cancelled
            | Self::Unresolved => None,
        }
    }

    /// Whether it has a result: played to the end, or awarded to one side.
    #[must_use]
    pub fn has_result(self) -> bool {
        matches!(self, Self::Finished | Self::Retired | Self::Walkover)
    }

    /// Whether play has begun. A walkover counts as begun, because it has a result.
    #[must_use]
    pub fn has_begun(self) -> bool {
        self.is_live() || self.has_result() || self == Self::Abandoned
    }

    /// Whether no more play follows.
    #[must_use]
    pub fn is_over(self) -> bool {
        self.has_result() || matches!(self, Self::Abandoned | Self::Cancelled | Self::Unresolved)
    }
}

impl From<FootballStatus> for Status {
    fn from(status: FootballStatus) -> Self {
        match status {
            FootballStatus::NotStarted => Self::NotStarted,
            FootballStatus::FirstHalf => Self::FirstHalf,
            FootballStatus::HalfTime => Self::HalfTime,
            FootballStatus::SecondHalf => Self::SecondHalf,
            FootballStatus::ExtraFirst => Self::ExtraFirst,
            FootballStatus::ExtraHalf => Self::ExtraHalf,
            FootballStatus::ExtraSecond => Self::ExtraSecond,
            FootballStatus::Penalties => Self::Penalties,
            FootballStatus::Finished => Self::Finished,
            FootballStatus::Postponed => Self::Postponed,
            FootballStatus::Abandoned => Self::Abandoned,
            FootballStatus::Cancelled => Self::Cancelled,
            FootballStatus::Live => Self::Live,
            FootballStatus::Interrupted => Self::Interrupted,
        }
    }
}

impl From<TennisStatus> for Status {
    fn from(status: TennisStatus) -> Self {
        match status {
            TennisStatus::NotStarted => Self::NotStarted,
            TennisStatus::Live => Self::Live,
            TennisStatus::Interrupted => Self::Interrupted,
            TennisStatus::Finished => Self::Finished,
            TennisStatus::Retired => Self::Retired,
            TennisStatus::Walkover => Self::Walkover,
            TennisStatus::Cancelled => Self::Cancelled,
        }
    }
}

impl From<ScoreboardStatus> for Status {
    fn from(status: ScoreboardStatus) -> Self {
        match status {
            ScoreboardStatus::NotStarted => Self::NotStarted,
            ScoreboardStatus::Live => Self::Live,
            ScoreboardStatus::Interrupted => Self::Interrupted,
            ScoreboardStatus::Finished => Self::Finished,
            ScoreboardStatus::Postponed => Self::Postponed,
            ScoreboardStatus::Abandoned => Self::Abandoned,
            ScoreboardStatus::Cancelled => Self::Cancelled,
        }
    }
}

impl From<RaceStatus> for Status {
    fn from(status: RaceStatus) -> Self {
        match status {
            RaceStatus::NotStarted => Self::NotStarted,
            RaceStatus::AtThePost => Self::AtThePost,
            RaceStatus::Off => Self::Live,
            RaceStatus::Finished => Self::Finished,
            RaceStatus::Abandoned => Self::Abandoned,
        }
    }
}
