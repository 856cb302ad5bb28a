//! Prices and predictions over HTTP: entitlements, and unchanged digits.

mod pushed;

use serde_json::Value;
use tokio::time::timeout;

use crate::support::{Hub, PATIENCE, Setting, poll_until};

/// By default the odds are free for everyone until a certain day.
const ODDS_COST: Setting = ("PRODUCTS_ODDS_FREE_UNTIL", "");

/// The demo, where odds cost and predictions have too few results.
const FEW_RESULTS: [Setting; 2] = [ODDS_COST, ("PREDICTIONS_MATCHES_MIN", "1000")];

/// Repeats the request until the response has rows: data is written with a delay.
async fn rows(hub: &Hub, path: &str, key: &str) -> Value {
    hub.json_until(key, path, |page| page["count"].as_u64() > Some(0)).await
}

/// SERVICE section 3, over the demo: an account with the odds, and one without.
#[tokio::test]
async fn bookmaker_prices_require_the_addon() {
    let hub = Hub::shared(&["serve"], &FEW_RESULTS);
    let (key, free) = (hub.key(&["odds"]), hub.key(&[]));

    let all = rows(&hub, "/api/v2/odds/?limit=200&market=1x2", &key).await;
    let named = all["results"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["bookmaker_slug"] != "consensus" && row["is_max_quote"] == true);
    let named = named.expect("some bookmaker has the highest price");
    assert!(["HOME", "DRAW", "AWAY"].contains(&named["outcome"].as_str().unwrap()), "{named}");
    for name in ["decimal_odds", "opening_decimal_odds", "implied_probability"] {
        assert!(named[name].is_number(), "{name} of {named}");
    }
    let (event, id) = (&named["event_id"], &named["id"]);
    let one = hub.json(&key, &format!("/api/v2/odds/{id}/")).await;
    assert_eq!((&one["id"], &one["bookmaker_slug"]), (id, &named["bookmaker_slug"]));

    // The same without the add-on.
    let consensus = rows(&hub, "/api/v2/odds/?limit=200", &free).await;
    let slugs = consensus["results"].as_array().unwrap().iter().map(|row| &row["bookmaker_slug"]);
    assert!(slugs.into_iter().all(|slug| slug == "consensus"), "a named price for a free account");
    let slug = named["bookmaker_slug"].as_str().unwrap();
    for path in [
        format!("/api/v2/odds/?bookmaker_slug={slug}"),
        format!("/api/v2/odds/{id}/"),
        format!("/api/v2/events/{event}/odds/comparison/"),
        "/api/v2/odds/best/".to_owned(),
    ] {
        let answer = hub.get_as(&free, &path).await;
        let code = answer.json()["code"].clone();
        assert_eq!(
            (answer.status, code.as_str()),
            (403, Some("bookmakers_not_entitled")),
            "{path}"
        );
        assert_eq!(hub.get_as(&key, &path).await.status, 200, "{path}");
    }
    let named_and_bad = format!("/api/v2/odds/?bookmaker_slug={slug}&min_decimal_odds=x");
    for (caller, status) in [(&free, 403), (&key, 400)] {
        assert_eq!(hub.get_as(caller, &named_and_bad).await.status, status);
    }
    assert_eq!(hub.get_as(&free, "/odds/api/sports/").await.status, 402);
    let odds = hub.json(&free, &format!("/api/v2/events/{event}/odds/")).await;
    assert!(odds["update_reason"].is_string() && odds["odds"].as_object().unwrap().len() == 11);

    let compared = hub.json(&key, &format!("/api/v2/events/{event}/odds/comparison/")).await;
    let home = &compared["markets"]["1x2"]["HOME"];
    if !home.is_null() {
        let best = home["best_bookmaker_slug"].as_str().unwrap();
        assert_eq!(home["bookmakers"][best]["decimal_odds"], home["best_odds"], "{home}");
    }
    // Bookmakers are listed when the archive has written their prices.
    let bookmakers = async || hub.json(&free, "/api/v2/bookmakers/").await["results"].clone();
    let lists_consensus = |rows: &Value| rows.to_string().contains("consensus");
    poll_until("the consensus among bookmakers", bookmakers, lists_consensus).await;

    for (path, detail) in [
        (
            "/api/v2/odds/?market=1x2&outcome=over",
            "the outcome of 1x2 is to be one of HOME, DRAW, AWAY.",
        ),
        ("/api/v2/odds/?market=sixes", "market is to be"),
        ("/api/v2/odds/?bookmaker_slug=William%20Hill", "slug"),
        ("/api/v2/odds/?bookmaker_slug=nobody", "bookmaker_slug is to be one of"),
        (
            "/api/v2/odds/?odds_format=roman",
            "odds_format is to be one of decimal, american, fractional.",
        ),
        ("/api/v2/odds/?movement=up", "movement is to be"),
        ("/api/v2/odds/?foo=1", "Unknown query parameter(s): foo."),
    ] {
        let answer = hub.get_as(&key, path).await;
        let message = answer.json()["detail"].as_str().unwrap().to_owned();
        assert_eq!(answer.status, 400, "{path}");
        assert!(message.contains(detail), "{path}: {message}");
    }
    for path in ["/api/v2/odds/1/", "/api/v2/events/1/odds/", "/api/v2/events/x/prediction/"] {
        assert_eq!(hub.get_as(&key, path).await.status, 404, "{path}");
    }
}

/// Every price of a match, its history, and that a price with two decimal places keeps them.
#[tokio::test]
async fn odds_api_shows_all_prices_and_their_history() {
    let hub = Hub::shared(&["serve"], &FEW_RESULTS);
    let key = hub.key(&["odds"]);
    let sports = hub.json(&key, "/odds/api/sports/").await;
    let named =
        |sport: &str| sports["results"].as_array().unwrap().iter().any(|row| row["sport"] == sport);
    assert!(named("football") && named("tennis"), "{sports}");

    let live = rows(&hub, "/odds/api/events/?sport=football&status=live", &key).await;
    let id = &live["results"][0]["event_id"];
    let prices = async {
        loop {
            let answer = hub.get_as(&key, &format!("/odds/api/events/{id}/?history=true")).await;
            assert_eq!(answer.status, 200, "{}", answer.body);
            let event = answer.json();
            let first = &event["markets"][0]["outcomes"][0]["bookmakers"][0];
            if first["history"].as_array().is_some_and(|history| !history.is_empty()) {
                return (answer.body, event);
            }
            crate::support::pause().await;
        }
    };
    let (text, event) = timeout(PATIENCE, prices).await.expect("prices came");
    assert!(event["bookmakers_count"].as_u64() > Some(1), "{event}");
    let price = text.split(r#""price":"#).nth(1).unwrap();
    let digits = price.split([',', '}']).next().unwrap();
    assert!(digits.contains('.') && !digits.contains('"'), "a price is {digits}");
    let bookmaker = &event["markets"][0]["outcomes"][0]["bookmakers"][0];
    for name in ["opening", "opening_at", "source_at", "received_at", "suspended", "movement"] {
        assert!(!bookmaker[name].is_null(), "{name} of {bookmaker}");
    }

    let market = event["markets"][0]["market"].as_str().unwrap();
    let path = format!("/odds/api/events/{id}/history/?market={market}&limit=2");
    let history = hub.json(&key, &path).await;
    assert!(history["count"].as_u64() > Some(2), "{history}");
    let results = history["results"].as_array().unwrap();
    assert!(results.iter().all(|tick| tick["market"] == market), "{history}");
    let next = history["next"].as_str().unwrap();
    assert!(next.contains(&format!("market={market}")) && next.contains("offset=2"), "{next}");
    let of_one = format!("/odds/api/events/{id}/?bookmaker=consensus&market={market}");
    assert_eq!(hub.json(&key, &of_one).await["bookmakers_count"], 0);
    let refused = hub.get_as(&key, "/odds/api/events/?sport=chess").await;
    assert_eq!((refused.status, refused.json()["accepted"][0].as_str()), (400, Some("football")));
    for path in [format!("/odds/api/events/{id}/"), format!("/odds/api/events/{id}/history/")] {
        let unknown = hub.get_as(&key, &format!("{path}?market=nonsense")).await;
        assert_eq!(unknown.status, 400, "{path}: {}", unknown.body);
        let accepted = unknown.json()["accepted"].as_array().unwrap().clone();
        assert!(accepted.contains(&"1x2".into()) && accepted.contains(&market.into()), "{path}");
        let unknown = hub.get_as(&key, &format!("{path}?market=1x2&outcome=over")).await;
        assert_eq!(unknown.status, 400, "{path}: {}", unknown.body);
        for same in ["1x2", "match_winner", "Moneyline"] {
            let response = hub.get_as(&key, &format!("{path}?market={same}&outcome=1")).await;
            assert_eq!(response.status, 200, "{same}: {}", response.body);
        }
    }
    assert_eq!(hub.get_as(&key, "/odds/api/events/1/").await.status, 404);
}

/// SERVICE section 6: 503 without enough results for predictions, and lists are empty.
#[tokio::test]
async fn without_results_there_is_no_prediction() {
    let hub = Hub::shared(&["serve"], &FEW_RESULTS);
    let key = hub.key(&["odds"]);
    let live = rows(&hub, "/odds/api/events/?sport=football&status=live", &key).await;
    let id = &live["results"][0]["event_id"];
    assert_eq!(hub.get_as(&key, &format!("/api/v2/events/{id}/prediction/")).await.status, 503);
    assert_eq!(hub.json(&key, "/api/v2/predictions/?upcoming=true").await["count"], 0);
    assert_eq!(hub.get_as(&key, "/api/v2/predictions/?min_confidence=7").await.status, 400);
}
