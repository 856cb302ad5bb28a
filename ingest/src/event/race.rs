//! What a feed can tell of a race: horse racing.

use std::sync::Arc;

use super::Participant;

/// The whole race, absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Race {
    pub status: RaceStatus,
    pub runners: Vec<RaceRunner>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RaceRunner {
    pub participant: Participant,
    /// The number on the cloth.
    pub number: Option<u16>,
    pub jockey: Option<Arc<str>>,
    pub status: RunnerStatus,
    /// Where it stands, or came in: 1 is first. Several have the same in a dead heat.
    pub position: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RaceStatus {
    NotStarted,
    /// They are at the post.
    AtThePost,
    Off,
    Finished,
    Abandoned,
}

impl RaceStatus {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::AtThePost => "at_the_post",
            Self::Off => "off",
            Self::Finished => "finished",
            Self::Abandoned => "abandoned",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunnerStatus {
    Active,
    NonRunner,
    Fell,
    PulledUp,
    Disqualified,
    Finished,
}

impl RunnerStatus {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::NonRunner => "non_runner",
            Self::Fell => "fell",
            Self::PulledUp => "pulled_up",
            Self::Disqualified => "disqualified",
            Self::Finished => "finished",
        }
    }
}
