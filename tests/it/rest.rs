//! The hub's HTTP responses: images, probes, counters, errors.

use serde_json::json;

use crate::support::{
    Answer, Client, Hub, ended,
    feed::{self, Market},
};
use std::sync::Arc;

async fn quiet() -> (Arc<Hub>, String) {
    let hub = Hub::quiet();
    let key = hub.key(&crate::support::ALL_ADDONS);
    // The channel opens in the hub's first turn.
    Client::connect(&hub.address, &key).await.next_of("hello").await;
    (hub, key)
}

#[tokio::test]
async fn probes_answer_without_a_key() {
    let (hub, _) = quiet().await;
    for (path, status) in [("/healthz", "ok"), ("/readyz", "ready")] {
        let answer = hub.get(path).await;
        assert_eq!((answer.status, answer.json()), (200, json!({"status": status})), "{path}");
    }
}

#[tokio::test]
async fn metrics_count_what_happens() {
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let path = feed::write(folder.path(), "feed.json", &Market { event: 30 }.busy(300, 100));
    let path = path.to_str().expect("a path of text");
    let hub = Hub::start_in(folder, &["replay", "--speed", "max", "--hold", path]);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let check = async |name: &str, least: f64| {
        let value = hub.metric(name).await;
        assert!(value >= least, "{name} is {value}, not {least} or more");
    };
    assert_eq!(hub.metric("matchwire_batches_total").await, 0.0);
    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("tennis/*/odds/*").await;
    client.subscribe("feeds").await;
    client.until(ended).await;
    client.send_text("nonsense").await;
    client.next_of("error").await;
    check("matchwire_batches_total", 300.0).await;
    check("matchwire_publications_total", 300.0).await;
    check("matchwire_deliveries_total", 1.0).await;
    check("matchwire_commands_refused_total", 1.0).await;
    check("matchwire_channels", 1.0).await;
    assert_eq!(hub.metric("matchwire_sockets").await, 1.0);
    Client::connect(&hub.address, "nonsense").await.until_closed().await;
    check(r#"matchwire_sockets_refused_total{reason="auth_failed"}"#, 1.0).await;
    check(r#"matchwire_closes_total{reason="auth_failed"}"#, 1.0).await;
    let metrics = hub.get("/metrics").await;
    assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4"));
}

#[tokio::test]
async fn image_is_the_same_as_on_the_socket() {
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let path = feed::write(folder.path(), "feed.json", &Market { event: 30 }.busy(50, 10));
    let path = path.to_str().expect("a path of text");
    let hub = Hub::start_in(folder, &["replay", "--speed", "max", "--hold", path]);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("tennis/*/odds/*").await;
    client.subscribe("feeds").await;
    client.until(ended).await;
    let names: Vec<String> = client.channels.keys().cloned().collect();
    assert_eq!(names.len(), 2, "{names:?}");
    for name in &names {
        let answer = hub.get(&format!("/stream/v1/channels/{name}?token={key}")).await;
        let followed = &client.channels[name];
        let image = answer.json();
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(image["seq"], followed.seq, "{name}");
        assert_eq!(image["data"], followed.data, "{name}: the updates lead elsewhere");
        let tag = format!("\"{}-{}\"", followed.epoch, followed.seq);
        assert_eq!(answer.header("etag"), Some(tag.as_str()), "{name}");
        client.send(&json!({"op": "subscribe", "id": name, "ch": name})).await;
        assert_eq!(client.next_of("image").await, image, "{name}");
    }
}

#[tokio::test]
async fn unchanged_image_is_not_sent_again() {
    let (hub, key) = quiet().await;
    let path = format!("/stream/v1/channels/feeds?token={key}");
    let tag = hub.get(&path).await.header("etag").expect("a tag").to_owned();
    let check = async |tags: &str, status: u16| {
        let answer = hub.request("GET", &path, &[("if-none-match", tags)]).await;
        assert_eq!((answer.status, answer.body.is_empty()), (status, status == 304), "{tags}");
        assert_eq!(answer.header("etag"), Some(tag.as_str()), "{tags}");
    };
    check(&tag, 304).await;
    check(&format!("\"other\", {tag}"), 304).await;
    check("\"other\"", 200).await;
}

#[tokio::test]
async fn at_least_waits_for_the_sequence() {
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let path = feed::write(folder.path(), "feed.json", &[Market { event: 30 }.defined("OPEN", 0)]);
    let path = path.to_str().expect("a path of text");
    let hub = Hub::start_in(folder, &["replay", "--speed", "max", "--hold", path]);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let path = |least: u64| format!("/stream/v1/channels/feeds?token={key}&at_least={least}");
    // Nothing changes without a follower, so this waits for the replay.
    let now = hub.get(&path(0)).await.json()["seq"].as_u64().expect("a sequence");
    let waiting = async { hub.get(&path(now + 1)).await.json() };
    let starting = async {
        let mut client = Client::connect(&hub.address, &key).await;
        client.subscribe("tennis/*/odds/*").await;
        client.next_of("update").await;
    };
    let (image, ()) = futures_util::future::join(waiting, starting).await;
    assert!(image["seq"].as_u64() > Some(now), "{image}");
}

#[tokio::test]
async fn at_least_returns_the_current_image_after_its_timeout() {
    let (hub, key) = quiet().await;
    let path = format!("/stream/v1/channels/feeds?token={key}");
    let now = hub.get(&path).await;
    let late = hub.get(&format!("{path}&at_least=1000000")).await;
    assert_eq!((late.status, late.json()), (200, now.json()));
}

#[tokio::test]
async fn errors_have_the_fields_of_the_specification() {
    let (hub, key) = quiet().await;
    let poor = hub.key(&["odds", "sports"]);
    let path = "/stream/v1/channels/feeds";
    let check = |answer: &Answer, code: &str, link: &str, page: &str| {
        let mut fields = ["error", "code", "detail", link];
        fields.sort_unstable();
        assert_eq!(answer.fields(), fields);
        let body = answer.json();
        assert_eq!(body["code"], code);
        assert_eq!(body[link], format!("http://{}{page}", hub.address));
        assert!(fields.iter().all(|field| body[field].is_string()), "{body}");
    };
    for (what, answer) in [
        ("no key", hub.get(path).await),
        ("a wrong key", hub.get(&format!("{path}?token=nonsense")).await),
        ("no key for what is not there", hub.get("/stream/v1/channels/nobody").await),
        ("no key for a ticket", hub.request("POST", "/api/v2/stream/ticket/", &[]).await),
        ("a wrong header and a good query", {
            let headers = [("authorization", "Token nonsense")];
            hub.request("GET", &format!("{path}?token={key}"), &headers).await
        }),
    ] {
        assert_eq!(answer.status, 401, "{what}");
        check(&answer, "authentication_required", "register", "/register/");
    }
    let answer = hub.get(&format!("{path}?token={poor}")).await;
    assert_eq!(answer.status, 402);
    check(&answer, "addon_required", "pricing_url", "/pricing/");
}

#[tokio::test]
async fn other_errors_have_one_shape() {
    let (hub, key) = quiet().await;
    let channels = "/stream/v1/channels";
    let check = async |method: &str, path: &str, status: u16| {
        let answer = hub.request(method, path, &[("authorization", &format!("Token {key}"))]).await;
        let body = answer.json();
        assert_eq!((answer.status, &body["status"]), (status, &json!(status)), "{path}: {body}");
        assert_eq!(answer.fields(), ["detail", "error", "status"], "{path}");
        assert_eq!((&body["error"], body["detail"].is_string()), (&json!(true), true), "{path}");
    };
    check("GET", "/nowhere", 404).await;
    check("GET", "/static/nothing.js", 404).await;
    check("GET", &format!("{channels}/football/nobody"), 404).await;
    check("GET", &format!("{channels}/football/*"), 400).await;
    check("GET", &format!("{channels}/foot%20ball"), 400).await;
    check("GET", &format!("{channels}/football//7"), 400).await;
    check("GET", &format!("{channels}/feeds?at_least=soon"), 400).await;
    check("GET", &format!("{channels}/feeds?at_least=-1"), 400).await;
    check("POST", &format!("{channels}/feeds"), 405).await;
    check("DELETE", "/healthz", 405).await;
    check("GET", "/api/v2/stream/ticket/", 405).await;
    check("GET", "/stream/v1", 426).await;
}

#[tokio::test]
async fn key_is_accepted_in_header_or_query_and_the_path_may_end_in_a_slash() {
    let (hub, key) = quiet().await;
    let path = "/stream/v1/channels/feeds";
    let check = async |path: &str, header: &str| {
        let headers = [("authorization", header)];
        let headers = if header.is_empty() { &headers[..0] } else { &headers };
        assert_eq!(hub.request("GET", path, headers).await.status, 200, "{path} {header}");
    };
    check(path, &format!("Token {key}")).await;
    check(path, &format!("Bearer {key}")).await;
    check(&format!("{path}/"), &format!("Token {key}")).await;
    check(&format!("{path}?token={key}"), "").await;
    check(&format!("{path}/?at_least=1&token={key}"), "").await;
    check(&format!("{path}?token={key}"), &format!("Token {key}")).await;
}
