//! The Betfair stream, followed live over TLS.

mod fixture;
mod refusals;
mod resume;
mod trouble;

use std::fs;

use serde_json::Value;
use sources::{
    SourceSender,
    betfair::{BetfairSettings, SettingsError, run},
};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::support::{
    betfair::{Caller, Peer},
    follower::{Follower, SECRETS},
    soon,
};

/// A source that follows a peer.
struct Rig {
    peer: Peer,
    follower: Follower,
    source: JoinHandle<Result<(), SettingsError>>,
    folder: TempDir,
}

impl Rig {
    async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    async fn start_with(adjust: impl FnOnce(&mut BetfairSettings)) -> Self {
        Self::start_tapped(adjust, |reports| reports).await
    }

    async fn start_tapped(
        adjust: impl FnOnce(&mut BetfairSettings),
        tap: impl FnOnce(SourceSender) -> SourceSender,
    ) -> Self {
        let peer = Peer::bind("127.0.0.1:0").await.expect("a port");
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = settings(&peer, &folder);
        adjust(&mut settings);
        let shown = format!("{settings:?}");
        assert!(SECRETS.iter().all(|secret| !shown.contains(secret)), "{shown}");
        let (follower, reports) = Follower::new();
        let source = tokio::spawn(run(settings, tap(reports)));
        Self { peer, follower, source, folder }
    }

    async fn accept(&self) -> Caller {
        soon("a connection", self.peer.accept()).await.expect("it is TLS")
    }

    /// The next connection, up to its subscription.
    async fn subscribed(&self) -> (Caller, Value) {
        let mut caller = self.accept().await;
        let authentication = soon("authentication", caller.authenticate()).await.expect("sent");
        assert_eq!([&authentication["appKey"], &authentication["session"]], SECRETS);
        let subscription = subscription(&mut caller).await;
        (caller, subscription)
    }

    /// Drops the listener, so the source ends and its connection with it.
    async fn stop(self, caller: Caller) {
        drop(self.follower);
        let ended = soon("the end", self.source).await.expect("no panic");
        assert!(ended.is_ok(), "{ended:?}");
        soon("the connection's end", caller.gone()).await;
    }
}

async fn subscription(caller: &mut Caller) -> Value {
    soon("a subscription", caller.subscription()).await.expect("it is sent")
}

/// The reports of a source that follows the peer, with short waits.
fn settings(peer: &Peer, folder: &TempDir) -> BetfairSettings {
    let authority = folder.path().join("peer.pem");
    fs::write(&authority, &peer.identity().certificate).expect("a file");
    let [app_key, session] = SECRETS;
    let config = format!(
        "app_key = {app_key:?}\nsession = {session:?}\nhost = \"localhost\"\ncatalogue = \"\"\n\
         market_filter = {{ eventTypeIds = [\"2\"] }}"
    );
    let config = toml::from_str(&config).expect("settings");
    BetfairSettings {
        port: peer.address().port(),
        authority: Some(authority),
        backoff_first_ms: 1,
        backoff_most_ms: 20,
        // Longer than any test waits, so that silence never ends a connection.
        ..BetfairSettings::new(&config, 300_000).expect("the secrets are given")
    }
}
