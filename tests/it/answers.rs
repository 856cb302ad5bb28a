//! REST responses match the answer sheets of the shared recordings, field by field.
//!
//! The tests import recordings with `matchwire import` or play them with `matchwire replay`, as an
//! operator does, and request them as a customer does. Points of tennis are compared in
//! `sports_api::recordings`, and documents of the stream in `replay`.
//!
//! REST does not show these parts of the sheets:
//! - Sizes, hashes, counts of messages and of timestamps out of order: they describe the file.
//! - Ids of providers. The hub has its own ids, with one id per player; `refs` are on the stream.
//! - Seconds and timestamps of incidents, the moments at which periods began and ended, reasons of
//!   substitutions, and `winner` and `duration` of football, which follow from the scores.
//! - Counts of event kinds that no team counter uses: duels, carries, pressure.
//! - Of Betfair's markets the ladders, traded amounts, the last traded price and transitions of
//!   status: REST shows the best price to back while there is one. Historic files of the tier BASIC
//!   contain only last prices, and so REST shows no price for them.
//! - Prices over all bookmakers of football-data.co.uk (`BbMx`, `BbAv`, `Max`, `Avg`): they belong
//!   to no bookmaker. Here the consensus is computed from the prices.
//! - `/scores` of The Odds API: the time of the last update.
//! - A settlement or a cancellation alone (`bet_settlement.xml`, `bet_cancel.xml`): markets of
//!   matches without other data.

pub(crate) mod agreement;
mod analysis;
mod football;
mod odds;
pub(crate) mod seasons;
mod state;
mod versions;

use std::{path::PathBuf, sync::Arc};

use serde_json::Value;

use crate::{
    import::imported,
    support::{Hub, QUIET, TestDatabase, shared},
};

/// A hub with the data of recordings, and a customer's key.
struct RecordedHub {
    hub: Arc<Hub>,
    key: String,
}

impl RecordedHub {
    /// On a database with every recording that [`imported`] contains.
    fn imported() -> Option<Self> {
        Some(Self::new(imported()?.hub()))
    }

    /// On a database with these imported; `None`, with a message, if they are missing.
    fn import(files: &[&str]) -> Option<Self> {
        let files: Vec<PathBuf> = files.iter().map(|file| shared(file)).collect::<Option<_>>()?;
        Some(Self::new(Hub::shared_from(&format!("import {files:?}"), || {
            let database = TestDatabase::file();
            let output =
                database.program().args(["import", "--db", &database.db()]).args(&files).output();
            let output = output.expect("the program runs");
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(said.matches(", 0 messages refused").count(), files.len(), "{said}");
            Hub::start_on(&database, &["serve"], &[QUIET])
        })))
    }

    /// Plays these at full speed, and keeps running.
    fn replay(files: &[&str]) -> Option<Self> {
        let files: Vec<PathBuf> = files.iter().map(|file| shared(file)).collect::<Option<_>>()?;
        let files = files.iter().map(|file| file.to_str().expect("a path of text"));
        let arguments: Vec<_> = ["replay", "--speed", "max"].into_iter().chain(files).collect();
        Some(Self::new(Hub::shared(&arguments, &[])))
    }

    fn new(hub: Arc<Hub>) -> Self {
        let key = hub.key(&["sports", "odds"]);
        Self { hub, key }
    }

    /// A successful response.
    async fn get(&self, path: &str) -> Value {
        self.hub.json(&self.key, path).await
    }

    /// The same, as soon as the condition holds: replayed data appears with a delay.
    async fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        self.hub.json_until(&self.key, path, is_so).await
    }

    /// All rows of a list, page by page.
    async fn all(&self, path: &str) -> Vec<Value> {
        let mut rows = Vec::new();
        let mut next = Some(path.to_owned());
        while let Some(path) = next {
            let page = self.get(&path).await;
            rows.extend(array(&page["results"]).iter().cloned());
            let path_of =
                |url: &str| url.split_once(&*self.hub.address).map(|(_, path)| path.to_owned());
            next = page["next"].as_str().and_then(path_of);
        }
        rows
    }

    /// The one football match between these two.
    async fn event(&self, home: &Value, away: &Value) -> Value {
        let name = home.as_str().expect("a name").replace(' ', "%20");
        let rows = self.all(&format!("/api/v2/events/?limit=200&team_name={name}")).await;
        let mut found =
            rows.iter().filter(|row| row["home_team"] == *home && row["away_team"] == *away);
        let event = found.next().unwrap_or_else(|| panic!("{home} v {away} is not among {rows:?}"));
        assert!(found.next().is_none(), "{home} v {away} is there twice");
        let detail = self.get(&format!("/api/v2/events/{}/", event["id"])).await;
        assert_eq!(detail, *event, "a match is the same in a list and alone");
        detail
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no count: {value}"))
}

/// `home` and `away` of an object, as a pair.
fn pair(sides: &Value) -> [Value; 2] {
    ["home", "away"].map(|side| sides[side].clone())
}
