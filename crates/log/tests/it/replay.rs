//! Replays over real sockets: a fan-out, a host with films, and clients that speak the stream protocol.

mod world;

use fanout::{Classes, Permission, permission::PermissionPeriod};
use log::film::ReplaySettings;
use serde_json::{Value, json};

use self::world::{BOOK, CONSENSUS, MATCH, OTHER, START, World};

const SETTINGS: ReplaySettings = ReplaySettings {
    threads: 2,
    replays_max: 8,
    replays_max_per_account: 6,
    channels_max: 4,
    films_max: 3,
    idle_us: 60_000_000,
};

/// A subscribe to a replay.
fn replay(id: u32, channel: &str, replay: &Value) -> Value {
    json!({"op": "subscribe", "id": id, "ch": channel, "replay": replay})
}

#[test]
fn replay_at_full_speed_is_what_was_published() {
    let world = World::new(SETTINGS, 300);
    let mut client = world.connect(Permission::EVERYTHING);
    assert_eq!(client.next()["features"], json!(["batch", "hash", "pick", "replay"]));
    client.send(&replay(1, MATCH, &json!({"speed": "max"})));
    let last = world.last_at(MATCH);
    let expected = json!({"type": "subscribed", "id": 1, "ch": MATCH, "epoch": "1", "seq": 0,
        "replay": "r1", "span": {"first": START, "last": last}, "at": START, "speed": "max",
        "paused": false});
    assert_eq!(client.next(), expected);
    for published in world.frames(&[MATCH]) {
        let text = published.strip_suffix('}').expect("an object");
        assert_eq!(client.next_text(), format!(r#"{text},"replay":"r1"}}"#));
    }
    assert_eq!(client.next(), json!({"type": "replay_end", "replay": "r1", "why": "end"}));
    world.until_replays(0);
}

#[test]
fn several_channels_share_one_clock() {
    let world = World::new(SETTINGS, 120);
    let mut client = world.client();
    let chs = [MATCH, OTHER, BOOK, "football/99"];
    let command = json!({"op": "subscribe", "id": 1, "chs": chs, "replay": {"speed": "max"}});
    client.send(&command);
    let subscribed = client.next();
    assert_eq!(subscribed["chs"]["football/99"], json!({"error": "not_tracked"}));
    assert_eq!(subscribed["chs"][MATCH], json!({"epoch": "1", "seq": 0}));
    let frames = client.until_end("r1");
    let texts: Vec<String> = frames.iter().map(|frame| frame["at"]["pub"].to_string()).collect();
    assert!(texts.is_sorted(), "{texts:?}");
    assert_eq!(frames.len(), world.frames(&[MATCH, OTHER, BOOK]).len());
}

#[test]
fn pause_speed_and_seek_change_a_running_replay() {
    let world = World::new(SETTINGS, 100);
    let mut client = world.client();
    // A tenth of the speed: the second frame would come after ten seconds.
    client.send(&replay(1, MATCH, &json!({"from": "start", "speed": 0.1})));
    assert_eq!(client.next()["speed"], json!(0.1));
    assert_eq!(client.next()["type"], "image");
    client.send(&json!({"op": "replay", "id": 2, "replay": "r1", "pause": true, "speed": "max"}));
    let changed = client.next();
    assert_eq!((&changed["id"], &changed["paused"]), (&json!(2), &json!(true)));
    // Nothing comes, although it is as fast as possible, but the image of a seek.
    for (id, seek, seq) in [(3, json!({"seq": 40}), 40), (4, json!({"at": world.at(MATCH, 7)}), 7)]
    {
        client.send(&json!({"op": "replay", "id": id, "replay": "r1", "seek": seek}));
        let subscribed = client.next();
        assert_eq!((&subscribed["id"], &subscribed["seq"]), (&json!(id), &json!(seq)));
        assert_eq!(subscribed["at"], world.at(MATCH, seq));
        let image = client.next();
        assert_eq!((&image["type"], &image["seq"]), (&json!("image"), &json!(seq)));
        assert_eq!(image["replay"], "r1");
        assert_eq!(image["data"], world.document(MATCH, seq));
        client.expect_silence();
    }
    client.send(&json!({"op": "replay", "id": 5, "replay": "r1", "pause": false}));
    assert_eq!(client.next()["paused"], false);
    let rest = client.until_end("r1");
    let seqs: Vec<&Value> = rest.iter().map(|frame| &frame["seq"]).collect();
    assert_eq!(seqs, (8..=100).map(Value::from).collect::<Vec<_>>().iter().collect::<Vec<_>>());
    client.send(&json!({"op": "replay", "id": 6, "replay": "r1", "pause": true}));
    assert_eq!(client.next()["code"], "not_tracked", "it has ended");
}

#[test]
fn replays_and_a_live_subscription_of_one_channel_stand_on_one_socket() {
    let world = World::new(SETTINGS, 60);
    let mut client = world.client();
    client.send(&json!({"op": "subscribe", "id": 1, "ch": MATCH}));
    assert_eq!(client.next()["seq"], 0);
    assert_eq!(client.next()["type"], "image");
    client.send(&replay(2, MATCH, &json!({"from": {"seq": 30}, "speed": "max"})));
    client.send(&replay(3, MATCH, &json!({"from": {"at": world.at(MATCH, 10)}, "speed": "max"})));
    for _ in 0..20 {
        world.publish(MATCH);
    }
    let (mut live, mut first, mut second, mut ends) = (Vec::new(), Vec::new(), Vec::new(), 0);
    while ends < 2 || live.len() < 20 {
        let frame = client.next();
        let seq = || frame["seq"].as_u64().expect("a number");
        match (frame["type"].as_str(), frame["replay"].as_str()) {
            (Some("update"), None) => live.push(seq()),
            (Some("replay_end"), _) => ends += 1,
            (Some("image" | "update"), Some("r1")) => first.push(seq()),
            (Some("image" | "update"), Some("r2")) => second.push(seq()),
            _ => assert_eq!(frame["type"], "subscribed"),
        }
    }
    assert_eq!(live, (1..=20).collect::<Vec<_>>());
    assert_eq!(first, (30..=60).collect::<Vec<_>>());
    assert_eq!(second, (10..=60).collect::<Vec<_>>());
}

#[test]
fn slow_reader_gets_all_frames_and_delays_no_other() {
    let world = World::new(SETTINGS, 8_000);
    let (mut slow, mut live) = (world.client(), world.client());
    live.send(&json!({"op": "subscribe", "id": 1, "ch": MATCH}));
    slow.send(&replay(1, MATCH, &json!({"speed": "max"})));
    assert_eq!(slow.next()["type"], "subscribed");
    assert_eq!(
        (&live.next()["type"], &live.next()["type"]),
        (&json!("subscribed"), &json!("image"))
    );
    // The slow one reads nothing meanwhile.
    for seq in 1..=500 {
        world.publish(MATCH);
        assert_eq!(live.next()["seq"], seq);
    }
    let sent = world.sent_frames();
    let expected = 1..6_000;
    assert!(expected.contains(&sent), "{sent} frames were sent to a socket that nobody reads");
    let seqs = slow.until_end("r1").into_iter().map(|frame| frame["seq"].as_u64());
    assert!(seqs.eq((0..=8_000).map(Some)), "every frame came, in order");
}

#[test]
fn unsubscribed_replay_ends_at_once() {
    let world = World::new(SETTINGS, 6_000);
    let mut client = world.client();
    client.send(&replay(1, MATCH, &json!({"speed": "max"})));
    client.next();
    client.send(&json!({"op": "unsubscribe", "id": 2, "replay": "r1"}));
    let mut frame = client.next();
    while frame["type"] != "unsubscribed" {
        assert_eq!(frame["replay"], "r1");
        frame = client.next();
    }
    assert_eq!(frame, json!({"type": "unsubscribed", "id": 2, "replay": "r1"}));
    let end = json!({"type": "replay_end", "replay": "r1", "why": "unsubscribed"});
    assert_eq!(client.next(), end);
    client.expect_silence();
    world.until_replays(0);
    client.send(&json!({"op": "unsubscribe", "id": 3, "replay": "r1"}));
    assert_eq!(client.next()["code"], "not_tracked");
}

#[test]
fn closed_socket_frees_its_replays() {
    let world = World::new(SETTINGS, 20);
    let mut client = world.client();
    client.send(&replay(1, MATCH, &json!({"speed": 0.1})));
    client.next();
    world.until_replays(1);
    drop(client);
    world.until_replays(0);
}

fn permission(classes: Classes) -> Permission {
    let period = PermissionPeriod { from: 0, classes, names: Vec::new() };
    Permission::new(vec![period], [].into())
}

#[test]
fn replay_needs_what_the_live_channel_needs() {
    let world = World::new(SETTINGS, 50);
    let mut client = world.connect(permission(Classes::NONE));
    client.next();
    client.send(&replay(1, BOOK, &json!({})));
    let refused = client.next();
    assert_eq!((&refused["code"], &refused["ch"]), (&json!("not_entitled"), &json!(BOOK)));
    let chs = json!([BOOK, CONSENSUS]);
    let replay = json!({"op": "subscribe", "id": 2, "chs": chs, "replay": {"speed": "max"}});
    client.send(&replay);
    assert_eq!(client.next()["chs"][BOOK], json!({"error": "not_entitled"}));
    let frames = client.until_end("r2");
    assert!(frames.len() == 51 && frames.iter().all(|frame| frame["ch"] == CONSENSUS));
}

#[test]
fn channels_leave_a_replay_when_their_entitlement_ends() {
    let world = World::new(SETTINGS, 50);
    let mut client = world.client();
    let chs = json!([BOOK, CONSENSUS]);
    let both = json!({"op": "subscribe", "id": 1, "chs": chs, "replay": {"speed": 0.1}});
    client.send(&both);
    client.send(&replay(2, BOOK, &json!({"speed": 0.1})));
    // The images of the first may come after the second has started.
    let mut kinds: Vec<Value> = (0..5).map(|_| client.next()["type"].take()).collect();
    kinds.sort_by_key(ToString::to_string);
    assert_eq!(kinds, ["image", "image", "image", "subscribed", "subscribed"]);
    world.permit(&permission(Classes::NONE));
    let entitlement = client.next();
    assert_eq!(entitlement["ended"], json!([BOOK]), "{entitlement}");
    let end = json!({"type": "replay_end", "replay": "r2", "why": "unsubscribed"});
    assert_eq!(client.next(), end);
    client.send(&json!({"op": "replay", "id": 3, "replay": "r1", "speed": "max"}));
    assert_eq!(client.next()["id"], 3);
    let frames = client.until_end("r1");
    assert!(frames.iter().all(|frame| frame["ch"] == CONSENSUS), "{frames:?}");
    assert!(frames.len() >= 49);
}

#[test]
fn limits_and_mistakes_are_answered() {
    let world = World::new(SETTINGS, 20);
    let mut client = world.client();
    let mut refused = |command: Value| {
        client.send(&command);
        client.next()["code"].clone()
    };
    assert_eq!(refused(replay(1, "football/99", &json!({}))), "not_tracked");
    assert_eq!(refused(replay(1, "football", &json!({}))), "not_tracked", "boards are not filmed");
    assert_eq!(refused(replay(1, "football/*", &json!({}))), "bad_channel");
    assert_eq!(refused(replay(1, MATCH, &json!({"speed": 1000}))), "bad_command");
    let two = json!({"op": "subscribe", "chs": [MATCH, BOOK], "replay": {"from": {"seq": 3}}});
    assert_eq!(refused(two), "bad_command", "it does not say whose sequence");
    let many: Vec<String> = (0..5).map(|number| format!("football/{number}")).collect();
    let many = json!({"op": "subscribe", "chs": many, "replay": {}});
    assert_eq!(refused(many), "limit");
    let matches = ["football/1", "tennis/2", "tennis/3", "tennis/4"];
    let many = json!({"op": "subscribe", "chs": matches, "replay": {}});
    assert_eq!(refused(many), "limit", "too many matches");
    for number in 0..7 {
        client.send(&replay(number, MATCH, &json!({"speed": 0.1})));
        let answer = client.next_of(&["subscribed", "error"]);
        assert_eq!(answer["code"] == "limit", number == 6, "{answer}");
    }
    // Refused replays do not count.
    world.until_replays(6);
}
