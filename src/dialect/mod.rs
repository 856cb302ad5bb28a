//! The wire dialects: how a change looks to clients of each socket. None knows a socket.

pub mod live;
pub mod stream;
