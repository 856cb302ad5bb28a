//! What the settings name outside of themselves: secrets, certificates, clients of other servers.
//!
//! A start, and `matchwire check`, get it here, so that they cannot disagree.

use std::{
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use hub::trace::Tracer;
use sources::{config::SourceKind, follow::FollowError};
use tracing::error;

use super::{
    AppError, RunMode, listening, log_files,
    part_settings::{acme, acme_folder, certificate},
    playing::{self, LiveSource},
};
use crate::{
    config::{Config, LogEngine},
    telemetry::{self, traces::TraceExporter},
};
use accounts::{mail, payments};
use base::{clock::wall, config::SecretRef, tls};
use database::DatabaseName;
use web::http::tls::{CurrentCertificate, acme::AcmeClient};

/// What a start needs of what the settings name.
pub(super) struct ResolvedSettings {
    /// `None` without `tls.certificate`.
    pub certificate: Option<Arc<CurrentCertificate>>,
    pub acme: Option<AcmeClient>,
    pub live: Vec<LiveSource>,
    pub traces: Option<(Tracer, TraceExporter)>,
}

/// A setting that cannot be used.
#[derive(Debug)]
pub struct SettingProblem {
    /// Such as `tls.certificate`.
    pub setting: String,
    pub error: AppError,
    /// Whether the hub does not start with it. It may start with what can come right while it runs.
    pub is_fatal: bool,
}

#[derive(Default)]
struct Problems(Vec<SettingProblem>);

impl Problems {
    fn add(&mut self, setting: impl Into<String>, error: impl Into<AppError>, is_fatal: bool) {
        self.0.push(SettingProblem { setting: setting.into(), error: error.into(), is_fatal });
    }

    /// The value, or a problem with which the hub does not start.
    fn take<T, E: Into<AppError>>(&mut self, setting: &str, value: Result<T, E>) -> Option<T> {
        value.map_err(|error| self.add(setting, error, true)).ok()
    }
}

/// Resolves the settings of a hub in this mode, without changing anything. The parts are complete if no problem is fatal.
/// `now`: Unix time in seconds.
pub(super) fn resolve(
    config: &Config,
    mode: &RunMode,
    now: i64,
) -> (ResolvedSettings, Vec<SettingProblem>) {
    let mut problems = Problems::default();
    problems.take("logging.filter", telemetry::filter(&config.logging));
    let certificate = problems.take("tls.certificate", certificate(&config.tls)).flatten();
    if let Some(Err(error)) = certificate.as_ref().map(|shown| shown.check_expiry(now)) {
        problems.add("tls.certificate", error, false);
    }
    let acme = problems.take("acme", acme(config)).flatten();
    problems.take("mail", mail::check(&config.mail));
    problems.take("payments", payments::check(&config.payments));
    let traces = problems.take("traces.url", telemetry::traces::start(&config.traces)).flatten();
    if config.cluster.is_enabled() {
        let login = config.cluster.login().map_err(AppError::NatsLogin);
        problems.take("cluster.nats_user", login);
        let authority = &*config.cluster.nats_ca;
        if !authority.as_os_str().is_empty() {
            let trusted = tls::client(Some(authority)).map_err(AppError::NatsAuthority);
            problems.take("cluster.nats_ca", trusted);
        }
    }
    let mut live = Vec::new();
    for source in config.sources.iter().filter(|_| playing::follows_live(mode)) {
        let setting = format!("source {:?}", source.name);
        live.extend(problems.take(&setting, LiveSource::new(source)));
        // Read at each connection, so that another program may write it later.
        if let SourceKind::BetfairStream(betfair) = &source.kind
            && matches!(betfair.session, SecretRef::File(_))
            && let Err(error) = betfair.session.resolve()
        {
            let error =
                AppError::Source { name: source.name.clone(), source: FollowError::Secret(error) };
            problems.add(setting, error, false);
        }
    }
    (ResolvedSettings { certificate, acme, live, traces }, problems.0)
}

/// The same for a start, whose first fatal problem is returned; the others are logged.
pub(super) fn resolve_for_start(
    config: &Config,
    mode: &RunMode,
) -> Result<ResolvedSettings, AppError> {
    let (resolved, problems) = resolve(config, mode, wall() / 1_000_000);
    for SettingProblem { setting, error, is_fatal } in problems {
        if is_fatal {
            return Err(error);
        }
        let error = &error as &dyn std::error::Error;
        error!(error, "{setting} cannot be used as it is now; the hub starts all the same");
    }
    resolved.acme.as_ref().map_or(Ok(()), AcmeClient::make_folder)?;
    Ok(resolved)
}

/// All problems that a hub with these settings would meet on this machine. Nothing is changed, and no other server is
/// asked. `now`: Unix time in seconds.
///
/// It must run in a runtime, as the hub does.
#[must_use]
pub fn check(config: &Config, now: i64) -> Vec<SettingProblem> {
    let (_, found) = resolve(config, &RunMode::from_config(config), now);
    let mut problems = Problems(found);
    problems.take("server.listen", listening::check(config.server.listen));
    for (setting, folder, is_made) in folders(config) {
        if let Err(source) = check_writable(&folder, is_made) {
            problems.add(setting, AppError::Folder { path: folder, source }, true);
        }
    }
    problems.0
}

/// The folders in which the hub writes, with the settings that name them, and whether the hub makes them.
fn folders(config: &Config) -> Vec<(&'static str, PathBuf, bool)> {
    let mut folders = Vec::new();
    if let DatabaseName::File(file) = &config.server.db {
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or_else(|| Path::new("."));
        folders.push(("server.db", parent.to_owned(), false));
    }
    if config.log.engine == LogEngine::Files {
        folders.push(("log.folder", log_files::folder(config), true));
    }
    if config.acme.names().next().is_some() {
        folders.push(("acme.folder", acme_folder(config), true));
    }
    if !config.mail.folder.as_os_str().is_empty() {
        folders.push(("mail.folder", config.mail.folder.clone(), true));
    }
    folders
}

/// Tries it with a file that is removed at once: in the folder or, if the hub makes it, in the one that is there above.
fn check_writable(folder: &Path, is_made: bool) -> io::Result<()> {
    // Of a relative path the last one is empty: the working directory.
    let is_there = |path: &&Path| !is_made || path.exists() || path.as_os_str().is_empty();
    let existing = folder.ancestors().find(is_there).unwrap_or(folder);
    let trial = existing.join(format!(".matchwire-check-{}", std::process::id()));
    OpenOptions::new().write(true).create_new(true).open(&trial)?;
    fs::remove_file(&trial)
}

#[cfg(test)]
mod tests;
