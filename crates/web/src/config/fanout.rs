//! `[fanout]`: sockets, their outboxes and limits.

use serde::{Deserialize, Serialize};

/// `[fanout]`: sockets and their queues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FanoutConfig {
    /// Threads among which the sockets are divided. Default 0: one per core.
    pub shards: usize,
    /// Bytes that may wait for one socket. Default 262144, which is also the most memory that a
    /// socket uses for them, although frames are shared. A slower client gets merged updates or is
    /// closed.
    pub outbox_bytes: usize,
    /// Milliseconds that the oldest of them may have waited when more arrive. Default 1000. Beyond
    /// that, the client counts as too slow as well.
    pub outbox_age_ms: u64,
    /// Bytes written to one socket per turn, at most `outbox_bytes`. Default 65536. A larger value makes the other
    /// sockets of the shard wait longer.
    pub write_bytes_max: usize,
    /// Bytes of the kernel's send buffer of a TCP socket. Default 262144, of which the kernel uses
    /// about half for data. 0 keeps the system's default, which may be megabytes for a slow client.
    pub send_buffer_bytes: usize,
    /// Bytes that the kernel accepts beyond what is already on its way to the client
    /// (`TCP_NOTSENT_LOWAT`). Default 16384. Frames that wait beyond that can still be merged, or
    /// overtaken by a suspension. 0: as much as the send buffer.
    pub unsent_bytes: usize,
    /// Channels that one socket subscribes to at a time, by name or by pattern. Default 10000,
    /// about 100 bytes each. Further channels that a pattern matches are left out, and the client
    /// is notified.
    pub channels_max: usize,
    /// Channels that all sockets of one account subscribe to together, with all keys and in all
    /// dialects, at least `channels_max`. Default 250000, some 25 MB. Beyond that as with
    /// `channels_max`.
    pub channels_max_per_account: usize,
    /// Patterns that one socket subscribes to at a time. Default 1000, about 300 bytes each, shared
    /// by sockets with the same pattern. A command for more is refused.
    pub patterns_max: usize,
    /// Bytes of a `subscribe` to a pattern that carries positions to resume from, and of a command with `chs`.
    /// Default 262144, at least `server.command_bytes_max`. A longer one closes the socket with 4413. A socket uses
    /// as much memory while it sends one, so an account can make the hub hold as much for each of its sockets.
    pub from_bytes_max: usize,
    /// Whether messages of 512 bytes or more are compressed for clients that offer it
    /// (permessage-deflate). Default true. Each is compressed once for all its readers, and no
    /// connection keeps a state for it.
    pub deflate: bool,
    /// Subscriptions that the sockets of one account, with all of its keys, may start or resume at once, over all
    /// shards, before their commands wait, for 5 s at a time at most. Default 20000, twice `channels_max`. A
    /// subscription that needs 16 KiB to be merged or rendered counts as two, and so on; a command counts as one for
    /// each KiB, after inflating.
    pub catch_up_burst: u32,
    /// Rate at which this allowance refills, per second. Default 2000. Other accounts do not wait.
    pub catch_ups_per_second: u32,
    /// Milliseconds between two heartbeats to a socket. Default 5000. A heartbeat has about 60
    /// bytes.
    pub beat_ms: u64,
    /// Milliseconds after which a socket is closed with 4408 if nothing arrives from it, not even a pong. Default
    /// 90000, at least `beat_ms`; a ping is sent after half of it, or after four beats where there are none. 0: never
    /// closed.
    pub idle_ms: u64,
    /// Milliseconds for which a socket may accept none of the data that waits for it; then it is closed with 4508.
    /// Default 30000. It holds its outbox for as long.
    pub stall_ms: u64,
    /// Publications that may wait for a shard. Default 65536, 8 bytes each plus their contents. When the queue is
    /// full, the shard's sockets catch up from the tails instead, which is counted.
    pub mailbox: usize,
    /// Sockets of one account. Default 100; further ones are closed with 4429.
    pub sockets_max_per_account: usize,
    /// Sockets in total. Default 200000; further ones are closed with 4429. Each is a file descriptor too.
    pub sockets_max: usize,
}

impl Default for FanoutConfig {
    fn default() -> Self {
        Self {
            shards: 0,
            outbox_bytes: 256 * 1024,
            outbox_age_ms: 1_000,
            write_bytes_max: 64 * 1024,
            send_buffer_bytes: 256 * 1024,
            unsent_bytes: 16 * 1024,
            channels_max: 10_000,
            channels_max_per_account: 250_000,
            patterns_max: 1_000,
            from_bytes_max: 256 * 1024,
            deflate: true,
            catch_up_burst: 20_000,
            catch_ups_per_second: 2_000,
            beat_ms: 5_000,
            idle_ms: 90_000,
            stall_ms: 30_000,
            mailbox: 65_536,
            sockets_max_per_account: 100,
            sockets_max: 200_000,
        }
    }
}
