//! Open connections in trouble: silence, lateness, losses, unusable lines.

use facts::event::{Fact, MarketChange};
use ingest::error::RefusalKind;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::{Rig, fixture, subscription};
use crate::support::{betfair::Caller, soon};

async fn send(caller: &mut Caller, mut message: Value, subscribed: &Value) {
    message["id"] = subscribed["id"].clone();
    // Betfair writes `op` first.
    let rest = message.to_string();
    let line = format!(r#"{{"op":"mcm",{}"#, &rest[1..]);
    caller.send(&line).await.expect("the peer reads");
}

fn image() -> Value {
    let markets = ["1.1", "1.2"].map(|id| fixture::market(id, "OPEN"));
    json!({"ct": "SUB_IMAGE", "initialClk": "i", "clk": "c", "mc": markets})
}

fn volume(market: &str, volume: u64) -> Value {
    json!({"mc": [{"id": market, "tv": volume}]})
}

/// The volumes reported since the image, in order.
fn volumes(rig: &Rig) -> Vec<String> {
    let volume = |fact: &Fact| match fact {
        Fact::Odds(odds) => match &odds.change {
            MarketChange::Prices { volume, .. } => volume.map(|volume| volume.to_string()),
            _ => None,
        },
        _ => None,
    };
    rig.follower.events.iter().filter_map(|event| volume(&event.fact)).collect()
}

#[tokio::test]
async fn silent_connection_is_replaced() {
    let mut rig = Rig::start_with(|settings| settings.silence_ms = 2_001).await;
    let (mut caller, subscribed) = rig.subscribed().await;
    send(&mut caller, image(), &subscribed).await;
    rig.follower.states(&["Recovering", "Live", "Down: silent for 2001 ms"]).await;
    soon("the connection's end", caller.gone()).await;
    let (mut caller, subscribed) = rig.subscribed().await;
    assert_eq!([&subscribed["initialClk"], &subscribed["clk"]], ["i", "c"]);
    send(&mut caller, json!({"ct": "RESUB_DELTA", "clk": "d"}), &subscribed).await;
    rig.follower.states(&["Recovering", "Live", "Down: silent for 2001 ms"]).await;
    let (caller, subscribed) = rig.subscribed().await;
    assert_eq!([&subscribed["initialClk"], &subscribed["clk"]], ["i", "d"]);
    rig.stop(caller).await;
}

#[tokio::test]
async fn peer_that_never_answers_times_out() {
    let mut rig = Rig::start_with(|settings| settings.connect_timeout_ms = 1_000).await;
    let caller = rig.accept().await;
    rig.follower.states(&["Down: not connected and authenticated within 1000 ms"]).await;
    soon("the connection's end", caller.gone()).await;
}

#[tokio::test]
async fn heartbeats_are_processed_and_their_tokens_count() {
    let mut rig = Rig::start().await;
    let (mut caller, subscribed) = rig.subscribed().await;
    send(&mut caller, image(), &subscribed).await;
    send(&mut caller, json!({"ct": "HEARTBEAT", "clk": "h"}), &subscribed).await;
    rig.follower.states(&["Recovering", "Live"]).await;
    drop(caller);
    rig.follower.states(&["Down.."]).await;
    assert_eq!(rig.follower.heartbeats, 1);
    let (caller, subscribed) = rig.subscribed().await;
    assert_eq!(subscribed["clk"], "h");
    rig.stop(caller).await;
}

#[tokio::test]
async fn lateness_is_reported_until_it_ends() {
    let mut rig = Rig::start().await;
    let (mut caller, subscribed) = rig.subscribed().await;
    send(&mut caller, image(), &subscribed).await;
    let mut late = volume("1.1", 5);
    late["status"] = json!(503);
    send(&mut caller, late.clone(), &subscribed).await;
    send(&mut caller, late, &subscribed).await;
    send(&mut caller, volume("1.1", 6), &subscribed).await;
    rig.follower.states(&["Recovering", "Live", "Late", "Live"]).await;
    assert_eq!(volumes(&rig), ["5", "5", "6"], "late facts are emitted too");
    rig.stop(caller).await;
}

#[tokio::test]
async fn lost_data_requests_an_image_and_then_a_new_connection() {
    let mut rig = Rig::start().await;
    let (mut caller, first) = rig.subscribed().await;
    send(&mut caller, image(), &first).await;
    send(&mut caller, volume("1.9", 1), &first).await;
    let second = subscription(&mut caller).await;
    assert!(second["clk"].is_null(), "only an image helps");
    assert_ne!(first["id"], second["id"]);
    // Later messages of the first subscription are ignored, and so is its image.
    send(&mut caller, volume("1.1", 2), &first).await;
    send(&mut caller, image(), &first).await;
    send(&mut caller, image(), &second).await;
    send(&mut caller, volume("1.1", 3), &second).await;
    rig.follower.states(&["Recovering", "Live", "Recovering", "Live"]).await;
    send(&mut caller, volume("1.9", 4), &second).await;
    rig.follower
        .states(&["Recovering", "Down: something was lost again soon after an image"])
        .await;
    assert_eq!(volumes(&rig), ["3"]);
    assert!(rig.follower.refused.iter().all(|refusal| refusal.kind == RefusalKind::Unknown));
    assert_eq!(rig.follower.refused.len(), 2);
    let (caller, third) = rig.subscribed().await;
    assert!(third["clk"].is_null(), "only an image helps");
    rig.stop(caller).await;
}

#[tokio::test]
async fn line_over_the_limit_is_refused_and_an_image_requested() {
    let mut rig = Rig::start_with(|settings| settings.message_bytes_max = 4096).await;
    let (mut caller, subscribed) = rig.subscribed().await;
    send(&mut caller, image(), &subscribed).await;
    rig.follower.states(&["Recovering", "Live"]).await;
    let long = json!({"mc": [{"id": "1.1", "x": "x".repeat(100_000)}]});
    send(&mut caller, long, &subscribed).await;
    let refused = rig.follower.refusal().await;
    assert_eq!(refused.kind, RefusalKind::TooLong);
    assert_eq!((&*refused.location.file, refused.location.line), ("test", 3));
    assert!(refused.bytes.starts_with(br#"{"op":"mcm""#), "its beginning is stored");
    rig.follower.states(&["Recovering"]).await;
    let subscribed = subscription(&mut caller).await;
    assert!(subscribed["clk"].is_null(), "only an image helps");
    send(&mut caller, image(), &subscribed).await;
    rig.follower.states(&["Live"]).await;
    rig.stop(caller).await;
}

#[tokio::test]
async fn invalid_line_is_refused_and_an_image_requested() {
    let mut rig = Rig::start().await;
    let (mut caller, subscribed) = rig.subscribed().await;
    send(&mut caller, image(), &subscribed).await;
    rig.follower.states(&["Recovering", "Live"]).await;
    caller.send(r#"{"op":"mcm","mc":[{]}"#).await.expect("the peer reads");
    let refused = rig.follower.refusal().await;
    assert_eq!(refused.kind, RefusalKind::Syntax);
    assert_eq!(refused.bytes, br#"{"op":"mcm","mc":[{]}"#);
    rig.follower.states(&["Recovering"]).await;
    let subscribed = subscription(&mut caller).await;
    send(&mut caller, image(), &subscribed).await;
    rig.follower.states(&["Live"]).await;
    rig.stop(caller).await;
}

#[tokio::test]
async fn connection_closed_by_betfair_reports_the_reason() {
    let mut rig = Rig::start().await;
    let (mut caller, subscribed) = rig.subscribed().await;
    send(&mut caller, image(), &subscribed).await;
    caller.refuse(&json!({}), "UNEXPECTED_ERROR", true).await.expect("the peer reads");
    let states = ["Recovering", "Live", "Down: refused: UNEXPECTED_ERROR"];
    rig.follower.states(&states).await;
    drop(caller);
    let (caller, subscribed) = rig.subscribed().await;
    assert_eq!(subscribed["clk"], "c");
    caller.close().await.expect("the peer reads");
    rig.follower.states(&["Recovering", "Down: the connection was closed"]).await;
    let (caller, subscribed) = rig.subscribed().await;
    assert_eq!(subscribed["clk"], "c");
    rig.stop(caller).await;
}

#[tokio::test]
async fn image_before_the_response_confirms_the_subscription() {
    let mut rig = Rig::start().await;
    let mut caller = rig.accept().await;
    soon("authentication", caller.authenticate()).await.expect("it is sent");
    let request = soon("a subscription", caller.request()).await.expect("it is sent");
    send(&mut caller, image(), &request).await;
    caller.accept(&request).await.expect("the peer reads");
    send(&mut caller, json!({"ct": "HEARTBEAT", "status": 503}), &request).await;
    rig.follower.states(&["Recovering", "Live", "Late"]).await;
    rig.stop(caller).await;
}

#[tokio::test]
async fn connection_that_was_not_live_is_replaced_after_a_wait() {
    let wait_ms = 600;
    let rig = Rig::start_with(|settings| {
        (settings.backoff_first_ms, settings.backoff_most_ms) = (wait_ms, wait_ms);
    })
    .await;
    let (mut caller, subscribed) = rig.subscribed().await;
    send(&mut caller, image(), &subscribed).await;
    drop(caller);
    let (caller, _) = rig.subscribed().await;
    drop(caller);
    let broken = Instant::now();
    let (caller, _) = rig.subscribed().await;
    let waited = broken.elapsed();
    assert!(waited >= Duration::from_millis(wait_ms / 2), "it waits for no more than {waited:?}");
    rig.stop(caller).await;
}

#[tokio::test]
async fn live_connection_is_replaced_at_once() {
    let never_ms = 300_000;
    let rig = Rig::start_with(|settings| {
        (settings.backoff_first_ms, settings.backoff_most_ms) = (never_ms, never_ms);
    })
    .await;
    let (mut caller, subscribed) = rig.subscribed().await;
    send(&mut caller, image(), &subscribed).await;
    caller.reset();
    let (caller, _) = rig.subscribed().await;
    rig.stop(caller).await;
}
