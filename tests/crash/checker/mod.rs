//! Compares what clients saw with the log, which has the order of everything.
//!
//! **In:** the records of the log, and the histories of clients. **Out:** findings, each with the rule that
//! was broken. **Must not know** processes, sockets, or how faults are made.

mod document;
pub(crate) mod live;
pub(crate) mod mcp;
pub(crate) mod published;
pub(crate) mod report;
pub(crate) mod rest;
pub(crate) mod stream;
#[cfg(test)]
mod tests;

use std::thread;

use self::{published::LogContent, report::Report, stream::Claims};
use crate::history::{Dialect, History};

/// Checks all clients, on some threads.
pub(crate) fn check(histories: &[History], log: &LogContent, threads: usize) -> Report {
    let share = histories.len().div_ceil(threads.max(1)).max(1);
    let (mut claims, mut report) = (Claims::default(), Report::default());
    thread::scope(|scope| {
        let checking = histories.chunks(share).map(|some| {
            scope.spawn(move || {
                let (mut claims, mut report) = (Claims::default(), Report::default());
                for history in some {
                    match history.dialect {
                        Dialect::Stream => stream::check(history, log, &mut claims, &mut report),
                        Dialect::Live => live::check(history, log, &mut report),
                        Dialect::Rest => rest::check(history, log, &mut report),
                        Dialect::Mcp => mcp::check(history, log, &mut report),
                    }
                }
                (claims, report)
            })
        });
        for checked in checking.collect::<Vec<_>>() {
            let (some, found) = checked.join().expect("a check does not panic");
            claims.merge(some);
            report.merge(found);
        }
    });
    claims.check(log, &mut report);
    report
}
