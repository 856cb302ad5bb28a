//! Peers that speak the protocols of providers, and what listens to a source of ours.

pub(crate) mod betfair;
pub(crate) mod book;
pub(crate) mod follower;
pub(crate) mod recorded;

use std::{
    future::Future,
    path::{Path, PathBuf},
    time::Duration,
};

/// Waits for what must happen soon; longer means that it never does.
pub(crate) async fn soon<T>(what: &str, event: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(30), event).await {
        Ok(value) => value,
        Err(_) => panic!("{what}: it does not happen"),
    }
}

const FEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/feeds");

/// A shared recording; `None`, and said, where it is not here.
#[expect(clippy::print_stdout, reason = "a skipped test says so to whoever runs it")]
pub(crate) fn shared(file: &str) -> Option<PathBuf> {
    let path = Path::new(FEEDS).join(file);
    if !path.exists() {
        println!("skipped: shared recordings are not here");
        return None;
    }
    Some(path)
}
