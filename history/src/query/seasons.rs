//! Seasons of leagues: their dates, and which one is current.

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

/// A league is active if it has a match within this many days, past or future.
const ACTIVE_DAYS: Micros = 365;

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

/// The name of a season; feeds give only the years.
pub(in crate::api) fn season_name(league: &str, season: &str) -> String {
    if league.is_empty() || season.to_lowercase().contains(&league.to_lowercase()) {
        season.to_owned()
    } else {
        format!("{league} {season}")
    }
}

/// The first year in the name of a season: 2025 for `2025/26`, for `25/26` and for `Summer 2025`; else the
/// year of a date.
pub(in crate::api) fn season_year(season: &str, first_day: Option<&str>) -> Option<u16> {
    let numbers = || season.split(|c: char| !c.is_ascii_digit());
    let year = |text: &str| text.parse().ok().filter(|year| (1800..2300).contains(year));
    let long = numbers().filter(|text| text.len() == 4).find_map(year);
    let short = || {
        let (first, second) = season.trim().split_once(['/', '-'])?;
        let is_short = |text: &str| text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
        if !is_short(first) || !is_short(second) {
            return None;
        }
        let of_century: u16 = first.parse().ok()?;
        Some(if of_century < 70 { 2000 + of_century } else { 1900 + of_century })
    };
    let of_day = || first_day?.get(..4).and_then(year);
    long.or_else(short).or_else(of_day)
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

/// The spans of all leagues and seasons.
#[derive(Debug)]
pub(super) struct Calendar {
    now: Micros,
    leagues: HashMap<Key, Span>,
    /// By league: its seasons, the latest first.
    seasons: HashMap<Key, Vec<(Key, Span)>>,
}

impl Calendar {
    /// Of all matches, or those of one league.
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

    /// The season that began last; if none has begun, the one that begins first.
    pub(super) fn current(&self, league: Key) -> Option<Key> {
        let all = self.seasons.get(&league)?;
        let begun = all.iter().find(|(_, span)| span.first <= self.now);
        begun.or_else(|| all.last()).map(|(season, _)| *season)
    }

    /// All seasons, the latest first.
    pub(super) fn seasons(&self, matches: &Matches<'_>, league: Key) -> Vec<Season> {
        let all = self.seasons.get(&league).map(Vec::as_slice).unwrap_or_default();
        let current = self.current(league);
        let of_league = matches.name(EntityKind::Competition, league);
        let season = |(id, span): &(Key, Span)| {
            let name = matches.name(EntityKind::Season, *id);
            let start_date = day(span.first);
            Season {
                id: *id,
                year: season_year(&name, start_date.as_deref()),
                name: season_name(&of_league, &name),
                start_date,
                end_date: day(span.last),
                is_current: current == Some(*id),
            }
        };
        all.iter().map(season).collect()
    }

    /// One season of a league: the requested one, else the current one; `None` if the league has none.
    ///
    /// # Errors
    ///
    /// If the league does not have the requested season.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn year_is_the_first_of_the_season() {
        for (name, expected) in [
            ("2026/27", Some(2026)),
            ("2026-2027", Some(2026)),
            ("26/27", Some(2026)),
            ("98/99", Some(1998)),
            ("2018", Some(2018)),
            ("Apertura 2025", Some(2025)),
            ("Clausura", None),
            ("99999", None),
        ] {
            assert_eq!(season_year(name, None), expected, "{name}");
        }
        assert_eq!(season_year("Clausura", Some("2024-02-03")), Some(2024));
        assert_eq!(season_name("Premier League", "2026/27"), "Premier League 2026/27");
        assert_eq!(season_name("Premier League", "Premier League 26/27"), "Premier League 26/27");
    }
}
