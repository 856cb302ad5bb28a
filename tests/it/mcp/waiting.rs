//! `wait_for_change` follows a match without a stream, and misses nothing.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::{
    client::{ERAS, Era, EventStream, McpClient, send_on},
    results::Checker,
    stage::{Stage, card, goal, market, prices},
};
use crate::support::{pause, until};

/// Lets a call begin to wait. What the tests expect does not depend on it: only that a call is woken, and
/// does not find everything when it begins.
const A_MOMENT: Duration = Duration::from_millis(60);

async fn after_a_moment(pushing: impl Future<Output = ()>) {
    tokio::time::sleep(A_MOMENT).await;
    pushing.await;
}

fn kinds(answer: &Value) -> Vec<&str> {
    let events = answer["data"]["events"].as_array().expect("events");
    events.iter().filter_map(|event| event["kind"].as_str()).collect()
}

/// A goal during the call, an event between two calls, a suspension, and the end: both generations.
#[tokio::test]
async fn waiting_calls_return_on_what_happens_and_miss_nothing_between() {
    let stage = Stage::shared();
    for era in ERAS {
        let name = format!("m{era:?}");
        let home = format!("Home {era:?}");
        let id = stage.football(&name, [&home, "Away"]).await;
        follow(&stage, &stage.client().with_era(era), &name, id).await;
    }
}

async fn follow(stage: &Stage, client: &McpClient, name: &str, id: u64) {
    let checker = Checker::new(client.clone()).await;
    let wait = async |arguments: Value| {
        let answer = checker.call("wait_for_change", &arguments).await;
        answer.unwrap_or_else(|refusal| panic!("{arguments}: {refusal}"))
    };
    let channel = format!("football/{id}");
    let push = |facts: Vec<Value>| async move { stage.push("football", name, &facts).await };

    // Nothing happens.
    let answer = wait(json!({"match_id": id, "timeout_s": 0})).await;
    let data = &answer["data"];
    assert_eq!((&data["changed"], &data["events"]), (&json!(false), &json!([])), "{data}");
    let positions = data["positions"].clone();
    assert_eq!(positions[&channel], answer["position"], "{answer}");

    // A goal while it waits.
    let waiting =
        wait(json!({"match_id": id, "since": positions, "until": ["goal"], "timeout_s": 30}));
    let (answer, ()) = tokio::join!(waiting, after_a_moment(push(goal("g1", 10, [1, 0]))));
    let data = &answer["data"];
    assert_eq!((&data["changed"], &data["reason"]), (&json!(true), &json!("goal")), "{data}");
    assert_eq!(kinds(&answer), ["goal"], "{data}");
    assert_eq!(
        (&data["events"][0]["eid"], &data["events"][0]["channel"]),
        (&json!("g1"), &json!(channel))
    );
    assert_eq!(data["missed"], Value::Null, "{data}");

    // A card and a goal between the calls: the next one has both at once.
    let positions = data["positions"].clone();
    push([vec![card("c1", 12)], goal("g2", 13, [2, 0])].concat()).await;
    let reached = async || seq(stage, &channel).await > positions[&channel]["seq"].as_u64();
    until("the events", reached).await;
    let answer = wait(json!({"match_id": id, "since": positions, "timeout_s": 30})).await;
    let mut seen = kinds(&answer);
    let mut positions = answer["data"]["positions"].clone();
    let second;
    if seen.len() < 2 {
        // It may have returned on the first one.
        second = wait(json!({"match_id": id, "since": positions, "timeout_s": 30})).await;
        seen.extend(kinds(&second));
        positions = second["data"]["positions"].clone();
    }
    assert_eq!(seen, ["card", "goal"]);

    // A card does not end a call that waits for a goal, and is not lost to the next one.
    let waiting =
        wait(json!({"match_id": id, "since": positions, "until": ["goal"], "timeout_s": 8}));
    let (answer, ()) = tokio::join!(waiting, after_a_moment(push(vec![card("c2", 20)])));
    assert_eq!(answer["data"]["changed"], false, "{answer}");
    assert_eq!(kinds(&answer), ["card"], "what happened is reported at the timeout: {answer}");

    // Prices are suspended.
    push(vec![market("alpha", "open"), prices("alpha", ["2.10", "3.40", "3.50"])]).await;
    let odds = format!("{channel}/odds");
    let is_open = async || seq(stage, &odds).await.is_some();
    until("prices", is_open).await;
    let answer = wait(json!({"match_id": id, "timeout_s": 0})).await;
    let positions = answer["data"]["positions"].clone();
    assert!(positions[&odds]["seq"].is_u64(), "{answer}");
    let waiting =
        wait(json!({"match_id": id, "since": positions, "until": ["suspension"], "timeout_s": 30}));
    let (answer, ()) =
        tokio::join!(waiting, after_a_moment(push(vec![market("alpha", "suspended")])));
    assert_eq!(answer["data"]["changed"], true, "{answer}");
    let suspended = answer.to_string();
    assert!(suspended.contains("suspen"), "{answer}");

    // A price moves by at least so much.
    push(vec![market("alpha", "open"), prices("alpha", ["2.10", "3.40", "3.50"])]).await;
    let answer = wait(json!({"match_id": id, "timeout_s": 0})).await;
    let positions = answer["data"]["positions"].clone();
    let arguments = json!({
        "match_id": id, "since": positions, "until": ["price"], "price_move_pct": 20, "timeout_s": 30,
    });
    let moving = after_a_moment(async {
        push(vec![prices("alpha", ["2.12", "3.40", "3.50"])]).await;
        push(vec![prices("alpha", ["1.40", "4.40", "7.00"])]).await;
    });
    let (answer, ()) = tokio::join!(wait(arguments), moving);
    assert_eq!(answer["data"]["reason"], "price", "{answer}");
    assert!(answer["data"]["values"][&odds]["markets"].is_object(), "{answer}");

    // A move between two calls is not missed.
    let positions = answer["data"]["positions"].clone();
    let before = seq(stage, &odds).await;
    push(vec![prices("alpha", ["2.10", "3.40", "3.50"])]).await;
    until("the prices", async || seq(stage, &odds).await > before).await;
    let answer = wait(json!({
        "match_id": id, "since": positions, "until": ["price"], "price_move_pct": 20, "timeout_s": 30,
    }))
    .await;
    assert_eq!(answer["data"]["reason"], "price", "{answer}");

    // The end.
    let positions = answer["data"]["positions"].clone();
    let waiting =
        wait(json!({"match_id": id, "since": positions, "until": ["end"], "timeout_s": 30}));
    let ending = push(vec![json!({"football": {"status": "finished"}})]);
    let (answer, ()) = tokio::join!(waiting, after_a_moment(ending));
    assert_eq!(
        (&answer["data"]["changed"], &answer["data"]["reason"]),
        (&json!(true), &json!("end")),
        "{answer}"
    );
}

/// The sequence of a channel; `None` while there is no such channel.
async fn seq(stage: &Stage, channel: &str) -> Option<u64> {
    let answer = stage.hub.get_as(&stage.key, &format!("/stream/v1/channels/{channel}")).await;
    (answer.status == 200).then(|| answer.json()["seq"].as_u64()).flatten()
}

/// Many events, and each call bounded: the calls together have every event once.
#[tokio::test]
async fn many_events_come_in_several_answers_each_once() {
    const EVENTS: u32 = 200;
    let stage = Stage::shared();
    let id = stage.football("m", ["Home", "Away"]).await;
    let client = stage.client();
    let first = client.answer("wait_for_change", json!({"match_id": id, "timeout_s": 0})).await;
    let cards: Vec<Value> =
        (0..EVENTS).map(|number| card(&format!("c{number}"), 1 + number / 5)).collect();
    stage.push("football", "m", &cards).await;
    let mut positions = first["data"]["positions"].clone();
    let mut eids = Vec::new();
    while eids.len() < EVENTS as usize {
        let arguments = json!({"match_id": id, "since": positions, "timeout_s": 30});
        let answer = client.answer("wait_for_change", arguments).await;
        assert!(answer.to_string().len() <= 8 * 1024, "{} bytes", answer.to_string().len());
        let events = answer["data"]["events"].as_array().expect("events");
        assert!(!events.is_empty(), "{answer}");
        eids.extend(events.iter().map(|event| event["eid"].as_str().expect("an eid").to_owned()));
        positions = answer["data"]["positions"].clone();
    }
    let expected: Vec<String> = (0..EVENTS).map(|number| format!("c{number}")).collect();
    assert_eq!(eids, expected);
}

#[tokio::test]
async fn position_of_another_epoch_is_reported_as_missed() {
    let stage = Stage::shared();
    let id = stage.football("m", ["Home", "Away"]).await;
    let channel = format!("football/{id}");
    let client = stage.client();
    let now = client.answer("wait_for_change", json!({"match_id": id, "timeout_s": 0})).await;
    let mut old = now["data"]["positions"].clone();
    old[&channel]["epoch"] = "zz1".into();
    let answer = client
        .answer("wait_for_change", json!({"match_id": id, "since": old, "timeout_s": 30}))
        .await;
    let data = &answer["data"];
    assert_eq!(
        (&data["changed"], &data["missed"][&channel]),
        (&json!(true), &json!("epoch")),
        "{data}"
    );
    assert_eq!(data["positions"], now["data"]["positions"], "the new positions are known");
    // A single position is that of the match.
    let one = json!({"epoch": "zz1", "seq": 1});
    let answer = client
        .answer("wait_for_change", json!({"match_id": id, "since": one, "timeout_s": 30}))
        .await;
    assert_eq!(answer["data"]["missed"][&channel], "epoch", "{answer}");
    let ahead = json!({"epoch": now["position"]["epoch"], "seq": 1_000_000});
    let answer = client
        .answer("wait_for_change", json!({"match_id": id, "since": ahead, "timeout_s": 30}))
        .await;
    assert_eq!(answer["data"]["missed"][&channel], "ahead", "{answer}");
}

/// A place is free again when its call ends, also when the client leaves in the middle.
#[tokio::test]
async fn waiting_calls_of_an_account_are_limited_and_released() {
    let stage = Stage::new(&[("MCP_WAITS_MAX_PER_ACCOUNT", "2")]);
    let id = stage.football("m", ["Home", "Away"]).await;
    for era in ERAS {
        let client = stage.client().with_era(era);
        let is_full = async || {
            let probe =
                client.call("wait_for_change", json!({"match_id": id, "timeout_s": 0})).await;
            probe["isError"] == true && super::client::refusal(&probe)["code"] == "too_many_waits"
        };
        assert!(!is_full().await);
        let waiting =
            json!({"name": "wait_for_change", "arguments": {"match_id": id, "timeout_s": 50}});
        let mut open = Vec::new();
        // The probe takes a place too, and a call that comes meanwhile is refused: then another one is sent.
        while !is_full().await {
            assert!(open.len() < 100, "a hundred calls do not take two places");
            let socket = TcpStream::connect(&stage.hub.address).await.expect("it connects");
            open.push(send_on(socket, &client, "tools/call", &waiting).await);
        }
        let other = McpClient::new(&stage.hub, &stage.hub.key(&[]));
        other.answer("wait_for_change", json!({"match_id": id, "timeout_s": 0})).await;
        drop(open);
        until("the end of both", async || !is_full().await).await;
    }
}

/// A client that asks for progress gets a stream, and the answer as its last message.
#[tokio::test]
async fn progress_is_sent_on_request() {
    let stage = Stage::shared();
    let id = stage.football("m", ["Home", "Away"]).await;
    let check = async |era: Era| {
        let params = json!({
            "name": "wait_for_change", "arguments": {"match_id": id, "timeout_s": 12},
            "_meta": {"progressToken": "p1"},
        });
        let mut stream =
            EventStream::open(&stage.client().with_era(era), "tools/call", &params).await;
        let mut progresses = 0;
        let answer = loop {
            let message = stream.next().await.expect("a message");
            if message.get("result").is_some() {
                break message;
            }
            assert_eq!(message["method"], "notifications/progress", "{era:?}: {message}");
            assert_eq!(message["params"]["progressToken"], "p1", "{message}");
            progresses += 1;
        };
        assert!(progresses >= 1, "{era:?}");
        assert_eq!(answer["result"]["structuredContent"]["data"]["changed"], false, "{answer}");
        assert_eq!(stream.next().await, None);
    };
    tokio::join!(check(Era::Modern), check(Era::Legacy));
}

#[tokio::test]
async fn waits_on_what_cannot_be_followed_are_refused() {
    let stage = Stage::shared();
    stage.football("m", ["Home", "Away"]).await;
    let client = stage.client();
    let code =
        async |arguments: Value| client.refusal("wait_for_change", arguments).await["code"].clone();
    assert_eq!(code(json!({})).await, "bad_argument");
    assert_eq!(code(json!({"match_id": 1, "timeout_s": 0})).await, "not_found");
    assert_eq!(code(json!({"channel": "tennis/1", "timeout_s": 0})).await, "not_found");
    assert_eq!(code(json!({"channel": "football/1", "timeout_s": 0})).await, "not_found");
    assert_eq!(code(json!({"match_id": 1, "channel": "football/1"})).await, "bad_argument");
    assert_eq!(code(json!({"match_id": 1, "until": ["everything"]})).await, "bad_argument");
    assert_eq!(code(json!({"match_id": 1, "since": "nonsense"})).await, "bad_argument");
    assert_eq!(code(json!({"channel": "football/*", "timeout_s": 0})).await, "not_found");
    let feeds = client.answer("wait_for_change", json!({"channel": "feeds", "timeout_s": 0})).await;
    assert!(feeds["data"]["positions"]["feeds"]["seq"].is_u64(), "{feeds}");
}

/// A stop of the hub ends calls that wait, with an answer.
#[tokio::test]
async fn stop_answers_waiting_calls() {
    let mut stage = Stage::new(&[("MCP_WAITS_MAX_PER_ACCOUNT", "2")]);
    let id = stage.football("m", ["Home", "Away"]).await;
    let mut open = Vec::new();
    for era in ERAS {
        let client = stage.client().with_era(era);
        let waiting =
            json!({"name": "wait_for_change", "arguments": {"match_id": id, "timeout_s": 50}});
        open.push(tokio::spawn(async move {
            loop {
                let (status, answer) = client.respond("tools/call", &waiting).await;
                // The look below counts too while it lasts.
                if super::client::refusal(&answer["result"])["code"] != "too_many_waits" {
                    return (status, answer);
                }
                pause().await;
            }
        }));
    }
    let probe = stage.client();
    let both_wait = async || {
        let probe = probe.call("wait_for_change", json!({"match_id": id, "timeout_s": 0})).await;
        probe["isError"] == true && super::client::refusal(&probe)["code"] == "too_many_waits"
    };
    until("both to wait", both_wait).await;
    stage.hub.terminate();
    for waiting in open {
        let (status, answer) = waiting.await.expect("an answer");
        assert_eq!((status, &answer["result"]["isError"]), (200, &json!(true)), "{answer}");
        assert_eq!(super::client::refusal(&answer["result"])["code"], "unavailable");
    }
    assert_eq!(stage.own_hub().wait(), Some(0));
}
