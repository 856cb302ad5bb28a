//! Usage counts, as plain numbers and as atomics.

use std::sync::atomic::{AtomicU64, Ordering};

/// What an account used of a product in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// REST calls.
    pub calls: u64,
    /// Calls of tools over MCP.
    pub mcp_calls: u64,
    /// How long sockets were open, in milliseconds; two sockets count twice.
    pub socket_ms: u64,
    /// Data frames delivered to sockets.
    pub messages: u64,
}

impl Counts {
    /// Whether there is nothing.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Calls of both kinds, which quotas are based on.
    #[must_use]
    pub fn all_calls(&self) -> u64 {
        self.calls.saturating_add(self.mcp_calls)
    }

    /// How long sockets were open, in minutes to the hundredth, for display.
    #[must_use]
    pub fn socket_minutes(&self) -> f64 {
        (self.socket_ms / 600) as f64 / 100.0
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    /// The increase since `before`.
    pub(super) fn since(self, before: Self) -> Self {
        self.with(before, u64::saturating_sub)
    }

    /// The higher one of each number.
    pub(super) fn max(self, other: Self) -> Self {
        self.with(other, u64::max)
    }

    fn with(self, other: Self, join: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            calls: join(self.calls, other.calls),
            mcp_calls: join(self.mcp_calls, other.mcp_calls),
            socket_ms: join(self.socket_ms, other.socket_ms),
            messages: join(self.messages, other.messages),
        }
    }
}

/// Counts that many threads increment. Each number is exact; numbers read together may be from
/// slightly different moments.
#[derive(Debug, Default)]
pub(super) struct AtomicCounts {
    calls: AtomicU64,
    mcp_calls: AtomicU64,
    socket_ms: AtomicU64,
    messages: AtomicU64,
}

impl AtomicCounts {
    pub(super) fn add(&self, counts: Counts) {
        let Counts { calls, mcp_calls, socket_ms, messages } = counts;
        for (running, more) in [
            (&self.calls, calls),
            (&self.mcp_calls, mcp_calls),
            (&self.socket_ms, socket_ms),
            (&self.messages, messages),
        ] {
            if more > 0 {
                running.fetch_add(more, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn read(&self) -> Counts {
        Counts {
            calls: self.calls.load(Ordering::Relaxed),
            mcp_calls: self.mcp_calls.load(Ordering::Relaxed),
            socket_ms: self.socket_ms.load(Ordering::Relaxed),
            messages: self.messages.load(Ordering::Relaxed),
        }
    }
}
