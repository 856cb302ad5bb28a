//! Attacks that must fail.

use std::time::Duration;

use percent_encoding::percent_encode_byte;

use super::{PASSWORD, QUICK, customer, demo, log_in, mailed, register, works};
use crate::support::{Answer, Browser, Hub};

/// A well-formed session secret that was never issued.
const PLANTED: &str = "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a";

/// Every form, with possible fields.
const FORMS: [(&str, &[(&str, &str)]); 21] = [
    ("/register/", &[("email", "eve@example.org"), ("password", PASSWORD)]),
    ("/register/sent/", &[("email", "ann@example.org")]),
    ("/verify/", &[("link", "1.00"), ("password", PASSWORD)]),
    ("/email/", &[("link", "1.00")]),
    ("/login/", &[("email", "ann@example.org"), ("password", PASSWORD)]),
    ("/logout/", &[]),
    ("/reset/", &[("email", "ann@example.org")]),
    ("/reset/set/", &[("link", "1.00"), ("password", PASSWORD)]),
    ("/dashboard/regenerate/", &[]),
    ("/dashboard/disconnect/", &[("app", "1")]),
    ("/dashboard/keys/", &[("do", "create"), ("name", "x"), ("football", "yes")]),
    ("/dashboard/webhooks/", &[("url", "https://example.org/"), ("goal", "yes")]),
    ("/dashboard/webhooks/1/", &[("do", "test")]),
    ("/dashboard/settings/password/", &[("old", PASSWORD), ("new", "another four words")]),
    ("/dashboard/settings/email/", &[("email", "eve@example.org"), ("password", PASSWORD)]),
    ("/dashboard/settings/zone/", &[("zone", "Europe/Berlin")]),
    ("/dashboard/settings/sign-out/", &[]),
    ("/dashboard/settings/delete/", &[("password", PASSWORD), ("sure", "yes")]),
    ("/addons/", &[("addon", "sports"), ("months", "1"), ("rail", "card")]),
    ("/addons/country/", &[("country", "CH")]),
    ("/checkout/0a0a/cancel/", &[]),
];

#[tokio::test]
async fn cross_site_forms_are_rejected() {
    let hub = demo();
    let (mut ann, key) = customer(&hub, "ann@example.org").await;
    let mut eve = Browser::new(&hub);
    eve.get("/login/").await;
    let (hers, of_eve) = (ann.token.clone(), eve.token.clone());
    let foreign = [("origin", "https://evil.example")];
    let cross = [("sec-fetch-site", "cross-site")];
    // Those that the forms name. Other tests use the same hub.
    let mails = || {
        let printed = hub.printed();
        let subjects = ["ann", "eve"].map(|name| format!("mail for {name}@example.org: "));
        subjects.iter().map(|subject| printed.matches(subject).count()).sum::<usize>()
    };
    let before = mails();
    for (path, fields) in FORMS {
        let with = |token| [fields, &[("csrf", token)]].concat();
        let mut check = async |fields: &[(&str, &str)], headers: &[(&str, &str)], how: &str| {
            let answer = ann.send_with(path, fields, headers).await;
            assert_eq!(answer.status, 403, "{path} {how}: {answer:?}");
            assert!(answer.body.contains("Nothing was changed"), "{path} {how}: {answer:?}");
        };
        check(fields, &[], "without a token").await;
        check(&with(""), &[], "with an empty token").await;
        check(&with(&of_eve), &[], "with another browser's token").await;
        check(&with(&hers), &foreign, "from another origin").await;
        check(&with(&hers), &cross, "from another site").await;
    }
    assert!(works(&hub, &key).await, "the key was changed");
    assert_eq!(ann.get("/dashboard/").await.status, 200, "she was logged out");
    assert_eq!(mails(), before, "a mail was sent");
}

/// The same forms are accepted from the hub's own pages; otherwise the test above proves nothing.
#[tokio::test]
async fn same_site_forms_with_browser_headers_are_accepted() {
    let hub = demo();
    let (mut ann, old) = customer(&hub, "ann@same-site.example.org").await;
    let origin = format!("http://{}", hub.address);
    for headers in [
        vec![("origin", &*origin), ("sec-fetch-site", "same-origin")],
        vec![("origin", "null"), ("sec-fetch-site", "same-origin")],
    ] {
        let token = ann.token.clone();
        let answer = ann.send_with("/dashboard/regenerate/", &[("csrf", &token)], &headers).await;
        assert_eq!(answer.status, 303, "{headers:?}: {answer:?}");
    }
    assert!(!works(&hub, &old).await);
}

#[tokio::test]
async fn get_requests_change_nothing() {
    let hub = demo();
    let (mut ann, key) = customer(&hub, "ann@gets.example.org").await;
    for (path, _) in FORMS {
        let answer = ann.get(path).await;
        assert!(matches!(answer.status, 200 | 303 | 404 | 405), "{path}: {answer:?}");
        assert!(!answer.body.starts_with('{'), "{path} answers a browser in JSON: {answer:?}");
    }
    assert!(works(&hub, &key).await);
    assert_eq!(ann.get("/dashboard/").await.status, 200);
}

#[tokio::test]
async fn fixated_session_is_never_accepted() {
    let hub = demo();
    customer(&hub, "ann@fixated.example.org").await;
    let mut ann = Browser::new(&hub);
    ann.cookies.insert("mw_session".to_owned(), PLANTED.to_owned());
    assert_eq!(ann.get("/dashboard/").await.status, 303);
    let fields = [("email", "ann@fixated.example.org"), ("password", PASSWORD)];
    assert_eq!(ann.fill("/login/", "/login/", &fields).await.status, 303);
    assert_ne!(ann.cookies["mw_session"], PLANTED, "the planted session was taken up");
    assert_eq!(ann.get("/dashboard/").await.status, 200);
    let mut eve = Browser::new(&hub);
    eve.cookies.insert("mw_session".to_owned(), PLANTED.to_owned());
    assert_eq!(eve.get("/dashboard/").await.status, 303);
}

/// Logging in as another user within a session ends that session.
#[tokio::test]
async fn each_log_in_has_a_new_session() {
    let hub = demo();
    let (_, _) = customer(&hub, "ann@session.example.org").await;
    let one = log_in(&hub, "ann@session.example.org", PASSWORD).await;
    let other = log_in(&hub, "ann@session.example.org", PASSWORD).await;
    assert_ne!(one.cookies["mw_session"], other.cookies["mw_session"]);
    assert_ne!(one.cookies["mw_session"], one.cookies["mw_visitor"]);
}

#[tokio::test]
async fn log_in_leads_to_no_other_host() {
    let hub = demo();
    customer(&hub, "ann@host.example.org").await;
    for next in [
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https://evil.example/",
        "https:evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/\r\nlocation: //evil.example",
        "dashboard/",
    ] {
        let mut ann = Browser::new(&hub);
        ann.get("/login/").await;
        let fields = [("email", "ann@host.example.org"), ("password", PASSWORD), ("next", next)];
        let answer = ann.send("/login/", &fields).await;
        assert_eq!(answer.header("location"), Some("/dashboard/"), "{next:?}: {answer:?}");
        assert!(!answer.head.contains("evil"), "{answer:?}");
    }
    let mut ann = Browser::new(&hub);
    let page = ann.get("/login/?next=%2Faddons%2F").await;
    assert!(page.body.contains("value=\"/addons/\""), "{page:?}");
    let page = ann.get("/login/?next=//evil.example").await;
    assert!(!page.body.contains("evil"), "{page:?}");
}

/// Two responses that must be indistinguishable, except for the tokens and the date.
fn assert_same(one: &Answer, other: &Answer) {
    let plain = |answer: &Answer| {
        let head: Vec<String> = answer
            .head
            .lines()
            .map(str::to_ascii_lowercase)
            .filter(|line| !line.starts_with("date:") && !line.starts_with("set-cookie:"))
            .collect();
        let body: Vec<&str> =
            answer.body.lines().filter(|line| !line.contains("name=\"csrf\"")).collect();
        (head, body.join("\n"))
    };
    assert_eq!(plain(one), plain(other));
}

#[tokio::test]
async fn responses_do_not_reveal_whether_an_address_is_registered() {
    let hub = demo();
    customer(&hub, "ann@reveal.example.org").await;
    let submit = async |page: &str, fields: &[(&str, &str)]| {
        Browser::new(&hub).fill(page, page, fields).await
    };
    for (page, more) in
        [("/register/", Some(("password", PASSWORD))), ("/register/sent/", None), ("/reset/", None)]
    {
        let fields = |email| Vec::from_iter([Some(("email", email)), more].into_iter().flatten());
        let registered = submit(page, &fields("ann@reveal.example.org")).await;
        let unregistered = submit(page, &fields("nobody@reveal.example.org")).await;
        assert_eq!(registered.status, 303, "{page}: {registered:?}");
        assert_same(&registered, &unregistered);
    }
    // The page shows the input, so both inputs have the same length.
    let wrong = |email| [("email", email), ("password", "wrong in any case")];
    let registered = submit("/login/", &wrong("ann@reveal.example.org")).await;
    let mut unregistered = submit("/login/", &wrong("bob@reveal.example.org")).await;
    unregistered.body = unregistered.body.replace("bob@", "ann@");
    assert_eq!(registered.status, 422);
    assert_same(&registered, &unregistered);
}

#[tokio::test]
async fn orders_of_others_look_like_missing_orders() {
    let hub = demo();
    let (mut ann, _) = customer(&hub, "ann@orders.example.org").await;
    let (mut eve, _) = customer(&hub, "eve@orders.example.org").await;
    let fields = [("addon", "sports"), ("months", "1"), ("rail", "card")];
    let taken = ann.fill("/addons/", "/addons/", &fields).await;
    let order = taken.header("location").expect("an order").to_owned();
    assert!(order.starts_with("/checkout/"), "{taken:?}");
    assert_eq!(ann.get(&order).await.status, 200);
    eve.get("/dashboard/").await;
    for path in [order.clone(), format!("{order}return/"), format!("{order}cancel/")] {
        let foreign = eve.get(&path).await;
        let unknown = eve.get("/checkout/00000000000000000000000000000000/").await;
        assert_eq!(foreign.status, 404, "{path}: {foreign:?}");
        assert_same(&foreign, &unknown);
    }
    eve.get("/dashboard/").await;
    assert_eq!(eve.send(&format!("{order}cancel/"), &[]).await.status, 404);
    assert!(ann.get(&order).await.body.contains("id=\"pay\""), "another account closed the order");
    let strange =
        ["/checkout/'%20OR%201=1--/", "/checkout/%00/", "/checkout/%FF/", "/checkout/../"];
    for path in strange {
        let answer = eve.get(path).await;
        assert_eq!(answer.status, 404, "{path}: {answer:?}");
    }
    let anonymous = Browser::new(&hub).get(&order).await;
    let next = format!("/login/?next={order}");
    assert_eq!(anonymous.header("location"), Some(&*next));
}

#[tokio::test]
async fn user_input_is_escaped_in_html() {
    let hub = demo();
    let mut browser = Browser::new(&hub);
    let script = "\"'><script>alert(1)</script>";
    let path = percent(script);
    for page in
        ["/login/?next=", "/login/?done=", "/reset/?link=", "/verify/?link=", "/email/?link="]
    {
        let answer = browser.get(&format!("{page}{path}")).await;
        assert!(!answer.body.contains("<script>alert"), "{page}: {answer:?}");
    }
    browser.get("/register/").await;
    for (page, field) in [("/register/", "email"), ("/login/", "email"), ("/login/", "next")] {
        let answer = browser.send(page, &[(field, script), ("password", PASSWORD)]).await;
        assert!(!answer.body.contains("<script>alert"), "{page} {field}: {answer:?}");
    }
    let link = browser.send("/reset/set/", &[("link", script), ("password", "x")]).await;
    assert!(link.status == 422 && !link.body.contains("<script>alert"), "{link:?}");
}

#[tokio::test]
async fn sql_in_a_field_is_text() {
    let hub = demo();
    let (mut ann, _) = customer(&hub, "o'brien@sql.example.org").await;
    let page = ann.get("/dashboard/settings/").await;
    assert!(page.body.contains("o&#39;brien@sql.example.org"), "{page:?}");
    for field in ["addon", "months", "rail"] {
        let good = [("addon", "sports"), ("months", "1"), ("rail", "card")];
        let fields = good.map(|(name, value)| {
            (name, if name == field { "1'; DROP TABLE accounts; --" } else { value })
        });
        let answer = ann.fill("/addons/", "/addons/", &fields).await;
        assert_eq!(answer.status, 422, "{field}: {answer:?}");
    }
    for link in ["1' OR '1'='1", "1.'; DROP TABLE links; --", "-1.00", "9999999999999999999999.aa"]
    {
        let answer = Browser::new(&hub).get(&format!("/verify/?link={}", percent(link))).await;
        assert_eq!(answer.status, 404, "{link}: {answer:?}");
    }
}

#[tokio::test]
async fn guessed_link_does_nothing() {
    let hub = demo();
    let mut browser = register(&hub, "ann@guessed.example.org").await;
    let link = mailed(&hub, "ann@guessed.example.org", "/verify/", 1).await;
    let last = if link.ends_with('0') { "1" } else { "0" };
    let guessed = format!("{}{last}", &link[..link.len() - 1]);
    assert_eq!(browser.get(&guessed).await.status, 404);
    assert_eq!(browser.get(&link.replace("/verify/", "/email/")).await.status, 404);
    let reset = link.replace("/verify/?link=", "");
    browser.get("/reset/").await;
    let answer = browser.send("/reset/set/", &[("link", &reset), ("password", PASSWORD)]).await;
    assert_eq!(answer.status, 404, "a link of another kind: {answer:?}");
    assert_eq!(browser.get(&link).await.status, 303, "the real one still works");
}

#[tokio::test]
async fn password_guesses_are_rate_limited_with_retry_after() {
    let settings = [&QUICK[..], &[("LIMITS_LOG_INS_PER_HOUR_BY_EMAIL", "3")]].concat();
    let hub = Hub::start_with(&["serve"], &settings);
    let mut browser = Browser::new(&hub);
    let fields = [("email", "ann@example.org"), ("password", "a guess among many")];
    browser.get("/login/").await;
    let mut refused = 0;
    let answer = loop {
        let answer = browser.send("/login/", &fields).await;
        if answer.status == 429 {
            break answer;
        }
        refused += 1;
        assert!(answer.status == 422 && refused <= 3, "{answer:?}");
    };
    let wait: u64 = answer.header("retry-after").expect("how long").parse().expect("seconds");
    assert!(wait > 0 && answer.body.contains("Try again in"), "{answer:?}");
}

#[tokio::test]
async fn overlong_or_non_form_body_is_refused_with_a_page() {
    let hub = demo();
    let mut browser = Browser::new(&hub);
    browser.get("/login/").await;
    let long = "x".repeat(20_000);
    let answer = browser.send("/login/", &[("email", &long)]).await;
    assert!(answer.status == 413 && answer.body.contains("could not be read"), "{answer:?}");
    let cookie = format!("mw_visitor={}", browser.cookies["mw_visitor"]);
    let json = [("cookie", &*cookie), ("content-type", "application/json")];
    let answer = hub.post("/login/", &json, b"{}").await;
    assert!(answer.status == 415 && answer.body.contains("<!doctype html>"), "{answer:?}");
}

#[tokio::test]
async fn pages_are_not_cached_and_load_nothing_from_other_origins() {
    let hub = demo();
    let (mut ann, _) = customer(&hub, "ann@cached.example.org").await;
    let of_customer = [
        "/dashboard/",
        "/dashboard/settings/",
        "/dashboard/keys/",
        "/dashboard/webhooks/",
        "/addons/",
        "/checkout/0a/",
    ];
    for path in
        of_customer.into_iter().chain(["/register/", "/register/sent/", "/login/", "/reset/"])
    {
        let answer = ann.get(path).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{path}");
        if answer.status != 303 {
            let policy = answer.header("content-security-policy").expect("a policy");
            assert!(
                policy.contains("default-src 'self'") && !policy.contains("unsafe"),
                "{policy}"
            );
            let inline = ["style=", "<style", "onclick", "<script>"];
            assert!(inline.iter().all(|it| !answer.body.contains(it)), "{path}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn cookies_are_host_only_and_http_only() {
    let settings = [&QUICK[..], &[("SERVER_PUBLIC_URL", "https://sports.example")]].concat();
    let hub = Hub::start_with(&["serve"], &settings);
    let answer = hub.get("/login/").await;
    let cookie = answer.header("set-cookie").expect("a cookie");
    assert!(cookie.starts_with("__Host-mw_visitor="), "{cookie}");
    for term in ["HttpOnly", "Secure", "SameSite=Lax", "Path=/"] {
        assert!(cookie.split("; ").any(|it| it == term), "{term}: {cookie}");
    }
    assert!(!cookie.contains("Domain"), "{cookie}");
}

/// This waits only for the response: a long sleep would hide in it.
#[tokio::test]
async fn missing_body_times_out() {
    let hub = demo();
    let mut browser = Browser::new(&hub);
    browser.get("/login/").await;
    let cookie = format!("mw_visitor={}", browser.cookies["mw_visitor"]);
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let headers = [("cookie", &*cookie), kind, ("content-length", "100")];
    let request = hub.request("POST", "/login/", &headers);
    let answer = tokio::time::timeout(Duration::from_secs(40), request).await.expect("an answer");
    assert_eq!(answer.status, 408, "{answer:?}");
}

fn percent(text: &str) -> String {
    text.bytes().map(percent_encode_byte).collect()
}
