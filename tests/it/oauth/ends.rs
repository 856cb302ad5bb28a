//! What ends a connection: reuse of secrets, Regenerate, a new password, deletion, the client.

use serde_json::json;

use super::{
    bearer,
    client::{TestClient, parameter, post},
    is_admitted, text,
};
use crate::{
    site::{PASSWORD, QUICK, customer, demo},
    support::{Hub, on_each, until},
};

/// The second use revokes what the first one has yielded.
#[tokio::test]
async fn code_works_once_and_its_reuse_ends_the_grant() {
    let hub = demo();
    let (mut browser, _) = customer(&hub, "ann@code.example.org").await;
    let client = TestClient::start(&hub).await;
    let location = client.allow(&mut browser, &client.authorize_path(&[])).await;
    let code = parameter(&location, "code").expect("a code");
    let tokens = client.redeem(&hub, &code, &[]).await.json();
    let access = text(&tokens, "access_token");
    assert!(is_admitted(&hub, access, "/mcp").await);
    let again = client.redeem(&hub, &code, &[]).await;
    assert_eq!((again.status, &again.json()["error"]), (400, &json!("invalid_grant")));
    assert_eq!(bearer(&hub, access, "/mcp").await.status, 401, "at once");
    let refreshed = client.refresh(&hub, text(&tokens, "refresh_token"), &[]).await;
    assert_eq!(refreshed.json()["error"], "invalid_grant");
}

/// Whoever uses an old refresh token has stolen it, or it was stolen from them.
#[tokio::test]
async fn reuse_of_a_refresh_token_ends_the_grant() {
    let hub = demo();
    let (mut browser, _) = customer(&hub, "ann@refresh.example.org").await;
    let client = TestClient::start(&hub).await;
    let first = client.connect(&hub, &mut browser, &[]).await;
    let second = client.refresh(&hub, text(&first, "refresh_token"), &[]).await.json();
    let third = client.refresh(&hub, text(&second, "refresh_token"), &[]).await.json();
    let access = text(&third, "access_token");
    assert!(is_admitted(&hub, access, "/mcp").await);
    for token in [&first, &third] {
        let refused = client.refresh(&hub, text(token, "refresh_token"), &[]).await;
        assert_eq!((refused.status, &refused.json()["error"]), (400, &json!("invalid_grant")));
        assert_eq!(bearer(&hub, access, "/mcp").await.status, 401);
    }
}

/// Regenerate, a new password and deletion end all connections at once, and others' go on.
#[tokio::test]
async fn customer_ends_all_connections_at_once() {
    on_each(async |database| {
        let hub = Hub::start_on(&database, &["serve"], &QUICK);
        let (mut other, _) = customer(&hub, "bob@example.org").await;
        let (mut browser, _) = customer(&hub, "ann@example.org").await;
        let client = TestClient::start(&hub).await;
        let others = client.connect(&hub, &mut other, &[]).await;
        let (new, settings) = ("another four words here", "/dashboard/settings/");
        for (page, path, fields) in [
            ("/dashboard/", "/dashboard/regenerate/", &[][..]),
            (settings, "/dashboard/settings/password/", &[("old", PASSWORD), ("new", new)]),
            (settings, "/dashboard/settings/delete/", &[("password", new), ("sure", "yes")]),
        ] {
            let mut all = Vec::new();
            for _ in 0..2 {
                all.push(client.connect(&hub, &mut browser, &[]).await);
            }
            for tokens in &all {
                assert!(is_admitted(&hub, text(tokens, "access_token"), "/mcp").await, "{path}");
            }
            let answer = browser.fill(page, path, fields).await;
            assert_eq!(answer.status, 303, "{path}: {answer:?}");
            for tokens in &all {
                let access = text(tokens, "access_token");
                assert_eq!(bearer(&hub, access, "/mcp").await.status, 401, "{path}");
                let refreshed = client.refresh(&hub, text(tokens, "refresh_token"), &[]).await;
                assert_eq!(refreshed.json()["error"], "invalid_grant", "{path}");
            }
        }
        assert!(is_admitted(&hub, text(&others, "access_token"), "/mcp").await);
    })
    .await;
}

/// An operator blocks the account from another process.
#[tokio::test]
async fn blocked_account_has_no_access() {
    let hub = demo();
    let (mut browser, _) = customer(&hub, "ann@blocked.example.org").await;
    let client = TestClient::start(&hub).await;
    let tokens = client.connect(&hub, &mut browser, &[]).await;
    let access = text(&tokens, "access_token");
    assert!(is_admitted(&hub, access, "/mcp").await);
    let mut command = hub.database.program();
    let blocked =
        command.args(["account", "block", "ann@blocked.example.org", "--db", &hub.db()]).output();
    let blocked = blocked.expect("it runs");
    assert!(blocked.status.success(), "{}", String::from_utf8_lossy(&blocked.stderr));
    until("the block", async || bearer(&hub, access, "/mcp").await.status == 401).await;
    let refreshed = client.refresh(&hub, text(&tokens, "refresh_token"), &[]).await;
    assert_eq!(refreshed.json()["error"], "invalid_grant");
}

/// RFC 7009: either token ends the connection; the answer is the same for any text.
#[tokio::test]
async fn client_revokes_its_tokens() {
    let hub = demo();
    let (mut browser, _) = customer(&hub, "ann@revokes.example.org").await;
    let client = TestClient::start(&hub).await;
    for kind in ["access_token", "refresh_token"] {
        let tokens = client.connect(&hub, &mut browser, &[]).await;
        let (access, token) = (text(&tokens, "access_token"), text(&tokens, kind));
        let revoke = async |token: &str, client_id: &str| {
            let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            let fields = [pair("token", token), pair("client_id", client_id)];
            let answer = post(&hub, "/oauth/revoke/", &fields).await;
            assert_eq!(answer.status, 200, "{answer:?}");
        };
        revoke("nonsense", &client.id).await;
        revoke(&format!("{}0000", &token[..token.len() - 4]), "https://other.example/c").await;
        revoke(token, "https://other.example/c").await;
        assert!(is_admitted(&hub, access, "/mcp").await, "by another client");
        revoke(token, &client.id).await;
        assert_eq!(bearer(&hub, access, "/mcp").await.status, 401);
        let refreshed = client.refresh(&hub, text(&tokens, "refresh_token"), &[]).await;
        assert_eq!(refreshed.json()["error"], "invalid_grant");
    }
}

/// A further connection ends the one that was not used for the longest time.
#[tokio::test]
async fn connections_of_an_account_are_bounded() {
    let few = ("OAUTH_GRANTS_MAX_PER_ACCOUNT", "2");
    let hub = Hub::start_with(&["serve"], &[&QUICK[..], &[few]].concat());
    let (mut browser, _) = customer(&hub, "ann@example.org").await;
    let client = TestClient::start(&hub).await;
    let mut all = Vec::new();
    for _ in 0..3 {
        all.push(client.connect(&hub, &mut browser, &[]).await);
    }
    let access = |index: usize| text(&all[index], "access_token");
    assert_eq!(bearer(&hub, access(0), "/mcp").await.status, 401);
    assert!(is_admitted(&hub, access(1), "/mcp").await);
    assert!(is_admitted(&hub, access(2), "/mcp").await);
}
