//! `[[source]]`: the live feeds, one table each.
//!
//! `name`, `kind`, `deadline_ms` and the ranks are common to all; the other keys of a table depend
//! on its kind. `docs/SOURCES.md` explains them with examples.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Deserializer, de::Error};
use toml::{Table, Value};

use base::config::SecretRef;
use hub::feeds::FactKind;

/// `[[source]]`: a live source, one table each, in the file alone. With at least one, the demo does not run. A secret
/// is `env:NAME`, `file:PATH`, or the value itself. docs/SOURCES.md describes the kinds.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceConfig {
    /// Its name in the channel `feeds`, in logs, metrics and paths: letters, digits, `.`, `_`, `-`.
    pub name: String,
    /// Milliseconds of silence after which the source is late and its books are held back. The default depends on the
    /// kind: docs/SOURCES.md#the-state-of-a-source.
    pub deadline_ms: Option<u64>,
    /// Priority among sources that report the same match, 0 to 255; the live one with the highest leads. Default 100.
    pub rank: u8,
    /// The rank for one kind of fact: `fixture`, `score`, `incidents`, `stats`, `ball`, `odds`.
    pub ranks: BTreeMap<String, u8>,
    /// `betfair-stream`, `the-odds-api`, `api-football`, `sportradar-uof`, `websocket` or `matchwire`. Each has
    /// further settings.
    pub kind: SourceKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SourceKind {
    BetfairStream(BetfairStreamConfig),
    TheOddsApi(TheOddsApiConfig),
    ApiFootball(ApiFootballConfig),
    WebSocket(WebSocketConfig),
    Matchwire(MatchwireConfig),
    SportradarUof(SportradarUofConfig),
}

impl SourceKind {
    pub const NAMES: [&'static str; 6] = [
        "betfair-stream",
        "the-odds-api",
        "api-football",
        "websocket",
        "matchwire",
        "sportradar-uof",
    ];

    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::BetfairStream(_) => Self::NAMES[0],
            Self::TheOddsApi(_) => Self::NAMES[1],
            Self::ApiFootball(_) => Self::NAMES[2],
            Self::WebSocket(_) => Self::NAMES[3],
            Self::Matchwire(_) => Self::NAMES[4],
            Self::SportradarUof(_) => Self::NAMES[5],
        }
    }

    /// The format of its messages, as recordings name it.
    #[must_use]
    pub fn format(&self) -> &'static str {
        match self {
            Self::WebSocket(_) => "matchwire-events",
            Self::Matchwire(_) => "matchwire-stream",
            feed => feed.as_str(),
        }
    }

    fn from_table(kind: &str, rest: Table) -> Result<Self, String> {
        fn read<'de, T: Deserialize<'de>>(rest: Table) -> Result<T, String> {
            T::deserialize(Value::Table(rest)).map_err(|error| error.message().to_owned())
        }
        Ok(match kind {
            "betfair-stream" => Self::BetfairStream(read(rest)?),
            "the-odds-api" => Self::TheOddsApi(read(rest)?),
            "api-football" => Self::ApiFootball(read(rest)?),
            "websocket" => Self::WebSocket(read(rest)?),
            "matchwire" => Self::Matchwire(read(rest)?),
            "sportradar-uof" => Self::SportradarUof(read(rest)?),
            other => return Err(format!("kind {other:?} is none of {}", Self::NAMES.join(", "))),
        })
    }
}

/// `betfair-stream`: the Exchange Stream API over TLS. Its book is `betfair`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BetfairStreamConfig {
    /// The application key.
    pub app_key: SecretRef,
    /// The session token. With `file:`, the file is read at each connection, so that a program that
    /// renews the token only has to write the file.
    pub session: SecretRef,
    /// Betfair's own `marketFilter`. Default empty: all markets, of which Betfair allows 200 unless arranged
    /// otherwise.
    #[serde(default)]
    pub market_filter: Table,
    /// The address of Betfair's Betting API, for the names of matches, markets and runners, which the stream does not
    /// have. Default `https://api.betfair.com/exchange/betting/rest/v1.0`; Italy, Spain and Australia have others.
    /// Empty: no names.
    #[serde(default = "BetfairStreamConfig::catalogue")]
    pub catalogue: String,
    /// Default `stream-api.betfair.com`.
    #[serde(default = "BetfairStreamConfig::host")]
    pub host: String,
    /// Default 443.
    #[serde(default = "BetfairStreamConfig::port")]
    pub port: u16,
    /// CA certificates, PEM, trusted in addition to the system's. Default none.
    pub authority: Option<PathBuf>,
    /// Milliseconds over which Betfair conflates changes, at most 120000. Default 0: no conflation.
    #[serde(default)]
    pub conflate_ms: u64,
    /// Milliseconds of quiet after which Betfair sends a heartbeat, 500 to 5000. Default 500, the
    /// minimum.
    #[serde(default = "BetfairStreamConfig::heartbeat_ms")]
    pub heartbeat_ms: u64,
    /// Milliseconds of silence after which the connection is replaced by a new one that resumes; more than
    /// `heartbeat_ms`. Default nine tenths of the deadline: a book that is held back because of silence is released
    /// once the source has proved that no message is missing. With a value above the deadline, it is also released if
    /// the connection was merely slow.
    pub silence_ms: Option<u64>,
}

impl BetfairStreamConfig {
    fn catalogue() -> String {
        "https://api.betfair.com/exchange/betting/rest/v1.0".to_owned()
    }

    fn host() -> String {
        "stream-api.betfair.com".to_owned()
    }

    const fn port() -> u16 {
        443
    }

    const fn heartbeat_ms() -> u64 {
        500
    }
}

/// `the-odds-api`: odds of The Odds API v4, polled, and scores if configured.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TheOddsApiConfig {
    /// The API key.
    pub key: SecretRef,
    /// The provider's sport keys: `soccer_epl`, `tennis_atp_french_open`, `upcoming`.
    pub sports: Vec<String>,
    /// Bookmakers' regions, separated by commas. Default `eu`. Each multiplies the cost in quota.
    #[serde(default = "TheOddsApiConfig::regions")]
    pub regions: String,
    /// Markets, separated by commas. Default `h2h`. Each multiplies the cost in quota.
    #[serde(default = "TheOddsApiConfig::markets")]
    pub markets: String,
    /// Milliseconds between two polls of the odds of a sport. Default 60000.
    #[serde(default = "TheOddsApiConfig::interval_ms")]
    pub interval_ms: u64,
    /// Milliseconds between two polls of its scores. Default 0: scores are not requested.
    #[serde(default)]
    pub scores_interval_ms: u64,
    /// Requests of the quota below which polling slows down. Default 100.
    #[serde(default = "TheOddsApiConfig::reserve")]
    pub reserve: u64,
    /// Default `https://api.the-odds-api.com`.
    #[serde(default = "TheOddsApiConfig::url")]
    pub url: String,
    /// CA certificates, PEM, trusted in addition to the system's. Default none.
    pub authority: Option<PathBuf>,
}

impl TheOddsApiConfig {
    fn regions() -> String {
        "eu".to_owned()
    }

    fn markets() -> String {
        "h2h".to_owned()
    }

    const fn interval_ms() -> u64 {
        60_000
    }

    const fn reserve() -> u64 {
        100
    }

    fn url() -> String {
        "https://api.the-odds-api.com".to_owned()
    }
}

/// `api-football`: fixtures of API-Football v3, polled.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiFootballConfig {
    /// The API key.
    pub key: SecretRef,
    /// The endpoints to poll, each with its parameters. Default only `fixtures?live=all`.
    #[serde(default = "ApiFootballConfig::queries")]
    pub queries: Vec<String>,
    /// Milliseconds between two polls of each. Default 15000, the provider's own refresh interval.
    #[serde(default = "ApiFootballConfig::interval_ms")]
    pub interval_ms: u64,
    /// Requests of the quota below which polling slows down. Default 100.
    #[serde(default = "TheOddsApiConfig::reserve")]
    pub reserve: u64,
    /// Default `https://v3.football.api-sports.io`.
    #[serde(default = "ApiFootballConfig::url")]
    pub url: String,
    /// CA certificates, PEM, trusted in addition to the system's. Default none.
    pub authority: Option<PathBuf>,
}

impl ApiFootballConfig {
    fn queries() -> Vec<String> {
        vec!["fixtures?live=all".to_owned()]
    }

    const fn interval_ms() -> u64 {
        15_000
    }

    fn url() -> String {
        "https://v3.football.api-sports.io".to_owned()
    }
}

/// `websocket`: lines in the normalised format (docs/INGEST.md) over a WebSocket that another program serves.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebSocketConfig {
    /// The address, `ws://` or `wss://`.
    pub url: String,
    /// Headers of the request, by name. Default none.
    #[serde(default)]
    pub headers: BTreeMap<String, SecretRef>,
    /// Text messages that are sent as soon as the socket is open. Default none.
    #[serde(default)]
    pub first: Vec<SecretRef>,
    /// Milliseconds of silence after which a ping is sent; without an answer the socket is closed.
    /// Default 15000.
    #[serde(default = "WebSocketConfig::silence_ms")]
    pub silence_ms: u64,
    /// CA certificates, PEM, trusted in addition to the system's. Default none.
    pub authority: Option<PathBuf>,
}

impl WebSocketConfig {
    pub(crate) const fn silence_ms() -> u64 {
        15_000
    }
}

/// `matchwire`: channels of another hub, so that hubs can be chained.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchwireConfig {
    /// The hub's socket: `wss://hub.example.org/stream/v1`.
    pub url: String,
    /// A key of that hub, whose account needs the WebSocket add-on there.
    pub key: SecretRef,
    /// Channel patterns. Default all football and tennis matches and their books.
    #[serde(default = "MatchwireConfig::channels")]
    pub channels: Vec<String>,
    /// Milliseconds of silence after which the socket is closed. Default 15000, three heartbeats.
    #[serde(default = "WebSocketConfig::silence_ms")]
    pub silence_ms: u64,
    /// CA certificates, PEM, trusted in addition to the system's. Default none.
    pub authority: Option<PathBuf>,
}

impl MatchwireConfig {
    fn channels() -> Vec<String> {
        ["football/*", "tennis/*", "football/*/odds/*", "tennis/*/odds/*"].map(String::from).into()
    }
}

/// `sportradar-uof`: the Unified Odds Feed over AMQP. Its book is `sportradar`. Needs the feature `amqp`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SportradarUofConfig {
    /// The access token, which is the broker's user name.
    pub token: SecretRef,
    /// The password of a self-hosted broker. Default none: the provider requires only the token.
    pub password: Option<SecretRef>,
    /// The bookmaker's id, which names the virtual host.
    pub bookmaker: u64,
    /// Products that must be alive: `1` live odds, `3` pre-match odds. Default both.
    #[serde(default = "SportradarUofConfig::products")]
    pub products: Vec<u32>,
    /// Routing keys. Default all messages.
    #[serde(default = "SportradarUofConfig::keys")]
    pub keys: Vec<String>,
    /// Default `mq.betradar.com`.
    #[serde(default = "SportradarUofConfig::host")]
    pub host: String,
    /// The port of the broker. Default 5671, or 5672 without TLS.
    pub port: Option<u16>,
    /// Whether the broker is reached over TLS. Default true. Without it the token is sent in plain text.
    #[serde(default = "SportradarUofConfig::tls")]
    pub tls: bool,
    /// Where recoveries, fixtures and descriptions are requested. Default `https://api.betradar.com`.
    #[serde(default = "SportradarUofConfig::api")]
    pub api: String,
    /// Whether the fixtures of events are requested at `api`, with the names of their sides. Default true.
    #[serde(default = "SportradarUofConfig::fixtures")]
    pub fixtures: bool,
    /// Whether the descriptions of markets are requested at `api`, with the names of markets and outcomes. Default true.
    #[serde(default = "SportradarUofConfig::descriptions")]
    pub descriptions: bool,
    /// Milliseconds within which each product has to send an alive message, which it does every 10 s.
    /// Default 21000.
    #[serde(default = "SportradarUofConfig::alive_ms")]
    pub alive_ms: u64,
    /// How often a product may be recovered from less than 30 minutes ago: pairs of requests and seconds. Default
    /// `[[20, 600], [60, 3600]]`, the provider's rates.
    #[serde(default = "SportradarUofConfig::short_rates")]
    pub recovery_rates: Vec<(usize, u64)>,
    /// The same from less than a day ago. Default `[[4, 600], [10, 3600]]`.
    #[serde(default = "SportradarUofConfig::day_rates")]
    pub recovery_day_rates: Vec<(usize, u64)>,
    /// The same from longer ago, or in full. Default `[[2, 1800], [4, 7200]]`.
    #[serde(default = "SportradarUofConfig::full_rates")]
    pub recovery_full_rates: Vec<(usize, u64)>,
    /// CA certificates, PEM, trusted in addition to the system's. Default none.
    pub authority: Option<PathBuf>,
}

impl SportradarUofConfig {
    pub(crate) const fn fixtures() -> bool {
        true
    }

    pub(crate) const fn descriptions() -> bool {
        true
    }

    fn products() -> Vec<u32> {
        vec![1, 3]
    }

    pub(crate) fn keys() -> Vec<String> {
        vec!["#".to_owned()]
    }

    fn host() -> String {
        "mq.betradar.com".to_owned()
    }

    const fn tls() -> bool {
        true
    }

    fn api() -> String {
        "https://api.betradar.com".to_owned()
    }

    pub(crate) const fn alive_ms() -> u64 {
        21_000
    }

    pub(crate) fn short_rates() -> Vec<(usize, u64)> {
        vec![(20, 600), (60, 3_600)]
    }

    pub(crate) fn day_rates() -> Vec<(usize, u64)> {
        vec![(4, 600), (10, 3_600)]
    }

    pub(crate) fn full_rates() -> Vec<(usize, u64)> {
        vec![(2, 1_800), (4, 7_200)]
    }
}

/// The keys that every table has; the others depend on the kind.
#[derive(Deserialize)]
struct Common {
    name: String,
    kind: String,
    deadline_ms: Option<u64>,
    rank: Option<u8>,
    #[serde(default)]
    ranks: BTreeMap<String, u8>,
}

impl SourceConfig {
    /// The first problem of the common keys, if any.
    pub fn problem(&self) -> Option<&'static str> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        let kinds = FactKind::ALL.map(FactKind::as_str);
        if self.name.is_empty()
            || self.name.len() > Self::NAME_MAX
            || !self.name.chars().all(allowed)
        {
            Some("the name must be 1 to 64 letters, digits, dots, dashes and underscores")
        } else if self.deadline_ms == Some(0) {
            Some("deadline_ms must not be 0")
        } else if !self.ranks.keys().all(|kind| kinds.contains(&&**kind)) {
            Some("ranks are by fixture, score, incidents, stats, ball and odds")
        } else {
            None
        }
    }

    /// Whether a source with these settings need not connect again for the other ones: they differ in ranks at most.
    #[must_use]
    pub fn connects_like(&self, other: &Self) -> bool {
        let Self { name, deadline_ms, rank: _, ranks: _, kind } = self;
        (name, deadline_ms, kind) == (&other.name, &other.deadline_ms, &other.kind)
    }

    const NAME_MAX: usize = 64;

    /// The default rank.
    const RANK: u8 = 100;

    const COMMON: [&'static str; 5] = ["name", "kind", "deadline_ms", "rank", "ranks"];
}

impl<'de> Deserialize<'de> for SourceConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut rest = Table::deserialize(deserializer)?;
        let common: Table = Self::COMMON
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), rest.remove(name)?)))
            .collect();
        let Common { name, kind, deadline_ms, rank, ranks } =
            Common::deserialize(Value::Table(common)).map_err(D::Error::custom)?;
        let kind = SourceKind::from_table(&kind, rest)
            .map_err(|error| D::Error::custom(format!("source {name:?}: {error}")))?;
        Ok(Self { name, deadline_ms, rank: rank.unwrap_or(Self::RANK), ranks, kind })
    }
}
