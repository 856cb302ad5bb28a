//! The pages under `/admin/`: access, content, and forms.

use std::sync::Arc;

use super::{
    PASSWORD, QUICK, command, create_admin, hub, hub_on, id, key, log_in, new_name, operator,
};
use crate::{
    site,
    support::{Browser, Client, Closed, Hub, TestDatabase, between, on_sqlite, request_with},
};

/// Every page, including an account's.
const PAGES: [&str; 10] = [
    "/admin/",
    "/admin/accounts/",
    "/admin/accounts/1/",
    "/admin/figures.json",
    "/admin/sockets/",
    "/admin/sockets/0-1/",
    "/admin/work/",
    "/admin/sources/",
    "/admin/matches/",
    "/admin/deductions/",
];

/// Every form, for the account 1.
const FORMS: [(&str, &[(&str, &str)]); 9] = [
    ("/admin/accounts/1/gift/", &[("addon", "odds"), ("days", "30"), ("note", "x")]),
    ("/admin/accounts/1/block/", &[]),
    ("/admin/accounts/1/unblock/", &[]),
    ("/admin/orders/0a0a/refund/", &[("amount", "1.00")]),
    (
        "/admin/matches/join/",
        &[("provider", "a"), ("key", "1"), ("other_provider", "b"), ("other_key", "1")],
    ),
    ("/admin/matches/split/", &[("provider", "a"), ("key", "1")]),
    (
        "/admin/deductions/add/",
        &[("competition", "a"), ("season", "2020"), ("team", "b"), ("points", "1")],
    ),
    ("/admin/deductions/remove/", &[("id", "1")]),
    ("/admin/logout/", &[]),
];

/// The hub of tests of the forms for the account 1, which is Ann's.
fn hub_of_ann() -> Arc<Hub> {
    let hub = Hub::shared_by("account 1", &["serve"], &QUICK);
    key(&hub, "ann@example.org", &[]);
    hub
}

#[tokio::test]
async fn pages_require_an_operator_session() {
    let hub = hub_of_ann();
    let check = async |browser: &mut Browser<'_>, who: &str| {
        for page in PAGES {
            let answer = browser.get(page).await;
            let json = page == "/admin/figures.json";
            assert_eq!(answer.status, if json { 401 } else { 303 }, "{who}, {page}: {answer:?}");
            if !json {
                assert_eq!(answer.header("location"), Some("/admin/login/"), "{who}, {page}");
            }
        }
    };
    let mut anonymous = Browser::new(&hub);
    check(&mut anonymous, "nobody").await;
    anonymous.cookies.insert("mw_admin".to_owned(), "0a".repeat(32));
    check(&mut anonymous, "a guess").await;
    for (path, fields) in FORMS {
        let answer = anonymous.send(path, fields).await;
        assert!(matches!(answer.status, 303 | 403), "{path}: {answer:?}");
    }
    assert!(!command(&hub, &["account", "show", "1"]).contains("\nstate\tblocked"));
}

#[tokio::test]
async fn customer_and_operator_sessions_are_not_interchangeable() {
    let hub = site::demo();
    let (mut ann, _) = site::customer(&hub, "ann@operators.example.org").await;
    let mut ada = operator(&hub).await;
    assert_eq!(ada.get("/admin/").await.status, 200);
    let (of_ann, of_ada) = (ann.cookies["mw_session"].clone(), ada.cookies["mw_admin"].clone());
    assert_eq!(ann.get("/admin/").await.status, 303);
    ann.cookies.insert("mw_admin".to_owned(), of_ann);
    assert_eq!(ann.get("/admin/").await.status, 303, "a customer's session opened /admin/");
    ada.cookies.insert("mw_session".to_owned(), of_ada);
    let dashboard = ada.get("/dashboard/").await;
    assert_eq!(dashboard.status, 303, "an operator's session opened the dashboard");
}

#[tokio::test]
async fn operator_cookie_is_limited_to_operator_pages() {
    let (hub, name) = (hub(), new_name());
    create_admin(&hub, &name);
    let answer = log_in(&mut Browser::new(&hub), &name, PASSWORD).await;
    let cookie = answer.header("set-cookie").expect("a cookie");
    for term in ["mw_admin=", "HttpOnly", "SameSite=Strict", "Path=/admin/", "Max-Age="] {
        assert!(cookie.contains(term), "{term} is missing: {cookie}");
    }
}

#[tokio::test]
async fn wrong_name_and_wrong_password_get_the_same_answer() {
    let hub = hub();
    // Names that no token of the page contains.
    create_admin(&hub, "the-operator");
    let mut browser = Browser::new(&hub);
    let mut refused = Vec::new();
    for (name, password) in [("the-operator", "not the password"), ("somebody-else", PASSWORD)] {
        let answer = log_in(&mut browser, name, password).await;
        assert_eq!(answer.status, 422, "{name}");
        assert!(answer.header("set-cookie").is_none_or(|it| !it.contains("mw_admin")));
        refused.push(answer.body.replace(name, "NAME"));
    }
    assert_eq!(refused[0], refused[1]);
}

#[tokio::test]
async fn password_guesses_are_rate_limited() {
    let settings = [QUICK[0], QUICK[1], QUICK[2], ("LIMITS_LOG_INS_PER_HOUR_BY_EMAIL", "3")];
    let hub = Hub::start_with(&["serve"], &settings);
    create_admin(&hub, "ada");
    let mut browser = Browser::new(&hub);
    for _ in 0..3 {
        assert_eq!(log_in(&mut browser, "ada", "a guess").await.status, 422);
    }
    let answer = log_in(&mut browser, "ada", PASSWORD).await;
    assert_eq!(answer.status, 429, "{answer:?}");
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
}

#[tokio::test]
async fn cross_site_forms_are_rejected() {
    let hub = hub_of_ann();
    let mut ada = operator(&hub).await;
    ada.get("/admin/").await;
    let mut eve = Browser::new(&hub);
    eve.get("/login/").await;
    let (hers, of_eve) = (ada.token.clone(), eve.token.clone());
    for (path, fields) in FORMS {
        let with = |token| [fields, &[("csrf", token)]].concat();
        for (fields, headers, how) in [
            (fields.to_vec(), vec![], "without a token"),
            (with(&of_eve), vec![], "with another browser's token"),
            (with(&hers), vec![("origin", "https://evil.example")], "from another origin"),
            (with(&hers), vec![("sec-fetch-site", "cross-site")], "from another site"),
        ] {
            let answer = ada.send_with(path, &fields, &headers).await;
            assert_eq!(answer.status, 403, "{path} {how}: {answer:?}");
        }
        assert!(matches!(ada.get(path).await.status, 404 | 405), "{path} is changed by a GET");
    }
    assert_eq!(ada.get("/admin/").await.status, 200, "she was logged out");
    let shown = command(&hub, &["account", "show", "ann@example.org"]);
    assert!(!shown.contains("addon\t") && shown.contains("state\tactive"), "{shown}");
}

#[tokio::test]
async fn session_ends_at_log_out_and_when_the_operator_is_removed() {
    let (hub, name) = (hub(), new_name());
    create_admin(&hub, &name);
    let mut ada = Browser::new(&hub);
    log_in(&mut ada, &name, PASSWORD).await;
    ada.get("/admin/").await;
    let old = ada.cookies.clone();
    assert_eq!(ada.send("/admin/logout/", &[]).await.status, 303);
    ada.cookies = old;
    assert_eq!(ada.get("/admin/").await.status, 303, "the session goes on after the log-out");
    let answer = log_in(&mut ada, &name, PASSWORD).await;
    assert_eq!(answer.status, 303);
    assert_eq!(ada.get("/admin/").await.status, 200);
    command(&hub, &["admin", "remove", &name]);
    assert_eq!(ada.get("/admin/").await.status, 303, "a removed operator is still in");
}

#[tokio::test]
async fn figures_are_live() {
    let hub = Hub::start_with(&["serve"], &QUICK[..2]);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut ada = operator(&hub).await;
    let figure = |json: &serde_json::Value, name: &str| {
        let tiles = json["tiles"].as_array().expect("tiles").clone();
        let tile = tiles.iter().find(|tile| tile[0] == name).expect("a tile").clone();
        tile[2].as_f64()
    };
    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("football/*/odds/*").await;
    // Behind the images, which would fill the socket's buffers if they were not read.
    client.next_of("update").await;
    hub.until_counted("matchwire_deliveries_total").await;
    let json = ada.get("/admin/figures.json").await.json();
    assert_eq!(figure(&json, "sockets"), Some(1.0), "{json}");
    assert!(figure(&json, "deliveries").is_some_and(|count| count >= 1.0), "{json}");
    assert!(figure(&json, "memory").is_none_or(|bytes| bytes > 1e6), "{json}");
    assert_eq!(json["feeds"][0]["name"], "simulator", "{json}");
    assert_eq!(json["feeds"][0]["state"], "live", "{json}");
    assert_eq!(figure(&json, "orders_made"), Some(0.0), "{json}");
    hub.revoke(&key);
    client.until_closed().await;
    drop(client);
    let gone = async {
        while hub.metric("matchwire_sockets").await > 0.0 {
            crate::support::pause().await;
        }
    };
    tokio::time::timeout(crate::support::PATIENCE, gone).await.expect("the socket is gone");
    let json = ada.get("/admin/figures.json").await.json();
    assert_eq!(json["tables"]["closes"], serde_json::json!([["token_revoked", 1]]), "{json}");
    assert_eq!(figure(&json, "sockets"), Some(0.0), "{json}");
    let page = ada.get("/admin/").await;
    assert!(page.body.contains("token_revoked") && page.body.contains("simulator"), "{page:?}");
}

#[tokio::test]
async fn accounts_are_searched_a_page_at_a_time() {
    let database = TestDatabase::file();
    let hub = hub_on(&database);
    let pool = database.pool().await;
    for number in 0..60 {
        sqlx::query("INSERT INTO accounts (email, created_us, active_us) VALUES ($1, 1, 1)")
            .bind(format!("a{number}@example.org"))
            .execute(&pool)
            .await
            .expect("an account");
    }
    let mut ada = operator(&hub).await;
    let first = ada.get("/admin/accounts/").await.body;
    let rows = |page: &str| page.matches("<th scope=\"row\"><a href=").count();
    assert_eq!(rows(&first), 50);
    let next = between(&first, "class=\"button\" href=\"", "\"").expect("another page");
    let second = ada.get(&next.replace("&#38;", "&").replace("&amp;", "&")).await.body;
    assert_eq!(rows(&second), 10);
    assert!(second.contains("a0@example.org") && !second.contains("a59@example.org"));
    assert!(!second.contains("class=\"button\" href"), "there is no third page");
    let found = ada.get("/admin/accounts/?search=a17%40").await.body;
    assert!(found.contains("a17@example.org") && !found.contains("a18@example.org"));
}

#[tokio::test]
async fn granted_days_are_shown_and_their_note_is_escaped() {
    on_sqlite(async |database: TestDatabase| {
        let hub = hub_on(&database);
        key(&hub, "ann@example.org", &[]);
        let page = format!("/admin/accounts/{}/", id(&hub, "ann@example.org"));
        let mut ada = operator(&hub).await;
        let gift = [("addon", "odds"), ("days", "42"), ("note", "<script>alert(1)</script>")];
        let answer = ada.fill(&page, &format!("{page}gift/"), &gift).await;
        let location = answer.header("location").expect("it is sent on").to_owned();
        assert_eq!((answer.status, &*location), (303, &*format!("{page}?done=gift")));
        let shown = ada.get(&location).await.body;
        assert!(shown.contains("The days were added.") && shown.contains("+42"), "{shown}");
        assert!(!shown.contains("<script>alert"), "a note is taken for HTML");
        let ledger = command(&hub, &["ledger"]);
        assert!(ledger.contains("\tgift\t42\t0\t-\t"), "{ledger}");
        for bad in [
            [("addon", "odds"), ("days", "0"), ("note", "x")],
            [("addon", "odds"), ("days", "36501"), ("note", "x")],
            [("addon", "tv"), ("days", "1"), ("note", "x")],
            [("addon", "odds"), ("days", "1"), ("note", " ")],
            [("addon", "odds'; DROP TABLE ledger; --"), ("days", "1"), ("note", "x")],
        ] {
            let answer = ada.fill(&page, &format!("{page}gift/"), &bad).await;
            assert_eq!(answer.status, 422, "{bad:?}");
        }
        assert_eq!(command(&hub, &["ledger"]), ledger, "something bad was given");
    })
    .await;
}

#[tokio::test]
async fn block_on_the_page_closes_sockets() {
    let hub = hub();
    let key = key(&hub, "ann@block.example.org", &["websocket"]);
    let page = format!("/admin/accounts/{}/", id(&hub, "ann@block.example.org"));
    let mut ada = operator(&hub).await;
    let mut client = Client::connect(&hub.address, &key).await;
    client.next_of("hello").await;
    let confirmation = ada.fill(&page, &format!("{page}block/"), &[]).await;
    assert!(
        confirmation.status == 200 && confirmation.body.contains("Block ann@block.example.org?"),
        "{confirmation:?}"
    );
    assert!(ada.get(&page).await.body.contains("Block account"), "blocked without a yes");
    let answer = ada.send(&format!("{page}block/"), &[("confirmed", "yes")]).await;
    assert_eq!(answer.status, 303, "{answer:?}");
    let closed = client.until_closed().await;
    assert_eq!(closed, Closed(Some((4410, "token_revoked".to_owned()))));
    assert!(ada.get(&page).await.body.contains("Unblock account"));
    assert_eq!(ada.send(&format!("{page}unblock/"), &[]).await.status, 303);
    Client::connect(&hub.address, &key).await.next_of("hello").await;
}

#[tokio::test]
async fn failed_refund_is_reported() {
    let database = TestDatabase::file();
    let hub = hub_on(&database);
    key(&hub, "ann@example.org", &[]);
    let id = id(&hub, "ann@example.org");
    sqlx::query(
        "INSERT INTO orders (id, account_id, rail, addon, months, days, amount, currency, founder, \
         created_us, paid_us, days_granted) \
         VALUES ('0a0a', $1, 'card', 'odds', 1, 30, '5.00', 'USD', 0, 1, 1, 30)",
    )
    .bind(id.parse::<i64>().expect("a number"))
    .execute(&database.pool().await)
    .await
    .expect("an order");
    let page = format!("/admin/accounts/{id}/");
    let mut ada = operator(&hub).await;
    let shown = ada.get(&page).await.body;
    assert!(shown.contains("/admin/orders/0a0a/refund/") && shown.contains("value=\"5.00\""));
    for (amount, why) in [("5.00", "card payments are not set up"), ("much", "such as 2.50")] {
        let fields = [("amount", amount), ("confirmed", "yes")];
        let answer = ada.send("/admin/orders/0a0a/refund/", &fields).await;
        assert_eq!(answer.status, 422, "{amount}");
        assert!(answer.body.contains(why), "{amount}: {}", answer.body);
    }
    assert_eq!(ada.send("/admin/orders/none/refund/", &[("amount", "1")]).await.status, 404);
}

/// Buys a month of the Sports add-on and pays at the demo's provider; returns the order.
async fn buy(browser: &mut Browser<'_>, rail: &str) -> String {
    let fields = [("addon", "sports"), ("months", "1"), ("rail", rail)];
    let answer = browser.fill("/addons/", "/addons/", &fields).await;
    let checkout = answer.header("location").expect("it leads to the checkout").to_owned();
    let page = browser.get(&checkout).await.body;
    let provider = between(&page, "id=\"pay\" href=\"http://", "\"").expect("the way to pay");
    let (address, path) = provider.split_once('/').expect("a path");
    let form = [("content-type", "application/x-www-form-urlencoded"), ("content-length", "10")];
    let paid = request_with(address, "POST", &format!("/{path}"), &form, b"action=pay").await;
    assert_eq!(paid.status, 303, "{paid:?}");
    assert_eq!(browser.get(&format!("{checkout}return/")).await.status, 200);
    checkout.trim_end_matches('/').rsplit('/').next().expect("an order").to_owned()
}

/// Refunds a part, and then the rest, through the provider; the days are removed with the money.
#[tokio::test]
async fn refund_goes_to_the_provider_and_removes_the_granted_days() {
    for rail in ["card", "paypal"] {
        let hub = site::demo();
        let email = format!("ann@{rail}.example.org");
        let (mut ann, _) = site::customer(&hub, &email).await;
        let order = buy(&mut ann, rail).await;
        let page = format!("/admin/accounts/{}/", id(&hub, &email));
        let refund = format!("/admin/orders/{order}/refund/");
        let mut ada = operator(&hub).await;
        let more = ada.fill(&page, &refund, &[("amount", "5.01")]).await;
        assert_eq!(more.status, 422, "{rail}: more was paid back than was paid: {more:?}");
        let confirmation = ada.fill(&page, &refund, &[("amount", "2.00")]).await;
        assert!(
            confirmation.status == 200 && confirmation.body.contains("Refund 2.00 USD?"),
            "{rail}: {confirmation:?}"
        );
        let ledger = command(&hub, &["ledger", "--account", &email]);
        assert!(!ledger.contains("refund"), "{rail}: refunded without a yes: {ledger}");
        let part = ada.send(&refund, &[("amount", "2.00"), ("confirmed", "yes")]).await;
        assert_eq!(part.header("location"), Some(&*format!("{page}?done=refund")), "{part:?}");
        let shown = command(&hub, &["order", "show", &order]);
        assert!(shown.contains("state\tpartly refunded\n"), "{rail}: {shown}");
        assert!(shown.contains("days granted\t18\n"), "{rail}: {shown}");
        let rest = ada.send(&refund, &[("amount", "3.00"), ("confirmed", "yes")]).await;
        assert_eq!(rest.status, 303, "{rail}: {rest:?}");
        let ledger = command(&hub, &["ledger", "--account", &email]);
        for sum in [
            "sum\tsports\tpurchase\t1\t30\t5.00\tUSD\n",
            "sum\tsports\trefund\t2\t-30\t-5.00\tUSD\n",
            "total\t-\t-\t3\t-\t0.00\tUSD\n",
        ] {
            assert!(ledger.contains(sum), "{rail}: {ledger}");
        }
    }
}
