//! A client that is cut off resumes at its position: every event once, in order, and the same
//! documents; or the hub refuses the resume and sends the image.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use fanout::{ChannelId, Pattern};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout_at};

use crate::support::{ChannelState, Client, Hub, Setting, ended, shared};

/// A tennis match and the market of another one.
const FILES: [&str; 2] = [
    "slam-pointbypoint/2012-ausopen-1701.points.csv.gz",
    "betfair-stream/tennis-29788105.pro.jsonl.gz",
];

/// Fast enough for a test, and slow enough for a hundred cuts: the two take nine seconds.
const SPEED: &str = "1000";

/// The matches, the market, its outcome, the board, the sources, the signals.
const CHANNELS: usize = 7;

const CUTS: u32 = 100;

/// A window that no client leaves, however slow the test machine is.
const PATIENT: Setting = ("HUB_TAIL_BYTES", "1000000000");

#[tokio::test]
async fn cut_a_hundred_times_with_wildcards() {
    check(1, patterns, Command::Each).await;
}

#[tokio::test]
async fn cut_a_hundred_times_with_batches() {
    // The books by their pattern, the others by their names.
    let channels = |followed: &BTreeMap<String, ChannelState>| {
        let books = Pattern::parse("*/*/odds/*").expect("a good pattern");
        let by_name = followed.keys().filter(|name| !books.matches(&ChannelId::new(name.as_str())));
        by_name.cloned().chain([books.as_str().to_owned()]).collect()
    };
    check(3, channels, Command::Batch).await;
}

#[tokio::test]
async fn cut_a_hundred_times_with_exact_channels() {
    check(2, |followed| followed.keys().cloned().collect(), Command::Each).await;
}

fn patterns(_known: &BTreeMap<String, ChannelState>) -> Vec<String> {
    ["*/*/odds/*", "*/*/odds", "*/*", "*"].map(ToOwned::to_owned).to_vec()
}

/// What a client follows after a cut, given its state.
type ChooseChannels = fn(&BTreeMap<String, ChannelState>) -> Vec<String>;

/// How a client follows its channels after a cut.
#[derive(Clone, Copy, PartialEq)]
enum Command {
    /// By a command for each.
    Each,
    /// By one command for all.
    Batch,
}

/// `channels`: what the client follows after a cut, given its state.
async fn check(seed: u64, channels: ChooseChannels, command: Command) {
    let Some(files) = FILES.map(shared).into_iter().collect::<Option<Vec<_>>>() else { return };
    let files = files.iter().map(|path| path.to_str().expect("a path of text"));
    let arguments: Vec<_> =
        ["replay", "--speed", SPEED, "--hold"].into_iter().chain(files).collect();
    let hub = Hub::start_with(&arguments, &[PATIENT]);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let [mut whole, mut first] =
        [Client::connect(&hub.address, &key).await, Client::connect(&hub.address, &key).await];
    for pattern in ["*/*/odds/*", "*/*/odds", "*/*", "*"] {
        first.subscribe(pattern).await;
        whole.subscribe(pattern).await;
    }
    let whole = async {
        whole.until(ended).await;
        whole.until(is_complete).await;
        whole.channels
    };
    let cut = async {
        first.until(|client| client.channels.len() == CHANNELS).await;
        cut_off(&hub, &key, first, &mut Rng(seed), (channels, command)).await
    };
    let (whole, mut cut) = tokio::join!(whole, cut);
    let has_all =
        |client: &Client| whole.iter().all(|(name, it)| client.channels[name].seq >= it.seq);
    cut.until(has_all).await;
    check_nothing_left_out(&cut);
    assert_eq!(cut.channels.len(), CHANNELS);
    for (name, whole) in &whole {
        let resumed = &cut.channels[name];
        assert_eq!((&resumed.epoch, resumed.seq), (&whole.epoch, whole.seq), "{name}");
        assert_eq!(resumed.data, whole.data, "{name}");
        assert_eq!(resumed.events, whole.events, "{name}");
        let proof = cut.ask(&json!({"op": "hash", "id": name, "ch": name})).await;
        let expected = json!({
            "type": "hash",
            "id": name,
            "ch": name,
            "epoch": whole.epoch,
            "seq": whole.seq,
            "sha256": sha256(&whole.data),
        });
        assert_eq!(proof, expected);
    }
    assert!(whole.values().map(|it| it.events.len()).sum::<usize>() > 400);
}

/// The hash of a document, as a client computes it.
pub(crate) fn sha256(document: &Value) -> String {
    let canonical = serde_json_canonicalizer::to_vec(document).expect("a document is JSON");
    Sha256::digest(&canonical).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Both matches have ended, not only their sources.
fn is_complete(client: &Client) -> bool {
    let matches = client.channels.iter().filter(|(name, _)| name.split('/').count() == 2);
    matches.clone().count() == 2 && matches.clone().all(|(_, it)| it.data["life"] == "ended")
}

/// Cuts the client off repeatedly, after a delay or in the middle of a frame, and lets it resume.
/// Returns the client of the last, uncut connection.
async fn cut_off(
    hub: &Hub,
    key: &str,
    mut client: Client,
    rng: &mut Rng,
    (channels, command): (ChooseChannels, Command),
) -> Client {
    let mut cuts_in_play = 0;
    for _ in 0..CUTS {
        let frames = rng.below(200);
        let until = Instant::now() + Duration::from_millis(rng.below(70));
        for _ in 0..frames {
            match timeout_at(until, client.next()).await {
                Ok(frame) => drop(frame.expect("only the test closes it")),
                Err(_) => break,
            }
        }
        check_nothing_left_out(&client);
        cuts_in_play += u32::from(!ended(&client));
        let followed = client.channels;
        client = Client::connect(&hub.address, key).await.knowing(followed);
        let channels = channels(&client.channels);
        match command {
            Command::Each => {
                for channel in &channels {
                    client.subscribe(channel).await;
                }
                check_resumed(&mut client, channels.len()).await;
            }
            Command::Batch => {
                client.subscribe_batch(1, &channels).await;
                check_batch_resumed(&mut client, &channels).await;
            }
        }
    }
    // How many depends on the speed of the machine.
    assert!(cuts_in_play > 0, "every cut came after the matches had ended");
    client
}

/// Reads on to the responses; each position was honoured.
async fn check_resumed(client: &mut Client, channels: usize) {
    let answers = |client: &Client| {
        let subscribed = client.others.iter().filter(|frame| frame["type"] == "subscribed");
        subscribed.cloned().collect::<Vec<_>>()
    };
    client.until(|client| answers(client).len() == channels).await;
    for answer in answers(client) {
        let by_name = answer.get("epoch").is_some();
        assert!(!by_name || answer["resumed"] == true, "{answer}");
    }
}

/// Reads on to the one response, which comes before all frames; each position was honoured.
async fn check_batch_resumed(client: &mut Client, channels: &[String]) {
    let frame = client.next_of("subscribed").await;
    assert_eq!(client.data_frames, 0, "frames came before {frame}");
    let answers = frame["chs"].as_object().expect("an answer for each entry");
    assert_eq!(answers.len(), channels.len(), "{frame}");
    for channel in channels {
        let answer = &answers[channel];
        match channel.contains('*') {
            true => assert!(answer["channels"].as_u64() >= Some(1), "{channel}: {answer}"),
            false => assert_eq!(answer["resumed"], true, "{channel}: {answer}"),
        }
    }
}

fn check_nothing_left_out(client: &Client) {
    let left_out: Vec<_> = client.others.iter().filter(|it| it["type"] == "resync").collect();
    assert!(left_out.is_empty(), "{left_out:?}");
}

/// Pseudo-random numbers: the same ones for the same seed.
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: u64) -> u64 {
        // Knuth's constants; the low bits are the weak ones.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

// ---------------------------------------------------------------------------- out of the window

/// A hub with a minimal history, its recording finished, and the name and position of the match.
async fn forgetful() -> Option<(Arc<Hub>, String, ChannelState)> {
    let path = shared(FILES[0])?;
    let arguments = ["replay", "--speed", "max", path.to_str().expect("a path of text")];
    let hub = Hub::shared(&arguments, &[("HUB_TAIL_BYTES", "20000")]);
    let mut client = connect(&hub).await;
    // The channel of the sources opens at the start or shortly after.
    client.subscribe("*").await;
    client.until(ended).await;
    client.subscribe("tennis/*").await;
    let is_match = |name: &&String| name.starts_with("tennis/");
    client.until(|client| client.channels.keys().any(|name| is_match(&name))).await;
    let (name, followed) = client.channels.into_iter().find(|(name, _)| is_match(&name))?;
    Some((hub, name, followed))
}

async fn connect(hub: &Hub) -> Client {
    Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await
}

#[tokio::test]
async fn unusable_position_is_answered_with_the_reason_and_the_image() {
    let Some((hub, name, now)) = forgetful().await else { return };
    let position = |epoch: &str, seq: u64| json!({"epoch": epoch, "seq": seq});
    let refused = [
        (position(&now.epoch, 3), "window", "gap"),
        (position("abc", now.seq), "epoch", "epoch"),
        (position("Not ours!", now.seq), "epoch", "epoch"),
        (position(&now.epoch, now.seq + 1), "ahead", "gap"),
    ];
    for (from, why, why_of_wildcard) in refused {
        let mut client = connect(&hub).await;
        client.send(&json!({"op": "subscribe", "id": 1, "ch": name, "from": from})).await;
        let answer = client.next_of("subscribed").await;
        assert_eq!((&answer["resumed"], &answer["why"]), (&json!(false), &json!(why)), "{from}");
        assert_eq!((&answer["epoch"], &answer["seq"]), (&json!(now.epoch), &json!(now.seq)));
        check_image(&mut client, &name, &now).await;

        let mut client = connect(&hub).await;
        let from = json!({ &name: from });
        client.send(&json!({"op": "subscribe", "id": 1, "ch": "tennis/*", "from": from})).await;
        let answer = client.next_of("resync").await;
        assert_eq!(
            (&answer["ch"], &answer["why"]),
            (&json!(name), &json!(why_of_wildcard)),
            "{from}"
        );
        assert_eq!(answer["to"], now.seq);
        check_image(&mut client, &name, &now).await;
    }
}

#[tokio::test]
async fn batch_answers_each_entry() {
    let Some((hub, name, now)) = forgetful().await else { return };
    let mut client = connect(&hub).await;
    let chs = json!([
        {"ch": name, "from": {"epoch": now.epoch, "seq": 3}},
        "tennis/1",
        "a//b",
        {"ch": "tennis", "from": 7},
        "tennis/*",
        "feeds",
    ]);
    let command = json!({"op": "subscribe", "id": "all", "chs": chs, "every_ms": 500});
    let answer = client.ask(&command).await;
    assert_eq!((&answer["type"], &answer["every_ms"]), (&json!("subscribed"), &json!(500)));
    let expected = json!({
        &name: {"epoch": now.epoch, "seq": now.seq, "resumed": false, "why": "window"},
        "tennis/1": {"error": "not_tracked"},
        "a//b": {"error": "bad_channel"},
        "tennis": {"error": "bad_command"},
        "tennis/*": {"channels": 1},
    });
    for (entry, expected) in expected.as_object().expect("an object") {
        assert_eq!(&answer["chs"][entry], expected, "{entry}");
    }
    assert_eq!(answer["chs"]["feeds"]["resumed"], false);
    client.until(|client| client.channels.len() == 2).await;
    assert_eq!(client.channels[&name].data, now.data);

    let command = json!({"op": "unsubscribe", "id": 2, "chs": [name, "tennis/*", "other"]});
    let answer = client.ask(&command).await;
    assert_eq!(answer, json!({"type": "unsubscribed", "id": 2, "chs": command["chs"]}));
    client.others.clear();
    let beat = client.next_of("beat").await;
    assert_eq!(
        beat["heads"].as_object().map(|heads| heads.keys().collect::<Vec<_>>()),
        Some(vec![&"feeds".to_owned()])
    );
}

async fn check_image(client: &mut Client, name: &str, now: &ChannelState) {
    let image: Value = client.next().await.expect("the connection lasts");
    assert_eq!((&image["type"], &image["ch"]), (&json!("image"), &json!(name)));
    assert_eq!(client.channels[name].data, now.data);
    assert_eq!(client.channels[name].seq, now.seq);
}

#[tokio::test]
async fn position_at_the_head_or_just_before_it_resumes() {
    let Some((hub, name, now)) = forgetful().await else { return };
    for behind in [0, 1, 2] {
        let mut earlier = now.clone();
        earlier.seq -= behind;
        let mut client = connect(&hub).await.knowing(BTreeMap::from([(name.clone(), earlier)]));
        client.subscribe(&name).await;
        let answer = client.next_of("subscribed").await;
        assert_eq!((&answer["resumed"], answer.get("why")), (&json!(true), None), "{behind}");
        // A resuming client is not sent what it already has: only the missing part precedes the
        // response to its next command.
        client.send(&json!({"op": "ping", "id": 2})).await;
        let mut at = now.seq - behind;
        while let frame = client.next().await.expect("the connection lasts")
            && frame["type"] != "pong"
        {
            assert_eq!((&frame["type"], &frame["prev"]), (&json!("update"), &json!(at)), "{frame}");
            at = client.channels[&name].seq;
        }
        assert_eq!(client.channels[&name].seq, now.seq);
        assert_eq!(client.channels[&name].data, now.data);
    }
}
