//! A hub with matches that a test pushes.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::client::McpClient;
use crate::support::{ALL_ADDONS, Hub, QUIET, Setting};

pub(super) const MINUTE: i64 = 60 * 1_000_000;

/// A hub without sources of its own, a key with all add-ons, and a pushing source.
pub(super) struct Stage {
    pub(super) hub: Arc<Hub>,
    pub(super) key: String,
    pub(super) feed_key: String,
    pub(super) now: i64,
    /// What names of matches and sides begin with.
    prefix: String,
}

impl Stage {
    pub(super) fn new(settings: &[Setting]) -> Self {
        let hub = Hub::start_with(&["serve"], &[&[QUIET], settings].concat());
        Self::on(Arc::new(hub), String::new())
    }

    /// On a hub that tests share, where the matches of each have names of their own.
    pub(super) fn shared() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let prefix = format!("{}. ", COUNT.fetch_add(1, Ordering::Relaxed));
        Self::on(Hub::shared_by("pushed over MCP", &["serve"], &[QUIET]), prefix)
    }

    fn on(hub: Arc<Hub>, prefix: String) -> Self {
        let (key, feed_key) = (hub.key(&ALL_ADDONS), hub.feed_key("acme", &[]));
        Self { hub, key, feed_key, now: Timestamp::now().as_microsecond(), prefix }
    }

    /// The hub, which no other test uses.
    pub(super) fn own_hub(&mut self) -> &mut Hub {
        Arc::get_mut(&mut self.hub).expect("a hub that is not shared")
    }

    pub(super) fn client(&self) -> McpClient {
        McpClient::new(&self.hub, &self.key)
    }

    /// Pushes facts about a match, as one line each.
    pub(super) async fn push(&self, sport: &str, name: &str, facts: &[Value]) {
        let name = format!("{}{name}", self.prefix);
        let lines: Vec<String> = facts.iter().map(|fact| line(sport, &name, fact)).collect();
        self.hub.push(&self.feed_key, &lines).await;
    }

    /// A football match in its first half that began half an hour ago, and its id.
    pub(super) async fn football(&self, name: &str, sides: [&str; 2]) -> u64 {
        let sides = sides.map(|side| format!("{}{side}", self.prefix));
        let facts = [
            self.fixture(sides.each_ref().map(|side| &**side), -30),
            json!({"football": {"status": "first_half"}}),
            json!({"football": {"score": {"goals": [0, 0]}}}),
        ];
        self.push("football", name, &facts).await;
        self.id("/api/v2/events/live/", &sides[0]).await
    }

    /// A fixture that begins so many minutes from now.
    pub(super) fn fixture(&self, [home, away]: [&str; 2], minutes: i64) -> Value {
        json!({"fixture": {
            "competition": {"name": "Premier League", "key": "pl", "season": "2026/27"},
            "start": self.now + minutes * MINUTE,
            "sides": [{"name": home, "key": home}, {"name": away, "key": away}],
        }})
    }

    /// The id of the match with this home side, once REST lists it.
    pub(super) async fn id(&self, path: &str, home: &str) -> u64 {
        let rows = |page: &Value| page.get("results").or_else(|| page.get("events")).cloned();
        let id_in = |page: &Value| -> Option<u64> {
            let rows = rows(page).unwrap_or_else(|| page.clone());
            let mut rows = rows.as_array()?.iter();
            rows.find(|row| row["home_team"] == home || row["home_team"]["name"] == home)?["id"]
                .as_u64()
        };
        let page = self.hub.json_until(&self.key, path, |page| id_in(page).is_some()).await;
        id_in(&page).expect("it is there")
    }
}

/// A line of the push interface about now.
pub(super) fn line(sport: &str, name: &str, fact: &Value) -> String {
    json!({"sport": sport, "match": name, "fact": fact}).to_string()
}

/// A regular goal.
pub(super) fn goal(eid: &str, minute: u32, score: [u32; 2]) -> Vec<Value> {
    let kind = json!({"goal": "regular"});
    vec![
        json!({"football": {"incident": {
            "eid": eid, "kind": kind, "minute": minute, "side": "home", "player": {"name": "A. Striker", "key": "9"},
            "score": score,
        }}}),
        json!({"football": {"score": {"goals": score}}}),
    ]
}

/// A card, which is an event and no goal.
pub(super) fn card(eid: &str, minute: u32) -> Value {
    json!({"football": {"incident": {
        "eid": eid, "kind": "yellow", "minute": minute, "side": "away", "player": {"name": "B. Back", "key": "4"},
    }}})
}

/// A market of a bookmaker for the winner, in this status.
pub(super) fn market(book: &str, status: &str) -> Value {
    let selections: Vec<Value> = ["home", "draw", "away"]
        .iter()
        .map(|outcome| json!({"id": outcome, "status": "active", "outcome": outcome}))
        .collect();
    let define = json!({"kind": "match_winner", "status": status, "in_play": true, "selections": selections});
    json!({"odds": {"book": book, "market": format!("{book}-m"), "change": {"define": define}}})
}

/// Its prices.
pub(super) fn prices(book: &str, prices: [&str; 3]) -> Value {
    let selections: Vec<Value> = ["home", "draw", "away"]
        .iter()
        .zip(prices)
        .map(|(id, price)| json!({"id": id, "price": price}))
        .collect();
    let changed = json!({"prices": {"selections": selections}});
    json!({"odds": {"book": book, "market": format!("{book}-m"), "change": changed}})
}
