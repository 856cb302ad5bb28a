//! Named keys over HTTP and sockets: their scopes, their networks, their end, and the page that manages them.

use super::*;
use crate::{
    site::{customer, demo},
    support::{Answer, between},
};

const EMAIL: &str = "team@example.org";

/// Makes a named key of the account, which has every add-on.
fn named(hub: &Hub, more: &[&str]) -> String {
    let account =
        ["--email", EMAIL, "--addon", "websocket", "--addon", "sports", "--addon", "odds"];
    hub.key_command(
        "create",
        account.into_iter().chain(["--name", "ci"]).chain(more.iter().copied()),
    )
}

fn code(answer: &Answer) -> (u16, Value) {
    let code = if answer.status == 200 { Value::Null } else { answer.json()["code"].clone() };
    (answer.status, code)
}

#[tokio::test]
async fn scopes_limit_paths_and_sockets() {
    let hub = Hub::quiet();
    let paths = [
        ("/api/v2/events/", "football"),
        ("/signals/api/", "football"),
        ("/tennis/api/v2/matches/", "sports"),
        ("/odds/api/", "odds"),
        ("/stream/v1/channels/feeds", "stream"),
        ("/api/v2/account/", "account"),
        ("/api/v2/webhooks/", "account"),
    ];
    for scope in ["football", "sports", "odds", "stream", "account"] {
        let key = named(&hub, &["--scope", scope]);
        for (path, needed) in paths {
            let answer = hub.get_as(&key, path).await;
            if needed == scope {
                assert_eq!(answer.status, 200, "{path} with {scope}: {answer:?}");
            } else {
                let expected = (403, json!("insufficient_scope"));
                assert_eq!(code(&answer), expected, "{path} with {scope}");
            }
        }
        let authorization = format!("Token {key}");
        let headers = [("authorization", &*authorization)];
        let ticket = hub.request("POST", "/api/v2/stream/ticket/", &headers).await;
        if scope == "stream" {
            served(upgrade(&hub, &headers, "")).await;
            let ticket = ticket.json()["ticket"].as_str().expect("a ticket").to_owned();
            served(upgrade(&hub, &[], &format!("?ticket={ticket}"))).await;
        } else {
            assert_eq!(code(&ticket), (403, json!("insufficient_scope")), "{scope}");
            assert_eq!(refused(upgrade(&hub, &headers, "")).await, auth_failed(), "{scope}");
        }
    }
}

/// What the other scopes do not cover is not shown over sockets either.
#[tokio::test]
async fn stream_shows_what_the_other_scopes_cover() {
    let hub = Hub::quiet();
    let check = async |scopes: &[&str], channel: &str, is_allowed: bool| {
        let scopes: Vec<_> = scopes.iter().flat_map(|scope| ["--scope", scope]).collect();
        let key = named(&hub, &scopes);
        let mut client = Client::connect(&hub.address, &key).await;
        let answer = client.ask(&json!({"op": "subscribe", "id": 1, "ch": channel})).await;
        assert_eq!(answer["type"] == "subscribed", is_allowed, "{scopes:?}: {answer}");
    };
    let key = named(&hub, &["--scope", "stream"]);
    let mut client = Client::connect(&hub.address, &key).await;
    let refusal = client.ask(&json!({"op": "subscribe", "id": 1, "ch": "signals"})).await;
    let expected = "this channel needs the scope odds, which the key does not have";
    assert_eq!((&refusal["message"], refusal.get("addons")), (&json!(expected), None), "{refusal}");
    let image = hub.get_as(&key, "/stream/v1/channels/signals").await;
    assert_eq!(code(&image), (403, json!("insufficient_scope")), "no add-on would change it");
    check(&["stream"], "feeds", true).await;
    check(&["stream"], "signals", false).await;
    check(&["stream", "odds"], "signals", true).await;
}

/// A webhook gets what the account may follow, and outlasts the key: a key that may do less must not make one.
#[tokio::test]
async fn webhooks_are_chosen_by_a_key_with_all_scopes() {
    let hub = Hub::quiet();
    let hooks = "/api/v2/webhooks/";
    let terms =
        json!({"url": "https://example.org/hook", "events": ["goal"], "channels": ["football/*"]});
    let all = ["--scope", "football", "--scope", "sports", "--scope", "odds", "--scope", "stream"];
    let all = named(&hub, &[&all[..], &["--scope", "account"]].concat());
    let account = named(&hub, &["--scope", "account"]);
    let post = async |key: &str, path: &str, body: &Value| {
        let authorization = format!("Token {key}");
        hub.post(path, &[("authorization", &authorization)], body.to_string().as_bytes()).await
    };
    assert_eq!(code(&post(&account, hooks, &terms).await), (403, json!("insufficient_scope")));
    let created = post(&all, hooks, &terms).await;
    assert_eq!(created.status, 201, "{created:?}");
    let hook = format!("{hooks}{}/", created.json()["id"]);
    let more = json!({"channels": ["*/*/odds/*"]});
    assert_eq!(code(&post(&account, &hook, &more).await), (403, json!("insufficient_scope")));
    let sent = hub.get_as(&account, &format!("{hook}deliveries/")).await;
    assert_eq!(code(&sent), (403, json!("insufficient_scope")), "they contain the events");
    assert_eq!(post(&account, &hook, &json!({"enabled": false})).await.status, 200);
    assert_eq!(hub.json(&account, &hook).await["enabled"], false);
}

#[tokio::test]
async fn key_works_from_its_networks_only() {
    let hub = Hub::quiet();
    let all = ["--scope", "football", "--scope", "stream"];
    let elsewhere = named(&hub, &[&all[..], &["--from", "192.0.2.0/24"]].concat());
    let here =
        named(&hub, &[&all[..], &["--from", "192.0.2.0/24", "--from", "127.0.0.1"]].concat());
    assert_eq!(hub.get_as(&here, "/api/v2/events/").await.status, 200);
    let refusal = hub.get_as(&elsewhere, "/api/v2/events/").await;
    assert_eq!(code(&refusal), (403, json!("address_not_allowed")));
    assert_eq!(refusal.json()["detail"], "This key does not work from 127.0.0.1.");
    let header = |key: &str| format!("Token {key}");
    served(upgrade(&hub, &[("authorization", &header(&here))], "")).await;
    let upgrade = upgrade(&hub, &[("authorization", &header(&elsewhere))], "");
    assert_eq!(refused(upgrade).await, auth_failed());
    // It does not count as a wrong key, and asks no application for another authorization.
    let mcp = hub.post("/mcp", &[("authorization", &header(&elsewhere))], b"{}").await;
    assert_eq!((mcp.status, mcp.header("www-authenticate")), (403, None));
}

#[tokio::test]
async fn customer_manages_named_keys_on_the_dashboard() {
    let hub = demo();
    let (mut ann, main) = customer(&hub, "ann@named.example.org").await;
    let page = "/dashboard/keys/";
    for (fields, problem) in [
        (&[("name", "ci")][..], "Choose what the key may use."),
        (&[("name", ""), ("football", "yes")], "Give the key a name"),
        (&[("name", "ci"), ("football", "yes"), ("networks", "home")], "neither an address nor"),
        (&[("name", "ci"), ("football", "yes"), ("ends", "soon")], "Choose a date"),
        (&[("name", "ci"), ("football", "yes"), ("ends", "2001-01-01")], "have ended already"),
    ] {
        let fields = [&[("do", "create")], fields].concat();
        let refused = ann.fill(page, page, &fields).await;
        assert!(refused.status == 422 && refused.body.contains(problem), "{fields:?}: {refused:?}");
    }
    let fields = [
        ("do", "create"),
        ("name", "<b>ci</b>"),
        ("football", "yes"),
        ("networks", "127.0.0.0/8"),
        ("ends", "2199-12-31"),
    ];
    let created = ann.send(page, &fields).await;
    assert_eq!((created.status, created.header("location")), (303, Some(page)), "{created:?}");
    let dashboard = ann.get("/dashboard/").await;
    assert!(!dashboard.body.contains("data-key>"), "a named key is no main key");
    assert!(dashboard.body.contains("1 named key."), "{dashboard:?}");
    let shown = ann.get(page).await;
    let key = between(&shown.body, "data-named-key>", "<").expect("the key in full").to_owned();
    for part in ["&#60;b&#62;ci", "127.0.0.0/8", "1 Jan 2200, 00:00 UTC"] {
        assert!(shown.body.contains(part), "{part} is missing: {}", shown.body);
    }
    assert!(!shown.body.contains("data-key>"), "the browser keeps the main key for its pages");
    assert!(!ann.get(page).await.body.contains("data-named-key>"), "it is shown once");
    assert_eq!(hub.get_as(&key, "/api/v2/events/").await.status, 200);
    assert_eq!(hub.get_as(&key, "/api/v2/account/").await.status, 403);

    ann.fill("/dashboard/", "/dashboard/regenerate/", &[]).await;
    assert_eq!(hub.get_as(&main, "/api/v2/events/").await.status, 401);
    assert_eq!(hub.get_as(&key, "/api/v2/events/").await.status, 200);

    let (mut bob, _) = customer(&hub, "bob@named.example.org").await;
    let revoke = [("do", "revoke"), ("key", &key[..11])];
    bob.fill(page, page, &revoke).await;
    assert_eq!(hub.get_as(&key, "/api/v2/events/").await.status, 200, "it is not Bob's");
    assert_eq!(ann.send_with(page, &revoke, &[]).await.status, 403, "no token");
    assert_eq!(ann.fill(page, page, &revoke).await.status, 303);
    assert_eq!(hub.get_as(&key, "/api/v2/events/").await.status, 401);
    assert!(ann.get(page).await.body.contains("No named key yet"));
}
