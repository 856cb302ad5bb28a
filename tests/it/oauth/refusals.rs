//! Requests that are refused: on a page, by a redirect to the client, or at the token endpoint.

use serde_json::json;

use super::client::{REDIRECT, TestClient, parameter, post};
use crate::{
    site::{QUICK, customer, demo},
    support::{Hub, between},
};

/// Nobody is sent to an address that the client's document does not name.
#[tokio::test]
async fn unverified_request_is_a_page_and_never_redirected() {
    let hub = demo();
    let (mut browser, _) = customer(&hub, "ann@unverified.example.org").await;
    let client = TestClient::start(&hub).await;
    for (changes, part) in [
        (("client_id", ""), "not the https address"),
        (("client_id", "acme"), "not the https address"),
        (("redirect_uri", ""), "redirect_uri"),
        (("redirect_uri", "https://evil.example/callback"), "redirect_uri"),
        (("redirect_uri", "https://app.example/callback?x=1"), "redirect_uri"),
        (("redirect_uri", "http://127.0.0.1:49152/other"), "redirect_uri"),
        (("redirect_uri", "javascript:alert(1)"), "redirect_uri"),
    ] {
        let answer = browser.get(&client.authorize_path(&[changes])).await;
        assert_eq!((answer.status, answer.header("location")), (400, None), "{changes:?}");
        assert!(answer.body.contains("cannot be connected"), "{changes:?}: {answer:?}");
        assert!(answer.body.contains(part), "{changes:?}: {answer:?}");
    }
    let twice = format!("{}&redirect_uri=https://evil.example/", client.authorize_path(&[]));
    let answer = browser.get(&twice).await;
    assert_eq!((answer.status, answer.header("location")), (400, None), "{answer:?}");
    let missing = client.id.replace("client.json", "missing.json");
    let answer = browser.get(&client.authorize_path(&[("client_id", &missing)])).await;
    assert_eq!((answer.status, answer.header("location")), (502, None), "{answer:?}");
}

#[tokio::test]
async fn other_errors_go_to_the_client() {
    let hub = demo();
    let (mut browser, _) = customer(&hub, "ann@errors.example.org").await;
    let client = TestClient::start(&hub).await;
    let elsewhere = format!("http://{}/odds/mcp", hub.address);
    for (changes, error) in [
        (("response_type", "token"), "unsupported_response_type"),
        (("code_challenge", ""), "invalid_request"),
        (("code_challenge", "short"), "invalid_request"),
        (("code_challenge_method", ""), "invalid_request"),
        (("code_challenge_method", "plain"), "invalid_request"),
        (("scope", "write openid"), "invalid_scope"),
        (("resource", "https://other.example/mcp"), "invalid_target"),
        (("resource", &*elsewhere), "invalid_target"),
    ] {
        let answer = browser.get(&client.authorize_path(&[changes])).await;
        let location = answer.header("location").unwrap_or_else(|| panic!("{changes:?}"));
        assert!(location.starts_with(&format!("{REDIRECT}?error={error}&")), "{location}");
        assert_eq!(parameter(location, "state").as_deref(), Some("a state/?&"));
        assert_eq!(parameter(location, "iss"), Some(format!("http://{}", hub.address)));
    }
    // Anybody can publish a document, so a website or an application of a scheme gets an error only by a click.
    for (redirect, name) in [
        ("https://app.example/callback", "Return to app.example"),
        ("cursor://app/callback", "Return to an application for cursor: links"),
    ] {
        let changes = [("redirect_uri", redirect), ("scope", "write")];
        let page = browser.get(&client.authorize_path(&changes)).await;
        assert_eq!((page.status, page.header("location")), (400, None), "{page:?}");
        let link = between(&page.body, "class=\"button\" href=\"", "\"").expect("a link");
        assert!(link.starts_with(&format!("{redirect}?error=invalid_scope")), "{link}");
        assert!(page.body.contains(name), "{page:?}");
    }
    let denied = client.decide(&mut browser, &client.authorize_path(&[]), "deny").await;
    assert_eq!(parameter(&denied, "error").as_deref(), Some("access_denied"), "{denied}");
    assert_eq!(parameter(&denied, "code"), None);
}

/// The consent is a form like others: it needs the token of the page, in the session that it is for.
#[tokio::test]
async fn consent_cannot_be_forged() {
    let hub = demo();
    let (mut browser, _) = customer(&hub, "ann@forged.example.org").await;
    let (mut other, _) = customer(&hub, "bob@forged.example.org").await;
    let client = TestClient::start(&hub).await;
    other.get(&client.authorize_path(&[])).await;
    let mut fields = client.parameters(&[]);
    fields.push(("decision".to_owned(), "allow".to_owned()));
    let mut send = async |csrf: &str| {
        let pairs = fields.iter().map(|(name, value)| (&**name, &**value));
        let pairs: Vec<_> = pairs.chain([("csrf", csrf)]).collect();
        browser.send_with("/oauth/authorize/", &pairs, &[]).await
    };
    for token in ["", &*other.token] {
        let answer = send(token).await;
        assert_eq!((answer.status, answer.header("location")), (403, None), "{answer:?}");
    }
}

#[tokio::test]
async fn page_cannot_be_framed_and_escapes_what_clients_say() {
    let hub = demo();
    let (mut browser, _) = customer(&hub, "ann@framed.example.org").await;
    let (_, id) = super::client::publish(|id| {
        json!({
            "client_id": id,
            "client_name": "<script>alert(1)</script>\u{202e}",
            "redirect_uris": ["http://127.0.0.1/callback"],
        })
    })
    .await;
    let client = TestClient::start(&hub).await;
    let path = client.authorize_path(&[("client_id", &id), ("state", "\"><b>x")]);
    let page = browser.get(&path).await;
    assert_eq!(page.status, 200, "{page:?}");
    assert_eq!(page.header("x-frame-options"), Some("DENY"));
    assert!(!page.body.contains("<script>alert") && !page.body.contains("\"><b>x"), "{page:?}");
    assert!(!page.body.contains('\u{202e}'));
}

#[tokio::test]
async fn code_is_only_for_the_client_that_proves_itself() {
    let hub = demo();
    let (mut browser, _) = customer(&hub, "ann@proof.example.org").await;
    let client = TestClient::start(&hub).await;
    let location = client.allow(&mut browser, &client.authorize_path(&[])).await;
    let code = parameter(&location, "code").expect("a code");
    let tennis = format!("http://{}/tennis/mcp", hub.address);
    for (changes, error) in [
        (("code_verifier", "another-verifier-of-forty-three-characters-x"), "invalid_grant"),
        (("code_verifier", ""), "invalid_request"),
        (("redirect_uri", "https://app.example/callback"), "invalid_grant"),
        (("redirect_uri", ""), "invalid_request"),
        (("client_id", "https://other.example/client.json"), "invalid_grant"),
        (("client_id", ""), "invalid_request"),
        (("code", "mwc_000000000000000000000000000000000000000000000000"), "invalid_grant"),
        (("code", "nonsense"), "invalid_grant"),
        (("resource", &*tennis), "invalid_target"),
        (("resource", "https://other.example/mcp"), "invalid_target"),
        (("grant_type", "password"), "unsupported_grant_type"),
        (("grant_type", ""), "unsupported_grant_type"),
    ] {
        let answer = client.redeem(&hub, &code, &[changes]).await;
        let told = (answer.status, answer.json()["error"].clone());
        assert_eq!(told, (400, json!(error)), "{changes:?}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    assert_eq!(client.redeem(&hub, &code, &[]).await.status, 200, "the code is still good");
    assert_eq!(hub.get("/oauth/token/").await.status, 405);
    let json = [("content-type", "application/json")];
    assert_eq!(hub.post("/oauth/token/", &json, b"{}").await.json()["error"], "invalid_request");
}

#[tokio::test]
async fn requests_for_tokens_and_documents_are_limited() {
    let limits =
        [("LIMITS_TOKEN_REQUESTS_PER_MINUTE", "2"), ("LIMITS_CLIENT_DOCUMENTS_PER_HOUR", "2")];
    let hub = Hub::start_with(&["serve"], &[&QUICK[..], &limits].concat());
    for status in [400, 400, 429] {
        let answer = post(&hub, "/oauth/token/", &[]).await;
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.header("retry-after").is_some(), status == 429);
    }
    let (mut browser, _) = customer(&hub, "ann@example.org").await;
    for (index, status) in [200, 200, 429].into_iter().enumerate() {
        let client = TestClient::start(&hub).await;
        let path = client.authorize_path(&[]);
        for _ in 0..3 {
            let page = browser.get(&path).await;
            assert_eq!(page.status, status, "client {index}: {page:?}");
        }
    }
}
