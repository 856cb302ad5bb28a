//! `[webhooks]`: how webhooks are limited, sent and retried.

use serde::{Deserialize, Serialize};

/// `[webhooks]`: webhooks of customers: docs/WEBHOOKS.md. Needs the feature `webhooks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebhooksConfig {
    /// Webhooks of one account. Default 10; another one is refused. 0: nobody can add any.
    pub max_per_account: u32,
    /// Requests in flight, one for each webhook. Default 32; other webhooks wait.
    pub connections: usize,
    /// Milliseconds until a request is answered. Default 10000; then the attempt has failed.
    pub timeout_ms: u64,
    /// Milliseconds between two polls of the deliveries that are due. Default 500. New events are sent at once.
    pub poll_ms: u64,
    /// Attempts per delivery. Default 16; after the last one, with the defaults after about 8 hours, it has failed.
    pub attempts_max: u32,
    /// Milliseconds to wait after the first failure. Default 5000; doubled after each further one, plus or minus a random
    /// quarter at most.
    pub retry_ms: u64,
    /// The longest wait in milliseconds. Default 3600000, an hour.
    pub retry_max_ms: u64,
    /// Hours in which every attempt has failed, after which a webhook is disabled. Default 48.
    pub disable_after_hours: u32,
    /// Deliveries of one webhook that wait. Default 10000, about 1 KB each; then the oldest are dropped. They are counted
    /// whenever a twentieth of it was added, so that many more can wait for a while.
    pub waiting_max: u32,
    /// Finished deliveries of one webhook that its log has. Default 10000.
    pub log_max: u32,
    /// Days for which deliveries are kept, whatever became of them. Default 7.
    pub keep_days: u32,
    /// Whether URLs may be `http://` and lead to addresses that are not public. Default false. For tests and intranets: every
    /// customer can make the hub send requests into its own network then.
    pub allow_private: bool,
}

impl Default for WebhooksConfig {
    fn default() -> Self {
        Self {
            max_per_account: 10,
            connections: 32,
            timeout_ms: 10_000,
            poll_ms: 500,
            attempts_max: 16,
            retry_ms: 5_000,
            retry_max_ms: 3_600_000,
            disable_after_hours: 48,
            waiting_max: 10_000,
            log_max: 10_000,
            keep_days: 7,
            allow_private: false,
        }
    }
}
