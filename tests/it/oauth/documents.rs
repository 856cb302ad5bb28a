//! The documents by which clients identify themselves, and where they may be.

use axum::{
    Router,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use serde_json::{Value, json};

use super::client::TestClient;
use crate::{
    site::{QUICK, customer, demo},
    support::Hub,
};

/// Without the setting nothing is fetched from the hub's own network, by address or by name.
#[tokio::test]
async fn private_documents_are_not_fetched() {
    let https = |host: &str| format!("https://{host}/client.json");
    let settings = [&QUICK[..], &[("OAUTH_ALLOW_PRIVATE_CLIENTS", "false")]].concat();
    let hub = Hub::start_with(&["serve"], &settings);
    let (mut browser, _) = customer(&hub, "ann@example.org").await;
    let client = TestClient::start(&hub).await;
    let page = browser.get(&client.authorize_path(&[])).await;
    assert!(page.status == 400 && page.body.contains("not the https address"), "{page:?}");
    for host in ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "[fd00::1]"] {
        let path = client.authorize_path(&[("client_id", &https(host))]);
        let page = browser.get(&path).await;
        assert!(page.status == 400 && page.body.contains("not public"), "{host}: {page:?}");
    }
    // Other spellings of 127.0.0.1 are not in normal form.
    for host in ["127.1", "2130706433", "0x7f000001", "0177.0.0.1"] {
        let path = client.authorize_path(&[("client_id", &https(host))]);
        let page = browser.get(&path).await;
        assert!(page.status == 400 && page.body.contains("not the https"), "{host}: {page:?}");
    }
}

#[tokio::test]
async fn unusable_documents_are_refused() {
    let hub = demo();
    let (mut browser, _) = customer(&hub, "ann@documents.example.org").await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let id = |name: &str| format!("http://{address}/{name}");
    let document = |id: String| -> Value {
        json!({"client_id": id, "redirect_uris": ["http://127.0.0.1/callback"]})
    };
    let answer = |kind: &'static str, body: String| {
        get(async move || ([(header::CONTENT_TYPE, kind)], body).into_response())
    };
    let json = "application/json";
    let document_of = |name: &str| document(id(name)).to_string();
    let moved = [(header::LOCATION, id("good"))];
    let padding = " ".repeat(5_120);
    let named = format!("http://localhost:{}/named", address.port());
    let router = Router::new()
        .route("/named", answer(json, document(named.clone()).to_string()))
        .route("/good", answer(json, document_of("good")))
        .route("/charset", answer("application/json; charset=utf-8", document_of("charset")))
        .route("/other", answer(json, document_of("good")))
        .route("/html", answer("text/html", document_of("html")))
        .route("/long", answer(json, format!("{}{padding}", document_of("long"))))
        .route("/broken", answer(json, "{".to_owned()))
        .route("/moved", get(async move || (StatusCode::FOUND, moved).into_response()));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let client = TestClient::start(&hub).await;
    for (name, status, part) in [
        ("good", 200, "Connect"),
        ("charset", 200, "Connect"),
        ("other", 400, "not its own address"),
        ("html", 400, "application/json"),
        ("long", 400, "longer than 5120 bytes"),
        ("broken", 400, "not JSON"),
        ("moved", 502, "status 302"),
        ("missing", 502, "status 404"),
    ] {
        let path = client.authorize_path(&[("client_id", &id(name))]);
        let page = browser.get(&path).await;
        assert_eq!(page.status, status, "{name}: {page:?}");
        assert!(page.body.contains(part), "{name}: {page:?}");
    }
    let path = client.authorize_path(&[("client_id", &named)]);
    let page = browser.get(&path).await;
    assert_eq!(page.status, 200, "a host with a name: {page:?}");
}
