//! Seasons of leagues: when they are, which is the current one.

use std::collections::HashMap;

use fanout::Micros;
use serde::Serialize;
use utoipa::ToSchema;

use super::{event::day, matches::Matches};
use crate::{
    api::ApiError,
    archive::{EntityKind, Filter},
    record::Key,
};

const DAY_US: Micros = 24 * 60 * 60 * 1_000_000;

/// A league is active while it has a match within so many days, back or ahead.
const ACTIVE_DAYS: Micros = 365;

/// SERVICE section 1.9: `leagues/{id}/season/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Season {
    pub id: Key,
    pub name: String,
    /// As the feed names the season: `2025/26`.
    pub year: String,
    /// The days of the first and the last match that is known.
    pub start_date: Option<String>,
    pub end_date: Option<String>,
    pub is_current: bool,
}

/// The current season as it stands in the row of a league.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct CurrentSeason {
    id: Key,
    name: String,
    year: String,
    start_date: Option<String>,
    end_date: Option<String>,
}

impl From<Season> for CurrentSeason {
    fn from(season: Season) -> Self {
        let Season { id, name, year, start_date, end_date, is_current: _ } = season;
        Self { id, name, year, start_date, end_date }
    }
}

/// From the first match to the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    first: Micros,
    last: Micros,
}

impl Span {
    fn with(self, at: Micros) -> Self {
        Self { first: self.first.min(at), last: self.last.max(at) }
    }
}

/// When the matches of all leagues and seasons are.
#[derive(Debug)]
pub(super) struct Calendar {
    now: Micros,
    leagues: HashMap<Key, Span>,
    /// By league: its seasons, the latest first.
    seasons: HashMap<Key, Vec<(Key, Span)>>,
}

impl Calendar {
    /// Of all matches, or of those of one league.
    pub(super) fn of(matches: &Matches<'_>, league: Option<Key>) -> Self {
        let mut leagues: HashMap<Key, Span> = HashMap::new();
        let mut spans: HashMap<(Key, Key), Span> = HashMap::new();
        let filter = Filter { competition: league, ..Filter::default() };
        for brief in matches.all(&filter) {
            let (Some(league), Some(start)) = (brief.competition, brief.start) else { continue };
            let new = Span { first: start, last: start };
            let add = |span: &mut Span| *span = span.with(start);
            leagues.entry(league).and_modify(add).or_insert(new);
            if let Some(season) = brief.season {
                spans.entry((league, season)).and_modify(add).or_insert(new);
            }
        }
        let mut seasons: HashMap<Key, Vec<(Key, Span)>> = HashMap::new();
        for ((league, season), span) in spans {
            seasons.entry(league).or_default().push((season, span));
        }
        for all in seasons.values_mut() {
            all.sort_by_key(|(season, span)| (std::cmp::Reverse(span.first), *season));
        }
        Self { now: matches.now, leagues, seasons }
    }

    pub(super) fn is_active(&self, league: Key) -> bool {
        let span = self.leagues.get(&league);
        span.is_some_and(|span| {
            self.now - ACTIVE_DAYS * DAY_US <= span.last
                && span.first <= self.now + ACTIVE_DAYS * DAY_US
        })
    }

    /// The one that began last; where none has begun, the one that begins first.
    pub(super) fn current(&self, league: Key) -> Option<Key> {
        let all = self.seasons.get(&league)?;
        let begun = all.iter().find(|(_, span)| span.first <= self.now);
        begun.or_else(|| all.last()).map(|(season, _)| *season)
    }

    /// The latest first.
    pub(super) fn seasons(&self, matches: &Matches<'_>, league: Key) -> Vec<Season> {
        let all = self.seasons.get(&league).map(Vec::as_slice).unwrap_or_default();
        let current = self.current(league);
        let season = |(id, span): &(Key, Span)| {
            let name = matches.name(EntityKind::Season, *id);
            Season {
                id: *id,
                year: name.clone(),
                name,
                start_date: day(span.first),
                end_date: day(span.last),
                is_current: current == Some(*id),
            }
        };
        all.iter().map(season).collect()
    }

    /// One season of a league: the one that is asked for, else the current one.
    ///
    /// # Errors
    ///
    /// If the league has no such season; none at all is `None`.
    pub(super) fn season(
        &self,
        matches: &Matches<'_>,
        league: Key,
        wanted: Option<Key>,
    ) -> Result<Option<Season>, ApiError> {
        let mut all = self.seasons(matches, league).into_iter();
        match wanted {
            Some(id) => all.find(|season| season.id == id).map(Some).ok_or(ApiError::NotFound),
            None => Ok(all.find(|season| season.is_current)),
        }
    }
}
