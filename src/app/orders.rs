//! Forwards what operators order about matches, on the pages and the command line, to the writer.

use std::time::Duration;

use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

use crate::config::Config;
use base::supervisor::{self, Lifetime};
use hub::{
    identity::{self, store::IdentityStore},
    pipeline::{HubHandle, Request},
};

/// Maximum orders waiting for the writer.
const ORDERS_MAX: usize = 64;

/// What forwards the operator's orders about matches to the writer.
pub(super) struct OrderParts<'a> {
    pub store: IdentityStore,
    pub config: &'a Config,
    pub hub_handle: &'a HubHandle,
}

impl OrderParts<'_> {
    /// Forwards orders until `stopped`.
    pub(super) fn take(
        &self,
        stopped: &watch::Receiver<bool>,
        lifetime: Lifetime,
    ) -> [JoinHandle<()>; 2] {
        let (orders, mut waiting) = mpsc::channel(ORDERS_MAX);
        let (mut stopped, requests) = (stopped.clone(), self.hub_handle.requests.clone());
        let every = Duration::from_millis(self.config.accounts.watch_ms);
        let watching = identity::watch(self.store.clone(), every, orders, async move {
            stopped.wait_for(|stop| *stop).await.ok();
        });
        let watching = supervisor::spawn("order-watcher", lifetime, watching);
        let handing_in = supervisor::spawn("orders", lifetime, async move {
            while let Some(order) = waiting.recv().await {
                if requests.send(Request::Order(order)).await.is_err() {
                    return;
                }
            }
        });
        [watching, handing_in]
    }
}
