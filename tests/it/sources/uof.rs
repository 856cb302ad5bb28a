//! The Unified Odds Feed from a test broker.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use tokio::time::timeout;

use super::{
    check_held, check_metric, check_secrets, ending, follower, one,
    peers::{
        broker::{Broker, PASSWORD},
        http::{Reply, Server},
        provider::{Provider, Recovery},
    },
    serve, until,
};
use crate::support::{Client, PATIENCE, SECRET};

fn table(broker: &Broker, api: &Server, fixtures: bool) -> String {
    format!(
        "[[source]]\nname = \"uof\"\nkind = \"sportradar-uof\"\ntoken = {SECRET:?}\n\
         password = {PASSWORD:?}\nbookmaker = 1\nproducts = [1]\nhost = \"localhost\"\nport = {}\n\
         api = {:?}\nfixtures = {fixtures}\ndescriptions = {fixtures}\nalive_ms = 120000\nauthority = {:?}\n",
        broker.tls_port,
        api.url("/uof/"),
        broker.certificate()
    )
}

/// The product is alive until its recovery is requested: the hub may not listen yet.
async fn next_recovery(provider: &Provider, api: &mut Server, began: i64) -> Recovery {
    let requested = Recovery::next(api);
    tokio::pin!(requested);
    loop {
        provider.alive(1, began, 1).await;
        tokio::select! {
            recovery = &mut requested => return recovery,
            () = tokio::time::sleep(Duration::from_millis(100)) => {}
        }
    }
}

async fn odds(provider: &Provider, sport: u8, number: u32, price: &str) {
    let key = format!("hi.-.live.odds_change.{sport}.sr:match.{number}.-");
    let body = format!(
        r#"<odds_change product="1" event_id="sr:match:{number}" timestamp="1788280000000"><odds><market id="1" status="1"><outcome id="1" odds="{price}" active="1"/><outcome id="2" odds="3.1" active="1"/><outcome id="3" odds="4.2" active="1"/></market></odds></odds_change>"#
    );
    provider.publish(&key, &body).await;
}

/// A market that has the provider's names.
async fn next_goal(provider: &Provider) {
    let key = "hi.-.live.odds_change.1.sr:match.7.-";
    let body = r#"<odds_change product="1" event_id="sr:match:7" timestamp="1788280000000"><odds><market id="62" specifiers="goalnr=2" status="1"><outcome id="6" odds="1.9" active="1"/><outcome id="7" odds="2.4" active="1"/></market></odds></odds_change>"#;
    provider.publish(key, body).await;
}

fn price(client: &Client) -> Option<&str> {
    let book = one(client, "/odds/sportradar")?;
    book.data["markets"]["1"]["selections"]["1"]["price"].as_str()
}

/// One broker for both, because starting one takes seconds and much of the machine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs RabbitMQ: make test-systems runs it"]
async fn names_come_from_fixtures_and_odds_are_held_while_the_broker_is_down() {
    let Some(mut broker) = Broker::start() else { return };
    names_come_from_fixtures(&broker).await;
    odds_of_a_sport_that_only_the_routing_key_names_are_held(&mut broker).await;
}

async fn odds_of_a_sport_that_only_the_routing_key_names_are_held(broker: &mut Broker) {
    let provider = Provider::connect(broker).await;
    let mut api = Server::shared(|_| Reply::status(202)).await;
    let hub = serve(&table(broker, &api, false));
    let mut client = follower(&hub).await;
    let began = Timestamp::now().as_millisecond();
    until(&mut client, "uof", "recovering").await;
    let recovery = next_recovery(&provider, &mut api, began).await;
    assert_eq!((recovery.product, recovery.after), (1, None));
    odds(&provider, 1, 7, "2.10").await;
    client.until(|client| price(client) == Some("2.1")).await;
    // The hold of a book preempts the updates of its match.
    let has_updates = |client: &Client| ending(client, "").iter().all(|(_, it)| it.seq > 0);
    client.until(has_updates).await;
    check_held(&client, "recovering");
    provider.complete(&recovery).await;
    until(&mut client, "uof", "live").await;
    client
        .until(|client| {
            one(client, "/odds/sportradar").is_some_and(|it| it.data["suspended"] == false)
        })
        .await;
    let book = client.channels.keys().find(|name| name.ends_with("/odds/sportradar"));
    assert!(book.is_some_and(|name| name.starts_with("football/")), "{book:?}");
    odds(&provider, 1, 7, "2.20").await;
    client.until(|client| price(client) == Some("2.2")).await;
    check_metric(&hub, "uof", "live").await;

    broker.kill();
    until(&mut client, "uof", "down").await;
    check_held(&client, "down");
    check_metric(&hub, "uof", "down").await;

    broker.run();
    let provider = Provider::connect(broker).await;
    let recovery = next_recovery(&provider, &mut api, began + 500).await;
    assert_eq!(recovery.after, Some(began));
    until(&mut client, "uof", "recovering").await;
    odds(&provider, 1, 7, "2.30").await;
    provider.alive(1, began + 1000, 1).await;
    provider.complete(&recovery).await;
    until(&mut client, "uof", "live").await;
    assert_eq!(price(&client), Some("2.3"));
    assert_eq!(one(&client, "/odds/sportradar").expect("it is there").data["suspended"], false);
    check_secrets(hub, &client, &[PASSWORD]).await;
}

/// The names of an event are in its fixture, which is requested when the event first occurs and when it changes.
async fn names_come_from_fixtures(broker: &Broker) {
    let provider = Provider::connect(broker).await;
    let changed = Arc::new(AtomicBool::new(false));
    let is_changed = Arc::clone(&changed);
    let mut api = Server::shared(move |request| {
        if request.target == "/uof/v1/descriptions/en/markets.xml?include_mappings=false" {
            assert_eq!(request.headers["x-access-token"], SECRET);
            return Reply::ok(
                r#"<market_descriptions response_code="OK"><market id="62" name="{!goalnr} goal" groups="all"><outcomes><outcome id="6" name="{$competitor1}"/><outcome id="7" name="none"/></outcomes><specifiers><specifier name="goalnr" type="integer"/></specifiers></market></market_descriptions>"#,
            );
        }
        let Some(path) = request.target.strip_prefix("/uof/v1/sports/en/sport_events/") else {
            return Reply::status(202);
        };
        assert_eq!((path, &*request.method), ("sr:match:7/fixture.xml", "GET"));
        assert_eq!(request.headers["x-access-token"], SECRET);
        let away = if is_changed.load(Ordering::Relaxed) { "Cats" } else { "Wolves" };
        Reply::ok(&format!(
            r#"<fixtures_fixture><fixture id="sr:match:7" start_time="2026-11-27T19:00:00+00:00"><tournament id="sr:tournament:7" name="Cup"><sport id="sr:sport:1" name="Soccer"/></tournament><competitors><competitor id="a" name="Bears" qualifier="home"/><competitor id="b" name="{away}" qualifier="away"/></competitors></fixture></fixtures_fixture>"#
        ))
    })
    .await;
    let hub = serve(&table(broker, &api, true));
    let mut client = follower(&hub).await;
    let recovery = next_recovery(&provider, &mut api, Timestamp::now().as_millisecond()).await;
    odds(&provider, 1, 7, "2.10").await;
    let sides = |client: &Client| {
        let mut matches = client.channels.iter().filter(|(name, _)| {
            name.strip_prefix("football/").is_some_and(|rest| !rest.contains('/'))
        });
        let (_, followed) = matches.next()?;
        let name = |side: &str| followed.data[side]["name"].as_str().map(ToOwned::to_owned);
        Some([name("home")?, name("away")?])
    };
    // A message, after which the source looks for answers.
    let alive = async || provider.alive(1, Timestamp::now().as_millisecond(), 1).await;
    let named = async |client: &mut Client, away: &str| {
        let is_named = |client: &Client| sides(client).is_some_and(|it| it == ["Bears", away]);
        timeout(PATIENCE, async {
            while !is_named(client) {
                alive().await;
                client.next().await.expect("the hub stays up");
            }
        })
        .await
        .unwrap_or_else(|_| panic!("not named {away}: {:?}", sides(client)));
    };
    named(&mut client, "Wolves").await;
    next_goal(&provider).await;
    let names = |client: &Client| {
        let market = &one(client, "/odds/sportradar")?.data["markets"]["62/goalnr=2"];
        let selections = &market["selections"];
        let names = [market, &selections["6"], &selections["7"]].map(|it| it["name"].as_str());
        let [Some(market), Some(home), Some(none)] = names else { return None };
        Some([market, home, none].map(ToOwned::to_owned))
    };
    client
        .until(|client| names(client).is_some_and(|it| it == ["2nd goal", "Bears", "none"]))
        .await;
    provider.complete(&recovery).await;
    until(&mut client, "uof", "live").await;

    changed.store(true, Ordering::Relaxed);
    let key = "hi.-.live.fixture_change.1.sr:match.7.-";
    provider.publish(key, r#"<fixture_change event_id="sr:match:7" product="1"/>"#).await;
    named(&mut client, "Cats").await;
    check_secrets(hub, &client, &[PASSWORD]).await;
}
