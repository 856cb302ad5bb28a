//! One connection: how it is opened, and how it is read and written without blocking.

use std::{
    io::{self, ErrorKind},
    net::{Ipv4Addr, SocketAddr},
    os::fd::{AsRawFd, OwnedFd},
};

use mio::net::TcpStream;
use nix::{
    errno::Errno,
    sys::socket::{
        AddressFamily, SockFlag, SockType, SockaddrIn, SockaddrStorage, bind, connect, setsockopt,
        socket, sockopt,
    },
};

use crate::{ledger::Reader, plan::ReadRate, transport::Transport};

#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) transport: Option<Transport>,
    pub(crate) state: PeerState,
    /// Where it is connected, or connects next.
    pub(crate) hub: usize,
    pub(crate) reader: Reader,
    /// The beginning of an incomplete frame.
    pub(crate) partial: Vec<u8>,
    /// Bytes that are not written yet.
    pub(crate) out: Vec<u8>,
    pub(crate) read_rate: ReadRate,
    /// Whether the read rate left bytes unread.
    pub(crate) has_unread: bool,
    /// Whether to request the kernel's time of receipt.
    pub(crate) is_probe: bool,
    /// Attempts to connect since it last joined its channels.
    pub(crate) attempts: u16,
    /// When the current state began.
    pub(crate) since: u64,
    /// When the connection was cut or closed; set until the socket has caught up.
    pub(crate) cut_at: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerState {
    Waiting,
    Connecting,
    Upgrading,
    Joining,
    Joined,
    Ended,
}

/// How to open a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DialOptions {
    pub(crate) to: SocketAddr,
    pub(crate) from: Option<Ipv4Addr>,
    pub(crate) receive_bytes: Option<usize>,
    pub(crate) is_probe: bool,
}

/// Starts a connection.
pub(crate) fn dial(dial: DialOptions) -> io::Result<TcpStream> {
    let family = if dial.to.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let fd: OwnedFd = socket(family, SockType::Stream, flags, None)?;
    setsockopt(&fd, sockopt::TcpNoDelay, &true)?;
    if let Some(bytes) = dial.receive_bytes {
        setsockopt(&fd, sockopt::RcvBuf, &bytes)?;
    }
    if dial.is_probe {
        setsockopt(&fd, sockopt::ReceiveTimestampns, &true)?;
    }
    if let Some(from) = dial.from {
        // The port is chosen on connecting: one port can then serve several addresses, and ports of
        // connections that have just ended can be reused.
        setsockopt(&fd, sockopt::IpBindAddressNoPort, &true)?;
        bind(fd.as_raw_fd(), &SockaddrIn::from(std::net::SocketAddrV4::new(from, 0)))?;
    }
    match connect(fd.as_raw_fd(), &SockaddrStorage::from(dial.to)) {
        Ok(()) | Err(Errno::EINPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(TcpStream::from_std(fd.into()))
}

impl Peer {
    pub(crate) fn new(reader: Reader, hub: usize, is_probe: bool) -> Self {
        Self {
            transport: None,
            state: PeerState::Waiting,
            hub,
            reader,
            partial: Vec::new(),
            out: Vec::new(),
            read_rate: ReadRate::All,
            has_unread: false,
            is_probe,
            attempts: 0,
            since: 0,
            cut_at: None,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, PeerState::Joining | PeerState::Joined)
    }

    /// Whether bytes wait until the kernel accepts them.
    pub(crate) fn has_output(&self) -> bool {
        !self.out.is_empty() || self.transport.as_ref().is_some_and(Transport::has_output)
    }

    /// Writes pending bytes, as far as the kernel accepts them.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let Some(transport) = &mut self.transport else { return Ok(()) };
        while !self.out.is_empty() || transport.has_output() {
            match transport.write(&self.out) {
                Ok(written) => drop(self.out.drain(..written)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.out = Vec::new();
        Ok(())
    }
}
