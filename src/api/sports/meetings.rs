//! Results before a match: meetings of its two sides, and results of each side.

use std::sync::Arc;

use ingest::event::Sport;

use crate::{
    api::Api,
    archive::{Filter, Window},
    rating,
    record::{Key, MatchRecord, MatchSummary, Status},
};

/// A match from the view of one of its sides.
#[derive(Debug, Clone)]
pub(super) struct SideMatch {
    pub(super) brief: Arc<MatchSummary>,
    /// The index of the side, 0 or 1.
    place: usize,
}

impl SideMatch {
    /// Whether the side won; `None` without a winner.
    pub(super) fn won(&self) -> Option<bool> {
        rating::winner(&self.brief).map(|winner| usize::from(winner) == self.place)
    }

    /// The side's own score, and the other's.
    pub(super) fn score(&self) -> Option<[u32; 2]> {
        let score = self.brief.score?;
        Some(if self.place == 0 { score } else { [score[1], score[0]] })
    }

    /// The score of each part: the rounds of each map.
    pub(super) fn parts(&self) -> impl Iterator<Item = [u32; 2]> {
        let turned = self.place == 1;
        self.brief.parts.iter().map(move |[a, b]| if turned { [*b, *a] } else { [*a, *b] })
    }

    pub(super) fn opponent(&self) -> Option<Key> {
        self.brief.sides?.get(1 - self.place).copied()
    }

    pub(super) fn was_home(&self) -> bool {
        self.place == 0
    }
}

/// The results of a side before this match, the latest first.
pub(super) fn results(api: &Api, record: &MatchRecord, side: Key) -> Vec<SideMatch> {
    let filter = Filter {
        team: Some(side),
        before: record.brief.start,
        newest_first: true,
        ..ended(record.brief.sport)
    };
    let found = api.archive.find(&filter, Window::ALL).briefs.into_iter();
    let others = found.filter(|brief| brief.id != record.brief.id);
    let side_match = others.filter_map(|brief| {
        let place = brief.sides?.iter().position(|own| *own == side)?;
        Some(SideMatch { brief, place })
    });
    side_match.collect()
}

/// Matches of a sport that have a result.
pub(super) fn ended(sport: Sport) -> Filter {
    Filter { sport: Some(sport), statuses: Some(Status::RESULTS.to_vec()), ..Filter::default() }
}

/// The results of a side against one opponent.
pub(super) fn between(results: &[SideMatch], other: Key) -> impl Iterator<Item = &SideMatch> {
    results.iter().filter(move |side_match| side_match.opponent() == Some(other))
}
