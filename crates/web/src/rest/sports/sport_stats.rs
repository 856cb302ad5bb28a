//! Statistics over all archived matches of a sport: ratings, and when each competition is played.
//!
//! They are computed on request, at most once every [`FRESH`], so the work does not grow with the number of
//! clients.

use std::{collections::HashMap, sync::Arc};

use base::work::{self, Pool, SharedValue};
use facts::event::Sport;
use fanout::Micros;

use super::request::DAY;
use crate::{
    clock,
    rating::RatingTable,
    rest::{Api, ApiError},
};
use history::query::{EntityKind, History, MatchQuery};
use record::{Key, MatchSummary};

/// How long statistics are reused, in microseconds: as long as clients cache lists.
const FRESH: Micros = 5_000_000;

/// After a pause of this length, matches of a competition belong to its next edition.
const PAUSE: Micros = 30 * DAY;

/// Statistics of all sports; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct SportStatsCache {
    sports: Arc<[SharedValue<CachedStats>; Sport::ALL.len()]>,
}

/// The statistics of a sport and when they were computed.
type CachedStats = (Micros, Arc<SportStats>);

/// Statistics over the matches of one sport.
#[derive(Debug, Default)]
pub(super) struct SportStats {
    pub(super) table: RatingTable,
    /// The rank of each side in its circuit, from 1; only tennis has circuits.
    positions: HashMap<Key, usize>,
    /// The circuit of each side's last result with a known one.
    circuits: HashMap<Key, &'static str>,
    editions: HashMap<Key, Edition>,
}

/// The latest run of matches of a competition without a long pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edition {
    /// The start of the first match.
    pub(super) first: Micros,
    /// The start of the last match.
    pub(super) last: Micros,
    pub(super) matches: u32,
    /// Whether a match is still to be played.
    pub(super) open: bool,
}

impl SportStatsCache {
    /// The statistics of a sport, at most a few seconds old.
    pub(super) async fn load(&self, api: &Api, sport: Sport) -> Result<Arc<SportStats>, ApiError> {
        let index = Sport::ALL.iter().position(|it| *it == sport);
        let Some(value) = index.and_then(|index| self.sports.get(index)) else {
            return Err(ApiError::Internal);
        };
        let is_fresh =
            |(at, _): &CachedStats| (*at..at.saturating_add(FRESH)).contains(&clock::now());
        let history = api.history.clone();
        let make = async move {
            let now = clock::now();
            Ok((now, SportStats::before(&history, sport, None).await?))
        };
        value.get_or_make(is_fresh, make).await.map(|(_, sport_stats)| sport_stats)
    }
}

impl SportStats {
    /// The statistics before a given time; over everything without one.
    pub(super) async fn before(
        history: &History,
        sport: Sport,
        before: Option<Micros>,
    ) -> Result<Arc<Self>, ApiError> {
        let filter = MatchQuery { before, ..MatchQuery::of_sport(sport) };
        Self::under(history, filter).await
    }

    /// The statistics over the matches that pass a filter.
    pub(super) async fn under(
        history: &History,
        filter: MatchQuery,
    ) -> Result<Arc<Self>, ApiError> {
        let history = history.clone();
        // Thousands of matches take milliseconds, which must not delay other requests.
        let computing = work::run_blocking(Pool::Blocking, move || {
            let found = history.find(&filter);
            let has_circuits = filter.sport == Some(Sport::Tennis);
            let mut cached = HashMap::new();
            let circuit = |competition: Key| {
                let found = cached.entry(competition);
                *found.or_insert_with(|| has_circuits.then(|| circuit(&history, competition))?)
            };
            Self::new(found.summaries.iter().map(AsRef::as_ref), circuit)
        });
        Ok(Arc::new(computing.await?))
    }

    /// `matches` are ordered by start.
    fn new<'a>(
        matches: impl Iterator<Item = &'a MatchSummary> + Clone,
        mut circuit: impl FnMut(Key) -> Option<&'static str>,
    ) -> Self {
        let mut sport_stats = Self { table: RatingTable::new(matches.clone()), ..Self::default() };
        for summary in matches.clone().filter(|summary| summary.status.has_result()) {
            if let Some(circuit) = summary.competition.and_then(&mut circuit) {
                sport_stats
                    .circuits
                    .extend(summary.sides.into_iter().flatten().map(|it| (it, circuit)));
            }
        }
        let mut ranked: HashMap<Option<&str>, usize> = HashMap::new();
        for (side, _) in sport_stats.table.ranked() {
            let position = ranked.entry(sport_stats.circuit(side)).or_default();
            *position += 1;
            sport_stats.positions.insert(side, *position);
        }
        for summary in matches {
            if let (Some(competition), Some(start)) = (summary.competition, summary.start) {
                let open = !summary.status.is_over();
                let new = Edition { first: start, last: start, matches: 0, open: false };
                let edition = sport_stats.editions.entry(competition).or_insert(new);
                if start - edition.last > PAUSE {
                    *edition = new;
                }
                edition.last = start;
                edition.matches += 1;
                edition.open |= open;
            }
        }
        sport_stats
    }

    /// The latest edition of a competition, if any of its matches has a start time.
    pub(super) fn edition(&self, competition: Key) -> Option<Edition> {
        self.editions.get(&competition).copied()
    }

    /// `ATP` or `WTA` for players with a known circuit; `None` in other sports.
    pub(super) fn circuit(&self, side: Key) -> Option<&'static str> {
        self.circuits.get(&side).copied()
    }

    /// The rank of a side among those of its circuit with a result, from 1.
    pub(super) fn position(&self, side: Key) -> Option<usize> {
        self.positions.get(&side).copied()
    }

    /// A side's rating as a whole number.
    pub(super) fn elo(&self, side: Key) -> Option<i64> {
        self.table.get(side).map(|rated| rounded(rated.rating))
    }
}

impl Edition {
    /// Whether it is running, is still to come, or was played within the last year.
    pub(super) fn is_active(&self, now: Micros) -> bool {
        self.open || now - self.last < 365 * DAY
    }
}

/// The circuit of a tennis tournament.
fn circuit(history: &History, competition: Key) -> Option<&'static str> {
    let tournament = history.entity(EntityKind::Competition, competition)?;
    let category = tournament.about.get("category").and_then(|it| it.as_str());
    super::tennis::circuit(&tournament.name, category)
}

/// Ratings are far below where floats lose whole numbers.
#[expect(clippy::cast_possible_truncation, reason = "ratings are some thousands")]
pub(super) fn rounded(rating: f64) -> i64 {
    rating.round() as i64
}
