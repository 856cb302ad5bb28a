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
mod retention;
mod rows;
pub mod signals;
mod store;
mod stored_price;
mod worker;
mod write_cache;
mod writing;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, PoisonError, RwLock, atomic::AtomicI64},
};

use tokio::sync::{Mutex, watch};

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
use self::{entity::Directory, store::ArchiveStore, write_cache::WriteCache};
pub use crate::match_query::Window;
use crate::match_query::{MatchPage, MatchQuery};
use database::Database;
pub(crate) use record::completed;
use record::{Key, MatchRecord, MatchSummary};

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

#[cfg(test)]
mod tests;
