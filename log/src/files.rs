//! The log in files, for one machine: segments of records, a head that says where they end, and snapshots
//! of the state.
//!
//! ```text
//! segment-00000000000000000001.log     records, from this number on
//! head                                 where the log ends
//! lock                                 held by the process that appends
//! snapshot-00000000000000004711.state  the state after this record
//! damaged/                             what could not be read, moved here at a start
//! ```
//!
//! # What survives what
//!
//! [`Log::append`](crate::Log::append) returns after the kernel has the records and then the head. Both survive a crash of
//! the process: bytes behind the head were never shown to anybody, and are cut off at the next start if
//! they are no whole record. After a power cut the disk can have less than the head of another log
//! knew. So if the machine was started again since, continuity is claimed only if the log was closed in order, or
//! if each append has waited for the disk.
//!
//! If continuity is not proven, the next record gets a number that was certainly never used: readers
//! remember numbers, and must not take a new record for one that they know.

mod appender;
mod head;
mod inspect;
mod open;
mod reader;
mod retention;
mod segment;
mod settings;
mod shared;
mod snapshot;
mod sync;

pub use self::{
    appender::{FileLog, LogHandle},
    inspect::{Damage, LogStatus, VerifyReport, status, verify, verify_each},
    open::{Continuity, OpenError, OpenReport},
    settings::LogSettings,
    snapshot::{NewestSnapshot, Snapshot, SnapshotError, SnapshotStore},
};
