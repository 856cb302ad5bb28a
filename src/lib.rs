//! The hub.

pub mod cli;
pub mod config;

pub mod accounts;
pub mod key_command;
