//! `/api/v2/venues/`: where matches are played.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    country,
    request::{self, COUNTRY_CODE, NAME, NONE, football, most_frequent},
    snapshot::Matches,
};
use crate::rest::{ApiRequest, ApiResult, CacheControl, Page};
use history::query::{Entity, EntityKind, MatchQuery};
use record::{Key, MatchSummary};

/// SERVICE section 1.9. What no feed provides is `null`.
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
        for summary in matches.all(&football()) {
            if let Some(venue) = summary.venue {
                played.entry(venue).or_default().push(summary);
            }
        }
        let venue = |venue: &Arc<Entity>| {
            let played = played.get(&venue.id).map(Vec::as_slice).unwrap_or_default();
            Self::new(matches, venue, played)
        };
        venues.iter().map(venue).collect()
    }

    fn new(matches: &Matches<'_>, venue: &Entity, played: &[Arc<MatchSummary>]) -> Self {
        let home = played.iter().filter(|summary| summary.neutral != Some(true));
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
            home_team_id: most_frequent(home.filter_map(|it| it.sides.map(|sides| sides[0]))),
            competition_assignments: assignments(matches, played),
        }
    }
}

fn assignments(matches: &Matches<'_>, played: &[Arc<MatchSummary>]) -> Vec<Assignment> {
    let mut counts: BTreeMap<(Key, Option<Key>), usize> = BTreeMap::new();
    for summary in played {
        if let Some(league) = summary.competition {
            *counts.entry((league, summary.season)).or_default() += 1;
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

params! {
    struct ListParams {
        name: Name = NAME,
        city: Name = "Part of the city's name",
        country_code: CountryCode = COUNTRY_CODE,
        min_capacity: Number = "Minimum capacity",
        team_id: Ids = "Home venue of one of these teams",
    }
}

endpoints! {
    /// Venues, by name.
    "/api/v2/venues/", params(request::spec(&[ListParams::PARAMS]).paged()), answers(Page<Venue>), |request| list(&request);

    /// A venue.
    "/api/v2/venues/{id}/", params(NONE), answers(Venue), |request| detail(&request);

    /// The seasons of leagues that are played there.
    "/api/v2/venues/{id}/competitions/", params(NONE), answers(Competitions),
        |request| competitions(&request);
}

fn list(request: &ApiRequest) -> ApiResult {
    let ListParams { name, city, country_code, min_capacity, team_id } =
        ListParams::read(&request.params)?;
    let matches = Matches::now(&request.api);
    let mut venues = Venue::all(&matches, |venue| {
        name.is_in(&venue.name) && country_code.passes(venue.country.as_deref())
    });
    venues.retain(|venue| {
        city.is_in(venue.city.as_deref().unwrap_or_default())
            && min_capacity.is_none_or(|least| venue.capacity.is_some_and(|it| it >= least))
            && team_id.passes(venue.home_team_id)
    });
    request.page_of(CacheControl::REFERENCE, venues, |row| row)
}

fn detail(request: &ApiRequest) -> ApiResult {
    let (matches, venue) = Matches::for_entity(request, EntityKind::Venue)?;
    let played = matches.all(&MatchQuery { venue: Some(venue.id), ..football() });
    request.answer(CacheControl::REFERENCE, &Venue::new(&matches, &venue, &played))
}

/// In the manner of the lists below a league.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Competitions {
    venue_id: Key,
    count: usize,
    competitions: Vec<Assignment>,
}

fn competitions(request: &ApiRequest) -> ApiResult {
    let (matches, venue) = Matches::for_entity(request, EntityKind::Venue)?;
    let played = matches.all(&MatchQuery { venue: Some(venue.id), ..football() });
    let competitions = assignments(&matches, &played);
    let body = Competitions { venue_id: venue.id, count: competitions.len(), competitions };
    request.answer(CacheControl::REFERENCE, &body)
}
