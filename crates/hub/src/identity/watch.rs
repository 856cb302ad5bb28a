//! Forwards the operator's orders to the hub, no matter which program stored them.

use std::{convert::Infallible, time::Duration};

use tokio::{sync::mpsc, time};
use tracing::warn;

use super::{NumberedOrder, store::IdentityStore};

/// The delay after a failure of the watching connection.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Sends all pending orders, and then each new one within `every`, until `stop` is ready or the
/// receiver is dropped. An order is sent once; it stays pending in the store until its `Done` is
/// written, so that none is lost if the program ends before.
///
/// # Panics
///
/// If `every` is zero.
pub async fn watch(
    store: IdentityStore,
    every: Duration,
    orders: mpsc::Sender<NumberedOrder>,
    stop: impl Future<Output = ()> + Send,
) {
    tokio::select! {
        () = stop => {}
        () = orders.closed() => {}
        () = watch_always(&store, every, &orders) => {}
    }
}

async fn watch_always(
    store: &IdentityStore,
    every: Duration,
    orders: &mpsc::Sender<NumberedOrder>,
) {
    let mut seen = 0;
    loop {
        let Err(error) = watch_until_failure(store, every, orders, &mut seen).await;
        warn!(error = &error as &dyn std::error::Error, "cannot check for corrections of matches");
        time::sleep(RETRY_AFTER).await;
    }
}

async fn watch_until_failure(
    store: &IdentityStore,
    every: Duration,
    orders: &mpsc::Sender<NumberedOrder>,
    seen: &mut i64,
) -> sqlx::Result<Infallible> {
    let mut watcher = store.database().watch(every).await?;
    loop {
        watcher.changed().await?;
        hand_over(store, orders, seen).await?;
    }
}

/// Sends all new orders, a thousand at a time.
async fn hand_over(
    store: &IdentityStore,
    orders: &mpsc::Sender<NumberedOrder>,
    seen: &mut i64,
) -> sqlx::Result<()> {
    loop {
        let new = store.orders_after(*seen).await?;
        if new.is_empty() {
            return Ok(());
        }
        for order in new {
            *seen = order.number;
            // An error means that the receiver was dropped, which ends the watch.
            orders.send(order).await.ok();
        }
    }
}
