//! The live figures: readings of the metrics, the hub and the store at one time.

use std::{collections::BTreeMap, fmt};

use fanout::encode::payload;
use serde::{Serialize, Serializer, ser::SerializeTuple};
use serde_json::Value;
use tokio::sync::Mutex;

use super::{
    memory,
    rate::{CounterRate, READING_INTERVAL_MIN},
    samples::{Histogram, Samples},
};
use crate::http::{Shared, channel};
use accounts::{Micros, books::DailyFigures};
use cluster::ClusterState;

/// How long the store's figures are cached: several operators may poll every two seconds.
const TODAY_CACHED_FOR: Micros = 5_000_000;

/// State between two readings.
#[derive(Debug)]
pub(super) struct FigureHistory {
    state: Mutex<FigureState>,
}

#[derive(Debug)]
struct FigureState {
    deliveries: CounterRate,
    publications: CounterRate,
    delays: PublishDelays,
    today: Option<(Micros, DailyFigures)>,
}

/// The publish delays counted between the last two readings.
#[derive(Debug, Default)]
struct PublishDelays {
    at: Micros,
    all: Histogram,
    between: Histogram,
}

impl PublishDelays {
    fn at(&mut self, now: Micros, all: Histogram) -> Histogram {
        if now - self.at >= READING_INTERVAL_MIN {
            let between = all.since(&self.all);
            if between.count() > 0.0 {
                self.between = between;
            }
            (self.at, self.all) = (now, all);
        }
        self.between.clone()
    }
}

/// All figures of one reading.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    pub(super) at: Micros,
    pub(super) tiles: Vec<Tile>,
    pub(super) feeds: Vec<Feed>,
    /// `None` for a hub that runs alone.
    pub(super) cluster: Option<ClusterState>,
    /// Counts since the start, by table.
    pub(super) tables: BTreeMap<&'static str, Vec<(String, u64)>>,
}

/// One figure, serialized as its name, its kind and its value.
#[derive(Debug)]
pub(super) struct Tile {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) value: Figure,
}

/// A value with its unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Figure {
    Count(u64),
    /// Per second.
    Rate(Option<f64>),
    Ms(Option<f64>),
    Bytes(Option<u64>),
    Text(String),
}

/// A source and its state.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Feed {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) state: String,
    pub(super) tone: &'static str,
    pub(super) why: String,
    pub(super) last_ms_ago: Option<i64>,
    pub(super) messages: u64,
    pub(super) refused: u64,
}

impl FigureHistory {
    pub(super) fn new(now: Micros) -> Self {
        let (deliveries, publications) = (CounterRate::new(now), CounterRate::new(now));
        let delays = PublishDelays::default();
        Self { state: Mutex::new(FigureState { deliveries, publications, delays, today: None }) }
    }
}

impl Figures {
    /// Reads all figures.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub(super) async fn read(
        shared: &Shared,
        history: &FigureHistory,
        now: Micros,
    ) -> Result<Self, sqlx::Error> {
        let samples = Samples::parse(&shared.parts.metrics.render());
        let feeds = feeds(shared, now).await;
        let mut state = history.state.lock().await;
        let today = state.today(shared, now).await?;
        let tables = [
            ("closes", samples.by("matchwire_closes_total", "reason")),
            ("refusals", samples.by("matchwire_sockets_refused_total", "reason")),
            ("requests", samples.by("matchwire_requests_refused_total", "reason")),
        ];
        Ok(Self {
            at: now,
            tiles: tiles(shared, &samples, &mut state, &today, now),
            feeds,
            cluster: shared.parts.hub.cluster.as_ref().map(|view| (view.0)()),
            tables: tables.map(|(name, counts)| (name, counted(counts))).into(),
        })
    }
}

impl FigureState {
    async fn today(&mut self, shared: &Shared, now: Micros) -> Result<DailyFigures, sqlx::Error> {
        if let Some((at, today)) = &self.today
            && (0..TODAY_CACHED_FOR).contains(&(now - at))
        {
            return Ok(today.clone());
        }
        let today = DailyFigures::read(shared.parts.customers.accounts.database(), now).await?;
        self.today = Some((now, today.clone()));
        Ok(today)
    }
}

fn tiles(
    shared: &Shared,
    samples: &Samples,
    state: &mut FigureState,
    today: &DailyFigures,
    now: Micros,
) -> Vec<Tile> {
    let sum = |name| samples.sum(name).unwrap_or(0.0);
    let count = |name| Figure::Count(whole(sum(name)));
    let delays = state.delays.at(now, samples.histogram("matchwire_publish_delay_seconds"));
    let delay = |share| Figure::Ms(delays.quantile(share).map(|seconds| seconds * 1000.0));
    let deliveries = state.deliveries.at(now, sum("matchwire_deliveries_total"));
    let publications = state.publications.at(now, sum("matchwire_publications_total"));
    let tile = |name, title, value| Tile { name, title, value };
    vec![
        tile("sockets", "Open sockets", Figure::Count(shared.parts.hub.fanout.sockets() as u64)),
        tile("deliveries_rate", "Delivery rate", Figure::Rate(deliveries)),
        tile("deliveries", "Deliveries since start", count("matchwire_deliveries_total")),
        tile("publications_rate", "Publish rate", Figure::Rate(publications)),
        tile("lag_half", "Publish lag p50", delay(0.5)),
        tile("lag_most", "Publish lag p99", delay(0.99)),
        tile("behind", "Slow-consumer events", count("matchwire_behind_total")),
        tile("overruns", "Shard overruns", count("matchwire_mailbox_overflows_total")),
        tile("matches", "Matches", count("matchwire_matches")),
        tile("channels", "Channels", count("matchwire_channels")),
        tile("mails_waiting", "Mail queue", Figure::Count(today.mails_waiting)),
        tile("mails_failed", "Mails failed today", Figure::Count(today.mails_failed)),
        tile("orders_made", "Orders today", Figure::Count(today.orders_made)),
        tile("orders_paid", "Orders paid today", Figure::Count(today.orders_paid)),
        tile("earned", "Revenue today", Figure::Text(today.earned())),
        tile("memory", "Process memory", Figure::Bytes(memory::resident())),
    ]
}

/// The sources, from the channel `feeds`; empty while the hub is stopping.
pub(super) async fn feeds(shared: &Shared, now: Micros) -> Vec<Feed> {
    let Ok(image) = channel::image(shared, "feeds", 0).await else { return Vec::new() };
    let frame: Value = serde_json::from_slice(payload(&image.frame).as_ref()).unwrap_or_default();
    let sources = frame["data"]["sources"].as_object();
    sources.into_iter().flatten().map(|(name, source)| Feed::new(name, source, now)).collect()
}

impl Feed {
    fn new(name: &str, source: &Value, now: Micros) -> Self {
        let text = |field: &str| source[field].as_str().unwrap_or_default().to_owned();
        let number = |field: &str| source[field].as_u64().unwrap_or_default();
        let state = text("state");
        let ended = source["ended"] == true;
        Self {
            name: name.to_owned(),
            kind: text("kind"),
            tone: match &*state {
                _ if ended => "",
                "live" => "live",
                "recovering" => "warn",
                _ => "bad",
            },
            state: if ended { "ended".to_owned() } else { state },
            why: text("why"),
            last_ms_ago: source["last"].as_i64().map(|last| (now - last).max(0) / 1000),
            messages: number("messages"),
            refused: number("quarantined"),
        }
    }

    /// The time since its last message.
    pub(super) fn ago(&self) -> String {
        match self.last_ms_ago {
            None => "–".to_owned(),
            Some(ms) if ms < 10_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
            Some(ms) => format!("{} s", ms / 1000),
        }
    }

    pub(super) fn tone(&self) -> &'static str {
        self.tone
    }
}

impl Figure {
    fn kind(&self) -> &'static str {
        match self {
            Self::Count(_) => "count",
            Self::Rate(_) => "rate",
            Self::Ms(_) => "ms",
            Self::Bytes(_) => "bytes",
            Self::Text(_) => "text",
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Rate(Some(rate)) => write!(f, "{rate:.1} /s"),
            Self::Ms(Some(ms)) => write!(f, "{ms:.1} ms"),
            Self::Bytes(Some(bytes)) => {
                write!(f, "{}.{} MiB", bytes >> 20, ((bytes >> 10) % 1024) * 10 / 1024)
            }
            Self::Rate(None) | Self::Ms(None) | Self::Bytes(None) => f.write_str("–"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Serialize for Tile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(3)?;
        tuple.serialize_element(self.name)?;
        tuple.serialize_element(self.value.kind())?;
        match &self.value {
            Figure::Count(count) => tuple.serialize_element(count)?,
            Figure::Rate(value) | Figure::Ms(value) => tuple.serialize_element(value)?,
            Figure::Bytes(bytes) => tuple.serialize_element(bytes)?,
            Figure::Text(text) => tuple.serialize_element(text)?,
        }
        tuple.end()
    }
}

/// The most frequent first.
fn counted(counts: BTreeMap<String, f64>) -> Vec<(String, u64)> {
    let mut counts: Vec<_> = counts.into_iter().map(|(what, count)| (what, whole(count))).collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count: whole, not below zero, and as a float below 2^64"
)]
fn whole(count: f64) -> u64 {
    count.max(0.0).round() as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(figure: Figure, text: &str, sent: impl Into<Value>) {
        assert_eq!(figure.to_string(), text);
        let kind = figure.kind();
        let tile = Tile { name: "n", title: "t", value: figure };
        assert_eq!(serde_json::to_value(tile).unwrap(), json!(["n", kind, sent.into()]));
    }

    #[test]
    fn figures_are_written_and_sent_with_their_unit() {
        check(Figure::Count(12_345), "12345", json!(12_345));
        check(Figure::Rate(Some(12.34)), "12.3 /s", json!(12.34));
        check(Figure::Rate(None), "–", Value::Null);
        check(Figure::Ms(Some(0.25)), "0.2 ms", json!(0.25));
        check(Figure::Bytes(Some(3 << 19)), "1.5 MiB", json!(3 << 19));
        check(Figure::Text("5.00 USD".to_owned()), "5.00 USD", json!("5.00 USD"));
    }

    #[test]
    fn most_frequent_comes_first() {
        let counts = [("a", 1.0), ("b", 5.0), ("c", 2.0)].map(|(it, n)| (it.to_owned(), n));
        let shown = counted(counts.into());
        assert_eq!(shown, [("b".to_owned(), 5), ("c".to_owned(), 2), ("a".to_owned(), 1)]);
    }

    #[test]
    fn source_is_shown_with_its_state() {
        let source = json!({"state": "late", "kind": "betfair-stream", "why": "silent for 9 ms",
            "last": 1_000_000, "messages": 7, "quarantined": 1, "ended": false});
        let feed = Feed::new("exchange", &source, 2_500_000);
        assert_eq!((&*feed.state, feed.tone, &*feed.why), ("late", "bad", "silent for 9 ms"));
        assert_eq!((feed.last_ms_ago, &*feed.ago()), (Some(1500), "1.5 s"));
        let over = json!({"state": "live", "kind": "x", "ended": true});
        assert_eq!(Feed::new("x", &over, 0).state, "ended");
        assert_eq!(Feed::new("x", &json!({}), 0).ago(), "–");
    }
}
