//! A test hub, and a client that knows only the protocol page.

pub(crate) mod bank;
mod browser;
mod client;
pub(crate) mod clock;
#[path = "../../clock/mod.rs"]
mod clock_offset;
pub(crate) mod cluster;
pub(crate) mod feed;
mod http;
mod hub;
pub(crate) mod json_schema;
pub(crate) mod merge_patch;
mod reloaded_hub;
mod shared_hub;
pub(crate) mod shopper;
#[path = "../../smtp/server.rs"]
pub(crate) mod smtp;
mod test_database;

use std::{path::PathBuf, time::Duration};

use serde_json::Value;
use tokio::time::timeout;

pub(crate) use self::{
    browser::{Browser, between},
    client::{ChannelState, Client, Closed},
    http::{Answer, Raw, raw, read_until, request_with},
    hub::{ALL_ADDONS, Hub, QUIET, Setting, program},
    reloaded_hub::ReloadedHub,
    test_database::{TestDatabase, is_long, on_each, on_sqlite, postgres_or_skipped},
};

/// The timeout for an awaited event. Generous: a busy machine is not a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits before another look at what cannot be awaited. Without a pause the test would take the
/// processor time that the hub needs.
pub(crate) async fn pause() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}

/// Waits until the condition holds. `what` names it in a failure.
pub(crate) async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let waiting = async {
        while !condition().await {
            pause().await;
        }
    };
    let waited = timeout(PATIENCE, waiting).await;
    waited.unwrap_or_else(|_| panic!("{what} did not come to be"));
}

/// Repeats the request until the response fulfils the condition: changes become visible with a
/// delay. `what` names the expectation in a failure.
pub(crate) async fn poll_until(
    what: &str,
    ask: impl AsyncFn() -> Value,
    is_so: impl Fn(&Value) -> bool,
) -> Value {
    let mut last = Value::Null;
    let asking = async {
        loop {
            last = ask().await;
            if is_so(&last) {
                return;
            }
            pause().await;
        }
    };
    let result = timeout(PATIENCE, asking).await;
    assert!(result.is_ok(), "{what} did not come so far: {last}");
    last
}

/// The key of every live source, which must not appear anywhere.
pub(crate) const SECRET: &str = "s3cret-key";

#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn skipped(why: &str) {
    println!("skipped: {why}");
}

/// A file of the shared recordings; `None`, with a message, if they are missing.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let feeds = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/feeds"));
    if !feeds.is_dir() {
        eprintln!("skipped: shared recordings are not here");
        return None;
    }
    Some(feeds.join(name))
}

/// Every source has been played to its end, according to `feeds` on this client.
pub(crate) fn ended(client: &Client) -> bool {
    let Some(feeds) = client.channels.get("feeds") else { return false };
    let sources = feeds.data["sources"].as_object();
    sources.is_some_and(|all| !all.is_empty() && all.values().all(|it| it["ended"] == true))
}
