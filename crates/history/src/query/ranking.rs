//! How a table ranks its teams: by points, then by the rule of its competition.
//!
//! In: the rows and the matches of one table. Out: the rows in their order. Nothing else is read.

use std::{cmp::Reverse, collections::HashMap};

use serde::{Deserialize, Serialize};

use super::{Outcome, StandingsRow, Tally, pair};
use record::{Key, Status};

/// More teams with equal points are not compared among themselves.
const TIED_MAX: usize = 40;

base::words! {
    /// What decides between teams with equal points, with its word in the settings and in REST. In the end their names decide.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Ranking {
        /// Goal difference, then goals.
        #[default]
        GoalDifference = "goal_difference",
        /// Points, then goal difference of the matches among these teams, once all of them are played; then as above.
        HeadToHead = "head_to_head",
        /// Matches won, then as in `GoalDifference`.
        WinsFirst = "wins_first",
        /// As in `GoalDifference`, but after some rounds the table is split, and no team leaves its part.
        Split = "split",
    }
}

/// What teams keep of their points when the table is split.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitPoints {
    #[default]
    All,
    /// Half of them, without the rest.
    HalfDown,
    /// Half of them, and the rest counts as a point.
    HalfUp,
}

impl SplitPoints {
    fn kept(self, points: i64) -> i64 {
        match self {
            Self::All => points,
            Self::HalfDown => points.div_euclid(2),
            Self::HalfUp => (points + 1).div_euclid(2),
        }
    }
}

/// The rule of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableRule {
    pub ranking: Ranking,
    /// Points for a win. A draw gives one.
    pub win: u32,
    /// With [`Ranking::Split`] or halved points: the matches of each team before the split, and the teams of the upper part.
    pub split_after: u32,
    pub split_top: usize,
    /// The teams of a second part; 0 for all others. A third part keeps its points.
    pub split_second: usize,
    pub split_points: SplitPoints,
}

impl Default for TableRule {
    fn default() -> Self {
        Self {
            ranking: Ranking::default(),
            win: 3,
            split_after: 33,
            split_top: 6,
            split_second: 0,
            split_points: SplitPoints::All,
        }
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

/// Where a team is after the split.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    /// 0 for the upper one.
    number: usize,
    points_lost: i64,
}

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
        let parts = self.parts(rows, matches).unwrap_or_default();
        let part = |row: &StandingsRow| parts.get(&row.team).copied().unwrap_or_default();
        for row in &mut *rows {
            let lost = i64::from(row.deducted) + part(row).points_lost;
            row.points = self.points(&row.total) - lost;
        }
        let wins = |row: &StandingsRow| match self.ranking {
            Ranking::WinsFirst => row.total.won,
            Ranking::GoalDifference | Ranking::HeadToHead | Ranking::Split => 0,
        };
        rows.sort_by_cached_key(|row| {
            let StandingsRow { team, total, points, .. } = row;
            let order = (*points, wins(row), total.difference(), total.scored);
            (part(row).number, Reverse(order), name(*team), *team)
        });
        if self.ranking == Ranking::HeadToHead {
            let mut by_pair: MatchesByPair<'_> = HashMap::new();
            for table_match in matches {
                by_pair.entry(pair(table_match.sides)).or_default().push(table_match);
            }
            rows.chunk_by_mut(|a, b| a.points == b.points && part(a).number == part(b).number)
                .filter(|tied| tied.len() <= TIED_MAX)
                .for_each(|tied| self.by_direct_matches(tied, &by_pair, meetings));
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
        let pairs = tied.iter().enumerate().flat_map(|(index, one)| {
            tied.iter().skip(index + 1).map(move |other| pair([one.team, other.team]))
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
                for (team, scored, conceded) in [(sides[0], home, away), (sides[1], away, home)] {
                    let (tally, difference) = sums.get_mut(&team)?;
                    tally.add([scored, conceded], Outcome::of_score([scored, conceded]), false);
                    *difference += i64::from(scored) - i64::from(conceded);
                }
            }
            if played < meetings || *times.get_or_insert(played) != played {
                return None;
            }
        }
        let points = |(team, (tally, difference))| (team, (self.points(&tally), difference));
        Some(sums.into_iter().map(points).collect())
    }

    /// The parts of the teams; `None` without a split, and until every team has played so many matches.
    fn parts(&self, rows: &[StandingsRow], matches: &[TableMatch]) -> Option<HashMap<Key, Part>> {
        let is_split = self.ranking == Ranking::Split || self.split_points != SplitPoints::All;
        if !is_split || rows.is_empty() {
            return None;
        }
        let before = |row: &StandingsRow| StandingsRow {
            team: row.team,
            deducted: row.deducted,
            ..StandingsRow::default()
        };
        let mut before: Vec<_> = rows.iter().map(before).collect();
        let places: HashMap<Key, usize> =
            rows.iter().enumerate().map(|(rank, row)| (row.team, rank)).collect();
        for TableMatch { sides, score, .. } in matches {
            let Some([home, away]) = *score else { continue };
            for (team, scored, conceded) in [(sides[0], home, away), (sides[1], away, home)] {
                let row = before.get_mut(*places.get(&team)?)?;
                if row.total.played < self.split_after {
                    row.total.add([scored, conceded], Outcome::of_score([scored, conceded]), false);
                }
            }
        }
        if before.iter().any(|row| row.total.played < self.split_after) {
            return None;
        }
        let ranking = match self.ranking {
            Ranking::WinsFirst => Ranking::WinsFirst,
            Ranking::GoalDifference | Ranking::HeadToHead | Ranking::Split => {
                Ranking::GoalDifference
            }
        };
        let whole = Self { ranking, split_points: SplitPoints::All, ..*self };
        whole.rank(&mut before, &[], 0, |_| String::new());
        let second_end = match self.split_second {
            0 => usize::MAX,
            teams => self.split_top.saturating_add(teams),
        };
        let part = |(rank, row): (usize, &StandingsRow)| {
            let number = usize::from(rank >= self.split_top) + usize::from(rank >= second_end);
            let kept = if number < 2 { self.split_points.kept(row.points) } else { row.points };
            (row.team, Part { number, points_lost: row.points - kept })
        };
        Some(before.iter().enumerate().map(part).collect())
    }
}
