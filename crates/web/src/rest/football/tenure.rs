//! `managers/{id}/career/`: a manager's tenures with teams, and the effect of each appointment.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::{event::day, head_to_head::ratio, request::with_result, snapshot::Matches};
use history::query::{MatchQuery, regulation};
use record::{Key, MatchSummary};

/// The number of matches compared before and after an appointment.
const EFFECT: usize = 10;

/// Consecutive matches with one team.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Tenure {
    team_id: Key,
    team_name: String,
    /// The days of the first and the last match; the last one is `null` for the present team.
    start_date: Option<String>,
    end_date: Option<String>,
    matches: usize,
    wins: usize,
    draws: usize,
    losses: usize,
    appointment_effect: Effect,
}

/// Points per match of the team in its last ten matches before, and in the first ten of the manager.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Effect {
    matches_before: usize,
    points_per_match_before: Option<f64>,
    matches_after: usize,
    points_per_match_after: Option<f64>,
    /// `null` where one of the two is not known.
    change: Option<f64>,
}

/// Goals for and against one side of a match.
pub(super) fn goals_of(summary: &MatchSummary, side: usize) -> Option<[u32; 2]> {
    let goals = regulation(summary)?;
    Some([goals[side], goals[1 - side]])
}

/// The index of the side that equals this value.
pub(super) fn side_of<T: PartialEq>(sides: &[T; 2], one: &T) -> Option<usize> {
    sides.iter().position(|side| side == one)
}

/// Wins, draws and losses.
pub(in crate::rest) fn balance(goals: &[[u32; 2]]) -> [usize; 3] {
    let count = |is: fn(&&[u32; 2]) -> bool| goals.iter().filter(is).count();
    [count(|[a, b]| a > b), count(|[a, b]| a == b), count(|[a, b]| a < b)]
}

/// `summaries` are the manager's matches with a result, the earliest first. Returns the latest tenure first.
pub(super) fn tenures(
    matches: &Matches<'_>,
    manager: Key,
    summaries: &[Arc<MatchSummary>],
) -> Vec<Tenure> {
    let mut runs: Vec<(Key, Vec<&MatchSummary>)> = Vec::new();
    for summary in summaries {
        let side = side_of(&summary.coaches, &Some(manager));
        let Some(team) = side.and_then(|side| summary.sides.map(|sides| sides[side])) else {
            continue;
        };
        match runs.last_mut() {
            Some((last_team, run)) if *last_team == team => run.push(summary),
            Some(_) | None => runs.push((team, vec![summary])),
        }
    }
    let count = runs.len();
    let tenure = |(index, (team, run)): (usize, &(Key, Vec<&MatchSummary>))| {
        Tenure::new(matches, *team, run, index + 1 == count)
    };
    let mut tenures: Vec<_> = runs.iter().enumerate().map(tenure).collect();
    tenures.reverse();
    tenures
}

impl Tenure {
    fn new(matches: &Matches<'_>, team: Key, run: &[&MatchSummary], is_last: bool) -> Self {
        let goals = goals(team, run.iter().copied());
        let [wins, draws, losses] = balance(&goals);
        let start = run.first().and_then(|summary| summary.start);
        let end = run.last().and_then(|summary| summary.start);
        let before = MatchQuery { team: Some(team), before: start, ..with_result() };
        let before = matches.all(&before);
        let last = before.len().saturating_sub(EFFECT);
        let before = self::goals(team, before[last..].iter().map(AsRef::as_ref));
        Self {
            team_id: team,
            team_name: matches.team_name(team),
            start_date: start.and_then(day),
            end_date: end.filter(|_| !is_last).and_then(day),
            matches: goals.len(),
            wins,
            draws,
            losses,
            appointment_effect: Effect::new(&before, &goals[..goals.len().min(EFFECT)]),
        }
    }
}

fn goals<'a>(team: Key, summaries: impl Iterator<Item = &'a MatchSummary>) -> Vec<[u32; 2]> {
    let goals = summaries.filter_map(|summary| goals_of(summary, side_of(&summary.sides?, &team)?));
    goals.collect()
}

impl Effect {
    fn new(before: &[[u32; 2]], after: &[[u32; 2]]) -> Self {
        let points = |goals: &[[u32; 2]]| {
            let [wins, draws, _] = balance(goals);
            ratio(super::head_to_head::as_float(3 * wins + draws), goals.len(), 2)
        };
        let (was, is) = (points(before), points(after));
        let change = was.zip(is).map(|(was, is)| ((is - was) * 100.0).round() / 100.0);
        Self {
            matches_before: before.len(),
            points_per_match_before: was,
            matches_after: after.len(),
            points_per_match_after: is,
            change,
        }
    }
}
