//! Matchwire: real feeds come in, are normalised, and fan out to WebSocket channels.
//!
//! The crate in which sports and channels meet; `ingest` knows no channels, `fanout` no sports. The
//! modules stand in reading order: how the program starts, the data path, what it is made of, and
//! what stands beside it.

// How it starts: the command line and the settings, and the one file that knows every part.
pub mod cli;
pub mod config;

pub mod app;
mod greeting;
pub mod supervisor;

// The data path: sources are played into the pipeline, the hub makes numbered changes of facts.
pub mod demo;
pub mod sources;
pub mod load_source;

pub mod pipeline;
pub mod push;

pub mod identity;
pub mod ids;

pub mod hub;
pub mod signals;

// What the hub's changes look like, who is addressed, and how readers are brought forward.
pub mod channels;
pub mod document;
pub mod entitlement;
pub mod wire;

pub mod catch_up;
pub mod dialect;

// What is kept of each match and answered over HTTP.
pub mod record;

pub mod archive;
pub mod predict;
pub mod rating;
pub mod reader;

pub mod api;

// Who may come in, and what stands beside the path.
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
mod percent;
pub mod quarantine;
pub mod quarantine_command;
mod table;
pub mod telemetry;
