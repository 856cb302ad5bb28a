//! Sockets do not give away what REST sells: add-ons on sockets, bought and missing.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use crate::{
    live_sockets::legacy_client::LegacyClient,
    support::{ALL_ADDONS, Client, Hub, QUIET, Setting},
};

const ODDS_COST: Setting = ("PRODUCTS_ODDS_FREE_UNTIL", "");
const SPORTS: [&str; 7] =
    ["football", "tennis", "csgo", "darts", "hockey", "basketball", "horseracing"];

/// A hub with a match of each sport, with one bookmaker's book; and the ids of the matches. To a hub that another test uses
/// too, the same is pushed again, which changes nothing.
async fn hub_of_all_sports(settings: &[Setting]) -> (Arc<Hub>, BTreeMap<&'static str, u64>) {
    let hub = Hub::shared_by("entitlement", &["serve"], &[&[QUIET], settings].concat());
    let feed = hub.feed_key("acme", &[]);
    let token = format!("Token {feed}");
    let mut lines = Vec::new();
    for sport in SPORTS {
        let sides = json!([{"name": format!("A {sport}")}, {"name": format!("B {sport}")}]);
        let selections = json!([
            {"id": "1", "status": "active", "outcome": "home"},
            {"id": "2", "status": "active", "outcome": "away"},
        ]);
        let market = json!({"kind": "match_winner", "status": "open", "selections": selections});
        let prices = json!([{"id": "1", "price": "2.10"}, {"id": "2", "price": "1.75"}]);
        for fact in [
            json!({"fixture": {"sides": sides}}),
            json!({"odds": {"book": "alpha", "market": "m", "change": {"define": market}}}),
            json!({"odds": {"book": "alpha", "market": "m", "change": {"prices": {"selections": prices}}}}),
        ] {
            let at = 1_788_280_000_000_000_u64 + lines.len() as u64;
            let line = json!({"at": at, "sport": sport, "match": sport, "fact": fact});
            lines.push(line.to_string());
        }
    }
    let headers = [("authorization", &*token)];
    let answer = hub.post("/ingest/v1/acme", &headers, lines.join("\n").as_bytes()).await;
    assert_eq!((answer.status, &answer.json()["refused"]), (200, &json!(0)), "{}", answer.body);
    let mut client = Client::connect(&hub.address, &hub.key(&ALL_ADDONS)).await;
    client.subscribe("*/*").await;
    let expected = SPORTS.len();
    client.until(|client| client.channels.len() == expected).await;
    let ids = client.channels.keys().map(|name| {
        let (sport, id) = name.split_once('/').expect("a match has an id");
        let sport = SPORTS.into_iter().find(|name| *name == sport).expect("one of the sports");
        (sport, id.parse().expect("a number"))
    });
    let ids = ids.collect();
    (hub, ids)
}

/// Requests a channel by socket and over HTTP, and returns the missing add-on: both must agree.
async fn lacks(hub: &Hub, client: &mut Client, key: &str, name: &str) -> Vec<String> {
    let answer = client.ask(&json!({"op": "subscribe", "id": name, "ch": name})).await;
    let path = format!("/stream/v1/channels/{name}");
    let image = hub.request("GET", &path, &[("authorization", &format!("Token {key}"))]).await;
    if answer["type"] == "subscribed" {
        assert_eq!(image.status, 200, "{name}: {image:?}");
        return Vec::new();
    }
    assert_eq!((&answer["type"], &answer["code"]), (&json!("error"), &json!("not_entitled")));
    assert_eq!((&answer["ch"], &answer["retry"]), (&json!(name), &json!(false)), "{answer}");
    assert_eq!((image.status, &image.json()["code"]), (402, &json!("addon_required")), "{name}");
    let offers = answer["addons"].as_array().expect("what opens it").iter();
    let offers = offers.map(|offer| {
        assert_eq!((&offer["price"], &offer["currency"]), (&json!("5.00"), &json!("USD")));
        offer["addon"].as_str().expect("a name").to_owned()
    });
    offers.collect()
}

#[tokio::test]
async fn channels_require_the_same_addons_as_rest() {
    let (hub, ids) = hub_of_all_sports(&[ODDS_COST]).await;
    for addons in
        [&["websocket"][..], &["websocket", "sports"], &["websocket", "odds"], &ALL_ADDONS]
    {
        let key = hub.key(addons);
        let mut client = Client::connect(&hub.address, &key).await;
        let missing = |needed: &[&str]| {
            let missing = needed.iter().filter(|addon| !addons.contains(addon));
            missing.map(|addon| (*addon).to_owned()).collect::<Vec<_>>()
        };
        for (sport, id) in &ids {
            let is_included = matches!(*sport, "football" | "tennis");
            let of_sport: &[&str] = if is_included { &[] } else { &["sports"] };
            let of_book = [of_sport, &["odds"]].concat();
            for (name, needed) in [
                ((*sport).to_owned(), of_sport),
                (format!("{sport}/{id}"), of_sport),
                (format!("{sport}/{id}/odds"), of_sport),
                (format!("{sport}/{id}/odds/alpha"), &of_book),
            ] {
                let found = lacks(&hub, &mut client, &key, &name).await;
                assert_eq!(found, missing(needed), "{name} with {addons:?}");
            }
        }
        for (name, needed) in [("feeds", &[][..]), ("signals", &["odds"])] {
            assert_eq!(lacks(&hub, &mut client, &key, name).await, missing(needed), "{name}");
        }
        let answer = client.ask(&json!({"op": "subscribe", "id": 7, "ch": "*/*/odds/*"})).await;
        let covered = match (addons.contains(&"odds"), addons.contains(&"sports")) {
            (false, _) => 0,
            (true, false) => 2,
            (true, true) => 7,
        };
        assert_eq!(answer["channels"], covered, "{addons:?}: {answer}");
        let rest = if covered == 7 { Value::Null } else { json!(7 - covered) };
        assert_eq!(answer["not_entitled"], rest, "{addons:?}: {answer}");
    }

    // The older sockets do not show bookmaker prices either.
    let football = ids["football"];
    let subscribe = json!({"action": "subscribe", "event_id": football, "bookmaker_slug": "alpha"});
    let mut old = LegacyClient::football(&hub, &hub.key(&["websocket"])).await;
    old.send(&subscribe).await;
    let refused = old.next().await.expect("a frame");
    assert_eq!(
        (&refused["type"], &refused["code"]),
        (&json!("error"), &json!("subscription_required"))
    );
    assert_eq!(refused["event_id"], football, "{refused}");
    old.send(&json!({"action": "subscribe", "event_id": football})).await;
    assert_eq!(old.next().await.expect("a frame")["type"], "subscribed", "without the book");
    let mut old = LegacyClient::football(&hub, &hub.key(&["websocket", "odds"])).await;
    old.send(&subscribe).await;
    assert_eq!(old.next().await.expect("a frame")["type"], "subscribed");
}

/// As an operator does, from another program, so the hub notices with a delay.
pub(crate) fn command(hub: &Hub, arguments: &[&str]) -> String {
    let mut program = hub.database.program();
    let done = program.args(arguments).args(["--db", &hub.db()]).output().expect("it runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("text").trim().to_owned()
}

#[tokio::test]
async fn purchase_while_connected_takes_effect_at_once() {
    let (hub, ids) = hub_of_all_sports(&[ODDS_COST]).await;
    let (email, darts) = ("ann@example.org", ids["darts"]);
    let key = command(&hub, &["key", "create", "--email", email, "--addon", "websocket"]);
    let mut client = Client::connect(&hub.address, &key).await;
    let everything = json!({"op": "subscribe", "id": 1, "ch": "*/*"});
    let answer = client.ask(&everything).await;
    assert_eq!((&answer["channels"], &answer["not_entitled"]), (&json!(2), &json!(5)), "{answer}");
    let gift = |addon| ["addon", "gift", email, addon, "--days", "30", "--note", "a test"];

    command(&hub, &gift("sports"));
    let frame = client.next_of("entitlement").await;
    assert_eq!(frame["addons"], json!(["websocket", "sports"]), "{frame}");
    let name = format!("darts/{darts}");
    let is_there =
        |client: &Client| client.channels.get(&name).is_some_and(|it| !it.data.is_null());
    // Images of the other sports arrive one after the other.
    client.until(|client| client.channels.len() == 7 && is_there(client)).await;

    let book = format!("darts/{darts}/odds/alpha");
    assert_eq!(lacks(&hub, &mut client, &key, &book).await, ["odds"]);
    command(&hub, &gift("odds"));
    let frame = client.next_of("entitlement").await;
    assert_eq!(frame["addons"], json!(["websocket", "sports", "odds"]), "{frame}");
    assert_eq!(lacks(&hub, &mut client, &key, &book).await, [""; 0]);
}

/// While the odds are free, every account has books and signals, but not other sports.
#[tokio::test]
async fn odds_that_are_free_are_free_on_sockets_too() {
    let (hub, ids) = hub_of_all_sports(&[("PRODUCTS_ODDS_FREE_UNTIL", "2099-12-31")]).await;
    let key = hub.key(&["websocket"]);
    let mut client = Client::connect(&hub.address, &key).await;
    let book = format!("football/{}/odds/alpha", ids["football"]);
    assert_eq!(lacks(&hub, &mut client, &key, &book).await, [""; 0]);
    assert_eq!(lacks(&hub, &mut client, &key, "signals").await, [""; 0]);
    let book = format!("darts/{}/odds/alpha", ids["darts"]);
    assert_eq!(lacks(&hub, &mut client, &key, &book).await, ["sports"]);
}
