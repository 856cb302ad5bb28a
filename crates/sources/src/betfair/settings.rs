//! The settings of a Betfair stream and their validation.

use std::path::PathBuf;

use rustls::pki_types::ServerName;
use serde_json::Value;

use super::session::Session;
use crate::config::BetfairStreamConfig;
use base::{
    config::{SecretError, SecretRef},
    secret::Secret,
    tls::TrustError,
};

/// How to reach Betfair, what to subscribe to, and the timeouts. [`BetfairStreamConfig`] has the defaults of what the operator
/// may set.
#[derive(Debug, Clone)]
pub struct BetfairSettings {
    /// The certificate must be issued for this name.
    pub host: String,
    pub port: u16,
    /// Certificates in PEM that are trusted besides those of the system, for a proxy.
    pub authority: Option<PathBuf>,
    /// The application key. With a delayed one Betfair conflates to 180 s.
    pub app_key: Secret,
    pub session: Session,
    /// Where names are requested, without the name of the operation. `None`: matches, markets and runners have no names.
    pub catalogue: Option<String>,
    /// Betfair's `marketFilter`, an object: `{"eventTypeIds":["1"],"marketTypes":["MATCH_ODDS"]}`.
    /// An empty one subscribes to all markets, of which 200 are allowed unless arranged otherwise.
    pub market_filter: Value,
    /// The fields sent for each market besides its definition. Default all offers, traded prices,
    /// volumes, last prices and projected starting prices. Fewer fields make images smaller and changes rarer.
    pub fields: Vec<Field>,
    /// Levels of the best offers, 1 to 10. Default 3. Does not affect [`Field::AllOffers`].
    pub ladder_levels: u8,
    /// Changes are conflated over this many milliseconds, 0 to 120,000. 0: not conflated.
    pub conflate_ms: u64,
    /// Betfair sends a heartbeat after this many milliseconds without a change, 500 to 5,000.
    pub heartbeat_ms: u64,
    /// A connection that is silent for this many milliseconds is closed; more than `heartbeat_ms`.
    /// A shorter limit detects a dead connection sooner, but may close a slow one.
    pub silence_ms: u64,
    /// Milliseconds for connecting, TLS and authentication together; at least 1. Default 10,000.
    pub connect_timeout_ms: u64,
    /// The upper bound of the first back-off, in milliseconds, at least 1; each failure doubles it.
    /// Default 500.
    pub backoff_first_ms: u64,
    /// The longest back-off, in milliseconds; not less than the first. Default 60,000.
    pub backoff_most_ms: u64,
    /// Bytes of one message; at least 1,024. Default 16 MiB: an image of 200 markets has 0.6. A
    /// longer one is refused and an image is requested. Up to twice as much is buffered.
    pub message_bytes_max: usize,
}

/// A field of market data (`marketDataFilter.fields`). Definitions are always requested, because no
/// fact about a market can be produced without one. The bets at starting price are neither requested nor used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The best offers, with virtual ones, as the website displays them.
    DisplayedOffers,
    /// The best offers.
    BestOffers,
    /// The whole ladders.
    AllOffers,
    /// The volume traded at each price.
    Traded,
    /// The volume traded on each runner and on the market.
    TradedVolume,
    LastPrice,
    /// The starting prices as they are projected now.
    ProjectedPrices,
}

/// Why a source cannot be started. The operator has to correct the settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("{host:?} is no name of a host")]
    Host { host: String },
    #[error("the application key is empty")]
    NoAppKey,
    #[error("the session token is empty")]
    NoSession,
    #[error("the market filter is no JSON object")]
    Filter,
    #[error("the URL of the catalogue begins neither with https:// nor with http://")]
    Catalogue,
    #[error("no data fields are requested")]
    NoFields,
    #[error("{what} is {is}, which is not {least} to {most}")]
    Bounds { what: &'static str, is: u64, least: u64, most: u64 },
    #[error("the certificate of Betfair cannot be verified")]
    Trust(#[from] TrustError),
}

impl BetfairSettings {
    /// Those of a source whose connections may be silent for so long.
    ///
    /// # Errors
    ///
    /// If a secret cannot be read.
    pub fn new(config: &BetfairStreamConfig, silence_ms: u64) -> Result<Self, SecretError> {
        use Field::{AllOffers, LastPrice, ProjectedPrices, Traded, TradedVolume};
        Ok(Self {
            host: config.host.clone(),
            port: config.port,
            authority: config.authority.clone(),
            session: match &config.session {
                SecretRef::File(path) => Session::File(path.clone()),
                other => Session::Token(other.resolve()?),
            },
            app_key: config.app_key.resolve()?,
            catalogue: Some(config.catalogue.clone()).filter(|url| !url.is_empty()),
            market_filter: serde_json::to_value(&config.market_filter).unwrap_or_default(),
            fields: vec![AllOffers, Traded, TradedVolume, LastPrice, ProjectedPrices],
            ladder_levels: 3,
            conflate_ms: config.conflate_ms,
            heartbeat_ms: config.heartbeat_ms,
            silence_ms,
            connect_timeout_ms: 10_000,
            backoff_first_ms: 500,
            backoff_most_ms: 60_000,
            message_bytes_max: 16 << 20,
        })
    }

    /// Checks everything that can be checked without a connection.
    ///
    /// # Errors
    ///
    /// At the first invalid setting.
    pub fn check(&self) -> Result<ServerName<'static>, SettingsError> {
        let name = ServerName::try_from(self.host.clone())
            .map_err(|_| SettingsError::Host { host: self.host.clone() })?;
        if self.app_key.expose().is_empty() {
            return Err(SettingsError::NoAppKey);
        }
        if matches!(&self.session, Session::Token(token) if token.expose().is_empty()) {
            return Err(SettingsError::NoSession);
        }
        if !self.market_filter.is_object() {
            return Err(SettingsError::Filter);
        }
        let is_url = |url: &String| ["https://", "http://"].iter().any(|it| url.starts_with(it));
        if !self.catalogue.iter().all(is_url) {
            return Err(SettingsError::Catalogue);
        }
        if self.fields.is_empty() {
            return Err(SettingsError::NoFields);
        }
        self.check_bounds()?;
        Ok(name)
    }

    fn check_bounds(&self) -> Result<(), SettingsError> {
        for (what, is, least, most) in [
            ("ladder_levels", self.ladder_levels.into(), 1, 10),
            ("conflate_ms", self.conflate_ms, 0, 120_000),
            ("heartbeat_ms", self.heartbeat_ms, 500, 5000),
            ("silence_ms", self.silence_ms, self.heartbeat_ms + 1, u64::MAX),
            ("connect_timeout_ms", self.connect_timeout_ms, 1, u64::MAX),
            ("backoff_first_ms", self.backoff_first_ms, 1, self.backoff_most_ms),
            ("message_bytes_max", self.message_bytes_max as u64, 1024, 1 << 30),
        ] {
            if !(least..=most).contains(&is) {
                return Err(SettingsError::Bounds { what, is, least, most });
            }
        }
        Ok(())
    }
}

impl Field {
    /// All fields that the settings may name.
    pub const ALL: [Self; 7] = [
        Self::DisplayedOffers,
        Self::BestOffers,
        Self::AllOffers,
        Self::Traded,
        Self::TradedVolume,
        Self::LastPrice,
        Self::ProjectedPrices,
    ];

    /// Betfair's name of the field.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DisplayedOffers => "EX_BEST_OFFERS_DISP",
            Self::BestOffers => "EX_BEST_OFFERS",
            Self::AllOffers => "EX_ALL_OFFERS",
            Self::Traded => "EX_TRADED",
            Self::TradedVolume => "EX_TRADED_VOL",
            Self::LastPrice => "EX_LTP",
            Self::ProjectedPrices => "SP_PROJECTED",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secret(text: &str) -> Secret {
        text.to_owned().into()
    }

    fn settings() -> BetfairSettings {
        let config: BetfairStreamConfig =
            toml::from_str("app_key = \"KEY\"\nsession = \"TOKEN\"").expect("settings");
        BetfairSettings::new(&config, 10_000).expect("the secrets are given")
    }

    #[track_caller]
    fn check(spoil: impl FnOnce(&mut BetfairSettings), expected: &str) {
        let mut settings = settings();
        spoil(&mut settings);
        let found = settings.check().map_or_else(|error| error.to_string(), |_| String::new());
        assert_eq!(found, expected);
    }

    #[test]
    fn invalid_settings_are_rejected() {
        check(|_| {}, "");
        check(|s| s.host = "127.0.0.1".to_owned(), "");
        check(|s| s.host = "no host".to_owned(), "\"no host\" is no name of a host");
        check(|s| s.app_key = secret(""), "the application key is empty");
        check(|s| s.session = Session::Token(secret("")), "the session token is empty");
        check(|s| s.market_filter = json!([]), "the market filter is no JSON object");
        let catalogue = "the URL of the catalogue begins neither with https:// nor with http://";
        check(|s| s.catalogue = Some("api.betfair.com".to_owned()), catalogue);
        check(|s| s.fields.clear(), "no data fields are requested");
        check(|s| s.heartbeat_ms = 499, "heartbeat_ms is 499, which is not 500 to 5000");
        check(|s| s.ladder_levels = 11, "ladder_levels is 11, which is not 1 to 10");
        check(
            |s| s.silence_ms = 500,
            "silence_ms is 500, which is not 501 to 18446744073709551615",
        );
        check(|s| s.backoff_most_ms = 10, "backoff_first_ms is 500, which is not 1 to 10");
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown = format!("{:?}", settings());
        assert!(!shown.contains("TOKEN") && !shown.contains("KEY"), "{shown}");
    }
}
