//! Webhooks, from the log to a receiver of the test that checks their signatures.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU16, Ordering},
    },
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use data_encoding::BASE64;
use hmac::{Hmac, KeyInit, Mac};
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{
    site::{QUICK, customer},
    support::{ALL_ADDONS, Answer, Hub, QUIET, Setting, between, until},
};

const HOOKS: &str = "/api/v2/webhooks/";
/// Webhooks may lead to this machine, and are retried at once.
const SETTINGS: [Setting; 5] = [
    QUIET,
    ("WEBHOOKS_ALLOW_PRIVATE", "true"),
    ("WEBHOOKS_RETRY_MS", "50"),
    // A request that a kill interrupts is repeated after little more than twice as long.
    ("WEBHOOKS_TIMEOUT_MS", "2000"),
    ("WEBHOOKS_POLL_MS", "20"),
];

/// A request that a receiver got.
#[derive(Debug, Clone)]
struct WebhookRequest {
    id: String,
    timestamp: String,
    signatures: Vec<String>,
    text: String,
}

impl WebhookRequest {
    fn body(&self) -> Value {
        serde_json::from_str(&self.text).expect("a body is JSON")
    }

    /// Whether one of its signatures is by this secret.
    fn is_signed_by(&self, secret: &str) -> bool {
        let secret = secret.strip_prefix("whsec_").expect("a secret of Standard Webhooks");
        let key = BASE64.decode(secret.as_bytes()).expect("a secret is base64");
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("any length");
        mac.update(format!("{}.{}.{}", self.id, self.timestamp, self.text).as_bytes());
        let expected = format!("v1,{}", BASE64.encode(&mac.finalize().into_bytes()));
        self.signatures.contains(&expected)
    }
}

/// A server of a customer. It outlives the hub.
struct Receiver {
    shared: Arc<ReceiverState>,
    url: String,
    serving: JoinHandle<()>,
}

#[derive(Default)]
struct ReceiverState {
    received: Mutex<Vec<WebhookRequest>>,
    /// Its answer to everything.
    status: AtomicU16,
}

impl Receiver {
    async fn open() -> Self {
        let shared = Arc::new(ReceiverState::default());
        shared.status.store(204, Ordering::SeqCst);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/hook", listener.local_addr().expect("it is bound"));
        let router = Router::new().fallback(take).with_state(Arc::clone(&shared));
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let service = TowerToHyperService::new(router.clone());
                let connection = hyper::server::conn::http1::Builder::new();
                tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { shared, url, serving }
    }

    fn answer_with(&self, status: u16) {
        self.shared.status.store(status, Ordering::SeqCst);
    }

    fn received(&self) -> Vec<WebhookRequest> {
        self.shared.received.lock().expect("no panic").clone()
    }

    /// The requests about an event, once there are as many.
    async fn until_received(&self, eid: &str, count: usize) -> Vec<WebhookRequest> {
        let of_event = || {
            let received = self.received().into_iter();
            received.filter(|it| it.body()["data"]["eid"] == eid).collect::<Vec<_>>()
        };
        until(&format!("request {count} about {eid}"), async || of_event().len() >= count).await;
        of_event()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn take(
    State(state): State<Arc<ReceiverState>>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let header = |name| headers[name].to_str().expect("a header is text").to_owned();
    let received = WebhookRequest {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signatures: header("webhook-signature").split(' ').map(str::to_owned).collect(),
        text: String::from_utf8(body.to_vec()).expect("a body is text"),
    };
    state.received.lock().expect("no panic").push(received);
    StatusCode::from_u16(state.status.load(Ordering::SeqCst)).expect("a status")
}

/// A hub to which a test pushes a match, and the key of a customer.
struct Stage {
    hub: Hub,
    feed_key: String,
    key: String,
    lines: u64,
}

impl Stage {
    fn start(settings: &[Setting]) -> Self {
        let hub = Hub::start_with(&["serve"], settings);
        let (feed_key, key) = (hub.feed_key("acme", &[]), hub.key(&ALL_ADDONS));
        Self { hub, feed_key, key, lines: 0 }
    }

    /// Starts the hub again in the same folder.
    fn restart(&mut self, settings: &[Setting]) {
        self.hub = Hub::start_in_with(Arc::clone(&self.hub.folder), &["serve"], settings);
    }

    async fn push(&mut self, facts: impl IntoIterator<Item = Value>) {
        let mut lines = Vec::new();
        for fact in facts {
            self.lines += 1;
            let at = 1_788_280_000_000_000 + self.lines * 10_000_000;
            let line = json!({"id": self.lines.to_string(), "at": at, "sport": "football",
                "match": "derby", "fact": fact});
            lines.push(line.to_string());
        }
        self.hub.push(&self.feed_key, &lines).await;
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        let authorization = format!("Token {}", self.key);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.hub.post(path, &[("authorization", &authorization)], body.as_bytes()).await
    }

    /// Adds a webhook; returns its path and its secret.
    async fn add(&self, url: &str, events: &[&str], channels: &[&str]) -> (String, String) {
        let body = json!({"url": url, "events": events, "channels": channels});
        let answer = self.post(HOOKS, &body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        let webhook = answer.json();
        let secret = webhook["secret"].as_str().expect("a secret").to_owned();
        (format!("{HOOKS}{}/", webhook["id"]), secret)
    }

    async fn state_of(&self, webhook: &str, eid: &str) -> Value {
        let list = self.hub.json(&self.key, &format!("{webhook}deliveries/")).await;
        let rows = list["deliveries"].as_array().expect("deliveries");
        rows.iter().find(|row| row["eid"] == eid).cloned().unwrap_or_default()
    }

    async fn until_state(&self, webhook: &str, eid: &str, state: &str) -> Value {
        let is_so = async || self.state_of(webhook, eid).await["state"] == state;
        until(&format!("{eid} {state}"), is_so).await;
        self.state_of(webhook, eid).await
    }
}

fn kick_off() -> [Value; 3] {
    let fixture = json!({"fixture": {"start": 1_788_280_000_000_000_u64,
        "sides": [{"name": "Home"}, {"name": "Away"}]}});
    let outcome =
        |id: &str, outcome: &str| json!({"id": id, "status": "active", "outcome": outcome});
    let define = json!({"kind": "match_winner", "status": "open", "in_play": true,
        "selections": [outcome("1", "home"), outcome("x", "draw"), outcome("2", "away")]});
    let market = json!({"odds": {"book": "acmebet", "market": "m1", "change": {"define": define}}});
    [fixture, market, status("first_half")]
}

fn status(status: &str) -> Value {
    json!({"football": {"status": status}})
}

fn goal(home: u64) -> Value {
    json!({"football": {"incident": {"eid": format!("g{home}"), "kind": {"goal": "regular"},
        "minute": home, "side": "home", "score": [home, 0]}}})
}

#[tokio::test]
async fn events_are_sent_signed_with_their_eid_and_retried() {
    let mut stage = Stage::start(&SETTINGS);
    let receiver = Receiver::open().await;
    let kinds = ["goal", "match_end", "suspend"];
    let (webhook, secret) = stage.add(&receiver.url, &kinds, &["football/*"]).await;
    receiver.answer_with(500);
    stage.push(kick_off()).await;
    stage.push([goal(1)]).await;
    let failed = receiver.until_received("g1", 2).await;
    receiver.answer_with(204);
    let row = stage.until_state(&webhook, "g1", "delivered").await;
    assert_eq!((&row["status"], &row["error"]), (&json!(204), &Value::Null), "{row}");
    assert!(row["attempts"].as_u64() >= Some(3), "{row}");
    stage.push([goal(2), status("finished")]).await;
    let ends =
        async || receiver.received().iter().any(|it| it.body()["type"] == "football.match_end");
    until("the end of the match", ends).await;
    let second = receiver.until_received("g2", 1).await;

    let received = receiver.received();
    assert!(received.iter().all(|it| it.is_signed_by(&secret)), "{received:?}");
    let goals = receiver.until_received("g1", 3).await;
    assert!(goals.iter().all(|it| it.id == goals[0].id && it.text == goals[0].text), "{goals:?}");
    assert_eq!(row["id"], goals[0].id);
    assert_ne!(second[0].id, failed[0].id);
    let body = goals[0].body();
    assert_eq!(body["type"], "football.goal");
    assert_eq!(body["data"]["event"]["kind"], "goal");
    assert_eq!(body["data"]["event"]["score"], json!({"home": 1, "away": 0}));
    let channel = body["data"]["ch"].as_str().expect("a channel").to_owned();
    let document = stage.hub.json(&stage.key, &format!("/stream/v1/channels/{channel}")).await;
    assert_eq!(document["epoch"], body["data"]["epoch"]);
    assert_eq!(document["data"]["incidents"]["g1"]["kind"], "goal");
    // The goal suspended the book, whose channel the pattern does not cover.
    assert!(received.iter().all(|it| it.body()["data"]["ch"] == *channel), "{received:?}");
}

#[tokio::test]
async fn every_goal_arrives_through_a_kill_of_the_hub() {
    let mut stage = Stage::start(&SETTINGS);
    let receiver = Receiver::open().await;
    let (webhook, secret) = stage.add(&receiver.url, &["goal"], &[]).await;
    stage.push(kick_off()).await;
    stage.push((1..=3).map(goal)).await;
    receiver.until_received("g1", 1).await;
    // What was sent is repeated or not; what was not sent waits; the last may be in the log only.
    receiver.answer_with(503);
    stage.push((4..=6).map(goal)).await;
    stage.hub.kill();
    receiver.answer_with(204);
    stage.restart(&SETTINGS);
    stage.push((7..=9).map(goal)).await;
    stage.push([status("finished")]).await;
    let mut ids = BTreeMap::new();
    for eid in (1..=9).map(|it| format!("g{it}")) {
        stage.until_state(&webhook, &eid, "delivered").await;
        let received = receiver.until_received(&eid, 1).await;
        let is_same = received.iter().all(|it| it.id == received[0].id);
        assert!(is_same, "all attempts have one id: {received:?}");
        ids.insert(received[0].id.clone(), eid);
    }
    assert_eq!(ids.len(), 9, "{ids:?}");
    let received = receiver.received();
    assert!(received.iter().all(|it| it.is_signed_by(&secret)), "the secret outlives the hub");
    let list = stage.hub.json(&stage.key, &format!("{webhook}deliveries/?limit=200")).await;
    assert_eq!(list["deliveries"].as_array().map(Vec::len), Some(9), "no event twice: {list}");
}

/// A price that stays above its condition is sent once, also through a kill, and again when it comes back.
#[tokio::test]
async fn price_is_sent_when_it_begins_to_meet_a_condition() {
    let mut stage = Stage::start(&SETTINGS);
    let receiver = Receiver::open().await;
    let webhook = json!({"url": receiver.url, "events": ["price"], "channels": ["football/*/odds"],
        "prices": [{"market": "match_winner", "selection": "home", "at_least": "2.5"}]});
    let answer = stage.post(HOOKS, &webhook).await;
    assert_eq!((answer.status, &answer.json()["prices"]), (201, &webhook["prices"]), "{answer:?}");
    let price = |price: &str| {
        let change = json!({"prices": {"selections": [{"id": "1", "price": price}]}});
        json!({"odds": {"book": "acmebet", "market": "m1", "change": change}})
    };
    let prices = || -> Vec<String> {
        // What the kill interrupted may come again.
        let mut ids = BTreeSet::new();
        let received = receiver.received().into_iter().filter(|it| ids.insert(it.id.clone()));
        let events = received.map(|it| it.body()["data"]["event"].clone());
        events.map(|event| event["price"].as_str().expect("a price").to_owned()).collect()
    };
    stage.push(kick_off()).await;
    stage.push([price("2.10")]).await;
    stage.push([price("2.50")]).await;
    until("the first price", async || prices() == ["2.50"]).await;
    let body = receiver.received()[0].body();
    let channel =
        format!("/stream/v1/channels/{}", body["data"]["ch"].as_str().expect("a channel"));
    stage.hub.kill();
    stage.restart(&SETTINGS);
    // Each is published before the next one: prices of one moment are one update.
    for next in ["2.7", "2.4", "3"] {
        stage.push([price(next)]).await;
        let shown = |document: &Value| {
            document["data"]["markets"]["match_winner"]["selections"]["home"]["price"] == next
        };
        stage.hub.json_until(&stage.key, &channel, shown).await;
    }
    until("the next price", async || prices().len() > 1).await;
    assert_eq!(prices(), ["2.50", "3"], "it was met through the kill");
    assert_eq!(body["type"], "football.price");
    let event = &body["data"]["event"];
    assert_eq!((&event["bookmaker"], &event["at_least"]), (&json!("acmebet"), &json!("2.5")));
    for (prices, channels) in [
        (json!([]), json!(["football/*/odds"])),
        (json!([{"market": "m", "selection": "s"}]), json!(["football/*/odds"])),
        (json!([{"market": "m", "selection": "s", "at_most": "low"}]), json!(["football/*/odds"])),
        (webhook["prices"].clone(), json!([])),
    ] {
        let wrong = json!({"url": receiver.url, "events": ["price"], "channels": channels,
            "prices": prices});
        assert_eq!(stage.post(HOOKS, &wrong).await.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn private_addresses_are_refused_unless_a_setting_allows_them() {
    let stage = Stage::start(&[QUIET]);
    let add = async |url: &str| stage.post(HOOKS, &json!({"url": url, "events": ["goal"]})).await;
    for url in [
        "http://example.org/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://169.254.169.254/latest/meta-data/",
        "https://10.0.0.1:8443/",
        "https://localhost/",
        "nonsense",
    ] {
        let answer = add(url).await;
        assert_eq!(answer.status, 400, "{url}: {answer:?}");
    }
    assert_eq!(add("https://example.org/").await.status, 201);
}

#[tokio::test]
async fn owner_lists_changes_tests_resends_rotates_and_deletes() {
    let stage = Stage::start(&SETTINGS);
    let receiver = Receiver::open().await;
    let (webhook, secret) = stage.add(&receiver.url, &["goal"], &[]).await;
    let nothing = Value::Null;
    let answer = stage.post(&format!("{webhook}test/"), &nothing).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let id = answer.json()["id"].as_str().expect("an id").to_owned();
    let has = async |count| {
        let received = receiver.received();
        received.iter().filter(|it| it.id == id).count() >= count
    };
    until("the test", async || has(1).await).await;
    let resent = stage.post(&format!("{webhook}deliveries/{id}/resend/"), &nothing).await;
    assert_eq!(resent.status, 202, "{resent:?}");
    until("the resent test", async || has(2).await).await;
    assert_eq!(receiver.received()[0].body()["type"], "test");
    let unknown = stage.post(&format!("{webhook}deliveries/msg_none/resend/"), &nothing).await;
    assert_eq!(unknown.status, 404);

    let rotated = stage.post(&format!("{webhook}rotate/"), &nothing).await.json();
    let new_secret = rotated["secret"].as_str().expect("a secret").to_owned();
    assert_ne!(new_secret, secret);
    let before = receiver.received().len();
    stage.post(&format!("{webhook}test/"), &nothing).await;
    until("a test by both secrets", async || receiver.received().len() > before).await;
    let both = receiver.received().pop().expect("it was received");
    assert!(both.is_signed_by(&secret) && both.is_signed_by(&new_secret), "{both:?}");

    let change = json!({"events": ["card", "goal"], "channels": ["football/*"], "enabled": false});
    let changed = stage.post(&webhook, &change).await.json();
    assert_eq!(changed["events"], json!(["goal", "card"]));
    assert_eq!((&changed["url"], &changed["enabled"]), (&json!(receiver.url), &json!(false)));
    assert_eq!(changed["secret"], Value::Null, "it is shown once");
    assert_eq!(stage.post(&format!("{webhook}test/"), &nothing).await.status, 409);
    for wrong in [
        json!({"events": []}),
        json!({"events": ["nothing"]}),
        json!({"channels": ["a b"]}),
        json!({"other": 1}),
        json!([]),
    ] {
        assert_eq!(stage.post(&webhook, &wrong).await.status, 400, "{wrong}");
    }
    let list = stage.hub.json(&stage.key, HOOKS).await;
    assert_eq!(list["webhooks"].as_array().map(Vec::len), Some(1), "{list}");

    let other = stage.hub.key(&ALL_ADDONS);
    let theirs = stage.hub.json(&other, HOOKS).await;
    assert_eq!(theirs["webhooks"], json!([]));
    for path in [webhook.clone(), format!("{webhook}deliveries/"), format!("{HOOKS}x/")] {
        assert_eq!(stage.hub.get_as(&other, &path).await.status, 404, "{path}");
    }
    assert_eq!(stage.hub.get(HOOKS).await.status, 401);

    let key = format!("Token {}", stage.key);
    let deleted = stage.hub.request("DELETE", &webhook, &[("authorization", &key)]).await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    assert_eq!(stage.hub.get_as(&stage.key, &webhook).await.status, 404);
}

/// A webhook gets what the account may follow, so a key that may do less gets neither its secret nor its events, and cannot
/// destroy what it could not make.
#[tokio::test]
async fn key_without_all_scopes_may_only_list_switch_and_test() {
    let mut stage = Stage::start(&SETTINGS);
    let receiver = Receiver::open().await;
    let account = ["--email", "team@example.org", "--addon", "websocket", "--name", "ci"];
    let named = |scopes: &[&str]| {
        let scopes = scopes.iter().flat_map(|scope| ["--scope", scope]);
        stage.hub.key_command("create", account.into_iter().chain(scopes))
    };
    let all = named(&["football", "sports", "odds", "stream", "account"]);
    let few = named(&["football", "sports", "odds", "account"]);
    stage.key = all.clone();
    let (webhook, secret) = stage.add(&receiver.url, &["goal"], &[]).await;
    stage.key = few;
    let tested = stage.post(&format!("{webhook}test/"), &Value::Null).await;
    assert_eq!(tested.status, 202, "{tested:?}");
    let id = tested.json()["id"].as_str().expect("an id").to_owned();
    for path in ["rotate/".to_owned(), format!("deliveries/{id}/resend/")] {
        let refused = stage.post(&format!("{webhook}{path}"), &Value::Null).await;
        let code = &refused.json()["code"];
        assert_eq!((refused.status, code), (403, &json!("insufficient_scope")), "{path}");
    }
    let delete = async |key: &str| {
        let key = format!("Token {key}");
        stage.hub.request("DELETE", &webhook, &[("authorization", &key)]).await
    };
    assert_eq!(delete(&stage.key).await.status, 403);
    for enabled in [false, true] {
        let switched = stage.post(&webhook, &json!({"enabled": enabled})).await;
        assert_eq!(switched.json()["enabled"], enabled, "{switched:?}");
    }
    until("the test", async || !receiver.received().is_empty()).await;
    assert!(receiver.received()[0].is_signed_by(&secret), "it is still the same");
    assert_eq!(delete(&all).await.status, 204);
}

#[tokio::test]
async fn account_gets_only_what_it_may_follow() {
    let mut stage = Stage::start(&SETTINGS);
    let receiver = Receiver::open().await;
    let suspensions = ["suspend", "goal"];
    let (all, _) = stage.add(&receiver.url, &suspensions, &[]).await;
    let all_key = std::mem::replace(&mut stage.key, stage.hub.key(&["websocket"]));
    let (few, _) = stage.add(&receiver.url, &suspensions, &[]).await;
    let few_key = std::mem::replace(&mut stage.key, stage.hub.key(&[]));
    let (none, _) = stage.add(&receiver.url, &suspensions, &[]).await;
    let none_key = stage.key.clone();
    stage.push(kick_off()).await;
    stage.push([goal(1)]).await;
    let channels = async |key: &str, webhook: &str| {
        let list = stage.hub.json(key, &format!("{webhook}deliveries/")).await;
        let rows = list["deliveries"].as_array().expect("deliveries").clone();
        let names = rows.iter().map(|row| row["ch"].as_str().unwrap_or_default().to_owned());
        names.collect::<Vec<_>>()
    };
    let is_book = |name: &String| name.ends_with("/odds/acmebet");
    let has_book = async || channels(&all_key, &all).await.iter().any(is_book);
    until("the suspension of the book", has_book).await;
    // The deliveries of all webhooks are stored in one transaction.
    let few = channels(&few_key, &few).await;
    assert!(few.iter().any(|name| name.split('/').count() == 2), "{few:?}");
    assert!(!few.iter().any(is_book), "it has no Odds add-on: {few:?}");
    assert_eq!(channels(&none_key, &none).await, [""; 0], "it has no WebSocket add-on");
}

#[tokio::test]
async fn dead_endpoint_is_disabled_with_a_reason() {
    let stage = Stage::start(&SETTINGS);
    let receiver = Receiver::open().await;
    let (webhook, _) = stage.add(&receiver.url, &["goal"], &[]).await;
    receiver.answer_with(410);
    stage.post(&format!("{webhook}test/"), &Value::Null).await;
    let is_disabled = |row: &Value| row["enabled"] == false;
    let row = stage.hub.json_until(&stage.key, &webhook, is_disabled).await;
    assert_eq!(row["disabled_reason"], "its endpoint answered 410 Gone");
    receiver.answer_with(204);
    let enabled = stage.post(&webhook, &json!({"enabled": true})).await.json();
    assert_eq!((&enabled["enabled"], &enabled["failures"]), (&json!(true), &json!(0)));
    let delivered = async || {
        let list = stage.hub.json(&stage.key, &format!("{webhook}deliveries/")).await;
        list["deliveries"][0]["state"] == "delivered"
    };
    until("what waited", delivered).await;
}

/// The same on the dashboard, without scripts.
#[tokio::test]
async fn customer_manages_webhooks_on_the_dashboard() {
    let settings = [&QUICK[..], &SETTINGS[1..]].concat();
    let hub = Hub::start_with(&["serve"], &settings);
    let receiver = Receiver::open().await;
    let (mut ann, key) = customer(&hub, "ann@example.org").await;
    let list = "/dashboard/webhooks/";
    let fields = [("url", "nonsense"), ("goal", "yes"), ("channels", "football/*")];
    let refused = ann.fill(list, list, &fields).await;
    assert!(refused.status == 422 && refused.body.contains("role=\"alert\""), "{refused:?}");
    let condition = "match_winner home >= 2.5";
    let priced = [("url", &*receiver.url), ("price", "yes"), ("channels", "football/*/odds")];
    let wrong = [&priced[..], &[("prices", "home over 2")]].concat();
    let refused = ann.send(list, &wrong).await;
    assert!(
        refused.status == 422 && refused.body.contains("A price must be written"),
        "{refused:?}"
    );
    let added = ann.send(list, &[&priced[..], &[("prices", condition)]].concat()).await;
    let page = added.header("location").expect("its page").to_owned();
    let shown = ann.get(&page).await;
    assert!(shown.body.contains("match_winner home &#62;= 2.5"), "{shown:?}");
    ann.send(&page, &[("do", "delete")]).await;
    let fields = [("url", &*receiver.url), ("goal", "yes"), ("channels", "football/*")];
    ann.get(list).await;
    let added = ann.send(list, &fields).await;
    let page = added.header("location").expect("its page").to_owned();
    assert_eq!(added.status, 303, "{added:?}");
    let shown = ann.get(&page).await;
    let secret = between(&shown.body, "<code>whsec_", "<").expect("the secret").to_owned();
    ann.send(&page, &[("do", "test")]).await;
    until("the test", async || !receiver.received().is_empty()).await;
    let received = receiver.received().remove(0);
    assert!(received.is_signed_by(&format!("whsec_{secret}")), "{received:?}");
    let deliveries = page.replace("/dashboard/webhooks/", HOOKS) + "deliveries/";
    let delivered =
        hub.json_until(&key, &deliveries, |list| list["deliveries"][0]["state"] == "delivered");
    let id = delivered.await["deliveries"][0]["id"].as_str().expect("an id").to_owned();
    assert!(ann.get(&page).await.body.contains("delivered"));
    ann.send(&page, &[("do", "resend"), ("message", &id)]).await;
    until("it once more", async || receiver.received().len() == 2).await;
    ann.send(&page, &[("do", "disable")]).await;
    let disabled = ann.get(&page).await;
    assert!(disabled.body.contains("This webhook is disabled"), "{disabled:?}");
    // What the owner does needs no mail; what the hub does gets one.
    receiver.answer_with(410);
    ann.send(&page, &[("do", "enable")]).await;
    ann.send(&page, &[("do", "test")]).await;
    hub.until_printed("mail for ann@example.org: Your webhook was disabled").await;
    assert_eq!(hub.printed().matches("Your webhook was disabled").count(), 1);
    assert!(ann.get(&page).await.body.contains("answered 410 Gone"));
    let (mut bob, _) = customer(&hub, "bob@example.org").await;
    assert_eq!(bob.get(&page).await.status, 404);
    assert_eq!(ann.send_with(&page, &[("do", "delete")], &[]).await.status, 403, "no token");
    ann.send(&page, &[("do", "delete")]).await;
    assert!(ann.get(list).await.body.contains("No webhook yet"));
}
