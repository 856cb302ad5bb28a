//! The history of the states of sources: each change is a line of the log and a row in the database.

use std::sync::Arc;

use database::Database;
use fanout::Micros;
use metrics::counter;
use sqlx::Row;
use tokio::sync::mpsc;
use tracing::{info, warn};

use crate::{
    hub::feeds::{FeedState, NOT_CONFIGURED},
    supervisor::{self, Lifetime},
};

/// Changes that the database has of each source.
pub const STATES_MAX: usize = 100;

/// Changes that may wait for the database. Further ones are only in the log of the program.
const WAITING_MAX: usize = 1_024;

/// A change of the state of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateChange {
    pub source: Arc<str>,
    /// Microseconds since the epoch, UTC.
    pub at: Micros,
    /// `live`, `late`, `down` or `recovering`.
    pub state: Arc<str>,
    /// A lower-case fragment, if there is a reason.
    pub reason: Option<Arc<str>>,
}

/// A handle on the table of changes; clones share it.
#[derive(Debug, Clone)]
pub struct StateStore {
    database: Database,
}

impl StateStore {
    #[must_use]
    pub fn new(database: &Database) -> Self {
        Self { database: database.clone() }
    }

    /// Writes a change, and drops the oldest ones of its source beyond [`STATES_MAX`].
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn write(&self, change: &StateChange) -> sqlx::Result<()> {
        let mut tx = self.database.begin().await?;
        let insert =
            "INSERT INTO source_states (source, at_us, state, reason) VALUES ($1, $2, $3, $4)";
        sqlx::query(insert)
            .bind(&*change.source)
            .bind(change.at)
            .bind(&*change.state)
            .bind(change.reason.as_deref())
            .execute(&mut *tx)
            .await?;
        let drop_oldest = "DELETE FROM source_states WHERE source = $1 AND id <= \
             (SELECT id FROM source_states WHERE source = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)";
        sqlx::query(drop_oldest)
            .bind(&*change.source)
            .bind(i64::try_from(STATES_MAX).unwrap_or(i64::MAX))
            .execute(&mut *tx)
            .await?;
        tx.commit().await
    }

    /// The newest changes, the newest first: of all sources or of one.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn newest(
        &self,
        source: Option<&str>,
        most: usize,
    ) -> sqlx::Result<Vec<StateChange>> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let query = match source {
            Some(source) => sqlx::query(
                "SELECT * FROM source_states WHERE source = $1 ORDER BY id DESC LIMIT $2",
            )
            .bind(source),
            None => sqlx::query("SELECT * FROM source_states ORDER BY id DESC LIMIT $1"),
        };
        let query = query.bind(most);
        let change = |row: sqlx::any::AnyRow| {
            Ok(StateChange {
                source: row.try_get::<String, _>("source")?.into(),
                at: row.try_get("at_us")?,
                state: row.try_get::<String, _>("state")?.into(),
                reason: row.try_get::<Option<String>, _>("reason")?.map(Arc::from),
            })
        };
        query.try_map(change).fetch_all(self.database.pool()).await
    }
}

/// Tells operators of changes, without waiting for the database.
#[derive(Debug)]
pub struct StateHistory(mpsc::Sender<StateChange>);

impl StateHistory {
    /// Starts the task that writes to the database. It ends when this is dropped and all is written.
    #[must_use]
    pub fn start(store: StateStore) -> Self {
        let (changes, mut waiting) = mpsc::channel::<StateChange>(WAITING_MAX);
        let writing = async move {
            while let Some(change) = waiting.recv().await {
                if let Err(error) = store.write(&change).await {
                    let error = &error as &dyn std::error::Error;
                    counter!("matchwire_feed_states_unwritten_total").increment(1);
                    warn!(error, source = &*change.source, "cannot write the state of a source");
                }
            }
        };
        supervisor::spawn("source states", Lifetime::Finite, writing);
        Self(changes)
    }

    /// Logs a change, and queues it for the database.
    pub(crate) fn note(
        &self,
        source: &Arc<str>,
        at: Micros,
        state: FeedState,
        reason: Option<&Arc<str>>,
    ) {
        let (name, word, why) = (&**source, state.as_str(), reason.map_or("", |reason| reason));
        // Whoever removes a source, or plays a recording to its end, knows it.
        let is_failure = matches!(state, FeedState::Late | FeedState::Down)
            && reason.is_some_and(|reason| **reason != *NOT_CONFIGURED);
        if is_failure {
            warn!(source = name, state = word, reason = why, "the state of a source has changed");
        } else {
            info!(source = name, state = word, reason = why, "the state of a source has changed");
        }
        let (source, state, reason) = (Arc::clone(source), word.into(), reason.cloned());
        let change = StateChange { source, at, state, reason };
        if self.0.try_send(change).is_err() {
            counter!("matchwire_feed_states_unwritten_total").increment(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use database::testing::on_each;

    use super::*;

    #[tokio::test]
    async fn newest_changes_of_each_source_are_kept() {
        on_each(async |database| {
            let store = StateStore::new(&database);
            let change = |source: &str, at, reason: Option<&str>| StateChange {
                source: source.into(),
                at,
                state: "late".into(),
                reason: reason.map(Arc::from),
            };
            store.write(&change("other", 1, None)).await.unwrap();
            for at in 0..105 {
                store.write(&change("acme", at, Some("silent"))).await.unwrap();
            }
            let acme = store.newest(Some("acme"), 1_000).await.unwrap();
            assert!(acme.iter().map(|it| it.at).eq((5..105).rev()), "{acme:?}");
            assert_eq!(acme[0], change("acme", 104, Some("silent")));
            assert_eq!(store.newest(Some("other"), 9).await.unwrap(), [change("other", 1, None)]);
            let all = store.newest(None, 1_000).await.unwrap();
            assert_eq!((all.len(), &all[100]), (STATES_MAX + 1, &change("other", 1, None)));
            assert_eq!(store.newest(None, 2).await.unwrap(), all[..2]);
        })
        .await;
    }
}
