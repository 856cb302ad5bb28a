//! The archive: matches that have passed through the hub, their entities, and the history of every price.
//!
//! In: [`MatchRecord`]s. Out: the same by id, lists of their [`MatchSummary`]s by any query, and the
//! [`Entity`]s behind their ids. What lists need of every match is in memory (`index`), in the order
//! in which lists show it, so a page costs the same wherever it is; the rest is read by primary key.
//! It knows neither HTTP nor channels.

mod appearance;
mod deductions;
mod entity;
mod inbox;
mod index;
mod odds;
mod page;
mod price_trail;
mod properties;
mod rows;
pub mod signals;
mod store;
mod stored_price;
mod worker;
mod write_cache;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    mem,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicI64, Ordering},
    },
};

use base::Micros;
use tokio::sync::{Mutex, MutexGuard, watch};

pub use self::{
    appearance::{Appearance, AppearanceFilter, Leader, LeaderRow},
    deductions::{DEDUCTIONS_MAX, StoredDeduction},
    entity::{Entity, EntityKind},
    inbox::Inbox,
    index::Index,
    odds::{Movement, OddsFilter, OddsRow, Period, Tick, TooManyPrices},
    price_trail::PriceTrail,
    properties::Properties,
    worker::ArchiveWorker,
};
use self::{
    entity::Directory,
    store::{ArchiveStore, Write},
    write_cache::WriteCache,
};
pub use crate::match_query::Window;
use crate::match_query::{MatchPage, MatchQuery};
use database::{Database, STATEMENT_MAX, WriteBudget, within};
pub(crate) use record::completed;
use record::{Key, MatchRecord, MatchSummary, Status};

/// Matches that are written in one transaction, without their prices: some MiB at most.
const AT_ONCE: usize = 200;

/// A handle on the archive; clones share it.
#[derive(Debug, Clone)]
pub struct Archive {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: ArchiveStore,
    index: RwLock<Index>,
    directory: RwLock<Directory>,
    /// Slugs, sorted.
    bookmakers: RwLock<BTreeSet<Arc<str>>>,
    /// Held while writing.
    cache: Mutex<WriteCache>,
    /// The number of the last write up to which this program has seen all.
    seen: AtomicI64,
    /// Whether matches are missing that are being added.
    partial: watch::Sender<bool>,
}

impl Archive {
    /// Opens the archive and loads the index of all matches.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn open(database: &Database) -> sqlx::Result<Self> {
        let store = ArchiveStore::new(database);
        // First, so that rows written meanwhile are read again.
        let seen = store.last_change().await?;
        let index = Index::new(store.summaries().await?);
        let directory = Directory::new(store.entities().await?);
        let bookmakers: BTreeSet<_> = store.bookmakers().await?.into_iter().collect();
        let inner = Inner {
            store,
            index: index.into(),
            directory: directory.into(),
            bookmakers: bookmakers.into(),
            cache: Mutex::default(),
            seen: seen.into(),
            partial: watch::Sender::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Sets whether matches are missing that are being added, such as the past of the demo after a start.
    pub fn set_partial(&self, partial: bool) {
        self.inner.partial.send_replace(partial);
    }

    /// Whether matches are missing that are being added.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        *self.inner.partial.borrow()
    }

    /// Waits until no match is missing.
    pub async fn complete(&self) {
        // The sender lives as long as this archive.
        self.inner.partial.subscribe().wait_for(|partial| !partial).await.ok();
    }

    /// Writes these matches, their entities, and every changed price. Data stored before this
    /// program received a match, and not reported now, stays; see [`MatchRecord::merged_over`].
    /// Idempotent.
    ///
    /// # Errors
    ///
    /// If the database fails. A part may have been written; the call can be repeated.
    pub async fn put(&self, records: &[Arc<MatchRecord>], now: Micros) -> sqlx::Result<()> {
        self.keep(records, &PriceTrail::default(), now).await.map(|_| ())
    }

    /// Like [`Self::put`], for matches that are not reported again soon: what was written of them is
    /// not cached, unless it was before. `pace`: how long other writers wait.
    ///
    /// # Errors
    ///
    /// As [`Self::put`].
    pub async fn put_once(
        &self,
        records: &[Arc<MatchRecord>],
        pace: &mut WriteBudget,
        now: Micros,
    ) -> sqlx::Result<()> {
        let mut cache = self.cache().await?;
        mem::swap(cache.pace(), pace);
        let ids = records.iter().map(|record| record.summary.id);
        let new: Vec<_> = ids.filter(|id| !cache.knows(*id)).collect();
        let written = self.keep_in(&mut cache, records, &PriceTrail::default(), now).await;
        mem::swap(cache.pace(), pace);
        new.iter().for_each(|id| cache.forget(*id));
        written.map(|_| ())
    }

    /// Makes unknown entities of these records available before they are written: a list with a
    /// match in play must not name a league that cannot be requested.
    pub(crate) fn announce(&self, records: &[Arc<MatchRecord>]) {
        let inner = &self.inner;
        let new: Vec<_> = {
            let index = inner.index.read().unwrap_or_else(PoisonError::into_inner);
            records.iter().filter(|record| index.summary(record.summary.id).is_none()).collect()
        };
        if !new.is_empty() {
            let entities = new.into_iter().flat_map(|record| Entity::of_record(record));
            let mut directory = inner.directory.write().unwrap_or_else(PoisonError::into_inner);
            directory.announce(entities);
        }
    }

    /// Replaces the stored records of these matches. The caller has merged them already. `trail`: their prices since the
    /// last write.
    ///
    /// # Errors
    ///
    /// As [`Self::put`].
    pub async fn replace(
        &self,
        records: &[Arc<MatchRecord>],
        trail: &PriceTrail,
        now: Micros,
    ) -> sqlx::Result<()> {
        let records = in_order(records);
        let mut cache = self.cache().await?;
        self.learn(&mut cache, records.iter().map(|record| record.summary.id)).await?;
        self.write(&mut cache, &records, trail, now).await
    }

    /// Like [`Self::put`]; returns the earlier records of matches that were reported for the first time.
    pub(crate) async fn keep(
        &self,
        records: &[Arc<MatchRecord>],
        trail: &PriceTrail,
        now: Micros,
    ) -> sqlx::Result<Vec<Arc<MatchRecord>>> {
        let mut cache = self.cache().await?;
        self.keep_in(&mut cache, records, trail, now).await
    }

    async fn keep_in(
        &self,
        cache: &mut WriteCache,
        records: &[Arc<MatchRecord>],
        trail: &PriceTrail,
        now: Micros,
    ) -> sqlx::Result<Vec<Arc<MatchRecord>>> {
        let records = in_order(records);
        let ids = records.iter().map(|record| record.summary.id);
        let earlier = self.learn(cache, ids).await?;
        let mut whole = cache.completed(&records);
        self.inner.store.sort_as_stored(&mut whole).await?;
        self.write(cache, &whole, trail, now).await?;
        Ok(earlier)
    }

    /// In a cluster, what it has from before this node leads is out of date: other nodes have written since. A leader that
    /// was suspended can still commit a transaction, until the new term is stored; what is read before that can be out of
    /// date too.
    async fn cache(&self) -> sqlx::Result<MutexGuard<'_, WriteCache>> {
        let mut cache = self.inner.cache.lock().await;
        let term = self.inner.store.term();
        if !cache.is_of(term) {
            self.inner.store.store_term().await?;
            cache.begin_term(term);
        }
        Ok(cache)
    }

    /// Loads matches that are not in the cache, and returns their records.
    async fn learn(
        &self,
        cache: &mut WriteCache,
        ids: impl Iterator<Item = Key>,
    ) -> sqlx::Result<Vec<Arc<MatchRecord>>> {
        let missing: Vec<_> = ids.filter(|id| !cache.knows(*id)).collect();
        let store = &self.inner.store;
        let earlier = store.records(&missing).await?;
        let prices = store.stored_prices(&missing).await?;
        let appearances = store.appearances_in(&missing).await?;
        cache.learn(&missing, &earlier, prices, appearances);
        Ok(earlier)
    }

    async fn write(
        &self,
        cache: &mut WriteCache,
        records: &[Arc<MatchRecord>],
        trail: &PriceTrail,
        now: Micros,
    ) -> sqlx::Result<()> {
        for some in records.chunks(AT_ONCE) {
            if let Err(error) = self.write_some(cache, some, trail, now).await {
                // They count as reported for the first time again, and are read before they are repeated: if only the answer
                // to a commit is missing, they are in the tables.
                records.iter().for_each(|record| cache.forget(record.summary.id));
                return Err(error);
            }
        }
        Ok(())
    }

    async fn write_some(
        &self,
        cache: &mut WriteCache,
        records: &[Arc<MatchRecord>],
        trail: &PriceTrail,
        now: Micros,
    ) -> sqlx::Result<()> {
        let inner = &self.inner;
        let mut entries = cache.changes(records, trail, now);
        inner.store.number(&mut entries).await?;
        let entities = self.new_entities(records);
        let bookmakers = self.new_bookmakers(records);
        let write =
            Write { records, entities: &entities, bookmakers: &bookmakers, entries: &entries };
        let change = inner.store.put(&write, cache.pace(), now).await?;
        self.note_change(change);
        cache.note(entries);
        for record in records.iter().filter(|record| record.summary.status.is_over()) {
            cache.forget(record.summary.id);
        }
        inner.bookmakers.write().unwrap_or_else(PoisonError::into_inner).extend(bookmakers);
        inner.directory.write().unwrap_or_else(PoisonError::into_inner).extend(entities);
        let summaries = records.iter().map(|record| Arc::clone(&record.summary));
        inner.index.write().unwrap_or_else(PoisonError::into_inner).extend(summaries);
        Ok(())
    }

    /// Records a write of this program. If others have written before it, all since is read again.
    fn note_change(&self, change: i64) {
        let seen = &self.inner.seen;
        seen.compare_exchange(change - 1, change, Ordering::Relaxed, Ordering::Relaxed).ok();
    }

    /// Loads what other programs have written since the last call.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn reload(&self) -> sqlx::Result<()> {
        let inner = &self.inner;
        // Held, so that no write of this program comes between.
        let mut cache = inner.cache.lock().await;
        let seen = inner.seen.load(Ordering::Relaxed);
        let last = inner.store.last_change().await?;
        if last == seen {
            return Ok(());
        }
        let summaries = within(STATEMENT_MAX, inner.store.newer_than(seen)).await?;
        let entities = within(STATEMENT_MAX, inner.store.entities_since(seen)).await?;
        let bookmakers = within(STATEMENT_MAX, inner.store.bookmakers_since(seen)).await?;
        summaries.iter().for_each(|summary| cache.forget(summary.id));
        inner.bookmakers.write().unwrap_or_else(PoisonError::into_inner).extend(bookmakers);
        inner.directory.write().unwrap_or_else(PoisonError::into_inner).extend(entities);
        inner.index.write().unwrap_or_else(PoisonError::into_inner).extend(summaries);
        inner.seen.store(last, Ordering::Relaxed);
        Ok(())
    }

    /// Closes the prices of matches that the hub has removed. Their records stay.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn close_matches(&self, ids: &[Key], now: Micros) -> sqlx::Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut cache = self.cache().await?;
        let closed = self.inner.store.close_odds(ids, now).await;
        // Also after a failure: they may be closed all the same.
        ids.iter().for_each(|id| cache.forget(*id));
        self.note_change(closed?);
        Ok(())
    }

    /// Marks matches as unresolved, since no source will report their end.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn give_up(&self, ids: &[Key], now: Micros) -> sqlx::Result<()> {
        let mut cache = self.cache().await?;
        self.learn(&mut cache, ids.iter().copied()).await?;
        let records = self.inner.store.records(ids).await?;
        let records = records.iter().map(|record| {
            let mut record = MatchRecord::clone(record);
            record.summary_mut().status = Status::Unresolved;
            record.summary_mut().updated = now;
            record.close_prices();
            Arc::new(record)
        });
        let records: Vec<_> = records.collect();
        self.write(&mut cache, &records, &PriceTrail::default(), now).await
    }

    /// Deletes up to `at_once` matches that started before this moment, with all their rows;
    /// returns how many.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn drop_before(&self, before: Micros, at_once: usize) -> sqlx::Result<usize> {
        let mut cache = self.cache().await?;
        let (ids, change) = self.inner.store.drop_before(before, at_once).await?;
        self.note_change(change);
        ids.iter().for_each(|id| cache.forget(*id));
        self.inner.index.write().unwrap_or_else(PoisonError::into_inner).remove(&ids);
        Ok(ids.len())
    }

    /// Deletes some of the blocks of ticks that were all received before this moment; returns how many. The ticks of a
    /// block were received within a day.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn drop_ticks_before(&self, before: Micros) -> sqlx::Result<u64> {
        self.inner.store.drop_ticks_before(before).await
    }

    /// Deletes some of the signals that began before this moment; returns how many.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn drop_signals_before(&self, before: Micros) -> sqlx::Result<u64> {
        self.inner.store.drop_signals_before(before).await
    }

    /// Yields to others that wait to write to the same database.
    pub(crate) async fn yield_to_writers(&self) {
        self.inner.store.yield_to_writers().await;
    }

    fn new_entities(&self, records: &[Arc<MatchRecord>]) -> Vec<Entity> {
        let directory = self.inner.directory.read().unwrap_or_else(PoisonError::into_inner);
        let entities = records.iter().flat_map(|record| Entity::of_record(record));
        let mut changed: HashMap<_, Entity> = HashMap::new();
        for entity in entities {
            if let Some(merged) = directory.merged(&entity) {
                changed.insert((merged.kind, merged.id), merged);
            }
        }
        changed.into_values().collect()
    }

    fn new_bookmakers(&self, records: &[Arc<MatchRecord>]) -> Vec<Arc<str>> {
        let bookmakers = self.inner.bookmakers.read().unwrap_or_else(PoisonError::into_inner);
        let prices = records.iter().flat_map(|record| &record.prices);
        let new: BTreeSet<_> = prices
            .filter(|price| price.price.is_some() && !bookmakers.contains(&price.bookmaker))
            .map(|price| Arc::clone(&price.bookmaker))
            .collect();
        new.into_iter().collect()
    }

    /// The complete record of a match.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn record(&self, id: Key) -> sqlx::Result<Option<Arc<MatchRecord>>> {
        Ok(self.inner.store.records(&[id]).await?.pop())
    }

    /// The records of these matches without prices, line-ups, players and shots, in this order;
    /// unknown ones are left out.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn records_without_detail(&self, ids: &[Key]) -> sqlx::Result<Vec<Arc<MatchRecord>>> {
        self.inner.store.records_without_detail(ids).await
    }

    /// The complete records of these matches, in this order; unknown ones are left out.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn records(&self, ids: &[Key]) -> sqlx::Result<Vec<Arc<MatchRecord>>> {
        self.inner.store.records(ids).await
    }

    /// The matches that a query selects.
    #[must_use]
    pub fn find(&self, query: &MatchQuery) -> MatchPage {
        self.find_under(&[], query)
    }

    fn ids(&self, query: &MatchQuery) -> Vec<Key> {
        self.find(query).summaries.iter().map(|summary| summary.id).collect()
    }

    /// The matches in which each two of these teams or players meet, the oldest first.
    #[must_use]
    pub fn meetings(&self, pairs: &HashSet<[Key; 2]>) -> HashMap<[Key; 2], Vec<Arc<MatchSummary>>> {
        let index = self.inner.index.read().unwrap_or_else(PoisonError::into_inner);
        let met = pairs.iter().map(|[one, other]| ([*one, *other], index.meetings(*one, *other)));
        met.collect()
    }

    /// Like [`Self::find`], with the matches in `fresh` overriding the stored ones.
    #[must_use]
    pub fn find_under(&self, fresh: &[Arc<MatchSummary>], query: &MatchQuery) -> MatchPage {
        let index = self.inner.index.read().unwrap_or_else(PoisonError::into_inner);
        index.find_under(fresh, query)
    }

    /// The summary of a match.
    #[must_use]
    pub fn summary(&self, id: Key) -> Option<Arc<MatchSummary>> {
        self.inner.index.read().unwrap_or_else(PoisonError::into_inner).summary(id)
    }

    /// The entity of an id.
    #[must_use]
    pub fn entity(&self, kind: EntityKind, id: Key) -> Option<Arc<Entity>> {
        self.inner.directory.read().unwrap_or_else(PoisonError::into_inner).get(kind, id)
    }

    /// The version of the entities: equal versions mean equal content.
    #[must_use]
    pub fn entities_version(&self) -> u64 {
        self.inner.directory.read().unwrap_or_else(PoisonError::into_inner).version()
    }

    /// All of a kind that a condition lets through, by name and id.
    #[must_use]
    pub fn entities(
        &self,
        kind: EntityKind,
        condition: impl Fn(&Entity) -> bool,
    ) -> Vec<Arc<Entity>> {
        let directory = self.inner.directory.read().unwrap_or_else(PoisonError::into_inner);
        directory.all(kind, condition)
    }

    /// The prices that a filter lets through: how many, and those in the window, as they are now. `current`: a match in the
    /// hub, which is ahead of the archive.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn odds(
        &self,
        filter: &OddsFilter,
        window: Window,
        current: impl Fn(Key) -> Option<Arc<MatchRecord>>,
    ) -> sqlx::Result<(usize, Vec<OddsRow>)> {
        self.inner.store.odds(filter, window, current).await
    }

    /// The price of this id.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn odds_row(&self, id: Key) -> sqlx::Result<Option<OddsRow>> {
        self.inner.store.odds_row(id).await
    }

    /// The price history of these rows of a match, row by row, oldest first.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn ticks(&self, match_id: Key, rows: &[Key]) -> sqlx::Result<Vec<Tick>> {
        self.inner.store.ticks(match_id, rows).await
    }

    /// The slugs of all bookmakers with prices, and of the consensus, sorted.
    #[must_use]
    pub fn bookmakers(&self) -> Vec<Arc<str>> {
        let bookmakers = self.inner.bookmakers.read().unwrap_or_else(PoisonError::into_inner);
        bookmakers.iter().map(Arc::clone).collect()
    }

    /// The appearances that a filter lets through: how many, and those in the window, the latest
    /// match first.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn appearances(
        &self,
        filter: &AppearanceFilter,
        window: Window,
    ) -> sqlx::Result<(usize, Vec<Appearance>)> {
        let AppearanceFilter { matches: None, players: None, teams: Some(teams), .. } = filter
        else {
            return self.inner.store.appearances(filter, window).await;
        };
        // No index has them by team.
        let (from, before) = (filter.from, filter.before);
        let of_team =
            |team: &Key| MatchQuery { team: Some(*team), from, before, ..MatchQuery::default() };
        let matches = teams.iter().flat_map(|team| self.ids(&of_team(team))).collect();
        let filter = AppearanceFilter { matches: Some(matches), ..filter.clone() };
        self.inner.store.appearances(&filter, window).await
    }

    /// The leaders of a season in this, best first.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn leaders(
        &self,
        season: Key,
        leader: Leader,
        limit: usize,
    ) -> sqlx::Result<Vec<LeaderRow>> {
        let matches = self.ids(&MatchQuery { season: Some(season), ..MatchQuery::default() });
        self.inner.store.leaders((season, &matches), leader, limit).await
    }

    /// The number of matches from which the leaders of a season are counted.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn leader_matches(&self, season: Key, leader: Leader) -> sqlx::Result<u64> {
        let matches = self.ids(&MatchQuery { season: Some(season), ..MatchQuery::default() });
        self.inner.store.leader_matches(&matches, leader).await
    }
}

/// The last record of each match, ordered by id.
fn in_order(records: &[Arc<MatchRecord>]) -> Vec<Arc<MatchRecord>> {
    let records: BTreeMap<_, _> = records.iter().map(|it| (it.summary.id, it)).collect();
    records.into_values().map(Arc::clone).collect()
}

#[cfg(test)]
mod tests;
