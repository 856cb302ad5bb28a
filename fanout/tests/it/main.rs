//! What one thread does for its connections, without sockets: their subscriptions, permissions, picks and replays.

mod permission;
mod replays;
mod subscribers;
mod views;
