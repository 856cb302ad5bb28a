//! The sockets that the hub listens on.

use std::net::{self, Ipv4Addr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket};

use super::AppError;
use crate::config::BenchConfig;

/// Connections waiting to be accepted, as far as the system allows: after a restart all clients
/// reconnect at once.
const BACKLOG: u32 = 4096;

/// The socket that clients connect to.
pub(super) enum Socket {
    /// Connections are refused.
    Bound(TcpSocket),
    /// Connections wait until they are accepted.
    Listening(net::TcpListener),
}

pub(super) fn bind(address: SocketAddr) -> Result<TcpSocket, AppError> {
    let bound = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // Remaining connections of the previous run do not delay this one.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(socket)
    };
    bound().map_err(|source| AppError::Listen { address, source })
}

pub(super) fn listen(socket: TcpSocket, address: SocketAddr) -> Result<net::TcpListener, AppError> {
    let listening = socket.listen(BACKLOG).and_then(TcpListener::into_std);
    listening.map_err(|source| AppError::Listen { address, source })
}

pub(super) fn bench_listener(bench: &BenchConfig) -> Result<Option<TcpListener>, AppError> {
    if bench.port == 0 {
        return Ok(None);
    }
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, bench.port));
    let listener = listen(bind(address)?, address)?;
    Ok(Some(TcpListener::from_std(listener)?))
}
