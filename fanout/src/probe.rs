//! Probes, which travel with publications and report when they are written.

use std::fmt::Debug;

use crate::Micros;

/// Travels with publications to every shard. The host learns from its last clone that all shards have written them.
pub trait Probe: Debug + Send + Sync {
    /// A shard has written the publications to the sockets of all subscribers that keep up. `taken`, `written`: when it
    /// took them, and when it had written them, by [`Host::stamp`](crate::catch_up::Host::stamp).
    fn written(&self, shard: usize, taken: Micros, written: Micros);
}
