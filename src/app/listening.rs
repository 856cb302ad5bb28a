//! The sockets that the hub listens on, and the addresses at which it is reached.

use std::{
    io::ErrorKind,
    net::{self, SocketAddr},
    sync::Arc,
};

use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpSocket};

use super::{AppError, resolved::ResolvedSettings};
use crate::config::Config;
use web::http::tls;

/// Connections waiting to be accepted, as far as the system allows: after a restart all clients
/// reconnect at once.
const BACKLOG: u32 = 4096;

/// The addresses of the hub.
#[derive(Debug, Clone)]
pub(super) struct HubAddress {
    pub address: SocketAddr,
    /// `s` if it serves TLS itself.
    pub secure: &'static str,
    /// The URL where customers reach it, without a trailing slash.
    pub public_url: String,
}

/// What the hub listens with, before it serves.
pub(super) struct Listener {
    pub socket: Socket,
    /// `None` if it does not serve TLS itself.
    pub tls: Option<Arc<ServerConfig>>,
    pub address: HubAddress,
}

impl Listener {
    /// `passed`: the socket of the service manager, if it passed one. `bound`: the address of the run before, whose port the
    /// system may have chosen.
    pub(super) fn open(
        config: &Config,
        resolved: &ResolvedSettings,
        passed: Option<&net::TcpListener>,
        bound: Option<SocketAddr>,
    ) -> Result<Self, AppError> {
        let acme = || Some(resolved.acme.as_ref()?.certificate());
        let certificate = resolved.certificate.clone().or_else(acme);
        let tls = certificate.map(tls::server_config).transpose()?;
        let secure = if tls.is_some() { "s" } else { "" };
        let (socket, address) = Socket::open(config, passed, bound)?;
        config.check_address(address)?;
        let public_url = match config.server.public_url.trim_end_matches('/') {
            "" => format!("http{secure}://{address}"),
            url => url.to_owned(),
        };
        let address = HubAddress { address, secure, public_url };
        Ok(Self { socket, tls, address })
    }
}

/// The socket that clients connect to.
pub(super) enum Socket {
    /// Connections are refused.
    Bound(TcpSocket),
    /// Connections wait until they are accepted.
    Listening(net::TcpListener),
}

impl Socket {
    /// That of the service manager, or else one at `bound` or `server.listen`; and its address.
    fn open(
        config: &Config,
        passed: Option<&net::TcpListener>,
        bound: Option<SocketAddr>,
    ) -> Result<(Self, SocketAddr), AppError> {
        if let Some(listener) = passed {
            let address = listener.local_addr().map_err(AppError::PassedSocket)?;
            let listener = listener.try_clone().map_err(AppError::PassedSocket)?;
            return Ok((Self::Listening(listener), address));
        }
        let socket = bind(bound.unwrap_or(config.server.listen))?;
        let address = socket.local_addr()?;
        // A node of a cluster refuses connections until it has joined: another one serves them meanwhile.
        let socket = match config.cluster.is_enabled() {
            false => Self::Listening(listen(socket, address)?),
            true => Self::Bound(socket),
        };
        Ok((socket, address))
    }

    /// Lets connections wait at this address until they are accepted, if they do not yet.
    pub(super) fn listen(self, address: SocketAddr) -> Result<net::TcpListener, AppError> {
        match self {
            Self::Listening(listener) => Ok(listener),
            Self::Bound(socket) => listen(socket, address),
        }
    }
}

fn bind(address: SocketAddr) -> Result<TcpSocket, AppError> {
    let bound = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // Remaining connections of the previous run do not delay this one.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(socket)
    };
    bound().map_err(|source| AppError::Listen { address, source })
}

/// Whether this machine has the address, and the process may use the port. A port in use is a hub's that runs, as a rule.
pub(super) fn check(address: SocketAddr) -> Result<(), AppError> {
    match bind(address) {
        Err(AppError::Listen { source, .. }) if source.kind() == ErrorKind::AddrInUse => Ok(()),
        bound => bound.map(drop),
    }
}

fn listen(socket: TcpSocket, address: SocketAddr) -> Result<net::TcpListener, AppError> {
    let listening = socket.listen(BACKLOG).and_then(TcpListener::into_std);
    listening.map_err(|source| AppError::Listen { address, source })
}
