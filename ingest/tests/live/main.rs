//! Live sources against real peers on loopback: an HTTP server and a WebSocket server of our own
//! that misbehave on purpose, and a RabbitMQ broker. Nothing is waited for but what a source says
//! or a peer sees.

mod broker;
mod http;
mod poll;
mod provider;
mod socket;
mod sportradar_uof;
mod support;
mod upstream;
mod websocket;
