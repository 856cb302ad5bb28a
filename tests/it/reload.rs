//! Limits, prices and the filter of the log, which change while the hub runs. Sources are tested in `sources::reload`,
//! certificates in `tls`.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use serde_json::json;

use crate::{
    site::customer,
    support::{Browser, Client, ReloadedHub, TestDatabase},
};

const NO_DEMO: &str = "[demo]\nenabled = false\n";

#[tokio::test]
async fn limits_and_prices_change_at_once() {
    let settings = |per_day: u32, price: &str, free_until: &str| {
        format!(
            "{NO_DEMO}[limits]\nfootball_per_day = {per_day}\n\
             [products]\nsports = {price:?}\nodds_free_until = {free_until:?}\n"
        )
    };
    let hub = ReloadedHub::start(&settings(1, "5.00", "2999-12-31"));
    let (free, paying) = (hub.hub.key(&[]), hub.hub.key(&["websocket"]));
    let requests = async |expected: &[u16]| {
        for status in expected {
            let answer = hub.hub.get_as(&free, "/api/v2/leagues/").await;
            assert_eq!(answer.status, *status, "{answer:?}");
        }
    };
    requests(&[200, 429]).await;
    let mut client = Client::connect(&hub.hub.address, &paying).await;
    let subscribe = json!({ "op": "subscribe", "id": 1, "ch": "signals" });
    assert_eq!(client.ask(&subscribe).await["type"], "subscribed", "the odds are free");

    let printed = hub.reload(&settings(3, "7.50", "")).await;
    for name in ["limits.football_per_day", "products.sports", "products.odds_free_until"] {
        assert!(printed.contains(name), "{printed}");
    }
    // What was used today counts.
    requests(&[200, 200, 429]).await;
    let shown = hub.hub.get("/pricing/").await.body;
    assert!(shown.contains("$7.50"), "{shown}");
    let refused = hub.hub.get_as(&paying, "/tennis/api/v2/events/").await;
    assert_eq!((refused.status, refused.body.contains("7.50")), (402, true), "{}", refused.body);
    // A socket that is open learns what it no longer may follow, and what that costs.
    let changed = client.next_of("entitlement").await;
    assert_eq!(changed["ended"], json!(["signals"]), "{changed}");
}

/// A customer chooses a country with prices of its own, which a reload can change.
#[tokio::test]
async fn customer_sees_the_prices_of_its_country() {
    let settings = |sports: &str| {
        format!(
            "[demo]\nhead_start_minutes = 2\n\
             [accounts]\npassword_memory_kib = 64\npassword_passes = 1\n\
             [products.countries.CH]\ncurrency = \"CHF\"\nwebsocket = \"3.50\"\nsports = {sports:?}\nodds = \"6.00\"\n"
        )
    };
    let hub = ReloadedHub::start(&settings("6.00"));
    assert!(hub.hub.get("/pricing/").await.body.contains("CHF 6"));
    let (mut ann, _) = customer(&hub.hub, "ann@example.org").await;
    let offers = ann.get("/addons/").await.body;
    assert!(offers.contains("<strong>$5</strong>") && !offers.contains("CHF"), "{offers}");
    let choose = async |browser: &mut Browser<'_>, country: &str| {
        let fields = [("country", country)];
        let answer = browser.fill("/addons/", "/addons/country/", &fields).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/addons/")));
        browser.get("/addons/").await.body
    };
    let offers = choose(&mut ann, "CH").await;
    assert!(offers.contains("<strong>CHF 6</strong>") && offers.contains("CHF 18"), "{offers}");
    let fields = [("addon", "sports"), ("months", "3"), ("rail", "card")];
    let bought = ann.send("/addons/", &fields).await;
    let checkout = ann.get(bought.header("location").expect("its page")).await.body;
    assert!(checkout.contains("18.00 CHF"), "{checkout}");
    hub.reload(&settings("7.00")).await;
    assert!(ann.get("/dashboard/").await.body.contains("CHF 7"));
    let offers = choose(&mut ann, "XX").await;
    assert!(offers.contains("<strong>$5</strong>"), "it has no prices of its own: {offers}");
}

/// What is logged after a reload shows that it has taken effect.
#[test]
fn filter_of_the_log_changes_at_once() {
    let database = TestDatabase::file();
    let file = database.folder.path().join("matchwire.toml");
    let settings = |filter: &str| {
        let text = format!("[demo]\nenabled = false\n[logging]\nfilter = {filter:?}\n");
        fs::write(&file, text).expect("a file of settings");
    };
    settings("off");
    let mut command = database.program();
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--db", &database.db(), "--config"])
        .arg(&file);
    let mut hub = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let mut printed = BufReader::new(hub.stdout.take().expect("its output is piped"));
    printed.read_line(&mut line).expect("its output is text");
    assert!(line.starts_with("listening"), "{line}");
    let mut logged = BufReader::new(hub.stderr.take().expect("its errors are piped")).lines();
    let mut next = || logged.next().expect("a line").expect("it is text");
    let signal = |name: &str| {
        let pid = hub.id().to_string();
        Command::new("kill").args([name, &pid]).status().expect("kill runs");
    };

    settings("matchwire=info");
    signal("-HUP");
    // The first line of all.
    assert!(next().contains("reloaded: logging.filter changed"));
    settings("no filter = at all");
    signal("-HUP");
    assert!(next().contains("is not a valid filter"));
    signal("-USR2");
    assert!(next().contains("SIGUSR2"), "the filter before stays");
    signal("-TERM");
    assert!(hub.wait().expect("it ends").success());
}
