//! The program: commands, settings, and the composition of the crates.
//!
//! **In:** the command line, the settings file, the environment. **Out:** a running hub, or the result of
//! a command. It decides nothing about matches, clients or money; it only builds the parts, connects
//! them, and stops them.
//!
//! - `main`: runs a command, and turns its result into an exit code.
//! - `cli`: the command line. Stable, because scripts depend on it. It parses and decides nothing.
//! - `config`: composes the settings of all crates. The only code that reads the environment and the
//!   settings file.
//! - `app`: builds the parts, connects them, and stops them. The only code that knows every part. Its thread
//!   `exports` adds what changed in the hub to records, for the reader and the archive.
//! - `features`: the Cargo features of the build.
//! - `control`: what commands say to a hub that runs on the same machine.
//! - `telemetry`: logs, and the description of every metric.
//! - `commands`: all other commands.
//!
//! # Start and stop
//!
//! Start (`app::run`): signal handlers, metrics, recordings and certificates, the listening socket, the
//! database, accounts, public ids, shards, archive, identity, the writer, background tasks, the acceptor,
//! and last the sources. Invalid settings and unreadable files are fatal; an unreachable source is not. Each part in
//! `app` has `start` and, if the stop waits for it, `RunningPart::stop` with a deadline.
//!
//! Stop: `app::run` lists the running parts, each behind those that must outlive it, and stops them in reverse. A node
//! of a cluster hands over its lead and its clients. Then `/readyz` returns 503, the acceptor closes, sockets get a `bye`
//! and `server.drain_ms` to leave, the writer exports its last records, and the archive, signals, ids, mail, webhooks and
//! usage write what is pending. If a part fails, the same stop runs within `server.failure_exit_ms`, and the process
//! exits with code 70. Sockets then leave before the acceptor closes, so that `/readyz` can report the failure. A node of a
//! cluster that must join again stops likewise, and `main` starts its parts again (`supervisor::restart`).

pub mod app;
pub mod cli;
pub mod commands;
pub mod config;
pub mod control;
pub mod features;

mod banner;
pub mod table;
pub mod telemetry;

/// An error with all its causes, on one line.
#[must_use]
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// The hub allocates on one thread and frees on others: patches, frames and records cross threads, and most of its threads
/// allocate little. This allocator shares pages between threads: the demo takes a quarter less memory with it than with
/// glibc's or mimalloc, which keep pages for each thread, at the same processor time (`benches/rest_memory.py`,
/// `benches/threads.py`). The libraries in C use it too. `.cargo/config.toml` has its settings. It takes a tenth of a build,
/// so only programs with the feature have it.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
