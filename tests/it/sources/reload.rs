//! Sources that are added, changed and removed while the hub runs.

use futures_util::StreamExt;
use serde_json::json;
use tokio::time::timeout;

use super::{
    follower,
    peers::socket::{Peer, say},
    source, until,
    websocket::{begun, lines, table},
};
use crate::support::{Client, PATIENCE, ReloadedHub};

const NO_SOURCES: &str = "[demo]\nenabled = false\n";

#[track_caller]
fn contains(printed: &str, expected: &str) {
    assert!(printed.contains(expected), "no {expected:?} in {printed}");
}

fn goals(client: &Client) -> Option<&serde_json::Value> {
    let matches = client
        .channels
        .iter()
        .find(|(name, _)| name.strip_prefix("football/").is_some_and(|rest| !rest.contains('/')));
    matches.map(|(_, followed)| &followed.data["score"]["home"])
}

fn away_goals(client: &Client) -> serde_json::Value {
    let mut matches = client
        .channels
        .iter()
        .filter(|(name, _)| name.strip_prefix("football/").is_some_and(|rest| !rest.contains('/')));
    matches.next().map(|(_, followed)| followed.data["score"]["away"].clone()).unwrap_or_default()
}

#[tokio::test]
async fn sources_are_added_changed_and_removed() {
    let (first, second) = (Peer::start().await, Peer::start().await);
    let hub = ReloadedHub::start(NO_SOURCES);
    let mut client = follower(&hub.hub).await;

    let one_source = format!("{NO_SOURCES}{}", table(&first));
    contains(&hub.reload(&one_source).await, "reloaded: source changed");
    let mut socket = begun(&first).await;
    say(&mut socket, &lines([1, 0], "2.10")).await;
    until(&mut client, "lines", "live").await;

    // Another source does not touch the connection of the first.
    let other = table(&second).replace("\"lines\"", "\"others\"");
    let both = format!("{one_source}{other}");
    contains(&hub.reload(&both).await, "reloaded: source changed");
    let _others = begun(&second).await;
    say(&mut socket, &lines([2, 0], "2.20")).await;
    client.until(|client| goals(client) == Some(&json!(2))).await;

    // Another rank does not touch the connection either.
    let ranked = both.replacen("kind = ", "rank = 120\nkind = ", 1);
    contains(&hub.reload(&ranked).await, "reloaded: source changed");
    say(&mut socket, &lines([2, 1], "2.25")).await;
    client.until(|client| json!(1) == away_goals(client)).await;

    // One with other settings connects again.
    let changed = ranked.replacen("kind = ", "deadline_ms = 600000\nkind = ", 1);
    contains(&hub.reload(&changed).await, "reloaded: source changed");
    let ended = timeout(PATIENCE, socket.next()).await.expect("the connection ends");
    assert!(!matches!(ended, Some(Ok(ref it)) if it.is_text()), "{ended:?}");
    let mut socket = begun(&first).await;
    say(&mut socket, &lines([3, 0], "2.30")).await;
    until(&mut client, "lines", "live").await;
    client.until(|client| goals(client) == Some(&json!(3))).await;

    // One that is gone is down, and its facts are withdrawn.
    contains(&hub.reload(NO_SOURCES).await, "reloaded: source changed");
    for name in ["lines", "others"] {
        let is_gone = json!(["down", "it is not configured"]);
        let shown =
            |client: &Client| json!([source(client, name)["state"], source(client, name)["why"]]);
        client.until(|client| shown(client) == is_gone).await;
    }
    let has_none = |client: &Client| client.channels["football"].data["matches"] == json!({});
    client.until(has_none).await;
    // It is no alert that it is down.
    let state = |state: &str| format!("matchwire_feed_state{{source=\"lines\",state=\"{state}\"}}");
    hub.hub.until_counted(&state("removed")).await;
    for other in ["live", "late", "down", "recovering"] {
        assert_eq!(hub.hub.metric(&state(other)).await, 0.0, "{other}");
    }

    // One of another kind has the name: its state counts.
    let other_kind = format!(
        "{NO_SOURCES}[[source]]\nname = \"lines\"\nkind = \"matchwire\"\nurl = \"ws://127.0.0.1:1\"\nkey = \"k\"\n"
    );
    contains(&hub.reload(&other_kind).await, "reloaded: source changed");
    contains(&hub.reload(&one_source).await, "reloaded: source changed");
    let mut socket = begun(&first).await;
    say(&mut socket, &lines([4, 0], "2.40")).await;
    until(&mut client, "lines", "live").await;
    hub.hub.until_counted(&state("live")).await;
}

#[tokio::test]
async fn reload_that_is_refused_changes_nothing() {
    let peer = Peer::start().await;
    let settings = format!("{NO_SOURCES}{}", table(&peer));
    let hub = ReloadedHub::start(&settings);
    let mut client = follower(&hub.hub).await;
    let mut socket = begun(&peer).await;
    for (refused, why) in [
        ("[hub]\ntail_bytes = 1000000\n", "hub.tail_bytes changed, which takes a restart"),
        ("[hub]\ntail = 1\n", "invalid"),
        ("[tls]\ncertificate = \"a.pem\"\nkey = \"a.key\"\n", "takes a restart"),
        (
            "[[source]]\nname = \"x\"\nkind = \"matchwire\"\nurl = \"ws://a\"\nkey = \"env:NONE_SUCH\"\n",
            "NONE_SUCH",
        ),
    ] {
        let printed = hub.reload(&format!("{NO_SOURCES}{refused}")).await;
        contains(&printed, "not reloaded: all settings stay as they are");
        contains(&printed, why);
    }
    // The source that was missing in all of these still runs, on the same connection.
    say(&mut socket, &lines([1, 0], "2.10")).await;
    until(&mut client, "lines", "live").await;
    contains(&hub.reload(&settings).await, "reloaded: no setting has changed");
}
