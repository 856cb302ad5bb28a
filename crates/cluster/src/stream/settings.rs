//! The settings of the stream: how it is created, and whether an existing one has them.

use std::time::Duration;

use async_nats::jetstream::stream::{
    Config, DiscardPolicy, Info, Republish, RetentionPolicy, StorageType,
};

use super::{Failure, NO_STREAM, Refusal, Stream};
use crate::connection::ClusterError;

/// The greatest message. It must hold a part and its headers.
const MESSAGE_BYTES_MAX: i32 = 1 << 20;
/// For so long the server recognises the id of a message. Later the writer recognises it by reading the message.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(120);
/// Several servers must agree to create a stream.
const CREATE_TIMEOUT: Duration = Duration::from_secs(5);
/// Somebody else created the stream meanwhile.
const NAME_IN_USE: u64 = 10_058;

impl Stream {
    /// Creates the stream, unless it exists.
    ///
    /// # Errors
    ///
    /// If it exists with other settings, as [`Self::check`] reports; or if there are fewer servers than replicas, or
    /// no answer.
    pub async fn set_up(&self) -> Result<(), ClusterError> {
        match self.check().await {
            Err(ClusterError::NoStream { .. }) => {}
            checked => return checked,
        }
        let operation = format!("STREAM.CREATE.{}", self.shared.name);
        let created = self.ask_within::<Info>(CREATE_TIMEOUT, &operation, &self.settings()).await;
        match created {
            Ok(_) => tracing::info!(stream = self.shared.name, "created the stream"),
            Err(Failure::Refused(Refusal { error: NAME_IN_USE, .. })) => {}
            Err(failure) => return Err(failure.into()),
        }
        self.check().await
    }

    /// Compares the settings of the existing stream.
    ///
    /// # Errors
    ///
    /// If there is no such stream, a setting differs, or there is no answer.
    pub async fn check(&self) -> Result<(), ClusterError> {
        let found = match self.info().await {
            Ok(info) => {
                self.shared.created.set(info.created.unix_timestamp_nanos()).ok();
                info.config
            }
            Err(Failure::Refused(Refusal { error: NO_STREAM, .. })) => {
                return Err(ClusterError::NoStream { stream: self.shared.name.clone() });
            }
            Err(failure) => return Err(failure.into()),
        };
        match difference(&found, &self.settings()) {
            None => Ok(()),
            Some((setting, found, expected)) => {
                let stream = self.shared.name.clone();
                Err(ClusterError::Stream { stream, setting, found, expected })
            }
        }
    }

    fn settings(&self) -> Config {
        let config = self.config();
        Config {
            name: self.shared.name.clone(),
            subjects: vec![self.shared.log_subject.clone()],
            storage: StorageType::File,
            num_replicas: config.replicas,
            retention: RetentionPolicy::Limits,
            discard: DiscardPolicy::Old,
            max_age: Duration::from_millis(config.log_age_ms),
            max_bytes: i64::try_from(config.log_bytes).unwrap_or(i64::MAX),
            max_messages: -1,
            max_messages_per_subject: -1,
            max_consumers: -1,
            max_message_size: MESSAGE_BYTES_MAX,
            duplicate_window: DUPLICATE_WINDOW,
            deny_delete: true,
            deny_purge: true,
            allow_direct: true,
            republish: Some(Republish {
                source: self.shared.log_subject.clone(),
                destination: self.shared.out_subject.clone(),
                headers_only: false,
            }),
            ..Config::default()
        }
    }
}

/// The first setting that differs: its name in NATS, what was found, and what was expected.
fn difference(found: &Config, expected: &Config) -> Option<(&'static str, String, String)> {
    let pairs = describe(found).into_iter().zip(describe(expected));
    pairs
        .map(|((setting, found), (_, expected))| (setting, found, expected))
        .find(|(_, found, expected)| found != expected)
}

/// The settings that matter, by their names in NATS. Others, such as placement, are the operator's.
fn describe(config: &Config) -> [(&'static str, String); 21] {
    // 0 and -1 both say that there is no limit.
    let limit = |value: i64| if value <= 0 { -1 } else { value };
    let has_sources = config.sources.as_ref().is_some_and(|sources| !sources.is_empty());
    let republish = config.republish.as_ref().map_or_else(
        || "none".to_owned(),
        |settings| {
            let headers = if settings.headers_only { ", headers only" } else { "" };
            format!("{} to {}{headers}", settings.source, settings.destination)
        },
    );
    [
        ("subjects", config.subjects.join(", ")),
        ("storage", format!("{:?}", config.storage)),
        ("num_replicas", config.num_replicas.to_string()),
        ("retention", format!("{:?}", config.retention)),
        ("discard", format!("{:?}", config.discard)),
        ("max_age", format!("{:?}", config.max_age)),
        ("max_bytes", limit(config.max_bytes).to_string()),
        ("max_msgs", limit(config.max_messages).to_string()),
        ("max_msgs_per_subject", limit(config.max_messages_per_subject).to_string()),
        ("max_msg_size", config.max_message_size.to_string()),
        ("duplicate_window", format!("{:?}", config.duplicate_window)),
        ("deny_delete", config.deny_delete.to_string()),
        ("deny_purge", config.deny_purge.to_string()),
        ("allow_direct", config.allow_direct.to_string()),
        ("allow_rollup_hdrs", config.allow_rollup.to_string()),
        ("no_ack", config.no_ack.to_string()),
        ("sealed", config.sealed.to_string()),
        ("republish", republish),
        ("mirror", config.mirror.is_some().to_string()),
        ("sources", has_sources.to_string()),
        ("subject_transform", config.subject_transform.is_some().to_string()),
    ]
}

impl From<Failure> for ClusterError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unavailable(why) => Self::Unavailable(why.to_string()),
            Failure::Refused(Refusal { error: code, description, .. }) => {
                Self::Rejected { code, description }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Config, Republish, difference};

    #[test]
    fn setting_that_differs_is_named() {
        let expected = Config {
            republish: Some(Republish {
                source: "a".to_owned(),
                destination: "b".to_owned(),
                headers_only: false,
            }),
            max_messages: -1,
            ..Config::default()
        };
        let check = |change: fn(&mut Config)| {
            let mut found = expected.clone();
            change(&mut found);
            difference(&found, &expected)
        };
        let named = |setting, found: &str, expected: &str| {
            Some((setting, found.to_owned(), expected.to_owned()))
        };
        assert_eq!(check(|_| {}), None);
        assert_eq!(check(|config| config.max_messages = 0), None, "both are without a limit");
        assert_eq!(check(|config| config.max_messages = 5), named("max_msgs", "5", "-1"));
        assert_eq!(check(|config| config.republish = None), named("republish", "none", "a to b"));
        assert_eq!(check(|config| config.deny_purge = true), named("deny_purge", "true", "false"));
    }
}
