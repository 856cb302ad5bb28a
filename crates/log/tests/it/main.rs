//! The log by its behaviour: what is appended is read, and what is damaged is found.

mod support;

mod codec;
mod crash;
mod damage;
mod disk_full;
mod follow;
mod format;
mod memory;
mod replay;
mod retention;
mod snapshot;
mod version;
