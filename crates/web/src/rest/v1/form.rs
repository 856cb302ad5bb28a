//! `home_form` and `away_form` of an event: the last results of a side before it.

use std::{collections::HashMap, sync::Arc};

use facts::event::ExpectedGoals;
use serde::Serialize;
use utoipa::ToSchema;

use crate::rest::{
    ApiError,
    football::{
        event::day,
        head_to_head::{as_float, ratio},
        match_stats::{MatchStats, MatchStatsCache},
        snapshot::Matches,
        tenure::balance,
    },
};
use history::query::{FORM, Outcome, SideMatch, earlier_results};
use record::{Key, MatchSummary};

/// The digits of means and rates.
const DIGITS: i32 = 4;

/// The last five results with a score, extra time included. Means are over those of them in which the figure is known;
/// `null` where it is in none.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = V1Form)]
pub(super) struct Form {
    /// Today, or the day of the event once it has begun; UTC.
    calculated_at: Option<String>,
    matches_played: usize,
    /// `W`, `D`, `L`, the newest first.
    form_string: String,
    wins: usize,
    draws: usize,
    losses: usize,
    points_last_n: usize,
    goals_scored_last_n: u32,
    goals_conceded_last_n: u32,
    avg_xg: Option<f64>,
    avg_xg_conceded: Option<f64>,
    avg_shots: Option<f64>,
    avg_shots_on_target: Option<f64>,
    avg_key_passes: Option<f64>,
    /// Goals per expected goal.
    goal_conversion_rate: Option<f64>,
    /// 1 less the goals conceded per expected goal conceded.
    defensive_efficiency: Option<f64>,
    clean_sheets: usize,
    /// In percent.
    avg_pass_accuracy: Option<f64>,
    /// 0 to 1.
    duel_win_rate: Option<f64>,
    aerial_win_rate: Option<f64>,
    avg_fouls: Option<f64>,
    avg_yellow_cards: Option<f64>,
    /// Points per match of the last five at home, and goals in them.
    home_ppg: Option<f64>,
    away_ppg: Option<f64>,
    home_goals_scored: u32,
    home_goals_conceded: u32,
    away_goals_scored: u32,
    away_goals_conceded: u32,
    avg_team_rating: Option<f64>,
}

/// The form of both sides before a match; `None` of a side without results.
///
/// # Errors
///
/// If the archive fails.
pub(super) async fn forms(
    matches: &Matches<'_>,
    cache: &MatchStatsCache,
    summary: &MatchSummary,
) -> Result<[Option<Form>; 2], ApiError> {
    let Some(sides) = summary.sides else { return Ok([None, None]) };
    let results = sides.map(|side| {
        let mut results = earlier_results(matches, summary, side);
        results.retain(|it| it.score().is_some());
        results
    });
    let last = results.iter().flat_map(|results| results.iter().take(FORM));
    let last: Vec<_> = last.map(|it| Arc::clone(&it.summary)).collect();
    let stats = cache.load(matches, &last).await?;
    let now = summary.start.map_or(matches.now, |start| start.min(matches.now));
    Ok(results.map(|results| Form::new(&results, &stats, day(now))))
}

impl Form {
    /// Of results with a score, the newest first.
    fn new(
        results: &[SideMatch],
        stats: &HashMap<Key, MatchStats>,
        calculated_at: Option<String>,
    ) -> Option<Self> {
        let last = results.get(..results.len().min(FORM)).filter(|last| !last.is_empty())?;
        let scores: Vec<_> = last.iter().filter_map(SideMatch::score).collect();
        let at = |at_home: bool| -> Vec<_> {
            let at_venue = results.iter().filter(|it| it.was_home() == at_home).take(FORM);
            at_venue.filter_map(SideMatch::score).collect()
        };
        let (at_home, away) = (at(true), at(false));
        let counted = Counted { last, stats };
        let expected = counted.expected_goals();
        let [wins, draws, losses] = balance(&scores);
        Some(Self {
            calculated_at,
            matches_played: scores.len(),
            form_string: scores.iter().map(|score| Outcome::of_score(*score).letter()).collect(),
            wins,
            draws,
            losses,
            points_last_n: points(&scores),
            goals_scored_last_n: goals(&scores, 0),
            goals_conceded_last_n: goals(&scores, 1),
            avg_xg: mean(expected.iter().map(|it| it.expected[0])),
            avg_xg_conceded: mean(expected.iter().map(|it| it.expected[1])),
            avg_shots: counted.mean(|it| it.shots),
            avg_shots_on_target: counted.mean(|it| it.shots_on_target),
            avg_key_passes: counted.mean(|it| it.key_passes),
            goal_conversion_rate: goals_per_expected(&expected, 0),
            defensive_efficiency: goals_per_expected(&expected, 1).map(|rate| rounded(1.0 - rate)),
            clean_sheets: scores.iter().filter(|score| score[1] == 0).count(),
            avg_pass_accuracy: counted.pass_accuracy(),
            duel_win_rate: counted.won(|it| it.duels_won),
            aerial_win_rate: counted.won(|it| it.aerials_won),
            avg_fouls: counted.mean(|it| it.fouls),
            avg_yellow_cards: counted.mean(|it| it.yellow),
            home_ppg: ratio(as_float(points(&at_home)), at_home.len(), DIGITS),
            away_ppg: ratio(as_float(points(&away)), away.len(), DIGITS),
            home_goals_scored: goals(&at_home, 0),
            home_goals_conceded: goals(&at_home, 1),
            away_goals_scored: goals(&away, 0),
            away_goals_conceded: goals(&away, 1),
            avg_team_rating: mean(counted.sides().filter_map(|(stats, side)| stats.ratings[side])),
        })
    }
}

/// Results of a side, and what was counted in their matches.
struct Counted<'a> {
    last: &'a [SideMatch],
    stats: &'a HashMap<Key, MatchStats>,
}

/// Goals scored and conceded in a match, and those that were expected.
struct Finishing {
    goals: [u32; 2],
    expected: [f64; 2],
}

impl Counted<'_> {
    /// The counts of each match, and which side of it this is.
    fn sides(&self) -> impl Iterator<Item = (&MatchStats, usize)> {
        let counts = move |it: &SideMatch| Some((self.stats.get(&it.summary.id)?, own_side(it)));
        self.last.iter().filter_map(counts)
    }

    fn mean(&self, count: fn(&MatchStats) -> Option<[u32; 2]>) -> Option<f64> {
        mean(self.sides().filter_map(|(stats, side)| Some(f64::from(count(stats)?[side]))))
    }

    /// The share of what one of the two sides wins.
    fn won(&self, count: fn(&MatchStats) -> Option<[u32; 2]>) -> Option<f64> {
        let counts = self.sides().filter_map(|(stats, side)| Some((count(stats)?, side)));
        let (won, all) = counts.fold((0.0_f64, 0.0_f64), |(won, all), (counts, side)| {
            let counts = counts.map(f64::from);
            (won + counts[side], all + counts[0] + counts[1])
        });
        (all > 0.0).then(|| rounded(won / all))
    }

    fn pass_accuracy(&self) -> Option<f64> {
        mean(self.sides().filter_map(|(stats, side)| {
            let (passes, accurate) = (stats.passes?[side], stats.accurate_passes?[side]);
            (passes > 0).then(|| 100.0 * f64::from(accurate) / f64::from(passes))
        }))
    }

    fn expected_goals(&self) -> Vec<Finishing> {
        let finishing = self.last.iter().filter_map(|side_match| {
            let (side, goals) = (own_side(side_match), side_match.score()?);
            let expected = side_match.summary.expected_goals?.map(ExpectedGoals::goals);
            Some(Finishing { goals, expected: [expected[side], expected[1 - side]] })
        });
        finishing.collect()
    }
}

fn own_side(it: &SideMatch) -> usize {
    usize::from(!it.was_home())
}

/// Three for a win, one for a draw.
fn points(scores: &[[u32; 2]]) -> usize {
    let [wins, draws, _] = balance(scores);
    3 * wins + draws
}

/// Scored (0) or conceded (1).
fn goals(scores: &[[u32; 2]], which: usize) -> u32 {
    scores.iter().map(|score| score[which]).sum()
}

fn goals_per_expected(all: &[Finishing], which: usize) -> Option<f64> {
    let goals: u32 = all.iter().map(|it| it.goals[which]).sum();
    let expected: f64 = all.iter().map(|it| it.expected[which]).sum();
    (expected > 0.0).then(|| rounded(f64::from(goals) / expected))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<_> = values.collect();
    ratio(values.iter().sum(), values.len(), DIGITS)
}

fn rounded(value: f64) -> f64 {
    let scale = 10_f64.powi(DIGITS);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use record::testing::{AWAY, HOME, result};

    #[test]
    fn form_is_of_the_last_five_and_each_venue_of_its_own_five() {
        // The newest first; the side is at home in those with even ids.
        let scores = [[1, 0], [0, 2], [2, 2], [0, 0], [3, 1], [4, 0], [0, 5]];
        let results = (0..).zip(scores).map(|(id, score)| {
            let sides = if id % 2 == 0 { [HOME, AWAY] } else { [AWAY, HOME] };
            let mut summary = result(id, sides, score);
            summary.expected_goals =
                (id < 2).then_some([ExpectedGoals(50_000), ExpectedGoals(100_000)]);
            SideMatch::new(Arc::new(summary), HOME).expect("it is one of the sides")
        });
        let results: Vec<_> = results.collect();
        let counts = MatchStats {
            shots: Some([10, 4]),
            duels_won: Some([30, 10]),
            passes: Some([200, 100]),
            accurate_passes: Some([100, 80]),
            ratings: [Some(7.0), None],
            ..MatchStats::default()
        };
        let stats = [(0, counts.clone()), (1, counts)].into();
        let form = Form::new(&results, &stats, None).expect("there are results");
        let json = serde_json::to_value(&form).expect("it is JSON");
        let values =
            |names: &[&str]| names.iter().map(|name| json[name].clone()).collect::<Vec<_>>();
        let names = ["matches_played", "form_string", "wins", "draws", "losses", "points_last_n"];
        assert_eq!(json!(values(&names)), json!([5, "WWDDW", 3, 2, 0, 11]), "{json}");
        let names = ["goals_scored_last_n", "goals_conceded_last_n", "clean_sheets"];
        assert_eq!(json!(values(&names)), json!([8, 3, 3]), "{json}");
        // At home 1-0, 2-2, 3-1, 0-5; away 2-0, 0-0, 0-4.
        let names = ["home_ppg", "home_goals_scored", "home_goals_conceded"];
        assert_eq!(json!(values(&names)), json!([1.75, 6, 8]), "{json}");
        let names = ["away_ppg", "away_goals_scored", "away_goals_conceded"];
        assert_eq!(json!(values(&names)), json!([1.3333, 2, 4]), "{json}");
        // Scored 3 of 1.5 expected, conceded none.
        let names = ["avg_xg", "avg_xg_conceded", "goal_conversion_rate", "defensive_efficiency"];
        assert_eq!(json!(values(&names)), json!([0.75, 0.75, 2.0, 1.0]), "{json}");
        let names = ["avg_shots", "duel_win_rate", "avg_pass_accuracy", "avg_team_rating"];
        assert_eq!(json!(values(&names)), json!([7.0, 0.5, 65.0, 7.0]), "{json}");
        assert!(json["avg_fouls"].is_null() && json["aerial_win_rate"].is_null(), "{json}");
        assert_eq!(Form::new(&[], &stats, None), None);
    }
}
