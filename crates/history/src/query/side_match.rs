//! Earlier results of the sides of a match: head-to-head and form.

use std::sync::Arc;

use super::{MatchQuery, View};
use crate::rating;
use record::{Key, MatchSummary, Status};

/// A match from the view of one of its sides.
#[derive(Debug, Clone)]
pub struct SideMatch {
    pub summary: Arc<MatchSummary>,
    /// The index of the side, 0 or 1.
    side_index: usize,
}

/// The result of a match for one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Won,
    Drawn,
    Lost,
}

impl Outcome {
    /// The outcome of a score, own goals first.
    #[must_use]
    pub fn of_score([scored, conceded]: [u32; 2]) -> Self {
        match scored.cmp(&conceded) {
            std::cmp::Ordering::Greater => Self::Won,
            std::cmp::Ordering::Equal => Self::Drawn,
            std::cmp::Ordering::Less => Self::Lost,
        }
    }

    /// `W`, `D` or `L`.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::Won => 'W',
            Self::Drawn => 'D',
            Self::Lost => 'L',
        }
    }
}

impl SideMatch {
    /// The match from the view of this side; `None` if it is not one of its sides.
    #[must_use]
    pub fn new(summary: Arc<MatchSummary>, side: Key) -> Option<Self> {
        let side_index = summary.sides?.iter().position(|id| *id == side)?;
        Some(Self { summary, side_index })
    }

    /// Whether the side won; `None` without a winner.
    #[must_use]
    pub fn won(&self) -> Option<bool> {
        rating::winner(&self.summary).map(|winner| usize::from(winner) == self.side_index)
    }

    /// The outcome by the winner; without one a match with a score is drawn. `None` if nothing is known of the result.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        match self.won() {
            Some(true) => Some(Outcome::Won),
            Some(false) => Some(Outcome::Lost),
            None => self.summary.score.map(|_| Outcome::Drawn),
        }
    }

    /// The side's own score, and the other's.
    #[must_use]
    pub fn score(&self) -> Option<[u32; 2]> {
        let score = self.summary.score?;
        Some(if self.side_index == 0 { score } else { [score[1], score[0]] })
    }

    /// The score of each part: the rounds of each map.
    pub fn parts(&self) -> impl Iterator<Item = [u32; 2]> {
        let turned = self.side_index == 1;
        self.summary.parts.iter().map(move |[a, b]| if turned { [*b, *a] } else { [*a, *b] })
    }

    #[must_use]
    pub fn opponent(&self) -> Option<Key> {
        self.summary.sides?.get(1 - self.side_index).copied()
    }

    #[must_use]
    pub fn was_home(&self) -> bool {
        self.side_index == 0
    }
}

/// The results of a side before this match, the latest first. A match that ended without a known score or winner has none.
#[must_use]
pub fn earlier_results(view: &View<'_>, later: &MatchSummary, side: Key) -> Vec<SideMatch> {
    let query = MatchQuery {
        team: Some(side),
        before: later.start,
        statuses: Some(Status::RESULTS.to_vec()),
        newest_first: true,
        ..MatchQuery::of_sport(later.sport)
    };
    let others = view.all(&query).into_iter().filter(|summary| summary.id != later.id);
    let side_matches = others.filter_map(|summary| SideMatch::new(summary, side));
    side_matches.filter(|side_match| side_match.outcome().is_some()).collect()
}

/// How a head-to-head record decides who won a meeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidedBy {
    /// By the goals, those of extra time included: football, where a shoot-out decides nothing here. A
    /// meeting without a score does not count.
    Goals,
    /// By the winner: every other sport.
    Winner,
}

/// The earlier meetings of two sides, from the view of one of them.
#[derive(Debug, Clone, Default)]
pub struct HeadToHead {
    /// In the order in which they were passed.
    pub meetings: Vec<SideMatch>,
    pub wins: usize,
    pub draws: usize,
    pub losses: usize,
    /// Scored and conceded.
    pub goals: [u32; 2],
    /// The number of meetings with a score.
    pub scored: usize,
}

impl HeadToHead {
    /// The record against one opponent, from the results of a side.
    #[must_use]
    pub fn against(opponent: Key, results: &[SideMatch], rule: DecidedBy) -> Self {
        let meetings = results.iter().filter(|it| it.opponent() == Some(opponent));
        Self::new(meetings.cloned(), rule)
    }

    /// The record of these meetings.
    #[must_use]
    pub fn new(meetings: impl IntoIterator<Item = SideMatch>, rule: DecidedBy) -> Self {
        let mut record = Self::default();
        for meeting in meetings {
            let score = meeting.score();
            let outcome = match rule {
                DecidedBy::Goals => score.map(Outcome::of_score),
                DecidedBy::Winner => meeting.outcome(),
            };
            match outcome {
                Some(Outcome::Won) => record.wins += 1,
                Some(Outcome::Drawn) => record.draws += 1,
                Some(Outcome::Lost) => record.losses += 1,
                None => continue,
            }
            if let Some(score) = score {
                record.scored += 1;
                for (sum, goals) in record.goals.iter_mut().zip(score) {
                    *sum = sum.saturating_add(goals);
                }
            }
            record.meetings.push(meeting);
        }
        record
    }
}
