//! All settings: how they are read and how they are checked against each other.
//!
//! Defaults come first, then one TOML file, then the environment (`MATCHWIRE_HUB_TAIL_BYTES` is
//! `tail_bytes` of `[hub]`), then flags; later sources override earlier ones. Unknown names are
//! rejected, since most are typing errors. Only this module reads settings from the environment and
//! from files. A `Config` that it returns is valid and is not checked again.

mod reading;
mod sections;

use std::{
    collections::BTreeSet,
    ffi::OsString,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

pub use accounts::config::{
    AccountsConfig, LimitsConfig, MailConfig, OAuthConfig, PaymentsConfig, PepperSetting,
    ProductsConfig, UsageConfig,
};
use base::{
    config::{BoundExceeded, FAULT_VARIABLE, SecretError, at_most},
    feature::MissingFeature,
};
pub use cluster::config::{ClusterConfig, ClusterConfigError};
pub use database::DatabaseConfig;
pub use demo::config::{DemoConfig, DemoSpeed, WrongDemoSpeed};
use history::config::competitions;
pub use history::config::{ArchiveConfig, CompetitionsConfig, PredictionsConfig};
pub use hub::config::{FeedsConfig, HubConfig, IngestConfig, SignalsConfig};
pub use log::config::{LogConfig, LogConfigError, LogEngine};
pub use mcp::McpConfig;
use sources::config::{SourceConfig, SourceKind};
pub use web::config::{AcmeConfig, FanoutConfig, ImagesConfig, ServerConfig, TlsConfig};
#[cfg(feature = "webhooks")]
pub use webhooks::config::WebhooksConfig;
/// Any settings of webhooks, which a program without the feature `webhooks` refuses.
#[cfg(not(feature = "webhooks"))]
pub type WebhooksConfig = Table;

use self::reading::{overlay, read_file};
pub use self::sections::{BenchConfig, LogFormat, LoggingConfig, TracesConfig};
use crate::features;
use database::DatabaseName;

const VARIABLE_PREFIX: &str = "MATCHWIRE_";

/// Where `matchwire mcp` and its hosts keep a customer's key. It is not a setting.
const KEY_VARIABLE: &str = "MATCHWIRE_KEY";

/// Names the settings file where no option does, so that all commands in a container have the same settings.
const FILE_VARIABLE: &str = "MATCHWIRE_CONFIG";

/// The variables that are not settings.
const OTHER_VARIABLES: [&str; 3] = [FAULT_VARIABLE, KEY_VARIABLE, FILE_VARIABLE];

/// All settings, one struct for each section.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub server: ServerConfig,
    pub tls: TlsConfig,
    pub acme: AcmeConfig,
    pub database: DatabaseConfig,
    pub archive: ArchiveConfig,
    pub accounts: AccountsConfig,
    pub oauth: OAuthConfig,
    pub products: ProductsConfig,
    pub predictions: PredictionsConfig,
    #[serde(skip_serializing_if = "CompetitionsConfig::is_empty")]
    pub competitions: CompetitionsConfig,
    pub signals: SignalsConfig,
    pub mail: MailConfig,
    pub payments: PaymentsConfig,
    pub webhooks: WebhooksConfig,
    pub limits: LimitsConfig,
    pub usage: UsageConfig,
    pub hub: HubConfig,
    pub fanout: FanoutConfig,
    pub demo: DemoConfig,
    pub bench: BenchConfig,
    pub feeds: FeedsConfig,
    pub ingest: IngestConfig,
    pub images: ImagesConfig,
    pub mcp: McpConfig,
    pub log: LogConfig,
    pub cluster: ClusterConfig,
    pub logging: LoggingConfig,
    pub traces: TracesConfig,
    /// The live feeds, if any. If there is at least one, the demo is not played.
    #[serde(skip_serializing, rename = "source")]
    pub sources: Vec<SourceConfig>,
}

/// Settings from the command line. They override all others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flags {
    pub listen: Option<SocketAddr>,
    pub db: Option<DatabaseName>,
    /// False for a command that has its own sources.
    pub demo: Option<bool>,
    /// The command plays recordings. They start from the beginning each time, perhaps while another hub has the log
    /// open, so the log is in memory, unless a folder is set.
    pub plays_recordings: bool,
    pub demo_speed: Option<DemoSpeed>,
    /// Changes per second of the steady load; 0 for a command that has its own sources.
    pub bench_rate: Option<u32>,
    pub bench_channels: Option<u32>,
    pub tls_certificate: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
}

/// Where the settings of a process come from, so that they can be read again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigOrigin {
    pub file: Option<PathBuf>,
    pub flags: Flags,
}

impl ConfigOrigin {
    /// Reads the settings as they are now.
    ///
    /// # Errors
    ///
    /// As [`Config::load`].
    pub fn load(&self) -> Result<Config, ConfigError> {
        Config::load(self.file.as_deref(), &self.flags)
    }
}

/// Why the settings cannot be used. The operator can always fix it.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read the config file {path}")]
    Unreadable { path: PathBuf, source: io::Error },
    /// With the key of the line, and not its value, which may be a secret.
    #[error("invalid config file {path}, line {line}{}: {message}", key.as_deref().map(|key| format!(" ({key})")).unwrap_or_default())]
    WrongFile { path: PathBuf, line: usize, key: Option<String>, message: String },
    #[error("the environment variable {name} is not a setting")]
    UnknownVariable { name: String },
    #[error("the environment variable {name} must be {expected}")]
    WrongVariable { name: String, expected: &'static str },
    #[error("invalid value in the environment")]
    WrongEnvironment(#[source] toml::de::Error),
    #[error("a path in the settings is not UTF-8")]
    PathNotText,
    #[error("{name} must be {expected}")]
    Wrong { name: &'static str, expected: &'static str },
    #[error("{name} must not be 0")]
    Zero { name: String },
    #[error(transparent)]
    BoundExceeded(#[from] BoundExceeded),
    #[error(transparent)]
    MissingFeature(#[from] MissingFeature),
    #[error(transparent)]
    Log(#[from] LogConfigError),
    #[error(transparent)]
    Cluster(#[from] ClusterConfigError),
    #[error("cluster.name is set, so {needed}")]
    NotInCluster { needed: &'static str },
    #[error("source {name:?}: {problem}")]
    Source { name: String, problem: &'static str },
    #[error("source {name:?}: a secret is missing")]
    Secret { name: String, source: SecretError },
    #[error("tls.certificate and tls.key go together: set both, or none")]
    HalfTls,
    #[error(
        "acme.domains and tls.certificate exclude each other: each is the certificate of the hub"
    )]
    TwoCertificates,
    #[error(
        "the demo listens on loopback only, not on {listen}: \
         set demo.enabled = false, or listen on 127.0.0.1"
    )]
    DemoForAll { listen: SocketAddr },
    #[error(
        "the steady load listens on loopback only, not on {listen}: \
         set bench.rate = 0, or listen on 127.0.0.1"
    )]
    BenchForAll { listen: SocketAddr },
}

/// The numbers where 0 has a meaning, as their documentation says, or is judged with other settings.
const MAY_BE_ZERO: &str = "\
    archive.keep_days archive.keep_signals_days archive.keep_ticks_days \
    bench.rate cluster.answer_ms cluster.isolated_ms cluster.lease_ms cluster.log_age_ms \
    cluster.log_bytes cluster.record_bytes_max cluster.replicas cluster.stale_ms \
    database.connections_max demo.head_start_minutes demo.seed fanout.idle_ms \
    fanout.send_buffer_bytes fanout.shards fanout.unsent_bytes feeds.hold_ms \
    hub.ended_keep_ms hub.ids_max images.cache_bytes ingest.deadline_ms ingest.ids_max \
    ingest.prices_deadline_ms ingest.sockets_max ingest.sockets_max_per_source \
    limits.account_cpu_burst_ms limits.account_cpu_percent limits.account_waiting_max \
    limits.address_burst limits.address_per_second limits.client_documents_per_hour \
    limits.football_per_day limits.log_ins_per_hour_by_account \
    limits.log_ins_per_hour_by_address limits.log_ins_per_hour_by_email \
    limits.mails_per_hour limits.mails_per_hour_by_email limits.registrations_per_hour \
    limits.tennis_taster_per_day limits.token_requests_per_minute \
    limits.wrong_keys_per_minute log.disk_free_min_bytes log.films_keep_ms log.fsync_ms \
    log.replays_max log.replays_max_per_account mail.retry_max_ms mcp.cache_bytes \
    mcp.notify_ms payments.retry_ms payments.sweep_after_ms server.drain_ms server.hsts_days \
    tls.watch_ms usage.keep_days webhooks.max_per_account webhooks.retry_max_ms";

impl Config {
    /// Reads the settings of this process.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or if a name or a value is wrong.
    pub fn load(file: Option<&Path>, flags: &Flags) -> Result<Self, ConfigError> {
        let (config, problems) = Self::load_with_problems(file, flags)?;
        problems.into_iter().next().map_or(Ok(config), Err)
    }

    /// Reads the settings of this process, and says all that is wrong with them. Where anything is, they must not be used
    /// for more than further checks.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or a name or the type of a value is wrong.
    #[expect(clippy::disallowed_methods, reason = "this is where settings are read")]
    pub fn load_with_problems(
        file: Option<&Path>,
        flags: &Flags,
    ) -> Result<(Self, Vec<ConfigError>), ConfigError> {
        let named = std::env::var_os(FILE_VARIABLE).filter(|name| !name.is_empty());
        let file = file.map(Path::to_owned).or_else(|| named.map(PathBuf::from));
        let config = Self::read(file.as_deref(), std::env::vars_os(), flags)?;
        let problems = config.problems();
        Ok((config, problems))
    }

    /// The settings, which are not checked against each other.
    fn read(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        flags: &Flags,
    ) -> Result<Self, ConfigError> {
        let mut settings = file.map_or_else(|| Ok(Table::new()), read_file)?;
        overlay(&mut settings, environment)?;
        let config = Self::deserialize(settings).map_err(ConfigError::WrongEnvironment)?;
        Ok(config.with_flags(flags))
    }

    fn with_flags(mut self, flags: &Flags) -> Self {
        self.server.listen = flags.listen.unwrap_or(self.server.listen);
        if let Some(db) = &flags.db {
            self.server.db.clone_from(db);
        }
        self.demo.enabled = flags.demo.unwrap_or(self.demo.enabled);
        if flags.plays_recordings && self.log.folder.as_os_str().is_empty() {
            self.log.engine = LogEngine::Memory;
        }
        self.demo.speed = flags.demo_speed.unwrap_or(self.demo.speed);
        self.bench.rate = flags.bench_rate.unwrap_or(self.bench.rate);
        self.bench.channels = flags.bench_channels.unwrap_or(self.bench.channels);
        if let Some(certificate) = &flags.tls_certificate {
            self.tls.certificate.clone_from(certificate);
        }
        if let Some(key) = &flags.tls_key {
            self.tls.key.clone_from(key);
        }
        self
    }

    /// The names of the settings that have another value in the other configuration, such as `hub.tail_bytes`. All of
    /// `[[source]]` is `source`.
    ///
    /// # Panics
    ///
    /// Never: settings can be written as TOML.
    #[must_use]
    pub fn changes(&self, other: &Self) -> Vec<String> {
        let table = |config| Table::try_from(config).expect("settings can be written");
        let (ours, theirs) = (table(self), table(other));
        let sections: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
        let mut changes = Vec::new();
        for section in sections {
            let names = |table: &Table| table.get(section).and_then(Value::as_table).cloned();
            let [ours, theirs] = [&ours, &theirs].map(|table| names(table).unwrap_or_default());
            let names: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
            let changed = names.into_iter().filter(|name| ours.get(*name) != theirs.get(*name));
            changes.extend(changed.map(|name| format!("{section}.{name}")));
        }
        if self.sources != other.sources {
            changes.push("source".to_owned());
        }
        changes
    }

    /// Each setting that is wrong by itself or beside another one.
    fn problems(&self) -> Vec<ConfigError> {
        let mut problems: Vec<ConfigError> = Vec::new();
        problems.extend(self.missing_features(features::is_built).map(ConfigError::from));
        problems.extend(self.zeros());
        problems.extend(self.exceeded_bounds().map(ConfigError::from));
        let has_certificate = !self.tls.certificate.as_os_str().is_empty();
        if has_certificate == self.tls.key.as_os_str().is_empty() {
            problems.push(ConfigError::HalfTls);
        }
        if self.acme.names().next().is_some() && has_certificate {
            problems.push(ConfigError::TwoCertificates);
        }
        let wrong = |(name, expected)| ConfigError::Wrong { name, expected };
        let found = |problem: Option<_>| problem.map_or(Ok(()), |problem| Err(wrong(problem)));
        let checks = [
            self.signals.check().map_err(ConfigError::from),
            self.log.check().map_err(ConfigError::from),
            self.check_cluster(),
            self.products.catalogue().map(drop).map_err(wrong),
            competitions::check(&self.competitions).map_err(wrong),
            self.server.forwarded_header_name().map(drop).map_err(wrong),
            self.server.proxies().map(drop).map_err(wrong),
            self.accounts.check().map_err(wrong),
            found(self.mail.problem()),
            found(self.signals.problem()),
            found(self.traces.problem()),
            found(self.acme.problem()),
            self.payments.check(self.products.currencies()).map_err(wrong),
            Table::try_from(self).map(drop).map_err(|_| ConfigError::PathNotText),
            self.check_address(self.server.listen),
        ];
        problems.extend(checks.into_iter().filter_map(Result::err));
        problems.extend(self.source_problems());
        problems
    }

    /// The settings that need a feature without which the program was built.
    fn missing_features(
        &self,
        is_built: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = MissingFeature> {
        let has_acme_domains = self.acme.names().next().is_some();
        let follows_amqp =
            self.sources.iter().any(|it| matches!(it.kind, SourceKind::SportradarUof(_)));
        let needs = [
            (has_acme_domains, "acme.domains", "acme"),
            (follows_amqp, "kind = \"sportradar-uof\"", "amqp"),
            (self.cluster.is_enabled(), "cluster.name", "cluster"),
            (self.demo.enabled, "demo.enabled", "demo"),
            (self.server.test_channels, "server.test_channels", "demo"),
            (self.log.films_keep_ms > 0, "log.films_keep_ms", "films"),
            (self.payments.sandbox, "payments.sandbox", "sandbox"),
            #[cfg(not(feature = "webhooks"))]
            (!self.webhooks.is_empty(), "[webhooks]", "webhooks"),
            (matches!(self.server.db, DatabaseName::Postgres(_)), "a postgres:// URL", "postgres"),
        ];
        let missing =
            needs.into_iter().filter(move |(is_set, _, feature)| *is_set && !is_built(feature));
        missing.map(|(_, needed_by, feature)| MissingFeature { needed_by, feature })
    }

    /// Rejects an address at which others than this machine would reach the demo or the steady load. The service manager
    /// may pass another one than `server.listen`.
    ///
    /// # Errors
    ///
    /// If it is one.
    pub fn check_address(&self, listen: SocketAddr) -> Result<(), ConfigError> {
        match listen.ip().is_loopback() {
            false if self.bench.rate > 0 => Err(ConfigError::BenchForAll { listen }),
            false if self.plays_demo() => Err(ConfigError::DemoForAll { listen }),
            _ => Ok(()),
        }
    }

    /// Rejects what the nodes of a cluster could not share.
    fn check_cluster(&self) -> Result<(), ConfigError> {
        self.cluster.check()?;
        if !self.cluster.is_enabled() {
            return Ok(());
        }
        let needed = if !matches!(self.server.db, DatabaseName::Postgres(_)) {
            "server.db must be a postgres:// URL, which all nodes share"
        } else if self.log.engine != LogEngine::Files {
            "log.engine must be \"files\""
        } else if self.plays_demo() && self.bench.rate == 0 {
            "demo.enabled must be false: each node would play another one"
        } else {
            return Ok(());
        };
        Err(ConfigError::NotInCluster { needed })
    }

    /// Whether the hub plays the demo.
    #[must_use]
    pub fn plays_demo(&self) -> bool {
        self.demo.enabled && self.sources.is_empty()
    }

    /// A file or folder of the hub next to its database, by the end of its name.
    #[must_use]
    pub fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.server.db.beside().as_os_str().to_owned();
        name.push(suffix);
        name.into()
    }

    fn source_problems(&self) -> impl Iterator<Item = ConfigError> {
        self.sources.iter().enumerate().filter_map(|(index, source)| {
            let problem = source.problem().or_else(|| {
                let earlier = self.sources[..index].iter().any(|other| other.name == source.name);
                earlier.then_some("the name is taken by another source")
            })?;
            Some(ConfigError::Source { name: source.name.clone(), problem })
        })
    }

    /// The settings that must not be 0, and are.
    fn zeros(&self) -> Vec<ConfigError> {
        let mut zeros = Vec::new();
        // A path that is no text is a problem of its own.
        for (section, settings) in Table::try_from(self).unwrap_or_default() {
            let Value::Table(settings) = settings else { continue };
            for (setting, value) in settings {
                let name = format!("{section}.{setting}");
                let may_be_zero = MAY_BE_ZERO.split_whitespace().any(|listed| listed == name);
                if value == Value::Integer(0) && !may_be_zero {
                    zeros.push(ConfigError::Zero { name });
                }
            }
        }
        zeros
    }

    fn exceeded_bounds(&self) -> impl Iterator<Item = BoundExceeded> {
        let Self { server, mail, usage, hub, fanout, bench, ingest, demo, oauth, .. } = self;
        let bounds = [
            // What a crash may lose, and the month that is displayed.
            (("usage.flush_ms", usage.flush_ms), ("ten seconds", 10_000)),
            (("the days shown", 31), ("usage.keep_days", usage.keep_days.into())),
            // Its schedule is in microseconds, and each of its channels is a match.
            (("bench.rate", bench.rate.into()), ("one a microsecond", 1_000_000)),
            (("demo.head_start_minutes", demo.head_start_minutes.into()), ("ten hours", 600)),
            (
                ("bench.channels", bench.channels.into()),
                ("hub.matches_max_per_source", hub.matches_max_per_source as u64),
            ),
            (
                ("ingest.line_bytes_max", ingest.line_bytes_max as u64),
                ("ingest.body_bytes_max", ingest.body_bytes_max as u64),
            ),
            (("mail.retry_ms", mail.retry_ms), ("mail.retry_max_ms", mail.retry_max_ms)),
            #[cfg(feature = "webhooks")]
            (
                ("webhooks.retry_ms", self.webhooks.retry_ms),
                ("webhooks.retry_max_ms", self.webhooks.retry_max_ms),
            ),
            // A refresh token outlives the access token that it replaces.
            (
                ("oauth.access_token_minutes", oauth.access_token_minutes.into()),
                ("oauth.refresh_token_days", u64::from(oauth.refresh_token_days) * 24 * 60),
            ),
            // One turn cannot write more than the outbox holds.
            (
                ("fanout.write_bytes_max", fanout.write_bytes_max as u64),
                ("fanout.outbox_bytes", fanout.outbox_bytes as u64),
            ),
            // Positions may come in any command, so their limit is at least that of commands.
            (
                ("server.command_bytes_max", server.command_bytes_max as u64),
                ("fanout.from_bytes_max", fanout.from_bytes_max as u64),
            ),
            (
                ("fanout.channels_max", fanout.channels_max as u64),
                ("fanout.channels_max_per_account", fanout.channels_max_per_account as u64),
            ),
            (
                ("fanout.sockets_max_per_account", fanout.sockets_max_per_account as u64),
                ("fanout.sockets_max", fanout.sockets_max as u64),
            ),
        ];
        // A client that answers every heartbeat must not count as idle.
        let idle = (("fanout.beat_ms", fanout.beat_ms), ("fanout.idle_ms", fanout.idle_ms));
        let bounds = bounds.into_iter().chain((fanout.idle_ms > 0).then_some(idle));
        bounds.filter_map(|(setting, bound)| at_most(setting, bound).err())
    }
}

#[cfg(test)]
mod tests;
