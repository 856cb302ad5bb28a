//! Players, teams, tournaments and predictions of CS2.

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{
    index::{ANY, index},
    lists::{self, LEAGUES, NAMED, PEOPLE},
    matches,
    predicted::{self, PREDICTIONS},
    request::NONE,
    shape::{self, LeagueRow, PersonRow},
    sport_stats::{self, SportStats},
    team_prediction::TeamPrediction,
};
use crate::rest::{CacheControl, Page};
use history::query::{Entity, EntityKind};
use record::Key;

const SPORT: Sport = Sport::Cs2;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CsgoTeam {
    id: Key,
    name: String,
    /// No feed provides it.
    short_name: Option<String>,
    country: String,
    country_code: Option<String>,
    /// Calculated from stored results; null if there are none.
    elo_rating: Option<i64>,
    elo_peak: Option<i64>,
    /// No feed names the maps.
    map_stats: Option<CsgoMapStats>,
}

#[derive(Debug, Serialize, ToSchema)]
struct CsgoMapStats {
    as_of: String,
    maps: Vec<String>,
    sample_size: u32,
    map_winrate: Option<f64>,
    round_winrate: Option<f64>,
    round_winrate_t: Option<f64>,
    round_winrate_ct: Option<f64>,
}

endpoints! {
    /// The lists of this product, by their names.
    "/csgo/api/v2/", params(ANY), answers(BTreeMap<String, String>), |request| index(&request);

    /// Players, by name. No feed provides any yet.
    "/csgo/api/v2/players/", params(PEOPLE), answers(Page<PersonRow>),
        |request| lists::people(&request, SPORT, EntityKind::Player);

    /// One player.
    "/csgo/api/v2/players/{id}/", params(NONE), answers(PersonRow),
        |request| lists::person(&request, SPORT, EntityKind::Player);

    /// Predictions; by default for matches that have not started.
    "/csgo/api/v2/predictions/", params(PREDICTIONS), answers(Page<TeamPrediction>),
        |request| predicted::list(&request, SPORT, TeamPrediction::new).await;

    /// The prediction of one match, by the match's id.
    "/csgo/api/v2/predictions/{id}/", params(NONE), answers(TeamPrediction), |request| {
            matches::one(&request, SPORT, CacheControl::PREDICTIONS, TeamPrediction::new).await
        };

    /// Teams, by name.
    "/csgo/api/v2/teams/", params(NAMED), answers(Page<CsgoTeam>),
        |request| lists::sides(&request, SPORT, CsgoTeam::new).await;

    /// One team.
    "/csgo/api/v2/teams/{id}/", params(NONE), answers(CsgoTeam),
        |request| lists::side(&request, SPORT, CsgoTeam::new).await;

    /// Tournaments: those of which most is played first.
    "/csgo/api/v2/tournaments/", params(LEAGUES), answers(Page<LeagueRow>),
        |request| lists::leagues(&request, SPORT).await;

    /// One tournament.
    "/csgo/api/v2/tournaments/{id}/", params(NONE), answers(LeagueRow),
        |request| lists::league(&request, SPORT).await;
}

impl CsgoTeam {
    fn new(team: &Entity, sport_stats: &SportStats) -> Self {
        let peak = sport_stats.table.get(team.id).map(|rated| sport_stats::rounded(rated.peak));
        Self {
            id: team.id,
            name: team.name.to_string(),
            short_name: None,
            country: shape::country_name(team.country.as_ref()),
            country_code: shape::country_code(team.country.as_ref()),
            elo_rating: sport_stats.elo(team.id),
            elo_peak: peak,
            map_stats: None,
        }
    }
}
