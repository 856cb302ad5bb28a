//! The frames that `fanout` renders and the commands that it reads, with all their fields and with none of the optional ones.
//! Frames with documents are those of the tests of the hub.

use std::collections::BTreeSet;

use fanout::{
    Classes, Epoch, Pattern, Position,
    catch_up::{Gap, Verdict},
    channel::{Channel, ChannelId, ChannelInfo},
    encode::payload,
    protocol::{
        self, BatchAnswer, Code, Coverage, HelloFrame, HelloLimits, LagFrame, Refusal,
        StreamCommand, SubscribeOptions,
    },
    replay::{ReplayChannel, ReplayChannelStatus, ReplayEnd, ReplaySpeed, ReplayState},
};
use schema::Checker;
use serde_json::{Value, json};

/// The fields of all definitions of frames, or of commands, as `subscribed.ch`.
fn declared(union: &str, tag: &str) -> BTreeSet<String> {
    let schema = schema::document();
    let names = schema["$defs"][union]["anyOf"].as_array().expect("a union").iter();
    let definitions = names.map(|branch| {
        let name = branch["$ref"].as_str().expect("a reference").trim_start_matches("#/$defs/");
        schema["$defs"][name]["properties"].as_object().expect("fields")
    });
    let fields = definitions.flat_map(|fields| {
        let word = fields[tag]["const"].as_str().expect("a word");
        fields.keys().map(move |field| format!("{word}.{field}"))
    });
    fields.collect()
}

/// The fields that these have.
fn used<'a>(messages: impl IntoIterator<Item = &'a Value>, tag: &str) -> BTreeSet<String> {
    let fields = messages.into_iter().flat_map(|message| {
        let word = message[tag].as_str().expect("a word");
        let fields = message.as_object().expect("an object").keys();
        fields.map(move |field| format!("{word}.{field}"))
    });
    fields.collect()
}

/// The options of a subscription with a pick.
fn picking(events: &str) -> SubscribeOptions {
    let command = format!(r#"{{"op":"subscribe","ch":"a","pick":["/score"],"events":{events}}}"#);
    match StreamCommand::parse(&command) {
        Ok(StreamCommand::Subscribe { options, .. }) => options,
        other => panic!("{other:?}"),
    }
}

fn channel() -> Channel {
    let (name, epoch) = (ChannelId::new("football/7"), Epoch(4_711));
    ChannelInfo { number: 1, name, epoch, deliver_last: false, needs: Classes::NONE }.into()
}

#[test]
fn every_control_frame_conforms_and_has_every_declared_field() {
    let (id, none) = (json!(7), Value::Null);
    let (options, channel) = (SubscribeOptions::default(), channel());
    let pattern = Pattern::parse("football/*").expect("a pattern");
    let limits = HelloLimits { channels: 1, patterns: 1, command_bytes: 1, from_bytes: 1 };
    let hello = |features| {
        protocol::json_frame(&HelloFrame {
            conn: "0-1",
            server: "m/1",
            now: 1,
            beat_ms: 1,
            limits,
            features,
        })
    };
    let part = Coverage { followed: 1, not_entitled: 2, left_out: 3 };
    let offer = json!({"addon": "sports", "price": "5.00", "currency": "USD"});
    let refusal = Refusal::new(&id, Code::NotEntitled, "no").about("football/7");
    let answers: Vec<(Box<str>, BatchAnswer)> = vec![
        ("football/7".into(), BatchAnswer::channel(&channel, 1, Verdict::Refused(Gap::Window))),
        ("football/8".into(), BatchAnswer::channel(&channel, 1, Verdict::Resumed)),
        ("football/*".into(), BatchAnswer::pattern(part)),
        ("darts/1".into(), BatchAnswer::refused(Code::NotEntitled, vec![offer.clone()])),
    ];
    let heads = [(&channel.name, 3)];
    let played = |name, status| ReplayChannel { name: ChannelId::new(name), status };
    let position = Some(Position { epoch: Some(channel.epoch), seq: 1 });
    let needs = Classes::NONE;
    let replay =
        |channels, speed| ReplayState { channels, span: (1, 2), at: 1, speed, is_paused: true };
    let open = played("football/7", ReplayChannelStatus::Played { needs, position });
    let closed = played("football/8", ReplayChannelStatus::Played { needs, position: None });
    let unknown = played("football/9", ReplayChannelStatus::NotTracked);
    let one = replay(vec![open.clone()], ReplaySpeed::Unlimited);
    let several = replay(vec![open, closed, unknown], ReplaySpeed::Thousandths(1_500));
    let mut frames = vec![
        hello(&[]),
        hello(&["replay"]),
        protocol::subscribed(&id, &options, &channel, 3, None),
        protocol::subscribed(&none, &options, &channel, 3, Some(Ok(()))),
        protocol::subscribed_all(&id, &options, &pattern, part),
        protocol::subscribed_all(&id, &options, &pattern, Coverage::default()),
        protocol::subscribed_batch(&id, &options, &answers),
        protocol::subscribed(&id, &picking("[\"goal\"]"), &channel, 3, None),
        protocol::subscribed_batch(&id, &picking("false"), &answers),
        protocol::unsubscribed(&id, "football/7"),
        protocol::unsubscribed_batch(&id, &["football/7".into()]),
        protocol::channel_gone("football/7", None),
        protocol::channel_gone("football/7", Some("r1")),
        protocol::entitlement(&["websocket", "sports"], &["darts/1"], 1),
        protocol::pong(&none, None, 1),
        protocol::pong(&json!("a"), Some(&json!({"own": 1})), 1),
        protocol::hash(&id, &channel, 1, &"0f".repeat(32)),
        protocol::beat(1, &heads, false),
        protocol::beat(1, &heads, true),
        protocol::stale(1),
        protocol::json_frame(&LagFrame { queued_bytes: 1, oldest_ms: 1, merged: 1 }),
        protocol::error(&Refusal::new(&none, Code::BadCommand, "no")),
        protocol::error(&refusal.with_offers(vec![offer])),
        protocol::replay_subscribed(&id, 1, false, &one),
        protocol::replay_subscribed(&id, 1, true, &several),
        protocol::replay_unsubscribed(&id, 1),
    ];
    let gaps = Gap::ALL
        .map(|gap| protocol::subscribed(&id, &options, &channel, 3, Some(Err(gap.as_str()))));
    frames.extend(gaps);
    frames.extend(["slow", "epoch", "gap"].map(|why| protocol::resync("football/7", why, 1, 2)));
    frames.extend(Code::ALL.map(|code| protocol::error(&Refusal::new(&id, code, "no"))));
    frames.extend(["drain", "slow", "idle", "token_revoked"].map(|why| protocol::bye(why, 1)));
    frames.extend(ReplayEnd::ALL.map(|why| protocol::replay_end(1, why)));

    let checker = Checker::new();
    let frames = frames.iter().map(|frame| {
        let frame: Value = serde_json::from_slice(&payload(frame)).expect("a frame is JSON");
        checker.check_frame(&frame).unwrap_or_else(|wrong| panic!("{wrong}"));
        frame
    });
    let frames: Vec<Value> = frames.collect();
    let (mut declared, used) = (declared("Frame", "type"), used(&frames, "type"));
    // Images and updates are rendered by the hub.
    declared.retain(|field| !field.starts_with("image.") && !field.starts_with("update."));
    assert_eq!(used, declared);
}

#[test]
fn every_declared_command_is_read() {
    let checker = Checker::new();
    let position = json!({"epoch": "k3f9", "seq": 8});
    let commands = [
        json!({"op": "subscribe", "ch": "football/7"}),
        json!({"op": "subscribe", "id": 1, "ch": "football/7", "from": position, "every_ms": 250,
            "on_slow": "close", "lag": true, "pick": ["/score"], "events": true}),
        json!({"op": "subscribe", "id": "a", "ch": "football/*", "from": {"football/7": position}}),
        json!({"op": "subscribe", "id": 1, "chs": ["football/*", {"ch": "football/7", "from": position},
            {"ch": "darts/*", "from": {"darts/7": position}}], "every_ms": 0, "on_slow": "merge", "lag": false,
            "pick": ["/score", "/matches/*/score"], "events": false}),
        json!({"op": "set", "id": 2, "ch": "football", "every_ms": 100, "on_slow": "resync", "lag": true,
            "pick": ["/score"], "events": ["goal"]}),
        json!({"op": "set", "ch": "football", "pick": null}),
        json!({"op": "unsubscribe", "id": 1, "ch": "football"}),
        json!({"op": "unsubscribe", "id": 1, "chs": ["football", "darts/*"]}),
        json!({"op": "hash", "id": 1, "ch": "football"}),
        json!({"op": "ping", "id": 1.5, "t": [1]}),
        json!({"op": "subscribe", "id": 1, "ch": "football/7", "replay": {"from": "start", "speed": "max"}}),
        json!({"op": "subscribe", "id": 1, "chs": ["football/7"], "replay": {"from": {"at": 1}, "speed": 0.1}}),
        json!({"op": "replay", "id": 1, "replay": "r1", "pause": true, "speed": 100,
            "seek": {"seq": 1, "ch": "football/7", "epoch": "k3f9"}}),
        json!({"op": "unsubscribe", "id": 1, "replay": "r1"}),
    ];
    for command in &commands {
        checker.check("Command", command).unwrap_or_else(|wrong| panic!("{wrong}"));
        StreamCommand::parse(&command.to_string())
            .unwrap_or_else(|refusal| panic!("{command}: {refusal:?}"));
    }
    assert_eq!(used(&commands, "op"), declared("Command", "op"));
    for (definition, command) in [
        ("Command", json!({"op": "subscribe"})),
        ("Command", json!({"op": "dance"})),
        ("Command", json!({"op": "subscribe", "ch": "a", "every_ms": 7})),
        ("Command", json!({"op": "subscribe", "ch": "a", "on_slow": "skip"})),
        ("Command", json!({"op": "subscribe", "ch": "a", "from": 7})),
        ("Command", json!({"op": "subscribe", "ch": "a", "pick": ["score"]})),
        ("Command", json!({"op": "set", "ch": "a", "pick": []})),
        ("Command", json!({"op": "set", "ch": "a", "events": 7})),
        ("Command", json!({"op": "subscribe", "chs": []})),
        ("SubscribeReplayCommand", json!({"op": "subscribe", "ch": "a", "replay": {"speed": 101}})),
        ("Command", json!({"op": "replay", "replay": 1})),
        ("Command", json!({"op": "ping", "id": {}})),
    ] {
        assert!(checker.check(definition, &command).is_err(), "{command}");
        assert!(StreamCommand::parse(&command.to_string()).is_err(), "{command}");
    }
}
