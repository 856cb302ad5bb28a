//! Matches that a test pushes.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use serde_json::{Value, json};

use crate::support::{Hub, QUIET, Setting};

/// A hub with pushed matches, and the key of the pushing source, which no other test has.
pub(super) struct PushHub {
    pub(super) hub: Arc<Hub>,
    source: String,
    feed: String,
    pub(super) key: String,
    line: u64,
}

impl PushHub {
    /// Pushes to a hub that tests share: the sides of its matches are no other test's, since the hub would join the matches.
    pub(super) fn shared() -> Self {
        Self::to(Hub::shared_by("pushed", &["serve"], &[QUIET]))
    }

    pub(super) fn start(settings: &[Setting]) -> Self {
        Self::to(Arc::new(Hub::start_with(&["serve"], &[&[QUIET], settings].concat())))
    }

    /// Pushes to a hub that may have its own sources.
    pub(super) fn to(hub: Arc<Hub>) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let source = format!("acme{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let (feed, key) = (hub.feed_key(&source, &[]), hub.key(&crate::support::ALL_ADDONS));
        Self { hub, source, feed, key, line: 0 }
    }

    pub(super) async fn push(&mut self, sport: &str, name: &str, fact: Value) {
        self.line += 1;
        // Ten seconds on the source's clock.
        let at = 1_788_280_000_000_000 + self.line * 10_000_000;
        let line = json!({"id": self.line.to_string(), "at": at, "sport": sport, "match": name,
            "fact": fact});
        let token = format!("Token {}", self.feed);
        let headers = [("authorization", &*token)];
        let path = format!("/ingest/v1/{}", self.source);
        let answer = self.hub.post(&path, &headers, line.to_string().as_bytes()).await;
        assert_eq!(answer.json()["accepted"], 1, "{answer:?} to {line}");
    }

    /// A football match in its first half, 0-0.
    pub(super) async fn football(&mut self, name: &str) -> u64 {
        let sides = json!([{"name": format!("Home {name}")}, {"name": format!("Away {name}")}]);
        self.push(
            "football",
            name,
            json!({"fixture": {"start": 1_788_280_000_000_000_u64, "sides": sides}}),
        )
        .await;
        self.push("football", name, json!({"football": {"status": "first_half"}})).await;
        self.id_of("football", "home", &format!("Home {name}")).await
    }

    pub(super) async fn tennis(&mut self, name: &str) -> u64 {
        let sides = json!([{"name": format!("A. {name}")}, {"name": format!("B. {name}")}]);
        self.push("tennis", name, json!({"fixture": {"sides": sides}})).await;
        self.push("tennis", name, json!({"tennis": {"status": "live"}})).await;
        self.push("tennis", name, json!({"tennis": {"score": {"server": "p1", "sets": [{"games": [0, 0]}], "points": 0}}})).await;
        self.id_of("tennis", "p1", &format!("A. {name}")).await
    }

    pub(super) async fn id_of(&self, sport: &str, side: &str, name: &str) -> u64 {
        let path = format!("/stream/v1/channels/{sport}?token={}", self.key);
        let board = self.hub.get(&path).await.json();
        let matches = board["data"]["matches"].as_object().expect("a board has matches");
        let (id, _) = matches
            .iter()
            .find(|(_, line)| line[side]["name"] == name)
            .unwrap_or_else(|| panic!("{name} is not on {board}"));
        id.parse().expect("an id")
    }

    pub(super) async fn prices(&mut self, name: &str, status: &str, home: &str) {
        let outcome =
            |id: &str, outcome: &str| json!({"id": id, "status": "active", "outcome": outcome});
        let define = json!({"kind": "match_winner", "status": status, "in_play": true,
            "selections": [outcome("1", "home"), outcome("x", "draw"), outcome("2", "away")]});
        let market =
            |change: Value| json!({"odds": {"book": "acmebet", "market": "m1", "change": change}});
        self.push("football", name, market(json!({"define": define}))).await;
        let price = |id: &str, price: &str| json!({"id": id, "price": price});
        let prices = json!({"prices": {"selections": [price("1", home), price("x", "3.40"), price("2", "3.55")]}});
        self.push("football", name, market(prices)).await;
    }
}
