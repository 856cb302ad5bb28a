//! Who may call what, what a call counts as, and what the refusals say.

use serde_json::{Value, json};

use super::{
    client::{ERAS, McpClient, refusal},
    stage::{Stage, market, prices},
};
use crate::{
    site::{customer, demo},
    support::{Hub, QUIET, Setting, until},
};

/// A well-formed key that does not exist.
const WRONG: &str = "mw_000000000000000000000000000000000000000000000000";

const ODDS_COST: Setting = ("PRODUCTS_ODDS_FREE_UNTIL", "");

const SERVERS: [&str; 6] = [
    "/tennis/mcp",
    "/csgo/mcp",
    "/darts/mcp",
    "/hockey/mcp",
    "/basketball/mcp",
    "/horseracing/mcp",
];

/// As over REST, the account needs a scope of its own; an application's token has it by the consent.
#[tokio::test]
async fn named_key_reads_the_account_with_its_scope_only() {
    let hub = Hub::quiet();
    let named = |scopes: &[&str]| {
        let scopes = scopes.iter().flat_map(|scope| ["--scope", scope]);
        hub.key_command("create", ["--email", "me@x.org", "--name", "ci"].into_iter().chain(scopes))
    };
    let football = McpClient::new(&hub, &named(&["football"])).at("/mcp");
    let refused = football.refusal("get_account", json!({})).await;
    assert_eq!(
        (&refused["code"], &refused["scope"]),
        (&json!("insufficient_scope"), &json!("account"))
    );
    let both = McpClient::new(&hub, &named(&["football", "account"])).at("/mcp");
    let account = both.call("get_account", json!({})).await;
    assert_eq!(account["structuredContent"]["data"]["email"], "me@x.org", "{account}");
}

/// Days are those of the zone that the customer chose, from the next call on, unless the call names another.
#[tokio::test]
async fn days_are_of_the_time_zone_of_the_account() {
    let hub = demo();
    let (mut browser, key) = customer(&hub, "ann@zone.example.org").await;
    let client = McpClient::new(&hub, &key);
    let zone = async |arguments: Value| {
        let answer = client.answer("search_matches", arguments).await;
        answer["window"]["timezone"].clone()
    };
    assert_eq!(zone(json!({"date": "today", "limit": 1})).await, Value::Null);
    let (page, form) = ("/dashboard/settings/", "/dashboard/settings/zone/");
    for unknown in ["", "Mars/Base", "Europe/Berlin<b>"] {
        let refused = browser.fill(page, form, &[("zone", unknown)]).await;
        assert!(refused.status == 422 && refused.body.contains("no such time zone"), "{refused:?}");
    }
    let chosen = browser.fill(page, form, &[("zone", "Asia/Tokyo")]).await;
    assert_eq!(chosen.header("location"), Some("/dashboard/settings/?done=zone"), "{chosen:?}");
    let shown = browser.get(page).await.body;
    assert!(shown.contains("<option selected>Asia/Tokyo</option>"), "{shown}");
    assert_eq!(zone(json!({"date": "today", "limit": 1})).await, "Asia/Tokyo");
    let given = json!({"date": "today", "limit": 1, "timezone": "Europe/Berlin"});
    assert_eq!(zone(given).await, "Europe/Berlin");
    let account = hub.json(&key, "/api/v2/account/").await;
    assert_eq!(account["timezone"], "Asia/Tokyo");
}

/// SPEC section 5, rules 1 and 2, and section 7: the same bodies as of REST, for every method but calls.
#[tokio::test]
async fn servers_need_a_key_and_those_of_sports_their_addon() {
    let hub = Hub::shared(&["serve"], &[QUIET, ODDS_COST]);
    let (key, paid) = (hub.key(&[]), hub.key(&["sports"]));
    let register = format!("http://{}/register/", hub.address);
    let pricing = format!("http://{}/pricing/", hub.address);
    for era in ERAS {
        for path in ["/mcp", "/mcp/", "/api/mcp", "/api/mcp/"].iter().chain(&SERVERS) {
            for method in ["tools/list", "server/discover", "initialize", "tools/call"] {
                let wrong = McpClient::new(&hub, WRONG).at(path).with_era(era);
                for request in [
                    wrong.request(method, &json!({})),
                    wrong.request(method, &json!({})).without("authorization"),
                ] {
                    let answer = request.send(&hub).await;
                    assert_eq!(answer.status, 401, "{path} {method}: {answer:?}");
                    let body = answer.json();
                    let expected = json!({
                        "error": "Authentication required", "code": "authentication_required",
                        "detail": body["detail"], "register": register,
                    });
                    assert_eq!(body, expected, "{path} {method}");
                    let schemes: Vec<&str> = answer.headers("www-authenticate").collect();
                    assert!(schemes.iter().any(|it| it.starts_with("Token")), "{schemes:?}");
                    assert!(schemes.iter().any(|it| it.starts_with("Bearer")), "{schemes:?}");
                }
            }
            let free = McpClient::new(&hub, &key).at(path).with_era(era);
            let answer = free.request("tools/list", &json!({})).send(&hub).await;
            if !path.contains("mcp") || SERVERS.contains(path) {
                let body = answer.json();
                let expected = json!({
                    "error": "Sports Addon required", "code": "addon_required", "detail": body["detail"],
                    "pricing_url": pricing,
                });
                assert_eq!((answer.status, body), (402, expected), "{path}");
                // A model reads the result of its call only.
                let refused = refusal(&free.call("find", json!({"q": "anybody"})).await);
                assert_eq!(refused["code"], "addon_required", "{path}: {refused}");
                assert_eq!(refused["pricing_url"], pricing, "{path}: {refused}");
                let paid = McpClient::new(&hub, &paid).at(path).with_era(era);
                assert!(!paid.tools().await.is_empty(), "{path}");
            } else {
                assert_eq!(answer.status, 200, "{path}: {answer:?}");
            }
        }
    }
}

/// Keys in addresses end up in logs.
#[tokio::test]
async fn key_in_the_address_is_refused_with_a_hint() {
    let hub = Hub::quiet();
    let key = hub.key(&["sports"]);
    for path in ["/mcp", "/api/mcp/", "/tennis/mcp"] {
        let client = McpClient::new(&hub, &key).at(&format!("{path}?token={key}"));
        for request in [
            client.request("tools/list", &json!({})),
            client.request("tools/list", &json!({})).without("authorization"),
        ] {
            let answer = request.send(&hub).await;
            assert_eq!(
                (answer.status, &answer.json()["code"]),
                (401, &json!("authentication_required"))
            );
            let detail = answer.json()["detail"].as_str().expect("a text").to_owned();
            assert!(detail.contains("Authorization: Bearer") && !detail.contains(&key), "{detail}");
        }
    }
}

async fn account(hub: &Hub, key: &str) -> Value {
    hub.json(key, "/api/v2/account/").await
}

/// A day's quota is spent by calls only, and a model can read that it is used up.
#[tokio::test]
async fn quota_is_spent_by_calls_and_not_by_lists() {
    let hub = Hub::start_with(&["serve"], &[QUIET, ("LIMITS_FOOTBALL_PER_DAY", "6")]);
    for era in ERAS {
        let key = hub.key(&[]);
        let client = McpClient::new(&hub, &key).with_era(era);
        let lists = async || {
            for method in
                ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]
            {
                client.result(method, json!({})).await;
            }
            match era {
                super::client::Era::Modern => client.result("server/discover", json!({})).await,
                super::client::Era::Legacy => initialize(&client).await,
            }
        };
        lists().await;
        let result = client.call("list_leagues", json!({})).await;
        let left = &result["_meta"]["org.matchwire/usage"];
        assert_eq!(left["left"], 5, "{result}");
        assert!(left["reset_s"].as_u64().is_some_and(|it| it <= 86_400), "{result}");
        // A call is one, whatever it asks for, and also when it is refused.
        client.call("check_matches", json!({"match_ids": [1, 2, 3]})).await;
        client.refusal("get_match_detail", json!({"match_id": 1})).await;
        let uri = json!({"uri": "matchwire://feeds"});
        client.result("resources/read", uri.clone()).await;
        let prompt = json!({"name": "slate", "arguments": {"date": "2026-11-23"}});
        client.result("prompts/get", prompt.clone()).await;
        let result = client.call("get_account", json!({})).await;
        assert_eq!(result["_meta"]["org.matchwire/usage"]["left"], 0, "{result}");

        let result = client.call("list_leagues", json!({})).await;
        assert_eq!(result["isError"], true, "{result}");
        let refused = refusal(&result);
        assert_eq!(refused["code"], "taster_exhausted", "{refused}");
        let wait = refused["retry_after_s"].as_u64().expect("seconds");
        assert!((1..=86_400).contains(&wait), "{refused}");
        assert_eq!(refused["pricing_url"], format!("http://{}/pricing/", hub.address));
        let (_, error) = client.error("resources/read", uri).await;
        assert_eq!(error["data"]["code"], "taster_exhausted", "{error}");
        let (_, error) = client.error("prompts/get", prompt).await;
        assert_eq!(error["data"]["code"], "taster_exhausted", "{error}");
        lists().await;

        let is_counted = async || {
            let total = &account(&hub, &key).await["usage"]["total"];
            (&total["mcp_calls"], &total["calls"]) == (&json!(6), &json!(0))
        };
        until("six calls", is_counted).await;
        let answer = account(&hub, &key).await;
        let is_football = |it: &Value| it["product"] == "football" && it["mcp_calls"] == 6;
        assert!(
            answer["usage"]["products"].as_array().expect("a list").iter().any(is_football),
            "{answer}"
        );
    }
}

pub(super) async fn initialize(client: &McpClient) -> Value {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "it", "version": "1"},
    });
    client.result("initialize", params).await
}

/// Who pays has no quota, and no figure of it in results.
#[tokio::test]
async fn calls_of_other_sports_are_counted_there() {
    let hub = Hub::start_with(&["serve"], &[QUIET, ("LIMITS_FOOTBALL_PER_DAY", "1")]);
    let key = hub.key(&["sports"]);
    let football = McpClient::new(&hub, &key);
    let tennis = McpClient::new(&hub, &key).at("/tennis/mcp");
    for _ in 0..3 {
        let result = football.call("list_leagues", json!({})).await;
        assert_eq!(
            result.get("_meta").and_then(|it| it.get("org.matchwire/usage")),
            None,
            "{result}"
        );
        tennis.call("list_players", json!({})).await;
    }
    let is_counted = async || {
        let products = account(&hub, &key).await["usage"]["products"].clone();
        let count = |product: &str| {
            let mut products = products.as_array().into_iter().flatten();
            products.find(|it| it["product"] == product).map(|it| it["mcp_calls"].clone())
        };
        (count("football"), count("tennis")) == (Some(json!(3)), Some(json!(3)))
    };
    until("three calls of each", is_counted).await;
}

/// What another add-on sells is not given away by tools, resources or waits.
#[tokio::test]
async fn odds_of_bookmakers_need_their_addon() {
    let stage = Stage::new(&[ODDS_COST]);
    let id = stage.football("m", ["Home", "Away"]).await;
    stage
        .push(
            "football",
            "m",
            &[market("alpha", "open"), prices("alpha", ["2.10", "3.40", "3.50"])],
        )
        .await;
    let odds = format!("/stream/v1/channels/football/{id}/odds/alpha");
    stage.hub.json_until(&stage.key, &odds, |image| image["seq"].is_u64()).await;
    let hub = &stage.hub;
    let free = McpClient::new(hub, &hub.key(&["sports", "websocket"]));
    let paid = McpClient::new(hub, &hub.key(&["odds"]));
    let book = format!("football/{id}/odds/alpha");
    for (tool, arguments) in [
        ("get_odds_history", json!({"match_id": id})),
        ("get_money", json!({"match_id": id})),
        ("compare_odds", json!({"match_id": id})),
        ("wait_for_change", json!({"channel": book, "timeout_s": 0})),
        ("wait_for_change", json!({"channel": "signals", "timeout_s": 0})),
    ] {
        let refused = free.refusal(tool, arguments.clone()).await;
        let price = json!({"amount": "5.00", "currency": "USD", "per": "month"});
        assert_eq!(
            (&refused["code"], &refused["addon"]),
            (&json!("addon_required"), &json!("odds")),
            "{tool}: {refused}"
        );
        assert_eq!(refused["price"], price, "{tool}");
        assert_eq!(refused["pricing_url"], format!("http://{}/pricing/", hub.address), "{tool}");
        let result = paid.call(tool, arguments).await;
        if result["isError"] == true {
            assert_eq!(refusal(&result)["code"], "not_available", "{tool}: {result}");
        }
    }
    for era in ERAS {
        let uri = json!({"uri": format!("matchwire://{book}")});
        let (_, error) = free.clone().with_era(era).error("resources/read", uri.clone()).await;
        assert_eq!(
            (&error["code"], &error["data"]["code"]),
            (&json!(-32000), &json!("addon_required"))
        );
        paid.clone().with_era(era).result("resources/read", uri).await;
        let signals = json!({"uri": "matchwire://signals"});
        let (_, error) = free.clone().with_era(era).error("resources/read", signals).await;
        assert_eq!(error["data"]["code"], "addon_required");
    }
    let filter =
        json!({"notifications": {"resourceSubscriptions": [format!("matchwire://{book}")]}});
    let mut stream = super::client::EventStream::open(&free, "subscriptions/listen", &filter).await;
    let mut messages = Vec::new();
    while let Some(message) = stream.next().await {
        messages.push(message);
    }
    let last = messages.last().expect("a response");
    assert_eq!(last["error"]["data"]["code"], "addon_required", "{messages:?}");
    // What REST shows to everybody, tools show too.
    let detail = json!({"match_id": id, "include": ["odds"]});
    let answer = free.answer("get_match_detail", detail).await;
    let rest =
        hub.json(&hub.key(&["sports", "websocket"]), &format!("/api/v2/events/{id}/odds/")).await;
    assert_eq!(answer["data"]["odds"]["event_id"], rest["event_id"], "{answer}");
    assert!(!answer.to_string().contains("alpha"), "{answer}");
}
