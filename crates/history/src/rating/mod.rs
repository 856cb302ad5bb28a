//! Elo ratings of sides, computed from archived results.
//!
//! In: matches in the order in which they were played. Out: a [`RatingTable`] of ratings, and of each result
//! what was expected of it before. Every side begins at [`FIRST`]; a result moves both sides by
//! [`STEP`] times what it differs from the expected, 1 / (1 + 10^((other - own) / [`SCALE`])). A draw
//! is half a win; what was not played (a walkover) does not count. It knows neither HTTP nor SQL.

use std::collections::HashMap;

use base::Micros;

use record::{Key, MatchSummary, Status};

/// The first rating of every side.
pub const FIRST: f64 = 1500.0;
/// How far a completely unexpected result moves a rating.
pub const STEP: f64 = 32.0;
/// At this difference the stronger side is expected to win ten times of eleven.
pub const SCALE: f64 = 400.0;

/// A side and what its results say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rating {
    pub rating: f64,
    /// The highest that it ever was.
    pub peak: f64,
    pub played: u32,
    pub won: u32,
    pub lost: u32,
    /// When the last of its results began, where that is known.
    pub last: Option<Micros>,
    /// Of what that was a match.
    pub competition: Option<Key>,
}

impl Default for Rating {
    fn default() -> Self {
        Self {
            rating: FIRST,
            peak: FIRST,
            played: 0,
            won: 0,
            lost: 0,
            last: None,
            competition: None,
        }
    }
}

/// The ratings of one sport.
#[derive(Debug, Clone, Default)]
pub struct RatingTable {
    sides: HashMap<Key, Rating>,
    /// Of each result, the probability that the first side had before.
    expected: HashMap<Key, f64>,
}

impl RatingTable {
    /// Rates the results among these matches, which come in the order in which they were played.
    pub fn new<'a>(summaries: impl IntoIterator<Item = &'a MatchSummary>) -> Self {
        let mut table = Self::default();
        for summary in summaries {
            if let (Some(sides), Some(won)) = (summary.sides, result(summary)) {
                table.add(summary, sides, won);
            }
        }
        table
    }

    fn add(&mut self, summary: &MatchSummary, sides: [Key; 2], won: f64) {
        if let Some(chance) = self.chance(sides) {
            self.expected.insert(summary.id, chance);
        }
        let before = sides.map(|side| self.sides.get(&side).copied().unwrap_or_default());
        let change = STEP * (won - expectation(before.map(|it| it.rating)));
        for ((side, mut rating), (change, won)) in
            sides.into_iter().zip(before).zip([(change, won), (-change, 1.0 - won)])
        {
            rating.rating += change;
            rating.peak = rating.peak.max(rating.rating);
            rating.played += 1;
            rating.won += u32::from(won > 0.5);
            rating.lost += u32::from(won < 0.5);
            rating.last = summary.start.or(rating.last);
            rating.competition = summary.competition.or(rating.competition);
            self.sides.insert(side, rating);
        }
    }

    /// What the results say of a side; `None` where it has none.
    #[must_use]
    pub fn get(&self, side: Key) -> Option<&Rating> {
        self.sides.get(&side)
    }

    /// The probability that the first side wins; `None` if neither has a result.
    #[must_use]
    pub fn chance(&self, sides: [Key; 2]) -> Option<f64> {
        let ratings = sides.map(|side| self.sides.get(&side));
        if ratings.iter().all(Option::is_none) {
            return None;
        }
        Some(expectation(ratings.map(|rating| rating.map_or(FIRST, |it| it.rating))))
    }

    /// The probability that the first side had before this match, which has a result.
    #[must_use]
    pub fn expected(&self, id: Key) -> Option<f64> {
        self.expected.get(&id).copied()
    }

    /// All sides, the strongest first.
    #[must_use]
    pub fn ranked(&self) -> Vec<(Key, Rating)> {
        let mut ranked: Vec<_> = self.sides.iter().map(|(id, rating)| (*id, *rating)).collect();
        ranked.sort_by(|(a, x), (b, y)| y.rating.total_cmp(&x.rating).then(a.cmp(b)));
        ranked
    }
}

fn expectation([rating, opponent]: [f64; 2]) -> f64 {
    1.0 / (1.0 + 10_f64.powf((opponent - rating) / SCALE))
}

/// What the first side made of a match that was played: 1, 0, or 0.5 for a draw.
#[must_use]
pub fn result(summary: &MatchSummary) -> Option<f64> {
    if !matches!(summary.status, Status::Finished | Status::Retired) {
        return None;
    }
    match (winner(summary), summary.score) {
        (Some(0), _) => Some(1.0),
        (Some(_), _) => Some(0.0),
        (None, Some([first, second])) if first == second => {
            (summary.status == Status::Finished).then_some(0.5)
        }
        (None, Some(_) | None) => None,
    }
}

/// 0 or 1: the side that won, from the feed, or from the score of a match that was played to its end.
#[must_use]
pub fn winner(summary: &MatchSummary) -> Option<u8> {
    let by_score = || match summary.score? {
        [first, second] if first > second => Some(0),
        [first, second] if first < second => Some(1),
        [_, _] => None,
    };
    if !summary.status.has_result() {
        return None;
    }
    summary.winner.or_else(|| (summary.status == Status::Finished).then(by_score)?)
}

#[cfg(test)]
mod tests {
    use facts::event::Sport;

    use record::testing;

    use super::*;

    fn played(id: Key, sides: [Key; 2], score: [u32; 2]) -> MatchSummary {
        MatchSummary { sport: Sport::Hockey, ..testing::result(id, sides, score) }
    }

    #[test]
    fn results_move_both_ratings_by_the_unexpected_part() {
        let matches = [played(1, [10, 20], [3, 1]), played(2, [20, 10], [0, 2])];
        let table = RatingTable::new(&matches);
        assert_eq!(table.expected(1), None, "no team had a result");
        // 1516 against 1484 after the first.
        let expected = 1.0 / (1.0 + 10_f64.powf(32.0 / 400.0));
        assert!((table.expected(2).unwrap() - expected).abs() < 1e-12);
        let strong = table.get(10).unwrap();
        assert!((strong.rating - (1516.0 + 32.0 * expected)).abs() < 1e-9, "{strong:?}");
        assert_eq!((strong.played, strong.won, strong.lost), (2, 2, 0));
        assert!((strong.rating + table.get(20).unwrap().rating - 3000.0).abs() < 1e-9);
        assert_eq!(table.ranked()[0].0, 10);
        assert!(table.chance([10, 20]).unwrap() > 0.5);
        assert_eq!(table.chance([30, 40]), None);
    }

    #[test]
    fn only_played_matches_count() {
        let drawn = played(1, [10, 20], [2, 2]);
        assert_eq!(result(&drawn), Some(0.5));
        let walkover = MatchSummary { status: Status::Walkover, winner: Some(0), ..drawn.clone() };
        assert_eq!((result(&walkover), winner(&walkover)), (None, Some(0)));
        let retired = MatchSummary { status: Status::Retired, winner: Some(1), ..drawn.clone() };
        assert_eq!(result(&retired), Some(0.0));
        let live = MatchSummary { status: Status::Live, score: Some([2, 0]), ..drawn };
        assert_eq!((result(&live), winner(&live)), (None, None));
    }
}
