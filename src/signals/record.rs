//! A signal as published on the channel, over HTTP, and in the archive.

use std::sync::Arc;

use fanout::Micros;
use ingest::event::{Id, Sport};
use serde::{Deserialize, Serialize};

use super::Signal;
use crate::{
    ids::first_choice,
    record::{EntityRef, Key},
};

/// A signal of a match, from its begin to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SignalRecord {
    pub id: Key,
    pub match_id: Key,
    #[serde(with = "crate::record::sport")]
    pub sport: Sport,
    /// Home and away; absent if unknown.
    pub sides: Option<[EntityRef; 2]>,
    pub began: Micros,
    /// When its numbers changed last.
    pub updated: Micros,
    /// Absent while it is active.
    pub ended: Option<Micros>,
    pub signal: Signal,
}

impl SignalRecord {
    /// A signal that has begun, under the first number that it may have; see [`Self::digest`].
    #[must_use]
    pub fn new(
        of: Id,
        sport: Sport,
        sides: Option<[EntityRef; 2]>,
        began: Micros,
        signal: Signal,
    ) -> Arc<Self> {
        Arc::new(Self {
            id: first_choice(signal.topic.id(of, began).0),
            match_id: of.0,
            sport,
            sides,
            began,
            updated: began,
            ended: None,
            signal,
        })
    }

    /// Identifies the signal by match, topic and begin.
    #[must_use]
    pub fn digest(&self) -> Id {
        self.signal.topic.id(Id(self.match_id), self.began)
    }
}
