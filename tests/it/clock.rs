//! The effects of time on the running program, with a clock that the test moves.

use std::{fs, sync::Arc};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::{
    live_sockets::legacy_client::LegacyClient,
    site::{PASSWORD, QUICK, log_in},
    support::{
        Browser, Client, Closed, Hub, PATIENCE, QUIET, Setting, TestDatabase, bank::Bank,
        clock::Clock, on_sqlite, pause, until,
    },
};

/// Days pass in a moment here; that does not make a socket idle.
const PATIENT: Setting = ("FANOUT_IDLE_MS", "0");
/// The hub checks a socket with each beat.
const OFTEN: Setting = ("FANOUT_BEAT_MS", "50");

/// Runs a test from this moment on.
async fn from(moment: &str, test: impl AsyncFn(TestDatabase, &Clock)) {
    on_sqlite(async |database| {
        let Some(clock) = Clock::at_or_skipped(moment, database.folder.path()) else { return };
        let clock = Arc::new(clock);
        test(database.by(&clock), &clock).await;
    })
    .await;
}

/// The output of `key list` for the account with this address.
fn listed(database: &TestDatabase, email: &str) -> String {
    let mut command = database.program();
    let output = command.args(["key", "list", "--db", &database.db()]).output().expect("it runs");
    let said = String::from_utf8(output.stdout).expect("text");
    said.lines().rfind(|line| line.contains(email)).expect("the account has a key").to_owned()
}

fn give(database: &TestDatabase, email: &str, addon: &str) -> String {
    let arguments = ["--email", email, "--addon", addon];
    let mut command = database.program();
    let output = command.args(["key", "create", "--db", &database.db()]).args(arguments).output();
    String::from_utf8(output.expect("it runs").stdout).expect("text").trim().to_owned()
}

/// Buys a month of the WebSocket add-on by card, and returns from the provider.
async fn buy_month(browser: &mut Browser<'_>, bank: &Bank) {
    let fields = [("addon", "websocket"), ("months", "1"), ("rail", "card")];
    let answer = browser.fill("/addons/", "/addons/", &fields).await;
    let location = answer.header("location").expect("it leads to the checkout").to_owned();
    let order = location.trim_matches('/').rsplit('/').next().expect("an order");
    bank.agree(order).await;
    let back = browser.get(&format!("/checkout/{order}/return/")).await;
    assert_eq!(back.status, 200, "{back:?}");
}

/// SPEC section 3: 30 days are added to the current expiry; here 12 days are left, so it is 42
/// days. SPEC section 5, rule 3. After the expiry, they count from now.
#[tokio::test]
async fn bought_month_with_twelve_days_left_ends_in_forty_two() {
    from("2026-09-01T12:00:00Z", async |database, clock| {
        let (bank, _webhooks) = Bank::open().await;
        let (settings, folder) = with_mail(&database);
        let hub = Hub::start_on(&database, &["serve"], &[settings, bank.settings()].concat());
        customer(&hub, &folder).await;
        for (moment, until) in [
            ("2026-09-01T12:00:00Z", "2026-10-01T12:0"),
            ("2026-09-19T12:00:00Z", "2026-10-31T12:0"),
            ("2026-12-01T12:00:00Z", "2026-12-31T12:0"),
        ] {
            clock.set(moment);
            // The session has expired in the meantime.
            let mut browser = log_in(&hub, "me@x.org", PASSWORD).await;
            buy_month(&mut browser, &bank).await;
            let listed = listed(&database, "me@x.org");
            assert!(listed.contains(&format!("websocket until {until}")), "{moment}: {listed}");
        }
    })
    .await;
}

/// The same for an operator's grant.
#[tokio::test]
async fn granted_month_with_twelve_days_left_ends_in_forty_two() {
    from("2026-09-01T12:00:00Z", async |database, clock| {
        give(&database, "me@x.org", "sports");
        assert!(listed(&database, "me@x.org").contains("sports until 2026-10-01T12:0"));
        clock.set("2026-09-19T12:00:00Z");
        give(&database, "me@x.org", "sports");
        let listed = listed(&database, "me@x.org");
        assert!(listed.contains("sports until 2026-10-31T12:0"), "{listed}");
    })
    .await;
}

/// A named key ends at its time, for REST and for an open socket, whatever add-ons are left.
#[tokio::test]
async fn sockets_end_with_their_named_key() {
    from("2026-09-01T12:00:00Z", async |database, clock| {
        let hub = Hub::start_on(&database, &["serve"], &[QUIET, PATIENT, OFTEN]);
        give(&database, "me@x.org", "websocket");
        let limits = ["--scope", "stream", "--scope", "account", "--ends-after-days", "2"];
        let named = ["--email", "me@x.org", "--name", "ci"];
        // The clock goes on while programs start.
        clock.set("2026-09-01T12:00:00Z");
        let key = hub.key_command("create", named.into_iter().chain(limits));
        let mut client = Client::connect(&hub.address, &key).await;
        client.next_of("hello").await;
        clock.set("2026-09-03T11:58:00Z");
        assert_eq!(hub.get_as(&key, "/api/v2/account/").await.status, 200);
        client.ask(&json!({"op": "ping", "id": 1})).await;
        clock.set("2026-09-03T12:10:00Z");
        assert_eq!(client.next_of("bye").await["why"], "token_revoked");
        let closed = client.until_closed().await;
        assert_eq!(closed, Closed(Some((4410, "token_revoked".to_owned()))));
        assert_eq!(hub.get_as(&key, "/api/v2/account/").await.status, 401);
        assert!(listed(&database, "me@x.org").contains("ended 2026-09-03T12:0"));
    })
    .await;
}

/// When the add-on expires, the hub closes the open socket and accepts no other until the add-on is
/// bought again. SPEC section 6: the channels are gated by the WebSocket add-on.
#[tokio::test]
async fn sockets_end_with_their_addon() {
    from("2026-09-01T12:00:00Z", async |database, clock| {
        let hub = Hub::start_on(&database, &["serve"], &[QUIET, PATIENT, OFTEN]);
        let key = give(&database, "me@x.org", "websocket");
        let mut client = Client::connect(&hub.address, &key).await;
        client.subscribe("feeds").await;
        client.next_of("image").await;
        let mut older =
            vec![LegacyClient::football(&hub, &key).await, LegacyClient::both(&hub, &key).await];

        clock.set("2026-10-01T11:59:00Z");
        client.next_of("beat").await;
        client.ask(&json!({"op": "ping", "id": 1})).await;
        for client in &mut older {
            client.send(&json!({"action": "ping"})).await;
            assert_eq!(client.next().await, Ok(json!({"type": "pong"})));
        }
        clock.set("2026-10-01T12:01:00Z");
        let closed = client.until_closed().await;
        assert_eq!(closed, Closed(Some((4402, "addon_required".to_owned()))));
        for client in older {
            assert_eq!(client.refused().await, (json!("subscription_required"), 4402));
        }
        for path in ["/live/football/", "/ws/live/"] {
            let client = LegacyClient::connect(&hub, &format!("{path}?token={key}"), None).await;
            assert_eq!(client.refused().await, (json!("subscription_required"), 4402));
        }
        let path = format!("/stream/v1/channels/feeds?token={key}");
        assert_eq!(hub.get(&path).await.status, 402);

        give(&database, "me@x.org", "websocket");
        // Another program granted it, so the hub notices with a delay.
        until("the grant", async || hub.get(&path).await.status == 200).await;
        Client::connect(&hub.address, &key).await.next_of("hello").await;
        for mut client in
            [LegacyClient::football(&hub, &key).await, LegacyClient::both(&hub, &key).await]
        {
            client.send(&json!({"action": "ping"})).await;
            assert_eq!(client.next().await, Ok(json!({"type": "pong"})));
        }
    })
    .await;
}

/// SPEC section 4: the odds are free for everyone until 2026-08-17, that day included; SPEC section 5,
/// rule 2: without the add-on it is 402 afterwards.
#[tokio::test]
async fn odds_need_their_addon_after_the_last_free_day() {
    from("2026-08-16T12:00:00Z", async |database, clock| {
        let hub = Hub::start_on(&database, &["serve"], &[QUIET]);
        let (without, with) = (hub.key(&[]), give(&database, "me@x.org", "odds"));
        let status = async |key: &str| hub.get_as(key, "/odds/api/").await.status;
        let both = async || (status(&without).await, status(&with).await);
        let let_in = both().await;
        assert!(![401, 402, 403, 500].contains(&let_in.0), "{let_in:?}");
        for (moment, refused) in [
            ("2026-08-17T00:00:30Z", false),
            ("2026-08-17T23:59:00Z", false),
            ("2026-08-18T00:00:00Z", true),
            ("2026-09-01T00:00:00Z", true),
        ] {
            clock.set(moment);
            let now = both().await;
            assert_eq!(now, (if refused { 402 } else { let_in.0 }, let_in.1), "{moment}");
        }
        let answer = hub.get_as(&without, "/odds/api/").await;
        assert_eq!(answer.json()["code"], "addon_required");
        clock.set("2026-10-01T00:00:00Z");
        assert_eq!(both().await, (402, 402), "what was bought has run out too");
    })
    .await;
}

/// The next frame of this kind; timestamps of beats never go back.
async fn next_of(client: &mut Client, kind: &str, latest: &mut i64, moment: &str) -> Value {
    loop {
        let frame = client.next().await.expect("the socket stays open");
        if frame["type"] == "beat" {
            let now = frame["now"].as_i64().expect("a beat has a stamp");
            assert!(now >= *latest, "{moment}: {now} after {latest}");
            *latest = now;
        }
        if frame["type"] == kind {
            return frame;
        }
    }
}

/// Beats, updates and rate-limited updates keep arriving.
async fn check_still_publishing(
    client: &mut Client,
    modest: &mut Client,
    latest: &mut i64,
    moment: &str,
) {
    let reading = async {
        let mut published = 0;
        for _ in 0..5 {
            next_of(client, "beat", latest, moment).await;
            let update = next_of(client, "update", latest, moment).await;
            let at = update["at"]["pub"].as_i64().expect("an update has a stamp");
            assert!(at >= published, "{moment}: published at {at}, after {published}");
            published = at;
        }
        for _ in 0..3 {
            while next_of(modest, "update", &mut 0, moment).await["why"] != "rate" {}
        }
    };
    assert!(timeout(PATIENCE, reading).await.is_ok(), "{moment}: the hub stands still");
}

/// A socket that never answers a ping is closed.
async fn silent_socket_is_closed(hub: &Hub, key: &str, moment: &str) {
    let mut silent = TcpStream::connect(&hub.address).await.expect("it connects");
    let head = format!(
        "GET /stream/v1?token={key} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\n\
         upgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    silent.write_all(head.as_bytes()).await.expect("it takes the request");
    let mut seen = Vec::new();
    let closed = timeout(PATIENCE, silent.read_to_end(&mut seen)).await;
    assert!(closed.is_ok(), "{moment}: an idle socket stays open");
    assert!(String::from_utf8_lossy(&seen).contains("idle"), "{moment}: closed for another reason");
}

/// A virtual machine that resumes, NTP, an operator: scheduling is not affected.
#[tokio::test]
async fn hub_keeps_publishing_when_its_clock_jumps() {
    let database = TestDatabase::file();
    let Some(clock) = Clock::at_or_skipped("2026-09-01T12:00:00Z", database.folder.path()) else {
        return;
    };
    let clock = Arc::new(clock);
    let database = database.by(&clock);
    let steady = [OFTEN, PATIENT, ("BENCH_RATE", "200")];
    let hub = Hub::start_on(&database, &["serve"], &steady);
    let strict = [QUIET, OFTEN, ("FANOUT_IDLE_MS", "300")];
    let strict = Hub::start_on(&TestDatabase::file().by(&clock), &["serve"], &strict);
    let strict_key = strict.key(&crate::support::ALL_ADDONS);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("football/*/odds/steady").await;
    let mut modest = Client::connect(&hub.address, &key).await;
    let command =
        json!({"op": "subscribe", "id": 1, "ch": "football/*/odds/steady", "every_ms": 100});
    modest.ask(&command).await;
    let mut latest = 0;
    for moment in [
        "2026-09-01T11:59:00Z",
        "2026-09-01T11:00:00Z",
        "2026-09-01T12:02:00Z",
        "2026-07-23T12:00:00Z",
        "2026-09-01T12:04:00Z",
    ] {
        clock.set(moment);
        tokio::join!(
            check_still_publishing(&mut client, &mut modest, &mut latest, moment),
            silent_socket_is_closed(&strict, &strict_key, moment),
        );
    }
}

/// Days of quotas and of usage are UTC days.
#[tokio::test]
async fn quota_and_usage_reset_at_midnight() {
    from("2026-09-01T23:58:00Z", async |database, clock| {
        let settings = [QUIET, ("LIMITS_FOOTBALL_PER_DAY", "2")];
        let hub = Hub::start_on(&database, &["serve"], &settings);
        let key = hub.key(&[]);
        let football = async || hub.get_as(&key, "/api/v2/events/").await;
        let let_in = football().await.status;
        assert!(![401, 402, 403, 429, 500].contains(&let_in), "{let_in}");
        assert_eq!(football().await.status, let_in);
        let answer = football().await;
        assert_eq!((answer.status, &answer.json()["code"]), (429, &json!("taster_exhausted")));
        let wait: u32 = answer.header("retry-after").expect("when").parse().expect("seconds");
        assert!((1..=120).contains(&wait), "until midnight: {wait}");

        clock.set("2026-09-02T00:00:10Z");
        assert_eq!(football().await.status, let_in, "another day");
        let days = async || {
            let account = hub.get_as(&key, "/api/v2/account/").await.json();
            let days = account["usage"]["by_day"].as_array().expect("days").clone();
            days.iter().map(|it| it["day"].as_str().expect("a day").to_owned()).collect::<Vec<_>>()
        };
        until("the second day", async || days().await.len() == 2).await;
        let mut days = days().await;
        days.sort();
        assert_eq!(days, ["2026-09-01", "2026-09-02"]);
    })
    .await;
}

/// The path of the link in the newest mail to this page.
async fn mailed(folder: &std::path::Path, page: &str) -> String {
    let found = async {
        loop {
            let files = fs::read_dir(folder).into_iter().flatten().flatten();
            let mails = files.filter_map(|file| fs::read_to_string(file.path()).ok());
            // In transport encoding: long lines are folded, and equals signs are escaped.
            let mails = mails.map(|mail| mail.replace("=\r\n", "").replace("=3D", "="));
            let link = mails.filter_map(|mail| {
                let (_, link) = mail.split_once(page)?;
                Some(format!("{page}{}", link.split_whitespace().next()?))
            });
            if let Some(link) = link.last() {
                return link;
            }
            pause().await;
        }
    };
    timeout(PATIENCE, found).await.expect("the mail comes")
}

/// Registers, and confirms the address.
async fn customer<'a>(hub: &'a Hub, mails: &std::path::Path) -> Browser<'a> {
    let mut browser = Browser::new(hub);
    let fields = [("email", "me@x.org"), ("password", PASSWORD)];
    browser.fill("/register/", "/register/", &fields).await;
    let link = mailed(mails, "/verify/?link=").await;
    browser.get(&link).await;
    log_in(hub, "me@x.org", PASSWORD).await
}

/// The settings of a hub that writes its mails to a folder, and the folder.
fn with_mail(database: &TestDatabase) -> (Vec<Setting>, std::path::PathBuf) {
    let folder = database.folder.path().join("mails");
    let path: &str = folder.to_str().expect("text").to_owned().leak();
    ([&QUICK[..], &[QUIET, ("MAIL_FOLDER", path)]].concat(), folder)
}

/// SPEC section 3, rule 1, and issue 5, point 2: a link is good for 24 hours; until it is followed the
/// account is inactive.
#[tokio::test]
async fn mailed_link_is_valid_for_a_day() {
    from("2026-09-01T12:00:00Z", async |database, clock| {
        for (later, good) in [("2026-09-02T11:59:00Z", true), ("2026-09-02T12:01:00Z", false)] {
            clock.set("2026-09-01T12:00:00Z");
            let (settings, folder) = with_mail(&database);
            fs::remove_dir_all(&folder).ok();
            let hub = Hub::start_on(&database, &["serve"], &settings);
            let email = if good { "early@x.org" } else { "late@x.org" };
            let mut browser = Browser::new(&hub);
            let fields = [("email", email), ("password", PASSWORD)];
            browser.fill("/register/", "/register/", &fields).await;
            let link = mailed(&folder, "/verify/?link=").await;
            clock.set(later);
            let followed = browser.get(&link).await;
            let mut other = Browser::new(&hub);
            let entered = other.fill("/login/", "/login/", &fields).await;
            assert_eq!(entered.status == 303, good, "{later}: {followed:?} {entered:?}");
        }
    })
    .await;
}

/// Issue 5, point 2: sessions are stored and expire; each visit extends them.
#[tokio::test]
async fn session_ends_two_weeks_after_the_last_visit() {
    from("2026-09-01T12:00:00Z", async |database, clock| {
        let (settings, folder) = with_mail(&database);
        let hub = Hub::start_on(&database, &["serve"], &settings);
        let mut browser = customer(&hub, &folder).await;
        for (moment, status) in [
            ("2026-09-14T12:00:00Z", 200),
            ("2026-09-27T12:00:00Z", 200),
            ("2026-10-12T12:00:00Z", 303),
        ] {
            clock.set(moment);
            assert_eq!(browser.get("/dashboard/").await.status, status, "{moment}");
        }
    })
    .await;
}
