//! The customer pages, in a browser without scripts.

mod attacks;
mod hijack;
mod life;

use std::sync::Arc;

use crate::support::{Browser, Hub, PATIENCE, Setting, between, pause};

pub(crate) const PASSWORD: &str = "four words in a row";

/// Fast hashing, limits that allow what all tests do from one address, and clients of OAuth on loopback; otherwise the defaults.
pub(crate) const QUICK: [Setting; 10] = [
    ("ACCOUNTS_PASSWORD_MEMORY_KIB", "64"),
    ("ACCOUNTS_PASSWORD_PASSES", "1"),
    ("LIMITS_REGISTRATIONS_PER_HOUR", "0"),
    ("LIMITS_MAILS_PER_HOUR", "0"),
    ("LIMITS_MAILS_PER_HOUR_BY_EMAIL", "0"),
    ("LIMITS_LOG_INS_PER_HOUR_BY_ADDRESS", "0"),
    ("LIMITS_TOKEN_REQUESTS_PER_MINUTE", "0"),
    ("LIMITS_CLIENT_DOCUMENTS_PER_HOUR", "0"),
    // The replayed data does not matter here.
    ("DEMO_HEAD_START_MINUTES", "2"),
    // The documents of test clients are there.
    ("OAUTH_ALLOW_PRIVATE_CLIENTS", "true"),
];

/// A demo that writes its mails to files and prints their links. Tests share it, so each has customers of its own.
pub(crate) fn demo() -> Arc<Hub> {
    Hub::shared(&["serve"], &QUICK)
}

/// The path in a mail to this address: of the link to this page, once there are this many.
async fn mailed(hub: &Hub, email: &str, page: &str, count: usize) -> String {
    let polling = async {
        loop {
            let printed = hub.printed();
            let (mut recipient, mut found) = ("", Vec::new());
            for line in printed.lines() {
                if let Some(mail) = line.strip_prefix("mail for ") {
                    recipient = mail.split(": ").next().unwrap_or_default();
                } else if recipient == email
                    && let Some(path) = line.trim().strip_prefix(&format!("http://{}", hub.address))
                    && path.starts_with(page)
                {
                    found.push(path);
                }
            }
            if found.len() >= count {
                return found[count - 1].to_owned();
            }
            pause().await;
        }
    };
    let found = tokio::time::timeout(PATIENCE, polling).await;
    found.unwrap_or_else(|_| panic!("no mail {count} to {email} with {page}: {}", hub.printed()))
}

/// Registers with a new browser; the link arrives by mail.
async fn register<'a>(hub: &'a Hub, email: &str) -> Browser<'a> {
    let mut browser = Browser::new(hub);
    let fields = [("email", email), ("password", PASSWORD)];
    let answer = browser.fill("/register/", "/register/", &fields).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/register/sent/")));
    browser
}

/// Registers, follows the link in the same browser, and takes the key from the dashboard.
pub(crate) async fn customer<'a>(hub: &'a Hub, email: &str) -> (Browser<'a>, String) {
    let mut browser = register(hub, email).await;
    let link = mailed(hub, email, "/verify/", 1).await;
    let answer = browser.get(&link).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/dashboard/")));
    let dashboard = browser.get("/dashboard/").await;
    let key = between(&dashboard.body, "data-key>", "<").expect("the key in full");
    (browser, key.to_owned())
}

/// Logs in with another browser.
pub(crate) async fn log_in<'a>(hub: &'a Hub, email: &str, password: &str) -> Browser<'a> {
    let mut browser = Browser::new(hub);
    let fields = [("email", email), ("password", password)];
    let answer = browser.fill("/login/", "/login/", &fields).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/dashboard/")));
    browser
}

/// Whether the key opens the products of every account.
async fn works(hub: &Hub, key: &str) -> bool {
    let authorization = format!("Token {key}");
    let headers = [("authorization", &*authorization)];
    match hub.request("POST", "/api/v2/stream/ticket/", &headers).await.status {
        200 | 402 => true,
        401 => false,
        other => panic!("status {other}"),
    }
}
