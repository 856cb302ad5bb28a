//! Which clients are admitted, by which way, and the errors that the others get.

mod named_keys;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{client::IntoClientRequest, handshake::client::Request};

use crate::support::{Client, Closed, Hub, QUIET, Setting};

/// A well-formed key that does not exist.
const WRONG: &str = "mw_000000000000000000000000000000000000000000000000";

/// An account may have two sockets.
pub(crate) const TWO_SOCKETS: [Setting; 2] = [QUIET, ("FANOUT_SOCKETS_MAX_PER_ACCOUNT", "2")];

/// An upgrade request to `/stream/v1` with these headers and this query.
fn upgrade(hub: &Hub, headers: &[(&'static str, &str)], query: &str) -> Request {
    let url = format!("ws://{}/stream/v1{query}", hub.address);
    let mut request = url.into_client_request().expect("a URL");
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().expect("a header's value"));
    }
    request
}

/// The first frame is `hello`; returns the selected subprotocol.
async fn served(request: Request) -> Option<String> {
    let mut client = Client::connect_with(request).await;
    let first = client.next().await.expect("a served socket stays open");
    assert_eq!(first["type"], "hello", "{first}");
    let selected = client.handshake.headers().get("sec-websocket-protocol");
    selected.map(|value| value.to_str().expect("a word").to_owned())
}

/// An `error` frame comes first, then the close: returns both codes.
async fn refused(request: impl IntoClientRequest + Unpin) -> (Value, u16) {
    let mut client = Client::connect_with(request).await;
    let first = client.next().await.expect("the reason comes before the close");
    assert_eq!(first["type"], "error", "{first}");
    assert_eq!(first["retry"], false, "{first}");
    match client.until_closed().await {
        Closed(Some((code, _))) => (first["code"].clone(), code),
        Closed(None) => panic!("cut off without a close frame after {first}"),
    }
}

fn auth_failed() -> (Value, u16) {
    (json!("auth_failed"), 4401)
}

#[tokio::test]
async fn key_is_accepted_in_header_subprotocol_and_query() {
    let hub = Hub::quiet();
    let key = &hub.key(&["websocket"]);
    let protocol = "sec-websocket-protocol";
    let check = async |headers: &[(&'static str, &str)], query: &str, selected: Option<&str>| {
        assert_eq!(served(upgrade(&hub, headers, query)).await.as_deref(), selected, "{headers:?}");
    };
    check(&[("authorization", &format!("Token {key}"))], "", None).await;
    check(&[("authorization", &format!("Bearer {key}"))], "", None).await;
    check(&[(protocol, &format!("matchwire.v1, token, {key}"))], "", Some("matchwire.v1")).await;
    check(&[(protocol, &format!("token, {key}"))], "", Some("token")).await;
    check(&[(protocol, &format!("token, {key}, matchwire.v1"))], "", Some("matchwire.v1")).await;
    check(&[], &format!("?token={key}"), None).await;
    check(&[], &format!("/?token={key}"), None).await;
}

/// Issue 5, point 4: if a client sends two keys, they must be the same.
#[tokio::test]
async fn header_subprotocol_and_query_must_agree() {
    let hub = Hub::quiet();
    let key = &hub.key(&["websocket"]);
    let request = |header: Option<&str>, protocol: Option<&str>, query: &str| {
        let header = header.map(|key| ("authorization", format!("Token {key}")));
        let protocol = protocol.map(|key| ("sec-websocket-protocol", format!("token, {key}")));
        let headers: Vec<_> = header.into_iter().chain(protocol).collect();
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, &**value)).collect();
        upgrade(&hub, &headers, &format!("?token={query}"))
    };
    served(request(Some(key), Some(key), key)).await;
    served(request(None, Some(key), key)).await;
    let key = key.as_str();
    for (header, protocol, query) in [(WRONG, key, key), (key, WRONG, key), (key, key, WRONG)] {
        let request = request(Some(header), Some(protocol), query);
        assert_eq!(refused(request).await, auth_failed());
    }
    assert_eq!(refused(request(None, Some(WRONG), key)).await, auth_failed());
}

#[tokio::test]
async fn refused_client_gets_the_reason() {
    let hub = Hub::quiet();
    let (revoked, poor) = (hub.key(&["websocket"]), hub.key(&["odds", "sports"]));
    hub.revoke(&revoked);
    let header = |value: &str| upgrade(&hub, &[("authorization", value)], "");
    assert_eq!(refused(upgrade(&hub, &[], "")).await, auth_failed(), "no key");
    assert_eq!(refused(upgrade(&hub, &[], "?token=")).await, auth_failed(), "an empty key");
    assert_eq!(refused(header("Token nonsense")).await, auth_failed(), "nonsense");
    assert_eq!(refused(header(&format!("Token {WRONG}"))).await, auth_failed(), "a wrong key");
    assert_eq!(refused(header(&format!("Token {revoked}"))).await, auth_failed(), "a revoked key");
    let addon = (json!("addon_required"), 4402);
    assert_eq!(refused(header(&format!("Token {poor}"))).await, addon, "no add-on");
    let nowhere = format!("ws://{}/stream/v2?token={poor}", hub.address);
    assert_eq!(refused(nowhere).await, (json!("not_found"), 4404), "no such socket");
}

#[tokio::test]
async fn sockets_per_account_are_limited() {
    let hub = Hub::shared(&["serve"], &TWO_SOCKETS);
    let (key, other) = (hub.key(&["websocket"]), hub.key(&["websocket"]));
    let header = format!("Token {key}");
    let request = || upgrade(&hub, &[("authorization", &header)], "");
    let mut first = Client::connect_with(request()).await;
    let mut second = Client::connect_with(request()).await;
    assert_eq!(refused(request()).await, (json!("limit"), 4429));
    Client::connect(&hub.address, &other).await.next_of("hello").await;

    // A closed socket frees its slot as soon as the hub notices.
    second.send_message(tokio_tungstenite::tungstenite::Message::Close(None)).await;
    second.until_closed().await;
    let mut third = Client::connect_with(request()).await;
    assert_eq!(third.next().await.expect("it is served")["type"], "hello");
    first.ask(&json!({"op": "ping", "id": 1})).await;
}

#[tokio::test]
async fn revoking_a_key_closes_its_sockets_and_no_others() {
    let hub = Hub::quiet();
    let (key, other) = (hub.key(&["websocket"]), hub.key(&["websocket"]));
    let mut sockets = Vec::new();
    for _ in 0..3 {
        sockets.push(Client::connect(&hub.address, &key).await);
    }
    let mut stays = Client::connect(&hub.address, &other).await;
    hub.revoke(&key);
    for mut client in sockets {
        assert_eq!(client.next_of("bye").await["why"], "token_revoked");
        let closed = client.until_closed().await;
        assert_eq!(closed, Closed(Some((4410, "token_revoked".to_owned()))));
    }
    stays.ask(&json!({"op": "ping", "id": 1})).await;
    let again = upgrade(&hub, &[("authorization", &format!("Token {key}"))], "");
    assert_eq!(refused(again).await, auth_failed());
}

/// Obtains a ticket with the key in a header.
async fn ticket(hub: &Hub, key: &str) -> String {
    let authorization = format!("Token {key}");
    let headers = [("authorization", authorization.as_str())];
    let answer = hub.request("POST", "/api/v2/stream/ticket/", &headers).await;
    assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")));
    answer.json()["ticket"].as_str().expect("a ticket").to_owned()
}

#[tokio::test]
async fn ticket_opens_one_socket() {
    let hub = Hub::quiet();
    let key = hub.key(&["websocket"]);
    let in_query = |ticket: &str| upgrade(&hub, &[], &format!("?ticket={ticket}"));
    let in_list = |list: &str| upgrade(&hub, &[("sec-websocket-protocol", list)], "");

    let bought = ticket(&hub, &key).await;
    assert_eq!(served(in_query(&bought)).await, None);
    assert_eq!(refused(in_query(&bought)).await, auth_failed(), "it works once");
    assert_eq!(refused(in_list(&format!("ticket, {bought}"))).await, auth_failed());

    let bought = ticket(&hub, &key).await;
    let selected = served(in_list(&format!("ticket, {bought}"))).await;
    assert_eq!(selected.as_deref(), Some("ticket"));
    let bought = ticket(&hub, &key).await;
    let selected = served(in_list(&format!("matchwire.v1, ticket, {bought}"))).await;
    assert_eq!(selected.as_deref(), Some("matchwire.v1"));

    let bought = ticket(&hub, &key).await;
    let header = format!("Token {bought}");
    let as_key = upgrade(&hub, &[("authorization", &header)], "");
    assert_eq!(refused(as_key).await, auth_failed(), "a ticket is no key");

    let bought = ticket(&hub, &key).await;
    let mut open = Client::connect(&hub.address, &key).await;
    hub.revoke(&key);
    open.next_of("bye").await;
    assert_eq!(refused(in_query(&bought)).await, auth_failed(), "its key was revoked meanwhile");
}

#[tokio::test]
async fn ticket_requires_a_rest_credential() {
    let hub = Hub::quiet();
    let key = hub.key(&["websocket"]);
    let path = "/api/v2/stream/ticket/";
    let bearer = format!("Bearer {key}");
    let status = async |path: &str, headers: &[(&str, &str)]| {
        hub.request("POST", path, headers).await.status
    };
    assert_eq!(status(path, &[("authorization", &bearer)]).await, 200);
    assert_eq!(status(&format!("{path}?token={key}"), &[]).await, 200);
    assert_eq!(status(path, &[]).await, 401);
    assert_eq!(status(&format!("{path}?token={WRONG}"), &[]).await, 401);
    assert_eq!(hub.get(&format!("{path}?token={key}")).await.status, 405);
}

#[tokio::test]
async fn plain_http_request_gets_upgrade_required() {
    let hub = Hub::quiet();
    let key = hub.key(&["websocket"]);
    let answer = hub.get(&format!("/stream/v1?token={key}")).await;
    assert_eq!(answer.status, 426);
    assert_eq!(answer.fields(), ["detail", "error", "status"]);
}
