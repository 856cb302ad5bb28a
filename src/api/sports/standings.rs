//! The table of a league, computed from its results.

use std::collections::HashMap;

use ingest::event::Sport;
use serde::Serialize;

use super::{
    meetings,
    request::{self, ApiResult, DAY, SportsQuery, SportsRequest},
};
use crate::{
    api::{Api, ApiError, CacheControl, Spec},
    archive::{EntityKind, Window},
    rating,
    record::{Key, MatchSummary},
};

const SPEC: Spec = request::spec(&["league", "season"]);

/// After a pause of this length a new season begins, if no feed provides seasons.
const PAUSE_DAYS: i64 = 60;

/// A team's results in a season.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StandingsRow {
    pub(super) team: Key,
    pub(super) played: u32,
    /// In regular time.
    pub(super) wins: u32,
    pub(super) draws: u32,
    pub(super) losses: u32,
    pub(super) overtime_wins: u32,
    pub(super) overtime_losses: u32,
    pub(super) scored: u32,
    pub(super) conceded: u32,
    /// The last five, the latest first.
    pub(super) form: String,
}

/// The table of the league in the path, or else in the request.
pub(super) fn table<T: Serialize>(
    request: &SportsRequest,
    sport: Sport,
    league: Option<&str>,
    has_overtime: impl Fn(&MatchSummary) -> bool,
    table: impl Fn(&Api, Key, Vec<StandingsRow>) -> T,
) -> ApiResult {
    let query = request.read(SPEC)?;
    let league = league.map(request::key).transpose()?;
    let (league, lines) = of(&query, sport, league, has_overtime)?;
    request.answer(CacheControl::LIST, &table(query.api, league, lines))
}

/// The requested league and its rows, unordered.
fn of(
    query: &SportsQuery<'_>,
    sport: Sport,
    league: Option<Key>,
    has_overtime: impl Fn(&MatchSummary) -> bool,
) -> Result<(Key, Vec<StandingsRow>), ApiError> {
    let missing =
        || ApiError::BadParameter("league is to be given: the id of a league.".to_owned());
    let league = league.or(query.params.id("league")?).ok_or_else(missing)?;
    let known = query.api.archive.entity(EntityKind::Competition, league);
    known.filter(|known| known.sport == sport).ok_or(ApiError::NotFound)?;
    let filter = crate::archive::Filter {
        competition: Some(league),
        season: query.params.id("season")?,
        newest_first: true,
        ..meetings::ended(sport)
    };
    let found = query.api.archive.find(&filter, Window::ALL).briefs;
    let season = latest(found.iter().map(AsRef::as_ref));
    Ok((league, lines(season, has_overtime)))
}

/// Those of the latest season, from results with the latest first.
fn latest<'a>(
    briefs: impl Iterator<Item = &'a MatchSummary>,
) -> impl Iterator<Item = &'a MatchSummary> {
    let mut after: Option<&MatchSummary> = None;
    briefs.take_while(move |brief| {
        let same = after.is_none_or(|after| {
            let pause = after.start.zip(brief.start).map(|(later, earlier)| later - earlier);
            after.season == brief.season
                && (brief.season.is_some() || pause.is_none_or(|it| it < PAUSE_DAYS * DAY))
        });
        after = Some(brief);
        same
    })
}

fn lines<'a>(
    briefs: impl Iterator<Item = &'a MatchSummary>,
    has_overtime: impl Fn(&MatchSummary) -> bool,
) -> Vec<StandingsRow> {
    let mut lines: HashMap<Key, StandingsRow> = HashMap::new();
    for brief in briefs {
        let Some(sides) = brief.sides else { continue };
        let overtime = has_overtime(brief);
        let winner = rating::winner(brief).map(usize::from);
        let score = brief.score.unwrap_or_default();
        for (place, team) in sides.into_iter().enumerate() {
            let line = lines
                .entry(team)
                .or_insert_with(|| StandingsRow { team, ..StandingsRow::default() });
            line.played += 1;
            line.scored = line.scored.saturating_add(score[place]);
            line.conceded = line.conceded.saturating_add(score[1 - place]);
            let letter = match winner {
                Some(winner) if winner == place => {
                    if overtime {
                        line.overtime_wins += 1
                    } else {
                        line.wins += 1
                    }
                    'W'
                }
                Some(_) => {
                    if overtime {
                        line.overtime_losses += 1
                    } else {
                        line.losses += 1
                    }
                    'L'
                }
                None => {
                    line.draws += 1;
                    'D'
                }
            };
            if line.form.len() < 5 {
                line.form.push(letter);
            }
        }
    }
    lines.into_values().collect()
}
