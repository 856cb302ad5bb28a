//! Signals of pushed prices, on their channel and over HTTP.

use serde_json::{Value, json};

use crate::support::{Client, Hub, PATIENCE, QUIET};

const ADDONS: [&str; 1] = ["websocket"];

fn line(number: u32, fact: &Value) -> String {
    let at = 1_788_280_000_000_000_u64 + u64::from(number) * 1_000_000;
    json!({ "at": at, "sport": "tennis", "match": "m1", "fact": fact }).to_string()
}

fn defined(number: u32, book: &str, status: &str) -> String {
    let selection =
        |id: &str, outcome: &str| json!({ "id": id, "status": "active", "outcome": outcome });
    let selections = [selection("1", "p1"), selection("2", "p2")];
    let market = json!({ "kind": "match_winner", "status": status, "selections": selections });
    line(
        number,
        &json!({ "odds": { "book": book, "market": "m", "change": { "define": market } } }),
    )
}

fn priced(number: u32, book: &str, first: &str, second: &str) -> String {
    let selections = [json!({ "id": "1", "price": first }), json!({ "id": "2", "price": second })];
    let change = json!({ "prices": { "selections": selections } });
    line(number, &json!({ "odds": { "book": book, "market": "m", "change": change } }))
}

async fn push(hub: &Hub, key: &str, lines: &[String]) {
    let token = format!("Token {key}");
    let headers = [("authorization", &*token)];
    let answer = hub.post("/ingest/v1/acme", &headers, lines.join("\n").as_bytes()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.json()["refused"], 0, "{}", answer.body);
}

async fn get(hub: &Hub, key: &str, path: &str) -> Value {
    let answer = hub.request("GET", path, &[("authorization", &format!("Token {key}"))]).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.json()
}

/// Asks until the answer is as is wanted; the writer lays out ten times a second.
async fn until(hub: &Hub, key: &str, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let answer = get(hub, key, path).await;
        if wanted(&answer) {
            return answer;
        }
        assert!(tokio::time::Instant::now() < deadline, "{path} stays {answer}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn arbitrage_begins_and_ends_on_channel_and_over_http() {
    let mut hub = Hub::start_with(&["serve"], &[QUIET]);
    let (feed, key) = (hub.feed_key("acme", &[]), hub.key(&ADDONS));
    let fixture = json!({ "fixture": { "sides": [{ "name": "Ana" }, { "name": "Bea" }] } });
    let first = [
        line(0, &fixture),
        defined(1, "alpha", "open"),
        priced(2, "alpha", "2.10", "1.75"),
        defined(3, "beta", "open"),
    ];
    push(&hub, &feed, &first).await;
    let kinds = get(&hub, &key, "/signals/api/kinds/").await;
    assert_eq!(kinds["count"], 6, "{kinds}");
    push(&hub, &feed, &[priced(4, "beta", "1.80", "2.05")]).await;

    let list = until(&hub, &key, "/signals/api/?active=true", |it| it["count"] == 1).await;
    let signal = &list["results"][0];
    assert_eq!(signal["kind"], "arbitrage");
    assert_eq!((&signal["home"]["name"], &signal["sport"]), (&json!("Ana"), &json!("tennis")));
    // 1/2.10 + 1/2.05 = 0.963995, and 1/0.963995 = 1.037349.
    assert_eq!(signal["details"]["profit"], json!(0.0373));
    let bets = signal["details"]["legs"].as_array().expect("the bets");
    let told: Vec<_> = bets.iter().map(|bet| (&bet["bookmaker_slug"], &bet["stake"])).collect();
    let expected = [("alpha", 0.493_975), ("beta", 0.506_025)];
    let expected = expected.map(|(slug, stake)| (json!(slug), json!(stake)));
    assert_eq!(told, expected.iter().map(|(slug, stake)| (slug, stake)).collect::<Vec<_>>());
    let id = signal["id"].as_u64().expect("an id");
    assert_eq!(get(&hub, &key, &format!("/signals/api/{id}/")).await["id"], id);

    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("signals").await;
    let image = client.next_of("image").await;
    let told = &image["data"]["signals"][id.to_string()];
    assert_eq!((&told["kind"], &told["profit"]), (&json!("arbitrage"), &json!("0.0373")));

    push(&hub, &feed, &[defined(5, "beta", "suspended")]).await;
    let update = client.next_of("update").await;
    assert_eq!(update["patch"]["signals"][id.to_string()], Value::Null, "{update}");
    assert_eq!(update["events"][0]["kind"], "signal_end", "{update}");
    let list = until(&hub, &key, "/signals/api/?active=false", |it| it["count"] == 1).await;
    assert_eq!(list["results"][0]["ended_at"], "2026-09-01T16:26:45Z");

    for (filter, count) in [
        ("kind=arbitrage&sport=tennis", 1),
        ("kind=steam", 0),
        ("sport=football", 0),
        ("min_strength=100", 0),
        ("date_from=2026-09-02", 0),
        ("date_to=2026-09-01", 1),
    ] {
        let list = get(&hub, &key, &format!("/signals/api/?{filter}")).await;
        assert_eq!(list["count"], count, "{filter}");
    }
    assert_eq!(hub.stop(), Some(0));
}

#[tokio::test]
async fn mistakes_are_told() {
    let hub = Hub::start_with(&["serve"], &[QUIET]);
    let key = hub.key(&[]);
    let token = format!("Token {key}");
    for (path, status) in [
        ("/signals/api/?kind=luck", 400),
        ("/signals/api/?min_strength=101", 400),
        ("/signals/api/?colour=red", 400),
        ("/signals/api/7/", 404),
        ("/signals/api/seven/", 404),
    ] {
        let answer = hub.request("GET", path, &[("authorization", &token)]).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        assert!(answer.json()["detail"].is_string(), "{path}: {}", answer.body);
    }
}
