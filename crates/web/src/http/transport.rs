//! The connection under HTTP: before a request is read, and while the router answers on it.

use std::{
    future::poll_fn,
    io::{self, ErrorKind, Read, Write},
    mem::MaybeUninit,
    net,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use base::work::Busy;
use bytes::{Buf, Bytes};
use fanout::socket::{SocketOptions, Stream};
use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep},
};
use tokio_rustls::server::TlsStream;

use super::{activity::Activity, connections::WriteProgress};

/// Bytes read at a time: usually twice the head of an upgrade.
const READ_BYTES: usize = 2048;

/// A connection before its first request.
#[derive(Debug)]
pub(super) enum RawConnection {
    /// Non-blocking. No reactor watches it until it has to wait, which most upgrades never do: their request
    /// arrives together with the connection.
    Tcp(net::TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl RawConnection {
    /// Appends what can be read, waiting if necessary; 0 bytes at the end.
    pub(super) async fn read(self, bytes: &mut Vec<u8>) -> io::Result<(Self, usize)> {
        match self {
            Self::Tcp(mut tcp) => loop {
                match read_ready(&tcp, bytes) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        tcp = readable(tcp).await?;
                    }
                    read => return Ok((Self::Tcp(tcp), read?)),
                }
            },
            Self::Tls(mut tls) => {
                bytes.reserve(READ_BYTES);
                let read = tls.read_buf(bytes).await?;
                Ok((Self::Tls(tls), read))
            }
        }
    }

    /// Writes the only response of this connection, whose request has not been read to its end, and closes it.
    pub(super) async fn refuse(mut self, bytes: &[u8]) -> io::Result<()> {
        self.answer(bytes).await?;
        let mut tcp = match self {
            Self::Tcp(tcp) => {
                let mut tcp = TcpStream::from_std(tcp)?;
                tcp.shutdown().await?;
                tcp
            }
            Self::Tls(mut tls) => {
                tls.shutdown().await?;
                tls.into_inner().0
            }
        };
        let mut rest = Rest::default();
        poll_fn(|cx| rest.poll_discard(&mut tcp, cx)).await;
        Ok(())
    }

    /// Writes a response. It is short and the first on this connection, so the send buffer always has room.
    pub(super) async fn answer(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(tcp) => tcp.write_all(bytes),
            Self::Tls(tls) => {
                tls.write_all(bytes).await?;
                tls.flush().await
            }
        }
    }

    /// The socket without HTTP, and the bytes read beyond `ahead`.
    pub(super) fn into_stream(self, ahead: Vec<u8>) -> io::Result<(Stream, Vec<u8>)> {
        match self {
            Self::Tcp(tcp) => Ok((Stream::Tcp(tcp), ahead)),
            Self::Tls(tls) => free_tls(*tls, ahead),
        }
    }

    /// The connection for the router, which reads `ahead` first. It can be written at once: hyper drops the response to an upgrade
    /// that it refuses, unless the first write takes all of it.
    pub(super) async fn into_preread(
        self,
        mut ahead: Vec<u8>,
        options: SocketOptions,
        (progress, activity): (WriteProgress, Activity),
    ) -> io::Result<Preread> {
        let io = match self {
            Self::Tcp(tcp) => Io::Tcp(TcpStream::from_std(tcp)?),
            Self::Tls(tls) => Io::Tls(tls),
        };
        activity.read_first(&mut ahead);
        let preread =
            Preread { ahead: ahead.into(), io, progress, activity, rest: None, turn: None };
        set_up(preread.tcp(), options)?;
        preread.tcp().writable().await?;
        Ok(preread)
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

/// Decrypted bytes that were not read are passed on, as no readiness event would ever come for them.
fn free_tls(tls: TlsStream<TcpStream>, mut ahead: Vec<u8>) -> io::Result<(Stream, Vec<u8>)> {
    let (tcp, mut connection) = tls.into_inner();
    match connection.reader().read_to_end(&mut ahead) {
        Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
        _ => {}
    }
    Ok((Stream::Tls(tcp.into_std()?, Box::new(connection)), ahead))
}

/// Limits what the kernel buffers for a reader, so that the progress of a slow one is visible.
fn set_up(tcp: &TcpStream, options: SocketOptions) -> io::Result<()> {
    let socket = SockRef::from(tcp);
    if options.send_buffer_bytes > 0 {
        socket.set_send_buffer_size(options.send_buffer_bytes)?;
    }
    if options.unsent_bytes > 0 {
        socket.set_tcp_notsent_lowat(options.unsent_bytes)?;
    }
    Ok(())
}

/// A connection whose first bytes were already read. Writing fails if its reader accepts nothing for too
/// long.
pub(super) struct Preread {
    ahead: Bytes,
    io: Io,
    progress: WriteProgress,
    activity: Activity,
    /// Present once it is to close while a part of a request is still to come.
    rest: Option<Rest>,
    /// Present while the rest of a long head waits for its turn. It is left in the buffers of the system.
    turn: Option<HeadTurn>,
}

type HeadTurn = Pin<Box<dyn Future<Output = Result<(), Busy>> + Send>>;

/// What is still read of a request while the connection closes: a close with unread bytes would be a reset, in which the client
/// loses the response.
#[derive(Debug)]
struct Rest {
    bytes: usize,
    until: Pin<Box<Sleep>>,
}

impl Default for Rest {
    fn default() -> Self {
        Self { bytes: 0, until: Box::pin(sleep(REST_TIME)) }
    }
}

impl Rest {
    /// Discards what is still to come. Below TLS, since nothing of it is needed.
    fn poll_discard(&mut self, tcp: &mut TcpStream, cx: &mut Context<'_>) -> Poll<()> {
        let mut part = [MaybeUninit::uninit(); 4096];
        while self.until.as_mut().poll(cx).is_pending() && self.bytes < REST_BYTES_MAX {
            let mut buffer = ReadBuf::uninit(&mut part);
            let read = ready!(Pin::new(&mut *tcp).poll_read(cx, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                break;
            }
            self.bytes += buffer.filled().len();
        }
        Poll::Ready(())
    }
}

/// How much of it is read, and for how long.
const REST_BYTES_MAX: usize = 64 * 1024;
const REST_TIME: Duration = Duration::from_secs(1);

#[derive(Debug)]
enum Io {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

trait Duplex: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Duplex for T {}

impl Preread {
    /// The socket without HTTP, and the bytes read beyond `read`.
    pub(super) fn into_stream(self, read: &[u8]) -> io::Result<(Stream, Vec<u8>)> {
        let ahead = [read, &self.ahead].concat();
        match self.io {
            Io::Tcp(tcp) => Ok((Stream::Tcp(tcp.into_std()?), ahead)),
            Io::Tls(tls) => free_tls(*tls, ahead),
        }
    }

    fn tcp(&self) -> &TcpStream {
        match &self.io {
            Io::Tcp(tcp) => tcp,
            Io::Tls(tls) => tls.get_ref().0,
        }
    }

    /// Records the result of a write.
    fn written(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = written {
            self.progress.took(bytes);
            self.activity.written(Instant::now());
        }
        self.or_stalled(cx, written)
    }

    /// Fails if the reader has accepted nothing for too long. The kernel then discards what is unsent.
    fn or_stalled<T>(
        &mut self,
        cx: &mut Context<'_>,
        done: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if done.is_pending() && self.progress.poll_stalled(cx).is_ready() {
            self.tcp().set_zero_linger().ok();
            return Poll::Ready(Err(ErrorKind::TimedOut.into()));
        }
        done
    }

    /// Waits for the turn of a long head, if it needs one.
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.turn.is_none() && self.activity.needs_turn() {
            self.turn = Some(Box::pin(self.activity.clone().take_turn()));
        }
        let Some(turn) = &mut self.turn else { return Poll::Ready(Ok(())) };
        let taken = ready!(turn.as_mut().poll(cx));
        self.turn = None;
        Poll::Ready(taken.map_err(|Busy| ErrorKind::ConnectionAborted.into()))
    }

    fn io(&mut self) -> Pin<&mut dyn Duplex> {
        match &mut self.io {
            Io::Tcp(tcp) => Pin::new(tcp),
            Io::Tls(tls) => Pin::new(tls),
        }
    }
}

impl AsyncRead for Preread {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            ready!(self.poll_turn(cx))?;
            let filled = buffer.filled().len();
            let read = self.io().poll_read(cx, buffer);
            if buffer.filled().len() > filled {
                self.activity.read(&mut buffer.filled_mut()[filled..], Instant::now());
            }
            return read;
        }
        let length = self.ahead.len().min(buffer.remaining());
        buffer.put_slice(&self.ahead[..length]);
        self.ahead.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Preread {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.io().poll_write(cx, bytes);
        self.written(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.io().poll_write_vectored(cx, slices);
        self.written(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = self.io().poll_flush(cx);
        if flushed.is_ready() {
            self.progress.took_all();
            self.activity.flushed();
        }
        self.or_stalled(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.activity.owes_bytes() {
            let flushed = self.io().poll_flush(cx);
            ready!(self.or_stalled(cx, flushed))?;
            // Flush before the shutdown: many clients reconnect as soon as they see the end.
            let Self { io, rest, .. } = &mut *self;
            let tcp = match io {
                Io::Tcp(tcp) => tcp,
                Io::Tls(tls) => tls.get_mut().0,
            };
            ready!(rest.get_or_insert_default().poll_discard(tcp, cx));
        }
        let shut = self.io().poll_shutdown(cx);
        self.or_stalled(cx, shut)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::net::TcpListener;

    use super::*;
    use crate::{
        config::ServerConfig,
        http::{
            connections::{ConnectionLimits, Connections},
            head,
            holders::HeldConnection,
        },
    };

    /// A connection of which a part of a head was read, and its client.
    async fn preread() -> (Preread, HeldConnection, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let client = TcpStream::connect(address).await.expect("a connection");
        let (tcp, from) = listener.accept().await.expect("a client");
        let limits = ConnectionLimits::from_config(&ServerConfig::default());
        let connections = Connections::new(limits);
        let (held, _) = connections.hold(from.ip(), false).expect("room");
        let (progress, now) = (WriteProgress::new(connections), Instant::now());
        let activity = Activity::new(held.handle.clone(), now, now);
        let (ahead, io) = (Bytes::new(), Io::Tcp(tcp));
        (Preread { ahead, io, progress, activity, rest: None, turn: None }, held, client)
    }

    /// A client that comes again as soon as its connection ends does so once a second.
    #[tokio::test]
    async fn refused_request_ends_after_its_client_has() {
        let (mut server, _held, mut client) = preread().await;
        server.write_all(b"refused").await.expect("a response");
        assert!(server.activity.owes_bytes());
        let closing = tokio::spawn(async move { server.shutdown().await });
        let mut response = [0; 7];
        client.read_exact(&mut response).await.expect("the response");
        client.write_all(&[b'x'; 4096]).await.expect("the rest of the request");
        assert!(client.read_u8().now_or_never().is_none(), "it has not ended");
        client.shutdown().await.expect("the client ends");
        closing.await.expect("no panic").expect("the hub ends");
        assert_eq!(client.read(&mut response).await.expect("the end"), 0);
    }

    /// The rest stays in the buffers of the system until others have read theirs.
    #[tokio::test]
    async fn long_head_is_read_in_its_turn() {
        let (mut server, held, mut client) = preread().await;
        let mut turns = Vec::new();
        while let Some(turn) = held.handle.long_head_turn().now_or_never() {
            turns.push(turn.expect("room"));
        }
        assert_eq!(turns.len(), 16, "those of one address");
        server.activity.read(&mut [b'x'; head::BYTES_MAX + 1], Instant::now());
        client.write_all(b"rest").await.expect("more of the head");
        server.tcp().readable().await.expect("the rest is there");
        let mut rest = [0; 4];
        assert!(server.read_exact(&mut rest).now_or_never().is_none(), "it is not its turn");
        drop(turns);
        server.read_exact(&mut rest).await.expect("the rest");
        assert_eq!(&rest, b"rest");
    }
}
