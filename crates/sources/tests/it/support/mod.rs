//! Peers that speak the protocols of providers, and what listens to a source.

pub(crate) mod betfair;
pub(crate) mod book;
pub(crate) mod follower;
pub(crate) mod listener;
pub(crate) mod recorded;
pub(crate) mod report;

use std::{
    future::Future,
    path::{Path, PathBuf},
};

pub(crate) use self::{
    listener::{Listener, PATIENCE, SECRET, Small, goals},
    report::Report,
};

/// What an event gives that must happen within [`PATIENCE`].
pub(crate) async fn soon<T>(what: &str, event: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, event).await {
        Ok(value) => value,
        Err(_) => panic!("{what}: it does not happen"),
    }
}

const FEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/feeds");

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
