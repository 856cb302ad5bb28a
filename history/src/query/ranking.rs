//! How a table ranks its teams: by points, then by the rule of its competition.
//!
//! In: the rows and the matches of one table. Out: the rows in their order. Nothing else is read.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
};

use serde::{Deserialize, Serialize};

use super::{Outcome, StandingsRow, Tally, pair};
use record::{Key, Status};

/// More teams with equal points are not compared among themselves.
const TIED_MAX: usize = 40;

/// What decides between teams with equal points. In the end their names decide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ranking {
    /// Goal difference, then goals.
    #[default]
    GoalDifference,
    /// Points, then goal difference of the matches among these teams, once all of them are played; then as above.
    HeadToHead,
    /// Matches won, then as in `GoalDifference`.
    WinsFirst,
    /// As in `GoalDifference`, but after some rounds the table is split, and no team leaves its part.
    Split,
}

impl Ranking {
    /// The word of the settings and of REST.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GoalDifference => "goal_difference",
            Self::HeadToHead => "head_to_head",
            Self::WinsFirst => "wins_first",
            Self::Split => "split",
        }
    }
}

/// The rule of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableRule {
    pub ranking: Ranking,
    /// Points for a win. A draw gives one.
    pub win: u32,
    /// With [`Ranking::Split`]: the matches of each team before the split, and the teams of the upper part.
    pub split_after: u32,
    pub split_top: usize,
}

impl Default for TableRule {
    fn default() -> Self {
        Self { ranking: Ranking::default(), win: 3, split_after: 33, split_top: 6 }
    }
}

/// A match that is or may be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableMatch {
    pub sides: [Key; 2],
    /// `None` if it does not count yet.
    pub score: Option<[u32; 2]>,
    pub status: Status,
}

type MatchesByPair<'a> = HashMap<[Key; 2], Vec<&'a TableMatch>>;

impl TableRule {
    fn points(&self, total: &Tally) -> i64 {
        i64::from(self.win) * i64::from(total.won) + i64::from(total.drawn)
    }

    /// Orders the rows and sets their points. `matches` are those of the table, in order of start. Two teams of the
    /// table meet at least `meetings` times.
    pub fn rank(
        &self,
        rows: &mut [StandingsRow],
        matches: &[TableMatch],
        meetings: u32,
        name: impl Fn(Key) -> String,
    ) {
        for row in &mut *rows {
            row.points = self.points(&row.total) - i64::from(row.deducted);
        }
        let wins = |row: &StandingsRow| match self.ranking {
            Ranking::WinsFirst => row.total.won,
            Ranking::GoalDifference | Ranking::HeadToHead | Ranking::Split => 0,
        };
        rows.sort_by_cached_key(|row| {
            let StandingsRow { team, total, points, .. } = row;
            let order = (*points, wins(row), total.difference(), total.scored);
            (Reverse(order), name(*team), *team)
        });
        match self.ranking {
            Ranking::HeadToHead => {
                let mut by_pair: MatchesByPair<'_> = HashMap::new();
                for it in matches {
                    by_pair.entry(pair(it.sides)).or_default().push(it);
                }
                rows.chunk_by_mut(|a, b| a.points == b.points)
                    .filter(|tied| tied.len() <= TIED_MAX)
                    .for_each(|tied| self.by_direct_matches(tied, &by_pair, meetings));
            }
            Ranking::Split => {
                if let Some(upper) = self.upper_part(rows, matches) {
                    rows.sort_by_key(|row| !upper.contains(&row.team));
                }
            }
            Ranking::GoalDifference | Ranking::WinsFirst => {}
        }
    }

    /// Orders teams with equal points, which are in the order of all matches.
    fn by_direct_matches(
        &self,
        tied: &mut [StandingsRow],
        matches: &MatchesByPair<'_>,
        meetings: u32,
    ) {
        let Some(direct) = self.direct_results(tied, matches, meetings) else { return };
        let result = |row: &StandingsRow| direct.get(&row.team);
        tied.sort_by_key(|row| Reverse(result(row)));
        let all = tied.len();
        // Those that are still equal are compared among themselves.
        let still = tied.chunk_by_mut(|a, b| result(a) == result(b));
        still
            .filter(|still| still.len() < all)
            .for_each(|still| self.by_direct_matches(still, matches, meetings));
    }

    /// Points and goal difference of the matches among these teams; `None` while one of them is to be played. A match
    /// without a score may have been played under another id: it is left out where the two have met often enough.
    fn direct_results(
        &self,
        tied: &[StandingsRow],
        matches: &MatchesByPair<'_>,
        meetings: u32,
    ) -> Option<HashMap<Key, (i64, i64)>> {
        let mut sums: HashMap<Key, (Tally, i64)> =
            tied.iter().map(|row| (row.team, (Tally::default(), 0))).collect();
        let mut times = None;
        let pairs = tied.iter().enumerate().flat_map(|(place, one)| {
            tied.iter().skip(place + 1).map(move |other| pair([one.team, other.team]))
        });
        for pair in pairs {
            let mut played = 0;
            for TableMatch { sides, score, status } in matches.get(&pair)? {
                let Some([home, away]) = *score else {
                    // The teams of a group meet as often as its fixtures say.
                    if meetings == 1 && *status != Status::Postponed {
                        return None;
                    }
                    continue;
                };
                played += 1;
                for (team, own, other) in [(sides[0], home, away), (sides[1], away, home)] {
                    let (tally, difference) = sums.get_mut(&team)?;
                    tally.add([own, other], Outcome::of_score([own, other]), false);
                    *difference += i64::from(own) - i64::from(other);
                }
            }
            if played < meetings || *times.get_or_insert(played) != played {
                return None;
            }
        }
        let points = |(team, (tally, difference))| (team, (self.points(&tally), difference));
        Some(sums.into_iter().map(points).collect())
    }

    /// The teams above the split; `None` until every team has played so many matches.
    fn upper_part(&self, rows: &[StandingsRow], matches: &[TableMatch]) -> Option<HashSet<Key>> {
        let before = |row: &StandingsRow| StandingsRow {
            team: row.team,
            deducted: row.deducted,
            ..StandingsRow::default()
        };
        let mut before: Vec<_> = rows.iter().map(before).collect();
        let places: HashMap<Key, usize> =
            rows.iter().enumerate().map(|(place, row)| (row.team, place)).collect();
        for TableMatch { sides, score, .. } in matches {
            let Some([home, away]) = *score else { continue };
            for (team, own, other) in [(sides[0], home, away), (sides[1], away, home)] {
                let row = before.get_mut(*places.get(&team)?)?;
                if row.total.played < self.split_after {
                    row.total.add([own, other], Outcome::of_score([own, other]), false);
                }
            }
        }
        if before.iter().any(|row| row.total.played < self.split_after) {
            return None;
        }
        let whole = Self { ranking: Ranking::GoalDifference, ..*self };
        whole.rank(&mut before, &[], 0, |_| String::new());
        Some(before.iter().take(self.split_top).map(|row| row.team).collect())
    }
}
