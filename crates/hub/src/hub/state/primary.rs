//! The primary source of each kind of fact of a match.
//!
//! While a single source reports the play, there is only the public state. From the second source
//! on, each source's own view is stored next to it, so that another source can take over.

use super::Play;
use crate::hub::feeds::{FactKind, Source, SourceNumber};
use borsh::{BorshDeserialize, BorshSerialize};

/// The primary source of each kind of fact.
#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
pub struct PrimarySources([Option<SourceNumber>; FactKind::COUNT]);

/// One source's view of the play, primary or not.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct SourceView {
    pub source: SourceNumber,
    pub play: Play,
    /// The kinds of fact that it has reported.
    reported: [bool; FactKind::COUNT],
}

impl SourceView {
    pub(super) fn new(source: SourceNumber, play: Play, reported: [bool; FactKind::COUNT]) -> Self {
        Self { source, play, reported }
    }

    pub(super) fn mark_reported(&mut self, kind: FactKind) {
        self.reported[kind as usize] = true;
    }
}

impl PrimarySources {
    #[must_use]
    pub fn get(&self, kind: FactKind) -> Option<SourceNumber> {
        self.0[kind as usize]
    }

    /// Whether the source is primary. The first to report a kind of fact becomes primary.
    pub(super) fn claim(&mut self, kind: FactKind, source: SourceNumber) -> bool {
        *self.0[kind as usize].get_or_insert(source) == source
    }

    pub(super) fn set(&mut self, kind: FactKind, source: SourceNumber) {
        self.0[kind as usize] = Some(source);
    }

    /// Removes a source.
    pub(super) fn vacate(&mut self, source: SourceNumber) {
        for primary in self.0.iter_mut().filter(|primary| **primary == Some(source)) {
            *primary = None;
        }
    }

    /// The kinds of which a source is primary.
    pub(super) fn kinds_led_by(&self, source: SourceNumber) -> [bool; FactKind::COUNT] {
        self.0.map(|primary| primary == Some(source))
    }

    /// The source that should become primary of a kind of fact, if it is not already.
    pub(super) fn successor(
        &self,
        kind: FactKind,
        views: &[SourceView],
        sources: &[Source],
    ) -> Option<SourceNumber> {
        let candidates =
            views.iter().filter(|view| view.reported[kind as usize]).map(|view| view.source);
        best(kind, self.get(kind), candidates, sources)
    }
}

/// The source that should take over from the primary: the live source of the highest rank. `None`
/// if no other source is better.
pub(super) fn best(
    kind: FactKind,
    primary: Option<SourceNumber>,
    candidates: impl Iterator<Item = SourceNumber>,
    sources: &[Source],
) -> Option<SourceNumber> {
    let standing = |number: SourceNumber| {
        let source = &sources[number.0];
        (source.is_live(), source.policy.ranks.get(kind))
    };
    let mut best = primary;
    for candidate in candidates.filter(|candidate| sources[candidate.0].is_live()) {
        if best.is_none_or(|best| standing(candidate) > standing(best)) {
            best = Some(candidate);
        }
    }
    best.filter(|best| Some(*best) != primary)
}
