//! Live sources against real peers on loopback: an HTTP server and a WebSocket server that
//! misbehave on purpose, and a RabbitMQ broker. The tests wait only for reports of a source or for
//! events at a peer.

#[cfg(feature = "amqp")]
mod broker;
mod http;
mod poll;
#[cfg(feature = "amqp")]
mod provider;
mod socket;
#[cfg(feature = "amqp")]
mod sportradar_uof;
mod upstream;
mod websocket;
