//! Seasons of leagues: their dates, and which one is current.

use std::{cmp::Reverse, collections::HashMap};

use base::Micros;

use super::{MatchQuery, View};
use record::{Key, MatchSummary};

const DAY_US: Micros = 24 * 60 * 60 * 1_000_000;

/// A league is active if it has a match within this many days, past or future.
const ACTIVE_DAYS: Micros = 365;

/// Where no feed names seasons, a new season begins after a pause of this many days.
const PAUSE_DAYS: Micros = 60;

/// Which season of a league is the current one. The versions of football differ here, and clients of each
/// rely on theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CurrentSeason {
    /// The season that began last; if none has begun, the one that begins first: version 2.
    BegunLast,
    /// The season of the last match, played or not: version 1.
    OfLastMatch,
}

/// A season from its first match to its last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeasonSpan {
    pub season: Key,
    /// The start of the first match.
    pub first: Micros,
    /// The start of the last match.
    pub last: Micros,
    pub is_current: bool,
}

/// From the first match to the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    first: Micros,
    last: Micros,
}

impl Span {
    fn add(spans: &mut HashMap<Key, Self>, id: Key, at: Micros) {
        let span = spans.entry(id).or_insert(Self { first: at, last: at });
        *span = Self { first: span.first.min(at), last: span.last.max(at) };
    }
}

/// The dates of leagues and their seasons.
#[derive(Debug)]
pub struct Calendar {
    now: Micros,
    rule: CurrentSeason,
    leagues: HashMap<Key, Span>,
    seasons: HashMap<Key, Span>,
    /// The seasons of each league, the latest first.
    of_league: HashMap<Key, Vec<Key>>,
    /// The season of each league's last match that has one.
    of_last_match: HashMap<Key, Key>,
}

impl Calendar {
    /// The dates of all leagues in a view, or of one league.
    #[must_use]
    pub fn new(view: &View<'_>, league: Option<Key>, now: Micros, rule: CurrentSeason) -> Self {
        let query = MatchQuery { competition: league, ..MatchQuery::default() };
        let summaries = view.all(&query);
        Self::of_matches(summaries.iter().map(AsRef::as_ref), now, rule)
    }

    /// `summaries` are in order of start.
    pub(super) fn of_matches<'a>(
        summaries: impl IntoIterator<Item = &'a MatchSummary>,
        now: Micros,
        rule: CurrentSeason,
    ) -> Self {
        let mut calendar = Self {
            now,
            rule,
            leagues: HashMap::new(),
            seasons: HashMap::new(),
            of_league: HashMap::new(),
            of_last_match: HashMap::new(),
        };
        for summary in summaries {
            let (Some(league), Some(start)) = (summary.competition, summary.start) else {
                continue;
            };
            Span::add(&mut calendar.leagues, league, start);
            if let Some(season) = summary.season {
                Span::add(&mut calendar.seasons, season, start);
                calendar.of_last_match.insert(league, season);
                let all = calendar.of_league.entry(league).or_default();
                if !all.contains(&season) {
                    all.push(season);
                }
            }
        }
        let Self { seasons, of_league, .. } = &mut calendar;
        for all in of_league.values_mut() {
            all.sort_by_key(|id| (Reverse(seasons.get(id).map(|span| span.first)), *id));
        }
        calendar
    }

    /// Whether a league has a match within a year, past or future.
    #[must_use]
    pub fn is_active(&self, league: Key) -> bool {
        self.leagues.get(&league).is_some_and(|span| {
            self.now - ACTIVE_DAYS * DAY_US <= span.last
                && span.first <= self.now + ACTIVE_DAYS * DAY_US
        })
    }

    /// The current season of a league.
    #[must_use]
    pub fn current(&self, league: Key) -> Option<Key> {
        match self.rule {
            CurrentSeason::OfLastMatch => self.of_last_match.get(&league).copied(),
            CurrentSeason::BegunLast => {
                let all = self.of_league.get(&league)?;
                let has_begun =
                    |id: &&Key| self.seasons.get(*id).is_some_and(|span| span.first <= self.now);
                all.iter().find(has_begun).or_else(|| all.last()).copied()
            }
        }
    }

    /// The seasons of a league, the latest first.
    #[must_use]
    pub fn seasons(&self, league: Key) -> Vec<SeasonSpan> {
        let all = self.of_league.get(&league).map(Vec::as_slice).unwrap_or_default();
        all.iter().filter_map(|season| self.season(*season, Some(league))).collect()
    }

    /// The dates of a season, if one of its matches has a start.
    #[must_use]
    pub fn season(&self, season: Key, league: Option<Key>) -> Option<SeasonSpan> {
        let Span { first, last } = *self.seasons.get(&season)?;
        let current = league.and_then(|league| self.current(league));
        Some(SeasonSpan { season, first, last, is_current: current == Some(season) })
    }
}

/// The matches of the latest season, from those of a league with the latest first. Where no feed names
/// seasons, a long pause ends one.
pub fn latest_season<'a>(
    summaries: impl Iterator<Item = &'a MatchSummary>,
) -> impl Iterator<Item = &'a MatchSummary> {
    let mut after: Option<&MatchSummary> = None;
    summaries.take_while(move |summary| {
        let same = after.is_none_or(|after| {
            let pause = after.start.zip(summary.start).map(|(later, earlier)| later - earlier);
            after.season == summary.season
                && (summary.season.is_some() || pause.is_none_or(|it| it < PAUSE_DAYS * DAY_US))
        });
        after = Some(summary);
        same
    })
}

/// The name of a season with that of its league; feeds give only the years.
#[must_use]
pub fn season_name(league: &str, season: &str) -> String {
    if league.is_empty() || season.to_lowercase().contains(&league.to_lowercase()) {
        season.to_owned()
    } else {
        format!("{league} {season}")
    }
}

/// The first year in the name of a season: 2025 for `2025/26`, for `25/26` and for `Summer 2025`; else the
/// year of a date.
#[must_use]
pub fn season_year(season: &str, first_day: Option<&str>) -> Option<u16> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn season_year_is_its_first_year() {
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
