//! The HTTP poller against a server that responds correctly, badly, late or not at all.

use std::{io::Write, time::Duration};

use base::{secret::Secret, tls};
use flate2::{Compression, write::GzEncoder};
use sources::poll::{self, Credential, PollSettings, Quota, Request};

use super::http::{ReceivedRequest, Reply, Server};
use crate::support::{Listener, Report, SECRET, Small, goals};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn request(url: &str) -> Request {
    Request::new(url, &[], None, ms(20)).expect("a URL")
}

fn settings(requests: Vec<Request>) -> PollSettings {
    let trust = tls::client(None).expect("the system has root certificates");
    PollSettings {
        backoff_first: ms(10),
        backoff_most: ms(100),
        ..PollSettings::new(requests, trust)
    }
}

fn start(settings: PollSettings) -> Listener {
    Listener::start(|reports| poll::run(settings, Box::new(Small), reports))
}

#[tokio::test]
async fn source_is_live_once_each_request_has_been_answered() {
    // The interpreter calls each response complete; that is not enough.
    let server = Server::start(|received| match received.target.as_str() {
        "/a" => Reply::ok(r#"{"goals":1,"signal":"fresh"}"#),
        _ => Reply::ok(r#"{"goals":2,"signal":"fresh"}"#),
    })
    .await;
    let requests = vec![request(&server.url("/a")), request(&server.url("/b"))];
    let mut listener = start(settings(requests));
    let reports = listener.until_live().await;
    assert_eq!(goals(&reports), [1, 2]);
    assert_eq!(reports[1], Report::Recovering, "{reports:?}");
    assert_eq!(reports.len(), 4, "{reports:?}");
    listener.stop().await;
}

#[tokio::test]
async fn an_unchanged_answer_is_as_fresh_as_a_new_one() {
    let mut server =
        Server::start(|received| match received.headers.get("if-none-match").map(String::as_str) {
            None => Reply::ok(r#"{"goals":1}"#)
                .with("etag", "\"one\"")
                .with("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
            Some("\"one\"") => Reply::status(304),
            Some(other) => panic!("{other}"),
        })
        .await;
    let mut listener = start(settings(vec![request(&server.url("/"))]));
    assert_eq!(goals(&listener.until_live().await), [1]);
    assert_eq!(listener.next().await, Report::Heartbeat);
    assert_eq!(listener.next().await, Report::Live);
    server.next_request().await;
    let again = server.next_request().await;
    assert_eq!(again.headers["if-modified-since"], "Sun, 06 Nov 1994 08:49:37 GMT");
    listener.stop().await;
}

#[tokio::test]
async fn secrets_reach_only_the_provider() {
    let mut server = Server::start(|_| Reply::status(500)).await;
    let secret = || Secret::from(SECRET.to_owned());
    let request_with = |path: &str, credential| {
        let query = [("regions", "eu,uk")];
        Request::new(&server.url(path), &query, Some(credential), ms(20)).expect("a URL")
    };
    let requests = vec![
        request_with("/h", Credential::Header("x-apisports-key".to_owned(), secret())),
        request_with("/q", Credential::Query("apiKey".to_owned(), secret())),
    ];
    let settings = settings(requests);
    assert!(!format!("{settings:?}").contains(SECRET));
    let mut listener = start(settings);
    let received = [server.next_request().await, server.next_request().await];
    let by_header =
        received.iter().find(|received| received.target.starts_with("/h")).expect("a request");
    assert_eq!(by_header.headers["x-apisports-key"], SECRET);
    assert_eq!(by_header.target, "/h?regions=eu%2Cuk");
    let by_query =
        received.iter().find(|received| received.target.starts_with("/q")).expect("a request");
    assert_eq!(by_query.target, format!("/q?regions=eu%2Cuk&apiKey={SECRET}"));
    // `next` checks every report for secrets.
    let (_, why) = listener.until_down().await;
    assert!(why.ends_with(": answered 500"), "{why}");
    // If nothing listens, the error is that of the HTTP library.
    drop(server);
    listener.until(|report| format!("{report:?}").contains("cannot connect")).await;
    listener.stop().await;
}

#[tokio::test]
async fn gzip_response_is_decompressed_and_a_long_one_refused() {
    let pack = |body: &[u8]| {
        let mut gz = GzEncoder::new(Vec::new(), Compression::best());
        gz.write_all(body).expect("in memory");
        let body = gz.finish().expect("in memory");
        Reply::Answer { status: 200, headers: vec![("content-encoding", "gzip".to_owned())], body }
    };
    let mut server = Server::start(move |received| match received.number {
        0 => pack(br#"{"goals":3}"#),
        // A few kilobytes on the wire.
        _ => pack(&vec![b' '; 1 << 20]),
    })
    .await;
    let mut settings = settings(vec![request(&server.url("/"))]);
    settings.body_bytes_max = 10_000;
    let mut listener = start(settings);
    assert_eq!(goals(&listener.until_live().await), [3]);
    assert!(server.next_request().await.headers["accept-encoding"].contains("gzip"));
    let (_, why) = listener.until_down().await;
    assert!(why.ends_with("the answer is longer than 10000 bytes"), "{why}");
    listener.stop().await;
}

/// The server's behaviour at the second and third request, and the reports of the source. The
/// fourth response is correct again.
async fn check_failure(what: &str, expected: &str, reply: fn(&ReceivedRequest) -> Reply) {
    let server = Server::start(move |received| match received.number {
        1 | 2 => reply(received),
        number => Reply::ok(&format!(r#"{{"goals":{number}}}"#)),
    })
    .await;
    let mut settings = settings(vec![request(&server.url("/"))]);
    settings.timeout = ms(1000);
    let mut listener = start(settings);
    assert_eq!(goals(&listener.until_live().await), [0], "{what}");
    let (before, why) = listener.until_down().await;
    let is_quiet = before.iter().all(|it| matches!(it, Report::Heartbeat | Report::Refused(_)));
    assert!(is_quiet, "{what}: one failure is not reported: {before:?}");
    assert_eq!(why, format!("{}: {expected}", server.url("/")), "{what}");
    assert_eq!(goals(&listener.until_live().await), [3], "{what}");
    listener.stop().await;
}

#[tokio::test]
async fn source_is_down_after_two_failures_in_a_row_and_recovers() {
    check_failure("errors", "answered 500", |_| Reply::status(500)).await;
    check_failure("not found", "answered 404", |_| Reply::status(404)).await;
    check_failure("elsewhere", "answered 302", |_| {
        Reply::status(302).with("location", "http://127.0.0.1:1/")
    })
    .await;
    check_failure("stalls", "no whole answer in time", |_| Reply::Stall).await;
    check_failure("not JSON", "the answer could not be used", |_| Reply::ok("<html>")).await;
    let cut = "the answer was cut off: end of file before message length reached";
    check_failure("cut bodies", cut, |_| Reply::Cut(r#"{"goals":9}"#)).await;
}

#[tokio::test]
async fn unusable_response_is_reported_and_requested_in_full_again() {
    let mut server = Server::start(|received| match received.number {
        0 => Reply::ok("half a {").with("etag", "\"bad\""),
        _ => Reply::ok(r#"{"goals":1}"#),
    })
    .await;
    let mut listener = start(settings(vec![request(&server.url("/"))]));
    let reports = listener.until_live().await;
    assert!(matches!(reports[0], Report::Refused(_)), "{reports:?}");
    server.next_request().await;
    assert!(!server.next_request().await.headers.contains_key("if-none-match"));
    listener.stop().await;
}

#[tokio::test]
async fn retry_after_of_a_provider_is_respected() {
    let mut server = Server::start(|received| match received.number {
        1 => Reply::status(429).with("retry-after", "1"),
        _ => Reply::ok(r#"{"goals":1}"#),
    })
    .await;
    let requests = vec![request(&server.url("/a")), request(&server.url("/b"))];
    let mut listener = start(settings(requests));
    server.next_request().await;
    let refused = server.next_request().await;
    let next = server.next_request().await;
    let waited = next.at - refused.at;
    assert!(waited >= ms(1000), "{} was requested after {waited:?}", next.target);
    listener.until_live().await;
    listener.stop().await;
}

#[tokio::test]
async fn a_provider_that_asks_to_wait_is_down_at_once() {
    for retry_after in [None, Some("1")] {
        let server = Server::start(move |received| match (received.number, retry_after) {
            (1, None) => Reply::status(429),
            (1, Some(seconds)) => Reply::status(429).with("retry-after", seconds),
            _ => Reply::ok(r#"{"goals":1}"#),
        })
        .await;
        let mut listener = start(settings(vec![request(&server.url("/"))]));
        listener.until_live().await;
        let (_, why) = listener.until_down().await;
        assert_eq!(why, format!("{}: answered 429", server.url("/")));
        listener.until_live().await;
        listener.stop().await;
    }
}

#[tokio::test]
async fn a_provider_that_denies_access_is_polled_rarely() {
    for status in [401, 403] {
        let mut server = Server::start(move |_| Reply::status(status)).await;
        let mut settings = settings(vec![request(&server.url("/a")), request(&server.url("/b"))]);
        settings.backoff_most = ms(700);
        let mut listener = start(settings);
        let (_, why) = listener.until_down().await;
        assert_eq!(why, format!("{}: answered {status}", server.url("/a")));
        let waited = server.next_request().await.at;
        let waited = server.next_request().await.at - waited;
        assert!(waited >= ms(700), "{waited:?}");
        listener.stop().await;
    }
}

#[tokio::test]
async fn low_quota_is_spent_slowly() {
    let mut server = Server::start(|received| {
        let left = if received.number == 0 { "500" } else { "1" };
        Reply::ok(r#"{"goals":1}"#).with("X-Requests-Remaining", left)
    })
    .await;
    let mut settings = settings(vec![request(&server.url("/"))]);
    settings.quotas = vec![Quota { wait_most: ms(600), ..Quota::the_odds_api(100) }];
    let listener = start(settings);
    server.next_request().await;
    let second = server.next_request().await;
    let third = server.next_request().await;
    // Without the quota it is 20 ms. The second request may be seen late.
    assert!(third.at - second.at >= ms(300), "{:?}", third.at - second.at);
    listener.stop().await;
}

#[tokio::test]
async fn a_late_provider_is_late_until_all_its_answers_are_fresh() {
    let server = Server::start(|received| match received.number {
        0 => Reply::ok(r#"{"goals":1,"signal":"late"}"#),
        _ => Reply::ok(r#"{"goals":2,"signal":"fresh"}"#),
    })
    .await;
    let mut listener = start(settings(vec![request(&server.url("/"))]));
    let reports = listener.until(|report| *report == Report::Late).await;
    assert_eq!(goals(&reports), [1]);
    assert_eq!(goals(&listener.until_live().await), [2]);
    listener.stop().await;
}

#[tokio::test]
async fn permanently_failing_request_prevents_the_source_going_live() {
    let server = Server::start(|received| match received.target.as_str() {
        "/a" => Reply::ok(r#"{"goals":1}"#),
        _ => Reply::status(404),
    })
    .await;
    let requests = vec![request(&server.url("/a")), request(&server.url("/b"))];
    let mut listener = start(settings(requests));
    listener.until_down().await;
    let (between, _) = listener.until_down().await;
    let (more, _) = listener.until_down().await;
    let only_batches = |reports: &[Report]| reports.iter().all(|it| matches!(it, Report::Batch(_)));
    assert!(only_batches(&between) && only_batches(&more), "{between:?} {more:?}");
    listener.stop().await;
}

#[tokio::test]
async fn source_recovers_after_an_outage_of_the_provider() {
    let answer = |_: &ReceivedRequest| Reply::ok(r#"{"goals":1}"#);
    let server = Server::start(answer).await;
    let port = server.addr.port();
    let mut listener = start(settings(vec![request(&server.url("/"))]));
    listener.until_live().await;
    drop(server);
    let (_, why) = listener.until_down().await;
    assert!(why.contains("127.0.0.1"), "{why}");
    let _server = Server::start_on(port, answer).await;
    listener.until_live().await;
    listener.stop().await;
}
