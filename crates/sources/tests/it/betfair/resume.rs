//! Facts from several connections equal the facts from a single one.

use facts::event::{Event, MarketStatus};
use ingest::normalize::betfair::Normalizer;
use serde_json::{Value, json};
use sources::{RawMessage, SourceSender};
use tokio::sync::mpsc;

use super::{Rig, fixture, subscription};
use crate::support::{
    Report,
    betfair::{Caller, Peer, stream::Stream},
    book::Book,
    recorded::lines,
    shared, soon,
};

/// All facts of a stream that is never interrupted.
fn facts(lines: &[String]) -> Vec<Event> {
    let mut normalizer = Normalizer::default();
    let usable = |line: &String| normalizer.line(line.as_bytes()).expect("it is usable");
    lines.iter().filter_map(usable).flat_map(|normalized| normalized.batch.events).collect()
}

/// The lines of a shared recording.
fn recorded(file: &str) -> Option<Vec<String>> {
    let path = shared(&format!("betfair-stream/{file}"))?;
    Some(lines(&path).expect("it can be read"))
}

fn stream(lines: &[String]) -> Stream {
    Stream::new(lines.iter().map(String::as_str))
}

/// Aborts in the middle of the next message.
async fn cut(stream: &Stream, mut caller: Caller, id: &Value, at: usize) {
    let message = stream.message(id, at);
    caller.send_part(&message[..message.len() / 2]).await.expect("the peer reads");
}

/// Plays a stream over this many connections that break in the middle of a message, with as many
/// messages missed each time, and compares all facts with those of one connection.
async fn check_resumed(lines: &[String], pieces: usize, missed: usize) {
    let (stream, expected) = (stream(lines), facts(lines));
    let mut rig = Rig::start().await;
    let mut resumed_from = None;
    let mut at = 0;
    for piece in 1..=pieces {
        let (mut caller, subscribed) = rig.subscribed().await;
        assert_eq!(
            Stream::resumed(&subscribed),
            resumed_from,
            "it resumes after the last complete message"
        );
        at = stream.catch_up(&mut caller, &subscribed, at, 1).await.expect("the peer reads");
        let until = if piece == pieces { stream.end() } else { stream.end() * piece / pieces };
        stream.play(&mut caller, &subscribed, at..until).await.expect("the peer reads");
        if piece == pieces {
            rig.follower.states(&["Recovering", "Live"]).await;
            rig.follower.facts(expected.len()).await;
            assert!(rig.follower.events == expected, "the facts are not those of one connection");
            assert_eq!(rig.follower.refused, []);
            return rig.stop(caller).await;
        }
        cut(&stream, caller, &subscribed["id"], until).await;
        rig.follower.states(&["Recovering", "Live", "Down: the connection was closed"]).await;
        (resumed_from, at) = (Some(until), (until + missed).min(stream.end()));
    }
}

/// Plays a stream over connections that can each only continue with an image, and compares the
/// book.
async fn check_anew(lines: &[String], pieces: usize, segments: usize) {
    let stream = stream(lines);
    let expected = Book::from_events(&facts(lines));
    let mut rig = Rig::start().await;
    let mut at = 0;
    for piece in 1..=pieces {
        let mut refuses = piece > 1;
        let (caller, subscribed) = loop {
            let mut caller = rig.accept().await;
            soon("authentication", caller.authenticate()).await.expect("it is sent");
            if !refuses {
                let subscribed = subscription(&mut caller).await;
                break (caller, subscribed);
            }
            let request = soon("a subscription", caller.request()).await.expect("it is sent");
            assert!(request["clk"].is_string(), "it goes on from a position");
            caller.refuse(&request, "INVALID_CLOCK", true).await.expect("the peer reads");
            rig.follower.states(&["Down: refused: INVALID_CLOCK"]).await;
            refuses = false;
        };
        let mut caller = caller;
        assert_eq!(Stream::resumed(&subscribed), None, "the position is not known any more");
        at = stream.catch_up(&mut caller, &subscribed, at, segments).await.expect("read");
        let until = stream.end() * piece / pieces;
        stream.play(&mut caller, &subscribed, at..until).await.expect("the peer reads");
        let end = Stream::heartbeat(&subscribed["id"], until, true);
        caller.send(&end).await.expect("the peer reads");
        rig.follower.states(&["Recovering", "Live", "Late"]).await;
        if piece == pieces {
            let difference = Book::from_events(&rig.follower.events).difference(&expected);
            assert!(difference.is_none(), "{}", difference.unwrap_or_default());
            return rig.stop(caller).await;
        }
        drop(caller);
        rig.follower.states(&["Down.."]).await;
        at = until;
    }
}

#[tokio::test]
async fn own_stream_is_complete_across_resumes() {
    check_resumed(&fixture::stream(), 1, 0).await;
    check_resumed(&fixture::stream(), 7, 0).await;
    check_resumed(&fixture::stream(), 4, 9).await;
    check_anew(&fixture::stream(), 5, 3).await;
}

#[tokio::test]
async fn recorded_race_is_complete_across_resumes() {
    let Some(lines) = recorded("racing-1.241629436.live.jsonl.gz") else { return };
    check_resumed(&lines, 5, 100).await;
    check_anew(&lines, 3, 1).await;
}

#[tokio::test]
async fn recorded_tennis_is_complete_across_resumes() {
    let Some(lines) = recorded("tennis-29788457-4-markets.pro.jsonl.gz") else { return };
    check_resumed(&lines, 5, 100).await;
    check_anew(&lines, 3, 2).await;
}

#[tokio::test]
async fn recorded_football_is_complete_across_resumes() {
    let Some(lines) = recorded("football-200-markets.live.bz2") else { return };
    check_resumed(&lines, 5, 30).await;
    check_anew(&lines, 3, 12).await;
}

#[tokio::test]
async fn broken_image_is_requested_again_and_not_resumed() {
    let lines = fixture::stream();
    let stream = stream(&lines);
    let mut rig = Rig::start().await;
    let (mut caller, subscribed) = rig.subscribed().await;
    stream.catch_up(&mut caller, &subscribed, 1, 1).await.expect("the peer reads");
    drop(caller);
    let (mut caller, subscribed) = rig.subscribed().await;
    assert_eq!(Stream::resumed(&subscribed), Some(1));
    // The position is unknown here, so an image is sent anyway; it is cut off.
    let image = json!({
        "op": "mcm", "id": subscribed["id"], "ct": "SUB_IMAGE", "segmentType": "SEG_START",
        "initialClk": "other", "clk": "other", "mc": [fixture::market("1.1", "OPEN")],
    });
    caller.send(&image.to_string()).await.expect("the peer reads");
    drop(caller);
    let (mut caller, subscribed) = rig.subscribed().await;
    assert_eq!(Stream::resumed(&subscribed), None, "half an image is no position");
    stream.catch_up(&mut caller, &subscribed, 1, 2).await.expect("the peer reads");
    let states = ["Recovering", "Live", "Down..", "Recovering", "Down..", "Recovering", "Live"];
    rig.follower.states(&states).await;
    rig.stop(caller).await;
}

#[tokio::test]
async fn markets_that_are_missing_in_a_new_image_are_suspended() {
    let mut rig = Rig::start().await;
    let (mut caller, subscribed) = rig.subscribed().await;
    let image = |id: &Value, markets: &[&str]| {
        let markets: Vec<_> = markets.iter().map(|id| fixture::market(id, "OPEN")).collect();
        json!({"op": "mcm", "id": id, "ct": "SUB_IMAGE", "mc": markets}).to_string()
    };
    caller.send(&image(&subscribed["id"], &["1.1", "1.2"])).await.expect("the peer reads");
    rig.follower.states(&["Recovering", "Live"]).await;
    drop(caller);
    let (mut caller, subscribed) = rig.subscribed().await;
    caller.send(&image(&subscribed["id"], &["1.2"])).await.expect("the peer reads");
    rig.follower.states(&["Down..", "Recovering", "Live"]).await;
    let book = Book::from_events(&rig.follower.events);
    assert_eq!(book.status("1.1"), Some(MarketStatus::Suspended));
    assert_eq!(book.status("1.2"), Some(MarketStatus::Open));
    rig.stop(caller).await;
}

#[tokio::test]
async fn source_reconnects_to_a_restarted_peer() {
    let lines = fixture::stream();
    let stream = stream(&lines);
    let mut rig = Rig::start().await;
    let (mut caller, subscribed) = rig.subscribed().await;
    stream.catch_up(&mut caller, &subscribed, 1, 1).await.expect("the peer reads");
    rig.follower.states(&["Recovering", "Live"]).await;
    let (address, identity) = (rig.peer.address().to_string(), rig.peer.identity().clone());
    // The listener must be gone when the source reconnects, so this happens before the connection
    // ends.
    let elsewhere = Peer::bind("127.0.0.1:0").await.expect("a port");
    drop(std::mem::replace(&mut rig.peer, elsewhere));
    drop(caller);
    rig.follower.states(&["Down: the connection was closed", "Down: cannot connect: .."]).await;
    rig.peer = Peer::bind_as(&address, identity).await.expect("the same port");
    let (mut caller, subscribed) = rig.subscribed().await;
    assert_eq!(Stream::resumed(&subscribed), Some(1));
    stream.catch_up(&mut caller, &subscribed, 5, 1).await.expect("the peer reads");
    loop {
        match rig.follower.state().await {
            Report::Down(_) => {}
            state => break assert_eq!(state, Report::Recovering),
        }
    }
    rig.follower.states(&["Live"]).await;
    rig.stop(caller).await;
}

#[tokio::test]
async fn tap_receives_raw_market_messages() {
    let (tx, mut tapped) = mpsc::channel::<RawMessage>(8);
    let rig = Rig::start_tapped(|_| {}, |reports: SourceSender| reports.with_raw(tx)).await;
    let (mut caller, subscribed) = rig.subscribed().await;
    let image = json!({"op": "mcm", "id": subscribed["id"], "ct": "SUB_IMAGE"}).to_string();
    caller.send(&image).await.expect("the peer reads");
    let raw = soon("a message", tapped.recv()).await.expect("the source goes on");
    assert_eq!(raw.bytes, image.as_bytes());
    rig.stop(caller).await;
}
