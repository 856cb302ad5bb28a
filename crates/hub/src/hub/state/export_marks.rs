//! The parts of a match that have changed since its last export.

use std::collections::BTreeSet;

use super::ConsensusKey;
use borsh::{BorshDeserialize, BorshSerialize};

/// Marks are set where the state changes and taken by the export (`hub::export`), so the
/// export costs as much as what changed. It is bounded by the parts that the match has.
#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
pub struct ExportMarks {
    /// Everything: the match is new, or books were suspended, replaced or moved.
    pub all: bool,
    /// The state of play.
    pub play: bool,
    /// Markets by the index of their book and their own.
    pub markets: BTreeSet<(usize, usize)>,
    pub consensus: BTreeSet<ConsensusKey>,
}

impl ExportMarks {
    pub(in crate::hub) fn all() -> Self {
        Self { all: true, ..Self::default() }
    }
}
