//! The connection under HTTP: before a request is read, and while the router answers on it.

use std::{
    io::{self, ErrorKind, Read, Write},
    net,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf, Bytes};
use fanout::socket::Stream;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// Bytes read at once: the head of an upgrade, as a rule, is half of it.
const READ_BYTES: usize = 2048;

/// A connection that was just accepted. No reactor watches it until it has to wait, which most
/// upgrades never do: their request comes right behind the connection.
#[derive(Debug)]
pub(super) struct Line {
    /// It does not block.
    tcp: net::TcpStream,
}

impl Line {
    pub(super) fn new(tcp: net::TcpStream) -> Self {
        Self { tcp }
    }

    /// Appends what there is to read, and waits for it if need be; 0 bytes at the end.
    pub(super) async fn read(mut self, bytes: &mut Vec<u8>) -> io::Result<(Self, usize)> {
        loop {
            match read_ready(&self.tcp, bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.tcp = readable(self.tcp).await?;
                }
                read => return Ok((self, read?)),
            }
        }
    }

    /// Writes an answer. It is the first on this connection and short, so it always finds room.
    pub(super) fn answer(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.tcp.write_all(bytes)
    }

    /// The socket, free of HTTP.
    pub(super) fn into_stream(self) -> Stream {
        Stream::Tcp(self.tcp)
    }

    /// The connection for the router, which reads `ahead` first.
    pub(super) fn into_rewound(self, ahead: Vec<u8>) -> io::Result<Rewound> {
        Ok(Rewound { ahead: ahead.into(), tcp: TcpStream::from_std(self.tcp)? })
    }
}

fn read_ready(mut tcp: &net::TcpStream, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let had = bytes.len();
    bytes.resize(had + READ_BYTES, 0);
    let read = tcp.read(&mut bytes[had..]);
    bytes.truncate(had + read.as_ref().map_or(0, |read| *read));
    read
}

async fn readable(tcp: net::TcpStream) -> io::Result<net::TcpStream> {
    let watched = TcpStream::from_std(tcp)?;
    watched.readable().await?;
    watched.into_std()
}

/// A connection of which something was read ahead.
#[derive(Debug)]
pub(super) struct Rewound {
    ahead: Bytes,
    tcp: TcpStream,
}

impl Rewound {
    /// The socket, free of HTTP, and what was read of it beyond `read`.
    pub(super) fn into_stream(self, read: &[u8]) -> io::Result<(Stream, Vec<u8>)> {
        Ok((Stream::Tcp(self.tcp.into_std()?), [read, &self.ahead].concat()))
    }
}

impl AsyncRead for Rewound {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            return Pin::new(&mut self.tcp).poll_read(cx, buffer);
        }
        let length = self.ahead.len().min(buffer.remaining());
        buffer.put_slice(&self.ahead[..length]);
        self.ahead.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Rewound {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}
