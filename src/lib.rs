//! The hub.

pub mod config;
