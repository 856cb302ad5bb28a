//! A client that follows 2,000 channels with one pattern is cut off, and loses no event: with one
//! long command, with names before the pattern, and with `clients/js`. Readers who resume in a
//! loop cost other clients nothing.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{ALL_ADDONS, ChannelState, Client, Hub, QUIET};

const MATCHES: u32 = 2_000;
const PATTERN: &str = "hockey/*";

fn line(number: u32, score: u32, fact: &str) -> String {
    let at = 1_788_280_000_000_000_u64 + u64::from(score);
    format!(r#"{{"at":{at},"sport":"hockey","match":"m{number}","fact":{fact}}}"#)
}

/// Sets all matches to this score, which is an event in each. The first time introduces them.
async fn push(hub: &Hub, feed_key: &str, score: u32) {
    let lines = (0..MATCHES).flat_map(|number| {
        let sides =
            format!(r#"{{"fixture":{{"sides":[{{"name":"H{number}"}},{{"name":"A{number}"}}]}}}}"#);
        let scoreboard = format!(r#"{{"scoreboard":{{"status":"live","score":[{score},0]}}}}"#);
        let fixture = (score == 1).then(|| line(number, 0, &sides));
        fixture.into_iter().chain([line(number, score, &scoreboard)])
    });
    hub.push(feed_key, &lines.collect::<Vec<_>>()).await;
}

/// Whether a client has this score for all matches.
fn at_score(score: u32) -> impl Fn(&Client) -> bool {
    move |client| {
        client.channels.len() == MATCHES as usize
            && client.channels.values().all(|it| it.data["score"]["home"] == score)
    }
}

async fn following(hub: &Hub, key: &str) -> BTreeMap<String, ChannelState> {
    let mut client = Client::connect(&hub.address, key).await;
    client.subscribe(PATTERN).await;
    client.until(at_score(1)).await;
    client.channels
}

/// Both scores arrived as events, each once and in order, and not as an image.
fn check_events(how: &str, client: &Client) {
    for (name, followed) in &client.channels {
        let eids: Vec<&Value> = followed.events.iter().map(|event| &event["eid"]).collect();
        assert_eq!(eids, ["score-2-0", "score-3-0"], "{how}: {name}");
    }
    let resyncs = client.others.iter().filter(|frame| frame["type"] == "resync").count();
    assert_eq!(resyncs, 0, "{how}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_channels_resume_without_losing_an_event() {
    let hub = Hub::start_with(&["serve"], &[QUIET]);
    let (feed_key, key) = (hub.feed_key("acme", &[]), hub.key(&ALL_ADDONS));
    push(&hub, &feed_key, 1).await;
    let channels = following(&hub, &key).await;
    let mut script = Script::start(&hub, &key);
    script.expect("following");
    script.say("cut");
    script.expect("cut");
    push(&hub, &feed_key, 2).await;
    push(&hub, &feed_key, 3).await;

    let mut by_pattern = Client::connect(&hub.address, &key).await.knowing(channels.clone());
    by_pattern.subscribe(PATTERN).await;
    by_pattern.until(at_score(3)).await;
    check_events("by one command", &by_pattern);

    let mut by_name = Client::connect(&hub.address, &key).await.knowing(channels);
    for name in by_name.channels.keys().cloned().collect::<Vec<_>>() {
        by_name.subscribe(&name).await;
    }
    by_name.send(&json!({"op": "subscribe", "id": 1, "ch": PATTERN})).await;
    by_name.until(at_score(3)).await;
    check_events("by names, then the pattern", &by_name);

    script.say("resume");
    script.expect("complete");
}

/// `clients/js` in Node, if it is installed.
struct Script(Option<(Child, ChildStdin, Box<dyn BufRead + Send>)>);

impl Script {
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    #[expect(clippy::disallowed_methods, reason = "it is no setting of the hub")]
    fn start(hub: &Hub, key: &str) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/js/tests/everything.js");
        let url = format!("ws://{}/stream/v1", hub.address);
        let mut node = Command::new("node");
        let node = node.args(["--no-warnings", script, &url, key, PATTERN, &MATCHES.to_string()]);
        match node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
            Ok(mut child) => {
                let stdin = child.stdin.take().expect("it is piped");
                let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
                Self(Some((child, stdin, Box::new(stdout))))
            }
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "no node: {error}");
                eprintln!("skipped clients/js: no node: {error}");
                Self(None)
            }
        }
    }

    fn say(&mut self, word: &str) {
        let Some((_, stdin, _)) = &mut self.0 else { return };
        writeln!(stdin, "{word}").expect("it listens");
    }

    fn expect(&mut self, word: &str) {
        let Some((_, _, stdout)) = &mut self.0 else { return };
        let mut said = String::new();
        stdout.read_line(&mut said).expect("it speaks");
        assert_eq!(said.trim_end(), word, "clients/js");
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if let Some((child, ..)) = &mut self.0 {
            // It may have exited already.
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// Sockets of one key that resume in a loop wait for their turns, while another key's reader gets
/// every change in order and is answered at once.
#[tokio::test(flavor = "multi_thread")]
async fn readers_who_resume_in_a_loop_wait_and_others_do_not() {
    let settings = [
        ("FANOUT_SHARDS", "2"),
        ("FANOUT_CATCH_UP_BURST", "40"),
        ("FANOUT_CATCH_UPS_PER_SECOND", "10"),
    ];
    let hub = Hub::start_with(&["serve", "--bench-rate", "400"], &settings);
    let (greedy, honest) = (hub.key(&ALL_ADDONS), hub.key(&ALL_ADDONS));
    let mut follower = Client::connect(&hub.address, &honest).await;
    follower.subscribe("football/*/odds/steady").await;
    let seqs = |client: &Client| client.channels.values().map(|it| it.seq).sum::<u64>();
    follower.until(|client| client.channels.len() == 20 && seqs(client) > 300).await;
    let (name, followed) = follower.channels.first_key_value().expect("it follows some");
    let from = json!({"epoch": followed.epoch, "seq": 1});
    let again = json!({"op": "subscribe", "id": 1, "ch": name, "from": from});

    let mut attackers = Vec::new();
    for _ in 0..4 {
        let mut attacker = Client::connect(&hub.address, &greedy).await;
        for _ in 0..40 {
            attacker.send(&again).await;
        }
        attackers.push(attacker);
    }
    // 160 resumes, of which two shards admit 80 at once; each further 10 take a second of debt.
    let before = seqs(&follower);
    follower.until(|client| seqs(client) > before + 100).await;
    let answer = follower.ask(&json!({"op": "ping", "id": 7})).await;
    assert_eq!(answer["type"], "pong");
    let merged = follower.others.iter().filter(|it| it["type"] == "resync").count();
    assert_eq!(merged, 0, "the reader who keeps up was made to resume");
    hub.until_counted("matchwire_commands_held_total").await;
    hub.until_counted_to("matchwire_delivery_delay_seconds_count", 100.0).await;
    drop(attackers);
}
