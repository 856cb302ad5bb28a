//! Sportradar's Unified Odds Feed, over AMQP.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use facts::event::Micros;
use ingest::{
    error::DecodeError,
    normalize::{Interpret, Interpretation, KnownMatch, sportradar_uof},
};

use super::{FollowError, SourceStart, trust};
use crate::{config::SportradarUofConfig, sportradar_uof as uof};

/// Why the feed cannot be followed. Always an error in the settings.
#[derive(Debug, thiserror::Error)]
pub enum UnifiedOddsError {
    #[error("the API {0}")]
    Api(#[from] uof::ApiError),
    #[error("unknown product {0}: 1 is live odds, 3 pre-match odds")]
    Product(u32),
    #[error("a rate of recoveries is [requests, seconds], each at least 1")]
    Rate,
}

/// Checks the settings of the feed, and returns what starts it.
///
/// # Errors
///
/// If a setting cannot be used.
pub(super) fn follow(config: &SportradarUofConfig) -> Result<SourceStart, FollowError> {
    let token = config.token.resolve()?;
    let trust = trust(config.authority.as_ref())?;
    let vhost = format!("/unifiedfeed/{}", config.bookmaker);
    let api =
        uof::Api::new(&config.api, &token, Arc::clone(&trust)).map_err(UnifiedOddsError::from)?;
    let tls = config.tls.then_some(trust);
    let mut broker = uof::Broker::new(config.host.clone(), vhost, token, tls);
    broker.port = config.port.unwrap_or(broker.port);
    broker.routing_keys.clone_from(&config.keys);
    if let Some(password) = &config.password {
        broker.password = password.resolve()?;
    }
    let products = config.products.iter().map(|id| match id {
        1 => Ok(uof::Product::live_odds()),
        3 => Ok(uof::Product::pre_match()),
        other => Err(UnifiedOddsError::Product(*other)),
    });
    let recovery_rates = uof::RecoveryRates {
        short: rates(&config.recovery_rates)?,
        day: rates(&config.recovery_day_rates)?,
        full: rates(&config.recovery_full_rates)?,
    };
    let settings = uof::UofSettings {
        recovery_rates,
        fixtures: config.fixtures,
        descriptions: config.descriptions,
        alive_within: Duration::from_millis(config.alive_ms),
        ..uof::UofSettings::new(broker, api, products.collect::<Result<_, UnifiedOddsError>>()?)
    };
    let interpreter = RoutedInterpreter::default();
    let route = interpreter.clone();
    let route = move |key: &str| route.hint(key);
    Ok(Box::new(|sender| Box::pin(uof::run(settings, Box::new(interpreter), route, sender))))
}

fn rates(pairs: &[(usize, u64)]) -> Result<Vec<uof::Rate>, UnifiedOddsError> {
    let rate = |&(requests, seconds)| {
        let is_usable = requests > 0 && seconds > 0;
        let within = Duration::from_secs(seconds);
        is_usable.then_some(uof::Rate { requests, within }).ok_or(UnifiedOddsError::Rate)
    };
    pairs.iter().map(rate).collect()
}

/// The Unified Odds Feed's interpreter, which learns the sport of an event from the routing key of
/// its messages.
#[derive(Debug, Clone, Default)]
struct RoutedInterpreter(Arc<Mutex<sportradar_uof::Interpreter>>);

impl RoutedInterpreter {
    /// `hi.-.live.odds_change.1.sr:match.12345.-`: the fifth part is the sport's number, and the
    /// two behind it the event.
    fn hint(&self, key: &str) {
        let parts: Vec<&str> = key.split('.').collect();
        let [_, _, _, _, sport, urn, id, ..] = parts[..] else { return };
        // Keys of alive messages and the like have dashes there.
        if sport.parse::<u32>().is_ok() {
            let sport = sportradar_uof::sport(&format!("sr:sport:{sport}"));
            self.interpreter().hint(&format!("{urn}:{id}"), sport);
        }
    }

    fn interpreter(&self) -> MutexGuard<'_, sportradar_uof::Interpreter> {
        // Messages are interpreted one by one; a panic in one leaves the others usable.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Interpret for RoutedInterpreter {
    fn message(
        &mut self,
        bytes: &[u8],
        received: Micros,
        out: &mut Interpretation,
    ) -> Result<(), DecodeError> {
        self.interpreter().message(bytes, received, out)
    }

    fn restart(&mut self) {
        self.interpreter().restart();
    }

    fn resume(&mut self, matches: Vec<KnownMatch>) {
        self.interpreter().resume(matches);
    }
}
