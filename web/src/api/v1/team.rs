//! Teams, their matches, and venues.

use std::collections::BTreeMap;

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    event::Event,
    events,
    league::{football_entities, football_entity},
    request::V1Query,
};
use crate::{
    api::{Api, ApiError, CacheControl, Page, football::country},
    archive::{Entity, EntityKind, Filter, Window},
    record::{Key, MatchSummary},
};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Team)]
pub(super) struct Team {
    id: u64,
    /// An id of the feed's, which is not told.
    api_id: Option<u64>,
    name: String,
    /// No feed of ours has one: the name.
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
    let filter = Filter { sport: Some(Sport::Football), teams, ..Filter::default() };
    let mut countries: BTreeMap<Key, Option<String>> = BTreeMap::new();
    for brief in &api.archive.find(&filter, Window::ALL).briefs {
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
    let league = api.archive.entity(EntityKind::Competition, brief.competition?)?;
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

/// Teams, by their names.
#[utoipa::path(
    get, path = "/api/teams/", tag = "football v1",
    params(("country" = Option<String>, Query), ("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "Page size (default 100, max 500)")),
    responses((status = 200, body = Page<Team>), (status = 400, description = "Invalid parameter value"))
)]
pub(super) async fn teams(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = V1Query::pages(&api, &uri, &headers, &["country"])?;
    // The countries of all teams are only needed for a filter by country.
    let of_all = query.params.text("country").map(|_| countries(&api, None));
    let all = football_entities(&api, EntityKind::Team, |team| {
        let known = of_all.as_ref().and_then(|known| known.get(&team.id)?.as_deref());
        query.is_country("country", known)
    });
    let window = query.window();
    let page: Vec<_> = all.iter().skip(window.offset).take(window.limit).collect();
    let countries =
        of_all.unwrap_or_else(|| countries(&api, Some(page.iter().map(|team| team.id).collect())));
    let rows = page.into_iter().map(|team| row(team, &countries)).collect();
    CacheControl::REFERENCE.answer(&headers, &query.page(all.len(), rows))
}

/// A team.
#[utoipa::path(
    get, path = "/api/teams/{id}/", tag = "football v1", params(("id" = u64, Path)),
    responses((status = 200, body = TeamDetail), (status = 404, description = "No such team"))
)]
pub(super) async fn team(
    State(api): State<Api>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let team = football_entity(&api, EntityKind::Team, &id)?;
    let filter = Filter { sport: Some(Sport::Football), team: Some(team.id), ..Filter::default() };
    let matches = api.archive.find(&filter, Window::ALL).briefs;
    let place = |brief: &MatchSummary| brief.sides.map(|sides| usize::from(sides[1] == team.id));
    let coach = matches.iter().rev().find_map(|brief| brief.coaches[place(brief)?]);
    let coach = coach.and_then(|id| api.archive.entity(EntityKind::Manager, id));
    let mut venues: BTreeMap<Key, usize> = BTreeMap::new();
    for brief in matches.iter().filter(|brief| place(brief) == Some(0)) {
        if let Some(venue) = brief.venue {
            *venues.entry(venue).or_default() += 1;
        }
    }
    let home = venues.into_iter().max_by_key(|(_, times)| *times);
    let home = home.and_then(|(id, _)| api.archive.entity(EntityKind::Venue, id));
    let detail = TeamDetail {
        team: row(&team, &countries(&api, Some(vec![team.id]))),
        coach: coach.map(|coach| Coach {
            name: coach.name.to_string(),
            short_name: coach.name.to_string(),
        }),
        venue: home.map(|venue| Venue::of(&venue)),
    };
    CacheControl::REFERENCE.answer(&headers, &detail)
}

/// Matches of a team, by their start.
#[utoipa::path(
    get, path = "/api/teams/{id}/matches/", tag = "football v1",
    params(("id" = u64, Path), ("date_from" = Option<String>, Query), ("date_to" = Option<String>, Query), ("status" = Option<String>, Query), ("tz" = Option<String>, Query), ("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "Page size (default 100, max 500)")),
    responses((status = 200, body = Page<Event>), (status = 400, description = "Invalid parameter value"), (status = 404, description = "No such team"))
)]
pub(super) async fn team_matches(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let team = football_entity(&api, EntityKind::Team, &id)?;
    let query = V1Query::pages(&api, &uri, &headers, &["date_from", "date_to", "status"])?;
    let filter = Filter {
        sport: Some(Sport::Football),
        team: Some(team.id),
        from: query.from()?,
        before: query.before()?,
        statuses: query.statuses(),
        ..Filter::default()
    };
    CacheControl::LIST.answer(&headers, &events::page(&query, &filter).await?)
}

/// Venues, by their names.
#[utoipa::path(
    get, path = "/api/venues/", tag = "football v1",
    params(("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "Page size (default 100, max 500)")),
    responses((status = 200, body = Page<Venue>), (status = 400, description = "Invalid parameter value"))
)]
pub(super) async fn venues(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = V1Query::pages(&api, &uri, &headers, &[])?;
    let all = football_entities(&api, EntityKind::Venue, |_| true);
    let rows = all.iter().map(|venue| Venue::of(venue)).collect();
    CacheControl::REFERENCE.answer(&headers, &query.page_of(rows))
}

/// A venue.
#[utoipa::path(
    get, path = "/api/venues/{id}/", tag = "football v1", params(("id" = u64, Path)),
    responses((status = 200, body = Venue), (status = 404, description = "No such venue"))
)]
pub(super) async fn venue(
    State(api): State<Api>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let venue = football_entity(&api, EntityKind::Venue, &id)?;
    CacheControl::REFERENCE.answer(&headers, &Venue::of(&venue))
}
