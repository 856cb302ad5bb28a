//! Teams, their matches, and venues.

use std::{collections::BTreeMap, sync::Arc};

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    event::EventRow,
    events,
    league::{football_entities, football_entity},
    request::{
        self, CompetitionParams, DateParams, EntityParams, NAME, NONE, RoundParams, StatusParams,
        TZ, V1Query,
    },
};
use crate::rest::{
    Api, ApiRequest, ApiResult, CacheControl, Page, Spec,
    football::{
        country, request::most_frequent, short_name as person_short_name, snapshot::Matches,
        teams::short_name,
    },
};
use history::query::{Entity, EntityKind, MatchQuery};
use record::{EntityRef, Key, MatchSummary, Names};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Team)]
pub(super) struct Team {
    id: u64,
    /// An id of the feed, which is not public.
    api_id: Option<u64>,
    name: String,
    /// The name, unless a feed provides one.
    short_name: String,
    /// If no feed reports it, that of the leagues it plays in, where all are of one; else empty.
    country: String,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1TeamDetail)]
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
    /// Its name; empty if no feed reports it.
    country: String,
    capacity: Option<u64>,
    latitude: Option<f64>,
    longitude: Option<f64>,
    /// Length and width in metres, and the year: no feed provides them.
    pitch_x: Option<u32>,
    pitch_y: Option<u32>,
    built_year: Option<u32>,
}

impl Venue {
    fn new(venue: &Entity) -> Self {
        let about = |key: &str| venue.about.get(key);
        let city = about("city").and_then(|city| city.as_str());
        Self {
            country: country::name_or_empty(venue.country.as_deref()),
            capacity: about("capacity").and_then(serde_json::Value::as_u64),
            latitude: about("latitude").and_then(serde_json::Value::as_f64),
            longitude: about("longitude").and_then(serde_json::Value::as_f64),
            ..Self::named(venue.id, &venue.name, city)
        }
    }

    fn named(id: Key, name: &str, city: Option<&str>) -> Self {
        Self {
            id,
            name: name.to_owned(),
            city: city.map(ToOwned::to_owned),
            country: String::new(),
            capacity: None,
            latitude: None,
            longitude: None,
            pitch_x: None,
            pitch_y: None,
            built_year: None,
        }
    }

    /// The venue of a match.
    pub(super) fn from_names(api: &Api, names: &Names) -> Option<Self> {
        let named = names.venue.as_ref()?;
        let venue = match api.history.entity(EntityKind::Venue, named.id) {
            Some(venue) => Self::new(&venue),
            None => Self::named(named.id, &named.name, None),
        };
        let city = names.city.as_ref().map(|city| city.to_string());
        Some(Self { city: city.or(venue.city), ..venue })
    }
}

/// The country of each of these teams, or of all teams: that of its leagues, unless they have several.
fn countries(api: &Api, teams: Option<Vec<Key>>) -> BTreeMap<Key, Option<String>> {
    let filter = MatchQuery { teams, ..MatchQuery::of_sport(Sport::Football) };
    countries_of(api, &api.history.find(&filter).summaries)
}

/// The same by these matches.
fn countries_of(api: &Api, summaries: &[Arc<MatchSummary>]) -> BTreeMap<Key, Option<String>> {
    let mut countries: BTreeMap<Key, Option<String>> = BTreeMap::new();
    for summary in summaries {
        // A league without a country says nothing.
        let Some(country) = country_of(api, summary) else { continue };
        for side in summary.sides.iter().flatten() {
            let only = countries.entry(*side).or_insert_with(|| Some(country.clone()));
            if only.as_ref() != Some(&country) {
                *only = None;
            }
        }
    }
    countries
}

fn country_of(api: &Api, summary: &MatchSummary) -> Option<String> {
    let league = api.history.entity(EntityKind::Competition, summary.competition?)?;
    league.country.as_ref().map(|it| it.to_string())
}

/// The country of a team, given those of the leagues that teams play in.
fn country<'a>(team: &'a Entity, countries: &'a BTreeMap<Key, Option<String>>) -> Option<&'a str> {
    team.country.as_deref().or_else(|| countries.get(&team.id)?.as_deref())
}

impl Team {
    fn new(team: &Entity, countries: &BTreeMap<Key, Option<String>>) -> Self {
        Self {
            id: team.id,
            api_id: None,
            name: team.name.to_string(),
            short_name: short_name(team),
            country: country::name_or_empty(country(team, countries)),
        }
    }
}

impl TeamDetail {
    /// Of a team of which only the name is known.
    pub(super) fn named(team: &EntityRef) -> Self {
        let name = team.name.to_string();
        let (short_name, country) = (name.clone(), String::new());
        let team = Team { id: team.id, api_id: None, name, short_name, country };
        Self { team, coach: None, venue: None }
    }

    pub(super) fn new(matches: &Matches<'_>, team: &Entity) -> Self {
        let history = &matches.api.history;
        let filter = MatchQuery { team: Some(team.id), ..MatchQuery::of_sport(Sport::Football) };
        let played = matches.all(&filter);
        let side = |it: &MatchSummary| it.sides.map(|sides| usize::from(sides[1] == team.id));
        let coach = played.iter().rev().find_map(|summary| summary.coaches[side(summary)?]);
        let coach = coach.and_then(|id| history.entity(EntityKind::Manager, id));
        let home = played.iter().filter(|it| side(it) == Some(0) && it.neutral != Some(true));
        let venue = most_frequent(home.filter_map(|summary| summary.venue));
        let venue = venue.and_then(|id| history.entity(EntityKind::Venue, id));
        Self {
            team: Team::new(team, &countries_of(matches.api, &played)),
            coach: coach.map(|coach| Coach {
                name: coach.name.to_string(),
                short_name: person_short_name(&coach.name),
            }),
            venue: venue.map(|venue| Venue::new(&venue)),
        }
    }
}

params! {
    struct VenuesParams { country: Country = "", city: Name = "", name: Name = NAME }
}

const TEAM_MATCHES: Spec = request::spec(&[
    DateParams::PARAMS,
    CompetitionParams::PARAMS,
    RoundParams::PARAMS,
    StatusParams::PARAMS,
    TZ,
]);

endpoints! {
    /// Teams, by their names.
    "/api/teams/", params(request::spec(&[EntityParams::PARAMS])), answers(Page<Team>), |request| teams(&request);

    /// A team.
    "/api/teams/{id}/", params(NONE), answers(TeamDetail),
        or(status = 404, description = "No such team"),
        |request| team(&request);

    /// Matches of a team, by their start.
    "/api/teams/{id}/matches/", params(TEAM_MATCHES), answers(Page<EventRow>),
        or(status = 404, description = "No such team"),
        |request| team_matches(&request).await;

    /// Venues, by their names.
    "/api/venues/", params(request::spec(&[VenuesParams::PARAMS])), answers(Page<Venue>), |request| venues(&request);

    /// A venue.
    "/api/venues/{id}/", params(NONE), answers(Venue),
        or(status = 404, description = "No such venue"),
        |request| venue(&request);
}

fn teams(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    // The countries of all teams are only needed for a filter by country.
    let filters = EntityParams::read(query.params)?;
    let of_all = filters.country.is_set().then(|| countries(&request.api, None));
    let all = football_entities(&request.api, EntityKind::Team, |team| {
        filters.name.is_in(&team.name)
            && of_all
                .as_ref()
                .is_none_or(|countries| filters.country.passes(country(team, countries)))
    });
    let window = query.window();
    let page: Vec<_> = all.iter().skip(window.offset).take(window.limit).collect();
    let countries = of_all.unwrap_or_else(|| {
        countries(&request.api, Some(page.iter().map(|team| team.id).collect()))
    });
    let rows = page.into_iter().map(|team| Team::new(team, &countries)).collect();
    query.page(CacheControl::REFERENCE, all.len(), rows)
}

fn team(request: &ApiRequest) -> ApiResult {
    let team = football_entity(request, EntityKind::Team)?;
    let detail = TeamDetail::new(&Matches::now(&request.api), &team);
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
    let VenuesParams { country, city, name } = VenuesParams::read(query.params)?;
    let all = football_entities(&request.api, EntityKind::Venue, |venue| {
        let own_city = venue.about.get("city").and_then(|city| city.as_str());
        name.is_in(&venue.name)
            && city.is_in(own_city.unwrap_or_default())
            && country.passes(venue.country.as_deref())
    });
    query.page_of(CacheControl::REFERENCE, &all, |venue| Venue::new(venue))
}

fn venue(request: &ApiRequest) -> ApiResult {
    let venue = football_entity(request, EntityKind::Venue)?;
    request.answer(CacheControl::REFERENCE, &Venue::new(&venue))
}
