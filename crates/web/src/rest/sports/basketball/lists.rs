//! Leagues, teams, people, standings and predictions of basketball.

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{
    form,
    index::{ANY, index},
    lists::{self, LEAGUES, NAMED, PEOPLE},
    matches,
    predicted::{self, PREDICTIONS},
    request::{NONE, PAGE},
    shape::{LeagueRow, NamedRow, PersonRow, TeamRow},
    standings,
    team_prediction::TeamPrediction,
};
use crate::rest::{Api, ApiRequest, ApiResult, CacheControl, Page};
use history::query::{EntityKind, StandingsRow, Tally};
use record::Key;

const SPORT: Sport = Sport::Basketball;

/// One match of a player. No feed reports who played.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct PlayerGame {
    event_id: Key,
    event_date: Option<String>,
    points: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BasketballStandings {
    league_id: Key,
    /// By the share of matches won.
    standings: Vec<BasketballLine>,
}

#[derive(Debug, Serialize, ToSchema)]
struct BasketballLine {
    position: usize,
    team: Option<NamedRow>,
    played: u32,
    wins: u32,
    losses: u32,
    /// 0 to 1.
    win_pct: Option<f64>,
}

endpoints! {
    /// The lists of this product, by their names.
    "/basketball/api/v2/", params(ANY), answers(BTreeMap<String, String>), |request| index(&request);

    /// Leagues: those of which most is played first.
    "/basketball/api/v2/leagues/", params(LEAGUES), answers(Page<LeagueRow>),
        |request| lists::leagues(&request, SPORT).await;

    /// One league.
    "/basketball/api/v2/leagues/{id}/", params(NONE), answers(LeagueRow),
        |request| lists::league(&request, SPORT).await;

    /// Coaches, by name.
    "/basketball/api/v2/managers/", params(PEOPLE), answers(Page<PersonRow>),
        |request| lists::people(&request, SPORT, EntityKind::Manager);

    /// One coach.
    "/basketball/api/v2/managers/{id}/", params(NONE), answers(PersonRow),
        |request| lists::person(&request, SPORT, EntityKind::Manager);

    /// Players, by name. No feed provides any yet.
    "/basketball/api/v2/players/", params(PEOPLE), answers(Page<PersonRow>),
        |request| lists::people(&request, SPORT, EntityKind::Player);

    /// One player.
    "/basketball/api/v2/players/{id}/", params(NONE), answers(PersonRow),
        |request| lists::person(&request, SPORT, EntityKind::Player);

    /// Matches of a player: none, since no feed reports who played.
    "/basketball/api/v2/players/{id}/games/", params(PAGE), answers(Page<PlayerGame>),
        |request| games(&request);

    /// Predictions; by default for matches that have not started.
    "/basketball/api/v2/predictions/", params(PREDICTIONS), answers(Page<TeamPrediction>),
        |request| predicted::list(&request, SPORT, TeamPrediction::new).await;

    /// The prediction of one match, by the match's id.
    "/basketball/api/v2/predictions/{id}/", params(NONE), answers(TeamPrediction), |request| {
            matches::one(&request, SPORT, CacheControl::PREDICTIONS, TeamPrediction::new).await
        };

    /// The table of a league, calculated from stored results.
    "/basketball/api/v2/standings/", params(standings::TABLE), answers(BasketballStandings),
        or(status = 404),
        |request| standings::table(&request, SPORT, None, |_| false, BasketballStandings::new);

    /// The same of the league with this id.
    "/basketball/api/v2/standings/{id}/", params(standings::TABLE_OF_LEAGUE),
        answers(BasketballStandings), |request| {
            standings::table(&request, SPORT, Some(request.id()?), |_| false, BasketballStandings::new)
        };

    /// Teams, the strongest first.
    "/basketball/api/v2/teams/", params(NAMED), answers(Page<TeamRow>),
        |request| lists::teams(&request, SPORT).await;

    /// One team.
    "/basketball/api/v2/teams/{id}/", params(NONE), answers(TeamRow),
        |request| lists::side(&request, SPORT, TeamRow::new).await;

    /// Halls, by name.
    "/basketball/api/v2/venues/", params(NAMED), answers(Page<NamedRow>),
        |request| lists::named_entities(&request, SPORT, EntityKind::Venue);

    /// One hall.
    "/basketball/api/v2/venues/{id}/", params(NONE), answers(NamedRow),
        |request| lists::named_entity(&request, SPORT, EntityKind::Venue);
}

fn games(request: &ApiRequest) -> ApiResult {
    request.entity(EntityKind::Player, SPORT)?;
    request.page_of(CacheControl::LIST, Vec::<PlayerGame>::new(), |row| row)
}

impl BasketballStandings {
    fn new(api: &Api, league_id: Key, mut lines: Vec<StandingsRow>) -> Self {
        let share = |line: &StandingsRow| {
            let Tally { played, won, .. } = line.total;
            form::ratio(f64::from(won), usize::try_from(played).unwrap_or(usize::MAX))
        };
        let difference = |line: &StandingsRow| line.total.difference();
        lines.sort_by(|a, b| {
            let by_share = share(b).unwrap_or_default().total_cmp(&share(a).unwrap_or_default());
            by_share.then(difference(b).cmp(&difference(a))).then(a.team.cmp(&b.team))
        });
        let rows = lines.iter().zip(1..).map(|(line, position)| BasketballLine {
            position,
            team: api
                .history
                .entity(EntityKind::Team, line.team)
                .map(|it| NamedRow::from_entity(&it)),
            played: line.total.played,
            wins: line.total.won,
            losses: line.total.lost,
            win_pct: share(line),
        });
        Self { league_id, standings: rows.collect() }
    }
}
