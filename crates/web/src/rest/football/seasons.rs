//! Seasons of leagues in the shape of this version.

use serde::Serialize;
use utoipa::ToSchema;

use super::{event::day, snapshot::Matches};
use crate::rest::{ApiError, Params};
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
    top_level: Season,
}

impl LeagueSeason {
    pub(super) fn new(league_id: Key, season: Season) -> Self {
        Self { league_id, top_level: season.clone(), season }
    }
}

params! {
    /// One of the seasons of a league.
    pub(super) struct SeasonParams {
        season_id: Id = "The season (default: the current one)",
        season: Text = "The season by its years, such as 2025/26 or 2025, or by its ID",
    }
}

/// The dates of all leagues, or of one, by the rule of this version.
pub(super) fn calendar(matches: &Matches<'_>, league: Option<Key>) -> Calendar {
    Calendar::new(matches, league, matches.now, CurrentSeason::BegunLast)
}

impl Season {
    fn new(matches: &Matches<'_>, league: &str, span: SeasonSpan) -> Self {
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
        seasons.map(|span| Self::new(matches, &name, span)).collect()
    }

    /// One of the seasons of a league: the one of [`SeasonParams`], else the current one; `None` if the league
    /// has none. Of two in a year, the one with the name, else the latest.
    ///
    /// # Errors
    ///
    /// If the league does not have the requested season.
    pub(super) fn requested(all: &[Self], params: &Params) -> Result<Option<Self>, ApiError> {
        let SeasonParams { season_id: id, season } = SeasonParams::read(params)?;
        let name = season.as_deref().filter(|_| id.is_none());
        if id.is_none() && name.is_none() {
            return Ok(all.iter().find(|season| season.is_current).cloned());
        }
        let id = id.or_else(|| name?.parse().ok());
        let year = name.and_then(|name| season_year(name, None));
        let of_year = all.iter().filter(|season| year.is_some() && season.year == year);
        let is_other = |season: &&Self| name.is_some_and(|name| !season.name.ends_with(name));
        let found = all.iter().find(|season| Some(season.id) == id);
        found.or_else(|| of_year.min_by_key(is_other)).cloned().map(Some).ok_or(ApiError::NotFound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::football::request::season_spec;

    #[test]
    fn seasons_are_requested_by_ids_and_by_years() {
        let season = |id, name: &str, year| Season {
            id,
            name: name.to_owned(),
            year: Some(year),
            start_date: None,
            end_date: None,
            is_current: id == 3,
        };
        let all = [
            season(3, "Liga 2026/27", 2026),
            season(2, "Liga Clausura 2025", 2025),
            season(2025, "Liga Apertura 2025", 2025),
        ];
        let requested = |query: &str| {
            let params = Params::read(Some(query), season_spec(&[SeasonParams::PARAMS]));
            let params = params.expect("accepted");
            let found = Season::requested(&all, &params);
            found.ok().flatten().map(|season| season.id)
        };
        for (query, expected) in [
            ("", 3),
            ("season_id=2", 2),
            ("season_id=2&season=2026", 2),
            ("season=2", 2),
            ("season=2026", 3),
            ("season=2026/27", 3),
            ("season=26-27", 3),
            ("season=Clausura%202025", 2),
            ("season=Apertura+2025", 2025),
            ("season=2025/26", 2),
            ("season=2025", 2025),
        ] {
            assert_eq!(requested(query), Some(expected), "{query}");
        }
        for query in ["season_id=2026", "season=2024", "season=Liga", "season_id=x"] {
            assert_eq!(requested(query), None, "{query}");
        }
    }
}
