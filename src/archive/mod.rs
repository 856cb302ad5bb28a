//! What has passed through the hub, kept: matches, whom they are of, and the history of every price.
//!
//! In: [`MatchRecord`]s. Out: the same by id, lists of their [`Brief`]s by any filter, and the
//! [`Entity`]s behind their ids. What lists need of every match is in memory ([`index`]), in the order
//! in which lists show it, so a page costs the same wherever it is; the rest is read by primary key.
//! It knows neither HTTP nor channels.

mod entity;
mod inbox;
mod index;
mod store;

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use fanout::Micros;

use self::{entity::Directory, index::Index, store::Store};
pub use self::{
    entity::{Entity, EntityKind},
    inbox::{Inbox, Keeper},
    index::{Filter, Found, Window},
};
use crate::{
    database::Database,
    record::{Brief, Key, MatchRecord},
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
        let inner = Inner { store, index: index.into(), directory: directory.into() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Keeps these matches as they are told here, and whom they are of. Again changes nothing.
    ///
    /// # Errors
    ///
    /// If the database fails; nothing is kept then.
    pub async fn put(&self, records: &[Arc<MatchRecord>], now: Micros) -> Result<(), sqlx::Error> {
        let entities: Vec<_> = {
            let directory = self.inner.directory.read().unwrap_or_else(PoisonError::into_inner);
            let told = records.iter().flat_map(|record| Entity::of_record(record));
            let mut news: HashMap<_, Entity> = HashMap::new();
            for entity in told {
                if let Some(merged) = directory.news(&entity) {
                    news.insert((merged.kind, merged.id), merged);
                }
            }
            news.into_values().collect()
        };
        self.inner.store.put(records, &entities, now).await?;
        let mut directory = self.inner.directory.write().unwrap_or_else(PoisonError::into_inner);
        directory.extend(entities);
        drop(directory);
        let mut index = self.inner.index.write().unwrap_or_else(PoisonError::into_inner);
        index.extend(records.iter().map(|record| record.brief.clone()));
        Ok(())
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

    /// The same where the matches in `fresh` are known better than they are kept: these count in
    /// place of what is kept of them. And a condition more than a filter has words for.
    #[must_use]
    pub fn find_under(
        &self,
        fresh: &[Arc<Brief>],
        filter: &Filter,
        window: Window,
        also: impl Fn(&Brief) -> bool,
    ) -> Found {
        let index = self.inner.index.read().unwrap_or_else(PoisonError::into_inner);
        index.find_under(fresh, filter, window, also)
    }

    /// What lists tell of a match.
    #[must_use]
    pub fn brief(&self, id: Key) -> Option<Arc<Brief>> {
        self.inner.index.read().unwrap_or_else(PoisonError::into_inner).get(id)
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
}
