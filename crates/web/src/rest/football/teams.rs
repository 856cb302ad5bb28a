//! `/api/v2/teams/` and the endpoints below one team.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use fanout::Micros;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    country,
    include::{self, EventRow, IncludeParams},
    leagues::is_women,
    players::SquadPlayer,
    request::{self, DATE_FROM, DATE_TO, NAME, NONE, football, most_frequent},
    seasons::calendar,
    snapshot::Matches,
};
use crate::rest::{
    ApiError, ApiRequest, ApiResult, CacheControl, Page, Spec,
    match_filter::{IdParams, MatchListParams, MatchParams},
};
use history::query::{Entity, EntityKind, MatchQuery, Window};
use record::{Key, MatchSummary};

const HOUR_US: Micros = 60 * 60 * 1_000_000;

/// The default range of fixtures, before and after now: SERVICE section 1.8.
const FIXTURES_BACK_US: Micros = 3 * HOUR_US;
const FIXTURES_AHEAD_US: Micros = 7 * 24 * HOUR_US;

/// SERVICE section 1.9.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Team {
    id: Key,
    name: String,
    short_name: String,
    country: String,
    /// Where it is most often at home.
    venue_id: Option<Key>,
}

impl Team {
    fn new(team: &Entity, home_matches: &[Arc<MatchSummary>]) -> Self {
        let at_home = home_matches.iter().filter(|summary| summary.neutral != Some(true));
        Self {
            id: team.id,
            name: team.name.to_string(),
            short_name: short_name(team),
            country: country::name_or_empty(team.country.as_deref()),
            venue_id: most_frequent(at_home.filter_map(|summary| summary.venue)),
        }
    }
}

/// Most feeds give a single name, which is the short one as well.
pub(in crate::rest) fn short_name(team: &Entity) -> String {
    let abbreviation = team.about.get("short_name").and_then(|name| name.as_str());
    abbreviation.unwrap_or(&team.name).to_owned()
}

params! {
    struct ListParams {
        name: Name = NAME,
        country_code: CountryCode = "Country code (ISO 3166-1 alpha-2); an unknown code matches no team",
        league_id: Ids = "Has a match in one of these leagues",
        season_id: Ids = "Has a match in one of these seasons",
        in_competition: Flag = "Whether the team has a match in the current season of `league_id`",
        is_women: Flag = "Requires `league_id` or `season_id`",
    }
    pub(super) struct FixtureParams for MatchParams {
        date_from: Begin = DATE_FROM,
        date_to: End = DATE_TO,
        league_id: Ids = "One or more leagues",
        status: Text = "As for matches",
    }
}

const LIST: Spec = request::spec(&[ListParams::PARAMS]).paged();

const FIXTURES: Spec = request::spec(&[
    FixtureParams::PARAMS,
    IdParams::PARAMS,
    MatchListParams::PARAMS,
    IncludeParams::PARAMS,
])
.paged()
.with_cursor();

endpoints! {
    /// Teams, by name.
    "/api/v2/teams/", params(LIST), answers(Page<Team>), |request| list(&request);

    /// A team.
    "/api/v2/teams/{id}/", params(NONE), answers(Team), |request| detail(&request);

    /// Its matches. The default range is from three hours ago to seven days ahead, unless the request says which it wants:
    /// by days, `ids`, `last`, `next`, `h2h` or `updated_since`.
    "/api/v2/teams/{id}/fixtures/", params(FIXTURES), answers(Page<EventRow>),
        |request| fixtures(&request).await;

    /// The players whose last match was for it.
    "/api/v2/teams/{id}/squad/", params(NONE), answers(Squad), |request| squad(&request);
}

fn list(request: &ApiRequest) -> ApiResult {
    let filters = ListParams::read(&request.params)?;
    let matches = Matches::now(&request.api);
    let members = members(&filters, &matches)?;
    let teams = matches.entities(EntityKind::Team, |team| {
        filters.name.is_in(&team.name)
            && filters.country_code.passes(team.country.as_deref())
            && members.as_ref().is_none_or(|members| members.contains(&team.id))
    });
    let Window { offset, limit } = request.window;
    let page: Vec<_> = teams.iter().skip(offset).take(limit).collect();
    let home = home_matches(&matches, page.iter().map(|team| team.id).collect());
    let row = |team: &Arc<Entity>| {
        Team::new(team, home.get(&team.id).map(Vec::as_slice).unwrap_or_default())
    };
    let rows = page.into_iter().map(row).collect();
    request.page(CacheControl::LIST, teams.len(), rows)
}

/// For at least these teams.
fn home_matches(matches: &Matches<'_>, teams: Vec<Key>) -> HashMap<Key, Vec<Arc<MatchSummary>>> {
    let mut home: HashMap<Key, Vec<_>> = HashMap::new();
    for summary in matches.all(&MatchQuery { teams: Some(teams), ..football() }) {
        if let (Some([team, _]), Some(_)) = (summary.sides, summary.venue) {
            home.entry(team).or_default().push(summary);
        }
    }
    home
}

/// The teams of a league or a season; `None` if the request names neither.
fn members(filters: &ListParams, matches: &Matches<'_>) -> Result<Option<BTreeSet<Key>>, ApiError> {
    let (competitions, seasons) = (filters.league_id.ids(), filters.season_id.ids());
    let (inside, women) = (filters.in_competition, filters.is_women);
    if inside.is_some() && competitions.is_none() {
        let detail = "in_competition needs league_id.".to_owned();
        return Err(ApiError::BadParameter(detail));
    }
    if competitions.is_none() && seasons.is_none() {
        return match women {
            Some(_) => {
                let detail = "is_women needs league_id or season_id.".to_owned();
                Err(ApiError::BadParameter(detail))
            }
            None => Ok(None),
        };
    }
    let members_in = |filter: &MatchQuery| -> BTreeSet<Key> {
        matches.all(filter).iter().filter_map(|summary| summary.sides).flatten().collect()
    };
    let wanted = |league: &Key| {
        let league = matches.entity(EntityKind::Competition, *league).ok();
        women.is_none_or(|women| league.is_none_or(|league| is_women(&league) == women))
    };
    let parent = |season: &Key| matches.entity(EntityKind::Season, *season).ok()?.parent;
    let current = |league: &Key| calendar(matches, Some(*league)).current(*league);
    let current = competitions.iter().flatten().filter_map(current).collect();
    let competitions = competitions.map(|ids| ids.into_iter().filter(wanted).collect());
    let seasons = seasons.map(|ids| {
        let wanted = |season: &Key| parent(season).is_none_or(|league| wanted(&league));
        ids.into_iter().filter(wanted).collect()
    });
    let mut members = members_in(&MatchQuery { competitions, seasons, ..football() });
    if let Some(inside) = inside {
        let playing = members_in(&MatchQuery { seasons: Some(current), ..football() });
        members.retain(|team| playing.contains(team) == inside);
    }
    Ok(Some(members))
}

fn detail(request: &ApiRequest) -> ApiResult {
    let (matches, team) = Matches::for_entity(request, EntityKind::Team)?;
    let mut home = matches.all(&MatchQuery { team: Some(team.id), ..football() });
    home.retain(|summary| summary.sides.is_some_and(|sides| sides[0] == team.id));
    request.answer(CacheControl::REFERENCE, &Team::new(&team, &home))
}

async fn fixtures(request: &ApiRequest) -> ApiResult {
    let (matches, team) = Matches::for_entity(request, EntityKind::Team)?;
    let ids = IdParams::read(&request.params)?.ids;
    let filters = MatchParams { ids, ..FixtureParams::read(&request.params)? };
    let mut list = request.match_query(&filters)?;
    list.team = Some(team.id);
    // A single bound leaves the other side open.
    let has_days = list.from.is_some() || list.before.is_some();
    if !has_days && !MatchListParams::read(&request.params)?.is_set(&filters.ids) {
        list.from = Some(matches.now - FIXTURES_BACK_US);
        list.before = Some(matches.now + FIXTURES_AHEAD_US);
    }
    let (list, found) = request.find_page(&matches, list)?;
    include::page(request, &matches, &list, &found).await
}

/// SERVICE section 1.2: no envelope of pages.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Squad {
    team_id: Key,
    count: usize,
    players: Vec<SquadPlayer>,
}

fn squad(request: &ApiRequest) -> ApiResult {
    let (matches, team) = Matches::for_entity(request, EntityKind::Team)?;
    let players = matches.entities(EntityKind::Player, |player| player.parent == Some(team.id));
    let players: Vec<_> = players.iter().map(|player| SquadPlayer::new(player)).collect();
    request
        .answer(CacheControl::REFERENCE, &Squad { team_id: team.id, count: players.len(), players })
}
