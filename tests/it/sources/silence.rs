//! How soon a subscriber learns that a feed is disconnected or silent.

use serde_json::Value;
use tokio::time::{Duration, Instant};

use super::{
    betfair::{HeartbeatConnection, Provider, own_stream},
    check_held, check_metric, follower,
    peers::betfair::stream::Stream,
    serve_with, until,
};
use crate::support::{Client, Hub, Setting};

const ROUNDS: usize = 10;

/// Detailed logging is not part of the measurement.
const QUIETLY: [Setting; 1] = [("LOGGING_FILTER", "info")];

/// Reads on to the frame that holds a book.
async fn held(client: &mut Client) -> (Value, Instant) {
    loop {
        let frame = client.next().await.expect("the hub stays up");
        let mut events = frame["events"].as_array().into_iter().flatten();
        if events.any(|event| event["kind"] == "suspend" && event["why"] == "feed") {
            return (frame, Instant::now());
        }
    }
}

#[expect(clippy::print_stdout, reason = "measurements are printed and not asserted")]
fn say(what: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    let (median, most) = (took[took.len() / 2], took[took.len() - 1]);
    println!("{what}: median {median:?}, greatest {most:?} of {}", took.len());
}

#[tokio::test]
async fn silent_connection_is_late_within_its_deadline_and_live_after_the_next_message() {
    let lines = own_stream();
    let stream = std::sync::Arc::new(Stream::new(lines.iter().map(String::as_str)));
    let provider = Provider::start().await;
    let hub = serve_with(&provider.table("exchange"), &QUIETLY);
    let mut client = follower(&hub).await;
    let (mut caller, request) = provider.subscribed().await;
    let at = stream.catch_up(&mut caller, &request, 10, 1).await.expect("the receiver is open");
    let mut took = Vec::new();
    for round in 0..ROUNDS {
        let attended = HeartbeatConnection::new(&stream, caller, &request, at);
        until(&mut client, "exchange", "live").await;
        let last;
        (caller, last) = attended.silent().await;
        let (frame, seen) = held(&mut client).await;
        assert_eq!(frame["patch"]["feed"], "late", "round {round}: {frame}");
        assert_eq!(frame["patch"]["suspended"], true, "round {round}: {frame}");
        took.push(seen - last);
        let late = until(&mut client, "exchange", "late").await;
        assert_eq!(late["why"], "silent for 1000 ms");
        check_held(&client, "late");
    }
    check_metric(&hub, "exchange", "late").await;
    say("from the last byte of a peer that falls silent to the suspension", took);
}

/// With the defaults: the source gives up a silent connection before the hub's deadline has passed,
/// and the held books are released when it has resumed.
#[tokio::test]
async fn silent_connection_is_replaced_and_the_next_resumes() {
    let lines = own_stream();
    let stream = std::sync::Arc::new(Stream::new(lines.iter().map(String::as_str)));
    let provider = Provider::start().await;
    let usual = provider.table("exchange").replace("silence_ms = 5000\n", "");
    let hub = serve_with(&usual, &QUIETLY);
    let mut client = follower(&hub).await;
    let (mut caller, request) = provider.subscribed().await;
    let at = stream.catch_up(&mut caller, &request, 10, 1).await.expect("the receiver is open");
    until(&mut client, "exchange", "live").await;
    // It sends nothing more, and stays open.
    let (mut again, request) = provider.subscribed().await;
    assert!(request["clk"].is_string(), "it asks for what comes after that: {request}");
    let (frame, _) = held(&mut client).await;
    assert_eq!(frame["patch"]["suspended"], true, "{frame}");
    stream.catch_up(&mut again, &request, at, 1).await.expect("the receiver is open");
    until(&mut client, "exchange", "live").await;
    drop(caller);
}

#[tokio::test]
async fn connection_that_is_reset_suspends_at_once() {
    let lines = own_stream();
    let stream = std::sync::Arc::new(Stream::new(lines.iter().map(String::as_str)));
    let mut took = Vec::new();
    for _ in 0..ROUNDS {
        took.push(check_reset(&stream).await);
    }
    say("from the last byte of a peer whose connection is reset to the suspension", took);
}

async fn check_reset(stream: &std::sync::Arc<Stream>) -> Duration {
    let provider = Provider::start().await;
    let hub: Hub = serve_with(&provider.table("exchange"), &QUIETLY);
    let mut client = follower(&hub).await;
    let (mut caller, request) = provider.subscribed().await;
    let at = stream.catch_up(&mut caller, &request, 10, 1).await.expect("the receiver is open");
    until(&mut client, "exchange", "live").await;
    let last = stream.message(&request["id"], at);
    caller.send(&last).await.expect("the receiver is open");
    let last = Instant::now();
    caller.reset();
    let (frame, seen) = held(&mut client).await;
    assert_eq!(frame["patch"]["feed"], "down", "{frame}");
    seen - last
}
