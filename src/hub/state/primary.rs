//! Who is believed: for each kind of fact of a match, one of the sources that tell it.
//!
//! A match that one source tells has no more than that. From the second on, each source's own view
//! of the play is kept beside what is public, so that another can take over where it stands.

use super::Play;
use crate::hub::feeds::{Kind, Source, SourceNumber};

/// The leading source of each kind of fact.
#[derive(Debug, Default)]
pub struct Leads([Option<SourceNumber>; Kind::COUNT]);

/// What one of several sources says of the play, believed or not.
#[derive(Debug)]
pub struct View {
    pub source: SourceNumber,
    pub play: Play,
    /// The kinds of fact that it has told.
    told: [bool; Kind::COUNT],
}

impl View {
    pub(super) fn new(source: SourceNumber, play: Play, told: [bool; Kind::COUNT]) -> Self {
        Self { source, play, told }
    }

    pub(super) fn tells(&mut self, kind: Kind) {
        self.told[kind as usize] = true;
    }
}

impl Leads {
    #[must_use]
    pub fn of(&self, kind: Kind) -> Option<SourceNumber> {
        self.0[kind as usize]
    }

    /// Whether the source leads. The first that tells a kind of fact does.
    pub(super) fn claim(&mut self, kind: Kind, source: SourceNumber) -> bool {
        *self.0[kind as usize].get_or_insert(source) == source
    }

    pub(super) fn set(&mut self, kind: Kind, source: SourceNumber) {
        self.0[kind as usize] = Some(source);
    }

    /// A source is gone for good.
    pub(super) fn vacate(&mut self, source: SourceNumber) {
        for lead in self.0.iter_mut().filter(|lead| **lead == Some(source)) {
            *lead = None;
        }
    }

    /// The kinds that a source leads.
    pub(super) fn led_by(&self, source: SourceNumber) -> [bool; Kind::COUNT] {
        self.0.map(|lead| lead == Some(source))
    }

    /// Who should lead a kind of fact and does not.
    pub(super) fn successor(
        &self,
        kind: Kind,
        views: &[View],
        sources: &[Source],
    ) -> Option<SourceNumber> {
        let tellers = views.iter().filter(|view| view.told[kind as usize]).map(|view| view.source);
        best(kind, self.of(kind), tellers, sources)
    }
}

/// The source that should take over from the lead: the highest rank that is live. `None` if the lead
/// is as good as any other, or if nobody is better off.
pub(super) fn best(
    kind: Kind,
    lead: Option<SourceNumber>,
    tellers: impl Iterator<Item = SourceNumber>,
    sources: &[Source],
) -> Option<SourceNumber> {
    let standing = |number: SourceNumber| {
        let source = &sources[number.0];
        (source.is_live(), source.terms.ranks.of(kind))
    };
    let mut best = lead;
    for teller in tellers.filter(|teller| sources[teller.0].is_live()) {
        if best.is_none_or(|best| standing(teller) > standing(best)) {
            best = Some(teller);
        }
    }
    best.filter(|best| Some(*best) != lead)
}
