//! The hub.

pub mod config;

pub mod accounts;
