//! A listening socket that outlives the hub, as systemd passes it.

use std::{
    collections::BTreeMap,
    net,
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::{Value, json};
use tokio::{
    net::TcpSocket,
    sync::{Barrier, watch},
    time::timeout,
};

use crate::support::{Client, Closed, Hub, PATIENCE, QUIET, TestDatabase, request_with, until};

const RESTARTS: usize = 2;

/// Clients that send one request after the other, each on a connection of its own.
const CALLERS: usize = 4;

const FOLLOWERS: usize = 4;

/// Requests between two restarts.
const REQUESTS: usize = 50;

fn listening_socket() -> net::TcpListener {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    socket.listen(1_024).and_then(tokio::net::TcpListener::into_std).expect("it listens")
}

fn line(number: usize, fact: &Value) -> String {
    let at = 1_788_280_000_000_000 + number * 1_000_000;
    json!({ "at": at, "sport": "football", "match": "derby", "fact": fact }).to_string()
}

fn goal(number: usize) -> String {
    let goal = json!({
        "eid": format!("g{number}"), "kind": { "goal": "regular" }, "minute": 17, "side": "home",
        "score": [number, 0],
    });
    line(number, &json!({ "football": { "incident": goal } }))
}

/// Sends requests until the restarts are over. One that is refused, cut off or answered with an error panics.
async fn call(
    address: String,
    key: String,
    answered: Arc<AtomicUsize>,
    over: watch::Receiver<bool>,
) {
    let headers = [("authorization", &*format!("Token {key}"))];
    while !*over.borrow() {
        let path = "/stream/v1/channels/football";
        let answer = request_with(&address, "GET", path, &headers, &[]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answered.fetch_add(1, Ordering::Relaxed);
    }
}

/// Pushes goals until the restarts are over, and returns their number. Each is accepted at the first attempt. It begins when
/// all follow the match.
async fn push(
    address: String,
    feed_key: String,
    begin: Arc<Barrier>,
    over: watch::Receiver<bool>,
) -> usize {
    begin.wait().await;
    let authorization = format!("Token {feed_key}");
    let mut goals = 0;
    while !*over.borrow() {
        goals += 1;
        let body = goal(goals);
        let length = body.len().to_string();
        let headers = [("authorization", &*authorization), ("content-length", &length)];
        let path = "/ingest/v1/acme";
        let answer = request_with(&address, "POST", path, &headers, body.as_bytes()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["accepted"], 1, "{answer:?}");
    }
    goals
}

/// Follows the match across the restarts until it has this many goals. Returns the number of connections.
async fn follow(
    address: String,
    key: String,
    begin: Arc<Barrier>,
    total: watch::Receiver<Option<usize>>,
) -> usize {
    let (mut channels, mut connections) = (BTreeMap::new(), 0);
    loop {
        let mut client = Client::connect(&address, &key).await.knowing(channels);
        connections += 1;
        client.subscribe("football/*").await;
        if connections == 1 {
            client.until(|client| !client.channels.is_empty()).await;
            begin.wait().await;
        }
        loop {
            let goals = client.channels.values().flat_map(|followed| &followed.events);
            let goals = goals.filter(|event| event["kind"] == "goal").count();
            if *total.borrow() == Some(goals) {
                return connections;
            }
            if let Err(closed) = client.next().await {
                assert_eq!(closed, Closed(Some((4503, "drain".to_owned()))));
                break;
            }
        }
        channels = client.channels;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarts_refuse_no_connection_and_lose_no_event() {
    let (socket, database) = (listening_socket(), TestDatabase::file());
    // Longer than a client may take to send its request after the stop.
    let settings = [QUIET, ("SERVER_DRAIN_MS", "3000")];
    let start = || Hub::start_on_socket(&socket, &database, &["serve"], &settings);
    let mut hub = start();
    let address = hub.address.clone();
    assert_eq!(Ok(address.clone()), socket.local_addr().map(|it| it.to_string()).map_err(drop));
    let (feed_key, key) = (hub.feed_key("acme", &[]), hub.key(&["websocket"]));
    let fixture = json!({ "fixture": { "sides": [{ "name": "Arden" }, { "name": "Brook" }] } });
    hub.push(&feed_key, &[line(0, &fixture)]).await;

    let answered = Arc::new(AtomicUsize::new(0));
    let (over, is_over) = watch::channel(false);
    let (total, is_total) = watch::channel(None);
    let begin = Arc::new(Barrier::new(FOLLOWERS + 1));
    let pushing = push(address.clone(), feed_key, Arc::clone(&begin), is_over.clone());
    let pushing = tokio::spawn(pushing);
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let answered = Arc::clone(&answered);
            tokio::spawn(call(address.clone(), key.clone(), answered, is_over.clone()))
        })
        .collect();
    let followers: Vec<_> = (0..FOLLOWERS)
        .map(|_| {
            let begin = Arc::clone(&begin);
            tokio::spawn(follow(address.clone(), key.clone(), begin, is_total.clone()))
        })
        .collect();
    for restart in 0..=RESTARTS {
        let wanted = answered.load(Ordering::Relaxed) + REQUESTS;
        until("the answers", async || answered.load(Ordering::Relaxed) >= wanted).await;
        if restart < RESTARTS {
            assert_eq!(hub.stop(), Some(0));
            hub = start();
        }
    }
    over.send_replace(true);
    for caller in callers {
        caller.await.expect("no request fails");
    }
    total.send_replace(Some(pushing.await.expect("no push fails")));
    for follower in followers {
        let followed = timeout(PATIENCE, follower).await.expect("all goals arrive");
        let connections = followed.expect("no event is lost");
        assert_eq!(connections, RESTARTS + 1, "a connection was lost without a restart");
    }
    assert_eq!(hub.stop(), Some(0));
}

/// The demo, whose page has a key for everything, is for this machine alone, also on a socket that is passed.
#[test]
fn demo_does_not_serve_a_socket_for_all() {
    let socket = net::TcpListener::bind("0.0.0.0:0").expect("a free port");
    let database = TestDatabase::file();
    let mut command = database.program();
    command.args(["serve", "--db", &database.db()]).env("MATCHWIRE_DEMO_PAST", "false");
    command.env("LISTEN_FDS", "1").env("LISTEN_FDS_FIRST_FD", "0");
    let output = command.stdin(OwnedFd::from(socket)).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the demo listens on loopback only, not on 0.0.0.0:"), "{said}");
}

/// What is not a listening socket is refused at the start, rather than ignored.
#[test]
fn other_files_are_refused_at_the_start() {
    let database = TestDatabase::file();
    let serve = |count: &str| {
        let mut command = database.program();
        command.args(["serve", "--listen", "127.0.0.1:0", "--db", &database.db()]);
        // Standard input is no socket here.
        command.env("LISTEN_FDS", count).env("LISTEN_FDS_FIRST_FD", "0");
        let output = command.stdin(std::process::Stdio::null()).output().expect("it runs");
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let refused = serve("1");
    assert!(refused.contains("the socket that the service manager passed"), "{refused}");
    let refused = serve("2");
    assert!(refused.contains("the service manager passed 2 sockets"), "{refused}");
}
