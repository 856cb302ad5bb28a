//! The names of a Betfair stream, which come from the catalogue of Betfair's Betting API.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use axum::{Json, Router, extract::State, http::HeaderMap, routing::post};
use hyper::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{
    betfair::{HeartbeatConnection, Provider, SECRETS, own_stream},
    check_secrets, ending, follower,
    peers::betfair::stream::Stream,
    serve, until,
};
use crate::support::Client;

/// The Betting API as far as a source uses it. The first request fails.
#[derive(Debug, Default)]
struct BettingApi {
    requests: AtomicUsize,
    /// The markets of each answered request.
    answered: Mutex<Vec<Value>>,
}

impl BettingApi {
    /// Serves it until the runtime ends; returns its address.
    async fn start(self: &Arc<Self>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it listens");
        let app = Router::new()
            .route("/rest/v1.0/listMarketCatalogue/", post(answer))
            .with_state(Arc::clone(self));
        tokio::spawn(axum::serve(listener, app).into_future());
        format!("http://{address}/rest/v1.0")
    }
}

async fn answer(
    State(api): State<Arc<BettingApi>>,
    headers: HeaderMap,
    Json(request): Json<Value>,
) -> Result<Json<Value>, StatusCode> {
    if api.requests.fetch_add(1, Ordering::Relaxed) == 0 {
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    let credentials = ["x-application", "x-authentication"].map(|name| headers[name].to_str().ok());
    assert_eq!(credentials, SECRETS.map(Some));
    let markets = &request["filter"]["marketIds"];
    api.answered.lock().expect("no panic").push(markets.clone());
    let named = markets.as_array().expect("a list").iter().map(|id| {
        let event = id.as_str().and_then(|id| id.strip_prefix("1.")).expect("a market");
        let runner =
            |id: u32, name: &str| json!({"selectionId": id, "runnerName": name, "handicap": 0.0});
        let (one, other) = (format!("Ann {event}"), format!("Bea {event}"));
        json!({
            "marketId": id, "marketName": "Match Odds", "totalMatched": 1.5,
            "competition": {"id": "12", "name": "Open"},
            "event": {"id": event, "name": format!("{one} v {other}"), "timezone": "GMT"},
            "runners": [runner(7, &one), runner(8, &other)],
        })
    });
    Ok(Json(named.collect()))
}

#[tokio::test]
async fn names_come_from_the_catalogue() {
    let api = Arc::new(BettingApi::default());
    let url = api.start().await;
    let provider = Provider::start().await;
    let table = provider.table("exchange");
    let hub = serve(&table.replace("catalogue = \"\"", &format!("catalogue = {url:?}")));
    let mut client = follower(&hub).await;
    let (mut caller, request) = provider.subscribed().await;
    let nameless: Vec<_> =
        own_stream().iter().map(|line| line.replace("\"eventName\":\"A v B\",", "")).collect();
    let stream = Arc::new(Stream::new(nameless.iter().map(String::as_str)));
    let at = stream.catch_up(&mut caller, &request, 0, 1).await.expect("the receiver is open");
    let attended = HeartbeatConnection::new(&stream, caller, &request, at);
    until(&mut client, "exchange", "live").await;
    attended.play(stream.end()).await;

    let players = |client: &Client| {
        let matches = client.channels.iter().filter(|(name, _)| {
            name.strip_prefix("tennis/").is_some_and(|rest| !rest.contains('/'))
        });
        let sides = ["p1", "p2"];
        let mut names: Vec<_> =
            matches.map(|(_, it)| sides.map(|side| it.data[side]["name"].clone())).collect();
        names.sort_by_key(|names| names[0].to_string());
        json!(names)
    };
    let all = json!([["Ann 30", "Bea 30"], ["Ann 31", "Bea 31"]]);
    client.until(|client| players(client) == all).await;
    let is_named = |client: &Client| {
        let books = ending(client, "/odds/betfair");
        books.len() == 2
            && books.iter().all(|(_, book)| {
                let markets = book.data["markets"].as_object().expect("markets").values();
                let mut selections = markets.flat_map(|market| {
                    market["selections"].as_object().expect("selections").values()
                });
                selections.all(|selection| selection["name"].is_string())
            })
    };
    client.until(is_named).await;

    let mut asked: Vec<_> = api
        .answered
        .lock()
        .expect("no panic")
        .iter()
        .flat_map(|markets| markets.as_array().expect("a list").clone())
        .collect();
    asked.sort_by_key(Value::to_string);
    assert_eq!(json!(asked), json!(["1.30", "1.31"]), "each is requested once");
    check_secrets(hub, &client, &SECRETS).await;
}
