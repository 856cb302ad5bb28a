//! `[oauth]`: applications that customers connect to the MCP servers.

use serde::{Deserialize, Serialize};

const MINUTE_US: i64 = 60 * 1_000_000;

/// `[oauth]`: applications that customers connect to the MCP servers (docs/ACCOUNTS.md#connected-applications): the
/// lifetime of codes and tokens, and the metadata documents of clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OAuthConfig {
    /// Milliseconds for which an authorization code is valid. Default 60000.
    pub code_ms: u64,
    /// Minutes for which an access token is valid. Default 60.
    pub access_token_minutes: u32,
    /// Days of inactivity after which a connection ends: each use of a refresh token starts them
    /// again. Default 60.
    pub refresh_token_days: u32,
    /// Applications that one account can have connected. Default 20. A further one disconnects the
    /// one that was not used for the longest time.
    pub grants_max_per_account: u32,
    /// Bytes of a client's metadata document. Default 5120. A longer one is refused.
    pub client_bytes_max: usize,
    /// Milliseconds within which a client's metadata document must arrive. Default 5000.
    pub client_timeout_ms: u64,
    /// Milliseconds for which a client's metadata document is cached. Default 900000.
    pub client_cache_ms: u64,
    /// Metadata documents in the cache. Default 1000, at most `client_bytes_max` each. A further one
    /// replaces the oldest.
    pub clients_cached_max: usize,
    /// Metadata documents that are fetched at a time. Default 16. Beyond that, people are asked to
    /// retry.
    pub client_fetches_max: usize,
    /// Whether metadata documents may be on loopback or private addresses and without TLS. Default
    /// false. For development and tests: anybody with an account could make the hub send requests
    /// into its own network.
    pub allow_private_clients: bool,
}

impl OAuthConfig {
    /// `code_ms` in microseconds, as `now` is given.
    #[must_use]
    pub fn code_age_max(&self) -> i64 {
        i64::try_from(self.code_ms).map_or(i64::MAX, |ms| ms.saturating_mul(1_000))
    }

    /// `access_token_minutes` in microseconds.
    #[must_use]
    pub fn access_age_max(&self) -> i64 {
        i64::from(self.access_token_minutes) * MINUTE_US
    }

    /// `refresh_token_days` in microseconds.
    #[must_use]
    pub fn refresh_idle_max(&self) -> i64 {
        i64::from(self.refresh_token_days) * 24 * 60 * MINUTE_US
    }
}

impl Default for OAuthConfig {
    fn default() -> Self {
        Self {
            code_ms: 60_000,
            access_token_minutes: 60,
            refresh_token_days: 60,
            grants_max_per_account: 20,
            client_bytes_max: 5_120,
            client_timeout_ms: 5_000,
            client_cache_ms: 900_000,
            clients_cached_max: 1_000,
            client_fetches_max: 16,
            allow_private_clients: false,
        }
    }
}
