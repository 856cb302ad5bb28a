//! The two older sockets, `/live/football/` and `/ws/live/`, with a typical existing client: it
//! reads `type` and the fields it knows, by match id, and sends `action`.

mod document;
pub(crate) mod legacy_client;
mod push_hub;

use futures_util::SinkExt;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use self::{legacy_client::LegacyClient, push_hub::PushHub};
use crate::support::{Hub, Setting, shared};

#[tokio::test]
async fn key_is_accepted_in_query_and_subprotocol_and_never_selected() {
    let hub = Hub::quiet();
    let key = hub.key(&crate::support::ALL_ADDONS);
    for path in ["/live/football/", "/live/football", "/ws/live/", "/ws/live"] {
        let mut client = LegacyClient::connect(&hub, &format!("{path}?token={key}"), None).await;
        client.send(&json!({"action": "ping"})).await;
        assert_eq!(client.next().await, Ok(json!({"type": "pong"})), "{path}");
        let mut client = LegacyClient::connect(&hub, path, Some(&format!("token, {key}"))).await;
        assert_eq!(client.handshake.headers()["sec-websocket-protocol"], "token", "{path}");
        client.send(&json!({"action": "ping"})).await;
        assert_eq!(client.next().await, Ok(json!({"type": "pong"})), "{path}");
    }
}

#[tokio::test]
async fn unauthorized_client_gets_an_error_and_is_closed() {
    let hub = Hub::quiet();
    let wrong = format!("mw_{}", "0".repeat(48));
    for path in ["/live/football/", "/ws/live/"] {
        let check = async |path: &str, code: &str, close: u16| {
            let client = LegacyClient::connect(&hub, path, None).await;
            assert_eq!(client.refused().await, (json!(code), close), "{path}");
        };
        check(path, "auth_required", 4401).await;
        check(&format!("{path}?token={wrong}"), "auth_failed", 4401).await;
        let poor = hub.key(&[]);
        check(&format!("{path}?token={poor}"), "subscription_required", 4402).await;
    }
    let key = hub.key(&crate::support::ALL_ADDONS);
    // A request there is answered in this dialect, with and without a key.
    for path in ["/live/tennis/", "/live/", "/live/football/more/", "/ws/", "/ws/live/7/", "/ws/x"]
    {
        for path in [format!("{path}?token={key}"), path.to_owned()] {
            let mut client = LegacyClient::connect(&hub, &path, None).await;
            let error = client.next().await.expect("the reason comes before the close");
            let expected = json!({"type": "error", "code": "not_found",
                "message": "there is no socket at this address"});
            assert_eq!(error, expected, "{path}: nothing that an older client does not know");
            assert_eq!(client.next().await, Err(4404), "{path}");
        }
    }
    for path in ["/stream/v2", "/lives/football/", "/wss"] {
        let mut client = LegacyClient::connect(&hub, path, None).await;
        let error = client.next().await.expect("the reason comes before the close");
        assert_eq!((&error["code"], &error["retry"]), (&json!("not_found"), &json!(false)));
        assert_eq!(client.next().await, Err(4404), "{path}");
    }
}

#[tokio::test]
async fn key_that_is_revoked_ends_the_socket() {
    let hub = Hub::quiet();
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut client = LegacyClient::football(&hub, &key).await;
    client.send(&json!({"action": "ping"})).await;
    client.next_of("pong").await;
    hub.revoke(&key);
    assert_eq!(client.next().await, Err(4410), "no frame that an older client does not know");
}

#[tokio::test]
async fn match_is_published_live() {
    let mut feed = PushHub::shared();
    let id = feed.football("one").await;
    let mut client = LegacyClient::football(&feed.hub, &feed.key).await;
    client.subscribe(id).await;
    let begun = client.next().await.expect("a snapshot");
    assert_eq!((&begun["type"], &begun["event_id"]), (&json!("subscribed"), &json!(id)), "{begun}");
    assert_eq!((&begun["source"], &begun["history"]), (&json!("basic"), &json!([])), "{begun}");
    let event = &begun["event"];
    assert_eq!(event["type"], "event");
    assert_eq!(event["score"], json!({"home": null, "away": null}), "no score has been reported");
    assert_eq!(event["home"]["name"], "Home one");
    assert_eq!(event["time"]["status"], "1st_half");
    assert_eq!(event["time"]["period"], 1);
    assert_eq!(event["time"]["kickoff_at"], "2026-09-01T16:26:40+00:00");
    assert_eq!(event["websocket_plus"], false);
    assert_eq!(begun["odds"]["odds"], json!({}), "no price has been reported");
    // Without ball data, the clock is published.
    let time = client.next_of("livedata").await;
    assert_eq!((&time["side"], &time["coordinates"]), (&Value::Null, &json!([])), "{time}");

    let goal = json!({"football": {"incident": {"eid": "g1", "kind": {"goal": "regular"}, "minute": 17,
        "side": "home", "player": {"name": "A. Striker", "key": "9"}, "score": [1, 0]}}});
    feed.push("football", "one", goal).await;
    let action = client.next_of("action").await;
    assert_eq!(action["action_type"], "goal", "{action}");
    assert_eq!((&action["team"], &action["minute"]), (&json!("home"), &json!(17)), "{action}");
    assert_eq!(action["player"]["name"], "A. Striker");
    assert_eq!(action["score"], json!({"home": 1, "away": 0}));
    feed.push("football", "one", json!({"football": {"score": {"goals": [1, 0]}}})).await;
    let event = client.next_of("event").await;
    assert_eq!(event["score"], json!({"home": 1, "away": 0}));
    assert_eq!(event["websocket_plus"], true, "a player was named");

    let ball = json!({"football": {"ball": {"x": 881, "y": 460, "side": "away", "situation": "shot_on_target"}}});
    feed.push("football", "one", ball).await;
    let livedata = client.next_where("the ball", |it| it["side"] == "away").await;
    assert_eq!(livedata["situation"], "shotontarget");
    assert_eq!(livedata["coordinates"], json!([{"x": 88.1, "y": 46}]));
    assert_eq!(livedata["uts"].as_i64().map(|uts| uts.to_string().len()), Some(13));
    let shot = client.next_of("action").await;
    assert_eq!((&shot["action_type"], &shot["x"]), (&json!("shot"), &json!(88.1)), "{shot}");
    assert_eq!(shot["seq"].as_u64(), livedata["seq"].as_u64().map(|seq| seq + 1));

    let retract = json!({"football": {"retract": {"of": "g1", "why": "offside", "score": {"goals": [0, 0]}}}});
    feed.push("football", "one", retract).await;
    let deleted = client.next_of("action").await;
    assert_eq!(deleted["action_type"], "deleted_event");
    assert_eq!(deleted["tid"], action["tid"], "{deleted}");
    assert_eq!(deleted["score"], json!({"home": 0, "away": 0}));

    feed.push("football", "one", json!({"football": {"status": "half_time"}})).await;
    let event = client.next_where("half time", |it| it["time"]["status"] == "halftime").await;
    assert_eq!(event["score"], json!({"home": 0, "away": 0}));

    // A client that joins later sees it.
    let mut late = LegacyClient::football(&feed.hub, &feed.key).await;
    late.subscribe(id).await;
    let begun = late.next_of("subscribed").await;
    assert_eq!(begun["source"], "full");
    let kinds = begun["history"].as_array().expect("a list");
    let kinds: Vec<&Value> = kinds.iter().map(|it| &it["action_type"]).collect();
    assert_eq!(kinds, ["goal", "shot", "deleted_event"]);
    assert_eq!(begun["livedata"].as_array().map(Vec::len), Some(1));
    assert_eq!(begun["epoch"], event["epoch"]);
}

#[tokio::test]
async fn prices_are_numbers_with_their_digits_and_none_while_suspended() {
    let mut feed = PushHub::shared();
    let id = feed.football("priced").await;
    feed.prices("priced", "open", "2.10").await;
    let mut client = LegacyClient::football(&feed.hub, &feed.key).await;
    client.send(&json!({"action": "subscribe", "event_id": id, "bookmaker_slug": "acmebet"})).await;
    let begun = client.next_of("subscribed").await;
    let winner = json!({"home": 2.10, "draw": 3.40, "away": 3.55});
    assert_eq!(begun["odds"]["odds"]["match_winner"], winner);
    assert!(begun["odds"].to_string().contains("3.4"));
    let book = &begun["odds_book"];
    assert_eq!(
        (&book["bookmaker_slug"], &book["bookmaker"]),
        (&json!("acmebet"), &json!("acmebet"))
    );
    assert_eq!(book["odds"]["match_winner"], winner);

    feed.prices("priced", "open", "2.25").await;
    let odds = client.next_of("odds").await;
    assert_eq!(odds["odds"]["match_winner"]["home"], 2.25);
    assert_eq!(odds["update_reason"], "change");
    feed.prices("priced", "suspended", "2.25").await;
    let nothing = json!({"home": null, "draw": null, "away": null});
    let is_held = |it: &Value| it["odds"]["match_winner"] == nothing;
    let mut held = vec![];
    while held.len() < 2 {
        held.push(client.next_where("held prices", is_held).await);
    }
    for frame in &held {
        assert_eq!(frame["update_reason"], "suspended", "{frame}");
    }
    held.sort_by_key(|frame| frame["type"].to_string());
    assert_eq!((&held[0]["type"], &held[1]["type"]), (&json!("odds"), &json!("odds_book")));

    client.send(&json!({"action": "subscribe", "event_id": id, "bookmaker_slug": "nobody"})).await;
    let error = client.next_of("error").await;
    assert_eq!((&error["code"], &error["event_id"]), (&json!("unknown_bookmaker"), &json!(id)));
}

#[tokio::test]
async fn errors_leave_the_socket_open() {
    let mut feed = PushHub::shared();
    let id = feed.football("erring").await;
    let mut client = LegacyClient::football(&feed.hub, &feed.key).await;
    let mut check = async |text: &str, code: &str, message: &str| {
        client.send_text(text).await;
        let error = client.next_of("error").await;
        assert_eq!((&error["code"], &error["message"]), (&json!(code), &json!(message)), "{text}");
    };
    check("{}", "bad_action", "Unknown action: None").await;
    check(r#"{"action":"jump"}"#, "bad_action", "Unknown action: jump").await;
    check("nonsense", "bad_action", "A message is one JSON object").await;
    let no_id = "event_id is missing or no integer";
    check(r#"{"action":"subscribe"}"#, "bad_event_id", no_id).await;
    check(r#"{"action":"unsubscribe","event_id":[]}"#, "bad_event_id", no_id).await;
    let not_tracked = "No live tracking for event 7";
    check(r#"{"action":"subscribe","event_id":7}"#, "not_tracked", not_tracked).await;
    let not_tracked = format!("No live tracking for event {id}");
    let tennis = json!({"action": "subscribe", "event_id": id, "sport": "tennis"}).to_string();
    check(&tennis, "not_tracked", &not_tracked).await;
    client.socket.send(Message::binary(vec![1_u8])).await.expect("it is sent");
    assert_eq!(client.next_of("error").await["code"], "bad_action");
    client.send(&json!({"action": "ping"})).await;
    assert_eq!(client.next().await, Ok(json!({"type": "pong"})));
}

#[tokio::test]
async fn eleventh_match_is_refused_and_the_socket_stays_open() {
    let mut feed = PushHub::shared();
    let mut ids = Vec::new();
    for number in 0..12 {
        ids.push(feed.football(&format!("m{number}")).await);
    }
    let mut client = LegacyClient::football(&feed.hub, &feed.key).await;
    for id in &ids {
        client.subscribe(*id).await;
    }
    for id in &ids[..10] {
        assert_eq!(client.next_of("subscribed").await["event_id"], *id);
    }
    for id in &ids[10..] {
        let error = client.next_of("error").await;
        assert_eq!((&error["code"], &error["event_id"]), (&json!("limit"), &json!(id)));
    }
    // A followed match may be subscribed to again, and an unsubscribed one frees its slot.
    client.subscribe(ids[0]).await;
    assert_eq!(client.next_of("subscribed").await["event_id"], ids[0]);
    client.send(&json!({"action": "unsubscribe", "event_id": ids[0]})).await;
    let left = client.next_of("unsubscribed").await;
    assert_eq!(left, json!({"type": "unsubscribed", "event_id": ids[0]}));
    client.subscribe(ids[11]).await;
    assert_eq!(client.next_of("subscribed").await["event_id"], ids[11]);

    feed.push("football", "m0", json!({"football": {"score": {"goals": [1, 0]}}})).await;
    feed.push("football", "m1", json!({"football": {"score": {"goals": [1, 0]}}})).await;
    let event = client.next_of("event").await;
    assert_eq!(event["event_id"], ids[1], "nothing comes of a match that was left");
}

#[tokio::test]
async fn tennis_and_football_share_a_socket() {
    let mut feed = PushHub::shared();
    let (football, tennis) = (feed.football("both").await, feed.tennis("final").await);
    let mut client = LegacyClient::both(&feed.hub, &feed.key).await;
    client.subscribe(football).await;
    let begun = client.next_of("subscribed").await;
    assert_eq!((&begun["event_id"], begun.get("sport")), (&json!(football), None));
    client.send(&json!({"action": "subscribe", "event_id": tennis, "sport": "tennis"})).await;
    let begun = client.next_of("subscribed").await;
    assert_eq!((&begun["event_id"], &begun["sport"]), (&json!(tennis), &json!("tennis")));
    assert_eq!(begun["history"], json!([]));
    assert_eq!(begun["event"]["status"]["name"], "live");
    assert_eq!(begun["event"]["score"]["point"], "0-0");
    let point = |number: u32, game: [u8; 2]| {
        json!({"tennis": {"point": {"eid": number.to_string(), "winner": "p1", "server": "p1",
            "how": "ace", "score": {"server": "p1", "sets": [{"games": [0, 0]}],
            "game": {"points": game}, "points": number}}}})
    };
    feed.push("tennis", "final", point(1, [1, 0])).await;
    let score = client.next_of("score").await;
    assert_eq!((&score["point"], &score["server"]), (&json!("15-0"), &json!("home")), "{score}");
    assert_eq!((&score["sets"], &score["sport"]), (&json!([[0, 0]]), &json!("tennis")));
    feed.push("tennis", "final", point(2, [2, 0])).await;
    assert_eq!(client.next_of("score").await["point"], "30-0");
    feed.push("football", "both", json!({"football": {"score": {"goals": [0, 1]}}})).await;
    let event = client.next_of("event").await;
    assert_eq!((&event["event_id"], &event["score"]["away"]), (&json!(football), &json!(1)));

    client.send(&json!({"action": "unsubscribe", "event_id": tennis, "sport": "tennis"})).await;
    let left = json!({"type": "unsubscribed", "event_id": tennis, "sport": "tennis"});
    assert_eq!(client.next_of("unsubscribed").await, left);
    let mut again = LegacyClient::both(&feed.hub, &feed.key).await;
    again.send(&json!({"action": "subscribe", "event_id": tennis, "sport": "tennis"})).await;
    let begun = again.next_of("subscribed").await;
    let points = begun["livedata"].as_array().expect("a list").iter().map(|it| it["point"].clone());
    let points: Vec<Value> = points.collect();
    assert_eq!(points[points.len() - 3..], ["0-0", "15-0", "30-0"]);
    assert_eq!(begun["event"]["stats"]["home"]["aces"], 2);
}

#[tokio::test]
async fn reconnecting_client_gets_the_missed_frames() {
    let mut feed = PushHub::shared();
    let id = feed.football("missed").await;
    let score = |home: u32| json!({"football": {"score": {"goals": [home, 0]}}});
    let mut client = LegacyClient::football(&feed.hub, &feed.key).await;
    client.subscribe(id).await;
    client.next_of("subscribed").await;
    feed.push("football", "missed", score(1)).await;
    let last = client.next_of("event").await;
    drop(client);
    for home in 2..=4 {
        feed.push("football", "missed", score(home)).await;
    }
    let subscribe = |from: Value| json!({"action": "subscribe", "event_id": id, "from": from});
    let mut client = LegacyClient::football(&feed.hub, &feed.key).await;
    let from = json!({"epoch": last["epoch"], "seq": last["seq"]});
    client.send(&subscribe(from)).await;
    let begun = client.next_of("subscribed").await;
    assert_eq!((&begun["resumed"], &begun["seq"]), (&json!(true), &last["seq"]), "{begun}");
    assert_eq!(begun.get("event"), None, "missing events are sent one by one");
    let mut seq = last["seq"].as_u64().expect("a number");
    let mut scores = Vec::new();
    while scores.last() != Some(&json!(4)) {
        let frame = client.next().await.expect("it is not cut off");
        seq += 1;
        assert_eq!(frame["seq"], seq, "a hole before {frame}");
        if frame["type"] == "event" {
            scores.push(frame["score"]["home"].clone());
        }
    }
    assert_eq!(scores, [2, 3, 4]);

    for (from, why) in [
        (json!({"epoch": last["epoch"], "seq": 1_000_000}), json!("ahead")),
        (json!({"epoch": "zz", "seq": 1}), json!("epoch")),
        (json!(1), Value::Null),
    ] {
        client.send(&subscribe(from.clone())).await;
        let begun = client.next_of("subscribed").await;
        assert_eq!((&begun["resumed"], &begun["why"]), (&json!(false), &why), "{from}");
        assert_eq!(begun["event"]["score"]["home"], 4, "the snapshot comes instead");
    }
}

/// Updates are merged, and no event is left out.
#[tokio::test]
async fn slow_reader_misses_no_action() {
    const NARROW: [Setting; 3] = [
        ("FANOUT_OUTBOX_BYTES", "4096"),
        ("FANOUT_WRITE_BYTES_MAX", "4096"),
        ("FANOUT_SEND_BUFFER_BYTES", "4096"),
    ];
    let mut feed = PushHub::start(&NARROW);
    let id = feed.football("one").await;
    let mut slow = LegacyClient::narrow(&feed.hub, &feed.key).await;
    slow.subscribe(id).await;
    slow.next_of("subscribed").await;
    let mut all = Vec::new();
    for number in 0..100_u32 {
        let eid = format!("c{number}");
        let player = json!({"name": format!("Player {number}"), "key": number.to_string()});
        all.push(json!({"football": {"incident": {"eid": eid, "kind": "yellow", "minute": 20,
            "side": "home", "player": player}}}));
        all.push(json!({"football": {"score": {"goals": [number, 0]}}}));
    }
    let mut fast = LegacyClient::football(&feed.hub, &feed.key).await;
    fast.subscribe(id).await;
    fast.next_of("subscribed").await;
    for fact in all {
        feed.push("football", "one", fact).await;
    }
    let last = |it: &Value| it["type"] == "event" && it["score"]["home"] == 99;
    fast.next_where("the last score", last).await;
    let mut names = Vec::new();
    let (mut seq, mut left_out) = (0, 0);
    loop {
        let frame = slow.next().await.expect("it is not cut off");
        let next_seq = frame["seq"].as_u64().expect("a number");
        left_out += next_seq - seq - 1;
        seq = next_seq;
        match frame["type"].as_str() {
            Some("action") => names.push(frame["player"]["name"].clone()),
            // It was further behind than the tail reaches.
            Some("subscribed") => panic!("the tail was long enough: {frame}"),
            _ => {}
        }
        if last(&frame) {
            break;
        }
    }
    let expected: Vec<Value> = (0..100).map(|number| json!(format!("Player {number}"))).collect();
    assert_eq!(names, expected);
    assert!(left_out > 0, "it was never slow, so nothing was shown");
}

#[tokio::test]
async fn evicted_match_is_announced() {
    let mut feed = PushHub::start(&[("HUB_ENDED_KEEP_MS", "1000")]);
    let id = feed.football("one").await;
    let mut client = LegacyClient::football(&feed.hub, &feed.key).await;
    client.subscribe(id).await;
    client.next_of("subscribed").await;
    feed.push("football", "one", json!({"football": {"status": "finished"}})).await;
    let event = client.next_of("event").await;
    assert_eq!(event["time"]["status"], "finished");
    feed.football("two").await;
    let left = client.next_of("unsubscribed").await;
    assert_eq!(left, json!({"type": "unsubscribed", "event_id": id, "why": "gone"}));
}

#[tokio::test]
async fn recording_is_published_point_by_point() {
    let Some(path) = shared("slam-pointbypoint/2012-ausopen-1701.points.csv.gz") else { return };
    let path = path.to_str().expect("a path of text").to_owned();
    // A final of six hours in ten seconds, each point still with its own time.
    let hub = Hub::start(&["replay", "--speed", "2000", "--hold", &path]);
    let key = hub.key(&crate::support::ALL_ADDONS);
    // Held until a client follows it.
    let mut waker = crate::support::Client::connect(&hub.address, &key).await;
    waker.subscribe("*").await;
    waker.subscribe("*/*").await;
    waker.until(|it| it.channels.keys().any(|name| name.starts_with("tennis/"))).await;
    let name = waker.channels.keys().find(|name| name.starts_with("tennis/")).expect("a match");
    let id: u64 = name["tennis/".len()..].parse().expect("an id");
    let mut client = LegacyClient::both(&hub, &key).await;
    client.send(&json!({"action": "subscribe", "event_id": id, "sport": "tennis"})).await;
    let begun = client.next_of("subscribed").await;
    let mut seq = begun["seq"].as_u64().expect("a position");
    let mut scores = 0;
    loop {
        let frame = client.next().await.expect("it is not cut off");
        seq += 1;
        assert_eq!(frame["seq"], seq, "a hole before {frame}");
        scores += u32::from(frame["type"] == "score");
        if frame["type"] == "event" && frame["status"]["name"] == "finished" {
            break;
        }
    }
    assert!(scores > 20, "{scores} points were reported");
}

#[tokio::test]
async fn demo_is_published_in_full() {
    let hub = Hub::demo();
    let key = hub.key(&crate::support::ALL_ADDONS);
    let board = hub.get(&format!("/stream/v1/channels/football?token={key}")).await.json();
    let matches = board["data"]["matches"].as_object().expect("a board has matches").clone();
    let live =
        matches.iter().find(|(_, line)| line["life"] == "live" && line["status"] != "half_time");
    let id: u64 = live.expect("a match is in play").0.parse().expect("an id");
    let mut client = LegacyClient::football(&hub, &key).await;
    client.subscribe(id).await;
    let begun = client.next_of("subscribed").await;
    assert_eq!(begun["source"], "full", "{begun}");
    assert!(begun["livedata"].as_array().is_some_and(|frames| frames.len() <= 30), "{begun}");
    assert!(begun["odds"]["odds"]["match_winner"].is_object(), "{begun}");
    for kind in ["livedata", "odds"] {
        let frame = client.next_of(kind).await;
        assert_eq!(frame["event_id"], id, "{frame}");
    }
}
