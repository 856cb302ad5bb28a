//! The AsyncAPI document matches the traffic of the older sockets: every frame matches one of its
//! messages, and every message, field and code of the document has occurred.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Value, json};
use tokio::time::timeout;

use super::{legacy_client::LegacyClient, push_hub::PushHub};
use crate::support::{Client, Hub, PATIENCE, json_schema::problems_and_unnamed};

/// The messages of one operation of the document, by channel name, and which of them occurred.
struct Messages<'a> {
    document: &'a Value,
    names: Vec<String>,
    /// The fields that occurred in a message.
    seen: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> Messages<'a> {
    /// `does` as in the document: the hub's action, `send` or `receive`.
    fn new(document: &'a Value, channel: &str, does: &str) -> Self {
        let mut operations = document["operations"].as_object().expect("operations").values();
        let of_channel = json!({"$ref": format!("#/channels/{channel}")});
        let operation = operations.find(|it| it["action"] == does && it["channel"] == of_channel);
        let operation = operation.unwrap_or_else(|| panic!("no operation {does} of {channel}"));
        let names = operation["messages"].as_array().expect("messages").iter().map(|message| {
            let way = message["$ref"].as_str().expect("a way to the message of the channel");
            let way = way.strip_prefix('#').expect("a way from the top");
            let of_channel = document.pointer(way).expect("a message of the channel");
            let way = of_channel["$ref"].as_str().expect("a way to the message itself");
            way.rsplit('/').next().expect("a name").to_owned()
        });
        Self { document, names: names.collect(), seen: BTreeMap::new() }
    }

    fn schema(&self, name: &str) -> &'a Value {
        let mut schema = &self.document["components"]["messages"][name]["payload"];
        while let Some(way) = schema["$ref"].as_str() {
            schema = self.document.pointer(&way[1..]).expect("a schema");
        }
        schema
    }

    /// Checks that one of the messages describes it completely.
    fn take(&mut self, frame: &Value) {
        let problems =
            |name: &String| problems_and_unnamed(self.document, self.schema(name), frame);
        let fitting = self.names.iter().find(|name| problems(name).is_empty());
        let name = fitting.unwrap_or_else(|| {
            let tries: Vec<_> = self.names.iter().map(|name| (name, problems(name))).collect();
            panic!("no message is this: {frame}: {tries:#?}")
        });
        let fields = frame.as_object().expect("an object").keys().cloned();
        self.seen.entry(name.clone()).or_default().extend(fields);
    }

    fn missing(&self) -> Vec<&String> {
        self.names.iter().filter(|name| !self.seen.contains_key(*name)).collect()
    }

    /// The fields of the document that never occurred.
    fn never(&self, others: &Self) -> Vec<String> {
        let all = self.names.iter().flat_map(|name| {
            let properties = self.schema(name)["properties"].as_object().expect("properties");
            let seen = [self, others].map(|it| it.seen.get(name));
            let is_seen = move |field: &str| seen.iter().flatten().any(|seen| seen.contains(field));
            properties
                .keys()
                .filter(move |field| !is_seen(field))
                .map(move |it| format!("{name}.{it}"))
        });
        all.collect()
    }
}

/// A client of one of the sockets that checks all traffic.
struct CheckedClient<'a, 'd> {
    client: LegacyClient,
    sent: &'a mut Messages<'d>,
    received: &'a mut Messages<'d>,
}

impl CheckedClient<'_, '_> {
    async fn send(&mut self, command: Value) {
        self.received.take(&command);
        self.client.send(&command).await;
    }

    /// Reads on to a frame that fulfils the condition.
    async fn next_where(&mut self, awaited: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let reading = async {
            loop {
                let frame = self.client.next().await.expect("it is not cut off");
                self.sent.take(&frame);
                if condition(&frame) {
                    return frame;
                }
            }
        };
        let read = timeout(PATIENCE, reading).await;
        read.unwrap_or_else(|_| panic!("{awaited} did not come"))
    }

    async fn next_of(&mut self, kind: &str) -> Value {
        self.next_where(kind, |frame| frame["type"] == kind).await
    }
}

/// Matches of the demo that are in play.
async fn in_play(hub: &Hub, key: &str, sport: &str) -> Vec<u64> {
    let board = hub.get(&format!("/stream/v1/channels/{sport}?token={key}")).await.json();
    let matches = board["data"]["matches"].as_object().expect("a board has matches");
    // Not those that may end while they are followed, as one of tennis in its last set.
    let is_early = |line: &Value| line["sets"].as_object().is_none_or(|sets| sets.len() < 2);
    let live = matches.iter().filter(|(_, line)| line["life"] == "live" && is_early(line));
    live.map(|(id, _)| id.parse().expect("an id")).collect()
}

/// A bookmaker that quotes this match, unless its markets have closed already.
async fn bookmaker(hub: &Hub, key: &str, name: &str) -> Option<String> {
    let mut client = Client::connect(&hub.address, key).await;
    client.subscribe(&format!("{name}/odds/*")).await;
    // Existing data arrives before later requests are answered.
    client.subscribe("feeds").await;
    client.until(|client| client.channels.contains_key("feeds")).await;
    let channel = client.channels.keys().find(|channel| *channel != "feeds")?;
    channel.rsplit('/').next().map(ToOwned::to_owned)
}

/// The channels of the document, and which sports they have.
const CHANNELS: [(&str, &[&str]); 2] =
    [("liveFootball", &["football"]), ("wsLive", &["football", "tennis"])];

/// The frames that the demo must send, among others.
const WANTED: [(&str, &str); 7] = [
    ("football", "livedata"),
    ("football", "action"),
    ("football", "odds"),
    ("football", "odds_book"),
    ("tennis", "score"),
    ("tennis", "odds"),
    ("tennis", "odds_book"),
];

#[tokio::test]
async fn frames_match_the_document() {
    let settings =
        [("HUB_ENDED_KEEP_MS", "1000"), ("DEMO_HEAD_START_MINUTES", "70"), ("DEMO_SPEED", "8")];
    let mut feed = PushHub::to(Arc::new(Hub::start_with(&["serve"], &settings)));
    let document = feed.hub.get("/api/asyncapi/").await.json();
    let mut checked = Vec::new();
    let mut codes = BTreeSet::new();
    for (channel, sports) in CHANNELS {
        let mut sent = Messages::new(&document, channel, "send");
        let mut received = Messages::new(&document, channel, "receive");
        let path = document["channels"][channel]["address"].as_str().expect("an address");
        codes.extend(connect_unauthorized(&feed, path, &mut sent).await);

        let client =
            LegacyClient::connect(&feed.hub, &format!("{path}?token={}", feed.key), None).await;
        let mut client = CheckedClient { client, sent: &mut sent, received: &mut received };
        client.send(json!({"action": "ping"})).await;
        client.next_of("pong").await;
        let ids = follow_demo(&feed, sports, &mut client).await;
        codes.extend(send_invalid_commands(&mut client, ids[0].0).await);

        let name = format!("{channel} 0");
        let full = feed.football(&name).await;
        let mut more = vec![full];
        while ids.len() + more.len() <= 10 {
            more.push(feed.football(&format!("{channel} {}", more.len())).await);
        }
        for id in &more {
            client.send(json!({"action": "subscribe", "event_id": id})).await;
        }
        let limit = client.next_of("error").await;
        assert_eq!((&limit["code"], &limit["event_id"]), (&json!("limit"), &json!(more.last())));
        codes.insert("limit".to_owned());

        push_rare_frames(&mut feed, &name, full, &mut client).await;
        let (demo, sport) = ids[ids.len() - 1];
        client.send(json!({"action": "unsubscribe", "event_id": demo, "sport": sport})).await;
        let is_left = |frame: &Value| frame["event_id"] == demo && frame["type"] == "unsubscribed";
        client.next_where("the end of it", is_left).await;
        if sports.contains(&"tennis") {
            push_tennis(&mut feed, &mut client).await;
        }
        drop(client);
        for messages in [&sent, &received] {
            assert_eq!(messages.missing(), [""; 0], "messages of {channel} that never came");
        }
        checked.push([sent, received]);
    }
    // The second channel has all messages of the first.
    for (first, second) in checked[0].iter().zip(&checked[1]) {
        assert_eq!(second.never(first), [""; 0], "fields that never came");
    }
    let documented =
        &document["components"]["messages"]["liveError"]["payload"]["properties"]["code"];
    let documented = documented["enum"].as_array().expect("codes").iter();
    let documented: BTreeSet<_> =
        documented.map(|code| code.as_str().expect("a word").to_owned()).collect();
    assert_eq!(documented, codes, "codes in the document, and those that came");
}

/// Unauthorized clients; returns their error codes.
async fn connect_unauthorized(feed: &PushHub, path: &str, sent: &mut Messages<'_>) -> Vec<String> {
    let (wrong, poor) = (format!("mw_{}", "0".repeat(48)), feed.hub.key(&[]));
    let mut codes = Vec::new();
    for (path, close) in [
        (path.to_owned(), 4401),
        (format!("{path}?token={wrong}"), 4401),
        (format!("{path}?token={poor}"), 4402),
        (format!("{path}more/?token={}", feed.key), 4404),
    ] {
        let mut client = LegacyClient::connect(&feed.hub, &path, None).await;
        let error = client.next().await.expect("the reason comes first");
        sent.take(&error);
        codes.push(error["code"].as_str().expect("a code").to_owned());
        assert_eq!(client.next().await, Err(close), "{path}");
    }
    codes
}

/// Follows at most nine matches of the demo in play, with a bookmaker's prices, until all expected
/// frames have arrived.
async fn follow_demo(
    feed: &PushHub,
    sports: &[&'static str],
    client: &mut CheckedClient<'_, '_>,
) -> Vec<(u64, &'static str)> {
    let mut ids = Vec::new();
    for sport in sports {
        let live = in_play(&feed.hub, &feed.key, sport).await;
        assert!(!live.is_empty(), "no {sport} of the demo is in play");
        for id in live.into_iter().take(9 / sports.len()) {
            let book = bookmaker(&feed.hub, &feed.key, &format!("{sport}/{id}")).await;
            let mut command = json!({"action": "subscribe", "event_id": id, "sport": sport});
            if let Some(book) = book {
                command["bookmaker_slug"] = json!(book);
            }
            client.send(command).await;
            let begun = client.next_of("subscribed").await;
            assert_eq!((&begun["event_id"], &begun["resumed"]), (&json!(id), &json!(false)));
            ids.push((id, *sport));
        }
    }
    let mut missing: BTreeSet<_> =
        WANTED.into_iter().filter(|(sport, _)| sports.contains(sport)).collect();
    while !missing.is_empty() {
        let frame = client.next_where(&format!("{missing:?}"), |_| true).await;
        let sport = ids.iter().find(|(id, _)| frame["event_id"] == *id).map(|(_, sport)| *sport);
        missing
            .retain(|wanted| Some(wanted.0) != sport || frame["type"].as_str() != Some(wanted.1));
    }
    ids
}

/// Errors after which the socket stays open; returns their codes.
async fn send_invalid_commands(client: &mut CheckedClient<'_, '_>, id: u64) -> Vec<String> {
    let mut codes = Vec::new();
    for (command, code) in [
        (json!({"action": "cheer"}), "bad_action"),
        (json!({"action": "subscribe", "event_id": "x"}), "bad_event_id"),
        (json!({"action": "subscribe", "event_id": 7}), "not_tracked"),
        (
            json!({"action": "subscribe", "event_id": id, "bookmaker_slug": "nobody"}),
            "unknown_bookmaker",
        ),
    ] {
        client.client.send(&command).await;
        let error = client.next_of("error").await;
        assert_eq!(error["code"], code, "{command}");
        codes.push(code.to_owned());
    }
    codes
}

/// Rare frames: a goal that is corrected and retracted, and the end. Then a valid resume, an
/// invalid one, and an evicted match.
async fn push_rare_frames(
    feed: &mut PushHub,
    name: &str,
    id: u64,
    client: &mut CheckedClient<'_, '_>,
) {
    let player = |name: &str| json!({"name": name, "key": name});
    let goal = json!({"eid": "g1", "kind": {"goal": "regular"}, "minute": 45, "added": 2,
        "side": "home", "player": player("A. Striker"), "assist": player("B. Helper"), "score": [1, 0]});
    feed.push("football", name, json!({"football": {"incident": goal}})).await;
    let is_of = |kind: &'static str| {
        move |frame: &Value| frame["event_id"] == id && frame["action_type"] == kind
    };
    let frame = client.next_where("the goal", is_of("goal")).await;
    assert_eq!(frame["related_player"]["name"], "B. Helper", "{frame}");
    let retract = json!({"of": "g1", "why": "offside", "score": {"goals": [0, 0]}});
    feed.push("football", name, json!({"football": {"retract": retract}})).await;
    let frame = client.next_where("the retraction", is_of("deleted_event")).await;
    assert_eq!(frame["reason"], "offside", "{frame}");
    feed.push("football", name, json!({"football": {"score": {"goals": [0, 1]}}})).await;
    let is_event = |frame: &Value| frame["event_id"] == id && frame["type"] == "event";
    let event = client.next_where("the score", is_event).await;

    for (from, resumed) in [
        (json!({"epoch": event["epoch"], "seq": event["seq"]}), true),
        (json!({"epoch": "zz", "seq": 1}), false),
    ] {
        client.send(json!({"action": "subscribe", "event_id": id, "from": from})).await;
        let begun = client.next_of("subscribed").await;
        assert_eq!(begun["resumed"], resumed, "{begun}");
    }
    feed.push("football", name, json!({"football": {"status": "finished"}})).await;
    client.next_where("the end", is_event).await;
    feed.football(&format!("{name} after")).await;
    let is_left = |frame: &Value| frame["event_id"] == id && frame["type"] == "unsubscribed";
    let left = client.next_where("the match is forgotten", is_left).await;
    assert_eq!(left["why"], "gone");
}

/// A status, which the `event` frame reports at once, and an unknown match.
async fn push_tennis(feed: &mut PushHub, client: &mut CheckedClient<'_, '_>) {
    client.send(json!({"action": "subscribe", "event_id": 7, "sport": "tennis"})).await;
    let error = client.next_of("error").await;
    assert_eq!((&error["code"], &error["sport"]), (&json!("not_tracked"), &json!("tennis")));
    let id = feed.tennis("final").await;
    let command = json!({"action": "subscribe", "event_id": id, "sport": "tennis"});
    client.send(command).await;
    client.next_where("its begin", |frame| frame["event_id"] == id).await;
    feed.push("tennis", "final", json!({"tennis": {"status": "interrupted"}})).await;
    let is_event = |frame: &Value| frame["event_id"] == id && frame["type"] == "event";
    let event = client.next_where("the interruption", is_event).await;
    assert_eq!(event["status"]["name"], "interrupted");
}
