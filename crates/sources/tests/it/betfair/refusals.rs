//! Peers that refuse connections, or are not the expected server.

use std::fs;

use ingest::error::RefusalKind;
use serde_json::json;
use sources::betfair::{Session, SettingsError, run};

use super::{Rig, settings, subscription};
use crate::support::{
    Report,
    betfair::{Caller, Peer},
    follower::{Follower, SECRETS},
    soon,
};

async fn image(caller: &mut Caller, id: &serde_json::Value) {
    let line = json!({"op": "mcm", "id": id, "ct": "SUB_IMAGE"});
    caller.send(&line.to_string()).await.expect("the peer reads");
}

#[tokio::test]
async fn refused_authentication_is_reported_and_retried() {
    let mut rig = Rig::start().await;
    let lasting = ", needs operator action";
    for (code, more) in [
        ("INVALID_APP_KEY", lasting),
        ("MAX_CONNECTION_LIMIT_EXCEEDED", ""),
        ("NOT_AUTHORIZED", lasting),
    ] {
        let mut caller = rig.accept().await;
        let request = soon("authentication", caller.request()).await.expect("it is sent");
        caller.refuse(&request, code, true).await.expect("the peer reads");
        rig.follower.states(&[&format!("Down: refused: {code}{more}")]).await;
        soon("the connection's end", caller.gone()).await;
    }
    let mut caller = rig.accept().await;
    let request = soon("authentication", caller.request()).await.expect("it is sent");
    caller.refuse(&request, SECRETS[1], true).await.expect("the peer reads");
    rig.follower.states(&["Down: refused: an error code that is not known"]).await;
    let (mut caller, subscribed) = rig.subscribed().await;
    image(&mut caller, &subscribed["id"]).await;
    rig.follower.states(&["Recovering", "Live"]).await;
    rig.stop(caller).await;
}

#[tokio::test]
async fn session_file_is_reread_for_each_connection() {
    let mut rig = Rig::start_with(|settings| {
        let folder = settings.authority.as_ref().and_then(|path| path.parent()).expect("a folder");
        let path = folder.join("session");
        fs::write(&path, "old\n").expect("a file");
        settings.session = Session::File(path);
    })
    .await;
    let mut caller = rig.accept().await;
    let request = soon("authentication", caller.request()).await.expect("it is sent");
    assert_eq!(request["session"], "old");
    fs::write(rig.folder.path().join("session"), "").expect("a file");
    let code = "INVALID_SESSION_INFORMATION";
    caller.refuse(&request, code, true).await.expect("the peer reads");
    let empty = "Down: the session file cannot be read: it is empty";
    rig.follower.states(&[&format!("Down: refused: {code}"), empty]).await;
    fs::write(rig.folder.path().join("session"), format!("{}\n", SECRETS[1])).expect("a file");
    let (caller, _) = rig.subscribed().await;
    rig.stop(caller).await;
}

#[tokio::test]
async fn refused_subscription_is_reported() {
    let mut rig = Rig::start().await;
    let mut caller = rig.accept().await;
    soon("authentication", caller.authenticate()).await.expect("it is sent");
    let request = soon("a subscription", caller.request()).await.expect("it is sent");
    let code = "SUBSCRIPTION_LIMIT_EXCEEDED";
    caller.refuse(&request, code, false).await.expect("the peer reads");
    rig.follower.states(&[&format!("Down: refused: {code}, needs operator action")]).await;
    soon("the connection's end", caller.gone()).await;
    let (caller, _) = rig.subscribed().await;
    rig.stop(caller).await;
}

#[tokio::test]
async fn refused_position_is_dropped_on_the_same_connection_if_it_stays_open() {
    let mut rig = Rig::start().await;
    let (mut caller, subscribed) = rig.subscribed().await;
    let image_at = json!({
        "op": "mcm", "id": subscribed["id"], "ct": "SUB_IMAGE", "initialClk": "i", "clk": "c",
    });
    caller.send(&image_at.to_string()).await.expect("the peer reads");
    drop(caller);
    let mut caller = rig.accept().await;
    soon("authentication", caller.authenticate()).await.expect("it is sent");
    let request = soon("a subscription", caller.request()).await.expect("it is sent");
    assert_eq!([&request["initialClk"], &request["clk"]], ["i", "c"]);
    caller.refuse(&request, "INVALID_CLOCK", false).await.expect("the peer reads");
    let subscribed = subscription(&mut caller).await;
    assert!(subscribed["clk"].is_null() && subscribed["initialClk"].is_null());
    image(&mut caller, &subscribed["id"]).await;
    rig.follower.states(&["Recovering", "Live", "Down..", "Recovering", "Live"]).await;
    rig.stop(caller).await;
}

#[tokio::test]
async fn peer_that_echoes_requests_leaks_no_secret() {
    let mut rig = Rig::start().await;
    let mut caller = rig.accept().await;
    let request = soon("authentication", caller.request()).await.expect("it is sent");
    caller.send(&request.to_string()).await.expect("the peer reads");
    rig.follower.states(&["Down: the peer does not answer as Betfair does"]).await;
    let (mut caller, _) = rig.subscribed().await;
    caller.send(&request.to_string()).await.expect("the peer reads");
    caller.send(&format!("no JSON: {request}")).await.expect("the peer reads");
    rig.follower.states(&["Recovering"]).await;
    assert_eq!(rig.follower.refusal().await.kind, RefusalKind::Value);
    assert_eq!(rig.follower.refusal().await.kind, RefusalKind::Syntax);
    rig.stop(caller).await;
}

#[tokio::test]
async fn peer_with_an_untrusted_certificate_is_rejected() {
    let mut rig = Rig::start().await;
    let address = rig.peer.address().to_string();
    drop(std::mem::replace(&mut rig.peer, Peer::bind("127.0.0.1:0").await.expect("a port")));
    let stranger = Peer::bind(&address).await.expect("the same port");
    loop {
        let ended = soon("a handshake", stranger.accept()).await;
        assert!(ended.is_err(), "it trusts a stranger");
        let Report::Down(reason) = rig.follower.state().await else {
            panic!("it cannot be up");
        };
        if reason.contains("invalid peer certificate") {
            return;
        }
    }
}

#[tokio::test]
async fn unusable_settings_end_the_source_at_once() {
    let peer = Peer::bind("127.0.0.1:0").await.expect("a port");
    let folder = tempfile::tempdir().expect("a folder");
    let mut unusable = settings(&peer, &folder);
    unusable.market_filter = json!("all");
    let (_follower, reports) = Follower::new();
    let ended = run(unusable, reports).await;
    assert!(matches!(ended, Err(SettingsError::Filter)), "{ended:?}");
    let mut unusable = settings(&peer, &folder);
    unusable.authority = Some(folder.path().join("nothing"));
    let (_follower, reports) = Follower::new();
    let ended = run(unusable, reports).await;
    assert!(matches!(ended, Err(SettingsError::Trust(_))), "{ended:?}");
}
