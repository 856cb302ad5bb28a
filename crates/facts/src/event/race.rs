//! Events of a horse race.

use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

use super::{Participant, words::words};

/// The whole race, absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Race {
    pub status: RaceStatus,
    pub runners: Vec<RaceRunner>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Runner"))]
pub struct RaceRunner {
    #[serde(rename = "runner")]
    pub participant: Participant,
    /// The number on the cloth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jockey: Option<Arc<str>>,
    pub status: RunnerStatus,
    /// Where it stands, or came in: 1 is first. Several have the same in a dead heat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u16>,
}

words! {
    pub enum RaceStatus {
        NotStarted = "not_started",
        AtThePost = "at_the_post",
        Off = "off",
        Finished = "finished",
        Abandoned = "abandoned",
    }
}

words! {
    pub enum RunnerStatus {
        Active = "active",
        NonRunner = "non_runner",
        Fell = "fell",
        PulledUp = "pulled_up",
        Disqualified = "disqualified",
        Finished = "finished",
    }
}
