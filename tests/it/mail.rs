//! Mail of the running program: its content, its log, and that none is lost when the program ends.

use std::{
    fs,
    path::{Path, PathBuf},
};

use accounts::{
    Accounts, Email, VerificationOutcome, Visitor,
    mail::{self, MailKind},
};
use base::clock::now;

use crate::support::{Hub, QUIET, smtp::Server};

/// Another program on the hub's database, such as a page that registers a customer.
async fn beside(hub: &Hub) -> Accounts {
    Accounts::open(Path::new(&hub.db())).await.expect("the database opens")
}

/// The browser that registers and follows links.
fn browser() -> Visitor {
    Visitor::parse(&"0a".repeat(32)).expect("a secret of the right form")
}

async fn register(accounts: &Accounts, address: &str) {
    let email = Email::parse(address).expect("an address");
    let password = accounts.new_password("a long enough pass phrase".to_owned(), None);
    accounts
        .register(&email, password.expect("it is long enough"), Some(&browser()), now())
        .await
        .expect("the store works");
}

async fn enqueue(accounts: &Accounts, address: &str) {
    let mut tx = accounts.database().begin().await.expect("the database works");
    mail::enqueue(&mut tx, address, MailKind::PasswordChanged, None, now()).await.expect("it does");
    tx.commit().await.expect("it does");
}

/// All that the hub has printed, once this is in it.
async fn until_printed(hub: &Hub, text: &str) -> String {
    hub.until_printed(text).await;
    hub.printed()
}

/// The text after `?link=`, up to the end of the line.
fn link(text: &str) -> &str {
    let rest = text.split("/verify/?link=").nth(1).expect("a link");
    rest.split(char::is_whitespace).next().expect("its text")
}

// Issue point 8: in demo mode mails are files in a folder, and their links are printed. SPEC section 3,
// rule 1: an account is inactive until its link is followed.
#[tokio::test]
async fn demo_prints_the_link_that_makes_an_account_active() {
    let hub = Hub::start(&["serve"]);
    let folder = PathBuf::from(format!("{}.mails", hub.db()));
    until_printed(&hub, "hub.db.mails/; their links are printed here.").await;
    let accounts = beside(&hub).await;
    register(&accounts, "ann@example.com").await;
    let printed = until_printed(&hub, "/verify/?link=").await;
    assert!(printed.contains("mail for ann@example.com: Confirm your email address"), "{printed}");
    let url = format!("http://{}/verify/?link=", hub.address);
    assert!(printed.contains(&url), "{printed}");

    let file = fs::read_dir(folder).expect("the folder").next().expect("a file").expect("it");
    let text = fs::read_to_string(file.path()).expect("a mail");
    assert_eq!(link(&text), link(&printed));
    let followed = accounts.follow_verification(link(&text), Some(&browser()), None, now()).await;
    assert!(matches!(followed.expect("the store works"), VerificationOutcome::Now { .. }));
}

/// A hub that sends to this server; in another hub's folder if it continues from there.
fn start(before: Option<&Hub>, port: u16) -> Hub {
    let url = format!("smtp://me:s3cret-password@127.0.0.1:{port}?tls=none");
    let settings = [
        QUIET,
        // Settings are expected to be constants, and there are few of them.
        ("MAIL_SMTP_URL", &*url.leak()),
        ("MAIL_FROM", "hub@example.org"),
        ("MAIL_POLL_MS", "5"),
        ("SERVER_PUBLIC_URL", "https://hub.example.org/"),
    ];
    match before {
        Some(before) => Hub::start_in_with(before.folder.clone(), &["serve"], &settings),
        None => Hub::start_with(&["serve"], &settings),
    }
}

const LOGIN: [&str; 4] = ["--user", "me", "--password", "s3cret-password"];

#[tokio::test]
async fn smtp_server_gets_the_mail_and_the_log_no_secret() {
    let Some(mut server) = Server::start(&LOGIN).await else { return };
    let mut hub = start(None, server.port);
    let accounts = beside(&hub).await;
    register(&accounts, "ann@example.com").await;
    let sent = server.mail().await;
    let text = sent["mail"].as_str().expect("text");
    assert!(text.contains("https://hub.example.org/verify/?link="), "{text}");
    let link = link(text).to_owned();

    enqueue(&accounts, "never@example.net").await;
    let printed = until_printed(&hub, "gave up on a mail").await;
    assert!(printed.contains("example.net") && printed.contains("550"), "{printed}");
    hub.until_counted("matchwire_mails_failed_total{kind=\"password-changed\"}").await;
    while server.next_report().await["refused"] != "never@example.net" {}
    assert_eq!(hub.stop(), Some(0));
    // Another log-in is no attempt: the worker may open a connection at any time.
    while server.has_unread() {
        assert!(server.next_report().await["login"].is_string(), "it was tried again");
    }
    let printed = hub.printed();
    for secret in ["s3cret-password", "never@", "ann@", &*link] {
        assert!(!printed.contains(secret), "{secret} in {printed}");
    }
    let followed = accounts.follow_verification(&link, Some(&browser()), None, now()).await;
    assert!(matches!(followed.expect("the store works"), VerificationOutcome::Now { .. }));
}

// At least once: mail in the outbox of a killed program is sent by the next one.
#[tokio::test]
async fn queued_mail_is_sent_after_a_kill() {
    let Some(server) = Server::start(&LOGIN).await else { return };
    let port = server.port;
    drop(server);
    let mut hub = start(None, port);
    let accounts = beside(&hub).await;
    for n in 0..20 {
        enqueue(&accounts, &format!("{n}@example.com")).await;
    }
    until_printed(&hub, "cannot send mail; will retry").await;
    let mut server =
        Server::start(&[&LOGIN[..], &["--port", &port.to_string()]].concat()).await.expect("again");
    let mut got = vec![server.mail().await["to"].clone()];
    hub.kill();
    accounts.close().await;

    let again = start(Some(&hub), port);
    // Each of the two connections may have claimed a mail when the program was killed; that mail is
    // not retried for a while.
    while got.len() < 18 {
        let to = server.mail().await["to"].clone();
        if !got.contains(&to) {
            got.push(to);
        }
    }
    assert!(!again.printed().contains("gave up on"));
}

#[tokio::test]
async fn hub_without_a_mail_transport_warns_once_and_serves() {
    let mut hub = Hub::start_with(&["serve"], &[QUIET, ("MAIL_POLL_MS", "5")]);
    let accounts = beside(&hub).await;
    enqueue(&accounts, "ann@example.com").await;
    until_printed(&hub, "mail waits in the database").await;
    assert_eq!(hub.get("/healthz").await.status, 200);
    assert_eq!(hub.stop(), Some(0));
    assert_eq!(hub.printed().matches("mail waits in the database").count(), 1);
}
