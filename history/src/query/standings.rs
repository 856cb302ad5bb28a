//! The table of a league, from the matches of a season.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use facts::event::ExpectedGoals;

use super::{FORM, Outcome};
use crate::rating;
use record::{Key, MatchSummary};

/// What a table counts. Interfaces differ on purpose; the match of a team counts the same in all of them.
#[derive(Debug, Clone, Copy)]
pub enum StandingsRule {
    /// Football: the goals of regulation time decide, and a match without a score does not count.
    Regulation {
        /// Also lists teams without a counted match: version 2.
        lists_all_teams: bool,
    },
    /// Other sports: the winner decides, in regulation time or in overtime.
    Winner { had_overtime: fn(&MatchSummary) -> bool },
}

/// Sums over matches of one team.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub played: u32,
    /// In regulation time.
    pub won: u32,
    pub drawn: u32,
    pub lost: u32,
    pub overtime_won: u32,
    pub overtime_lost: u32,
    pub scored: u32,
    pub conceded: u32,
}

impl Tally {
    fn add(&mut self, [own, other]: [u32; 2], outcome: Outcome, overtime: bool) {
        self.played += 1;
        self.scored = self.scored.saturating_add(own);
        self.conceded = self.conceded.saturating_add(other);
        *match (outcome, overtime) {
            (Outcome::Won, false) => &mut self.won,
            (Outcome::Won, true) => &mut self.overtime_won,
            (Outcome::Drawn, _) => &mut self.drawn,
            (Outcome::Lost, false) => &mut self.lost,
            (Outcome::Lost, true) => &mut self.overtime_lost,
        } += 1;
    }

    /// Goals scored minus goals conceded.
    #[must_use]
    pub fn difference(&self) -> i64 {
        i64::from(self.scored) - i64::from(self.conceded)
    }

    /// Three for a win, one for a draw. No feed reports deducted points.
    #[must_use]
    pub fn points(&self) -> u32 {
        3 * self.won + self.drawn
    }
}

/// Expected goals over the matches that have them, rounded to two digits.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ExpectedGoalsTally {
    pub scored: f64,
    pub conceded: f64,
    pub difference: f64,
    pub matches: u32,
}

impl ExpectedGoalsTally {
    fn add(&mut self, [own, other]: [f64; 2]) {
        self.scored = hundredths(self.scored + own);
        self.conceded = hundredths(self.conceded + other);
        self.difference = hundredths(self.difference + (own - other));
        self.matches += 1;
    }
}

/// A team in a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StandingsRow {
    pub team: Key,
    pub total: Tally,
    pub home: Tally,
    pub away: Tally,
    pub expected: Option<ExpectedGoalsTally>,
    /// All counted matches, the oldest first.
    outcomes: Vec<Outcome>,
    /// A match in play counts with its current score.
    pub live: bool,
}

impl StandingsRow {
    fn add(&mut self, place: usize, score: [u32; 2], outcome: Outcome, overtime: bool) {
        let own = if place == 0 { &mut self.home } else { &mut self.away };
        own.add(score, outcome, overtime);
        self.total.add(score, outcome, overtime);
        self.outcomes.push(outcome);
    }

    /// The last [`FORM`] outcomes, the newest last: `WLWWD`.
    #[must_use]
    pub fn form(&self) -> String {
        let older = self.outcomes.len().saturating_sub(FORM);
        self.outcomes[older..].iter().map(|outcome| outcome.letter()).collect()
    }
}

/// The table of a season, unordered. Counts results and matches in play. `matches` are in order of start.
#[must_use]
pub fn league_table<'a>(
    matches: impl IntoIterator<Item = &'a MatchSummary>,
    rule: StandingsRule,
) -> Vec<StandingsRow> {
    tables_by(matches, rule, |_| ()).into_values().flatten().collect()
}

/// Like [`league_table`], but one table for each group, and under `None` that of the matches outside of groups.
#[must_use]
pub fn group_tables<'a>(
    matches: impl IntoIterator<Item = &'a MatchSummary>,
    rule: StandingsRule,
) -> BTreeMap<Option<Arc<str>>, Vec<StandingsRow>> {
    tables_by(matches, rule, |brief| brief.group.clone())
}

fn tables_by<'a, K: Ord>(
    matches: impl IntoIterator<Item = &'a MatchSummary>,
    rule: StandingsRule,
    group: impl Fn(&MatchSummary) -> K,
) -> BTreeMap<K, Vec<StandingsRow>> {
    let lists_all_teams = matches!(rule, StandingsRule::Regulation { lists_all_teams: true });
    let mut tables: BTreeMap<K, HashMap<Key, StandingsRow>> = BTreeMap::new();
    for brief in matches {
        let counted = counted(brief, rule);
        if !lists_all_teams && counted.is_none() {
            continue;
        }
        let table = tables.entry(group(brief)).or_default();
        for (place, team) in brief.sides.into_iter().flatten().enumerate() {
            let row = table
                .entry(team)
                .or_insert_with(|| StandingsRow { team, ..StandingsRow::default() });
            let Some(CountedResult { score, outcomes, overtime }) = counted else { continue };
            row.add(place, [score[place], score[1 - place]], outcomes[place], overtime);
            row.live |= brief.status.is_live();
            if let Some(goals) = brief.expected_goals.map(|it| it.map(ExpectedGoals::goals)) {
                let expected = row.expected.get_or_insert_default();
                expected.add([goals[place], goals[1 - place]]);
            }
        }
    }
    tables.into_iter().map(|(group, table)| (group, table.into_values().collect())).collect()
}

/// What a match adds to the rows of its sides.
#[derive(Debug, Clone, Copy)]
struct CountedResult {
    score: [u32; 2],
    outcomes: [Outcome; 2],
    overtime: bool,
}

fn counted(brief: &MatchSummary, rule: StandingsRule) -> Option<CountedResult> {
    brief.sides?;
    if !brief.status.is_live() && !brief.status.has_result() {
        return None;
    }
    match rule {
        StandingsRule::Regulation { .. } => {
            let score @ [home, away] = regulation(brief)?;
            let outcomes = [[home, away], [away, home]].map(Outcome::of_score);
            Some(CountedResult { score, outcomes, overtime: false })
        }
        StandingsRule::Winner { had_overtime } => {
            let outcomes = match (rating::winner(brief), brief.score) {
                (Some(0), _) => [Outcome::Won, Outcome::Lost],
                (Some(_), _) => [Outcome::Lost, Outcome::Won],
                (None, Some(_)) => [Outcome::Drawn; 2],
                (None, None) => return None,
            };
            let score = brief.score.unwrap_or_default();
            Some(CountedResult { score, outcomes, overtime: had_overtime(brief) })
        }
    }
}

/// Orders a football table: by points, goal difference, goals, name and id.
pub fn by_points(rows: &mut [StandingsRow], name: impl Fn(Key) -> String) {
    rows.sort_by_cached_key(|StandingsRow { team, total, .. }| {
        (Reverse((total.points(), total.difference(), total.scored)), name(*team), *team)
    });
}

/// The goals of both halves. A match that has not begun has no score, even if a feed reports 0-0.
#[must_use]
pub fn regulation(brief: &MatchSummary) -> Option<[u32; 2]> {
    if !brief.status.has_begun() {
        return None;
    }
    let extra = brief.extra_time.unwrap_or_default().map(u32::from);
    let goals = brief.score?;
    Some([goals[0].saturating_sub(extra[0]), goals[1].saturating_sub(extra[1])])
}

fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use record::{Status, testing::result};

    use super::*;

    const RULE: StandingsRule = StandingsRule::Regulation { lists_all_teams: false };

    #[test]
    fn table_is_sorted_by_points_then_difference_then_goals() {
        let matches =
            [result(1, [1, 2], [1, 0]), result(2, [2, 3], [3, 1]), result(3, [3, 1], [2, 2])];
        let mut rows = league_table(&matches, RULE);
        by_points(&mut rows, |_| String::new());
        let places: Vec<_> =
            rows.iter().map(|row| (row.team, row.total.points(), row.form())).collect();
        let expected = [(1, 4, "WD"), (2, 3, "LW"), (3, 1, "LD")];
        assert_eq!(places, expected.map(|(team, points, form)| (team, points, form.to_owned())));
        let home = Tally { played: 1, won: 1, scored: 1, ..Tally::default() };
        assert_eq!((rows[0].home, rows[0].home.difference()), (home, 1));
        assert_eq!(rows[2].total.difference(), -2);
    }

    #[test]
    fn teams_of_unplayed_matches_are_listed_only_by_their_rule() {
        let fixture = MatchSummary {
            status: Status::NotStarted,
            score: None,
            group: Some("Group A".into()),
            ..result(1, [1, 2], [0, 0])
        };
        assert!(group_tables([&fixture], RULE).is_empty());
        let all = group_tables([&fixture], StandingsRule::Regulation { lists_all_teams: true });
        let rows: Vec<_> = all.into_iter().collect();
        let [(Some(group), rows)] = rows.as_slice() else { panic!("one group: {rows:?}") };
        assert_eq!((&**group, rows.len()), ("Group A", 2));
        assert!(rows.iter().all(|row| row.total.played == 0), "{rows:?}");
    }

    #[test]
    fn overtime_counts_separately_except_in_football() {
        let decided = MatchSummary { extra_time: Some([1, 0]), ..result(1, [1, 2], [2, 1]) };
        let rows = league_table([&decided], RULE);
        assert!(rows.iter().all(|row| row.total.drawn == 1 && row.form() == "D"), "{rows:?}");
        let rule = StandingsRule::Winner { had_overtime: |brief| brief.extra_time.is_some() };
        let mut rows = league_table([&decided], rule);
        rows.sort_by_key(|row| row.team);
        assert_eq!((rows[0].total.won, rows[0].total.overtime_won), (0, 1));
        assert_eq!((rows[1].total.lost, rows[1].total.overtime_lost), (0, 1));
    }

    #[test]
    fn form_has_the_last_five_results() {
        let matches: Vec<_> =
            (1..=7).map(|id| result(id, [1, 2], if id > 5 { [0, 1] } else { [1, 0] })).collect();
        let rows = league_table(&matches, RULE);
        let first = rows.iter().find(|row| row.team == 1).expect("it played");
        assert_eq!(first.form(), "WWWLL");
    }
}
