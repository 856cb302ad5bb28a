//! What every crate may use.
//!
//! **In:** nothing. **Out:** the clock, the supervisor of long-lived parts, secrets, back-off, `Retry-After`, the queue of log lines and
//! the rate limit of repeated ones, the folding of names, percent encoding, time formats, TLS trust, which addresses are public, the
//! limits of the process, free space on disks, the error of a missing Cargo feature, the account of work, and the parts of settings
//! that several crates share.
//! **Must not know** sports, channels, accounts or SQL.
//!
//! # Time
//!
//! Timers never use the wall clock: shards and tasks use monotonic clocks. [`clock::now`] is for
//! timestamps. It follows the wall clock and never decreases: after a step back it runs 10% slower until
//! both agree. [`clock::wall`] is the wall clock itself, for accounts, sessions, mail and payments.
//!
//! # Supervision
//!
//! Every long-lived thread and task starts through [`supervisor`] under the name of its part. A part
//! fails when it panics, or ends before shutdown. From then on `/readyz` returns 503, one line on
//! standard error names the part and the reason, sockets get a `bye`, and the process exits with code 70.
//! A watchdog thread exits the process after `server.failure_exit_ms` even if all other threads hang. A
//! request is not a part: if its handler panics, its connection closes and `matchwire_panics_total`
//! counts it.

pub mod address;
pub mod backoff;
pub mod clock;
pub mod config;
pub mod disk;
pub mod feature;
pub mod log_queue;
pub mod log_rate_limit;
pub mod names;
pub mod percent;
pub mod process;
pub mod redact;
pub mod retry_after;
pub mod secret;
pub mod supervisor;
pub mod time_format;
pub mod tls;
mod words;
pub mod work;

/// Microseconds since 1970 in UTC, or a span of time in microseconds.
pub type Micros = i64;
