//! The form of two teams before a match: earlier meetings and recent results.

use serde::Serialize;
use utoipa::ToSchema;

use super::meetings::{self, SideMatch};
use crate::rest::{Api, time};
use history::query::{self, DecidedBy, FORM, Outcome};
use record::MatchRecord;

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SportsHeadToHead)]
pub(super) struct HeadToHead {
    pub(super) total_matches: usize,
    /// Of the home team of the requested match.
    pub(super) home_wins: usize,
    pub(super) away_wins: usize,
    home_goals: u32,
    away_goals: u32,
    avg_total_goals: Option<f64>,
    /// The latest first.
    recent_matches: Vec<Meeting>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SportsMeeting)]
struct Meeting {
    date: Option<String>,
    /// `home` or `away`: the team of the requested match.
    winner: Option<&'static str>,
    home_goals: Option<u32>,
    away_goals: Option<u32>,
}

/// The last results of a team, five at most.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TeamForm {
    /// Two for a win, one for a draw.
    points: usize,
    points_per_game: Option<f64>,
    /// `W`, `D`, `L`, the latest first.
    form_string: String,
    /// Of these results those that were played at home, and away.
    home: PlaceForm,
    away: PlaceForm,
}

#[derive(Debug, Default, Serialize, ToSchema)]
struct PlaceForm {
    matches: usize,
    wins: usize,
    losses: usize,
    goals_scored: u32,
    goals_conceded: u32,
}

/// Both teams before a match.
pub(super) struct Report {
    pub(super) head_to_head: HeadToHead,
    pub(super) forms: [TeamForm; 2],
    pub(super) results: [Vec<SideMatch>; 2],
}

impl Report {
    pub(super) fn new(api: &Api, record: &MatchRecord) -> Self {
        let sides = record.summary.sides;
        let results = sides.map(|sides| sides.map(|side| meetings::results(api, record, side)));
        let results = results.unwrap_or_default();
        let record =
            sides.map(|[_, away]| query::HeadToHead::against(away, &results[0], DecidedBy::Winner));
        Self {
            head_to_head: HeadToHead::new(&record.unwrap_or_default()),
            forms: results.each_ref().map(|results| TeamForm::new(results)),
            results,
        }
    }
}

impl HeadToHead {
    fn new(record: &query::HeadToHead) -> Self {
        let [home_goals, away_goals] = record.goals;
        let recent = record.meetings.iter().take(FORM).map(|side_match| Meeting {
            date: side_match.summary.start_text(time::offset),
            winner: side_match.won().map(|won| if won { "home" } else { "away" }),
            home_goals: side_match.score().map(|score| score[0]),
            away_goals: side_match.score().map(|score| score[1]),
        });
        Self {
            total_matches: record.meetings.len(),
            home_wins: record.wins,
            away_wins: record.losses,
            home_goals,
            away_goals,
            avg_total_goals: ratio(f64::from(home_goals) + f64::from(away_goals), record.scored),
            recent_matches: recent.collect(),
        }
    }
}

impl TeamForm {
    fn new(results: &[SideMatch]) -> Self {
        let last = &results[..results.len().min(FORM)];
        let form: String = last.iter().filter_map(letter).collect();
        let points = form.chars().map(|letter| match letter {
            'W' => 2,
            'D' => 1,
            _ => 0,
        });
        let points = points.sum::<usize>();
        Self {
            points,
            points_per_game: ratio(count(points), last.len()),
            form_string: form,
            home: PlaceForm::new(last.iter().filter(|side_match| side_match.was_home())),
            away: PlaceForm::new(last.iter().filter(|side_match| !side_match.was_home())),
        }
    }
}

impl PlaceForm {
    fn new<'a>(results: impl Iterator<Item = &'a SideMatch>) -> Self {
        let mut form = Self::default();
        for side_match in results {
            form.matches += 1;
            form.wins += usize::from(side_match.won() == Some(true));
            form.losses += usize::from(side_match.won() == Some(false));
            let [scored, conceded] = side_match.score().unwrap_or_default();
            form.goals_scored = form.goals_scored.saturating_add(scored);
            form.goals_conceded = form.goals_conceded.saturating_add(conceded);
        }
        form
    }
}

/// `W`, `D` or `L`; `None` for a match whose result is not known.
pub(super) fn letter(side_match: &SideMatch) -> Option<char> {
    side_match.outcome().map(Outcome::letter)
}

/// To four decimal places; `None` without a value.
pub(super) fn ratio(sum: f64, count: usize) -> Option<f64> {
    (count > 0).then(|| super::forecast::rounded(sum / self::count(count)))
}

fn count(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}
