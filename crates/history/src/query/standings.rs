//! The table of a league, from the matches of a season.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use base::names::words;
use facts::event::ExpectedGoals;

use super::{FORM, Outcome, Regulations, TableMatch, TableRule, regulations::fold};
use crate::{config::Deduction, rating};
use record::{Key, MatchSummary, Status};

/// What a table counts. Interfaces differ on purpose; the match of a team counts the same in all of them.
#[derive(Debug, Clone, Copy)]
pub enum StandingsRule {
    /// Football: the goals of regulation time decide, and a match without a score does not count.
    Regulation {
        /// Also lists teams without a counted match, and counts matches in play: version 2.
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
    pub(super) fn add(&mut self, [scored, conceded]: [u32; 2], outcome: Outcome, overtime: bool) {
        self.played += 1;
        self.scored = self.scored.saturating_add(scored);
        self.conceded = self.conceded.saturating_add(conceded);
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
}

/// Expected goals over the matches that have them: exact sums, of five digits.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ExpectedGoalsTally {
    pub scored: f64,
    pub conceded: f64,
    pub difference: f64,
    pub matches: u32,
}

impl ExpectedGoalsTally {
    fn add(&mut self, [scored, conceded]: [f64; 2]) {
        self.scored = exact(self.scored + scored);
        self.conceded = exact(self.conceded + conceded);
        self.difference = exact(self.difference + (scored - conceded));
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
    pub(super) outcomes: Vec<Outcome>,
    /// A match in play counts with its current score.
    pub live: bool,
    /// Football: points that the competition took from the team, and those that it has without them.
    pub deducted: u32,
    pub points: i64,
}

/// The tables of a season of football, ranked by the rule of the competition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FootballTables {
    pub rule: TableRule,
    pub deductions: Vec<DeductionOfTeam>,
    /// Of the matches outside of groups.
    pub ungrouped: Vec<StandingsRow>,
    pub groups: BTreeMap<Arc<str>, Vec<StandingsRow>>,
}

/// A deduction, and the team of the tables that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeductionOfTeam {
    /// `None` if no team, or more than one, has the name.
    pub team: Option<Key>,
    pub deduction: Deduction,
}

/// A table before it is ranked.
#[derive(Debug, Default)]
struct Table {
    rows: HashMap<Key, StandingsRow>,
    matches: Vec<TableMatch>,
}

impl StandingsRow {
    fn add(&mut self, side: usize, score: [u32; 2], outcome: Outcome, overtime: bool) {
        let tally = if side == 0 { &mut self.home } else { &mut self.away };
        tally.add(score, outcome, overtime);
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
    tables_by(matches, rule, |_| ())
        .into_values()
        .flat_map(|table| table.rows.into_values())
        .collect()
}

/// The tables of a season of football: one for each group, and one of the matches outside of groups. `matches` are in
/// order of start; those of a knock-out round do not count. `lists_all_teams` is as in [`StandingsRule`].
#[must_use]
pub fn football_tables<'a>(
    matches: impl IntoIterator<Item = &'a MatchSummary>,
    lists_all_teams: bool,
    regulations: Regulations,
    name: impl Fn(Key) -> String,
) -> FootballTables {
    let Regulations { rule, groups, deductions } = regulations;
    let counts = matches.into_iter().filter(|it| it.group.is_some() || !is_knock_out(it));
    let counted = StandingsRule::Regulation { lists_all_teams };
    let mut tables = tables_by(counts, counted, |summary| summary.group.clone());
    // A deduction may be of a team that has not played yet.
    let sides = tables.values().flat_map(|table| table.matches.iter().flat_map(|it| it.sides));
    let teams = tables.values().flat_map(|table| table.rows.keys().copied()).chain(sides);
    let teams: BTreeSet<Key> = teams.collect();
    let teams: BTreeMap<Key, String> = teams.into_iter().map(|team| (team, name(team))).collect();
    tables.retain(|_, table| !table.rows.is_empty());
    let deductions: Vec<_> = deductions
        .into_iter()
        .map(|deduction| DeductionOfTeam { team: team_named(&teams, &deduction.team), deduction })
        .collect();
    for DeductionOfTeam { team, deduction } in &deductions {
        for table in tables.values_mut() {
            if let Some(row) = team.and_then(|team| table.rows.get_mut(&team)) {
                row.deducted += deduction.points;
            }
        }
    }
    let ranked = |matches: &[TableMatch], mut rows: Vec<StandingsRow>, meetings: u32| {
        rule.rank(&mut rows, matches, meetings, |team| {
            teams.get(&team).cloned().unwrap_or_default()
        });
        rows
    };
    // Two teams of a league meet at home and away, two of a group as often as its fixtures say.
    let Table { rows, matches } = tables.remove(&None).unwrap_or_default();
    let mut conferences = BTreeMap::new();
    let mut rows: Vec<_> = rows.into_values().collect();
    if tables.is_empty() {
        let members = |names: Vec<String>| -> Vec<Key> {
            names.iter().filter_map(|name| team_named(&teams, name)).collect()
        };
        let groups: Vec<_> =
            groups.into_iter().map(|(group, names)| (group, members(names))).collect();
        let has_group =
            |row: &StandingsRow| groups.iter().any(|(_, members)| members.contains(&row.team));
        // Those of another season, or one that is misspelt: the table stays whole.
        if rows.iter().all(has_group) {
            for (group, members) in groups {
                let of_group: Vec<_> =
                    rows.extract_if(.., |row| members.contains(&row.team)).collect();
                conferences.insert(group.into(), ranked(&matches, of_group, 2));
            }
        }
    }
    let stated = tables.into_iter().filter_map(|(group, Table { rows, matches })| {
        Some((group?, ranked(&matches, rows.into_values().collect(), 1)))
    });
    conferences.extend(stated);
    FootballTables { rule, deductions, ungrouped: ranked(&matches, rows, 2), groups: conferences }
}

/// The team with this name, or the only one whose words contain its words, or the other way round.
fn team_named(teams: &BTreeMap<Key, String>, wanted: &str) -> Option<Key> {
    let only = |fits: &dyn Fn(&str) -> bool| {
        let mut found = teams.iter().filter(|(_, name)| fits(name)).map(|(team, _)| *team);
        found.next().filter(|_| found.next().is_none())
    };
    let within = |part: &str, whole: &str| {
        let whole = words(whole);
        words(part).iter().all(|word| whole.contains(word))
    };
    only(&|name| fold(name) == fold(wanted)).or_else(|| {
        only(&|name| !name.is_empty() && (within(wanted, name) || within(name, wanted)))
    })
}

/// Whether its round is one of a knock-out, by its name: play-offs after a season are no part of the table.
fn is_knock_out(summary: &MatchSummary) -> bool {
    let name = summary.round_name.as_deref().unwrap_or_default().to_lowercase();
    ["play-off", "playoff", "final", "round of"].iter().any(|word| name.contains(word))
}

fn tables_by<'a, K: Ord>(
    matches: impl IntoIterator<Item = &'a MatchSummary>,
    rule: StandingsRule,
    group: impl Fn(&MatchSummary) -> K,
) -> BTreeMap<K, Table> {
    let lists_all_teams = matches!(rule, StandingsRule::Regulation { lists_all_teams: true });
    let mut tables: BTreeMap<K, Table> = BTreeMap::new();
    for summary in matches {
        let counted = counted(summary, rule);
        let table = tables.entry(group(summary)).or_default();
        if let Some(sides) = summary.sides
            && (counted.is_some() || !summary.status.is_over())
        {
            let (score, status) = (counted.map(|it| it.score), summary.status);
            table.matches.push(TableMatch { sides, score, status });
        }
        if !lists_all_teams && counted.is_none() {
            continue;
        }
        for (side, team) in summary.sides.into_iter().flatten().enumerate() {
            let row = table
                .rows
                .entry(team)
                .or_insert_with(|| StandingsRow { team, ..StandingsRow::default() });
            let Some(CountedResult { score, outcomes, overtime }) = counted else { continue };
            row.add(side, [score[side], score[1 - side]], outcomes[side], overtime);
            row.live |= summary.status.is_live();
            if let Some(goals) = summary.expected_goals.map(|it| it.map(ExpectedGoals::goals)) {
                let expected = row.expected.get_or_insert_default();
                expected.add([goals[side], goals[1 - side]]);
            }
        }
    }
    tables
}

/// What a match adds to the rows of its sides.
#[derive(Debug, Clone, Copy)]
struct CountedResult {
    score: [u32; 2],
    outcomes: [Outcome; 2],
    overtime: bool,
}

fn counted(summary: &MatchSummary, rule: StandingsRule) -> Option<CountedResult> {
    summary.sides?;
    if !summary.status.is_live() && !summary.status.has_result() {
        return None;
    }
    match rule {
        StandingsRule::Regulation { lists_all_teams: false }
            if summary.status != Status::Finished =>
        {
            None
        }
        StandingsRule::Regulation { .. } => {
            let score @ [home, away] = regulation(summary)?;
            let outcomes = [[home, away], [away, home]].map(Outcome::of_score);
            Some(CountedResult { score, outcomes, overtime: false })
        }
        StandingsRule::Winner { had_overtime } => {
            let outcomes = match (rating::winner(summary), summary.score) {
                (Some(0), _) => [Outcome::Won, Outcome::Lost],
                (Some(_), _) => [Outcome::Lost, Outcome::Won],
                (None, Some(_)) => [Outcome::Drawn; 2],
                (None, None) => return None,
            };
            let score = summary.score.unwrap_or_default();
            Some(CountedResult { score, outcomes, overtime: had_overtime(summary) })
        }
    }
}

/// The goals of both halves. A match that has not begun has no score, even if a feed reports 0-0.
#[must_use]
pub fn regulation(summary: &MatchSummary) -> Option<[u32; 2]> {
    if !summary.status.has_begun() {
        return None;
    }
    let extra = summary.extra_time.unwrap_or_default().map(u32::from);
    let goals = summary.score?;
    Some([goals[0].saturating_sub(extra[0]), goals[1].saturating_sub(extra[1])])
}

/// Removes the error of adding floats from a sum of hundred-thousandths.
fn exact(value: f64) -> f64 {
    (value * 100_000.0).round() / 100_000.0
}

#[cfg(test)]
mod tests {
    use record::testing::result;

    use super::*;

    const RULE: StandingsRule = StandingsRule::Regulation { lists_all_teams: false };

    fn tables(matches: &[MatchSummary], lists_all_teams: bool) -> FootballTables {
        football_tables(matches, lists_all_teams, Regulations::default(), |_| String::new())
    }

    #[test]
    fn table_is_sorted_by_points_then_difference_then_goals() {
        let matches =
            [result(1, [1, 2], [1, 0]), result(2, [2, 3], [3, 1]), result(3, [3, 1], [2, 2])];
        let rows = tables(&matches, false).ungrouped;
        let places: Vec<_> = rows.iter().map(|row| (row.team, row.points, row.form())).collect();
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
        assert!(tables(std::slice::from_ref(&fixture), false).groups.is_empty());
        let rows: Vec<_> = tables(&[fixture], true).groups.into_iter().collect();
        let [(group, rows)] = rows.as_slice() else { panic!("one group: {rows:?}") };
        assert_eq!((&**group, rows.len()), ("Group A", 2));
        assert!(rows.iter().all(|row| row.total.played == 0), "{rows:?}");
    }

    #[test]
    fn teams_are_found_in_any_spelling() {
        let teams = [(1, "Malmö FF"), (2, "Beşiktaş JK"), (3, "Dundee"), (4, "Dundee United")];
        let teams: BTreeMap<Key, String> = teams.map(|(team, name)| (team, name.to_owned())).into();
        for (name, team) in
            [("Malmo", Some(1)), ("Besiktas", Some(2)), ("Dundee", Some(3)), ("United", Some(4))]
        {
            assert_eq!(team_named(&teams, name), team, "{name}");
        }
    }

    #[test]
    fn play_offs_after_the_season_are_in_no_table() {
        let round = |name: &str, id| MatchSummary {
            round_name: Some(name.into()),
            ..result(id, [1, 2], [1, 0])
        };
        let matches = [round("Regular Season - 1", 1), round("Promotion Play-offs - Final", 2)];
        let rows = tables(&matches, false).ungrouped;
        assert_eq!(rows.iter().map(|row| row.total.played).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn overtime_counts_separately_except_in_football() {
        let decided = MatchSummary { extra_time: Some([1, 0]), ..result(1, [1, 2], [2, 1]) };
        let rows = league_table([&decided], RULE);
        assert!(rows.iter().all(|row| row.total.drawn == 1 && row.form() == "D"), "{rows:?}");
        let rule = StandingsRule::Winner { had_overtime: |summary| summary.extra_time.is_some() };
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
