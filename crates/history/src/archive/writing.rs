//! Writing of matches with all that belongs to them, and their removal.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    mem,
    sync::{Arc, PoisonError, atomic::Ordering},
};

use base::Micros;
use tokio::sync::MutexGuard;

use super::{Archive, Entity, PriceTrail, store::Write, write_cache::WriteCache};
use database::{STATEMENT_MAX, WriteBudget, within};
use record::{Key, MatchRecord, Status};

/// Matches that are written in one transaction, without their prices: some MiB at most.
const AT_ONCE: usize = 200;

impl Archive {
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
}

/// The last record of each match, ordered by id.
fn in_order(records: &[Arc<MatchRecord>]) -> Vec<Arc<MatchRecord>> {
    let records: BTreeMap<_, _> = records.iter().map(|it| (it.summary.id, it)).collect();
    records.into_values().map(Arc::clone).collect()
}
