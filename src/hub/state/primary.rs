//! Who is believed: for each kind of fact of a match, one of the sources that tell it.
//!
//! A match that one source tells has no more than that. From the second on, each source's own view
//! of the play is kept beside what is public, so that another can take over where it stands.

use super::Play;
use crate::hub::feeds::{FactKind, Source, SourceNumber};

/// The leading source of each kind of fact.
#[derive(Debug, Default)]
pub struct PrimarySources([Option<SourceNumber>; FactKind::COUNT]);

/// What one of several sources says of the play, believed or not.
#[derive(Debug)]
pub struct SourceView {
    pub source: SourceNumber,
    pub play: Play,
    /// The kinds of fact that it has told.
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
    pub fn of(&self, kind: FactKind) -> Option<SourceNumber> {
        self.0[kind as usize]
    }

    /// Whether the source leads. The first that tells a kind of fact does.
    pub(super) fn claim(&mut self, kind: FactKind, source: SourceNumber) -> bool {
        *self.0[kind as usize].get_or_insert(source) == source
    }

    pub(super) fn set(&mut self, kind: FactKind, source: SourceNumber) {
        self.0[kind as usize] = Some(source);
    }

    /// A source is gone for good.
    pub(super) fn vacate(&mut self, source: SourceNumber) {
        for primary in self.0.iter_mut().filter(|primary| **primary == Some(source)) {
            *primary = None;
        }
    }

    /// The kinds that a source leads.
    pub(super) fn kinds_led_by(&self, source: SourceNumber) -> [bool; FactKind::COUNT] {
        self.0.map(|primary| primary == Some(source))
    }

    /// Who should lead a kind of fact and does not.
    pub(super) fn successor(
        &self,
        kind: FactKind,
        views: &[SourceView],
        sources: &[Source],
    ) -> Option<SourceNumber> {
        let candidates =
            views.iter().filter(|view| view.reported[kind as usize]).map(|view| view.source);
        best(kind, self.of(kind), candidates, sources)
    }
}

/// The source that should take over from the lead: the highest rank that is live. `None` if the lead
/// is as good as any other, or if nobody is better off.
pub(super) fn best(
    kind: FactKind,
    primary: Option<SourceNumber>,
    candidates: impl Iterator<Item = SourceNumber>,
    sources: &[Source],
) -> Option<SourceNumber> {
    let standing = |number: SourceNumber| {
        let source = &sources[number.0];
        (source.is_live(), source.policy.ranks.of(kind))
    };
    let mut best = primary;
    for candidate in candidates.filter(|candidate| sources[candidate.0].is_live()) {
        if best.is_none_or(|best| standing(candidate) > standing(best)) {
            best = Some(candidate);
        }
    }
    best.filter(|best| Some(*best) != primary)
}
