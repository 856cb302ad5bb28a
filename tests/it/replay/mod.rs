//! After the running program has played a shared recording, a client holds what the answer sheet
//! says.
//!
//! The sheets were made from the raw files with other tools. Everything is compared as a client has
//! it: documents, events, and the health of the source.

mod betfair;
mod joined;
mod slam;
mod wyscout;

use std::{collections::BTreeMap, fs};

use serde_json::Value;

use crate::support::{ChannelState, Client, Hub, Setting, ended, shared};

/// Every channel there is.
pub(crate) const ALL: [&str; 4] = ["*/*/odds/*", "*/*/odds", "*/*", "*"];

/// A recording that was followed from its first change to its last.
struct Playback {
    client: Client,
    /// The state of a client that connected after the end.
    late: BTreeMap<String, ChannelState>,
    /// The market as of each of its events, in order of arrival.
    markets: Vec<(Value, Value)>,
    sheet: Value,
}

/// Plays a recording and follows everything in it. `None`, with a message, if it is missing.
async fn play(file: &str, speed: &str) -> Option<Playback> {
    let path = shared(file)?;
    let path = path.to_str().expect("a path of text");
    let hub = Hub::start_with(&["replay", "--speed", speed, "--hold", path], &[PATIENT]);
    let mut client = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    for pattern in ALL {
        client.subscribe(pattern).await;
    }
    let mut markets = Vec::new();
    let mut see = |frame: &Value, client: &Client| {
        markets.extend(events(frame).filter_map(|event| {
            let document = &client.channels[frame["ch"].as_str()?].data;
            let market = document["markets"].get(event["market"].as_str()?)?;
            Some((event.clone(), market.clone()))
        }));
    };
    while !ended(&client) {
        let frame = client.next().await.expect("the hub stays up after the end");
        see(&frame, &client);
    }
    // `ended` may preempt the queued frames of a slow client.
    let late = latecomer(&hub).await;
    let has_all = |client: &Client| {
        late.iter()
            .all(|(name, it)| client.channels.get(name).is_some_and(|early| early.seq >= it.seq))
    };
    while !has_all(&client) {
        let frame = client.next().await.expect("the hub stays up after the end");
        see(&frame, &client);
    }
    let left_out: Vec<_> = client.others.iter().filter(|it| it["type"] == "resync").collect();
    assert!(left_out.is_empty(), "{left_out:?}");
    Some(Playback { client, late, markets, sheet: sheet(file) })
}

/// A window that no client leaves, however slow the test machine is: all events are compared.
const PATIENT: Setting = ("HUB_TAIL_BYTES", "1000000000");

/// The state of a client that connects after the end.
pub(crate) async fn latecomer(hub: &Hub) -> BTreeMap<String, ChannelState> {
    let mut late = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    for pattern in ALL {
        late.subscribe(pattern).await;
    }
    late.until(|late| {
        let subscribed = late.others.iter().filter(|frame| frame["type"] == "subscribed");
        let counts: Vec<u64> = subscribed.filter_map(|it| it["channels"].as_u64()).collect();
        counts.len() == ALL.len() && counts.iter().sum::<u64>() == late.channels.len() as u64
    })
    .await;
    late.channels
}

fn events(frame: &Value) -> impl Iterator<Item = &Value> {
    frame["events"].as_array().into_iter().flatten()
}

/// The answer sheet of a recording.
pub(crate) fn sheet(file: &str) -> Value {
    let name = file.replace('/', "__");
    let mut name = name.as_str();
    for end in [".gz", ".bz2", ".jsonl", ".json", ".csv", ".xml"] {
        name = name.strip_suffix(end).unwrap_or(name);
    }
    let path = shared(&format!("expected/{name}.json")).expect("sheets lie beside recordings");
    let text = fs::read(path).expect("each recording has its answer sheet");
    serde_json::from_slice(&text).expect("answer sheets are JSON")
}

impl Playback {
    /// The channel of the recording's only match.
    fn game(&self) -> &ChannelState {
        let games: Vec<_> =
            self.client.channels.iter().filter(|(name, _)| is_match(name)).collect();
        let [(_, game)] = games[..] else { panic!("one match in {} channels", games.len()) };
        game
    }

    /// What holds at the end of every recording.
    fn check_end(&self) {
        self.check_boards();
        self.check_feed();
        self.check_latecomer();
    }

    /// The board of each match agrees with the match.
    fn check_boards(&self) {
        let channels = &self.client.channels;
        for (name, game) in channels.iter().filter(|(name, _)| is_match(name)) {
            let (sport, id) = name.split_once('/').expect("a sport and an id");
            let line = channels[sport].data["matches"][id].as_object().expect("it has its line");
            assert!(line.contains_key("life") && line.contains_key("status"), "{name}");
            for (field, value) in line {
                assert_eq!(*value, game.data[field], "{field} of {name}");
            }
        }
        for sport in ["football", "tennis"] {
            let lines = channels.get(sport).map_or(0, |it| count(&it.data["matches"]));
            let games = channels.keys().filter(|name| is_match(name) && name.starts_with(sport));
            assert_eq!(lines, games.count(), "{sport}");
        }
    }

    fn check_feed(&self) {
        let sources = self.client.channels["feeds"].data["sources"].as_object();
        let [source] = sources.expect("it has its source").values().collect::<Vec<_>>()[..] else {
            panic!("a recording is one source");
        };
        assert_eq!(source["ended"], true);
        assert_eq!(source["quarantined"], 0);
        if let Some(messages) = self.sheet.get("messages") {
            assert_eq!(source["messages"], *messages);
            assert_eq!(source["price_changes"], self.sheet["price_changes_total"]);
        }
    }

    /// A client that connects after the end holds the same, from images alone.
    fn check_latecomer(&self) {
        assert_eq!(self.late.len(), self.client.channels.len());
        for (name, followed) in &self.client.channels {
            let late = &self.late[name];
            assert_eq!((&late.epoch, late.seq), (&followed.epoch, followed.seq), "{name}");
            assert_eq!(late.data, followed.data, "{name}");
            assert!(late.events.is_empty(), "{name}: an image is no event");
        }
    }
}

fn is_match(channel: &str) -> bool {
    channel.split('/').count() == 2
}

fn count(object: &Value) -> usize {
    object.as_object().map_or(0, serde_json::Map::len)
}

/// The documents of a recording that was played without followers.
async fn unseen(file: &str) -> Option<BTreeMap<String, ChannelState>> {
    let path = shared(file)?;
    let hub =
        Hub::shared(&["replay", "--speed", "max", path.to_str().expect("a path of text")], &[]);
    let key = hub.key(&crate::support::ALL_ADDONS);
    // The frame that reports the end has no information about the documents.
    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("feeds").await;
    client.until(ended).await;
    Some(latecomer(&hub).await)
}

/// Followers do not affect the documents of a recording. (Documents of matches without timestamps
/// in the recording contain the times of receipt.)
#[tokio::test]
async fn documents_are_the_same_without_a_follower() {
    for file in [
        "betfair-stream/tennis-1.223716976.basic.bz2",
        "betfair-stream/tennis-29788457-4-markets.pro.jsonl.gz",
    ] {
        let Some(unseen) = unseen(file).await else { return };
        let Some(played) = play(file, "max").await else { return };
        let documents = |channels: &BTreeMap<String, ChannelState>| {
            let followed = channels.iter().filter(|(name, _)| *name != "feeds");
            followed.map(|(name, it)| (name.clone(), it.seq, it.data.clone())).collect::<Vec<_>>()
        };
        assert_eq!(documents(&unseen), documents(&played.client.channels), "{file}");
    }
}
