//! The wire dialects: how each kind of socket represents a change. None of them knows a socket.

pub mod live;
pub mod stream;
