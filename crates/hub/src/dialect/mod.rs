//! The wire dialects: how each kind of socket represents a change. None of them knows a socket.

#[cfg(feature = "legacy-sockets")]
pub mod live;
pub mod stream;
