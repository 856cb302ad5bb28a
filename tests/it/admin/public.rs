//! `/pricing/` and `/docs/`, which are public.

use std::{process::Command, time::Duration};

use tokio::time::timeout;

use super::{hub, hub_on};
use crate::support::{Browser, Hub, PATIENCE, QUIET, Setting, TestDatabase, between};

const DOCS: [&str; 5] =
    ["/docs/", "/docs/authentication/", "/docs/rest/", "/docs/websocket/", "/docs/examples/"];

/// A price and limits that pages show.
const CONFIGURED: [Setting; 4] = [
    QUIET,
    ("PRODUCTS_SPORTS", "7.25"),
    ("FANOUT_CHANNELS_MAX", "1234"),
    ("LIMITS_FOOTBALL_PER_DAY", "4321"),
];

/// SPEC section 5, the table of products.
#[tokio::test]
async fn prices_are_those_of_the_settings() {
    let hub = Hub::shared(&["serve"], &CONFIGURED);
    let page = hub.get("/pricing/").await.body;
    for text in ["$0", "$7.25", "$3", "$5", "Free account", "Sports add-on", "Odds API add-on"] {
        assert!(page.contains(&format!(">{text}<")), "{text} is missing: {page}");
    }
    // Terms: 1, 3, 6 and 12 months.
    for text in ["$7.25", "$21.75", "$43.50", "$87"] {
        assert!(page.contains(&format!("class=\"number\">{text}<")), "{text} is missing: {page}");
    }
    assert!(!page.contains("Founder"), "a visitor is shown another account's price");
}

/// SPEC section 3, rule 5: /pricing/ shows the account's own price.
#[tokio::test]
async fn founder_sees_the_founder_price() {
    let database = TestDatabase::file();
    let hub = hub_on(&database);
    let pool = database.pool().await;
    let session = "0b".repeat(32);
    let mut browser = Browser::new(&hub);
    browser.cookies.insert("mw_session".to_owned(), session.clone());
    // The state after a log-in; passwords are not under test here.
    let statements = [
        "INSERT INTO accounts (id, email, created_us, active_us) \
         VALUES (900, 'ann@example.org', 1, 1)",
        "INSERT INTO sessions (hash, account_id, created_us, seen_us, expires_us) \
         VALUES ($1, 900, $2, $2, $2 + 3600000000)",
    ];
    let hash = sha256(session.as_bytes());
    let now = base::clock::now();
    sqlx::query(statements[0]).execute(&pool).await.expect("an account");
    sqlx::query(statements[1]).bind(hash).bind(now).execute(&pool).await.expect("a session");
    let before = browser.get("/pricing/").await.body;
    assert!(before.contains("your account's prices"), "not signed in: {before}");
    assert!(!before.contains("<s>"), "{before}");
    sqlx::query("UPDATE accounts SET founder_us = 1 WHERE id = 900")
        .execute(&pool)
        .await
        .expect("a badge");
    let after = browser.get("/pricing/").await.body;
    assert!(after.contains("★ Founder"), "{after}");
    let row = |slug: &str| between(&after, &format!("id=\"{slug}\""), "</tr>").expect("a row");
    assert!(row("websocket").contains("</span>$3</s> <strong>$1.50</strong>"), "{after}");
    assert!(row("sports").contains("</span>$5</s> <strong>$2.50</strong>"), "{after}");
    // There is no Founder rate for it.
    assert!(row("odds").contains("<strong>$5</strong>") && !row("odds").contains("<s>"), "{after}");
}

#[tokio::test]
async fn documentation_pages_exist_and_their_links_resolve() {
    let hub = hub();
    for path in DOCS.into_iter().chain(["/pricing/"]) {
        let page = hub.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(page.header("content-security-policy").is_some(), "{path}");
        for link in page.body.split("href=\"").skip(1).filter_map(|it| it.split('"').next()) {
            if link.starts_with('/') {
                let to = link.split('#').next().unwrap_or(link);
                let status = hub.get(to).await.status;
                assert!(matches!(status, 200 | 303), "{path} leads to {link}: {status}");
            }
            if let Some((to, anchor)) = link.split_once('#') {
                let to = if to.is_empty() { path } else { to };
                let target = hub.get(to).await.body;
                assert!(target.contains(&format!("id=\"{anchor}\"")), "{path} leads to {link}");
            }
        }
    }
}

/// The id of a team in the archive.
async fn a_team(hub: &Hub) -> String {
    let key = format!("Token {}", hub.key(&[]));
    let mut look = tokio::time::interval(Duration::from_millis(50));
    let polling = async {
        loop {
            look.tick().await;
            let teams = hub.request("GET", "/api/v2/teams/", &[("authorization", &key)]).await;
            if let Some(id) = teams.json()["results"][0]["id"].as_u64() {
                return id.to_string();
            }
        }
    };
    timeout(PATIENCE, polling).await.expect("a team is archived in time")
}

#[tokio::test]
async fn every_address_in_the_documentation_is_served() {
    // With its demo, so that there is a team to show.
    let hub = Hub::demo();
    let team = a_team(&hub).await;
    let page = hub.get("/docs/rest/").await.body;
    let rows: Vec<&str> = page.split("<tr><td>").skip(1).collect();
    assert!(rows.len() >= 4, "the table was not found");
    for row in rows {
        let method = row.split('<').next().expect("a method");
        let path = between(row, "<code>", "</code>").expect("a path");
        let filled_in = [("CHANNEL", "feeds"), ("TYPE", "team"), ("ID", &*team)];
        let path = filled_in.iter().fold(path.to_owned(), |path, (name, value)| {
            path.replace(&format!("<var>{name}</var>"), value)
        });
        // Endpoints that return no text are requested without it.
        let method = if path.starts_with("/img/") { "HEAD" } else { method };
        let status = hub.request(method, &path, &[]).await.status;
        assert!(matches!(status, 200 | 401), "{method} {path}: {status}");
    }
}

#[tokio::test]
async fn documentation_shows_the_configured_limits() {
    let hub = Hub::shared(&["serve"], &CONFIGURED);
    assert!(hub.get("/docs/websocket/").await.body.contains(">1,234<"));
    let rest = hub.get("/docs/rest/").await.body;
    assert!(rest.contains("4,321 per day") && rest.contains("q=4321;w=86400"), "{rest}");
}

/// The first example on the page, with the key inserted as a reader would.
#[tokio::test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
async fn first_example_works() {
    let hub = hub();
    let page = hub.get("/docs/").await.body;
    let example = between(&page, "<pre id=\"first\"><code>", "</code></pre>").expect("an example");
    assert!(example.contains("YOUR_KEY"), "{example}");
    let key = hub.key(&[]);
    let line = example.replace("<span data-key>YOUR_KEY</span>", &key).replace("curl", "curl -sS");
    let Ok(output) = Command::new("sh").args(["-c", &line]).output() else {
        eprintln!("skipped: there is no shell");
        return;
    };
    if output.status.code() == Some(127) {
        eprintln!("skipped: there is no curl");
        return;
    }
    let answer = String::from_utf8_lossy(&output.stdout);
    assert!(answer.starts_with('{') && !answer.contains("authentication_required"), "{answer}");
}

fn sha256(bytes: &[u8]) -> Vec<u8> {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).to_vec()
}
