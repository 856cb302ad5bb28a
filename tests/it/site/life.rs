//! The life of an account, from registration to deletion.

use serde_json::json;

use super::{PASSWORD, customer, demo, log_in, mailed, register, works};
use crate::{
    live_sockets::legacy_client::LegacyClient,
    support::{Browser, Client, Closed, Hub, between, until},
};

/// SPEC section 3, rule 1, and section 5: inactive until the link is followed, the key created in
/// that step, then copied from the dashboard.
#[tokio::test]
async fn registration_link_leads_to_the_key() {
    let hub = demo();
    let mut browser = Browser::new(&hub);
    let fields = [("email", " Ann@Link.Example.org "), ("password", PASSWORD)];
    browser.fill("/register/", "/register/", &fields).await;
    let sent = browser.get("/register/sent/").await;
    assert!(sent.body.contains("Check your inbox"), "{sent:?}");
    let link = mailed(&hub, "ann@link.example.org", "/verify/", 1).await;

    let early = browser.fill("/login/", "/login/", &fields).await;
    assert_eq!(early.status, 422, "the address is not confirmed yet: {early:?}");

    browser.get(&link).await;
    let dashboard = browser.get("/dashboard/").await;
    assert!(dashboard.body.contains("ann@link.example.org"), "{dashboard:?}");
    let key = between(&dashboard.body, "data-key>", "<").expect("the key in full").to_owned();
    assert!(works(&hub, &key).await);

    let again = browser.get("/dashboard/").await;
    assert!(!again.body.contains(&key), "the key is shown twice");
    assert!(again.body.contains(&key[..11]), "its beginning is not shown: {again:?}");
    let used = browser.get(&link).await;
    assert!(used.body.contains("Already confirmed"), "{used:?}");
}

/// This browser has not typed the pending password, so it chooses one, and is logged in.
#[tokio::test]
async fn another_browser_confirms_the_address_by_choosing_the_password() {
    let hub = demo();
    let mut browser = register(&hub, "ann@other.example.org").await;
    let fields = [("email", "ann@other.example.org"), ("password", PASSWORD)];
    let path = mailed(&hub, "ann@other.example.org", "/verify/", 1).await;
    let mut other = Browser::new(&hub);
    let answer = other.get(&path).await;
    assert!(answer.status == 200 && answer.body.contains("Choose a password"), "{answer:?}");
    let link = &path["/verify/?link=".len()..];
    for weak in ["short", "          ", "password123", "ann@other.example.org"] {
        let answer = other.send("/verify/", &[("link", link), ("password", weak)]).await;
        assert!(answer.status == 422 && answer.body.contains("role=\"alert\""), "{answer:?}");
    }
    let new = "another four words here";
    let answer = other.send("/verify/", &[("link", link), ("password", new)]).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/dashboard/")));
    let dashboard = other.get("/dashboard/").await;
    assert!(dashboard.body.contains("data-key>"), "the key in full: {dashboard:?}");
    log_in(&hub, "ann@other.example.org", new).await;
    let typed = browser.fill("/login/", "/login/", &fields).await;
    assert_eq!(typed.status, 422, "the password of the registration holds, too: {typed:?}");
}

/// Mail programs fetch links in advance.
#[tokio::test]
async fn prefetching_a_link_does_not_use_it_up() {
    let hub = demo();
    let mut browser = register(&hub, "ann@prefetch.example.org").await;
    let fields = [("email", "ann@prefetch.example.org"), ("password", PASSWORD)];
    let link = mailed(&hub, "ann@prefetch.example.org", "/verify/", 1).await;
    assert_eq!(hub.request("HEAD", &link, &[]).await.status, 200);
    for _ in 0..2 {
        let looked = hub.request("GET", &link, &[]).await;
        assert!(looked.body.contains("Choose a password"), "{looked:?}");
    }
    let early = browser.fill("/login/", "/login/", &fields).await;
    assert_eq!(early.status, 422, "fetching the link confirmed it: {early:?}");
    let answer = browser.get(&link).await;
    assert_eq!(answer.header("location"), Some("/dashboard/"), "{answer:?}");
}

/// SPEC section 3: T1 stops working immediately, T2 is the valid token.
#[tokio::test]
async fn regenerate_shows_the_new_key_once_and_ends_the_old_one() {
    let hub = demo();
    let (mut browser, old) = customer(&hub, "ann@regenerate.example.org").await;
    let answer = browser.send("/dashboard/regenerate/", &[]).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/dashboard/")));
    assert!(!works(&hub, &old).await, "the old key still works");
    let dashboard = browser.get("/dashboard/").await;
    let new = between(&dashboard.body, "data-key>", "<").expect("the new key").to_owned();
    assert!(works(&hub, &new).await);
    assert!(!browser.get("/dashboard/").await.body.contains(&new), "it is shown twice");
}

/// As an operator does, from another program, so the hub notices with a delay.
async fn give_websocket(hub: &Hub, email: &str, key: &str) {
    let gift = ["addon", "gift", email, "websocket", "--days", "30", "--note", "a test"];
    let mut command = hub.database.program();
    let given = command.args(gift).args(["--db", &hub.db()]).output().expect("it runs");
    assert!(given.status.success(), "{}", String::from_utf8_lossy(&given.stderr));
    let path = format!("/stream/v1/channels/feeds?token={key}");
    until("the gift", async || hub.get(&path).await.status == 200).await;
}

/// The same for open sockets: each is closed at once, and opens with the new key.
#[tokio::test]
async fn regenerate_ends_the_sockets_of_the_old_key() {
    let hub = demo();
    let (mut browser, old) = customer(&hub, "ann@sockets.example.org").await;
    give_websocket(&hub, "ann@sockets.example.org", &old).await;
    let ping = json!({"action": "ping"});
    let mut older =
        vec![LegacyClient::football(&hub, &old).await, LegacyClient::both(&hub, &old).await];
    for client in &mut older {
        client.send(&ping).await;
        assert_eq!(client.next().await, Ok(json!({"type": "pong"})));
    }
    let mut stream = Client::connect(&hub.address, &old).await;
    stream.next_of("hello").await;

    browser.send("/dashboard/regenerate/", &[]).await;
    for mut client in older {
        assert_eq!(client.next().await, Err(4410), "no frame that an older client does not know");
    }
    let closed = stream.until_closed().await;
    assert_eq!(closed, Closed(Some((4410, "token_revoked".to_owned()))));
    let dashboard = browser.get("/dashboard/").await;
    let new = between(&dashboard.body, "data-key>", "<").expect("the new key").to_owned();
    for path in ["/live/football/", "/ws/live/"] {
        let client = LegacyClient::connect(&hub, &format!("{path}?token={old}"), None).await;
        assert_eq!(client.refused().await, (json!("auth_failed"), 4401));
        let mut client = LegacyClient::connect(&hub, &format!("{path}?token={new}"), None).await;
        client.send(&ping).await;
        assert_eq!(client.next().await, Ok(json!({"type": "pong"})));
    }
}

#[tokio::test]
async fn prefetched_page_does_not_use_up_the_key() {
    let hub = demo();
    let mut browser = register(&hub, "ann@page.example.org").await;
    browser.get(&mailed(&hub, "ann@page.example.org", "/verify/", 1).await).await;
    let cookie = browser.cookies.iter().map(|(name, value)| format!("{name}={value}"));
    let cookie = cookie.collect::<Vec<_>>().join("; ");
    let early = [("cookie", &*cookie), ("sec-purpose", "prefetch")];
    assert!(!hub.request("GET", "/dashboard/", &early).await.body.contains("data-key>"));
    assert_eq!(hub.request("HEAD", "/dashboard/", &[("cookie", &cookie)]).await.status, 200);
    assert!(browser.get("/dashboard/").await.body.contains("data-key>"));
}

#[tokio::test]
async fn password_reset_by_mail_logs_out_everywhere() {
    let hub = demo();
    let (mut browser, key) = customer(&hub, "ann@reset.example.org").await;
    let mut other = Browser::new(&hub);
    let requested = other.fill("/reset/", "/reset/", &[("email", "ANN@reset.example.org")]).await;
    assert_eq!(requested.header("location"), Some("/reset/?asked"));
    let link = mailed(&hub, "ann@reset.example.org", "/reset/", 1).await;
    assert_eq!(other.get(&link).await.status, 200);
    assert_eq!(other.get(&link).await.status, 200, "looking at the form does not use the link up");
    let link =
        between(&link, "?link=", "&").unwrap_or_else(|| &link["/reset/?link=".len()..]).to_owned();
    let weak = other.send("/reset/set/", &[("link", &link), ("password", "short")]).await;
    assert!(weak.status == 422 && weak.body.contains("at least"), "{weak:?}");
    let new = "another four words here";
    let set = other.send("/reset/set/", &[("link", &link), ("password", new)]).await;
    assert_eq!(set.header("location"), Some("/login/?done=reset"), "{set:?}");
    assert_eq!(browser.get("/dashboard/").await.status, 303, "the old session goes on");
    let mut third = log_in(&hub, "ann@reset.example.org", new).await;
    assert_eq!(third.get("/dashboard/").await.status, 200);
    assert!(works(&hub, &key).await, "the key has nothing to do with it");
    other.get("/reset/").await;
    let again = other.send("/reset/set/", &[("link", &link), ("password", PASSWORD)]).await;
    assert_eq!(again.status, 410, "a link works once: {again:?}");
}

#[tokio::test]
async fn changing_the_password_keeps_this_browser_and_logs_out_the_others() {
    let hub = demo();
    let (mut browser, _) = customer(&hub, "ann@password.example.org").await;
    let mut other = log_in(&hub, "ann@password.example.org", PASSWORD).await;
    let path = "/dashboard/settings/password/";
    let page = "/dashboard/settings/";
    let new = "another four words here";
    let wrong = browser.fill(page, path, &[("old", "not it at all"), ("new", new)]).await;
    assert!(wrong.status == 422 && wrong.body.contains("Wrong password"), "{wrong:?}");
    let before = browser.cookies.clone();
    let done = browser.fill(page, path, &[("old", PASSWORD), ("new", new)]).await;
    assert_eq!(done.header("location"), Some("/dashboard/settings/?done=password"), "{done:?}");
    assert_ne!(browser.cookies, before, "the session is a new one");
    assert_eq!(browser.get("/dashboard/").await.status, 200);
    assert_eq!(other.get("/dashboard/").await.status, 303);
}

#[tokio::test]
async fn address_changes_when_the_new_one_is_confirmed() {
    let hub = demo();
    let (mut browser, _) = customer(&hub, "ann@address.example.org").await;
    let fields = [("email", "anna@address.example.org"), ("password", PASSWORD)];
    let page = "/dashboard/settings/";
    let requested = browser.fill(page, "/dashboard/settings/email/", &fields).await;
    assert_eq!(
        requested.header("location"),
        Some("/dashboard/settings/?done=asked"),
        "{requested:?}"
    );
    assert!(browser.get(page).await.body.contains("ann@address.example.org"));
    let link = mailed(&hub, "anna@address.example.org", "/email/", 1).await;
    let looked = hub.request("GET", &link, &[]).await;
    assert!(looked.status == 200 && looked.body.contains("Confirm email address"), "{looked:?}");
    assert!(
        browser.get(page).await.body.contains("ann@address.example.org"),
        "a GET changed the address"
    );
    assert_eq!(
        browser.get(&link).await.header("location"),
        Some("/dashboard/settings/?done=email")
    );
    assert!(browser.get(page).await.body.contains("anna@address.example.org"));
    log_in(&hub, "anna@address.example.org", PASSWORD).await;
}

#[tokio::test]
async fn logging_out_ends_the_session_and_everywhere_ends_all() {
    let hub = demo();
    let (mut one, _) = customer(&hub, "ann@logout.example.org").await;
    let stolen = one.cookies.clone();
    let answer = one.send("/logout/", &[]).await;
    assert_eq!(answer.header("location"), Some("/login/?done=out"), "{answer:?}");
    let mut thief = Browser::new(&hub);
    thief.cookies = stolen;
    assert_eq!(thief.get("/dashboard/").await.status, 303, "the session outlives the log-out");

    let mut one = log_in(&hub, "ann@logout.example.org", PASSWORD).await;
    let mut other = log_in(&hub, "ann@logout.example.org", PASSWORD).await;
    one.fill("/dashboard/settings/", "/dashboard/settings/sign-out/", &[]).await;
    assert_eq!(one.get("/dashboard/").await.status, 303);
    assert_eq!(other.get("/dashboard/").await.status, 303);
}

#[tokio::test]
async fn deleted_account_and_its_key_are_gone() {
    let hub = demo();
    let (mut browser, key) = customer(&hub, "ann@deleted.example.org").await;
    let (page, path) = ("/dashboard/settings/", "/dashboard/settings/delete/");
    let unsure = browser.fill(page, path, &[("password", PASSWORD)]).await;
    assert_eq!(unsure.status, 422, "{unsure:?}");
    assert!(works(&hub, &key).await);
    let done = browser.fill(page, path, &[("password", PASSWORD), ("sure", "yes")]).await;
    assert_eq!(done.header("location"), Some("/login/?done=deleted"), "{done:?}");
    assert!(!works(&hub, &key).await);
    let fields = [("email", "ann@deleted.example.org"), ("password", PASSWORD)];
    assert_eq!(browser.fill("/login/", "/login/", &fields).await.status, 422);
}

#[tokio::test]
async fn pages_without_their_slash_lead_to_the_page() {
    let hub = Hub::quiet();
    for path in ["/register", "/login", "/dashboard", "/addons"] {
        let answer = hub.get(path).await;
        assert_eq!(answer.header("location"), Some(&*format!("{path}/")), "{path}");
    }
}
