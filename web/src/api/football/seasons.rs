//! Seasons of leagues in the shape of this version.

use serde::Serialize;
use utoipa::ToSchema;

use super::{event::day, matches::Matches};
use crate::api::ApiError;
use history::query::{Calendar, CurrentSeason, EntityKind, SeasonSpan, season_name, season_year};
use record::Key;

/// SERVICE sections 1.9 and 8, row 14.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Season {
    pub id: Key,
    /// With that of the league: `Premier League 2025/26`.
    pub name: String,
    /// The first year that the feed names: 2025 of `2025/26`; else that of the first match.
    pub year: Option<u16>,
    /// The days of the first and the last match that is known.
    pub start_date: Option<String>,
    pub end_date: Option<String>,
    pub is_current: bool,
}

/// `leagues/{id}/season/`: clients read the season below its own key, or at the top.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct LeagueSeason {
    league_id: Key,
    season: Season,
    #[serde(flatten)]
    #[schema(inline)]
    own: Season,
}

impl LeagueSeason {
    pub(super) fn of(league_id: Key, season: Season) -> Self {
        Self { league_id, own: season.clone(), season }
    }
}

/// The dates of all leagues, or of one, by the rule of this version.
pub(super) fn calendar(matches: &Matches<'_>, league: Option<Key>) -> Calendar {
    Calendar::of(matches, league, matches.now, CurrentSeason::BegunLast)
}

impl Season {
    fn of(matches: &Matches<'_>, league: &str, span: SeasonSpan) -> Self {
        let name = matches.name(EntityKind::Season, span.season);
        let start_date = day(span.first);
        Self {
            id: span.season,
            year: season_year(&name, start_date.as_deref()),
            name: season_name(league, &name),
            start_date,
            end_date: day(span.last),
            is_current: span.is_current,
        }
    }

    /// All seasons of a league, the latest first.
    pub(super) fn all(matches: &Matches<'_>, calendar: &Calendar, league: Key) -> Vec<Self> {
        let name = matches.name(EntityKind::Competition, league);
        let seasons = calendar.seasons(league).into_iter();
        seasons.map(|span| Self::of(matches, &name, span)).collect()
    }

    /// One season of a league: the requested one, else the current one; `None` if the league has none.
    ///
    /// # Errors
    ///
    /// If the league does not have the requested season.
    pub(super) fn requested(
        matches: &Matches<'_>,
        calendar: &Calendar,
        league: Key,
        id: Option<Key>,
    ) -> Result<Option<Self>, ApiError> {
        let mut all = Self::all(matches, calendar, league).into_iter();
        match id {
            Some(id) => all.find(|season| season.id == id).map(Some).ok_or(ApiError::NotFound),
            None => Ok(all.find(|season| season.is_current)),
        }
    }
}
