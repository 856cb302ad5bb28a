//! API-Football, polled: a goal that is reported and retracted, and its effect on another source's
//! odds.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    check_secrets, follower, odds_api, one,
    peers::http::{Reply, Server},
    serve_with, until,
};
use crate::support::{Client, SECRET, Setting};

/// Goals of the home side, in these minutes, in the same match as the odds.
fn fixture(minutes: &[u16]) -> String {
    let start: Timestamp = odds_api::START.parse().expect("a moment");
    let goal = |minute: &u16| {
        json!({
            "time": {"elapsed": minute, "extra": null}, "team": {"id": 1, "name": "Leeds United"},
            "player": {"id": 9, "name": "A. Striker"}, "assist": {"id": null, "name": null},
            "type": "Goal", "detail": "Normal Goal", "comments": null,
        })
    };
    let goals: Vec<_> = minutes.iter().map(goal).collect();
    let response = json!({
        "fixture": {
            "id": 7, "timestamp": start.as_second(),
            "status": {"long": "First Half", "short": "1H", "elapsed": 31},
        },
        "league": {"id": 39, "name": "Premier League", "season": 2026},
        "teams": {
            "home": {"id": 1, "name": "Leeds United"}, "away": {"id": 2, "name": "Norwich City"},
        },
        "goals": {"home": goals.len(), "away": 0},
        "events": goals,
    });
    json!({
        "get": "fixtures", "parameters": {"live": "all"}, "errors": [], "results": 1,
        "paging": {"current": 1, "total": 1}, "response": [response],
    })
    .to_string()
}

/// The match itself: the channel with a sport and an id.
fn game(client: &Client) -> Option<(&String, &Value)> {
    let is_game = |name: &str| name.starts_with("football/") && !name.contains("/odds");
    let mut games = client.channels.iter().filter(|(name, _)| is_game(name));
    let (name, it) = games.next()?;
    assert_eq!(games.next().map(|(name, _)| name), None, "two sources report one match");
    Some((name, &it.data))
}

/// After this time, prices are trusted again.
const HOLD: Setting = ("FEEDS_HOLD_MS", "500");

#[tokio::test]
async fn goal_holds_the_odds_of_another_source_and_is_retracted() {
    let served: Arc<Mutex<String>> = Arc::new(Mutex::new(fixture(&[])));
    let say = |minutes: &[u16]| *served.lock().expect("no handler panicked") = fixture(minutes);
    let answer = Arc::clone(&served);
    let mut scores = Server::start(move |_| {
        let quota = "x-ratelimit-requests-remaining";
        Reply::ok(&answer.lock().expect("no handler panicked")).with(quota, "7000")
    })
    .await;
    // Each response has a different price, so that there are always prices from after the goal.
    let odds =
        Server::start(|request| Reply::ok(&odds_api::odds(["2.1", "2.2"][request.number % 2])));
    let odds = odds.await;
    let table = format!(
        "{}[[source]]\nname = \"scores\"\nkind = \"api-football\"\nkey = {SECRET:?}\n\
         interval_ms = 50\nurl = {:?}\n",
        odds_api::table(&odds.url("")),
        scores.url("")
    );
    let hub = serve_with(&table, &[HOLD]);
    let mut client = follower(&hub).await;
    until(&mut client, "odds", "live").await;
    until(&mut client, "scores", "live").await;
    let request = scores.next_request().await;
    assert_eq!(request.target, "/fixtures?live=all");
    assert_eq!(request.headers["x-apisports-key"], SECRET);
    let joined = |client: &Client| {
        let refs = game(client).and_then(|(_, game)| game["refs"].as_object());
        refs.is_some_and(|refs| refs.len() == 2)
            && ["/odds/larkodds", "/odds/quillbook"].iter().all(|end| one(client, end).is_some())
    };
    client.until(joined).await;
    let name = game(&client).expect("it is there").0.clone();
    let books = ["larkodds", "quillbook"].map(|book| format!("{name}/odds/{book}"));
    client.until(|client| client.channels[&books[0]].data["suspended"] == false).await;

    say(&[23]);
    let [goal] = &happen(&mut client, "goal", &[&name]).await[..] else { panic!("one goal") };
    assert_eq!(client.channels[&name].data["score"]["home"], 1);
    // The match first, and then the books, all at the same moment.
    for held in happen(&mut client, "suspend", &[&books[0], &books[1]]).await {
        assert_eq!(held["event"]["why"], "goal", "{held}");
        assert_eq!(held["event"]["of"], goal["event"]["eid"], "{held}");
        assert_eq!(held["at"]["pub"], goal["at"]["pub"], "in the same transaction: {held}");
    }
    for book in &books {
        client.until(|client| client.channels[book].data["suspended"] == false).await;
        let last = client.channels[book].events.last().expect("events");
        assert_eq!(last["kind"], "resume", "{book}: {last}");
    }

    say(&[]);
    let [taken_back] = &happen(&mut client, "retract", &[&name]).await[..] else {
        panic!("one goal")
    };
    assert_eq!(taken_back["event"]["of"], goal["event"]["eid"]);
    assert_eq!(taken_back["event"]["score"], json!({"home": 0, "away": 0}));
    assert_eq!(client.channels[&name].data["score"]["home"], 0);
    check_secrets(hub, &client, &[]).await;
}

/// Reads on until such an event has occurred on each of the channels; returns the events and their
/// times.
async fn happen(client: &mut Client, kind: &str, channels: &[&String]) -> Vec<Value> {
    let mut happened: BTreeMap<String, Value> = BTreeMap::new();
    while happened.len() < channels.len() {
        let frame = client.next().await.expect("the hub stays up");
        let channel = frame["ch"].as_str().unwrap_or_default();
        let mut events = frame["events"].as_array().into_iter().flatten();
        if channels.iter().any(|it| *it == channel)
            && let Some(event) = events.find(|event| event["kind"] == kind)
        {
            happened.insert(channel.to_owned(), json!({"event": event, "at": frame["at"]}));
        }
    }
    happened.into_values().collect()
}
