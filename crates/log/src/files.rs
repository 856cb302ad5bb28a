//! The log in files, for one machine: segments of records, a head that says where they end, and snapshots
//! of the state.
//!
//! ```text
//! segment-00000000000000000001.log     records, from this number on
//! head                                 where the log ends
//! lock                                 held by the process that appends
//! snapshot-00000000000000004711.state  the state after this record
//! damaged/                             what could not be read, moved here at a start
//! newer-version-00000000000000000077/  a whole log of a newer version, moved here at a start
//! ```
//!
//! # What survives what
//!
//! [`Log::append`](crate::Log::append) returns after the kernel has the records and then the head. Both survive a crash of
//! the process: bytes after the head were never shown to a client, and are cut off at the next start
//! unless they are a whole record. After a power cut the disk can have fewer records than clients have seen. So
//! after another boot of the machine, continuity is claimed only if the log was closed in order, or if each append
//! waited for the disk. Opening the log forces a head to the disk that says it is not closed, before the first
//! append.
//!
//! If continuity is not proven, the next record gets a number that was certainly never used: readers
//! remember numbers, and must not take a new record for one that they know. The head on the disk names this
//! number, so that a power cut before the first sync does not lead to its reuse.
//!
//! Only the content of a file counts as damage. A file that cannot be read is an error, which may be temporary:
//! the log is not opened, and nothing is changed. Files of a newer version are not damage either: the whole log is
//! moved to a folder of its own, and nothing there is ever deleted.

mod appender;
mod head;
mod inspect;
mod moved;
mod open;
mod reader;
mod retention;
mod segment;
mod settings;
mod shared;
mod snapshot;
mod sync;
mod version;

pub use self::{
    appender::{FileLog, LogHandle},
    inspect::{Damage, LogStatus, VerifyReport, status, verify, verify_each},
    open::{Continuity, OpenError, OpenReport},
    settings::LogSettings,
    snapshot::{Snapshot, SnapshotError, SnapshotStore},
};
