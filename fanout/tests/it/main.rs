//! What one thread does for its connections, without sockets: their subscriptions, permissions, picks and replays.

#[path = "../../../tests/it/support/merge_patch.rs"]
mod merge_patch;
mod permission;
mod replays;
mod subscribers;
mod views;
