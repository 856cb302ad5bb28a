//! Replays on the socket: what a live reader got is listed, recorded, and played again.

use std::{
    collections::BTreeMap,
    iter,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};
use tokio::{sync::OnceCell, time::timeout};

use crate::support::{
    ALL_ADDONS, Client, Closed, Hub, PATIENCE, QUIET, json_schema::problems, pause,
};

/// They cover everything that is recorded of football.
const PATTERNS: [&str; 3] = ["football/*", "football/*/odds", "football/*/odds/*"];

/// A hub to which a test pushes matches.
struct PushHub {
    hub: Arc<Hub>,
    feed_key: String,
    key: String,
    lines: AtomicU64,
}

impl PushHub {
    fn start() -> Self {
        let hub = Arc::new(Hub::start_with(&["serve"], &[QUIET]));
        let (feed_key, key) = (hub.feed_key("acme", &[]), hub.key(&ALL_ADDONS));
        Self { hub, feed_key, key, lines: AtomicU64::new(0) }
    }

    /// One with a film on disk of a running match, and the match's channel. Tests share it.
    async fn with_film() -> &'static (Self, String) {
        static FILMED: OnceCell<(PushHub, String)> = OnceCell::const_new();
        let film = async || {
            let mut push_hub = Self::start();
            let mut client = push_hub.follow_all().await;
            push_hub.push("derby", kick_off("derby")).await;
            push_hub.push("derby", play(1..=5)).await;
            let name = first_match(&mut client, &mut FrameTexts::default()).await;
            // Ends all films on disk.
            push_hub.own_hub().stop();
            let hub = Hub::start_in_with(Arc::clone(&push_hub.hub.folder), &["serve"], &[QUIET]);
            push_hub.hub = hub.into_shared();
            (push_hub, name)
        };
        FILMED.get_or_init(film).await
    }

    /// Its hub, which no other test uses.
    fn own_hub(&mut self) -> &mut Hub {
        Arc::get_mut(&mut self.hub).expect("a hub that is not shared")
    }

    /// Starts the hub again in the same folder.
    fn restart(&mut self) {
        let folder = Arc::clone(&self.hub.folder);
        self.hub = Arc::new(Hub::start_in_with(folder, &["serve"], &[QUIET]));
    }

    async fn connect(&self) -> Client {
        Client::connect(&self.hub.address, &self.key).await
    }

    /// A client that follows everything of football, and has its responses.
    async fn follow_all(&self) -> Client {
        let mut client = self.connect().await;
        for (id, ch) in iter::zip(1.., PATTERNS) {
            let command = json!({"op": "subscribe", "id": id, "ch": ch});
            assert_eq!(client.ask(&command).await["type"], "subscribed");
        }
        client
    }

    async fn push(&self, name: &str, facts: impl IntoIterator<Item = Value>) {
        for fact in facts {
            let number = self.lines.fetch_add(1, Ordering::Relaxed) + 1;
            let at = 1_788_280_000_000_000 + number * 10_000_000;
            let line = json!({"id": number.to_string(), "at": at, "sport": "football",
                "match": name, "fact": fact});
            self.hub.push(&self.feed_key, &[line.to_string()]).await;
        }
    }

    /// Pushes to another match until the film of `name` satisfies the condition: the writer of films
    /// follows the log, and writes blocks as records come.
    async fn film_until(&self, name: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let (mut last, mut corner_kicks) = (Value::Null, 0);
        self.push("other", [fixture("other")]).await;
        let growing = async {
            loop {
                corner_kicks += 1;
                self.push("other", [corners(corner_kicks)]).await;
                last = self.hub.json(&self.key, "/stream/v1/replays/?sport=football").await;
                if let Some(film) = film(&last, name).filter(|film| is_so(film)) {
                    return film.clone();
                }
                pause().await;
            }
        };
        let grown = timeout(PATIENCE, growing).await;
        grown.unwrap_or_else(|_| panic!("the film of {name} did not come so far: {last}"))
    }
}

fn fixture(name: &str) -> Value {
    json!({"fixture": {"start": 1_788_280_000_000_000_u64,
        "sides": [{"name": format!("Home {name}")}, {"name": format!("Away {name}")}]}})
}

fn status(status: &str) -> Value {
    json!({"football": {"status": status}})
}

fn goal(home: u64) -> Value {
    json!({"football": {"incident": {"eid": format!("g{home}"), "kind": {"goal": "regular"},
        "minute": home, "side": "home", "score": [home, 0]}}})
}

fn corners(count: u64) -> Value {
    json!({"football": {"stats": {"side": "home", "values": {"corner_kicks": count}}}})
}

fn market() -> Value {
    let outcome =
        |id: &str, outcome: &str| json!({"id": id, "status": "active", "outcome": outcome});
    let define = json!({"kind": "match_winner", "status": "open", "in_play": true,
        "selections": [outcome("1", "home"), outcome("x", "draw"), outcome("2", "away")]});
    json!({"odds": {"book": "acmebet", "market": "m1", "change": {"define": define}}})
}

fn prices(home: &str) -> Value {
    let price = |id: &str, price: &str| json!({"id": id, "price": price});
    let selections = [price("1", home), price("x", "3.40"), price("2", "3.55")];
    let change = json!({"prices": {"selections": selections}});
    json!({"odds": {"book": "acmebet", "market": "m1", "change": change}})
}

/// A match up to its second half: its goals, and prices of a bookmaker that move after each.
fn play(goals: impl IntoIterator<Item = u64>) -> Vec<Value> {
    let moves = goals.into_iter().flat_map(|home| {
        [goal(home), corners(home), prices(&format!("2.{:02}", 10 + home)), prices("1.80")]
    });
    moves.collect()
}

fn kick_off(name: &str) -> Vec<Value> {
    vec![fixture(name), status("not_started"), market(), prices("2.10"), status("first_half")]
}

/// The row of a match, found by a channel of it.
fn film<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    list["replays"].as_array()?.iter().find(|row| row["match"] == name)
}

/// The last recorded sequence of a channel.
fn last_seq(film: &Value, ch: &str) -> Option<u64> {
    let channels = film["channels"].as_array().expect("channels");
    channels.iter().rev().find(|channel| channel["ch"] == ch)?["last"].as_u64()
}

fn channels_of(film: &Value) -> Vec<String> {
    let channels = film["channels"].as_array().expect("channels");
    channels.iter().map(|it| it["ch"].as_str().expect("a name").to_owned()).collect()
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("a frame is JSON")
}

fn is_data(frame: &Value) -> bool {
    frame["type"] == "image" || frame["type"] == "update"
}

/// The texts of frames with data, by channel.
#[derive(Debug, Default)]
struct FrameTexts(BTreeMap<String, Vec<String>>);

impl FrameTexts {
    fn add(&mut self, text: &str) {
        let frame = parse(text);
        if is_data(&frame) {
            let ch = frame["ch"].as_str().expect("a channel").to_owned();
            self.0.entry(ch).or_default().push(text.to_owned());
        }
    }

    fn channel(&self, ch: &str) -> &[String] {
        self.0.get(ch).map_or(&[], Vec::as_slice)
    }
}

/// Reads live frames until one satisfies the condition.
async fn read_until(client: &mut Client, texts: &mut FrameTexts, is_last: impl Fn(&Value) -> bool) {
    loop {
        let text = client.next_text().await.expect("the connection lasts");
        texts.add(&text);
        if is_last(&parse(&text)) {
            return;
        }
    }
}

/// Reads a replay to its end. Returns its frames without the field `replay`, and the reason for the end.
async fn read_replay(client: &mut Client, replay: &str) -> (FrameTexts, Value) {
    let mut texts = FrameTexts::default();
    let field = format!(r#","replay":"{replay}"}}"#);
    loop {
        let text = client.next_text().await.expect("the connection lasts");
        let frame = parse(&text);
        if frame["type"] == "replay_end" && frame["replay"] == replay {
            return (texts, frame["why"].clone());
        }
        if frame["replay"] == replay && is_data(&frame) {
            let published = text.strip_suffix(&*field).expect("the field is the last one");
            texts.add(&format!("{published}}}"));
        }
    }
}

/// The id of the first match that a client of the patterns hears of.
async fn first_match(client: &mut Client, texts: &mut FrameTexts) -> String {
    let is_match = |frame: &Value| {
        let ch = frame["ch"].as_str().unwrap_or_default();
        frame["type"] == "image" && ch.split('/').count() == 2
    };
    read_until(client, texts, is_match).await;
    let name = texts.0.keys().find(|ch| ch.split('/').count() == 2);
    name.expect("a match").clone()
}

fn ends(name: &str) -> impl Fn(&Value) -> bool {
    move |frame| {
        frame["ch"] == name && frame["replay"].is_null() && frame["patch"]["life"] == "ended"
    }
}

#[tokio::test]
async fn finished_match_is_listed_and_played_byte_for_byte_as_it_was_live() {
    let push_hub = PushHub::start();
    let mut client = push_hub.follow_all().await;
    push_hub.push("derby", kick_off("derby")).await;
    push_hub.push("derby", play(1..=5)).await;
    push_hub.push("derby", [status("finished")]).await;
    let mut live = FrameTexts::default();
    let name = first_match(&mut client, &mut live).await;
    read_until(&mut client, &mut live, ends(&name)).await;
    let ended_at = parse(live.channel(&name).last().expect("frames"))["seq"].as_u64();
    let film = push_hub.film_until(&name, |film| last_seq(film, &name) >= ended_at).await;
    let channels = channels_of(&film);
    let odds = format!("{name}/odds");
    for ch in [&name, &odds, &format!("{odds}/acmebet")] {
        assert!(channels.contains(ch), "{ch} is not in {film}");
    }
    assert!(film["span"]["first"].as_i64() < film["span"]["last"].as_i64(), "{film}");

    let command = json!({"op": "subscribe", "id": 9, "chs": channels,
        "replay": {"from": "start", "speed": "max"}});
    let mut reader = push_hub.connect().await;
    assert_eq!(
        reader.next_of("hello").await["features"],
        json!(["batch", "hash", "pick", "replay"])
    );
    let answer = reader.ask(&command).await;
    assert_eq!((&answer["type"], &answer["speed"]), (&json!("subscribed"), &json!("max")));
    let (played, why) = read_replay(&mut reader, answer["replay"].as_str().expect("a name")).await;
    assert_eq!(why, "end");
    assert_eq!(played.0.len(), channels.len());
    for (ch, frames) in &played.0 {
        // The live reader still may have frames to read.
        while live.channel(ch).len() < frames.len() {
            live.add(&client.next_text().await.expect("the connection lasts"));
        }
        assert_eq!(frames, &live.channel(ch)[..frames.len()], "{ch}");
    }
    let events = played.channel(&name).iter().filter(|text| text.contains(r#""kind":"goal""#));
    assert!(events.count() >= 5, "{played:#?}");
}

#[tokio::test]
async fn paused_and_sought_next_to_a_live_subscription() {
    let (push_hub, name) = PushHub::with_film().await;
    let mut client = push_hub.connect().await;
    client.subscribe(name).await;
    client.next_of("image").await;
    let live = client.channels[name].clone();
    let command = json!({"op": "subscribe", "id": 1, "ch": name, "replay": {"speed": 0.1}});
    // The recording is short even at this speed, so the pause does not wait for the answer.
    let pause = json!({"op": "replay", "id": 2, "replay": "r1", "pause": true});
    client.send(&command).await;
    client.send(&pause).await;
    let answer = client.next_of("subscribed").await;
    assert_eq!((&answer["replay"], &answer["paused"]), (&json!("r1"), &json!(false)));
    let answer = client.next_of("subscribed").await;
    assert_eq!((&answer["id"], &answer["paused"]), (&json!(2), &json!(true)));

    // A seek while it is paused shows the document of that position, and nothing after it.
    let seek = json!({"op": "replay", "id": 3, "replay": "r1", "seek": {"seq": 6}});
    client.send(&seek).await;
    let mut sought = Vec::new();
    while !sought.iter().any(is_image) {
        sought.push(parse(&client.next_text().await.expect("it lasts")));
    }
    client.send(&json!({"op": "ping", "id": 4})).await;
    loop {
        let frame = parse(&client.next_text().await.expect("it lasts"));
        if frame["type"] == "pong" && frame["id"] == 4 {
            break;
        }
        sought.push(frame);
    }
    let answer = sought.iter().find(|frame| frame["id"] == 3).expect("a response");
    assert_eq!((&answer["seq"], &answer["paused"]), (&json!(6), &json!(true)), "{answer}");
    let after = sought.iter().skip_while(|frame| frame["id"] != 3);
    let replayed: Vec<&Value> = after.filter(|it| it["replay"] == "r1" && is_data(it)).collect();
    let [image] = replayed[..] else { panic!("not one image: {replayed:?}") };
    assert_eq!((&image["type"], &image["seq"]), (&json!("image"), &json!(6)));

    // A live change arrives in the middle of it, without the name of the replay.
    push_hub.push("derby", [goal(6)]).await;
    let is_live = |frame: &Value| is_data(frame) && frame["replay"].is_null();
    let mut texts = FrameTexts::default();
    read_until(&mut client, &mut texts, is_live).await;
    let change = parse(&texts.channel(name)[0]);
    assert!(change["seq"].as_u64() > Some(live.seq), "{change}");

    let on = json!({"op": "replay", "id": 5, "replay": "r1", "pause": false, "speed": "max"});
    client.send(&on).await;
    let (rest, why) = read_replay(&mut client, "r1").await;
    assert_eq!(why, "end");
    let rest: Vec<Value> = rest.channel(name).iter().map(|text| parse(text)).collect();
    for (update, seq) in iter::zip(&rest, 7_u64..) {
        assert_eq!((&update["seq"], &update["prev"]), (&json!(seq), &json!(seq - 1)), "{update}");
    }
    assert!(rest.last().and_then(|it| it["seq"].as_u64()) >= Some(live.seq), "{rest:?}");
    let unknown = client.ask(&pause).await;
    assert_eq!((&unknown["type"], &unknown["code"]), (&json!("error"), &json!("not_tracked")));
}

fn is_image(frame: &Value) -> bool {
    frame["type"] == "image" && frame["replay"] == "r1" && frame["seq"] == 6
}

#[tokio::test]
async fn film_survives_a_kill_without_a_gap_or_a_doubled_frame() {
    let mut push_hub = PushHub::start();
    let mut client = push_hub.follow_all().await;
    push_hub.push("derby", kick_off("derby")).await;
    push_hub.push("derby", play(1..=3)).await;
    let mut live = FrameTexts::default();
    let name = first_match(&mut client, &mut live).await;
    // A part of the film is on disk, and a part is only in the log.
    push_hub.film_until(&name, |film| last_seq(film, &name) > Some(1)).await;
    push_hub.push("derby", play(4..=6)).await;
    let is_sixth = |frame: &Value| {
        let events = frame["events"].as_array().into_iter().flatten();
        frame["ch"] == name && events.into_iter().any(|event| event["eid"] == "g6")
    };
    read_until(&mut client, &mut live, is_sixth).await;
    push_hub.own_hub().kill();
    push_hub.restart();
    push_hub.push("derby", play(7..=9)).await;
    push_hub.push("derby", [status("finished")]).await;
    let is_over = |document: &Value| document["data"]["life"] == "ended";
    let path = format!("/stream/v1/channels/{name}");
    let document = push_hub.hub.json_until(&push_hub.key, &path, is_over).await;
    let end = document["seq"].as_u64();
    let film = push_hub.film_until(&name, |film| last_seq(film, &name) >= end).await;
    let channels = film["channels"].as_array().expect("channels");
    let epochs = channels.iter().filter(|channel| channel["ch"] == *name).count();
    assert_eq!(epochs, 1, "it goes on as the same channel: {film}");

    let replay = json!({"from": "start", "speed": "max"});
    let command = json!({"op": "subscribe", "id": 1, "chs": channels_of(&film), "replay": replay});
    let mut reader = push_hub.connect().await;
    let answer = reader.ask(&command).await;
    assert_eq!(answer["replay"], "r1", "{answer}");
    let (played, why) = read_replay(&mut reader, "r1").await;
    assert_eq!(why, "end");
    for (ch, frames) in &played.0 {
        let seen = live.channel(ch);
        assert_eq!(&frames[..seen.len()], seen, "{ch} before the kill");
        let frames: Vec<Value> = frames.iter().map(|text| parse(text)).collect();
        assert_eq!(frames[0]["type"], "image", "{ch}");
        for pair in frames.windows(2) {
            assert_eq!(pair[1]["type"], "update", "{ch}: {}", pair[1]);
            assert_eq!(pair[0]["seq"], pair[1]["prev"], "{ch}: {}", pair[1]);
        }
    }
    let goals = played.channel(&name).iter().flat_map(|text| {
        let frame = parse(text);
        let events = frame["events"].as_array().cloned().unwrap_or_default();
        events.into_iter().filter(|event| event["kind"] == "goal").map(|it| it["eid"].clone())
    });
    let goals: Vec<Value> = goals.collect();
    assert_eq!(goals, (1..=9).map(|it| json!(format!("g{it}"))).collect::<Vec<_>>());
}

#[tokio::test]
async fn film_that_was_lost_begins_again_with_images_of_all_channels() {
    let mut push_hub = PushHub::start();
    let mut client = push_hub.follow_all().await;
    push_hub.push("derby", kick_off("derby")).await;
    push_hub.push("derby", play(1..=3)).await;
    let mut live = FrameTexts::default();
    let name = first_match(&mut client, &mut live).await;
    push_hub.own_hub().stop();
    let folders = std::fs::read_dir(push_hub.hub.folder.path()).expect("a folder");
    let mut folders = folders.map(|entry| entry.expect("an entry").path());
    let log = folders.find(|path| path.to_string_lossy().ends_with("-log")).expect("the log");
    std::fs::remove_dir_all(log.join("films/football")).expect("there are films");
    push_hub.restart();

    push_hub.push("derby", [goal(4)]).await;
    let film = push_hub.film_until(&name, |film| channels_of(film).len() == 3).await;
    let mut reader = push_hub.connect().await;
    let replay = json!({"from": "start", "speed": "max"});
    let command = json!({"op": "subscribe", "id": 1, "chs": channels_of(&film), "replay": replay});
    assert_eq!(reader.ask(&command).await["replay"], "r1");
    let (played, why) = read_replay(&mut reader, "r1").await;
    assert_eq!((why, played.0.len()), (json!("end"), 3));
    for (ch, frames) in &played.0 {
        let image = parse(&frames[0]);
        let path = format!("/stream/v1/channels/{ch}");
        let document = push_hub.hub.json(&push_hub.key, &path).await;
        assert_eq!(
            (&image["type"], &image["epoch"]),
            (&json!("image"), &document["epoch"]),
            "{ch}"
        );
        if ch != &name {
            assert_eq!((&image["seq"], &image["data"]), (&document["seq"], &document["data"]));
        }
    }
}

#[tokio::test]
async fn running_match_is_played_from_the_kick_off_and_resumed_live() {
    let push_hub = PushHub::start();
    let mut client = push_hub.follow_all().await;
    push_hub.push("derby", kick_off("derby")).await;
    push_hub.push("derby", play(1..=3)).await;
    let name = first_match(&mut client, &mut FrameTexts::default()).await;
    let film = push_hub.film_until(&name, |film| last_seq(film, &name) > Some(1)).await;
    assert_eq!(film["running"], true);
    push_hub.push("derby", play(4..=6)).await;

    let mut client = push_hub.connect().await;
    let replay = json!({"from": "start", "speed": "max"});
    let command = json!({"op": "subscribe", "id": 1, "ch": name, "replay": replay});
    client.send(&command).await;
    let end = client.next_of("replay_end").await;
    assert_eq!(end, json!({"type": "replay_end", "replay": "r1", "why": "end"}));
    // The client has applied the replayed frames as live ones, so it resumes at the last of them.
    client.subscribe(&name).await;
    let is_live = |frame: &&Value| frame["type"] == "subscribed" && frame["replay"].is_null();
    client.until(|client| client.others.iter().any(|it| is_live(&it))).await;
    let answer = client.others.iter().find(is_live).expect("a response");
    assert_eq!(answer["resumed"], true, "{answer}");
    push_hub.push("derby", [goal(7)]).await;
    let eids = |client: &Client| {
        let goals = client.channels[&name].events.iter().filter(|it| it["kind"] == "goal");
        goals.map(|goal| goal["eid"].clone()).collect::<Vec<_>>()
    };
    client.until(|client| eids(client).contains(&json!("g7"))).await;
    assert_eq!(eids(&client), (1..=7).map(|it| json!(format!("g{it}"))).collect::<Vec<_>>());
    let mut whole = push_hub.connect().await;
    whole.subscribe(&name).await;
    whole.next_of("image").await;
    assert_eq!(client.channels[&name].data, whole.channels[&name].data);
}

#[tokio::test]
async fn replay_frames_match_the_document() {
    let (push_hub, name) = PushHub::with_film().await;
    let document = push_hub.hub.get("/api/asyncapi/").await.json();
    let check = |message: &str, value: &Value| {
        let schema = &document["components"]["messages"][message]["payload"];
        assert_eq!(problems(&document, schema, value), [""; 0], "{message}: {value}");
    };
    let mut client = push_hub.connect().await;
    let hello = client.next_of("hello").await;
    check("hello", &hello);
    assert_eq!(hello["features"], json!(["batch", "hash", "pick", "replay"]));
    let replay = json!({"from": "start", "speed": 100});
    for (message, command) in [
        (
            "streamSubscribeReplay",
            json!({"op": "subscribe", "id": 1, "ch": name, "replay": replay}),
        ),
        (
            "streamSubscribeReplay",
            // Slow, so that it has not ended before it is changed.
            json!({"op": "subscribe", "id": 2, "chs": [name, "football/1"],
                "replay": {"speed": 0.1}}),
        ),
        (
            "streamReplay",
            json!({"op": "replay", "id": 3, "replay": "r2", "pause": true, "speed": "max",
                "seek": {"ch": name, "seq": 2}}),
        ),
        ("streamUnsubscribeReplay", json!({"op": "unsubscribe", "id": 4, "replay": "r2"})),
    ] {
        check(message, &command);
        client.send(&command).await;
    }
    let (mut ends, mut kinds) = (0, BTreeMap::new());
    while ends < 2 {
        let frame = parse(&client.next_text().await.expect("the connection lasts"));
        let kind = frame["type"].as_str().expect("a type").to_owned();
        let message = match kind.as_str() {
            "subscribed" => "replaySubscribed",
            "unsubscribed" => "replayUnsubscribed",
            "replay_end" => "replayEnd",
            kind => kind,
        };
        check(message, &frame);
        ends += u64::from(kind == "replay_end");
        *kinds.entry(kind).or_insert(0) += 1;
    }
    assert_eq!((kinds["subscribed"], kinds["unsubscribed"]), (3, 1), "{kinds:?}");
    assert!(kinds.contains_key("image") && kinds.contains_key("update"), "{kinds:?}");
}

#[tokio::test]
async fn replays_need_the_add_ons_of_the_live_channels() {
    let (push_hub, name) = PushHub::with_film().await;
    let hub = &push_hub.hub;

    let without = hub.key(&["sports", "odds"]);
    let mut client = Client::connect(&hub.address, &without).await;
    let Closed(closed) = client.until_closed().await;
    assert_eq!(closed.map(|(code, _)| code), Some(4402));
    assert_eq!(hub.get_as(&without, "/stream/v1/replays/").await.status, 402);
    assert_eq!(hub.get("/stream/v1/replays/").await.status, 401);

    let only_socket = hub.key(&["websocket"]);
    let unknown = hub.get_as(&only_socket, "/stream/v1/replays/?sport=chess").await;
    assert_eq!(unknown.status, 400, "{unknown:?}");
    let list = hub.json(&only_socket, "/stream/v1/replays/").await;
    let listed = channels_of(film(&list, name).expect("the match is listed"));
    let book = format!("{name}/odds/acmebet");
    assert!(listed.contains(name) && !listed.contains(&book), "{list}");
    let mut client = Client::connect(&hub.address, &only_socket).await;
    let command = json!({"op": "subscribe", "id": 1, "ch": book, "replay": {}});
    let refusal = client.ask(&command).await;
    assert_eq!((&refusal["type"], &refusal["code"]), (&json!("error"), &json!("not_entitled")));
    let command = json!({"op": "subscribe", "id": 2, "chs": [name, book], "replay": {}});
    let answer = client.ask(&command).await;
    assert_eq!(answer["chs"][&book]["error"], "not_entitled", "{answer}");
    assert!(answer["chs"][name]["seq"].is_u64(), "{answer}");
}
