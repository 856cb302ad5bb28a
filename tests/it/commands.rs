//! The commands of a client on the socket, and their responses.

use std::collections::BTreeSet;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{
    Message,
    protocol::frame::{
        CloseFrame, Frame,
        coding::{CloseCode, Data, OpCode},
    },
};

use crate::support::{
    Client, Closed, Hub, QUIET, Setting, ended,
    feed::{self, Market},
};

async fn quiet() -> (Hub, Client) {
    let hub = Hub::start_with(&["serve"], &[QUIET]);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut client = Client::connect(&hub.address, &key).await;
    client.next_of("hello").await;
    (hub, client)
}

/// The socket still works.
async fn stays_open(client: &mut Client) {
    let pong = client.ask(&json!({"op": "ping", "id": "still there?"})).await;
    assert_eq!(pong["type"], "pong");
}

/// A hub that waits with these lines until a client follows them.
fn held(lines: &[String], settings: &[Setting]) -> (Hub, String) {
    let folder = std::sync::Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let path = feed::write(folder.path(), "feed.json", lines);
    let path = path.to_str().expect("a path of text");
    let arguments = ["replay", "--speed", "max", "--hold", path];
    let hub = Hub::start_in_with(folder, &arguments, settings);
    let key = hub.key(&crate::support::ALL_ADDONS);
    (hub, key)
}

/// The hub's HTTP image of a channel.
async fn image(hub: &Hub, key: &str, channel: &str) -> Value {
    hub.get(&format!("/stream/v1/channels/{channel}?token={key}")).await.json()
}

#[tokio::test]
async fn hello_comes_first_with_its_fields() {
    let settings = [QUIET, ("FANOUT_CHANNELS_MAX", "7"), ("FANOUT_BEAT_MS", "1234")];
    let hub = Hub::start_with(&["serve"], &settings);
    let mut client = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    let hello = client.next().await.expect("a frame");
    assert_eq!(hello["type"], "hello");
    assert!(hello["conn"].as_str().is_some_and(|conn| !conn.is_empty()), "{hello}");
    assert_eq!(hello["server"], concat!("matchwire/", env!("CARGO_PKG_VERSION")));
    assert!(hello["now"].as_i64().is_some_and(|now| now > 1_700_000_000_000_000), "{hello}");
    assert_eq!(hello["beat_ms"], 1234);
    let limits =
        json!({"channels": 7, "patterns": 1000, "command_bytes": 16384, "from_bytes": 262144});
    assert_eq!(hello["limits"], limits);
}

#[tokio::test]
async fn mistakes_are_answered_and_the_socket_stays() {
    let (_hub, mut client) = quiet().await;
    let mut check = async |text: &str, id: Value, code: &str| {
        client.send_text(text).await;
        let error = client.next_of("error").await;
        assert_eq!((&error["id"], &error["code"]), (&id, &json!(code)), "{text}: {error}");
        assert_eq!(error["retry"], code == "not_tracked", "{text}: {error}");
        assert!(error["message"].is_string(), "{text}: {error}");
    };
    let long = format!(r#"{{"op":"ping","id":"{}"}}"#, "x".repeat(65));
    for (text, id, code) in [
        ("", Value::Null, "bad_command"),
        ("hello", Value::Null, "bad_command"),
        ("{\"op\":\"ping\"", Value::Null, "bad_command"),
        ("[1]", Value::Null, "bad_command"),
        ("null", Value::Null, "bad_command"),
        ("{}", Value::Null, "bad_command"),
        (r#"{"op":7,"id":1}"#, json!(1), "bad_command"),
        (r#"{"op":"dance","id":2}"#, json!(2), "bad_command"),
        (r#"{"op":"subscribe","id":"a"}"#, json!("a"), "bad_command"),
        (r#"{"op":"subscribe","id":3,"ch":["feeds"]}"#, json!(3), "bad_command"),
        (r#"{"op":"subscribe","id":4,"ch":""}"#, json!(4), "bad_channel"),
        (r#"{"op":"subscribe","id":5,"ch":"football//1"}"#, json!(5), "bad_channel"),
        (r#"{"op":"subscribe","id":6,"ch":"foot ball"}"#, json!(6), "bad_channel"),
        (r#"{"op":"subscribe","id":7,"ch":"football/**"}"#, json!(7), "bad_channel"),
        (r#"{"op":"subscribe","id":8,"ch":"football/nobody"}"#, json!(8), "not_tracked"),
        (r#"{"op":"subscribe","id":9,"ch":"feeds","from":1}"#, json!(9), "bad_command"),
        (
            r#"{"op":"subscribe","id":10,"ch":"feeds","from":{"epoch":"a"}}"#,
            json!(10),
            "bad_command",
        ),
        (r#"{"op":"subscribe","id":11,"ch":"*","from":{"feeds":1}}"#, json!(11), "bad_command"),
        (r#"{"op":"subscribe","id":12,"ch":"feeds","every_ms":7}"#, json!(12), "bad_command"),
        (r#"{"op":"subscribe","id":13,"ch":"feeds","on_slow":"x"}"#, json!(13), "bad_command"),
        (r#"{"op":"subscribe","id":14,"ch":"feeds","lag":"yes"}"#, json!(14), "bad_command"),
        (r#"{"op":"unsubscribe","id":15}"#, json!(15), "bad_command"),
        (r#"{"op":"ping","id":{}}"#, Value::Null, "bad_command"),
        (&long, Value::Null, "bad_command"),
    ] {
        check(text, id, code).await;
    }
    stays_open(&mut client).await;
}

#[tokio::test]
async fn binary_message_is_refused_and_the_socket_stays() {
    let (_hub, mut client) = quiet().await;
    client.send_message(Message::binary(br#"{"op":"ping","id":1}"#.to_vec())).await;
    assert_eq!(client.next_of("error").await["code"], "bad_command");
    stays_open(&mut client).await;
}

#[tokio::test]
async fn pong_echoes_the_ping() {
    let (_hub, mut client) = quiet().await;
    for (id, t) in [(json!(1), json!(1.5)), (json!("a"), json!({"any": ["thing"]}))] {
        let pong = client.ask(&json!({"op": "ping", "id": id, "t": t})).await;
        assert_eq!((&pong["type"], &pong["t"]), (&json!("pong"), &t));
        assert!(pong["now"].is_i64(), "{pong}");
    }
    let pong = client.ask(&json!({"op": "ping", "id": 2})).await;
    assert_eq!(pong.get("t"), None);
}

#[tokio::test]
async fn subscribed_frame_states_the_options() {
    let (_hub, mut client) = quiet().await;
    let command = json!({"op": "subscribe", "id": 1, "ch": "feeds", "every_ms": 250,
        "on_slow": "resync", "lag": true, "a field": "of later"});
    let subscribed = client.ask(&command).await;
    assert_eq!(subscribed["type"], "subscribed");
    assert_eq!(subscribed["every_ms"], 250);
    assert_eq!(subscribed["on_slow"], "resync");
    assert_eq!(subscribed["resumed"], false);
    assert_eq!(subscribed.get("why"), None);
    let image = client.next_of("image").await;
    for field in ["ch", "epoch", "seq"] {
        assert_eq!(image[field], subscribed[field], "{field}");
    }
    let subscribed = client.ask(&json!({"op": "subscribe", "id": 2, "ch": "*"})).await;
    assert_eq!((&subscribed["channels"], &subscribed["on_slow"]), (&json!(2), &json!("merge")));
    assert_eq!((subscribed.get("epoch"), subscribed.get("seq")), (None, None));
}

#[tokio::test]
async fn position_that_cannot_be_honoured_is_refused_with_its_reason() {
    let (_hub, mut client) = quiet().await;
    let known = client.ask(&json!({"op": "subscribe", "id": 0, "ch": "feeds"})).await;
    client.next_of("image").await;
    let mut check = async |epoch: &Value, seq: u64, resumed: bool, why: Option<&str>| {
        let from = json!({"epoch": epoch, "seq": seq});
        let command = json!({"op": "subscribe", "id": 1, "ch": "feeds", "from": from});
        let subscribed = client.ask(&command).await;
        assert_eq!(subscribed["resumed"], resumed, "{subscribed}");
        assert_eq!(subscribed["why"].as_str(), why, "{subscribed}");
        if !resumed {
            client.next_of("image").await;
        }
    };
    let seq = known["seq"].as_u64().expect("a number");
    check(&known["epoch"], seq, true, None).await;
    check(&known["epoch"], seq + 1, false, Some("ahead")).await;
    check(&json!("0"), seq, false, Some("epoch")).await;
    check(&json!("not an epoch"), seq, false, Some("epoch")).await;
}

#[tokio::test]
async fn exact_subscribe_again_begins_again() {
    let (_hub, mut client) = quiet().await;
    for id in 1..=2 {
        let subscribed = client.ask(&json!({"op": "subscribe", "id": id, "ch": "feeds"})).await;
        assert_eq!(subscribed["type"], "subscribed");
        assert_eq!(client.next_of("image").await["ch"], "feeds");
    }
}

#[tokio::test]
async fn wildcard_subscribe_again_begins_again_from_where_it_says() {
    let (_hub, mut client) = quiet().await;
    client.ask(&json!({"op": "subscribe", "id": 1, "ch": "*"})).await;
    // Two channels always exist: the health of sources, and signals.
    let images = [client.next_of("image").await, client.next_of("image").await];
    let mut here = json!({});
    for image in &images {
        let name = image["ch"].as_str().expect("a name");
        here[name] = json!({"epoch": image["epoch"], "seq": image["seq"]});
    }
    assert!(here["feeds"].is_object() && here["signals"].is_object(), "{images:?}");
    client.next_of("beat").await;
    client.ask(&json!({"op": "subscribe", "id": 2, "ch": "*"})).await;
    for image in &images {
        assert_eq!(client.next_of("image").await["seq"], image["seq"], "without a position");
    }
    client.next_of("beat").await;

    // Nothing has changed since: the beat confirms it, and no image is sent.
    client.ask(&json!({"op": "subscribe", "id": 3, "ch": "*", "from": here})).await;
    let next = client.next().await.expect("a frame");
    let heads = json!({"feeds": here["feeds"]["seq"], "signals": here["signals"]["seq"]});
    assert_eq!((&next["type"], &next["heads"]), (&json!("beat"), &heads));

    here["feeds"]["epoch"] = json!("0");
    client.ask(&json!({"op": "subscribe", "id": 4, "ch": "*", "from": here})).await;
    assert_eq!(client.next_of("resync").await["why"], "epoch");
    assert_eq!(client.next_of("image").await["ch"], "feeds");
}

#[tokio::test]
async fn wildcard_position_is_confirmed_at_once() {
    // The next regular beat is an hour away.
    let settings = [QUIET, ("FANOUT_BEAT_MS", "3600000"), ("FANOUT_IDLE_MS", "0")];
    let hub = Hub::start_with(&["serve"], &settings);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("*").await;
    client.next_of("beat").await;
    let mut client = Client::connect(&hub.address, &key).await.knowing(client.channels);
    client.subscribe("*").await;
    let beat = client.next_of("beat").await;
    let head = |name: &str| client.channels[name].seq;
    assert_eq!(beat["heads"], json!({"feeds": head("feeds"), "signals": head("signals")}));
    // A pattern without channels has nothing to confirm, and the response says so.
    client.ask(&json!({"op": "unsubscribe", "id": 1, "ch": "*"})).await;
    client.ask(&json!({"op": "subscribe", "id": 2, "ch": "football/*"})).await;
    assert_eq!(client.next_of("beat").await["heads"], json!({}));
}

#[tokio::test]
async fn unsubscribe_leaves_what_something_else_asks_for() {
    let (_hub, mut client) = quiet().await;
    let mut followed = async |op: &str, channel: &str| -> bool {
        let answer = client.ask(&json!({"op": op, "id": channel, "ch": channel})).await;
        assert_eq!((&answer["type"], &answer["ch"]), (&json!(format!("{op}d")), &json!(channel)));
        // A wildcard without channels requests a beat, which shows everything that is followed.
        client.send(&json!({"op": "subscribe", "id": "look", "ch": "nothing/*"})).await;
        loop {
            let beat = client.next_of("beat").await;
            if client.others.iter().any(|frame| frame["id"] == "look") {
                client.others.clear();
                return beat["heads"].get("feeds").is_some();
            }
        }
    };
    assert!(followed("subscribe", "feeds").await);
    assert!(followed("subscribe", "*").await);
    assert!(followed("unsubscribe", "*").await, "it was asked for by name as well");
    assert!(!followed("unsubscribe", "feeds").await);
    assert!(followed("subscribe", "*").await);
    assert!(followed("unsubscribe", "feeds").await, "the wildcard still covers it");
    assert!(followed("subscribe", "feeds").await);
    assert!(followed("unsubscribe", "feeds").await, "the wildcard still covers it");
    assert!(!followed("unsubscribe", "*").await);
    assert!(!followed("unsubscribe", "football/nobody").await, "it was never followed");
}

#[tokio::test]
async fn limit_of_channels_holds_for_names_and_wildcards() {
    let markets = [Market { event: 30 }, Market { event: 31 }, Market { event: 32 }];
    let lines: Vec<String> = markets.iter().map(|market| market.defined("OPEN", 0)).collect();
    let (hub, key) = held(&lines, &[("FANOUT_CHANNELS_MAX", "3")]);
    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("feeds").await;
    client.until(ended).await;

    let all = "tennis/*/odds/*";
    let answer = client.ask(&json!({"op": "subscribe", "id": 1, "ch": all})).await;
    assert_eq!((&answer["channels"], &answer["left_out"]), (&json!(2), &json!(1)), "{answer}");
    let told = client.next_of("error").await;
    assert_eq!((&told["code"], &told["ch"]), (&json!("limit"), &json!(all)));
    assert_eq!(told.get("id"), None, "it is no answer: {told}");
    let answer = client.ask(&json!({"op": "unsubscribe", "id": 5, "ch": all})).await;
    assert_eq!(answer["type"], "unsubscribed");
    let mut watcher = Client::connect(&hub.address, &key).await;
    watcher.subscribe("tennis/*/odds/betfair").await;
    watcher.until(|client| client.channels.len() == 3).await;
    let names: Vec<&String> = watcher.channels.keys().collect();
    for (name, kind) in names.into_iter().zip(["subscribed", "subscribed", "error"]) {
        let answer = client.ask(&json!({"op": "subscribe", "id": name, "ch": name})).await;
        assert_eq!(answer["type"], kind, "{answer}");
    }
    let again = client.ask(&json!({"op": "subscribe", "id": 2, "ch": "feeds"})).await;
    assert_eq!(again["type"], "subscribed", "what is followed takes no further place");
    client.ask(&json!({"op": "unsubscribe", "id": 3, "ch": "feeds"})).await;
    let last = watcher.channels.keys().next_back().expect("three channels");
    let answer = client.ask(&json!({"op": "subscribe", "id": 4, "ch": last})).await;
    assert_eq!(answer["type"], "subscribed", "a place was given up");
}

/// One `error` reports all channels that open beyond the limit, not one each.
#[tokio::test]
async fn pattern_reports_too_many_new_channels_once() {
    let lines: Vec<String> = (30..36).map(|event| Market { event }.defined("OPEN", 0)).collect();
    let (hub, key) = held(&lines, &[("FANOUT_CHANNELS_MAX", "2")]);
    let (mut client, mut watcher) =
        tokio::join!(Client::connect(&hub.address, &key), Client::connect(&hub.address, &key));
    let pattern = "tennis/*/odds/betfair";
    client.subscribe(pattern).await;
    watcher.subscribe("feeds").await;
    watcher.until(ended).await;
    let is_told = |client: &Client| client.others.iter().any(|it| it["type"] == "error");
    client.until(|client| client.channels.len() == 2 && is_told(client)).await;
    client.ask(&json!({"op": "ping", "id": 9})).await;
    assert_eq!(client.channels.len(), 2);
    let errors: Vec<&Value> = client.others.iter().filter(|it| it["type"] == "error").collect();
    let [told] = errors[..] else { panic!("not one error: {errors:?}") };
    assert_eq!((&told["code"], &told["ch"]), (&json!("limit"), &json!(pattern)));
}

#[tokio::test]
async fn patterns_have_a_separate_limit() {
    let hub = Hub::start_with(&["serve"], &[QUIET, ("FANOUT_PATTERNS_MAX", "2")]);
    let mut client = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    let mut ask = async |op: &str, ch: &str| {
        let answer = client.ask(&json!({"op": op, "id": ch, "ch": ch})).await;
        let word = answer["code"].as_str().or_else(|| answer["type"].as_str());
        word.expect("a word").to_owned()
    };
    assert_eq!(ask("subscribe", "nobody/*").await, "subscribed");
    assert_eq!(ask("subscribe", "none/*/odds").await, "subscribed");
    assert_eq!(ask("subscribe", "nothing/*").await, "limit");
    assert_eq!(ask("subscribe", "nobody/*").await, "subscribed", "it is followed already");
    assert_eq!(ask("subscribe", "feeds").await, "subscribed", "a name is no pattern");
    assert_eq!(ask("unsubscribe", "nobody/*").await, "unsubscribed");
    assert_eq!(ask("subscribe", "nothing/*").await, "subscribed", "a place was given up");
}

/// Only the part with positions may exceed the length of other commands.
#[tokio::test]
async fn long_command_is_for_positions_alone() {
    let (hub, client) = quiet().await;
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut clients = vec![client];
    clients.push(Client::connect(&hub.address, &key).await);
    clients.push(Client::connect(&hub.address, &key).await);
    let positions: serde_json::Map<String, Value> =
        (0..3_000).map(|id| (format!("football/{id}"), json!({"epoch": "a", "seq": 1}))).collect();
    let long = json!({"op": "subscribe", "id": 1, "ch": "football/*", "from": positions});
    assert!(long.to_string().len() > 100_000);
    let answer = clients[0].ask(&long).await;
    assert_eq!(answer["type"], "subscribed", "{answer}");
    let padded = json!({"op": "ping", "id": 1, "t": "x".repeat(17_000)});
    clients[1].send(&padded).await;
    let too_long: serde_json::Map<String, Value> =
        (0..9_000).map(|id| (format!("football/{id}"), json!({"epoch": "a", "seq": 1}))).collect();
    clients[2].send(&json!({"op": "subscribe", "ch": "football/*", "from": too_long})).await;
    for client in &mut clients[1..] {
        assert_eq!(client.until_closed().await, Closed(Some((4413, "command_too_large".into()))));
    }
}

#[tokio::test]
async fn ten_thousand_subscribes_are_all_answered() {
    let (hub, client) = quiet().await;
    let before = hub.memory_peak();
    let (mut sink, mut stream) = client.socket.split();
    const COUNT: u64 = 10_000;
    let sending = async {
        for id in 0..COUNT {
            let channel = if id % 2 == 0 { "feeds".to_owned() } else { format!("football/{id}") };
            let command = json!({"op": "subscribe", "id": id, "ch": channel}).to_string();
            sink.feed(Message::text(command)).await.expect("the socket takes a command");
        }
        sink.flush().await.expect("the socket takes the last command");
    };
    let reading = async {
        let mut answered = BTreeSet::new();
        while (answered.len() as u64) < COUNT {
            let message = stream.next().await.expect("it stays open").expect("it stays whole");
            let frame: Value =
                serde_json::from_str(message.to_text().expect("text")).expect("JSON");
            if let Some(id) = frame["id"].as_u64() {
                assert!(answered.insert(id), "answered twice: {frame}");
                let kind = if id % 2 == 0 { "subscribed" } else { "error" };
                assert_eq!(frame["type"], kind, "{frame}");
            }
        }
    };
    futures_util::future::join(sending, reading).await;
    let grown = hub.memory_peak() - before;
    assert!(grown < 64 << 20, "the hub took {grown} bytes for it");
}

#[tokio::test]
async fn flood_of_pings_is_answered_and_delays_no_client() {
    let (hub, client) = quiet().await;
    let (mut sink, mut stream) = client.socket.split();
    const COUNT: u32 = 50_000;
    let sending = async {
        for number in 0..COUNT {
            let payload = number.to_be_bytes().to_vec();
            sink.feed(Message::Ping(payload.into())).await.expect("the socket takes a ping");
        }
        sink.flush().await.expect("the socket takes the last ping");
    };
    let reading = async {
        // One pong may answer several pings; the latest has to be answered.
        loop {
            let message = stream.next().await.expect("it stays open").expect("it stays whole");
            if let Message::Pong(payload) = message
                && payload[..] == (COUNT - 1).to_be_bytes()
            {
                return;
            }
        }
    };
    futures_util::future::join(sending, reading).await;
    let mut other = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    stays_open(&mut other).await;
}

// ------------------------------------------------------------------------- frames of RFC 6455

#[tokio::test]
async fn message_that_is_too_large_closes_with_4413() {
    let too_large = Closed(Some((4413, "command_too_large".to_owned())));
    let (hub, mut client) = quiet().await;
    client.send_text(&"x".repeat(1 << 20)).await;
    assert_eq!(client.until_closed().await, too_large, "1 MiB");

    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut client = Client::connect(&hub.address, &key).await;
    let part = |opcode| Frame::message(vec![b' '; 10_000], OpCode::Data(opcode), false);
    client.send_message(Message::Frame(part(Data::Text))).await;
    // Longer than a command with positions may be, which shows only at the end of the message.
    for _ in 0..26 {
        client.send_message(Message::Frame(part(Data::Continue))).await;
    }
    assert_eq!(client.until_closed().await, too_large, "27 fragments");

    let mut client = Client::connect(&hub.address, &key).await;
    client.send_bytes(&[0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).await;
    client.send_bytes(&[0, 0, 0, 0]).await;
    assert_eq!(client.until_closed().await, too_large, "a length of 2^63");

    let mut client = Client::connect(&hub.address, &key).await;
    let padded = format!("{:16384}", r#"{"op":"ping","id":1}"#);
    client.send_text(&padded).await;
    assert_eq!(client.next_of("pong").await["id"], 1, "just as large as is allowed");
}

#[tokio::test]
async fn fragments_make_one_command_with_control_frames_between() {
    let (_hub, mut client) = quiet().await;
    let fragment = |text: &'static str, opcode, last| {
        Message::Frame(Frame::message(text.as_bytes(), OpCode::Data(opcode), last))
    };
    client.send_message(fragment(r#"{"op":"#, Data::Text, false)).await;
    client.send_message(Message::Ping("between".into())).await;
    client.send_message(fragment(r#""ping","#, Data::Continue, false)).await;
    client.send_message(Message::Pong("unasked".into())).await;
    client.send_message(fragment(r#""id":1}"#, Data::Continue, true)).await;
    let message = client.socket.next().await.expect("an answer").expect("a frame");
    assert_eq!(message, Message::Pong("between".into()), "a ping is answered at once");
    assert_eq!(client.next_of("pong").await["id"], 1);
}

#[tokio::test]
async fn close_is_answered_in_kind() {
    let (_hub, mut client) = quiet().await;
    let close = CloseFrame { code: CloseCode::Away, reason: "bye".into() };
    client.send_message(Message::Close(Some(close))).await;
    let Closed(Some((code, _))) = client.until_closed().await else {
        panic!("cut off without an answer");
    };
    assert_eq!(code, 1001, "a valid code is echoed");
}

#[tokio::test]
async fn broken_frames_close_with_a_protocol_error() {
    let (hub, _) = quiet().await;
    let key = hub.key(&crate::support::ALL_ADDONS);
    let check = async |what: &str, bytes: &[u8], code: u16| {
        let mut client = Client::connect(&hub.address, &key).await;
        client.send_bytes(bytes).await;
        match client.until_closed().await {
            Closed(Some((found, _))) => assert_eq!(found, code, "{what}"),
            Closed(None) => panic!("{what}: cut off without a close frame"),
        }
    };
    check("unmasked", &[0x81, 0x02, b'{', b'}'], 1002).await;
    check("a reserved bit", &[0xc1, 0x80, 0, 0, 0, 0], 1002).await;
    check("a reserved opcode", &[0x83, 0x80, 0, 0, 0, 0], 1002).await;
    check("a continuation of nothing", &[0x80, 0x80, 0, 0, 0, 0], 1002).await;
    check("a fragmented ping", &[0x09, 0x80, 0, 0, 0, 0], 1002).await;
    check("no UTF-8", &[0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28], 1007).await;
}

#[tokio::test]
async fn message_in_the_midst_of_another_is_a_protocol_error() {
    let (_hub, mut client) = quiet().await;
    let begun = || Message::Frame(Frame::message("{", OpCode::Data(Data::Text), false));
    client.send_message(begun()).await;
    client.send_message(begun()).await;
    assert!(matches!(client.until_closed().await, Closed(Some((1002, _)))));
}

#[tokio::test]
async fn commands_right_behind_the_handshake_are_all_carried_out() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (hub, _) = quiet().await;
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut bytes = format!(
        "GET /stream/v1?token={key} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\n\
         upgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    .into_bytes();
    const COUNT: usize = 100;
    for id in 0..COUNT {
        let command = json!({"op": "ping", "id": format!("id-{id}")}).to_string();
        let length = u8::try_from(command.len()).expect("a short command");
        bytes.extend([0x81, 0x80 | length, 0, 0, 0, 0]);
        bytes.extend(command.bytes());
    }
    let mut stream = tokio::net::TcpStream::connect(&hub.address).await.expect("it connects");
    stream.write_all(&bytes).await.expect("it takes all at once");
    let mut seen = Vec::new();
    let last = format!("id-{}", COUNT - 1).into_bytes();
    let reading = async {
        while !seen.windows(last.len()).any(|window| window == last) {
            assert_ne!(stream.read_buf(&mut seen).await.expect("it lasts"), 0, "cut off");
        }
    };
    let read = tokio::time::timeout(crate::support::PATIENCE, reading).await;
    assert!(read.is_ok(), "not all commands were answered: {}", String::from_utf8_lossy(&seen));
}

// ------------------------------------------------------------------------------- what is followed

#[tokio::test]
async fn wildcard_covers_channels_that_open_later() {
    let (early, late) = (Market { event: 30 }, Market { event: 31 });
    let lines = [
        early.defined("OPEN", 0),
        early.traded("2.5", 1),
        late.defined("OPEN", 2),
        late.traded("3.5", 3),
        late.defined("SUSPENDED", 4),
    ];
    let (hub, key) = held(&lines, &[]);
    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("tennis/*/odds/betfair").await;
    client.subscribe("feeds").await;
    client.until(ended).await;
    assert_eq!(client.others[1]["channels"], 0, "nothing was there to be covered at first");
    let books = client.channels.iter().filter(|(name, _)| *name != "feeds");
    let books: Vec<_> = books.collect();
    assert_eq!(books.len(), 2);
    for (name, book) in books {
        assert_eq!(book.data, image(&hub, &key, name).await["data"], "{name}");
    }
    let suspends = client.channels.values().flat_map(|book| &book.events);
    assert_eq!(suspends.filter(|event| event["kind"] == "suspend").count(), 1);
}

#[tokio::test]
async fn channel_covered_by_several_subscriptions_is_delivered_once() {
    // No client falls behind, however busy the machine is: a client that falls behind and requests
    // an image misses the events before it.
    let settings = [("FANOUT_OUTBOX_BYTES", "67108864"), ("FANOUT_OUTBOX_AGE_MS", "600000")];
    let (hub, key) = held(&Market { event: 30 }.busy(10_000, 100), &settings);
    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("tennis/*/odds/betfair").await;
    client.subscribe("feeds").await;
    client.next_of("image").await;
    client.until(|client| client.channels.keys().any(|name| name.starts_with("tennis/"))).await;
    let book = client.channels.keys().find(|name| name.starts_with("tennis/")).cloned();
    let book = book.expect("a book");
    for pattern in [&book, "*/*/odds/*", &book, "tennis/*/*/betfair", "feeds"] {
        client.send(&json!({"op": "subscribe", "id": 1, "ch": pattern})).await;
    }
    // The client itself fails at a repeated update or event, and at a gap.
    client.until(ended).await;
    let answers = client.others.iter().filter(|frame| frame["type"] == "subscribed");
    assert_eq!(answers.count(), 7);
    let image = image(&hub, &key, &book).await;
    assert_eq!(client.channels[&book].data, image["data"]);
    // Each subscription starts with an image, which includes everything up to then; from the last
    // of them on every event arrives. A suspension is every second transition of its market.
    let suspended = client.channels[&book].events.iter().filter(|it| it["kind"] == "suspend");
    let number =
        |event: &Value| -> Option<u32> { event["eid"].as_str()?.rsplit_once(':')?.1.parse().ok() };
    let numbers: Vec<_> = suspended.map(|event| number(event).expect("a number")).collect();
    let first = numbers.first().copied().expect("suspensions after the last image");
    assert_eq!(numbers, (first..=200).step_by(2).collect::<Vec<_>>());
}

#[tokio::test]
async fn beats_state_the_position_of_each_channel() {
    let (hub, key) = held(&Market { event: 30 }.busy(5_000, 100), &[("FANOUT_BEAT_MS", "1")]);
    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("tennis/*/odds/*").await;
    client.subscribe("feeds").await;
    client.until(ended).await;
    // The client compares every beat with the delivered frames; here, that beats arrive and cover
    // everything.
    loop {
        let beat = client.next_of("beat").await;
        let heads = beat["heads"].as_object().expect("an object").clone();
        if heads.len() == client.channels.len() {
            assert!(beat["now"].is_i64(), "{beat}");
            return;
        }
    }
}

#[tokio::test]
async fn socket_that_follows_nothing_gets_no_beat() {
    let hub = Hub::start_with(&["serve"], &[QUIET, ("FANOUT_BEAT_MS", "1")]);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut idle = Client::connect(&hub.address, &key).await;
    let mut follower = Client::connect(&hub.address, &key).await;
    follower.subscribe("feeds").await;
    for _ in 0..5 {
        follower.next_of("beat").await;
    }
    idle.ask(&json!({"op": "ping", "id": 1})).await;
    assert!(idle.others.iter().all(|frame| frame["type"] != "beat"), "{:?}", idle.others);
}
