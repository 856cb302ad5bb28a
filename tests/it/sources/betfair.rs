//! The Betfair stream: disconnects, reconnects, refusals.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    select,
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::{Duration, Instant, interval, timeout},
};

use super::{
    check_held, check_metric, check_secrets, ending, follower, kinds,
    peers::{
        betfair::{Caller, Identity, Peer, stream::Stream},
        recorded::lines,
    },
    serve, serve_with, source, until,
};
use crate::{
    replay::latecomer,
    support::{
        ChannelState, Client, Hub, PATIENCE, Setting, ended,
        feed::{self, Market},
        shared,
    },
};

pub(super) const SECRETS: [&str; 2] = ["SECRET-APP-KEY", "SECRET-SESSION"];

/// Frequent enough for a deadline of a second on a busy machine.
const BEAT: Duration = Duration::from_millis(100);

/// A provider that can be killed and restarts with the same identity.
pub(super) struct Provider {
    /// `None` while it is down.
    peer: Option<Peer>,
    address: String,
    identity: Identity,
    folder: TempDir,
}

impl Provider {
    pub(super) async fn start() -> Self {
        let peer = Peer::bind("127.0.0.1:0").await.expect("a port");
        let (address, identity) = (peer.address().to_string(), peer.identity().clone());
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("peer.pem"), &identity.certificate).expect("a file");
        Self { peer: Some(peer), address, identity, folder }
    }

    /// The operator's configuration of it.
    pub(super) fn table(&self, name: &str) -> String {
        self.table_with(name, SECRETS[1])
    }

    fn table_with(&self, name: &str, session: &str) -> String {
        let app_key = SECRETS[0];
        let port = self.address.rsplit(':').next().expect("an address has a port");
        let authority = self.folder.path().join("peer.pem");
        format!(
            "[[source]]\nname = {name:?}\nkind = \"betfair-stream\"\ndeadline_ms = 1000\n\
             heartbeat_ms = 500\nsilence_ms = 5000\napp_key = {app_key:?}\nsession = {session:?}\n\
             host = \"localhost\"\nport = {port}\nauthority = {authority:?}\ncatalogue = \"\"\n"
        )
    }

    pub(super) async fn accept(&self) -> Caller {
        let peer = self.peer.as_ref().expect("it is up");
        timeout(PATIENCE, peer.accept()).await.expect("a connection in time").expect("it is TLS")
    }

    /// The next connection, up to its subscription.
    pub(super) async fn subscribed(&self) -> (Caller, Value) {
        let mut caller = self.accept().await;
        let asking = async {
            caller.authenticate().await?;
            caller.subscription().await
        };
        let request = timeout(PATIENCE, asking).await.expect("it subscribes in time");
        let request = request.expect("it is authenticated");
        (caller, request)
    }

    /// Stops listening, and resets the connection.
    fn kill(&mut self, caller: Caller) {
        self.peer = None;
        caller.reset();
    }

    async fn restart(&mut self) {
        let peer = Peer::bind_as(&self.address, self.identity.clone()).await;
        self.peer = Some(peer.expect("the port is free"));
    }
}

/// A connection that heartbeats keep alive between messages.
pub(super) struct HeartbeatConnection {
    orders: mpsc::Sender<Order>,
    task: JoinHandle<(Caller, Instant)>,
}

/// Plays up to this message, and reports completion.
struct Order(usize, oneshot::Sender<()>);

impl HeartbeatConnection {
    /// `at`: the caller's position in the stream.
    pub(super) fn new(stream: &Arc<Stream>, caller: Caller, request: &Value, at: usize) -> Self {
        let (orders, taken) = mpsc::channel(1);
        let task = attend(Arc::clone(stream), caller, request.clone(), at, taken);
        Self { orders, task: tokio::spawn(task) }
    }

    pub(super) async fn play(&self, until: usize) {
        let (reply, replied) = oneshot::channel();
        self.orders.send(Order(until, reply)).await.expect("the receiver is open");
        timeout(PATIENCE, replied)
            .await
            .expect("it is played in time")
            .expect("the receiver is open");
    }

    /// Falls silent; returns the connection, and the time of the last byte.
    pub(super) async fn silent(self) -> (Caller, Instant) {
        drop(self.orders);
        self.task.await.expect("the receiver is open")
    }
}

async fn attend(
    stream: Arc<Stream>,
    mut caller: Caller,
    request: Value,
    mut at: usize,
    mut orders: mpsc::Receiver<Order>,
) -> (Caller, Instant) {
    let mut beats = interval(BEAT);
    let mut last = Instant::now();
    loop {
        select! {
            order = orders.recv() => {
                let Some(Order(until, done)) = order else { return (caller, last) };
                stream.play(&mut caller, &request, at..until).await.expect("the receiver is open");
                at = until;
                done.send(()).expect("it is waited for");
            }
            _ = beats.tick() => {
                let beat = Stream::heartbeat(&request["id"], at, false);
                caller.send(&beat).await.expect("the receiver is open");
            }
        }
        last = Instant::now();
    }
}

/// Two matches with one market each, whose ladders move, and which are suspended occasionally.
pub(super) fn own_stream() -> Vec<String> {
    let markets = [Market { event: 30 }, Market { event: 31 }];
    let mut lines = markets.map(|market| market.defined("OPEN", 0)).to_vec();
    for (ms, number) in (1..).zip(0..300_u32) {
        let market = markets[number as usize % 2];
        lines.push(match number % 50 {
            20 | 21 => market.defined("SUSPENDED", ms),
            26 | 27 => market.defined("OPEN", ms),
            _ => market.line(ms, &prices(number)),
        });
    }
    lines
}

fn prices(number: u32) -> String {
    let (back, lay) = (150 + number % 37, 190 + number % 41);
    let runner = |id: u32| {
        format!(
            r#"{{"id":{id},"ltp":{}.{:02},"atb":[[{}.{:02},{}],[1.4,5.25]],"atl":[[{}.{:02},7]]}}"#,
            back / 100,
            back % 100,
            back / 100,
            back % 100,
            number % 4 * 10,
            lay / 100,
            lay % 100
        )
    };
    format!(r#""tv":{},"rc":[{},{}]"#, number * 3, runner(7), runner(8))
}

fn stream(lines: &[String]) -> Arc<Stream> {
    Arc::new(Stream::new(lines.iter().map(String::as_str)))
}

/// The lines of a shared recording.
fn recorded(file: &str) -> Option<Vec<String>> {
    let path = shared(&format!("betfair-stream/{file}"))?;
    Some(lines(&path).expect("it can be read"))
}

#[tokio::test]
async fn exchange_stream_recovers_from_a_disconnect_by_a_resume() {
    check_cut(&own_stream(), true).await;
}

#[tokio::test]
async fn exchange_stream_recovers_from_a_disconnect_by_an_image() {
    check_cut(&own_stream(), false).await;
}

#[tokio::test]
async fn recorded_race_recovers_from_a_disconnect() {
    let Some(lines) = recorded("racing-1.241629436.live.jsonl.gz") else { return };
    check_cut(&lines, true).await;
    check_cut(&lines, false).await;
}

#[tokio::test]
async fn recorded_tennis_recovers_from_a_disconnect() {
    let Some(lines) = recorded("tennis-29788457-4-markets.pro.jsonl.gz") else { return };
    check_cut(&lines, true).await;
}

/// A window that no client leaves: all events must arrive.
const PATIENT: [Setting; 2] = [("HUB_TAIL_BYTES", "1000000000"), ("LOGGING_FILTER", "info")];

/// Plays a stream, resets the connection in the middle while the listener is down, and plays the
/// rest to the next connection: from its position, or after an image.
async fn check_cut(lines: &[String], resumes: bool) {
    let stream = stream(lines);
    let (middle, end) = (stream.end() / 2, stream.end());
    let mut provider = Provider::start().await;
    let hub = serve_with(&provider.table("exchange"), &PATIENT);
    let mut client = follower(&hub).await;
    let why = until(&mut client, "exchange", "recovering").await;
    assert_eq!(why["kind"], "betfair-stream");
    check_metric(&hub, "exchange", "recovering").await;

    let (mut caller, request) = provider.subscribed().await;
    assert_eq!(Stream::resumed(&request), None, "it knows nothing yet");
    let at = stream.catch_up(&mut caller, &request, 0, 1).await.expect("the receiver is open");
    let attended = HeartbeatConnection::new(&stream, caller, &request, at);
    until(&mut client, "exchange", "live").await;
    check_metric(&hub, "exchange", "live").await;
    attended.play(middle).await;
    let open = |client: &Client| {
        ending(client, "/odds/betfair").iter().any(|(_, book)| book.data["suspended"] == false)
    };
    client.until(open).await;

    let (caller, _) = attended.silent().await;
    provider.kill(caller);
    let down = until(&mut client, "exchange", "down").await;
    assert!(down["why"].is_string(), "{down}");
    check_held(&client, "down");
    check_metric(&hub, "exchange", "down").await;
    let held = holds(&client);
    assert!(!held.is_empty(), "no book was held");
    for (name, event) in &held {
        assert_eq!([&event["kind"], &event["why"]], ["suspend", "feed"], "{name}: {event}");
    }

    provider.restart().await;
    let (mut caller, request) = provider.subscribed().await;
    let resumed_at = Stream::resumed(&request);
    assert!(resumed_at.is_some_and(|at| at <= middle), "{request}");
    let request = if resumes {
        request
    } else {
        resubscribe_for_image(&provider, &mut caller, &request).await
    };
    until(&mut client, "exchange", "recovering").await;
    check_held(&client, "recovering");
    let missed = middle + (end - middle) / 3;
    let at = stream.catch_up(&mut caller, &request, missed, 2).await.expect("the receiver is open");
    let attended = HeartbeatConnection::new(&stream, caller, &request, at);
    until(&mut client, "exchange", "live").await;
    for (name, book) in held.keys().map(|name| (name, &client.channels[name])) {
        let suspension = &held[name]["eid"];
        let lifted = book.events.iter().any(|it| it["kind"] == "resume" && it["of"] == *suspension);
        assert!(lifted, "{name}: {:?}", book.events.last());
        assert_eq!(book.data["feed"], "live", "{name}");
    }
    for (name, consensus) in ending(&client, "/odds") {
        assert_eq!(consensus.data["feed"], "live", "{name}");
    }
    check_metric(&hub, "exchange", "live").await;

    attended.play(end).await;
    // When it is late, the client knows that everything before it has arrived.
    let (mut caller, _) = attended.silent().await;
    let late = Stream::heartbeat(&request["id"], end, true);
    caller.send(&late).await.expect("the receiver is open");
    let late = until(&mut client, "exchange", "late").await;
    assert_eq!(late["quarantined"], 0);
    let last = latecomer(&hub).await;
    client.until(|client| last.iter().all(|(name, it)| client.channels[name].seq >= it.seq)).await;
    check_same(&client, &uninterrupted(lines).await, resumes);
}

/// Refuses the requested position; the next connection requests an image.
async fn resubscribe_for_image(provider: &Provider, caller: &mut Caller, request: &Value) -> Value {
    caller.refuse(request, "INVALID_CLOCK", true).await.expect("the receiver is open");
    let (next, request) = provider.subscribed().await;
    assert_eq!(Stream::resumed(&request), None, "the position was refused");
    *caller = next;
    request
}

/// For each book that the hub holds, the event that reports the hold.
fn holds(client: &Client) -> BTreeMap<String, Value> {
    let books = ending(client, "/odds/betfair").into_iter();
    let of_feed = |book: &ChannelState| {
        let holds = book.events.iter().rev();
        holds.into_iter().find(|event| event.get("market").is_none()).cloned()
    };
    books.filter_map(|(name, book)| Some((name.to_owned(), of_feed(book)?))).collect()
}

/// The state of a client after the same stream without interruptions.
async fn uninterrupted(lines: &[String]) -> BTreeMap<String, ChannelState> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = feed::write(folder.path(), "stream", lines);
    let path = path.to_str().expect("a path of text");
    let hub = Hub::start_with(&["replay", "--speed", "max", path], &PATIENT);
    let mut client = follower(&hub).await;
    client.until(ended).await;
    latecomer(&hub).await
}

/// The books are equal. The history of a market contains a change between two states only if it was
/// received: an image contains only the last state. Changes received through a resume have the time
/// of the resume.
fn check_same(client: &Client, expected: &BTreeMap<String, ChannelState>, with_history: bool) {
    let names = |all: &BTreeMap<String, ChannelState>| {
        all.keys().filter(|name| *name != "feeds").cloned().collect::<Vec<_>>()
    };
    assert_eq!(names(&client.channels), names(expected));
    for (name, expected) in expected.iter().filter(|(name, _)| name.ends_with("/odds/betfair")) {
        let actual = markets(&client.channels[name].data, with_history);
        assert_eq!(actual, markets(&expected.data, with_history), "{name}");
    }
    for (name, expected) in expected.iter().filter(|(name, _)| name.split('/').count() == 2) {
        let [actual, expected] = [&client.channels[name], expected].map(|game| {
            let mut game = game.data.clone();
            // The final state of the source differs.
            ["feed", "life"].iter().for_each(|field| without(&mut game, field));
            game
        });
        assert_eq!(actual, expected, "{name}");
    }
}

fn markets(book: &Value, with_history: bool) -> Value {
    let mut markets = book["markets"].clone();
    for market in fields(&mut markets) {
        if with_history {
            fields(&mut market["transitions"]).for_each(|it| without(it, "at"));
            continue;
        }
        without(market, "transitions");
        fields(&mut market["selections"]).for_each(|it| without(it, "prev"));
    }
    markets
}

fn fields(object: &mut Value) -> impl Iterator<Item = &mut Value> {
    object.as_object_mut().into_iter().flat_map(|fields| fields.values_mut())
}

fn without(object: &mut Value, field: &str) {
    object.as_object_mut().expect("an object").remove(field);
}

#[tokio::test]
async fn book_is_held_until_the_image_is_complete() {
    let lines = own_stream();
    let stream = stream(&lines);
    let mut provider = Provider::start().await;
    // It is never late: that would hold the book too.
    let table = provider.table("exchange").replace("deadline_ms = 1000", "deadline_ms = 60000");
    let hub = serve(&table);
    let mut client = follower(&hub).await;
    let (mut caller, request) = provider.subscribed().await;
    stream.catch_up(&mut caller, &request, 20, 1).await.expect("the receiver is open");
    until(&mut client, "exchange", "live").await;
    provider.kill(caller);
    until(&mut client, "exchange", "down").await;
    provider.restart().await;
    let (mut caller, request) = provider.subscribed().await;
    let request = resubscribe_for_image(&provider, &mut caller, &request).await;
    until(&mut client, "exchange", "recovering").await;
    let image = stream.image(&request["id"], 20, 2);
    let [first, second] = &image[..] else { panic!("{} segments", image.len()) };
    // A new price shows that the first half has been received.
    let changed = first.replace("[1.4,5.25]", "[1.4,6.25]");
    assert_ne!(changed, *first);
    caller.send(&changed).await.expect("the receiver is open");
    let taken = |client: &Client| {
        let books = ending(client, "/odds/betfair");
        books.iter().any(|(_, book)| book.data.to_string().contains("6.25"))
    };
    client.until(taken).await;
    check_held(&client, "recovering");
    assert_eq!(source(&client, "exchange")["state"], "recovering");
    caller.send(second).await.expect("the receiver is open");
    until(&mut client, "exchange", "live").await;
    let books = ending(&client, "/odds/betfair");
    assert_eq!(books.len(), 2);
    for (name, book) in books {
        let expected = ["suspend", "open", "resume", "suspend", "resume"];
        assert_eq!(kinds(book), expected, "{name}");
        assert_eq!(book.data["suspended"], false, "{name}");
    }
    check_secrets(hub, &client, &SECRETS).await;
}

#[tokio::test]
async fn refused_key_is_reported_and_never_shown() {
    let provider = Provider::start().await;
    let hub = serve(&provider.table("exchange"));
    let mut client = follower(&hub).await;
    let mut caller = provider.accept().await;
    let request = timeout(PATIENCE, caller.request()).await.expect("in time").expect("a request");
    assert_eq!(json!([request["appKey"], request["session"]]), json!(SECRETS));
    caller.refuse(&request, "INVALID_APP_KEY", true).await.expect("the receiver is open");
    let down = until(&mut client, "exchange", "down").await;
    assert_eq!(down["why"], "refused: INVALID_APP_KEY, needs operator action");
    check_metric(&hub, "exchange", "down").await;
    check_secrets(hub, &client, &SECRETS).await;
}

#[tokio::test]
async fn session_that_was_renewed_is_used_for_the_next_connection() {
    let provider = Provider::start().await;
    let file = provider.folder.path().join("session");
    std::fs::write(&file, "SECRET-OLD-SESSION\n").expect("a file");
    let session = format!("file:{}", file.display());
    let hub = serve(&provider.table_with("exchange", &session));
    let mut client = follower(&hub).await;
    let mut caller = provider.accept().await;
    let request = timeout(PATIENCE, caller.request()).await.expect("in time").expect("a request");
    assert_eq!(request["session"], "SECRET-OLD-SESSION");
    std::fs::write(&file, SECRETS[1]).expect("a file");
    let refusal = "INVALID_SESSION_INFORMATION";
    caller.refuse(&request, refusal, true).await.expect("the receiver is open");
    let down = until(&mut client, "exchange", "down").await;
    assert!(down["why"].as_str().is_some_and(|why| why.contains(refusal)), "{down}");
    let mut caller = provider.accept().await;
    let request = timeout(PATIENCE, caller.authenticate()).await.expect("in time");
    assert_eq!(request.expect("a request")["session"], SECRETS[1]);
    check_secrets(hub, &client, &[SECRETS[0], SECRETS[1], "SECRET-OLD-SESSION"]).await;
}
