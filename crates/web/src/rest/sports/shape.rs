//! Shapes that several sports share.

use std::sync::Arc;

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::sport_stats::SportStats;
use crate::rest::{Api, football::country, time};
use history::query::{Entity, EntityKind};
use record::{EntityRef, Key, MatchRecord};

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct NamedRow {
    pub(super) id: Key,
    pub(super) name: String,
}

/// A league in a match.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct LeagueBrief {
    pub(super) id: Key,
    pub(super) name: String,
    /// Its name; empty if no feed reports it.
    pub(super) country: String,
}

/// A team in a match.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct TeamBrief {
    pub(super) id: Key,
    pub(super) name: String,
    /// No feed provides it.
    pub(super) short_name: Option<String>,
    pub(super) country_code: Option<String>,
    /// Calculated from stored results; null if the team has none.
    pub(super) elo_rating: Option<i64>,
}

/// A list of a sport's leagues.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct LeagueRow {
    pub(super) id: Key,
    pub(super) name: String,
    /// Its name; empty if no feed reports it.
    pub(super) country: String,
    pub(super) country_code: Option<String>,
    pub(super) active: bool,
}

/// A list of a sport's teams.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct TeamRow {
    pub(super) id: Key,
    /// No feed provides it.
    pub(super) api_id: Option<u64>,
    pub(super) name: String,
    /// No feed provides it.
    pub(super) short_name: Option<String>,
    /// Its name; empty if no feed reports it.
    pub(super) country: String,
    pub(super) country_code: Option<String>,
    /// Calculated from stored results; null if the team has none.
    pub(super) elo_rating: Option<i64>,
    /// The same under the name that basketball has for it.
    pub(super) elo: Option<i64>,
    pub(super) elo_peak: Option<i64>,
    /// Matches with a result.
    pub(super) games_played: u32,
}

/// One of a list of people that no feed provides.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct PersonRow {
    pub(super) id: Key,
    pub(super) name: String,
    pub(super) short_name: Option<String>,
    pub(super) position: Option<String>,
    pub(super) jersey_number: Option<String>,
    pub(super) height_cm: Option<u32>,
    /// Its name; empty if no feed reports it.
    pub(super) country: String,
    pub(super) country_code: Option<String>,
    pub(super) date_of_birth: Option<String>,
    pub(super) team: Option<NamedRow>,
}

impl NamedRow {
    pub(super) fn new(named: &EntityRef) -> Self {
        Self { id: named.id, name: named.name.to_string() }
    }

    pub(super) fn from_entity(entity: &Entity) -> Self {
        Self { id: entity.id, name: entity.name.to_string() }
    }
}

impl LeagueBrief {
    pub(super) fn new(record: &MatchRecord) -> Option<Self> {
        let NamedRow { id, name } = NamedRow::new(record.names.competition.as_ref()?);
        Some(Self { id, name, country: country_name(record.names.country.as_ref()) })
    }
}

impl TeamBrief {
    /// Home and away, if known.
    pub(super) fn both(
        api: &Api,
        record: &MatchRecord,
        sport_stats: &SportStats,
    ) -> [Option<Self>; 2] {
        let team = |named: &EntityRef| {
            let country = entity_of(api, record.summary.sport, named.id);
            let country = country.and_then(|entity| entity.country.clone());
            Self {
                id: named.id,
                name: named.name.to_string(),
                short_name: None,
                country_code: country_code(country.as_ref()),
                elo_rating: sport_stats.elo(named.id),
            }
        };
        both(record, team)
    }
}

impl LeagueRow {
    pub(super) fn new(entity: &Entity, active: bool) -> Self {
        let NamedRow { id, name } = NamedRow::from_entity(entity);
        let country = entity.country.as_ref();
        Self {
            id,
            name,
            country: country_name(country),
            country_code: country_code(country),
            active,
        }
    }
}

impl TeamRow {
    pub(super) fn new(entity: &Entity, sport_stats: &SportStats) -> Self {
        let NamedRow { id, name } = NamedRow::from_entity(entity);
        let rated = sport_stats.table.get(id);
        let elo_rating = sport_stats.elo(id);
        Self {
            id,
            api_id: None,
            name,
            short_name: None,
            country: country_name(entity.country.as_ref()),
            country_code: country_code(entity.country.as_ref()),
            elo_rating,
            elo: elo_rating,
            elo_peak: rated.map(|rated| super::sport_stats::rounded(rated.peak)),
            games_played: rated.map_or(0, |rated| rated.played),
        }
    }
}

impl PersonRow {
    pub(super) fn new(api: &Api, entity: &Entity) -> Self {
        let NamedRow { id, name } = NamedRow::from_entity(entity);
        let text = |key: &str| match entity.about.get(key)? {
            serde_json::Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let team = entity.parent.and_then(|team| api.history.entity(EntityKind::Team, team));
        Self {
            id,
            name,
            short_name: None,
            position: text("position"),
            jersey_number: text("jersey_number"),
            height_cm: None,
            country: country_name(entity.country.as_ref()),
            country_code: country_code(entity.country.as_ref()),
            date_of_birth: None,
            team: team.map(|team| NamedRow::from_entity(&team)),
        }
    }
}

/// Both sides of a match in a public shape, if known.
pub(super) fn both<T>(record: &MatchRecord, convert: impl Fn(&EntityRef) -> T) -> [Option<T>; 2] {
    let both = record.names.sides.as_ref().map(|sides| sides.each_ref().map(convert));
    both.map_or([None, None], |both| both.map(Some))
}

/// The names of both sides, if known.
pub(super) fn side_names(record: &MatchRecord) -> [Option<String>; 2] {
    both(record, |side| side.name.to_string())
}

/// The side of a match of this sport.
pub(super) fn entity_of(api: &Api, sport: Sport, id: Key) -> Option<Arc<Entity>> {
    api.history.entity(side_kind(sport), id)
}

/// The kind of entity that plays matches of a sport.
pub(super) fn side_kind(sport: Sport) -> EntityKind {
    if sport.is_of_players() { EntityKind::Player } else { EntityKind::Team }
}

/// The ISO 3166-1 alpha-2 code of a country that a feed gives as a code or a name.
pub(super) fn country_code(country: Option<&Arc<str>>) -> Option<String> {
    country.and_then(|country| country::code(country))
}

/// The name of a country that a feed gives as a code or a name; empty without one.
pub(super) fn country_name(country: Option<&Arc<str>>) -> String {
    country::name_or_empty(country.map(|country| &**country))
}

/// When a match begins.
pub(super) fn start(record: &MatchRecord) -> Option<String> {
    record.summary.start_text(time::offset)
}

/// One number of a pair.
pub(super) fn side_value(pair: Option<[u32; 2]>, side: usize) -> Option<u32> {
    pair.and_then(|pair| pair.get(side).copied())
}

/// A saturating sum, since feeds may send any number.
pub(super) fn total(numbers: impl Iterator<Item = u32>) -> u32 {
    numbers.fold(0, u32::saturating_add)
}

pub(super) fn text(value: Option<&Arc<str>>) -> Option<String> {
    value.map(|value| value.to_string())
}
