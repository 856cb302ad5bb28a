//! A client of the test: its document on loopback, and its requests.

use axum::{Json, Router, routing::get};
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{Answer, Browser, Hub};

const VERIFIER: &str = "a-verifier-of-at-least-forty-three-characters";
/// The document names it with another port.
pub(super) const REDIRECT: &str = "http://127.0.0.1:49152/callback";

/// A client that publishes its document at this address.
pub(super) struct TestClient {
    pub(super) address: String,
    pub(super) id: String,
    resource: String,
}

impl TestClient {
    pub(super) async fn start(hub: &Hub) -> Self {
        let (address, id) = publish(|id| {
            json!({
                "client_id": id,
                "client_name": "A test client",
                "redirect_uris": ["http://127.0.0.1:1/callback", "https://app.example/callback", "cursor://app/callback"],
                "token_endpoint_auth_method": "none",
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
            })
        })
        .await;
        Self { address, id, resource: format!("http://{}/mcp", hub.address) }
    }

    /// The path of a request, with these parameters in place of the usual ones. Empty ones are left
    /// out.
    pub(super) fn authorize_path(&self, changes: &[(&str, &str)]) -> String {
        let pairs = self.parameters(changes);
        let url = reqwest::Url::parse_with_params("http://x/oauth/authorize/", &pairs);
        let url = url.expect("a URL");
        format!("{}?{}", url.path(), url.query().unwrap_or_default())
    }

    pub(super) fn parameters(&self, changes: &[(&str, &str)]) -> Vec<(String, String)> {
        let challenge = BASE64URL_NOPAD.encode(&Sha256::digest(VERIFIER.as_bytes()));
        let usual = [
            ("response_type", "code"),
            ("client_id", &*self.id),
            ("redirect_uri", REDIRECT),
            ("state", "a state/?&"),
            ("code_challenge", &*challenge),
            ("code_challenge_method", "S256"),
            ("resource", &*self.resource),
        ];
        changed(&usual, changes)
    }

    /// Opens the page of a request and allows it; where the browser is sent.
    pub(super) async fn allow(&self, browser: &mut Browser<'_>, path: &str) -> String {
        self.decide(browser, path, "allow").await
    }

    pub(super) async fn decide(
        &self,
        browser: &mut Browser<'_>,
        path: &str,
        decision: &str,
    ) -> String {
        let page = browser.get(path).await;
        assert_eq!(page.status, 200, "{page:?}");
        let url = reqwest::Url::parse(&format!("http://x{path}")).expect("a path");
        let mut fields: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        fields.push(("decision".to_owned(), decision.to_owned()));
        let fields: Vec<_> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        let answer = browser.send("/oauth/authorize/", &fields).await;
        assert_eq!(answer.status, 303, "{answer:?}");
        answer.header("location").expect("a location").to_owned()
    }

    /// Asks for consent, gets it, and exchanges the code; the tokens.
    pub(super) async fn connect(
        &self,
        hub: &Hub,
        browser: &mut Browser<'_>,
        changes: &[(&str, &str)],
    ) -> Value {
        let location = self.allow(browser, &self.authorize_path(changes)).await;
        let code = parameter(&location, "code").unwrap_or_else(|| panic!("no code: {location}"));
        let resource = changes.iter().copied().find(|(name, _)| *name == "resource");
        let answer = self.redeem(hub, &code, resource.as_slice()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    pub(super) async fn redeem(&self, hub: &Hub, code: &str, changes: &[(&str, &str)]) -> Answer {
        let usual = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", &*self.id),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
            ("resource", &*self.resource),
        ];
        post(hub, "/oauth/token/", &changed(&usual, changes)).await
    }

    pub(super) async fn refresh(&self, hub: &Hub, token: &str, changes: &[(&str, &str)]) -> Answer {
        let usual =
            [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", &*self.id)];
        post(hub, "/oauth/token/", &changed(&usual, changes)).await
    }
}

/// Serves a document, which may depend on its own URL, on a free port. Returns the address and the
/// URL.
pub(super) async fn publish(document: impl FnOnce(&str) -> Value) -> (String, String) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let id = format!("http://{address}/client.json");
    let document = document(&id);
    let router = Router::new().route("/client.json", get(async move || Json(document)));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, id)
}

/// The usual fields, with changed values. Empty ones are left out.
fn changed(usual: &[(&str, &str)], changes: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for (name, value) in usual.iter().chain(changes) {
        all.retain(|(other, _)| other != name);
        if !value.is_empty() {
            all.push(((*name).to_owned(), (*value).to_owned()));
        }
    }
    all
}

/// Sends a form, without a cookie.
pub(super) async fn post(hub: &Hub, path: &str, fields: &[(String, String)]) -> Answer {
    let form = reqwest::Url::parse_with_params("http://x/", fields).expect("a form");
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    hub.post(path, &headers, form.query().unwrap_or_default().as_bytes()).await
}

/// A parameter of a URL.
pub(super) fn parameter(url: &str, name: &str) -> Option<String> {
    let url = reqwest::Url::parse(url).expect("a URL");
    let found = url.query_pairs().find(|(other, _)| other == name);
    found.map(|(_, value)| value.into_owned())
}
