//! Recordings, played by the running program, give what their answer sheets say.

use serde_json::Value;

use crate::support::{Client, Hub, ended, shared};

/// Plays these files without pauses and follows everything from the first change to the last.
async fn follow(files: &[&str]) -> Option<(Hub, Client)> {
    let mut arguments = vec!["replay".to_owned(), "--speed".into(), "max".into(), "--hold".into()];
    for file in files {
        arguments.push(shared(file)?.to_str().expect("a path of text").to_owned());
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let hub = Hub::start(&arguments);
    let mut client = Client::connect(&hub.address, &hub.key(&["websocket"])).await;
    for pattern in ["*/*", "*/*/odds", "*/*/odds/*", "*"] {
        client.subscribe(pattern).await;
    }
    client.until(ended).await;
    Some((hub, client))
}

#[tokio::test]
async fn wyscout_final_has_its_goals_and_result() {
    let Some((_hub, client)) = follow(&["wyscout/2058017.events.json.gz"]).await else { return };
    let (_, football) =
        client.channels.iter().find(|(name, _)| name.starts_with("football/")).expect("a match");
    assert_eq!(football.data["score"]["home"], 4);
    assert_eq!(football.data["score"]["away"], 2);
    let goals: Vec<&Value> =
        football.events.iter().filter(|event| event["kind"] == "goal").collect();
    assert_eq!(goals.len(), 6);
}
