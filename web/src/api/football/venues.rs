//! `/api/v2/venues/`: where matches are played.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    country,
    matches::Matches,
    request::{self, ListQuery, football, key, most_frequent},
};
use crate::{
    api::{Api, ApiError, CacheControl, ErrorBody, Page, Params, Spec, UnknownParametersBody},
    archive::{Entity, EntityKind, Filter},
    record::{Key, MatchSummary},
};

/// SERVICE section 1.9. What no feed of ours tells is `null`.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Venue {
    id: Key,
    name: String,
    city: Option<String>,
    country: String,
    country_code: Option<String>,
    capacity: Option<u64>,
    latitude: Option<f64>,
    longitude: Option<f64>,
    pitch_length_m: Option<f64>,
    pitch_width_m: Option<f64>,
    built_year: Option<u64>,
    /// The team that is most often at home there.
    home_team_id: Option<Key>,
    competition_assignments: Vec<Assignment>,
}

/// A season of a league that is played there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Assignment {
    league_id: Key,
    league_name: String,
    season_id: Option<Key>,
    season_name: Option<String>,
    matches: usize,
}

impl Venue {
    /// The venues that pass a condition, by name; their matches are found in a single pass.
    pub(super) fn all(matches: &Matches<'_>, condition: impl Fn(&Entity) -> bool) -> Vec<Self> {
        let venues = matches.entities(EntityKind::Venue, condition);
        let mut played: HashMap<Key, Vec<_>> = HashMap::new();
        for brief in matches.all(&football()) {
            if let Some(venue) = brief.venue {
                played.entry(venue).or_default().push(brief);
            }
        }
        let venue = |venue: &Arc<Entity>| {
            let played = played.get(&venue.id).map(Vec::as_slice).unwrap_or_default();
            Self::of(matches, venue, played)
        };
        venues.iter().map(venue).collect()
    }

    fn of(matches: &Matches<'_>, venue: &Entity, played: &[Arc<MatchSummary>]) -> Self {
        let own = played.iter().filter(|brief| brief.neutral != Some(true));
        let about = |key: &str| venue.about.get(key);
        Self {
            id: venue.id,
            name: venue.name.to_string(),
            city: about("city").and_then(|city| city.as_str()).map(ToOwned::to_owned),
            country: country::name_or_empty(venue.country.as_deref()),
            country_code: venue.country.as_deref().and_then(country::code),
            capacity: about("capacity").and_then(serde_json::Value::as_u64),
            latitude: about("latitude").and_then(serde_json::Value::as_f64),
            longitude: about("longitude").and_then(serde_json::Value::as_f64),
            pitch_length_m: None,
            pitch_width_m: None,
            built_year: None,
            home_team_id: most_frequent(own.filter_map(|brief| brief.sides.map(|it| it[0]))),
            competition_assignments: assignments(matches, played),
        }
    }
}

fn assignments(matches: &Matches<'_>, played: &[Arc<MatchSummary>]) -> Vec<Assignment> {
    let mut counts: BTreeMap<(Key, Option<Key>), usize> = BTreeMap::new();
    for brief in played {
        if let Some(league) = brief.competition {
            *counts.entry((league, brief.season)).or_default() += 1;
        }
    }
    let assignment = |((league_id, season_id), matches_there)| Assignment {
        league_id,
        league_name: matches.name(EntityKind::Competition, league_id),
        season_id,
        season_name: season_id.map(|season| matches.name(EntityKind::Season, season)),
        matches: matches_there,
    };
    counts.into_iter().map(assignment).collect()
}

const LIST: Spec =
    request::spec(&["city", "country_code", "limit", "min_capacity", "name", "offset", "team_id"]);

/// Venues, by name.
#[utoipa::path(
    get,
    path = "/api/v2/venues/",
    tag = "football v2",
    params(
        ("name" = Option<String>, Query, description = "Part of the name"),
        ("city" = Option<String>, Query, description = "Part of the city's name"),
        ("country_code" = Option<String>, Query, description = "Country code (ISO 3166-1 alpha-2)"),
        ("min_capacity" = Option<u64>, Query, description = "Minimum capacity"),
        ("team_id" = Option<u64>, Query, description = "Home venue of this team"),
        ("limit" = Option<usize>, Query, description = "Page size (default 50, max 200)"),
        ("offset" = Option<usize>, Query, description = "Number of rows to skip"),
    ),
    responses(
        (status = 200, body = Page<Venue>),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
    ),
)]
pub(super) async fn list(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = ListQuery::read(&api, &uri, &headers, LIST)?;
    let params = &query.params;
    let (least, team) = (params.number("min_capacity")?, params.id("team_id")?);
    let code = params.text("country_code");
    let matches = Matches::now(&api);
    let mut venues = Venue::all(&matches, |venue| {
        query.has_part("name", &venue.name)
            && code.is_none_or(|code| country::has_code(venue.country.as_deref(), code))
    });
    venues.retain(|venue| {
        query.has_part("city", venue.city.as_deref().unwrap_or_default())
            && least.is_none_or(|least| venue.capacity.is_some_and(|it| it >= least))
            && team.is_none_or(|team| venue.home_team_id == Some(team))
    });
    CacheControl::REFERENCE.answer(&headers, &query.page_of(venues))
}

/// A venue.
#[utoipa::path(
    get,
    path = "/api/v2/venues/{id}/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The venue")),
    responses(
        (status = 200, body = Venue),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn detail(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), request::NONE)?;
    let matches = Matches::now(&api);
    let venue = matches.entity(EntityKind::Venue, key(&id)?)?;
    let played = matches.all(&Filter { venue: Some(venue.id), ..football() });
    CacheControl::REFERENCE.answer(&headers, &Venue::of(&matches, &venue, &played))
}

/// In the manner of the lists below a league.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Competitions {
    venue_id: Key,
    count: usize,
    competitions: Vec<Assignment>,
}

/// The seasons of leagues that are played there.
#[utoipa::path(
    get,
    path = "/api/v2/venues/{id}/competitions/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The venue")),
    responses(
        (status = 200, body = Competitions),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn competitions(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), request::NONE)?;
    let matches = Matches::now(&api);
    let venue = matches.entity(EntityKind::Venue, key(&id)?)?;
    let played = matches.all(&Filter { venue: Some(venue.id), ..football() });
    let competitions = assignments(&matches, &played);
    let body = Competitions { venue_id: venue.id, count: competitions.len(), competitions };
    CacheControl::REFERENCE.answer(&headers, &body)
}
