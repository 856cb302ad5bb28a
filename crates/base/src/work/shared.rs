//! Values that are computed once, for all who ask for them.

use std::{
    future::{self, Future},
    panic,
    sync::Arc,
};

use tokio::sync::{Mutex, Semaphore};

use super::{CURRENT, Scope};

/// How many values are made at a time. None waits for another one while it is made.
const MAKING_MAX: usize = 16;

static MAKING: Semaphore = Semaphore::const_new(MAKING_MAX);

/// A value that the first who asks for it computes while the others wait; clones share it.
///
/// It is computed to the end, also if the one who asked has left: otherwise each of a thousand clients that leave at once
/// would start the computation again.
#[derive(Debug, Clone)]
pub struct SharedValue<T>(Arc<Mutex<Option<T>>>);

impl<T> Default for SharedValue<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone + Send + 'static> SharedValue<T> {
    /// The value, if it is fresh; otherwise a new one. It is computed with the turns of the hub, since it must not wait in the
    /// queue of one payer. The requester pays, since a cached value displaces those of others.
    ///
    /// # Errors
    ///
    /// Those of `make`; the next one who asks makes it again.
    ///
    /// # Panics
    ///
    /// If `make` panics.
    pub async fn get_or_make<E: Send + 'static>(
        &self,
        is_fresh: impl FnOnce(&T) -> bool + Send,
        make: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        let mut value = Arc::clone(&self.0).lock_owned().await;
        if let Some(fresh) = value.as_ref().filter(|value| is_fresh(value)) {
            return Ok(fresh.clone());
        }
        to_the_end(async move {
            let made = make.await?;
            *value = Some(made.clone());
            Ok(made)
        })
        .await
    }

    /// Whether both are the same one.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Runs a future in a task of its own, which the caller cannot cancel. While as many as may run at a time, the caller waits,
/// and may leave.
async fn to_the_end<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    let permit = MAKING.acquire().await;
    let scope = Scope::current().map(|scope| Scope { for_all: true, ..scope });
    let task = tokio::spawn(async move {
        let _permit = permit;
        match scope {
            Some(scope) => CURRENT.scope(scope, future).await,
            None => future.await,
        }
    });
    match task.await.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(output) => output,
        Err(Ok(payload)) => panic::resume_unwind(payload),
        // The runtime is being dropped, and the caller with it.
        Err(Err(_)) => future::pending().await,
    }
}
