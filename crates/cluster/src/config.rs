//! `[cluster]`: which cluster a node belongs to, its role, and how it reaches the NATS servers.

use std::path::PathBuf;

use base::config::{SecretError, SecretRef};
use serde::{Deserialize, Serialize};

/// `[cluster]`: several machines that serve the same channels: docs/CLUSTER.md. Needs the features `cluster` and
/// `postgres`, and NATS servers with JetStream, 2.9 or newer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterConfig {
    /// The name of the cluster: letters, digits and dashes, at most 32. It is part of every subject and of the name of the
    /// stream. Default: empty, which is a single machine without a cluster.
    pub name: String,
    /// What this node does: `all` may lead and serves clients, `writer` may lead, `edge` serves clients. Default
    /// `all`.
    pub role: Role,
    /// The name of this node, unique in the cluster: letters, digits and dashes, at most 64. Default: empty, which is the
    /// name of the host, with a dash for every other character.
    pub node: String,
    /// URLs of the NATS servers, `nats://` or `tls://`, several with commas between them. Default: empty, which is
    /// valid only without a cluster. The client also learns of the other servers of a NATS cluster.
    pub nats: String,
    /// The user that logs in to NATS: the name itself, `env:NAME` or `file:PATH`. Default: empty, which is no login.
    pub nats_user: SecretRef,
    /// The password of `nats_user`: `env:NAME`, `file:PATH`, or the password itself. Default: empty.
    pub nats_password: SecretRef,
    /// A PEM file of the authorities that sign the certificates of the NATS servers, instead of those of the system. If it is
    /// set, every connection must use TLS. Default: empty.
    pub nats_ca: PathBuf,
    /// Copies of the log, each on another NATS server. Default 3; from 1 to 5. With 1, the log is lost with its server, so
    /// use it for trials only.
    pub replicas: usize,
    /// Milliseconds for which the log is kept. Default 900000, 15 minutes; at least 120000. A node that is behind by
    /// more must begin with a snapshot.
    pub log_age_ms: u64,
    /// Bytes of the log at most. Default 8589934592, 8 GiB; at least 67108864. Beyond it the oldest messages are deleted,
    /// even if they are not old.
    pub log_bytes: u64,
    /// Milliseconds without a record from the leader after which another node tries to lead. Default 1000; from 500 to
    /// 10000. A shorter time finds a leader that hangs sooner, and replaces one that is only slow.
    pub lease_ms: u64,
    /// Milliseconds without a record after which clients are told that data may be stale. Default 1000; at least 500,
    /// since a quiet leader appends a record every 250 ms.
    pub stale_ms: u64,
    /// Milliseconds without a sign of the leader after which a node that follows asks PostgreSQL whether it goes on, and if
    /// so closes its sockets, so that their clients continue elsewhere. Default 3000; at least `lease_ms` and 1000.
    pub isolated_ms: u64,
    /// Bytes of the records in one message at most. Default 524288, 512 KiB; from 1024 to 917504, because a NATS message
    /// has at most 1 MiB. Larger ones are cut into parts.
    pub record_bytes_max: usize,
    /// Milliseconds to wait for an answer of a NATS server. Default 500; from 50 to 10000. An append without an
    /// answer is repeated after this time.
    pub answer_ms: u64,
}

/// The greatest length of `name`, in bytes.
const NAME_BYTES_MAX: usize = 32;
/// The greatest length of `node`, in bytes; as long as a host's name on Linux.
pub(crate) const NODE_BYTES_MAX: usize = 64;
/// More replicas than JetStream offers.
const REPLICAS_MAX: u64 = 5;
/// The least `log_age_ms`: the window in which JetStream recognises message ids.
const LOG_AGE_MS_MIN: u64 = 120_000;
/// The least `log_bytes`. With less, a busy hub would overwrite the log within seconds.
const LOG_BYTES_MIN: u64 = 64 << 20;
const LEASE_MS_MIN: u64 = 500;
const LEASE_MS_MAX: u64 = 10_000;
/// The least `stale_ms`: two intervals of a quiet leader.
const STALE_MS_MIN: u64 = 500;
/// A node takes the lead within this time of the end of a lease.
const TAKEOVER_MS: u64 = 1_000;
const RECORD_BYTES_MIN: u64 = 1 << 10;
/// The greatest `record_bytes_max`: 1 MiB less 128 KiB for headers.
const RECORD_BYTES_MAX: u64 = 896 << 10;
const ANSWER_MS_MIN: u64 = 50;
const ANSWER_MS_MAX: u64 = 10_000;

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It may lead, and serves clients.
    #[default]
    All,
    /// It may lead; the balancer keeps clients away from it.
    Writer,
    /// It serves clients, and never leads.
    Edge,
}

impl Role {
    /// As in the settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Writer => "writer",
            Self::Edge => "edge",
        }
    }

    /// Whether a node of this role may lead.
    #[must_use]
    pub fn may_lead(self) -> bool {
        match self {
            Self::All | Self::Writer => true,
            Self::Edge => false,
        }
    }
}

/// A setting of `[cluster]` that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClusterConfigError {
    #[error("`{setting}` is {value}, and must be at least {min}")]
    TooSmall { setting: &'static str, value: u64, min: u64 },
    #[error("`{setting}` is {value}, and must be at most {max}")]
    TooLarge { setting: &'static str, value: u64, max: u64 },
    #[error(
        "`{setting}` is `{value}`, and must consist of at most {max} letters, digits and dashes"
    )]
    BadName { setting: &'static str, value: String, max: usize },
    #[error("`cluster.nats` is empty, and must name a NATS server, since `cluster.name` is set")]
    NoServer,
    #[error("`cluster.nats` contains `{url}`, and must consist of `nats://` or `tls://` URLs")]
    BadUrl { url: String },
    #[error("`cluster.nats` contains a password, which belongs into `cluster.nats_password`")]
    PasswordInUrl,
    #[error("`{set}` is set, and needs `{missing}`")]
    Incomplete { set: &'static str, missing: &'static str },
}

impl ClusterConfig {
    /// Whether the node belongs to a cluster.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        !self.name.is_empty()
    }

    /// The name of this node: the setting, or the host's name.
    #[must_use]
    pub fn node_name(&self) -> String {
        if !self.node.is_empty() {
            return self.node.clone();
        }
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy();
        let is_valid = |char: char| char.is_ascii_alphanumeric() || char == '-';
        let name = host.chars().map(|char| if is_valid(char) { char } else { '-' });
        let name: String = name.take(NODE_BYTES_MAX).collect();
        if name.is_empty() { "node".to_owned() } else { name }
    }

    /// The URLs of the NATS servers.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.nats.split(',').map(str::trim).filter(|url| !url.is_empty())
    }

    /// Checks the bounds that the fields document. Without a cluster, everything is valid.
    ///
    /// # Errors
    ///
    /// For the first setting that cannot be used. The message names it.
    pub fn check(&self) -> Result<(), ClusterConfigError> {
        if !self.is_enabled() {
            return Ok(());
        }
        check_name("cluster.name", &self.name, NAME_BYTES_MAX)?;
        if !self.node.is_empty() {
            check_name("cluster.node", &self.node, NODE_BYTES_MAX)?;
        }
        self.check_servers()?;
        check_bounds("cluster.replicas", self.replicas as u64, 1, REPLICAS_MAX)?;
        check_bounds("cluster.log_age_ms", self.log_age_ms, LOG_AGE_MS_MIN, DURATION_MS_MAX)?;
        check_bounds("cluster.log_bytes", self.log_bytes, LOG_BYTES_MIN, i64::MAX as u64)?;
        check_bounds("cluster.lease_ms", self.lease_ms, LEASE_MS_MIN, LEASE_MS_MAX)?;
        check_bounds("cluster.stale_ms", self.stale_ms, STALE_MS_MIN, DURATION_MS_MAX)?;
        let isolated_min = self.lease_ms + TAKEOVER_MS;
        check_bounds("cluster.isolated_ms", self.isolated_ms, isolated_min, DURATION_MS_MAX)?;
        let (bytes, setting) = (self.record_bytes_max as u64, "cluster.record_bytes_max");
        check_bounds(setting, bytes, RECORD_BYTES_MIN, RECORD_BYTES_MAX)?;
        check_bounds("cluster.answer_ms", self.answer_ms, ANSWER_MS_MIN, ANSWER_MS_MAX)
    }

    fn check_servers(&self) -> Result<(), ClusterConfigError> {
        if self.servers().next().is_none() {
            return Err(ClusterConfigError::NoServer);
        }
        for url in self.servers() {
            let rest = url.strip_prefix("nats://").or_else(|| url.strip_prefix("tls://"));
            match rest {
                Some(rest) if rest.contains('@') => return Err(ClusterConfigError::PasswordInUrl),
                Some(rest) if !rest.is_empty() && !rest.contains(char::is_whitespace) => {}
                _ => return Err(ClusterConfigError::BadUrl { url: url.to_owned() }),
            }
        }
        let (user, password) = ("cluster.nats_user", "cluster.nats_password");
        match (self.nats_user.is_set(), self.nats_password.is_set()) {
            (true, false) => Err(ClusterConfigError::Incomplete { set: user, missing: password }),
            (false, true) => Err(ClusterConfigError::Incomplete { set: password, missing: user }),
            (true, true) | (false, false) => Ok(()),
        }
    }

    /// The user and the password; `None` if nobody logs in.
    ///
    /// # Errors
    ///
    /// If one of them cannot be read.
    pub fn login(&self) -> Result<Option<(String, String)>, SecretError> {
        if self.nats_user.is_empty() {
            return Ok(None);
        }
        let (user, password) = (self.nats_user.resolve()?, self.nats_password.resolve()?);
        Ok(Some((user.expose().to_owned(), password.expose().to_owned())))
    }
}

/// The greatest time of any setting: a year, so that sums do not overflow.
const DURATION_MS_MAX: u64 = 365 * 24 * 3_600_000;

fn check_bounds(
    setting: &'static str,
    value: u64,
    min: u64,
    max: u64,
) -> Result<(), ClusterConfigError> {
    if value < min {
        return Err(ClusterConfigError::TooSmall { setting, value, min });
    }
    if value > max {
        return Err(ClusterConfigError::TooLarge { setting, value, max });
    }
    Ok(())
}

fn check_name(setting: &'static str, value: &str, max: usize) -> Result<(), ClusterConfigError> {
    if is_name(value, max) {
        return Ok(());
    }
    Err(ClusterConfigError::BadName { setting, value: value.to_owned(), max })
}

/// Whether this can be one token of a subject.
pub(crate) fn is_name(name: &str, bytes_max: usize) -> bool {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !name.is_empty() && name.len() <= bytes_max && name.bytes().all(is_valid)
}

impl Default for ClusterConfig {
    fn default() -> Self {
        Self {
            name: String::new(),
            role: Role::All,
            node: String::new(),
            nats: String::new(),
            nats_user: SecretRef::default(),
            nats_password: SecretRef::default(),
            nats_ca: PathBuf::new(),
            replicas: 3,
            log_age_ms: 900_000,
            log_bytes: 8 * 1024 * 1024 * 1024,
            lease_ms: 1_000,
            stale_ms: 1_000,
            isolated_ms: 3_000,
            record_bytes_max: 512 * 1024,
            answer_ms: 500,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ClusterConfig, NODE_BYTES_MAX, is_name};

    fn message(change: impl FnOnce(&mut ClusterConfig)) -> Option<String> {
        let mut config = ClusterConfig {
            name: "odds".to_owned(),
            nats: "nats://10.0.0.1:4222, tls://10.0.0.2".to_owned(),
            ..ClusterConfig::default()
        };
        change(&mut config);
        config.check().err().map(|error| error.to_string())
    }

    fn assert_refused(change: impl FnOnce(&mut ClusterConfig), expected: &str) {
        assert_eq!(message(change).as_deref(), Some(expected));
    }

    #[test]
    fn settings_out_of_bounds_are_named() {
        assert_eq!(message(|_| {}), None);
        assert_refused(
            |config| config.lease_ms = 100,
            "`cluster.lease_ms` is 100, and must be at least 500",
        );
        assert_refused(
            |config| config.lease_ms = 60_000,
            "`cluster.lease_ms` is 60000, and must be at most 10000",
        );
        assert_refused(
            |config| config.replicas = 0,
            "`cluster.replicas` is 0, and must be at least 1",
        );
        assert_refused(
            |config| config.record_bytes_max = 1 << 20,
            "`cluster.record_bytes_max` is 1048576, and must be at most 917504",
        );
    }

    #[test]
    fn names_servers_and_logins_are_checked() {
        let name =
            "`cluster.name` is `a.b`, and must consist of at most 32 letters, digits and dashes";
        assert_refused(|config| config.name = "a.b".to_owned(), name);
        let node =
            "`cluster.node` is `>`, and must consist of at most 64 letters, digits and dashes";
        assert_refused(|config| config.node = ">".to_owned(), node);
        let url =
            "`cluster.nats` contains `http://x`, and must consist of `nats://` or `tls://` URLs";
        assert_refused(|config| config.nats = "nats://y,http://x".to_owned(), url);
        let none =
            "`cluster.nats` is empty, and must name a NATS server, since `cluster.name` is set";
        assert_refused(|config| config.nats = " ".to_owned(), none);
        let login = "`cluster.nats_user` is set, and needs `cluster.nats_password`";
        assert_refused(|config| config.nats_user = "env:NATS_USER".into(), login);
        let inline =
            "`cluster.nats` contains a password, which belongs into `cluster.nats_password`";
        assert_refused(|config| config.nats = "nats://u:p@x".to_owned(), inline);
    }

    #[test]
    fn single_machine_needs_no_settings() {
        let config = ClusterConfig { lease_ms: 0, ..ClusterConfig::default() };
        assert!(!config.is_enabled());
        assert!(config.check().is_ok());
    }

    #[test]
    fn node_without_a_name_takes_that_of_its_host() {
        assert!(is_name(&ClusterConfig::default().node_name(), NODE_BYTES_MAX));
        let named = ClusterConfig { node: "edge-1".to_owned(), ..ClusterConfig::default() };
        assert_eq!(named.node_name(), "edge-1");
    }

    #[test]
    fn unknown_settings_are_refused() {
        let config: Result<ClusterConfig, _> = serde_json::from_str(r#"{"role":"edge"}"#);
        assert!(!config.expect("it is valid").role.may_lead());
        let unknown: Result<ClusterConfig, _> = serde_json::from_str(r#"{"lease":1}"#);
        assert!(unknown.is_err());
    }
}
