//! What has passed through the hub, kept: matches, whom they are of, and the history of every price.
//!
//! In: [`MatchRecord`]s. Out: the same by id, lists of their [`Brief`]s by any filter, and the
//! [`Entity`]s behind their ids. What lists need of every match is in memory ([`index`]), in the order
//! in which lists show it, so a page costs the same wherever it is; the rest is read by primary key.
//! It knows neither HTTP nor channels.

mod appearance;
mod entity;
mod inbox;
mod index;
mod ledger;
mod line;
mod odds;
mod store;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, PoisonError, RwLock},
};

use fanout::Micros;
use tokio::sync::Mutex;

pub use self::{
    appearance::{Appearance, AppearanceFilter, Leader, LeaderRow},
    entity::{Entity, EntityKind},
    inbox::{Inbox, Keeper},
    index::{Filter, Found, Window},
    odds::{Movement, OddsFilter, OddsRow, Period, Tick},
};
use self::{
    entity::Directory,
    index::Index,
    ledger::Ledger,
    store::{Store, Write},
};
use crate::{
    database::Database,
    record::{Key, MatchRecord},
};

/// A handle on the archive; clones share it.
#[derive(Debug, Clone)]
pub struct Archive {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Store,
    index: RwLock<Index>,
    directory: RwLock<Directory>,
    /// Slugs, sorted.
    bookmakers: RwLock<BTreeSet<Arc<str>>>,
    /// Held by whoever writes.
    ledger: Mutex<Ledger>,
}

impl Archive {
    /// Reads what lists need of all that is kept.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn open(database: &Database) -> Result<Self, sqlx::Error> {
        let store = Store::of(database);
        let index = Index::of(store.briefs().await?);
        let directory = Directory::of(store.entities().await?);
        let bookmakers: BTreeSet<_> = store.bookmakers().await?.into_iter().collect();
        let inner = Inner {
            store,
            index: index.into(),
            directory: directory.into(),
            bookmakers: bookmakers.into(),
            ledger: Mutex::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Keeps these matches as they are told here, whom they are of, and every price that is another
    /// than before. Again changes nothing.
    ///
    /// # Errors
    ///
    /// If the database fails; nothing is kept then.
    pub async fn put(&self, records: &[Arc<MatchRecord>], now: Micros) -> Result<(), sqlx::Error> {
        let mut ledger = self.inner.ledger.lock().await;
        let store = &self.inner.store;
        let missing = records.iter().map(|record| record.brief.id);
        let missing: Vec<_> = missing.filter(|id| !ledger.knows(*id)).collect();
        let (lines, appearances) =
            (store.lines(&missing).await?, store.appearances_in(&missing).await?);
        ledger.learn(&missing, lines, appearances);
        let entries = ledger.news(records, now);
        let entities = self.new_entities(records);
        let bookmakers = self.new_bookmakers(records);
        let write =
            Write { records, entities: &entities, bookmakers: &bookmakers, entries: &entries };
        store.put(&write, now).await?;
        ledger.note(entries);
        for record in records.iter().filter(|record| record.brief.status.is_over()) {
            ledger.forget(record.brief.id);
        }
        let inner = &self.inner;
        inner.bookmakers.write().unwrap_or_else(PoisonError::into_inner).extend(bookmakers);
        inner.directory.write().unwrap_or_else(PoisonError::into_inner).extend(entities);
        let briefs = records.iter().map(|record| record.brief.clone());
        inner.index.write().unwrap_or_else(PoisonError::into_inner).extend(briefs);
        Ok(())
    }

    fn new_entities(&self, records: &[Arc<MatchRecord>]) -> Vec<Entity> {
        let directory = self.inner.directory.read().unwrap_or_else(PoisonError::into_inner);
        let told = records.iter().flat_map(|record| Entity::of_record(record));
        let mut news: HashMap<_, Entity> = HashMap::new();
        for entity in told {
            if let Some(merged) = directory.news(&entity) {
                news.insert((merged.kind, merged.id), merged);
            }
        }
        news.into_values().collect()
    }

    fn new_bookmakers(&self, records: &[Arc<MatchRecord>]) -> Vec<Arc<str>> {
        let known = self.inner.bookmakers.read().unwrap_or_else(PoisonError::into_inner);
        let prices = records.iter().flat_map(|record| &record.prices);
        let new: BTreeSet<_> = prices
            .filter(|price| price.price.is_some() && !known.contains(&price.bookmaker))
            .map(|price| Arc::clone(&price.bookmaker))
            .collect();
        new.into_iter().collect()
    }

    /// All that is kept of a match.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn record(&self, id: Key) -> Result<Option<Arc<MatchRecord>>, sqlx::Error> {
        Ok(self.inner.store.records(&[id]).await?.pop())
    }

    /// All that is kept of these matches, in this order; those that are not known are left out.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn records(&self, ids: &[Key]) -> Result<Vec<Arc<MatchRecord>>, sqlx::Error> {
        self.inner.store.records(ids).await
    }

    /// The matches that a filter lets through: how many, and those in the window.
    #[must_use]
    pub fn find(&self, filter: &Filter, window: Window) -> Found {
        self.inner.index.read().unwrap_or_else(PoisonError::into_inner).find(filter, window)
    }

    /// Whom or what an id is of.
    #[must_use]
    pub fn entity(&self, kind: EntityKind, id: Key) -> Option<Arc<Entity>> {
        self.inner.directory.read().unwrap_or_else(PoisonError::into_inner).get(kind, id)
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

    /// The prices that a filter lets through: how many, and those in the window.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn odds(
        &self,
        filter: &OddsFilter,
        window: Window,
    ) -> Result<(usize, Vec<OddsRow>), sqlx::Error> {
        self.inner.store.odds(filter, window).await
    }

    /// The price of this id.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn odds_row(&self, id: Key) -> Result<Option<OddsRow>, sqlx::Error> {
        self.inner.store.odds_row(id).await
    }

    /// What these rows have been, row by row and the first first.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn ticks(&self, rows: &[Key]) -> Result<Vec<Tick>, sqlx::Error> {
        self.inner.store.ticks(rows).await
    }

    /// The slugs of all bookmakers of whom there is a price, and of the consensus, sorted.
    #[must_use]
    pub fn bookmakers(&self) -> Vec<Arc<str>> {
        let known = self.inner.bookmakers.read().unwrap_or_else(PoisonError::into_inner);
        known.iter().map(Arc::clone).collect()
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
    ) -> Result<(usize, Vec<Appearance>), sqlx::Error> {
        self.inner.store.appearances(filter, window).await
    }

    /// Who leads a season in this, the first first.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn leaders(
        &self,
        season: Key,
        leader: Leader,
        limit: usize,
    ) -> Result<Vec<LeaderRow>, sqlx::Error> {
        self.inner.store.leaders(season, leader, limit).await
    }
}

#[cfg(test)]
mod tests;
