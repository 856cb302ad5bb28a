//! Peers that speak the protocols of providers, and a follower of a source.

pub(crate) mod betfair;
pub(crate) mod book;
pub(crate) mod follower;
pub(crate) mod recorded;

use std::{
    future::Future,
    path::{Path, PathBuf},
    time::Duration,
};

/// The timeout for events that must happen soon.
pub(crate) async fn soon<T>(what: &str, event: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(30), event).await {
        Ok(value) => value,
        Err(_) => panic!("{what}: it does not happen"),
    }
}

const FEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/feeds");

/// A shared recording; `None`, with a message, if it is missing.
#[expect(clippy::print_stdout, reason = "reports a skipped test")]
pub(crate) fn shared(file: &str) -> Option<PathBuf> {
    let path = Path::new(FEEDS).join(file);
    if !path.exists() {
        println!("skipped: shared recordings are not here");
        return None;
    }
    Some(path)
}
