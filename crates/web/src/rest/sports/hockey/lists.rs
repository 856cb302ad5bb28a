//! Leagues, teams, people, standings and predictions of hockey.

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        index::{ANY, index},
        lists::{self, LEAGUES, NAMED},
        matches,
        predicted::{self, PREDICTIONS},
        request::NONE,
        shape::{LeagueRow, NamedRow, TeamRow},
        standings,
        team_prediction::TeamPrediction,
    },
    matches::had_overtime,
};
use crate::rest::{Api, CacheControl, Page};
use history::query::{EntityKind, StandingsRow, Tally};
use record::Key;

const SPORT: Sport = Sport::Hockey;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HockeyStandings {
    league_id: Key,
    /// By points, the difference of goals, and goals.
    standings: Vec<HockeyLine>,
}

#[derive(Debug, Serialize, ToSchema)]
struct HockeyLine {
    position: usize,
    team: Option<NamedRow>,
    matches_played: u32,
    /// In regular time.
    wins: u32,
    losses: u32,
    /// After overtime or a shoot-out.
    overtime_wins: u32,
    overtime_losses: u32,
    /// 3 for a win, 2 for one after overtime, 1 for a loss after overtime or a draw.
    points: u32,
    goals_scored: u32,
    goals_conceded: u32,
    /// The last five, `W`, `D`, `L`, the latest first.
    form_string: String,
}

endpoints! {
    /// The lists of this product, by their names.
    "/hockey/api/v2/", params(ANY), answers(BTreeMap<String, String>), |request| index(&request);

    /// Leagues: those of which most is played first.
    "/hockey/api/v2/leagues/", params(LEAGUES), answers(Page<LeagueRow>),
        |request| lists::leagues(&request, SPORT).await;

    /// One league.
    "/hockey/api/v2/leagues/{id}/", params(NONE), answers(LeagueRow),
        |request| lists::league(&request, SPORT).await;

    /// Predictions; by default for matches that have not started.
    "/hockey/api/v2/predictions/", params(PREDICTIONS), answers(Page<TeamPrediction>),
        |request| predicted::list(&request, SPORT, TeamPrediction::new).await;

    /// The prediction of one match, by the match's id.
    "/hockey/api/v2/predictions/{id}/", params(NONE), answers(TeamPrediction), |request| {
            matches::one(&request, SPORT, CacheControl::PREDICTIONS, TeamPrediction::new).await
        };

    /// The table of a league, calculated from stored results.
    "/hockey/api/v2/standings/", params(standings::TABLE), answers(HockeyStandings),
        or(status = 404),
        |request| standings::table(&request, SPORT, None, had_overtime, HockeyStandings::new);

    /// The same of the league with this id.
    "/hockey/api/v2/standings/{id}/", params(standings::TABLE_OF_LEAGUE), answers(HockeyStandings),
        |request| {
            standings::table(&request, SPORT, Some(request.id()?), had_overtime, HockeyStandings::new)
        };

    /// Teams, the strongest first.
    "/hockey/api/v2/teams/", params(NAMED), answers(Page<TeamRow>),
        |request| lists::teams(&request, SPORT).await;

    /// One team.
    "/hockey/api/v2/teams/{id}/", params(NONE), answers(TeamRow),
        |request| lists::side(&request, SPORT, TeamRow::new).await;
}

impl HockeyStandings {
    fn new(api: &Api, league_id: Key, mut lines: Vec<StandingsRow>) -> Self {
        let points = |it: &Tally| it.won * 3 + it.overtime_won * 2 + it.overtime_lost + it.drawn;
        let order = |it: &StandingsRow| (points(&it.total), it.total.difference(), it.total.scored);
        lines.sort_by(|a, b| order(b).cmp(&order(a)).then(a.team.cmp(&b.team)));
        let rows = lines.iter().zip(1..).map(|(line, position)| HockeyLine {
            position,
            team: api
                .history
                .entity(EntityKind::Team, line.team)
                .map(|it| NamedRow::from_entity(&it)),
            matches_played: line.total.played,
            wins: line.total.won,
            losses: line.total.lost,
            overtime_wins: line.total.overtime_won,
            overtime_losses: line.total.overtime_lost,
            points: points(&line.total),
            goals_scored: line.total.scored,
            goals_conceded: line.total.conceded,
            form_string: line.form().chars().rev().collect(),
        });
        Self { league_id, standings: rows.collect() }
    }
}
