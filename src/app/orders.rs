//! Forwards what operators order about matches, on the pages and the command line, to the writer.

use std::time::Duration;

use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

use super::stores::Stores;
use crate::config::Config;
use base::supervisor::{self, Lifetime};
use hub::{
    identity,
    pipeline::{HubHandle, Request},
};

/// Maximum orders waiting for the writer.
const ORDERS_MAX: usize = 64;

/// Forwards orders until `stopped`.
pub(super) fn start(
    config: &Config,
    stores: &Stores,
    hub_handle: &HubHandle,
    stopped: &watch::Receiver<bool>,
    lifetime: Lifetime,
) -> [JoinHandle<()>; 2] {
    let (orders, mut waiting) = mpsc::channel(ORDERS_MAX);
    let (mut stopped, requests) = (stopped.clone(), hub_handle.requests.clone());
    let every = Duration::from_millis(config.accounts.watch_ms);
    let watching = identity::watch(stores.identities.clone(), every, orders, async move {
        stopped.wait_for(|stop| *stop).await.ok();
    });
    let watching = supervisor::spawn("order-watcher", lifetime, watching);
    let forwarding = supervisor::spawn("orders", lifetime, async move {
        while let Some(order) = waiting.recv().await {
            if requests.send(Request::Order(order)).await.is_err() {
                return;
            }
        }
    });
    [watching, forwarding]
}
