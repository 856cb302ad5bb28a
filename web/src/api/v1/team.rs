//! Teams, their matches, and venues.

use std::collections::BTreeMap;

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    event::Event,
    events,
    league::{football_entities, football_entity},
    request::{self, NONE, TZ, V1Query},
};
use crate::api::{Api, ApiRequest, ApiResult, CacheControl, Page, Param, Spec, football::country};
use history::query::{Entity, EntityKind, MatchQuery};
use record::{Key, MatchSummary};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Team)]
pub(super) struct Team {
    id: u64,
    /// An id of the feed, which is not public.
    api_id: Option<u64>,
    name: String,
    /// No feed provides one: the name.
    short_name: String,
    /// That of the leagues it plays in, where all are of one; else empty.
    country: String,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct TeamDetail {
    #[serde(flatten)]
    #[schema(inline)]
    team: Team,
    coach: Option<Coach>,
    /// Where it plays at home most often.
    venue: Option<Venue>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
struct Coach {
    name: String,
    #[serde(rename = "shortName")]
    short_name: String,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Venue)]
pub(super) struct Venue {
    id: u64,
    name: String,
    city: Option<String>,
}

impl Venue {
    fn of(venue: &Entity) -> Self {
        let city = venue.about.get("city").and_then(|city| city.as_str());
        Self { id: venue.id, name: venue.name.to_string(), city: city.map(ToOwned::to_owned) }
    }
}

/// The country of each of these teams, or of all teams: that of its leagues, unless they have several.
fn countries(api: &Api, teams: Option<Vec<Key>>) -> BTreeMap<Key, Option<String>> {
    let filter = MatchQuery { teams, ..MatchQuery::of_sport(Sport::Football) };
    let mut countries: BTreeMap<Key, Option<String>> = BTreeMap::new();
    for brief in &api.history.find(&filter).briefs {
        let country = country_of(api, brief);
        for side in brief.sides.iter().flatten() {
            let known = countries.entry(*side).or_insert_with(|| country.clone());
            if country.is_some() && *known != country {
                *known = None;
            }
        }
    }
    countries
}

fn country_of(api: &Api, brief: &MatchSummary) -> Option<String> {
    let league = api.history.entity(EntityKind::Competition, brief.competition?)?;
    league.country.as_ref().map(|it| it.to_string())
}

fn row(team: &Entity, countries: &BTreeMap<Key, Option<String>>) -> Team {
    Team {
        id: team.id,
        api_id: None,
        name: team.name.to_string(),
        short_name: team.name.to_string(),
        country: country::name_or_empty(countries.get(&team.id).and_then(Option::as_deref)),
    }
}

const TEAMS: Spec = request::spec(&[Param::text("country", "")]);

const TEAM_MATCHES: Spec = request::spec(&[
    Param::text("date_from", ""),
    Param::text("date_to", ""),
    Param::text("status", ""),
    TZ,
]);

endpoints! {
    /// Teams, by their names.
    "/api/teams/", params(TEAMS), answers(Page<Team>), |request| teams(&request);

    /// A team.
    "/api/teams/{id}/", params(NONE), answers(TeamDetail),
        or(status = 404, description = "No such team"),
        |request| team(&request);

    /// Matches of a team, by their start.
    "/api/teams/{id}/matches/", params(TEAM_MATCHES), answers(Page<Event>),
        or(status = 404, description = "No such team"),
        |request| team_matches(&request).await;

    /// Venues, by their names.
    "/api/venues/", params(NONE), answers(Page<Venue>), |request| venues(&request);

    /// A venue.
    "/api/venues/{id}/", params(NONE), answers(Venue),
        or(status = 404, description = "No such venue"),
        |request| venue(&request);
}

fn teams(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    // The countries of all teams are only needed for a filter by country.
    let of_all = query.params.text("country").map(|_| countries(&request.api, None));
    let is_country = query.is_country("country");
    let all = football_entities(&request.api, EntityKind::Team, |team| {
        let known = of_all.as_ref().and_then(|known| known.get(&team.id)?.as_deref());
        is_country(known)
    });
    let window = query.window();
    let page: Vec<_> = all.iter().skip(window.offset).take(window.limit).collect();
    let countries = of_all.unwrap_or_else(|| {
        countries(&request.api, Some(page.iter().map(|team| team.id).collect()))
    });
    let rows = page.into_iter().map(|team| row(team, &countries)).collect();
    query.page(CacheControl::REFERENCE, all.len(), rows)
}

fn team(request: &ApiRequest) -> ApiResult {
    let team = football_entity(request, EntityKind::Team)?;
    let filter = MatchQuery { team: Some(team.id), ..MatchQuery::of_sport(Sport::Football) };
    let matches = request.api.history.find(&filter).briefs;
    let place = |brief: &MatchSummary| brief.sides.map(|sides| usize::from(sides[1] == team.id));
    let coach = matches.iter().rev().find_map(|brief| brief.coaches[place(brief)?]);
    let coach = coach.and_then(|id| request.api.history.entity(EntityKind::Manager, id));
    let mut venues: BTreeMap<Key, usize> = BTreeMap::new();
    for brief in matches.iter().filter(|brief| place(brief) == Some(0)) {
        if let Some(venue) = brief.venue {
            *venues.entry(venue).or_default() += 1;
        }
    }
    let home = venues.into_iter().max_by_key(|(_, times)| *times);
    let home = home.and_then(|(id, _)| request.api.history.entity(EntityKind::Venue, id));
    let detail = TeamDetail {
        team: row(&team, &countries(&request.api, Some(vec![team.id]))),
        coach: coach.map(|coach| Coach {
            name: coach.name.to_string(),
            short_name: coach.name.to_string(),
        }),
        venue: home.map(|venue| Venue::of(&venue)),
    };
    request.answer(CacheControl::REFERENCE, &detail)
}

async fn team_matches(request: &ApiRequest) -> ApiResult {
    let team = football_entity(request, EntityKind::Team)?;
    let query = V1Query::pages(request)?;
    let mut list = query.matches()?;
    list.team = Some(team.id);
    events::page(&query, &list).await
}

fn venues(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let all = football_entities(&request.api, EntityKind::Venue, |_| true);
    query.page_of(CacheControl::REFERENCE, &all, |venue| Venue::of(venue))
}

fn venue(request: &ApiRequest) -> ApiResult {
    let venue = football_entity(request, EntityKind::Venue)?;
    request.answer(CacheControl::REFERENCE, &Venue::of(&venue))
}
