//! The connections of a database, in turn between accounts: one account has at most half of them at a time.

use std::time::Duration;

use base::work::{FairQueue, Pool, QueueLimits, Slot};
use futures_util::{
    StreamExt, TryFutureExt, TryStreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use sqlx::{
    Any, AnyPool, Either, Error, Execute, Executor, SqlStr,
    any::{AnyQueryResult, AnyRow, AnyStatement, AnyTypeInfo},
    pool::PoolConnection,
};

/// Statements that wait for a connection, of strangers, of accounts and of the hub each.
const WAITING_MAX: usize = 2_048;

/// A pool whose connections are given out in turn.
#[derive(Debug, Clone)]
pub struct SharedPool {
    pub(crate) connections: AnyPool,
    /// Who waits for a connection.
    pub turns: FairQueue,
    patience: Duration,
}

impl SharedPool {
    pub(crate) fn new(connections: AnyPool) -> Self {
        let options = connections.options();
        let (most, patience) = (options.get_max_connections(), options.get_acquire_timeout());
        let limits = QueueLimits::shared(usize::try_from(most).unwrap_or(usize::MAX), WAITING_MAX);
        Self { connections, turns: FairQueue::new(limits), patience }
    }

    /// Waits for a connection for who pays for the task that calls. It is to be used as long as the slot is there.
    ///
    /// # Errors
    ///
    /// If none is free in time, too many wait, or the database fails.
    pub async fn acquire(&self) -> Result<(Slot, PoolConnection<Any>), Error> {
        Ok((self.turn().await?, self.connections.acquire().await?))
    }

    /// Waits for a turn only.
    pub(crate) async fn turn(&self) -> Result<Slot, Error> {
        let turn = tokio::time::timeout(self.patience, self.turns.enter_current(Pool::Database));
        turn.await.ok().and_then(Result::ok).ok_or(Error::PoolTimedOut)
    }
}

impl<'p> Executor<'p> for &SharedPool {
    type Database = Any;

    /// All rows at once, since callers collect them.
    fn fetch_many<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxStream<'e, Result<Either<AnyQueryResult, AnyRow>, Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Any>,
    {
        let pool = self.clone();
        let all = async move {
            let (_slot, mut connection) = pool.acquire().await?;
            let all: Vec<_> = connection.fetch_many(query).try_collect().await?;
            Ok::<_, Error>(stream::iter(all).map(Ok::<_, Error>))
        };
        Box::pin(all.try_flatten_stream())
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<AnyRow>, Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Any>,
    {
        let pool = self.clone();
        Box::pin(async move { pool.acquire().await?.1.fetch_optional(query).await })
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [AnyTypeInfo],
    ) -> BoxFuture<'e, Result<AnyStatement, Error>>
    where
        'p: 'e,
    {
        let pool = self.clone();
        Box::pin(async move { pool.acquire().await?.1.prepare_with(sql, parameters).await })
    }
}
