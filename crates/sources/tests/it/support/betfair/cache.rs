//! The peer's markets, so that it can send an image of them at any moment.
//!
//! It keeps Betfair's own fields and the original text: it shares no code with the decoder under
//! test, and no number loses a digit.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Default)]
pub(crate) struct Cache(BTreeMap<String, Market>);

#[derive(Default)]
struct Market {
    definition: Option<Text>,
    is_closed: bool,
    volume: Option<Text>,
    runners: BTreeMap<(String, u64), Runner>,
}

#[derive(Default)]
struct Runner {
    /// `id`, `hc`, `ltp`, `tv`.
    fields: BTreeMap<String, Text>,
    /// The rows of each ladder, by price or level.
    ladders: BTreeMap<String, BTreeMap<u64, Text>>,
}

/// JSON as it stands.
type Text = Box<RawValue>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    id: String,
    #[serde(default)]
    img: bool,
    tv: Option<Text>,
    market_definition: Option<Text>,
    #[serde(default)]
    rc: Vec<BTreeMap<String, Text>>,
}

#[derive(Deserialize)]
struct Definition {
    status: String,
}

const FIELDS: [&str; 4] = ["id", "hc", "ltp", "tv"];
const LADDERS: [&str; 7] = ["atb", "atl", "trd", "batb", "batl", "bdatb", "bdatl"];

impl Cache {
    /// `is_image`: the change contains the whole market.
    pub(crate) fn apply(&mut self, change: &str, is_image: bool) {
        let change: Change = serde_json::from_str(change).expect("a market change");
        let market = self.0.entry(change.id).or_default();
        if is_image || change.img {
            (market.volume, market.runners) = Default::default();
        }
        if let Some(definition) = change.market_definition {
            let Definition { status } = serde_json::from_str(definition.get()).expect("a status");
            market.is_closed = status == "CLOSED";
            market.definition = Some(definition);
        }
        market.volume = change.tv.or_else(|| market.volume.take());
        for runner in change.rc {
            let hc = runner.get("hc").map_or(0, |hc| key(hc));
            let id = runner["id"].get().to_owned();
            market.runners.entry((id, hc)).or_default().apply(runner);
        }
    }

    /// All markets as changes that are images. Closed markets are in none.
    pub(crate) fn image(&self) -> Vec<String> {
        let open = self.0.iter().filter(|(_, market)| !market.is_closed);
        open.filter_map(|(id, market)| market.image(id)).collect()
    }
}

impl Market {
    fn image(&self, id: &str) -> Option<String> {
        let definition = self.definition.as_ref()?;
        let volume = self.volume.as_ref().map(|volume| format!(r#","tv":{volume}"#));
        let volume = volume.unwrap_or_default();
        let runners: Vec<_> = self.runners.values().map(Runner::image).collect();
        let runners = runners.join(",");
        Some(format!(r#"{{"id":"{id}","marketDefinition":{definition}{volume},"rc":[{runners}]}}"#))
    }
}

impl Runner {
    fn apply(&mut self, change: BTreeMap<String, Text>) {
        for (name, value) in change {
            if FIELDS.contains(&&*name) {
                self.fields.insert(name, value);
            } else if LADDERS.contains(&&*name) {
                let rows: Vec<Text> = serde_json::from_str(value.get()).expect("a ladder");
                let ladder = self.ladders.entry(name).or_default();
                rows.into_iter().for_each(|row| set(ladder, row));
            }
        }
    }

    fn image(&self) -> String {
        let fields = self.fields.iter().map(|(name, value)| format!(r#""{name}":{value}"#));
        let ladders = self.ladders.iter().map(|(name, ladder)| {
            let rows: Vec<_> = ladder.values().map(|row| row.get()).collect();
            format!(r#""{name}":[{}]"#, rows.join(","))
        });
        let all: Vec<_> = fields.chain(ladders).collect();
        format!("{{{}}}", all.join(","))
    }
}

/// Sets a row, identified by its first number; size 0, the last number, removes it.
fn set(ladder: &mut BTreeMap<u64, Text>, row: Text) {
    let numbers: Vec<Text> = serde_json::from_str(row.get()).expect("a row");
    let [first, .., size] = &*numbers else { panic!("{row} is no row") };
    if key(size) == 0 {
        ladder.remove(&key(first));
    } else {
        ladder.insert(key(first), row);
    }
}

/// A number as a key: 5 and 5.0 are equal.
fn key(number: &RawValue) -> u64 {
    let number: f64 = number.get().parse().expect("a number");
    number.to_bits()
}
