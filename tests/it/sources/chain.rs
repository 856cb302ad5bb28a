//! A hub that follows another hub.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use futures_util::FutureExt;
use serde_json::{Value, json};
use tokio::{select, time::timeout};

use super::{
    check_held, check_metric, follower,
    peers::socket::{Peer, say},
    serve_at, serve_with, source, until,
    websocket::{self, begun, lines},
};
use crate::support::{Client, Hub, PATIENCE, Setting};

/// A beat confirms that everything has arrived.
const FAST: [Setting; 1] = [("FANOUT_BEAT_MS", "100")];

fn table(address: &str, key: &str) -> String {
    format!(
        "[[source]]\nname = \"first\"\nkind = \"matchwire\"\nurl = \"ws://{address}/stream/v1\"\n\
         key = {key:?}\n"
    )
}

/// The state that must be equal in both hubs, by the first hub's own match id: the score and the
/// books.
fn comparable_state(client: &Client, is_first: bool) -> BTreeMap<String, Value> {
    // From another hub, a hub takes football and tennis.
    let is_taken = |name: &str| {
        name.split_once('/').is_some_and(|(sport, id)| {
            (sport == "football" || sport == "tennis") && !id.contains('/')
        })
    };
    let matches = client.channels.iter().filter(|(name, _)| is_taken(name));
    let mut by_id = BTreeMap::new();
    for (name, game) in matches.filter(|(_, it)| it.data["life"] != "ended") {
        let id = if is_first { &game.data["id"] } else { &game.data["refs"]["matchwire"] };
        let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let names = ["status", "score", "sets", "game", "home", "away", "p1", "p2"];
        let fields = names.map(|field| without_ids(&game.data[field]));
        let prefix = format!("{name}/odds/");
        let books = client.channels.iter().filter_map(|(name, book)| {
            Some((name.strip_prefix(&prefix)?.to_owned(), markets(&book.data)))
        });
        by_id.insert(id, json!([fields, books.collect::<BTreeMap<_, _>>()]));
    }
    by_id
}

/// Each hub has its own ids.
fn without_ids(node: &Value) -> Value {
    let mut node = node.clone();
    if let Some(fields) = node.as_object_mut() {
        fields.remove("id");
    }
    node
}

/// For each market whether it is open, and its prices.
fn markets(book: &Value) -> Value {
    let markets = book["markets"].as_object().into_iter().flatten().map(|(id, market)| {
        let selections = market["selections"].as_object().into_iter().flatten();
        let prices = selections.map(|(id, it)| (id.clone(), it["price"].clone()));
        (id.clone(), json!([market["status"], prices.collect::<BTreeMap<_, _>>()]))
    });
    json!([book["suspended"], markets.collect::<BTreeMap<_, _>>()])
}

/// Reads from both until, for each ongoing match, both have had the same state at some moment:
/// since matches continue, all of them need not agree at one moment.
async fn until_same(first: &mut Client, second: &mut Client) {
    let mut same = BTreeSet::new();
    let reading = async {
        loop {
            // Compare only when nothing more is ready to be read.
            while let Some(frame) = first.next().now_or_never() {
                drop(frame.expect("the first hub stays up"));
            }
            while let Some(frame) = second.next().now_or_never() {
                drop(frame.expect("the second hub stays up"));
            }
            let (first_state, second_state) =
                (comparable_state(first, true), comparable_state(second, false));
            same.extend(
                first_state.iter().filter(|(id, it)| second_state.get(*id) == Some(it)).map(key),
            );
            if !first_state.is_empty() && first_state.keys().all(|id| same.contains(id)) {
                return;
            }
            select! {
                frame = first.next() => drop(frame.expect("the first hub stays up")),
                frame = second.next() => drop(frame.expect("the second hub stays up")),
            }
        }
    };
    if timeout(PATIENCE, reading).await.is_err() {
        let (first_state, second_state) =
            (comparable_state(first, true), comparable_state(second, false));
        let other = first_state.iter().find(|(id, _)| !same.contains(*id));
        let other = other.map(|(id, it)| format!("{it}\nand not {:?}", second_state.get(id)));
        panic!(
            "{} and {} matches: {}",
            first_state.len(),
            second_state.len(),
            other.unwrap_or_default()
        );
    }
}

fn key((id, _): (&String, &Value)) -> String {
    id.clone()
}

#[tokio::test]
async fn chained_hub_has_the_documents_and_suspensions_of_the_first() {
    let peer = Peer::start().await;
    let first = serve_with(&websocket::table(&peer), &FAST);
    let (address, folder) = (first.address.clone(), Arc::clone(&first.folder));
    let key = first.key(&crate::support::ALL_ADDONS);
    let second = serve_with(&table(&address, &key), &[]);
    let mut client = follower(&second).await;
    let mut socket = begun(&peer).await;
    say(&mut socket, &lines([1, 0], "2.10")).await;
    let mut at_first = follower(&first).await;
    until(&mut client, "first", "live").await;
    until_same(&mut at_first, &mut client).await;
    check_metric(&second, "first", "live").await;

    // The first hub is reachable, but its own source is down.
    drop(socket);
    until(&mut at_first, "lines", "down").await;
    let suspended = |client: &Client, suspended: bool| {
        super::one(client, "/odds/acme").is_some_and(|book| book.data["suspended"] == suspended)
    };
    client.until(|client| suspended(client, true)).await;
    assert_eq!(source(&client, "first")["state"], "live");
    let mut socket = begun(&peer).await;
    say(&mut socket, &lines([1, 1], "2.20")).await;
    client.until(|client| suspended(client, false)).await;
    until_same(&mut at_first, &mut client).await;

    drop((first, at_first));
    until(&mut client, "first", "down").await;
    check_held(&client, "down");
    check_metric(&second, "first", "down").await;

    let first = serve_at(&address, folder, &websocket::table(&peer), &FAST);
    let mut at_first = follower(&first).await;
    let mut socket = begun(&peer).await;
    say(&mut socket, &lines([2, 1], "2.30")).await;
    until_same(&mut at_first, &mut client).await;
    until(&mut client, "first", "live").await;
    client.until(|client| suspended(client, false)).await;
    super::check_secrets(second, &client, &[&key["mw_00000000".len()..]]).await;
}

#[tokio::test]
async fn chained_demo_is_the_same_after_a_restart() {
    let first = Hub::start_with(&["serve"], &FAST);
    let (address, folder) = (first.address.clone(), Arc::clone(&first.folder));
    let key = first.key(&crate::support::ALL_ADDONS);
    let second = serve_with(&table(&address, &key), &[]);
    let mut client = follower(&second).await;
    let mut at_first = follower(&first).await;
    until(&mut client, "first", "live").await;
    until_same(&mut at_first, &mut client).await;

    drop((first, at_first));
    until(&mut client, "first", "down").await;
    check_held(&client, "down");

    let first = Hub::start_at(&address, folder, &["serve"], &FAST);
    let mut at_first = follower(&first).await;
    until(&mut client, "first", "live").await;
    until_same(&mut at_first, &mut client).await;
}
