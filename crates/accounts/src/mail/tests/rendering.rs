use std::{fs, os::unix::fs::PermissionsExt};

use lettre::{Address, message::header::ContentType};

use super::*;
use crate::{
    mail::render::{EmailContext, EmailLink, RenderedEmail, has_receipt, page, text_part},
    payments::Receipt,
};

/// 22 November 2026, 14:05 UTC.
const T0: Micros = 1_795_356_300_000_000;
const LINK: &str = "https://hub.example.org/page/?link=7.5ec2e7";

/// As the outbox stores it.
fn receipt() -> Receipt {
    let stored = r#"{"order":"0123456789abcdef","what":"Odds API, 30 days × 1","method":"Card","paid":"9.00",
        "refunded":"0","currency":"EUR","paid_at":1795356300000000,"seller":"Hub","tax_percent":"0"}"#;
    serde_json::from_str(stored).expect("a receipt")
}

#[test]
fn receipt_is_in_the_text_and_attached() {
    let (email, wire) = render(MailKind::Receipt, "ann@example.com");
    assert!(email.text.contains("\nPaid        9.00 EUR\n"), "{}", email.text);
    let attached = "Content-Disposition: attachment; filename=\"receipt-01234567.pdf\"";
    assert!(wire.contains(attached) && wire.contains("application/pdf"), "{wire}");
}

fn render(kind: MailKind, address: &str) -> (RenderedEmail, String) {
    let address: Address = address.parse().unwrap();
    let link = EmailLink { url: LINK.to_owned(), expires: T0 + DAY_US };
    let context = EmailContext {
        id: 7,
        kind,
        address: &address,
        requested: T0,
        link: page(kind).map(|_| link),
        receipt: has_receipt(kind).then(receipt),
        site: "https://hub.example.org",
    };
    let sender = Sender::new("hub@example.org", "Hub & Söhne").unwrap();
    let email = RenderedEmail::render(&context, &sender).unwrap();
    let message = email.clone().into_message(&context, &sender).unwrap();
    (email, String::from_utf8(message.formatted()).unwrap())
}

#[test]
fn each_mail_names_its_address_and_advises_unintended_recipients() {
    for kind in MailKind::ALL {
        let (email, _) = render(kind, "ann@example.com");
        let text = &email.text;
        for part in ["ann@example.com", "https://hub.example.org", "22 November 2026, 14:05 UTC"] {
            assert!(text.contains(part), "{kind:?} without {part}:\n{text}");
        }
        assert!(text.contains("\nIf this wasn't you, "), "{text}");
        assert!(text.lines().all(|line| line.len() < 80), "{text}");
        assert!(email.subject.ends_with("(Hub & Söhne)"), "{}", email.subject);
    }
}

#[test]
fn link_is_on_its_own_line_with_its_expiry_and_is_clickable() {
    for kind in MailKind::ALL {
        let (email, wire) = render(kind, "ann@example.com");
        let has_link = page(kind).is_some();
        let alone = email.text.lines().any(|line| line == LINK);
        assert_eq!(alone, has_link, "{}", email.text);
        let end = "This link works once and expires on 23 November 2026, 14:05 UTC.";
        assert_eq!(email.text.contains(end), has_link, "{}", email.text);
        let anchor = format!("<a href=3D\"{}\">", LINK.replace('=', "=3D"));
        assert_eq!(wire.replace("=\r\n", "").contains(&anchor), has_link, "{wire}");
    }
}

#[test]
fn message_has_the_headers_that_mail_clients_expect() {
    let (_, wire) = render(MailKind::Reset, "ann@example.com");
    for part in [
        "\r\nTo: ann@example.com\r\n",
        "\r\nMessage-ID: <7.1795356300000000@example.org>\r\n",
        "\r\nAuto-Submitted: auto-generated\r\n",
        "multipart/alternative",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Type: text/html; charset=utf-8",
    ] {
        assert!(wire.contains(part), "without {part}:\n{wire}");
    }
    assert!(wire.is_ascii(), "{wire}");
}

#[test]
fn link_in_ascii_text_is_not_wrapped() {
    let long = format!("{LINK}{}", "0".repeat(200));
    let part = text_part(ContentType::TEXT_PLAIN, &format!("Follow it:\n\n{long}\n"));
    let wire = String::from_utf8(part.formatted()).unwrap();
    assert!(wire.contains("\r\nContent-Transfer-Encoding: 7bit\r\n"), "{wire}");
    assert!(wire.contains(&format!("\r\n\r\n{long}\r\n")), "{wire}");
}

#[test]
fn address_is_escaped_in_html() {
    let (_, wire) = render(MailKind::Reset, "a&b'c@example.com");
    let html = wire.split("text/html").nth(1).unwrap();
    assert!(html.contains("a&#38;b&#39;c@example.com"), "{html}");
}

#[tokio::test]
async fn folder_gets_complete_files_readable_only_by_their_owner() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mails");
    let database = Database::open(&folder.path().join("test.db").into()).await.unwrap();
    let config = MailConfig { poll_ms: 5, ..MailConfig::default() };
    let (mail, link) = send_with_link(&database, &config, Some(path.clone())).await;

    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    let files = fs::read_dir(&path).unwrap().map(|file| file.unwrap().path()).collect::<Vec<_>>();
    let [file] = &*files else { panic!("one file: {files:?}") };
    assert!(file.to_str().unwrap().ends_with(&format!("-{mail}-verify.eml")), "{file:?}");
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(file).unwrap();
    let expected = format!("\r\nhttps://hub.example.org/verify/?link={link}.5ec2e7\r\n");
    assert!(text.contains(&expected), "{text}");
}

#[tokio::test]
async fn mail_waits_if_no_transport_is_configured() {
    let config = MailConfig { poll_ms: 5, ..MailConfig::default() };
    let mailer = TestMailer::start(&config).await;
    let mail = mailer.put("ann@example.com").await;
    let row = mailer.until(mail, |_| true).await;
    assert_eq!(row, Row { attempts: 0, sent_us: None, failed_us: None, error: None });
    mailer.stop().await;
}
