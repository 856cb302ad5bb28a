//! Matchwire: real feeds come in, are normalised, and fan out to WebSocket channels.
//!
//! This crate connects sports and channels; `ingest` knows no channels, `fanout` no sports. The
//! modules are in reading order: start and configuration, the data path, its building blocks, and
//! everything else.

// Start: the command line, the settings, and the one file that knows every part.
pub mod cli;
pub mod config;

pub mod app;
mod banner;
pub mod supervisor;

// The data path: sources feed the pipeline, the hub turns facts into numbered changes.
pub mod demo;
pub mod load_source;
pub mod sources;

pub mod pipeline;
pub mod push;

pub mod identity;
pub mod ids;

pub mod hub;
pub mod signals;

// The representation of changes, who receives them, and how readers catch up.
pub mod channels;
pub mod document;
pub mod entitlement;
pub mod wire;

pub mod catch_up;
pub mod dialect;

// Match records and the answers over HTTP.
pub mod record;

pub mod archive;
pub mod predict;
pub mod rating;
pub mod reader;

pub mod api;

// Access control, and services next to the data path.
pub mod accounts;
pub mod backup_command;
pub mod database;
pub mod feeds_command;
pub mod http;
pub mod images;
pub mod import_command;
pub mod key_command;
pub mod limits;
pub mod mail;
pub mod matches_command;
pub mod operator;
pub mod payments;
pub mod products;
pub mod record_command;
pub mod revocation;
pub mod usage;

pub mod clock;
mod etag;
mod percent;
pub mod quarantine;
pub mod quarantine_command;
mod table;
pub mod telemetry;
