//! The program as a stranger meets it: the real binary, real sockets, real recordings.

mod auth;
mod bad_feed;
mod bench;
mod commands;
mod door;
mod push;
mod quarantine;
mod rates;
mod replay;
mod rest;
mod resume;
mod secrecy;
mod slow;
mod sources;
mod stop;
mod support;
mod terms;
mod tls;
