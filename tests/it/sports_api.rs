//! The REST interface of the other sports, with pushed and replayed data.

mod racing;
mod recordings;
mod scoreboards;
mod tennis;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::{Answer, Hub, QUIET};

const DAY: i64 = 24 * 60 * 60 * 1_000_000;
const HOUR: i64 = DAY / 24;

/// A hub without its own sources, a customer's key, and a pushing source of its own.
struct Stage {
    hub: Arc<Hub>,
    key: String,
    source: String,
    feed: String,
    now: i64,
    lines: Vec<Value>,
}

impl Stage {
    fn new() -> Self {
        Self::on(Arc::new(Hub::start_with(&["serve"], &[QUIET])), "acme")
    }

    /// On the hub of tests that push the matches of one sport each, for the only one of this sport.
    fn of_sport(sport: &str) -> Self {
        Self::on(Hub::shared_by("a sport each", &["serve"], &[QUIET]), sport)
    }

    /// On the hub that tests share, to which nobody pushes.
    fn empty() -> Self {
        Self::on(Hub::quiet(), "acme")
    }

    fn on(hub: Arc<Hub>, source: &str) -> Self {
        let (key, feed) = (hub.key(&["sports"]), hub.feed_key(source, &[]));
        let now = Timestamp::now().as_microsecond();
        Self { hub, key, source: source.to_owned(), feed, now, lines: Vec::new() }
    }

    /// A fact about a match, with enough time after the one before it that the order is certain.
    fn add_fact(&mut self, sport: &str, name: &str, fact: Value) {
        let at = self.now - HOUR + i64::try_from(self.lines.len()).expect("a few");
        let mut line = json!({"at": at, "sport": sport, "match": name});
        line["fact"] = fact;
        self.lines.push(line);
    }

    /// A match of the league between two sides, at a time relative to now.
    fn fixture(&mut self, sport: &str, name: &str, sides: [&str; 2], from_now: i64) {
        let sides = sides.map(|side| json!({"name": side, "key": side}));
        let fixture = json!({
            "competition": {"name": "ATP League", "key": "l"},
            "start": self.now + from_now,
            "sides": sides,
        });
        self.add_fact(sport, name, json!({"fixture": fixture}));
    }

    /// A bookmaker's prices for the winner; the sport determines the outcomes.
    fn prices(&mut self, sport: &str, name: &str, book: &str, prices: &[(&str, &str)]) {
        let selections = prices
            .iter()
            .map(|(outcome, _)| json!({"id": outcome, "status": "active", "outcome": outcome}));
        let define = json!({
            "kind": "match_winner",
            "status": "open",
            "in_play": false,
            "selections": selections.collect::<Vec<_>>(),
        });
        let changed = prices.iter().map(|(outcome, price)| json!({"id": outcome, "price": price}));
        let changed = json!({"selections": changed.collect::<Vec<_>>()});
        for change in [json!({"define": define}), json!({"prices": changed})] {
            let odds = json!({"book": book, "market": format!("{book}-m"), "change": change});
            self.add_fact(sport, name, json!({"odds": odds}));
        }
    }

    async fn push(&self) {
        let lines: Vec<_> = self.lines.iter().map(Value::to_string).collect();
        self.hub.push_from(&self.source, &self.feed, &lines).await;
    }

    async fn ask(&self, path: &str) -> Answer {
        self.hub.get_as(&self.key, path).await
    }

    /// A successful response.
    async fn get(&self, path: &str) -> Value {
        self.hub.json(&self.key, path).await
    }

    /// The response as soon as the condition holds: pushed data is archived with a delay.
    async fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        self.hub.json_until(&self.key, path, is_so).await
    }
}

/// The values of a field of each row of a page.
fn each(page: &Value, pointer: &str) -> Vec<Value> {
    let rows = page["results"].as_array().unwrap_or_else(|| panic!("no page: {page}"));
    rows.iter().map(|row| row.pointer(pointer).cloned().unwrap_or_default()).collect()
}

/// The id in the first row of a page.
fn first_id(page: &Value) -> u64 {
    page["results"][0]["id"].as_u64().unwrap_or_else(|| panic!("no rows: {page}"))
}

#[tokio::test]
async fn unknown_paths_are_404_and_invalid_parameters_are_400() {
    let stage = Stage::empty();
    for path in [
        "/tennis/api/v2/matches/7/",
        "/tennis/api/v2/matches/nonsense/",
        "/tennis/api/v2/matches/7/nothing/",
        "/hockey/api/v2/standings/?league=7",
        "/darts/api/v2/players/7/",
        "/csgo/api/v2/nothing/",
        "/basketball/api/v2/players/7/games/",
        "/horseracing/api/v2/runners/7/odds/",
    ] {
        let answer = stage.ask(path).await;
        let body = answer.json();
        assert_eq!((answer.status, &body["status"]), (404, &json!(404)), "{path}: {body}");
        assert_eq!(body["error"], true, "{path}");
    }
    // Padel has no matches.
    assert_eq!(stage.ask("/padel/api/v2/matches/").await.status, 404);
    let answer = stage.ask("/hockey/api/v2/matches/?leaguee=7").await;
    let body = answer.json();
    assert_eq!((answer.status, &body["suggestions"][0]["suggestion"]), (400, &json!("league")));
    for path in ["/basketball/api/v2/standings/", "/darts/api/v2/matches/?date_from=soon"] {
        assert_eq!(stage.ask(path).await.status, 400, "{path}");
    }
}

/// Each list of an empty hub is an empty page.
#[tokio::test]
async fn lists_without_data_are_empty() {
    let stage = Stage::empty();
    for path in [
        "tennis/api/v2/matches",
        "tennis/api/v2/players",
        "tennis/api/v2/predictions",
        "tennis/api/v2/rankings",
        "tennis/api/v2/tournaments",
        "csgo/api/v2/matches",
        "csgo/api/v2/matches/live",
        "csgo/api/v2/players",
        "csgo/api/v2/predictions",
        "csgo/api/v2/teams",
        "csgo/api/v2/tournaments",
        "darts/api/v2/matches",
        "darts/api/v2/matches/live",
        "darts/api/v2/players",
        "darts/api/v2/predictions",
        "darts/api/v2/rankings",
        "darts/api/v2/tournaments",
        "hockey/api/v2/leagues",
        "hockey/api/v2/matches",
        "hockey/api/v2/matches/live",
        "hockey/api/v2/predictions",
        "hockey/api/v2/teams",
        "basketball/api/v2/events",
        "basketball/api/v2/events/live",
        "basketball/api/v2/leagues",
        "basketball/api/v2/managers",
        "basketball/api/v2/players",
        "basketball/api/v2/predictions",
        "basketball/api/v2/teams",
        "basketball/api/v2/venues",
        "horseracing/api/v2/horses",
        "horseracing/api/v2/jockeys",
        "horseracing/api/v2/trainers",
        "horseracing/api/v2/meetings",
        "horseracing/api/v2/tracks",
        "horseracing/api/v2/races",
        "horseracing/api/v2/races/live",
        "horseracing/api/v2/runners",
    ] {
        let page = stage.get(&format!("/{path}/")).await;
        let empty = json!({"count": 0, "next": null, "previous": null, "results": []});
        assert_eq!(page, empty, "{path}");
    }
    for path in ["/tennis/api/v2/matches/live/", "/horseracing/api/v2/races/next-to-jump/"] {
        assert_eq!(stage.get(path).await, json!([]), "{path}");
    }
}
