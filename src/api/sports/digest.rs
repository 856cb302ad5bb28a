//! What all kept matches of a sport say together: ratings, and when each competition is played.
//!
//! It is computed when it is asked for, and again after [`FRESH`] at the earliest, whoever asks: the
//! work does not grow with the number of clients.

use std::{collections::HashMap, sync::Arc};

use fanout::Micros;
use ingest::event::Sport;
use tokio::sync::Mutex;
use tracing::error;

use super::asked::DAY;
use crate::{
    api::{Api, ApiError},
    archive::{Archive, EntityKind, Filter, Window},
    clock,
    rating::RatingTable,
    record::{Key, MatchSummary},
};

/// For how long an answer is made of the same, in microseconds: as long as clients keep lists.
const FRESH: Micros = 5_000_000;

/// After a pause as long as this, what is played of a competition is another edition of it.
const PAUSE: Micros = 30 * DAY;

/// The digests of all sports; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Digests {
    sports: Arc<[Mutex<Known>; Sport::ALL.len()]>,
}

/// The digest of a sport and when it was made, once somebody has asked.
type Known = Option<(Micros, Arc<Digest>)>;

/// What the matches of one sport say.
#[derive(Debug, Default)]
pub(super) struct Digest {
    pub(super) table: RatingTable,
    /// Where each side stands among those of its circuit, from 1; circuits are tennis's.
    positions: HashMap<Key, usize>,
    /// The circuit of the last result of each side of which one is known.
    circuits: HashMap<Key, &'static str>,
    editions: HashMap<Key, Edition>,
}

/// The matches of a competition that follow each other without a long pause, the latest of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edition {
    /// When the first of them begins.
    pub(super) first: Micros,
    /// When the last of them begins.
    pub(super) last: Micros,
    pub(super) matches: u32,
    /// Whether something of it is still to be played.
    pub(super) open: bool,
}

impl Digests {
    /// The digest of a sport, at most a few seconds old.
    pub(super) async fn of(&self, api: &Api, sport: Sport) -> Result<Arc<Digest>, ApiError> {
        let place = Sport::ALL.iter().position(|known| *known == sport);
        let Some(place) = place.and_then(|place| self.sports.get(place)) else {
            return Err(ApiError::Internal);
        };
        let mut known = place.lock().await;
        let now = clock::now();
        if let Some((at, digest)) = &*known
            && (*at..at.saturating_add(FRESH)).contains(&now)
        {
            return Ok(Arc::clone(digest));
        }
        let digest = Digest::before(&api.archive, sport, None).await?;
        *known = Some((now, Arc::clone(&digest)));
        Ok(digest)
    }
}

impl Digest {
    /// What was to be said of a sport at a moment; of all that is kept where there is none.
    pub(super) async fn before(
        archive: &Archive,
        sport: Sport,
        before: Option<Micros>,
    ) -> Result<Arc<Self>, ApiError> {
        let filter = Filter { sport: Some(sport), before, ..Filter::default() };
        Self::under(archive, filter).await
    }

    /// What the matches say that a filter lets through.
    pub(super) async fn under(archive: &Archive, filter: Filter) -> Result<Arc<Self>, ApiError> {
        let archive = archive.clone();
        // Thousands of matches take milliseconds, which no other request is to wait for.
        let computing = tokio::task::spawn_blocking(move || {
            let found = archive.find(&filter, Window::ALL);
            let has_circuits = filter.sport == Some(Sport::Tennis);
            let mut known = HashMap::new();
            let circuit = |competition: Key| {
                let found = known.entry(competition);
                *found.or_insert_with(|| has_circuits.then(|| circuit(&archive, competition))?)
            };
            Self::of(found.briefs.iter().map(AsRef::as_ref), circuit)
        });
        let digest = computing.await.map_err(|error| {
            error!(error = &error as &dyn std::error::Error, "a digest was not computed");
            ApiError::Internal
        })?;
        Ok(Arc::new(digest))
    }

    /// Matches come by their start.
    fn of<'a>(
        briefs: impl Iterator<Item = &'a MatchSummary> + Clone,
        mut circuit: impl FnMut(Key) -> Option<&'static str>,
    ) -> Self {
        let mut digest = Self { table: RatingTable::of(briefs.clone()), ..Self::default() };
        for brief in briefs.clone().filter(|brief| brief.status.has_result()) {
            if let Some(circuit) = brief.competition.and_then(&mut circuit) {
                digest.circuits.extend(brief.sides.into_iter().flatten().map(|it| (it, circuit)));
            }
        }
        let mut ranked: HashMap<Option<&str>, usize> = HashMap::new();
        for (side, _) in digest.table.ranked() {
            let position = ranked.entry(digest.circuit(side)).or_default();
            *position += 1;
            digest.positions.insert(side, *position);
        }
        for brief in briefs {
            if let (Some(competition), Some(start)) = (brief.competition, brief.start) {
                let open = !brief.status.is_over();
                let new = Edition { first: start, last: start, matches: 0, open: false };
                let edition = digest.editions.entry(competition).or_insert(new);
                if start - edition.last > PAUSE {
                    *edition = new;
                }
                edition.last = start;
                edition.matches += 1;
                edition.open |= open;
            }
        }
        digest
    }

    /// The latest edition of a competition, if anything of it has a time.
    pub(super) fn edition(&self, competition: Key) -> Option<Edition> {
        self.editions.get(&competition).copied()
    }

    /// `ATP` or `WTA` for players of whom it is known; `None` in other sports.
    pub(super) fn circuit(&self, side: Key) -> Option<&'static str> {
        self.circuits.get(&side).copied()
    }

    /// Where a side stands among those of its circuit that have a result, from 1.
    pub(super) fn position(&self, side: Key) -> Option<usize> {
        self.positions.get(&side).copied()
    }

    /// A side's rating as a whole number.
    pub(super) fn elo(&self, side: Key) -> Option<i64> {
        self.table.get(side).map(|rated| whole(rated.rating))
    }
}

impl Edition {
    /// Whether it is going on, is still to come, or was played within the last year.
    pub(super) fn is_active(&self, now: Micros) -> bool {
        self.open || now - self.last < 365 * DAY
    }
}

/// The circuit of a tennis tournament.
fn circuit(archive: &Archive, competition: Key) -> Option<&'static str> {
    let tournament = archive.entity(EntityKind::Competition, competition)?;
    let category = tournament.about.get("category").and_then(|it| it.as_str());
    super::tennis::circuit(&tournament.name, category)
}

/// Ratings are far from where a float has gaps.
#[expect(clippy::cast_possible_truncation, reason = "ratings are some thousands")]
pub(super) fn whole(rating: f64) -> i64 {
    rating.round() as i64
}
