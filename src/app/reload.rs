//! Settings that change while the hub runs: SIGHUP reads them again.
//!
//! All changes are checked before the first one is applied, so nothing is half applied. A change of anything else is
//! refused with the names of the settings.

use std::sync::Arc;

use metrics::gauge;
use tokio::sync::{mpsc, watch};
use tracing::{error, info};

use super::{
    AppError,
    control::ReloadReply,
    playing, service_manager,
    signals::{SignalRequest, Signals},
};
use crate::{
    config::{Config, ConfigError, ConfigOrigin, LoggingConfig, TlsConfig},
    telemetry::{self, LogFilter, TelemetryError},
    with_causes,
};
use accounts::{limits::Limits, products::CurrentCatalogue};
use base::{clock::wall, supervisor};
use history::query::Competitions;
use sources::config::SourceConfig;
use web::http::tls::{Certificate, CurrentCertificate, TlsError};

/// The parts to which changed settings go.
pub(super) struct ReloadedParts {
    pub filter: LogFilter,
    /// `None` without TLS.
    pub certificate: Option<Arc<CurrentCertificate>>,
    pub limits: Limits,
    pub prices: CurrentCatalogue,
    pub competitions: Competitions,
}

/// Why the settings were not applied.
#[derive(Debug, thiserror::Error)]
enum ReloadError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{} changed, which takes a restart", .0.join(", "))]
    NeedsRestart(Vec<String>),
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Source(#[from] AppError),
}

/// Reads the settings again and applies them.
pub(super) struct Reloader<'a> {
    signals: &'a mut Signals,
    requests: mpsc::Receiver<ReloadReply>,
    origin: ConfigOrigin,
    /// The settings in force.
    config: Config,
    parts: ReloadedParts,
    sources: watch::Sender<Arc<[SourceConfig]>>,
}

impl<'a> Reloader<'a> {
    /// Also returns where commands request a reload.
    pub(super) fn new(
        signals: &'a mut Signals,
        origin: ConfigOrigin,
        config: Config,
        parts: ReloadedParts,
    ) -> (Self, mpsc::Sender<ReloadReply>) {
        let sources = watch::Sender::new(config.sources.clone().into());
        let (reloads, requests) = mpsc::channel(1);
        (Self { signals, requests, origin, config, parts, sources }, reloads)
    }

    /// The live sources of the settings in force.
    pub(super) fn sources(&self) -> watch::Receiver<Arc<[SourceConfig]>> {
        self.sources.subscribe()
    }

    /// Reloads the settings at each signal and each request, until a signal stops the hub.
    pub(super) async fn reload_until_stop(&mut self) {
        loop {
            tokio::select! {
                request = self.signals.next() => match request {
                    // The log says how it went.
                    SignalRequest::Reload => drop(self.reload()),
                    SignalRequest::Stop => break,
                },
                Some(reply) = self.requests.recv() => {
                    // The command may no longer wait.
                    reply.send(self.reload()).ok();
                }
            }
        }
        // Before the playback is dropped.
        supervisor::stopping();
        service_manager::is_stopping();
        info!("stopping");
    }

    /// The settings in force. Commands learn from now on that the hub stops.
    pub(super) fn into_config(self) -> Config {
        self.config
    }

    /// Applies all changes, or none. Says which settings have changed, or why nothing was applied.
    fn reload(&mut self) -> Result<String, String> {
        service_manager::is_reloading();
        let reloaded = self.try_reload();
        gauge!("matchwire_settings_refused").set(if reloaded.is_ok() { 0.0 } else { 1.0 });
        service_manager::is_ready();
        match reloaded {
            Ok(changed) => {
                let changed = changed.join(", ");
                let changed = if changed.is_empty() { "no setting has" } else { &changed };
                let done = format!("reloaded: {changed} changed");
                info!("{done}");
                Ok(done)
            }
            Err(error) => {
                let cause = &error as &dyn std::error::Error;
                error!(error = cause, "not reloaded: all settings stay as they are");
                Err(format!("not reloaded: {}", with_causes(&error)))
            }
        }
    }

    /// Returns the names of the settings that have changed.
    fn try_reload(&mut self) -> Result<Vec<String>, ReloadError> {
        let wanted = self.origin.load()?;
        let changed = self.config.changes(&wanted);
        // All that this function applies, with the values that are in force for everything else.
        let reloaded = Config {
            sources: wanted.sources.clone(),
            limits: wanted.limits.clone(),
            products: wanted.products.clone(),
            competitions: wanted.competitions.clone(),
            logging: LoggingConfig {
                filter: wanted.logging.filter.clone(),
                ..self.config.logging.clone()
            },
            tls: TlsConfig {
                certificate: wanted.tls.certificate.clone(),
                key: wanted.tls.key.clone(),
                ..self.config.tls.clone()
            },
            ..self.config.clone()
        };
        if reloaded != wanted {
            let fixed = reloaded.changes(&wanted);
            // Secrets are never written, so their names are not known here.
            let fixed = if fixed.is_empty() { vec!["a secret".to_owned()] } else { fixed };
            return Err(ReloadError::NeedsRestart(fixed));
        }
        if wanted.plays_demo() != self.config.plays_demo() {
            return Err(ReloadError::NeedsRestart(vec!["whether the demo plays".to_owned()]));
        }
        let filter = telemetry::filter(&wanted.logging)?;
        let certificate = self.certificate(&wanted.tls)?;
        playing::check_sources(&wanted.sources)?;
        let catalogue = wanted.products.catalogue().expect("the settings were checked");
        // Nothing below fails.
        let parts = &self.parts;
        parts.filter.replace(filter);
        if let Some((current, certificate)) = certificate {
            current.replace(certificate);
        }
        parts.limits.replace(&wanted.limits);
        parts.prices.replace(catalogue);
        parts.competitions.replace(wanted.competitions.clone());
        // Also if they are the same: some may not have been started.
        self.sources.send_replace(wanted.sources.clone().into());
        self.config = wanted;
        Ok(changed)
    }

    /// The certificate of these settings, and the one that it replaces; `None` without TLS.
    fn certificate(
        &self,
        wanted: &TlsConfig,
    ) -> Result<Option<(&CurrentCertificate, Certificate)>, ReloadError> {
        let is_wanted = !wanted.certificate.as_os_str().is_empty();
        match &self.parts.certificate {
            Some(current) if is_wanted => {
                let now = wall() / 1_000_000;
                let next = current.read_next(&wanted.certificate, &wanted.key, now)?;
                Ok(Some((current, next)))
            }
            None if !is_wanted => Ok(None),
            Some(_) | None => {
                Err(ReloadError::NeedsRestart(vec!["whether TLS is spoken".to_owned()]))
            }
        }
    }
}
