//! The two kinds of stream a shard writes to: TCP, and Unix sockets for a proxy on the same host.

use std::{io, io::IoSlice, net, os::unix};

use tokio::{
    io::{Interest, Ready},
    net::{TcpStream, UnixStream},
};

/// A connected stream that no runtime owns yet.
#[derive(Debug)]
pub enum Stream {
    Tcp(net::TcpStream),
    Unix(unix::net::UnixStream),
}

/// A stream on its shard's runtime.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Registers the stream with the runtime of the calling thread.
    pub(crate) fn register(stream: Stream) -> io::Result<Self> {
        match stream {
            Stream::Tcp(tcp) => {
                tcp.set_nonblocking(true)?;
                // Frames are written whole and in batches; waiting for more only adds delay.
                tcp.set_nodelay(true)?;
                TcpStream::from_std(tcp).map(Self::Tcp)
            }
            Stream::Unix(unix) => {
                unix.set_nonblocking(true)?;
                UnixStream::from_std(unix).map(Self::Unix)
            }
        }
    }

    pub(crate) async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        match self {
            Self::Tcp(tcp) => tcp.ready(interest).await,
            Self::Unix(unix) => unix.ready(interest).await,
        }
    }

    pub(crate) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(tcp) => tcp.try_read(buffer),
            Self::Unix(unix) => unix.try_read(buffer),
        }
    }

    pub(crate) fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(tcp) => tcp.try_write_vectored(slices),
            Self::Unix(unix) => unix.try_write_vectored(slices),
        }
    }
}
