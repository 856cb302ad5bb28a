//! Delivery to a real server. `tests/it/mail.rs` checks the hub's error messages.

use tokio::net::TcpListener;

use super::{server::Server, *};
use database::testing::on_each;

#[tokio::test]
async fn mail_arrives_complete_with_its_link() {
    let Some(mut server) = Server::start(&[]).await else { return };
    let port = server.port;
    let (tx, mut rx) = tokio::sync::mpsc::channel(4);
    let serving = tokio::spawn(async move {
        while tx.send(server.mail().await).await.is_ok() && tx.capacity() > 2 {}
        server
    });
    on_each(async |database| {
        send_with_link(&database, &settings(port), None).await;
    })
    .await;
    let got = rx.recv().await.unwrap();
    assert_eq!(
        (&got["sender"], &got["to"]),
        (&"hub@example.org".into(), &"ann@example.com".into())
    );
    let text = got["mail"].as_str().unwrap();
    assert!(text.contains("\r\nSubject: Confirm your email address (Matchwire)\r\n"), "{text}");
    assert!(text.contains("\r\nhttps://hub.example.org/verify/?link=1.5ec2e7\r\n"), "{text}");
    // The end of both parts: nothing was cut off.
    assert!(text.contains("</html>") && text.trim_end().ends_with("--"), "{text}");
    drop(rx);
    serving.abort();
}

#[tokio::test]
async fn server_that_is_down_costs_no_attempt() {
    if Server::start(&[]).await.is_none() {
        return;
    }
    // A listener that never responds.
    let down = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = down.local_addr().unwrap().port();
    let mailer = TestMailer::start(&settings(port)).await;
    let mail = mailer.put("ann@example.com").await;
    drop(time::timeout(PATIENCE, down.accept()).await.expect("it is tried").unwrap());
    drop(down);

    let mut server = Server::start(&["--port", &port.to_string()]).await.unwrap();
    server.mail().await;
    let row = mailer.until(mail, |row| row.sent_us.is_some()).await;
    assert_eq!((row.attempts, row.error), (1, None));
    mailer.stop().await;
}

#[tokio::test]
async fn mail_deferred_by_the_server_is_retried() {
    let Some(mut server) = Server::start(&[]).await else { return };
    let mailer = TestMailer::start(&settings(server.port)).await;
    let mail = mailer.put("later-2@example.com").await;
    server.mail().await;
    let row = mailer.until(mail, |row| row.sent_us.is_some()).await;
    assert_eq!((row.attempts, row.error), (3, None));
    mailer.stop().await;
}

#[tokio::test]
async fn mail_fails_after_the_maximum_number_of_attempts() {
    let Some(server) = Server::start(&[]).await else { return };
    let config = MailConfig { attempts_max: 3, ..settings(server.port) };
    let mailer = TestMailer::start(&config).await;
    let mail = mailer.put("later-100@example.com").await;
    let row = mailer.until(mail, |row| row.failed_us.is_some()).await;
    assert_eq!((row.attempts, row.sent_us), (3, None));
    assert!(row.error.unwrap().contains("come back later"));
    mailer.stop().await;
}

#[tokio::test]
async fn permanently_rejected_recipient_is_tried_once() {
    let Some(mut server) = Server::start(&[]).await else { return };
    let mailer = TestMailer::start(&settings(server.port)).await;
    let never = mailer.put("never@example.com").await;
    let spam = mailer.put("spam@example.com").await;
    let ann = mailer.put("ann@example.com").await;
    for (mail, code) in [(never, "550"), (spam, "554")] {
        let row = mailer.until(mail, |row| row.failed_us.is_some()).await;
        assert_eq!(row.attempts, 1);
        assert!(row.error.as_ref().unwrap().contains(code), "{row:?}");
    }
    assert_eq!(server.mail().await["to"], "ann@example.com");
    mailer.until(ann, |row| row.sent_us.is_some()).await;
    mailer.stop().await;
}

#[tokio::test]
async fn slow_recipient_delays_only_its_own_mail() {
    let Some(mut server) = Server::start(&[]).await else { return };
    let config = MailConfig { timeout_ms: 3000, attempts_max: 2, ..settings(server.port) };
    let mailer = TestMailer::start(&config).await;
    let slow = mailer.put("slow@example.com").await;
    let ann = mailer.put("ann@example.com").await;
    assert_eq!(server.mail().await["to"], "ann@example.com");
    mailer.until(ann, |row| row.sent_us.is_some()).await;
    let row = mailer.until(slow, |row| row.failed_us.is_some()).await;
    assert_eq!(row.error.as_deref(), Some("no answer within 3000 ms"));
    mailer.stop().await;
}

#[tokio::test]
async fn mail_waits_for_correct_credentials() {
    let login = ["--user", "me@example.org", "--password", "s:crét"];
    let Some(mut server) = Server::start(&login).await else { return };
    let with = |password: &str| MailConfig {
        smtp_url: url(&format!(
            "smtp://me%40example.org:{password}@127.0.0.1:{}?tls=none",
            server.port
        )),
        ..settings(0)
    };
    let (wrong, right) = (with("wrong"), with("s%3Acr%C3%A9t"));
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(&folder.path().join("test.db").into()).await.unwrap();
    let (stop, tasks) = empty_outbox(&database, &wrong, None);
    let mail = put(&database, "ann@example.com", MailKind::EmailChanged, None).await;
    assert_eq!(server.next_report().await["good"], false);
    stop.send_replace(true);
    for task in tasks {
        task.await.unwrap();
    }
    let row = until(&database, mail, |_| true).await;
    assert_eq!(row, Row { attempts: 0, sent_us: None, failed_us: None, error: None });

    let (_stop, _tasks) = empty_outbox(&database, &right, None);
    assert_eq!(server.mail().await["user"], "me@example.org");
    until(&database, mail, |row| row.sent_us.is_some()).await;
}

#[tokio::test]
async fn lost_response_sends_the_same_message_id_again() {
    let Some(mut server) = Server::start(&[]).await else { return };
    let mailer = TestMailer::start(&settings(server.port)).await;
    let mail = mailer.put("cut@example.com").await;
    let id = |delivery: serde_json::Value| {
        let text = delivery["mail"].as_str().unwrap().to_owned();
        text.lines().find(|line| line.starts_with("Message-ID: ")).unwrap().to_owned()
    };
    let (first, second) = (id(server.mail().await), id(server.mail().await));
    assert_eq!(first, second, "a mailbox can recognise the duplicate");
    assert_eq!(mailer.until(mail, |row| row.sent_us.is_some()).await.attempts, 2);
    mailer.stop().await;
}

#[tokio::test]
async fn non_ascii_address_is_sent_only_if_the_server_supports_it() {
    let Some(mut server) = Server::start(&[]).await else { return };
    let mailer = TestMailer::start(&settings(server.port)).await;
    mailer.put("jörg@example.com").await;
    assert_eq!(server.mail().await["to"], "jörg@example.com");
    mailer.stop().await;

    let server = Server::start(&["--no-utf8"]).await.unwrap();
    let mailer = TestMailer::start(&settings(server.port)).await;
    let mail = mailer.put("jörg@example.com").await;
    let row = mailer.until(mail, |row| row.failed_us.is_some()).await;
    assert!(row.error.as_ref().unwrap().contains("SMTPUTF8"), "{row:?}");
    assert!(!server.has_unread());
    mailer.stop().await;
}

#[tokio::test]
async fn address_cannot_inject_a_header_or_a_recipient() {
    let Some(server) = Server::start(&[]).await else { return };
    let mailer = TestMailer::start(&settings(server.port)).await;
    for address in [
        "a@example.com\r\nBcc: b@example.com",
        "a@example.com>\r\nRCPT TO:<b@example.com",
        "a@example.com, b@example.com",
        "a b@example.com",
        "nobody",
        "",
    ] {
        let mail = mailer.put(address).await;
        let row = mailer.until(mail, |row| row.failed_us.is_some()).await;
        assert_eq!(row.error.as_deref(), Some("no mail can be sent to such an address"));
    }
    assert!(!server.has_unread(), "the server was given something");
    mailer.stop().await;
}

#[tokio::test]
async fn expired_used_or_missing_link_is_not_sent() {
    let Some(server) = Server::start(&[]).await else { return };
    let mailer = TestMailer::start(&settings(server.port)).await;
    let database = &mailer.database;
    let old = link(database, "reset", now() - 1).await;
    let used = link(database, "reset", now() + DAY_US).await;
    sqlx::query("UPDATE links SET used_us = 1 WHERE id = $1")
        .bind(used)
        .execute(database.pool())
        .await
        .unwrap();
    for (link, why) in [
        (Some(old), "its link ran out before it could be sent"),
        (Some(used), "its link was followed before it could be sent"),
        (None, "it should have a link"),
    ] {
        let mail = put(database, "ann@example.com", MailKind::Reset, link).await;
        let row = mailer.until(mail, |row| row.failed_us.is_some()).await;
        assert_eq!(row.error.as_deref(), Some(why));
    }
    assert!(!server.has_unread(), "the server was given something");
    mailer.stop().await;
}
