//! The Odds API, polled: its prices, its quota, and an outage.

use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use serde_json::json;

use super::{
    check_held, check_metric, check_secrets, follower, one,
    peers::http::{ReceivedRequest, Reply, Server},
    serve, until,
};
use crate::support::{Client, SECRET};

/// The start of the match, for all providers.
pub(super) const START: &str = "2026-11-21T15:00:00Z";

/// The odds of one match from two bookmakers, which differ slightly.
pub(super) fn odds(home: &str) -> String {
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let price = |price: &str| price.parse::<serde_json::Number>().expect("a price");
    let book = |key: &str, draw: &str| {
        let outcomes = [("Leeds United", home), ("Norwich City", "3.9"), ("Draw", draw)]
            .map(|(name, it)| json!({"name": name, "price": price(it)}));
        let market = json!({"key": "h2h", "last_update": now, "outcomes": outcomes});
        json!({"key": key, "title": key, "last_update": now, "markets": [market]})
    };
    let event = json!({
        "id": "e1", "sport_key": "soccer_epl", "sport_title": "Premier League",
        "commence_time": START, "home_team": "Leeds United", "away_team": "Norwich City",
        "bookmakers": [book("larkodds", "3.4"), book("quillbook", "3.5")],
    });
    json!([event]).to_string()
}

pub(super) fn table(url: &str) -> String {
    format!(
        "[[source]]\nname = \"odds\"\nkind = \"the-odds-api\"\nkey = {SECRET:?}\n\
         sports = [\"soccer_epl\"]\ninterval_ms = 50\nurl = {url:?}\n"
    )
}

/// The price currently offered, and its ETag.
type CurrentPrice = Arc<Mutex<&'static str>>;

/// Responds like the provider: not modified for a client that has the current version.
fn answer(price: &CurrentPrice) -> impl Fn(&ReceivedRequest) -> Reply + Send + Sync + use<> {
    let price = Arc::clone(price);
    move |request| {
        let home = *price.lock().expect("no handler panicked");
        let is_unchanged = request.headers.get("if-none-match").is_some_and(|etag| *etag == *home);
        let reply = if is_unchanged { Reply::status(304) } else { Reply::ok(&odds(home)) };
        reply.with("etag", home).with("x-requests-remaining", "4999").with("x-requests-used", "1")
    }
}

fn home_price(client: &Client) -> Option<&str> {
    let consensus = one(client, "/odds")?;
    consensus.data["markets"]["match_winner"]["selections"]["home"]["price"].as_str()
}

#[tokio::test]
async fn polled_odds_are_held_while_their_provider_is_down() {
    let price: CurrentPrice = Arc::new(Mutex::new("2.1"));
    let mut server = Server::start(answer(&price)).await;
    let port = server.addr.port();
    let hub = serve(&table(&server.url("")));
    let mut client = follower(&hub).await;
    let live = until(&mut client, "odds", "live").await;
    assert_eq!(live["kind"], "the-odds-api");
    client.until(|client| home_price(client) == Some("2.1")).await;
    let request = server.next_request().await;
    let expected = format!(
        "/v4/sports/soccer_epl/odds?regions=eu&markets=h2h&oddsFormat=decimal&apiKey={SECRET}"
    );
    assert_eq!(request.target, expected);
    // Unmodified responses are not sent again, and keep the source live.
    while server.next_request().await.headers.get("if-none-match").is_none_or(|etag| etag != "2.1")
    {
    }
    *price.lock().expect("no handler panicked") = "2.2";
    client.until(|client| home_price(client) == Some("2.2")).await;
    check_metric(&hub, "odds", "live").await;

    drop(server);
    let down = until(&mut client, "odds", "down").await;
    assert!(down["why"].as_str().is_some_and(|why| !why.contains(SECRET)), "{down}");
    check_held(&client, "down");
    check_metric(&hub, "odds", "down").await;

    *price.lock().expect("no handler panicked") = "2.3";
    let server = Server::start_on(port, answer(&price)).await;
    until(&mut client, "odds", "live").await;
    client.until(|client| home_price(client) == Some("2.3")).await;
    for book in ["/odds/larkodds", "/odds/quillbook", "/odds"] {
        let book = one(&client, book).expect("it is there");
        assert_eq!(book.data["suspended"], false, "{}", book.data);
        assert_eq!(book.data["feed"], "live", "{}", book.data);
    }
    check_metric(&hub, "odds", "live").await;
    check_secrets(hub, &client, &[]).await;
    drop(server);
}
