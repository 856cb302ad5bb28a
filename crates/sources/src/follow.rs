//! Creates live sources from their settings.

#[cfg(feature = "amqp")]
mod unified_odds;

use std::{
    future::Future,
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

#[cfg(not(feature = "amqp"))]
use base::feature::MissingFeature;
use base::{
    config::{SecretError, SecretRef, micros},
    secret::Secret,
    tls::{self, TrustError},
};
use hub::feeds::{FactKind, Ranks, SourcePolicy};
use ingest::normalize::{api_football, events, matchwire, the_odds_api};
use rustls::ClientConfig;

#[cfg(feature = "amqp")]
pub use self::unified_odds::UnifiedOddsError;
use crate::{
    SourceSender, betfair,
    config::{
        ApiFootballConfig, BetfairStreamConfig, MatchwireConfig, SourceConfig, SourceKind,
        TheOddsApiConfig, WebSocketConfig,
    },
    poll::{self, Credential, Quota, Request},
    upstream, websocket,
};

/// Why a source cannot be created. Always an error in the settings.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error(transparent)]
    Betfair(#[from] betfair::SettingsError),
    #[error("the URL {0}")]
    Poll(#[from] poll::RequestError),
    #[error("the URL {0}")]
    Socket(#[from] websocket::AddressError),
    #[cfg(feature = "amqp")]
    #[error(transparent)]
    UnifiedOdds(#[from] UnifiedOddsError),
    #[cfg(not(feature = "amqp"))]
    #[error(transparent)]
    MissingFeature(#[from] MissingFeature),
}

/// The task of a source. It runs until the hub has stopped.
pub type SourceFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Creates the task of a source, which does nothing before it is polled.
pub type SourceStart = Box<dyn FnOnce(SourceSender) -> SourceFuture + Send>;

/// The policy of a source, by its settings and its kind.
#[must_use]
pub fn source_policy(config: &SourceConfig) -> SourcePolicy {
    let ranks =
        FactKind::ALL.map(|kind| config.ranks.get(kind.as_str()).copied().unwrap_or(config.rank));
    SourcePolicy { deadline_us: Some(micros(deadline_ms(config))), ranks: Ranks(ranks) }
}

/// How much later than the source itself the hub detects silence, so that the source reconnects
/// first.
const MARGIN_MS: u64 = 1_000;

/// How much later than due a heartbeat may come over a healthy connection.
const SLACK_MS: u64 = 500;

fn deadline_ms(config: &SourceConfig) -> u64 {
    config.deadline_ms.unwrap_or_else(|| usual_deadline_ms(&config.kind))
}

fn usual_deadline_ms(kind: &SourceKind) -> u64 {
    // A poll that times out adds to its interval.
    let poll = |interval_ms: u64| interval_ms.saturating_mul(3).saturating_add(poll::TIMEOUT_MS);
    match kind {
        SourceKind::BetfairStream(it) => it.heartbeat_ms.saturating_mul(3).saturating_add(SLACK_MS),
        SourceKind::TheOddsApi(it) => poll(it.interval_ms),
        SourceKind::ApiFootball(it) => poll(it.interval_ms),
        SourceKind::WebSocket(it) => it.silence_ms.saturating_add(MARGIN_MS),
        SourceKind::Matchwire(it) => it.silence_ms.saturating_add(MARGIN_MS),
        SourceKind::SportradarUof(it) => it.alive_ms.saturating_add(MARGIN_MS),
    }
}

/// Checks the settings of a source, and returns what starts it.
///
/// # Errors
///
/// If a setting cannot be used.
pub fn follow(config: &SourceConfig) -> Result<SourceStart, FollowError> {
    match &config.kind {
        SourceKind::BetfairStream(it) => follow_betfair(it, deadline_ms(config)),
        SourceKind::TheOddsApi(it) => follow_odds_api(it),
        SourceKind::ApiFootball(it) => follow_api_football(it),
        SourceKind::WebSocket(it) => follow_websocket(it),
        SourceKind::Matchwire(it) => follow_matchwire(it),
        #[cfg(feature = "amqp")]
        SourceKind::SportradarUof(it) => unified_odds::follow(it),
        #[cfg(not(feature = "amqp"))]
        SourceKind::SportradarUof(_) => {
            Err(MissingFeature { needed_by: "kind = \"sportradar-uof\"", feature: "amqp" }.into())
        }
    }
}

/// When a silent connection is replaced: before the deadline, so that the source proves that no message is missing.
fn betfair_silence_ms(config: &BetfairStreamConfig, deadline_ms: u64) -> u64 {
    config.silence_ms.unwrap_or(deadline_ms / 10 * 9)
}

fn follow_betfair(
    config: &BetfairStreamConfig,
    deadline_ms: u64,
) -> Result<SourceStart, FollowError> {
    let silence_ms = betfair_silence_ms(config, deadline_ms);
    let settings = betfair::BetfairSettings::new(config, silence_ms)?;
    settings.check()?;
    // The task reads it again.
    trust(config.authority.as_ref())?;
    Ok(Box::new(|sender| {
        Box::pin(async move {
            // The settings were checked above.
            betfair::run(settings, sender).await.ok();
        })
    }))
}

fn follow_odds_api(config: &TheOddsApiConfig) -> Result<SourceStart, FollowError> {
    let key = config.key.resolve()?;
    let request = |path: &str, query: &[(&str, &str)], interval_ms| {
        let url = format!("{}/v4/sports/{path}", config.url.trim_end_matches('/'));
        let credential = Credential::Query("apiKey".to_owned(), key.clone());
        Request::new(&url, query, Some(credential), Duration::from_millis(interval_ms))
    };
    let odds = [
        ("regions", config.regions.as_str()),
        ("markets", config.markets.as_str()),
        ("oddsFormat", "decimal"),
    ];
    let mut requests = Vec::new();
    for sport in &config.sports {
        requests.push(request(&format!("{sport}/odds"), &odds, config.interval_ms)?);
        if config.scores_interval_ms > 0 {
            requests.push(request(&format!("{sport}/scores"), &[], config.scores_interval_ms)?);
        }
    }
    let quotas = vec![Quota::the_odds_api(config.reserve)];
    let settings = poll_settings(requests, quotas, config.authority.as_ref())?;
    let interpreter = the_odds_api::Interpreter::new(the_odds_api::PriceFormat::Decimal);
    Ok(Box::new(|sender| Box::pin(poll::run(settings, Box::new(interpreter), sender))))
}

fn follow_api_football(config: &ApiFootballConfig) -> Result<SourceStart, FollowError> {
    let key = config.key.resolve()?;
    let interval = Duration::from_millis(config.interval_ms);
    let mut requests = Vec::new();
    for query in &config.queries {
        let url = format!("{}/{query}", config.url.trim_end_matches('/'));
        let credential = Credential::Header("x-apisports-key".to_owned(), key.clone());
        requests.push(Request::new(&url, &[], Some(credential), interval)?);
    }
    let quotas = vec![Quota::api_football_day(config.reserve), Quota::api_football_minute(1)];
    let settings = poll_settings(requests, quotas, config.authority.as_ref())?;
    let interpreter = api_football::Interpreter::default();
    Ok(Box::new(|sender| Box::pin(poll::run(settings, Box::new(interpreter), sender))))
}

fn poll_settings(
    requests: Vec<Request>,
    quotas: Vec<Quota>,
    authority: Option<&PathBuf>,
) -> Result<poll::PollSettings, FollowError> {
    Ok(poll::PollSettings { quotas, ..poll::PollSettings::new(requests, trust(authority)?) })
}

fn limits(
    authority: Option<&PathBuf>,
    silence_ms: u64,
) -> Result<websocket::SocketLimits, FollowError> {
    let silence = Duration::from_millis(silence_ms);
    Ok(websocket::SocketLimits { silence, ..websocket::SocketLimits::new(trust(authority)?) })
}

fn follow_websocket(config: &WebSocketConfig) -> Result<SourceStart, FollowError> {
    let headers = config.headers.iter().map(|(name, secret)| Ok((name.clone(), secret.resolve()?)));
    let headers: Vec<(String, Secret)> = headers.collect::<Result<_, SecretError>>()?;
    let first = config.first.iter().map(SecretRef::resolve).collect::<Result<_, _>>()?;
    let settings = websocket::WebSocketSettings {
        first,
        lines: true,
        live: websocket::LiveWhen::FirstMessage,
        ..websocket::WebSocketSettings::new(
            websocket::Address::new(&config.url, &headers)?,
            limits(config.authority.as_ref(), config.silence_ms)?,
        )
    };
    Ok(Box::new(|sender| {
        let interpreter = events::Interpreter::new(Arc::clone(sender.name()));
        Box::pin(websocket::run(settings, Box::new(interpreter), sender))
    }))
}

fn follow_matchwire(config: &MatchwireConfig) -> Result<SourceStart, FollowError> {
    let limits = limits(config.authority.as_ref(), config.silence_ms)?;
    let key = config.key.resolve()?;
    let settings =
        upstream::UpstreamSettings::new(&config.url, &key, config.channels.clone(), limits)?;
    let interpreter = matchwire::Matchwire::default();
    Ok(Box::new(|sender| Box::pin(upstream::run(settings, Box::new(interpreter), sender))))
}

fn trust(authority: Option<&PathBuf>) -> Result<Arc<ClientConfig>, TrustError> {
    tls::client(authority.map(PathBuf::as_path).map(Path::new))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(table: &str) -> SourceConfig {
        toml::from_str(&format!("name = \"s\"\n{table}")).unwrap()
    }

    /// No limit is near the period of what it watches: a healthy provider keeps it, late by a whole period or by the slack.
    #[test]
    fn default_limits_are_at_least_twice_the_period_that_they_watch() {
        let check = |table: &str, period_ms: fn(&SourceKind) -> u64| {
            let source = source(table);
            let (period_ms, deadline_ms) = (period_ms(&source.kind), deadline_ms(&source));
            let limit_ms = match &source.kind {
                SourceKind::BetfairStream(it) => betfair_silence_ms(it, deadline_ms),
                SourceKind::SportradarUof(it) => it.alive_ms,
                SourceKind::WebSocket(it) => it.silence_ms,
                SourceKind::Matchwire(it) => it.silence_ms,
                SourceKind::TheOddsApi(_) | SourceKind::ApiFootball(_) => deadline_ms,
            };
            let least_ms = 2 * period_ms + SLACK_MS;
            assert!(limit_ms >= least_ms, "{table}: {limit_ms} ms for a period of {period_ms} ms");
            assert!(deadline_ms >= limit_ms, "{table}: {deadline_ms} ms");
        };
        let heartbeat: fn(&SourceKind) -> u64 = |kind| match kind {
            SourceKind::BetfairStream(it) => it.heartbeat_ms,
            SourceKind::TheOddsApi(it) => it.interval_ms,
            SourceKind::ApiFootball(it) => it.interval_ms,
            // A third of the silence, after which the hub sends a ping.
            SourceKind::WebSocket(it) => it.silence_ms / 3,
            // What other hubs do by default.
            SourceKind::Matchwire(_) => 5_000,
            // The provider's documentation.
            SourceKind::SportradarUof(_) => 10_000,
        };
        let betfair = "kind = \"betfair-stream\"\napp_key = \"k\"\nsession = \"s\"\n";
        check(betfair, heartbeat);
        for heartbeat_ms in [500, 501, 1_000, 2_000, 5_000] {
            check(&format!("{betfair}heartbeat_ms = {heartbeat_ms}"), heartbeat);
        }
        check("kind = \"the-odds-api\"\nkey = \"k\"\nsports = [\"upcoming\"]", heartbeat);
        check("kind = \"api-football\"\nkey = \"k\"", heartbeat);
        check("kind = \"websocket\"\nurl = \"ws://h\"", heartbeat);
        check("kind = \"matchwire\"\nurl = \"ws://h\"\nkey = \"k\"", heartbeat);
        check("kind = \"sportradar-uof\"\ntoken = \"t\"\nbookmaker = 1", heartbeat);
    }
}
