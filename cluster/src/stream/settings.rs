//! The settings of the stream: how it is created, and whether an existing one has them.

use std::{fmt::Debug, time::Duration};

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
            Ok(info) => info.config,
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
    fn compare<T: Debug + PartialEq>(
        setting: &'static str,
        found: T,
        expected: T,
    ) -> Option<(&'static str, String, String)> {
        (found != expected).then(|| (setting, format!("{found:?}"), format!("{expected:?}")))
    }
    // 0 and -1 both say that there is no limit.
    let limit = |value: i64| if value <= 0 { -1 } else { value };
    compare("subjects", &found.subjects, &expected.subjects)
        .or_else(|| compare("storage", found.storage, expected.storage))
        .or_else(|| compare("num_replicas", found.num_replicas, expected.num_replicas))
        .or_else(|| compare("retention", found.retention, expected.retention))
        .or_else(|| compare("discard", found.discard, expected.discard))
        .or_else(|| compare("max_age", found.max_age, expected.max_age))
        .or_else(|| compare("max_bytes", limit(found.max_bytes), limit(expected.max_bytes)))
        .or_else(|| compare("max_msgs", limit(found.max_messages), limit(expected.max_messages)))
        .or_else(|| {
            let (found, expected) =
                (found.max_messages_per_subject, expected.max_messages_per_subject);
            compare("max_msgs_per_subject", limit(found), limit(expected))
        })
        .or_else(|| compare("max_msg_size", found.max_message_size, expected.max_message_size))
        .or_else(|| compare("duplicate_window", found.duplicate_window, expected.duplicate_window))
        .or_else(|| compare("deny_delete", found.deny_delete, expected.deny_delete))
        .or_else(|| compare("deny_purge", found.deny_purge, expected.deny_purge))
        .or_else(|| compare("allow_direct", found.allow_direct, expected.allow_direct))
        .or_else(|| compare("allow_rollup_hdrs", found.allow_rollup, expected.allow_rollup))
        .or_else(|| compare("no_ack", found.no_ack, expected.no_ack))
        .or_else(|| compare("sealed", found.sealed, expected.sealed))
        .or_else(|| compare("republish", &found.republish, &expected.republish))
        .or_else(|| compare("mirror", found.mirror.is_some(), false))
        .or_else(|| {
            compare("sources", found.sources.as_ref().is_some_and(|it| !it.is_empty()), false)
        })
        .or_else(|| compare("subject_transform", found.subject_transform.is_some(), false))
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
