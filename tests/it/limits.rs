//! Rate limits per address, and daily quotas per account.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;
use tokio_tungstenite::connect_async;

use crate::support::{Answer, Hub, QUIET, Setting, clock::Clock, on_sqlite};

/// A well-formed key that does not exist.
const WRONG: &str = "mw_000000000000000000000000000000000000000000000000";

/// An unknown football match: 404 for every request within the limits.
const FOOTBALL: &str = "/api/v2/events/1/";
const TENNIS: &str = "/tennis/api/v2/matches/1/";

/// Sends a request without a key, for this client address: 401 within the limits.
async fn from(hub: &Hub, address: &str) -> Answer {
    hub.request("GET", FOOTBALL, &[("x-forwarded-for", address)]).await
}

/// How many requests of these addresses pass, all at once: one after the other, each would wait for its turn.
async fn passing(hub: &Hub, addresses: impl IntoIterator<Item = String>) -> usize {
    let requests = addresses.into_iter().map(async |address| from(hub, &address).await.status);
    join_all(requests).await.into_iter().filter(|status| *status == 401).count()
}

/// This address, so many times.
fn times(count: usize, address: &str) -> Vec<String> {
    vec![address.to_owned(); count]
}

fn check_429(answer: &Answer, code: &str) {
    assert_eq!(answer.status, 429, "{answer:?}");
    let body = answer.json();
    let expected =
        json!({"error": true, "status": 429, "code": code, "detail": body["detail"].as_str()});
    assert_eq!(body, expected);
    assert!(body["detail"].is_string());
}

/// One a second, and one wrong key a minute.
const SLOW: [Setting; 3] =
    [QUIET, ("LIMITS_WRONG_KEYS_PER_MINUTE", "1"), ("LIMITS_ADDRESS_PER_SECOND", "1")];

/// SERVICE section 6: per address 25 a second and 110 at once, then 429 `rate_limited` with
/// `Retry-After: 1`.
#[tokio::test]
async fn address_has_a_burst_and_is_then_rate_limited() {
    let settings = [QUIET, ("LIMITS_ADDRESS_PER_SECOND", "25")];
    let hub = Hub::start_with(&["serve"], &settings);
    let key = hub.key(&[]);
    let path = format!("{FOOTBALL}?token={key}");
    let mut answers = Vec::new();
    // More at once than the hub answers while the limit recovers, on any machine.
    while answers.iter().all(|answer: &Answer| answer.status == 404) && answers.len() < 4_000 {
        answers.extend(join_all((0..400).map(|_| hub.get(&path))).await);
    }
    let passed = answers.iter().filter(|answer| answer.status == 404).count();
    assert!(passed >= 110, "only {passed} passed");
    let refused =
        answers.iter().find(|answer| answer.status != 404).expect("one was over the limit");
    check_429(refused, "rate_limited");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.header("access-control-allow-origin"), Some("*"));
    assert_eq!(hub.get("/healthz").await.status, 200, "what is no product has no limit");
}

/// The last entry that is not a trusted proxy is the client; entries written by the client itself
/// change nothing. An IPv6 customer is limited by its /64.
#[tokio::test]
async fn client_address_comes_from_a_trusted_proxy() {
    let proxy = [("SERVER_FORWARDED_HEADER", "x-forwarded-for"), ("LIMITS_ADDRESS_BURST", "3")];
    let hub = Hub::start_with(&["serve"], &[&SLOW[..], &proxy].concat());
    // Three at once and one a second, so some of twenty at once are refused.
    let few = 3..20;
    let passed = passing(&hub, times(20, "198.51.100.1")).await;
    assert!(few.contains(&passed), "{passed} of one address passed");
    assert_eq!(passing(&hub, times(3, "198.51.100.2")).await, 3, "another address");
    let forged = (0..20).map(|forged| format!("203.0.113.{forged}, 198.51.100.3"));
    let passed = passing(&hub, forged).await;
    assert!(few.contains(&passed), "{passed} passed with forged addresses");
    let passed = passing(&hub, (0..20).map(|host| format!("2001:db8::{host:x}"))).await;
    assert!(few.contains(&passed), "{passed} of one /64 passed");
    assert_eq!(passing(&hub, times(3, "2001:db8:0:1::1")).await, 3, "another /64");
}

#[tokio::test]
async fn forwarded_headers_are_ignored_without_a_trusted_proxy() {
    let burst = ("LIMITS_ADDRESS_BURST", "3");
    for more in [
        &[][..],
        &[("SERVER_FORWARDED_HEADER", "x-forwarded-for"), ("SERVER_TRUSTED_PROXIES", "10.0.0.0/8")],
    ] {
        let hub = Hub::start_with(&["serve"], &[&SLOW[..], &[burst], more].concat());
        let passed = passing(&hub, (0..20).map(|host| format!("198.51.100.{host}"))).await;
        assert!((3..20).contains(&passed), "{passed} passed");
    }
}

/// A client that guesses keys is rate-limited; a valid key from the same address keeps working.
#[tokio::test]
async fn wrong_keys_are_limited_and_good_ones_are_not() {
    let hub = Hub::start_with(&["serve"], &[QUIET, ("LIMITS_WRONG_KEYS_PER_MINUTE", "1")]);
    let key = hub.key(&["websocket"]);
    assert_eq!(hub.get_as(WRONG, FOOTBALL).await.status, 401);
    let refused = hub.get_as(WRONG, FOOTBALL).await;
    check_429(&refused, "rate_limited");
    let wait: u32 = refused.header("retry-after").expect("a time").parse().expect("seconds");
    assert!((1..=60).contains(&wait), "{wait}");
    let url = |key: &str| format!("ws://{}/stream/v1?token={key}", hub.address);
    let error = connect_async(url(WRONG)).await.expect_err("no socket for it either").to_string();
    assert!(error.contains("429"), "{error}");
    assert_eq!(hub.get(FOOTBALL).await.status, 401, "no key is no wrong key");
    assert_eq!(hub.get_as(&key, FOOTBALL).await.status, 404);
    connect_async(url(&key)).await.expect("a socket for the good one");
}

/// SERVICE section 6: 7,500 football requests a day on the free account, reported in the
/// `RateLimit` fields, which are absent for paying accounts: absent means no quota.
#[tokio::test]
async fn free_account_gets_its_remaining_quota() {
    let hub = Hub::quiet();
    let key = hub.key(&[]);
    for left in [7_499, 7_498] {
        let answer = hub.get_as(&key, FOOTBALL).await;
        assert_eq!(answer.header("ratelimit-policy"), Some(r#""football";q=7500;w=86400"#));
        let rate = answer.header("ratelimit").expect("a rate");
        let reset = rate.strip_prefix(&format!("\"football\";r={left};t=")).expect(rate);
        assert!((1..=86_400).contains(&reset.parse::<u32>().expect(rate)), "{rate}");
    }
    for path in ["/signals/api/nothing/", TENNIS, "/api/v2/account/"] {
        let answer = hub.get_as(&key, path).await;
        assert_eq!(answer.header("ratelimit"), None, "{path}");
    }
    for addon in ["sports", "websocket", "odds"] {
        let answer = hub.get_as(&hub.key(&[addon]), FOOTBALL).await;
        assert_eq!((answer.status, answer.header("ratelimit")), (404, None), "{addon}");
        assert_eq!(answer.header("ratelimit-policy"), None, "{addon}");
    }
}

/// SERVICE section 6: 429 `taster_exhausted` with `Retry-After` until 00:00 UTC. Of many concurrent
/// requests exactly as many pass as allowed, and a restart gives nothing back.
#[tokio::test]
async fn quota_is_exact_and_survives_a_restart() {
    on_sqlite(async |database| {
        let settings = [QUIET, ("LIMITS_FOOTBALL_PER_DAY", "20")];
        let mut hub = Hub::start_on(&database, &["serve"], &settings);
        let (key, paid) = (hub.key(&[]), hub.key(&["odds"]));
        let path = format!("{FOOTBALL}?token={key}");
        let answers = join_all((0..60).map(|_| hub.get(&path))).await;
        let passed = answers.iter().filter(|answer| answer.status == 404).count();
        assert_eq!(passed, 20, "of 60 at once");
        let refused = answers.iter().find(|answer| answer.status == 429).expect("one too many");
        check_429(refused, "taster_exhausted");
        assert_eq!(refused.header("ratelimit-policy"), Some(r#""football";q=20;w=86400"#));
        let rate = refused.header("ratelimit").expect("a rate");
        let reset = refused.header("retry-after").expect("a time");
        assert_eq!(rate, format!("\"football\";r=0;t={reset}"));
        assert!((1..=86_400).contains(&reset.parse::<u32>().expect("seconds")), "{reset}");
        assert_eq!(hub.get_as(&key, "/api/v2/account/").await.status, 200, "it is not limited");
        for _ in 0..30 {
            assert_eq!(hub.get_as(&paid, FOOTBALL).await.status, 404, "who pays has no quota");
        }
        assert_eq!(hub.stop(), Some(0));
        let hub = Hub::start_on(&database, &["serve"], &settings);
        check_429(&hub.get_as(&key, FOOTBALL).await, "taster_exhausted");
    })
    .await;
}

/// SERVICE section 6: the day is reset at 00:00 UTC.
#[tokio::test]
async fn quota_resets_at_midnight_utc() {
    on_sqlite(async |database| {
        let moment = "2026-09-01T23:58:00Z";
        let Some(clock) = Clock::at_or_skipped(moment, database.folder.path()) else { return };
        let clock = Arc::new(clock);
        let database = database.by(&clock);
        let settings = [QUIET, ("LIMITS_FOOTBALL_PER_DAY", "2")];
        let hub = Hub::start_on(&database, &["serve"], &settings);
        let key = hub.key(&[]);
        for _ in 0..2 {
            assert_eq!(hub.get_as(&key, FOOTBALL).await.status, 404);
        }
        let refused = hub.get_as(&key, FOOTBALL).await;
        check_429(&refused, "taster_exhausted");
        let wait: u32 = refused.header("retry-after").expect("a time").parse().expect("seconds");
        assert!((1..=120).contains(&wait), "{wait}");
        clock.set("2026-09-02T00:00:01Z");
        let answer = hub.get_as(&key, FOOTBALL).await;
        assert_eq!(answer.status, 404);
        assert!(answer.header("ratelimit").expect("a rate").starts_with(r#""football";r=1;"#));
    })
    .await;
}

/// SPEC section 5, rule 2, is the default: without the add-on 402 at once.
#[tokio::test]
async fn free_tennis_requests_are_off_by_default() {
    let hub = Hub::quiet();
    let answer = hub.get_as(&hub.key(&[]), TENNIS).await;
    assert_eq!((answer.status, &answer.json()["code"]), (402, &json!("addon_required")));
}

/// SERVICE section 6, if an operator enables it: this many tennis requests a day without the
/// add-on.
#[tokio::test]
async fn free_tennis_requests_are_counted_per_day() {
    let hub = Hub::start_with(&["serve"], &[QUIET, ("LIMITS_TENNIS_TASTER_PER_DAY", "3")]);
    let (key, paid) = (hub.key(&[]), hub.key(&["sports"]));
    for left in [2, 1, 0] {
        let answer = hub.get_as(&key, TENNIS).await;
        assert_eq!(answer.status, 404);
        assert_eq!(answer.header("ratelimit-policy"), Some(r#""tennis";q=3;w=86400"#));
        let rate = answer.header("ratelimit").expect("a rate");
        assert!(rate.starts_with(&format!("\"tennis\";r={left};t=")), "{rate}");
    }
    let refused = hub.get_as(&key, TENNIS).await;
    check_429(&refused, "taster_exhausted");
    assert!(refused.header("retry-after").is_some());
    for _ in 0..5 {
        let answer = hub.get_as(&paid, TENNIS).await;
        assert_eq!((answer.status, answer.header("ratelimit")), (404, None));
    }
    assert_eq!(hub.get_as(&key, "/darts/api/v2/nothing/").await.status, 402, "tennis alone");
}

/// SERVICE section 6, and section 8, row 17: the limit per address is for the cached paths of football. A client that requests
/// others as fast as it gets responses never reaches it, and one that sends one request after the other waits there.
#[tokio::test]
async fn address_limit_applies_to_cached_football_and_to_requests_at_once() {
    let per_second = ("LIMITS_ADDRESS_PER_SECOND", "20");
    let hub = Hub::start_with(&["serve"], &[QUIET, per_second, ("LIMITS_ADDRESS_BURST", "20")]);
    let key = hub.key(&["websocket", "sports", "odds"]);
    let path = format!("/api/v2/events/?token={key}");
    let mut answers = Vec::new();
    while answers.iter().all(|answer: &Answer| answer.status == 200) && answers.len() < 4_000 {
        answers.extend(join_all((0..100).map(|_| hub.get(&path))).await);
    }
    assert!(answers.iter().any(|answer| answer.status == 429), "none was refused");
    for path in [
        "/tennis/api/v2/matches/",
        "/odds/api/events/",
        "/stream/v1/channels/feeds",
        "/api/v2/players/",
        "/api/v2/account/",
    ] {
        for _ in 0..30 {
            assert_eq!(hub.get_as(&key, path).await.status, 200, "{path}");
        }
    }
    for request in 0..60 {
        assert_eq!(hub.get(&path).await.status, 200, "request {request}, alone");
    }
}

/// An account that has used up its share of CPU time is slowed down. Its requests are refused only
/// while too many of them wait, and other accounts are unaffected.
#[tokio::test]
async fn account_over_its_rate_waits_and_others_do_not() {
    let share = [
        QUIET,
        ("LIMITS_ACCOUNT_CPU_PERCENT", "1"),
        ("LIMITS_ACCOUNT_CPU_BURST_MS", "1"),
        ("LIMITS_ACCOUNT_WAITING_MAX", "4"),
    ];
    let hub = Hub::start_with(&["serve"], &share);
    let (greedy, modest) = (hub.key(&["sports"]), hub.key(&["sports"]));
    let path = "/tennis/api/v2/matches/";
    for _ in 0..5 {
        assert_eq!(hub.get_as(&greedy, path).await.status, 200, "one after the other");
    }
    let answers = join_all((0..40).map(|_| hub.get_as(&greedy, path))).await;
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status != 200).collect();
    assert!(refused.len() < 40, "those that wait have their turn");
    check_429(refused.first().expect("more wait than may"), "rate_limited");
    assert_eq!(hub.get_as(&modest, path).await.status, 200, "another account");
}
