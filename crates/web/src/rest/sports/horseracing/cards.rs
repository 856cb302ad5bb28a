//! All archived races in memory, which is small, as many endpoints look up runners.
//!
//! New races are read on request, at most once every [`FRESH`].

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use facts::event::Sport;
use fanout::Micros;
use tokio::sync::Mutex;

use super::card::RaceCard;
use crate::{
    clock,
    rest::{Api, ApiError, view::View},
};
use history::query::MatchQuery;
use record::Key;

/// How long the cards are reused, in microseconds.
const FRESH: Micros = 1_000_000;

/// Races read from the archive at a time.
const BATCH: usize = 200;

/// A cache of all race cards; clones share it.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct RaceCardCache {
    cached: Arc<Mutex<CachedCards>>,
}

#[derive(Debug, Default)]
struct CachedCards {
    at: Micros,
    all: Arc<RaceCards>,
}

/// Every race.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct RaceCards {
    cards: HashMap<Key, Arc<RaceCard>>,
    /// By start; races without one come last.
    order: BTreeMap<(Micros, Key), Arc<RaceCard>>,
    /// The race of each runner.
    runners: HashMap<Key, Key>,
}

impl RaceCardCache {
    pub(in super::super) async fn all(&self, api: &Api) -> Result<Arc<RaceCards>, ApiError> {
        let mut cached = self.cached.lock().await;
        let now = clock::now();
        if (cached.at..cached.at.saturating_add(FRESH)).contains(&now) {
            return Ok(Arc::clone(&cached.all));
        }
        let view = View::now(&api.history, Some(Sport::HorseRacing));
        let summaries = view.all(&MatchQuery::default());
        let is_known =
            |id, updated| cached.all.cards.get(&id).is_some_and(|card| card.updated >= updated);
        let new = summaries.iter().filter(|summary| !is_known(summary.id, summary.updated));
        let new: Vec<_> = new.map(Arc::clone).collect();
        if !new.is_empty() {
            let mut all = RaceCards::clone(&cached.all);
            for summaries in new.chunks(BATCH) {
                let records = view.records(&MatchQuery::default(), summaries).await?;
                records.iter().filter_map(|it| RaceCard::new(it)).for_each(|it| all.put(it));
            }
            cached.all = Arc::new(all);
        }
        cached.at = now;
        Ok(Arc::clone(&cached.all))
    }
}

impl RaceCards {
    fn put(&mut self, card: RaceCard) {
        let card = Arc::new(card);
        if let Some(before) = self.cards.insert(card.race, Arc::clone(&card)) {
            self.order.remove(&sort_key(&before));
            for runner in &before.runners {
                self.runners.remove(&runner.id);
            }
        }
        self.runners.extend(card.runners.iter().map(|runner| (runner.id, card.race)));
        self.order.insert(sort_key(&card), card);
    }

    /// All races, by start.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<RaceCard>> {
        self.order.values()
    }

    /// The race with this id.
    pub(super) fn get(&self, race: Key) -> Option<&Arc<RaceCard>> {
        self.cards.get(&race)
    }

    /// The race of this runner.
    pub(super) fn card_of_runner(&self, runner: Key) -> Option<&Arc<RaceCard>> {
        self.get(*self.runners.get(&runner)?)
    }
}

fn sort_key(card: &RaceCard) -> (Micros, Key) {
    (card.start.unwrap_or(Micros::MAX), card.race)
}
