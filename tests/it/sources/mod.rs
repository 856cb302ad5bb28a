//! Live sources as an operator configures them: tables in a configuration file, a provider for
//! each, and a client of the running program.

mod api_football;
mod betfair;
mod betfair_names;
mod chain;
mod odds_api;
mod peers;
mod record;
mod reload;
mod silence;
mod uof;
mod websocket;

use std::{fs, panic::Location, sync::Arc};

use serde_json::Value;
use tempfile::TempDir;
use tokio::time::timeout;

use crate::{
    replay::ALL,
    support::{ChannelState, Client, Hub, PATIENCE, SECRET, Setting},
};

const STATES: [&str; 4] = ["live", "late", "down", "recovering"];

/// A hub with these tables `[[source]]`.
fn serve(tables: &str) -> Hub {
    serve_with(tables, &[])
}

fn serve_with(tables: &str, settings: &[Setting]) -> Hub {
    let folder = tempfile::tempdir().expect("a temporary folder");
    serve_at("127.0.0.1:0", Arc::new(folder), tables, settings)
}

fn serve_at(listen: &str, folder: Arc<TempDir>, tables: &str, settings: &[Setting]) -> Hub {
    // Next to the folder that is searched for secrets afterwards.
    let config_folder = tempfile::tempdir().expect("a temporary folder");
    let file = config_folder.path().join("matchwire.toml");
    fs::write(&file, tables).expect("a file of settings");
    let file = file.to_str().expect("a path of text");
    Hub::start_at(listen, folder, &["serve", "--config", file], settings)
}

/// A client that follows everything.
async fn follower(hub: &Hub) -> Client {
    let mut client = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    for pattern in ALL {
        client.subscribe(pattern).await;
    }
    // A channel that opened before the answer would come as an image, without its first events.
    let answers = |client: &Client| {
        client.others.iter().filter(|frame| frame["type"] == "subscribed").count()
    };
    client.until(|client| answers(client) == ALL.len()).await;
    client
}

/// The state of a source on `feeds`.
fn source<'a>(client: &'a Client, name: &str) -> &'a Value {
    client.channels.get("feeds").map_or(&Value::Null, |feeds| &feeds.data["sources"][name])
}

/// Reads on until a source is in this state; returns its entry on `feeds`.
#[track_caller]
fn until(client: &mut Client, name: &str, state: &str) -> impl Future<Output = Value> {
    let caller = Location::caller();
    async move {
        let reading = async {
            while source(client, name)["state"] != state {
                client.next().await.expect("the hub stays up");
            }
        };
        if timeout(PATIENCE, reading).await.is_err() {
            panic!("not {state} at {caller}: {}", source(client, name));
        }
        source(client, name).clone()
    }
}

/// The channels whose names end with this.
fn ending<'a>(client: &'a Client, end: &str) -> Vec<(&'a str, &'a ChannelState)> {
    let all = client.channels.iter().map(|(name, it)| (name.as_str(), it));
    all.filter(|(name, _)| name.ends_with(end)).collect()
}

/// The only channel whose name ends with this, if it exists.
fn one<'a>(client: &'a Client, end: &str) -> Option<&'a ChannelState> {
    match ending(client, end)[..] {
        [] => None,
        [(_, it)] => Some(it),
        ref more => panic!("{} channels end with {end}", more.len()),
    }
}

fn kinds(followed: &ChannelState) -> Vec<&str> {
    followed.events.iter().filter_map(|event| event["kind"].as_str()).collect()
}

/// The documents that depend on the only source, which is not live, show that, and all markets are
/// held.
#[track_caller]
fn check_held(client: &Client, state: &str) {
    // Boards have their own states.
    let documents = client.channels.iter().filter(|(name, _)| name.contains('/'));
    for (name, document) in documents.filter(|(_, it)| it.data["life"] != "ended") {
        assert_eq!(document.data["feed"], state, "{name}");
        if name.contains("/odds") {
            assert_eq!(document.data["suspended"], true, "{name}");
            assert_eq!(document.data["life"], "suspended", "{name}");
        }
    }
}

/// The metric says the same as `feeds`.
async fn check_metric(hub: &Hub, name: &str, state: &str) {
    let metric =
        |state: &str| format!("matchwire_feed_state{{source=\"{name}\",state=\"{state}\"}}");
    hub.until_counted(&metric(state)).await;
    let text = hub.get("/metrics").await.body;
    for other in STATES {
        let expected = format!("{} {}", metric(other), u8::from(other == state));
        assert!(text.lines().any(|line| line == expected), "{expected} is not in {text}");
    }
}

/// Stops the hub, and searches all its output and files for the secrets of its sources.
async fn check_secrets(mut hub: Hub, client: &Client, secrets: &[&str]) {
    let mut locations = vec![("metrics".to_owned(), hub.get("/metrics").await.body)];
    assert_eq!(hub.stop(), Some(0));
    let shown = client.channels.values().map(|it| format!("{} {:?}", it.data, it.events));
    locations.push(("a frame".to_owned(), shown.chain([format!("{:?}", client.others)]).collect()));
    locations.push(("what was printed".to_owned(), hub.printed()));
    for entry in fs::read_dir(hub.folder.path()).expect("the folder") {
        let path = entry.expect("an entry").path();
        let text = fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        locations.extend(text.ok().map(|text| (path.display().to_string(), text)));
    }
    for (location, text) in &locations {
        for secret in secrets.iter().copied().chain([SECRET]) {
            if let Some(at) = text.find(secret) {
                let line = text[..at].lines().next_back().unwrap_or_default();
                panic!("a secret is in {location}, behind {line:?}");
            }
        }
    }
}
