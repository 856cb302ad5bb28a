//! `[mcp]`: the MCP servers.

use serde::{Deserialize, Serialize};

/// `[mcp]`: the MCP servers at `/mcp` and `/{sport}/mcp`: docs/MCP.md.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpConfig {
    /// Hosts under which clients reach the servers, with or without a port, separated by commas; in
    /// addition to that of `server.public_url` and to loopback. Default empty. Requests for other
    /// hosts get 403, so that no page can reach the hub under a name of its own.
    pub hosts: String,
    /// Origins of pages that may call the servers, such as `https://app.example.com:443`, separated
    /// by commas; in addition to the hub's own. Default empty. Hosts that are no pages send no
    /// origin and need no entry.
    pub origins: String,
    /// Bytes of one request. Default 65536. Longer ones get 413.
    pub request_bytes_max: usize,
    /// Milliseconds between two notifications about values of one resource. Default 1000. Events
    /// are reported at once.
    pub notify_ms: u64,
    /// Calls of `wait_for_change` of one account at a time. Default 32. Further ones get an error.
    pub waits_max_per_account: usize,
    /// Streams of `subscriptions/listen` of one account at a time. Default 16.
    pub listens_max_per_account: usize,
    /// Resources that one such stream may name. Default 50.
    pub listen_resources_max: usize,
    /// Channels that waiting calls and streams may watch at a time. Default 100000, about 500 bytes
    /// each. Beyond it, further ones get an error.
    pub watched_channels_max: usize,
    /// Bytes of rendered answers that are kept until REST's answer changes. Default 16 MiB.
    pub cache_bytes: usize,
}

impl Default for McpConfig {
    fn default() -> Self {
        Self {
            hosts: String::new(),
            origins: String::new(),
            request_bytes_max: 65_536,
            notify_ms: 1000,
            waits_max_per_account: 32,
            listens_max_per_account: 16,
            listen_resources_max: 50,
            watched_channels_max: 100_000,
            cache_bytes: 16 * 1024 * 1024,
        }
    }
}

/// The entries of a list that is separated by commas.
pub(crate) fn entries(list: &str) -> impl Iterator<Item = String> + '_ {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(ToOwned::to_owned)
}
