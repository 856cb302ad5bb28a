//! The streams that a shard writes to: TCP with or without TLS, and Unix sockets for a proxy on the same
//! machine.

use std::{
    io::{self, IoSlice, Read, Write},
    net::{self, Shutdown},
    os::unix,
};

use mio::{Interest, Registry, Token, event::Source};
use rustls::ServerConnection;
use socket2::SockRef;

/// A connected stream that no shard owns yet.
#[derive(Debug)]
pub enum Stream {
    Tcp(net::TcpStream),
    /// After its handshake.
    Tls(net::TcpStream, Box<ServerConnection>),
    Unix(unix::net::UnixStream),
}

/// How sockets are set up.
#[derive(Debug, Clone, Copy)]
pub struct SocketOptions {
    /// Bytes of the kernel's send buffer; 0 leaves it to the system.
    pub send_buffer_bytes: usize,
    /// Bytes that the kernel accepts beyond what has been sent; 0 leaves it to the system. It bounds what
    /// has been written but not sent.
    pub unsent_bytes: u32,
}

/// A stream on its shard.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(mio::net::TcpStream),
    Tls(Box<Tls>),
    Unix(mio::net::UnixStream),
}

/// A TLS connection over TCP.
#[derive(Debug)]
pub(crate) struct Tls {
    tcp: mio::net::TcpStream,
    connection: Box<ServerConnection>,
}

impl Socket {
    /// Configures the stream and registers it for readiness events with this token.
    pub(crate) fn register(
        stream: Stream,
        options: SocketOptions,
        registry: &Registry,
        token: Token,
    ) -> io::Result<Self> {
        let mut socket = match stream {
            Stream::Tcp(tcp) => Self::Tcp(configure(tcp, options)?),
            Stream::Tls(tcp, connection) => {
                Self::Tls(Box::new(Tls { tcp: configure(tcp, options)?, connection }))
            }
            Stream::Unix(unix) => {
                unix.set_nonblocking(true)?;
                Self::Unix(mio::net::UnixStream::from_std(unix))
            }
        };
        registry.register(socket.source(), token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(socket)
    }

    pub(crate) fn transport(&self) -> &'static str {
        match self {
            Self::Tcp(_) => "tcp",
            Self::Tls(_) => "tls",
            Self::Unix(_) => "unix",
        }
    }

    fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Tcp(tcp) => tcp,
            Self::Tls(tls) => &mut tls.tcp,
            Self::Unix(unix) => unix,
        }
    }
}

fn configure(tcp: net::TcpStream, options: SocketOptions) -> io::Result<mio::net::TcpStream> {
    tcp.set_nonblocking(true)?;
    // Complete frames are written in batches; waiting for more only adds delay.
    tcp.set_nodelay(true)?;
    let socket = SockRef::from(&tcp);
    if options.send_buffer_bytes > 0 {
        socket.set_send_buffer_size(options.send_buffer_bytes)?;
    }
    if options.unsent_bytes > 0 {
        socket.set_tcp_notsent_lowat(options.unsent_bytes)?;
    }
    Ok(mio::net::TcpStream::from_std(tcp))
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(tcp) => tcp.read(buffer),
            Self::Tls(tls) => tls.read(buffer),
            Self::Unix(unix) => unix.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(tcp) => tcp.write(bytes),
            Self::Tls(tls) => tls.write(bytes),
            Self::Unix(unix) => unix.write(bytes),
        }
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(tcp) => tcp.write_vectored(slices),
            Self::Tls(tls) => tls.write_vectored(slices),
            Self::Unix(unix) => unix.write_vectored(slices),
        }
    }

    /// Sends what TLS has buffered; the others do not buffer.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tls(tls) => tls.send(),
            Self::Tcp(_) | Self::Unix(_) => Ok(()),
        }
    }
}

impl Socket {
    /// Tells the peer that no more data follows.
    pub(crate) fn end_writing(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(tcp) => tcp.shutdown(Shutdown::Write),
            Self::Tls(tls) => {
                tls.connection.send_close_notify();
                tls.send()?;
                tls.tcp.shutdown(Shutdown::Write)
            }
            Self::Unix(unix) => unix.shutdown(Shutdown::Write),
        }
    }
}

impl Tls {
    /// Sends all buffered records.
    fn send(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.tcp)?;
        }
        Ok(())
    }
}

impl Read for Tls {
    /// Reads from the socket at most once. Returns `Interrupted` if that brought only records without
    /// data, of which a client may send any number: there may be more.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.connection.reader().read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => return other,
        }
        if self.connection.read_tls(&mut self.tcp)? == 0 {
            return Ok(0);
        }
        self.connection.process_new_packets().map_err(io::Error::other)?;
        // An alert or a key update may have to be sent. If the socket is full, the next write sends it.
        match self.send() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => other?,
        }
        match self.connection.reader().read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(io::ErrorKind::Interrupted.into())
            }
            other => other,
        }
    }
}

impl Write for Tls {
    /// Accepts bytes only when everything accepted before is sent, so that queued data stays in the
    /// outbox and its budget.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.send()?;
        let accepted = self.connection.writer().write_vectored(slices)?;
        match self.send() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(accepted),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}
