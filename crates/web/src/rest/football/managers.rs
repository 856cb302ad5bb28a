//! `/api/v2/managers/` and the endpoints below one manager.

use std::{collections::HashMap, sync::Arc};

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    country,
    event::Event,
    line_ups::short_name,
    manager_stats::ManagerStats,
    match_stats::MatchStats,
    people::{self, Person, Role},
    request::{self, COUNTRY_CODE, MIN_MATCHES, NAME, NONE, PAGE},
    snapshot::Matches,
    tenure::{self, Tenure},
};
use crate::rest::{ApiRequest, ApiResult, CacheControl, Page, Spec, time};
use history::query::{Entity, EntityKind};
use record::{Key, MatchSummary};

/// SERVICE section 1.9. Sums cover matches with a known result; what no feed provides
/// is `null`, or an empty text where that page has one.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Manager {
    id: Key,
    name: String,
    short_name: String,
    country: String,
    tactical_profile: String,
    /// The formation of most line-ups that are known.
    preferred_formation: String,
    /// The team of the last match.
    current_team_id: Option<Key>,
    matches_total: usize,
    wins: usize,
    draws: usize,
    losses: usize,
    /// Rates are in percent, to one digit.
    win_pct: Option<f64>,
    avg_goals_scored: Option<f64>,
    avg_goals_conceded: Option<f64>,
    avg_possession: Option<f64>,
    clean_sheet_pct: Option<f64>,
    btts_pct: Option<f64>,
    over_25_pct: Option<f64>,
    /// When the last of these matches changed last.
    stats_updated_at: Option<String>,
}

impl Person for Manager {
    const ROLE: Role = Role::Manager;

    fn new(
        manager: &Entity,
        summaries: &[Arc<MatchSummary>],
        match_stats: &HashMap<Key, MatchStats>,
    ) -> Self {
        let sums = ManagerStats::new(manager.id, summaries, match_stats);
        Self {
            id: manager.id,
            name: manager.name.to_string(),
            short_name: short_name(&manager.name),
            country: country::name_or_empty(manager.country.as_deref()),
            tactical_profile: String::new(),
            preferred_formation: sums.preferred_formation,
            current_team_id: manager.parent,
            matches_total: sums.matches,
            wins: sums.wins,
            draws: sums.draws,
            losses: sums.losses,
            win_pct: sums.win_pct,
            avg_goals_scored: sums.goals_scored,
            avg_goals_conceded: sums.goals_conceded,
            avg_possession: sums.possession,
            clean_sheet_pct: sums.clean_sheet_pct,
            btts_pct: sums.both_scored_pct,
            over_25_pct: sums.over_25_pct,
            stats_updated_at: summaries.iter().map(|it| it.updated).max().and_then(time::zulu),
        }
    }
}

params! {
    struct ListParams {
        name: Name = NAME,
        team_id: Ids = "One or more current teams, by the manager's last match",
        league_id: Ids = "Managed a team in one of these leagues",
        nationality_code: CountryCode = COUNTRY_CODE,
        tactical_profile: Word = "Not provided by any feed: always empty",
        team_style: Word = "Not provided by any feed: always empty",
        min_matches: Number = MIN_MATCHES,
    }
}

const LIST: Spec = request::spec(&[ListParams::PARAMS]).paged();

endpoints! {
    /// Managers, by name.
    "/api/v2/managers/", params(LIST), answers(Page<Manager>), |request| list(&request).await;

    /// A manager.
    "/api/v2/managers/{id}/", params(NONE), answers(Manager),
        |request| people::detail::<Manager>(&request).await;

    /// The manager's times with teams.
    "/api/v2/managers/{id}/career/", params(NONE), answers(Career), |request| career(&request);

    /// The matches that the manager leads and led, the latest first.
    "/api/v2/managers/{id}/matches/", params(PAGE), answers(Page<Event>),
        |request| people::matches(&request, Role::Manager);
}

async fn list(request: &ApiRequest) -> ApiResult {
    let filters = ListParams::read(&request.params)?;
    let passes_filter = |manager: &Entity| {
        filters.tactical_profile.passes(None)
            && filters.team_style.passes(None)
            && filters.name.is_in(&manager.name)
            && filters.team_id.passes(manager.parent)
            && filters.nationality_code.passes(manager.country.as_deref())
    };
    people::list::<Manager>(request, &filters.league_id, filters.min_matches, passes_filter).await
}

/// In the manner of the lists below a team.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ManagerCareer)]
pub(super) struct Career {
    manager_id: Key,
    count: usize,
    /// The latest first.
    tenures: Vec<Tenure>,
}

fn career(request: &ApiRequest) -> ApiResult {
    let (matches, manager) = Matches::for_entity(request, EntityKind::Manager)?;
    let summaries = matches.all(&Role::Manager.results(manager.id));
    let tenures = tenure::tenures(&matches, manager.id, &summaries);
    let body = Career { manager_id: manager.id, count: tenures.len(), tenures };
    request.answer(CacheControl::REFERENCE, &body)
}
