//! How far sources have read: in the database, so that they go on there after a restart.
//!
//! A position counts only while the hub has all that came before it. So it is stored after that is in the log, with the
//! time of the source's last message. When the facts of the source are withdrawn, that time becomes one that no message has,
//! and the position says only what the provider counts.

use std::sync::Arc;

use base::supervisor::{self, Lifetime};
use database::Database;
use facts::event::Micros;
use sqlx::Row;
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

/// Changes that may wait for the database.
const WAITING_MAX: usize = 64;

/// How far a source has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPosition {
    /// In the source's own words.
    pub position: Arc<str>,
    /// The time of its last message that the hub had then, in microseconds since the epoch.
    pub last: Micros,
}

/// A change of what is stored.
#[derive(Debug)]
enum PositionChange {
    /// The position of a source, once the hub answers that what came before is in the log, with the time of the source's
    /// last message.
    Write(Arc<str>, Arc<str>, oneshot::Receiver<Option<Micros>>),
    Withdraw(Arc<str>),
    KeepOnly(Vec<Arc<str>>),
}

/// The positions of all sources; clones share them.
#[derive(Debug, Clone)]
pub struct Positions {
    database: Database,
    changes: mpsc::Sender<PositionChange>,
}

impl Positions {
    /// Starts the task that writes to the database. It ends when all clones are dropped and all is written.
    #[must_use]
    pub fn start(database: &Database) -> Self {
        let (changes, mut waiting) = mpsc::channel(WAITING_MAX);
        let written = database.clone();
        let writing = async move {
            while let Some(change) = waiting.recv().await {
                if let Err(error) = apply(&written, change).await {
                    let error = &error as &dyn std::error::Error;
                    warn!(error, "cannot write how far a source has read");
                }
            }
        };
        supervisor::spawn("source positions", Lifetime::Finite, writing);
        Self { database: database.clone(), changes }
    }

    /// The position of a source, if it has one.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn load(&self, source: &str) -> sqlx::Result<Option<StoredPosition>> {
        let query = sqlx::query("SELECT position, last_us FROM source_positions WHERE source = $1");
        let stored = |row: sqlx::any::AnyRow| {
            let position = row.try_get::<String, _>("position")?.into();
            Ok(StoredPosition { position, last: row.try_get("last_us")? })
        };
        query.bind(source).try_map(stored).fetch_optional(self.database.pool()).await
    }

    /// Stores a position once what came before is committed, unless too much waits for the database: the next one comes soon.
    pub(crate) fn write(
        &self,
        source: &Arc<str>,
        position: Arc<str>,
        committed: oneshot::Receiver<Option<Micros>>,
    ) {
        self.changes.try_send(PositionChange::Write(Arc::clone(source), position, committed)).ok();
    }

    /// Notes that the facts of a source are withdrawn.
    pub async fn withdraw(&self, source: &Arc<str>) {
        // The task ends with the last clone.
        self.changes.send(PositionChange::Withdraw(Arc::clone(source))).await.ok();
    }

    /// Forgets the positions of all sources but these.
    pub async fn keep_only(&self, sources: Vec<Arc<str>>) {
        self.changes.send(PositionChange::KeepOnly(sources)).await.ok();
    }
}

async fn apply(database: &Database, change: PositionChange) -> sqlx::Result<()> {
    match change {
        PositionChange::Write(source, position, committed) => {
            // There is no answer if the node no longer leads.
            let Ok(Some(last)) = committed.await else { return Ok(()) };
            let write = "INSERT INTO source_positions (source, position, last_us) VALUES ($1, $2, $3) \
                 ON CONFLICT (source) DO UPDATE SET position = excluded.position, last_us = excluded.last_us";
            let write = sqlx::query(write).bind(&*source).bind(&*position).bind(last);
            write.execute(database.pool()).await.map(drop)
        }
        PositionChange::Withdraw(source) => {
            let withdraw = "UPDATE source_positions SET last_us = $2 WHERE source = $1";
            let withdraw = sqlx::query(withdraw).bind(&*source).bind(Micros::MAX);
            withdraw.execute(database.pool()).await.map(drop)
        }
        PositionChange::KeepOnly(sources) => {
            let stored = sqlx::query_scalar::<_, String>("SELECT source FROM source_positions");
            for source in stored.fetch_all(database.pool()).await? {
                if !sources.iter().any(|name| **name == *source) {
                    let forget = sqlx::query("DELETE FROM source_positions WHERE source = $1");
                    forget.bind(source).execute(database.pool()).await?;
                }
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use database::testing::on_each;

    use super::*;

    #[tokio::test]
    async fn positions_are_stored_replaced_withdrawn_and_forgotten() {
        on_each(async |database| {
            let positions = Positions::start(&database);
            let apply = async |change| apply(&database, change).await.unwrap();
            let [one, other]: [Arc<str>; 2] = ["one".into(), "other".into()];
            let at = |last| StoredPosition { position: format!("p{last}").into(), last };
            assert_eq!(positions.load("one").await.unwrap(), None);
            let write = async |source: &Arc<str>, last: Option<Micros>| {
                let (reply, committed) = oneshot::channel();
                let position = at(last.unwrap_or_default()).position;
                reply.send(last).expect("it is waited for");
                apply(PositionChange::Write(Arc::clone(source), position, committed)).await;
            };
            for last in [1, 2] {
                write(&one, Some(last)).await;
                write(&other, Some(10 * last)).await;
            }
            // The hub has no message of the source, or no longer leads.
            write(&one, None).await;
            let (_, committed) = oneshot::channel();
            apply(PositionChange::Write(one.clone(), "p".into(), committed)).await;
            assert_eq!(positions.load("one").await.unwrap(), Some(at(2)));
            apply(PositionChange::Withdraw(one.clone())).await;
            let withdrawn = StoredPosition { last: Micros::MAX, ..at(2) };
            assert_eq!(positions.load("one").await.unwrap(), Some(withdrawn));
            assert_eq!(positions.load("other").await.unwrap(), Some(at(20)));
            write(&one, Some(3)).await;
            apply(PositionChange::KeepOnly(vec![one])).await;
            assert_eq!(positions.load("one").await.unwrap(), Some(at(3)));
            assert_eq!(positions.load("other").await.unwrap(), None);
        })
        .await;
    }
}
