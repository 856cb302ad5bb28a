//! What a client follows: subscribing by name and by pattern, again and from a position, and beats.

use serde_json::{Value, json};

use super::{held, held_at, image, quiet};
use crate::support::{Client, Hub, QUIET, ended, feed::Market};

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
async fn unusable_position_is_refused_with_its_reason() {
    let (_hub, mut client) = quiet().await;
    let first_answer = client.ask(&json!({"op": "subscribe", "id": 0, "ch": "feeds"})).await;
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
    let seq = first_answer["seq"].as_u64().expect("a number");
    check(&first_answer["epoch"], seq, true, None).await;
    check(&first_answer["epoch"], seq + 1, false, Some("ahead")).await;
    check(&json!("0"), seq, false, Some("epoch")).await;
    check(&json!("not an epoch"), seq, false, Some("epoch")).await;
}

#[tokio::test]
async fn repeated_exact_subscribe_starts_over() {
    let (_hub, mut client) = quiet().await;
    for id in 1..=2 {
        let subscribed = client.ask(&json!({"op": "subscribe", "id": id, "ch": "feeds"})).await;
        assert_eq!(subscribed["type"], "subscribed");
        assert_eq!(client.next_of("image").await["ch"], "feeds");
    }
}

#[tokio::test]
async fn repeated_wildcard_subscribe_starts_at_its_position() {
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
    // A pattern without channels has nothing to confirm, and the response states it.
    client.ask(&json!({"op": "unsubscribe", "id": 1, "ch": "*"})).await;
    client.ask(&json!({"op": "subscribe", "id": 2, "ch": "football/*"})).await;
    assert_eq!(client.next_of("beat").await["heads"], json!({}));
}

#[tokio::test]
async fn unsubscribe_keeps_channels_of_other_subscriptions() {
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
    assert!(followed("unsubscribe", "*").await, "it is also subscribed by name");
    assert!(!followed("unsubscribe", "feeds").await);
    assert!(followed("subscribe", "*").await);
    assert!(followed("unsubscribe", "feeds").await, "the wildcard still covers it");
    assert!(followed("subscribe", "feeds").await);
    assert!(followed("unsubscribe", "feeds").await, "the wildcard still covers it");
    assert!(!followed("unsubscribe", "*").await);
    assert!(!followed("unsubscribe", "football/nobody").await, "it was never followed");
}

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
    // Ten seconds of changes in five, so that there are more after the last command.
    let (hub, key) = held_at("2", &Market { event: 30 }.busy(10_000, 100), &settings);
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
async fn socket_that_follows_nothing_gets_empty_beats() {
    let hub = Hub::start_with(&["serve"], &[QUIET, ("FANOUT_BEAT_MS", "1")]);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut idle = Client::connect(&hub.address, &key).await;
    for _ in 0..3 {
        assert_eq!(idle.next_of("beat").await["heads"], json!({}));
    }
}
