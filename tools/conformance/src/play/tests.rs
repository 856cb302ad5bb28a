//! The command's side against clients that do what they should not.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpListener;
use tokio_tungstenite::{connect_async, tungstenite::Message};

use super::{KEY, play};
use crate::{
    client::url,
    script::{Script, Step, corpus},
};

const PATIENCE: Duration = Duration::from_secs(10);

fn case(name: &str) -> Script {
    let corpus = corpus().expect("the corpus can be read");
    corpus.into_iter().find(|it| it.head.case == name).expect("there is such a case")
}

/// Plays a case to a client that subscribes with this text on each connection, and returns at once, whatever happens.
async fn fault(name: &str, key: &str, command: &'static str) -> Option<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("{}?token={key}", url(listener.local_addr().expect("an address")));
    let client = tokio::spawn(async move {
        while let Ok((mut socket, _)) = connect_async(&url).await {
            socket.send(Message::text(command)).await.ok();
            while let Some(Ok(_)) = socket.next().await {}
        }
    });
    let played = play(&listener, &case(name), PATIENCE).await;
    client.abort();
    played.err().map(|fault| fault.to_string())
}

#[tokio::test]
async fn client_that_forgets_its_position_fails() {
    let found = fault("cut", KEY, r#"{"op":"subscribe","id":1,"ch":"football/7"}"#).await;
    let expected = r#"line 9: it asks for football/7 from null, not from {"epoch":"e1","seq":11}"#;
    assert_eq!(found.as_deref(), Some(expected));
}

#[tokio::test]
async fn client_that_returns_before_the_time_of_bye_fails() {
    let found = fault("drain", KEY, r#"{"op":"subscribe","id":1,"ch":"football/7"}"#).await;
    assert_eq!(found.as_deref(), Some("line 8: it comes back before the 1500 ms of `bye`"));
}

#[tokio::test]
async fn client_without_the_key_fails() {
    let found = fault("patches", "wrong", "{}").await;
    let expected = "line 2: it does not send its key: header, subprotocol or query";
    assert_eq!(found.as_deref(), Some(expected));
}

#[tokio::test]
async fn simple_case_is_passed_by_a_simple_client() {
    let found = fault("merged", KEY, r#"{"op":"subscribe","id":1,"ch":"football/7"}"#).await;
    assert_eq!(found, None);
}

/// What a client reports at its end is compared with the last expectation, so nothing may follow it.
#[test]
fn nothing_of_a_channel_follows_its_last_expectation() {
    for script in corpus().expect("the corpus can be read") {
        for (ch, expected) in script.outcome() {
            let is_expected =
                |step: &Step| matches!(step, Step::Expect(it) if it.ch == expected.ch);
            let last = script.steps.iter().rposition(is_expected).expect("an expectation");
            for step in &script.steps[last..] {
                let Step::Send(text) = step else { continue };
                let frame: serde_json::Value = serde_json::from_str(text.get()).expect("JSON");
                assert_ne!(frame["ch"], ch, "{}: {frame}", script.head.case);
            }
        }
    }
}
