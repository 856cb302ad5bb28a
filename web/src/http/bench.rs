//! The bench listener: bare channels without keys or documents, on loopback only.
//!
//! It speaks the protocol of the bare broadcast in `benches/floor`, so that the cost that the fan-out adds to
//! the system calls can be measured. `/sub/NNNNNN` follows a bare channel; each binary message on `/pub` goes
//! unchanged to the followers of the channel that its bytes 1 to 7 name. `/echo` returns each message, so
//! that protocol test suites can exercise the fan-out's frame reader and writer.

use std::{
    io::{self, ErrorKind},
    net,
    time::Duration,
};

use bytes::Bytes;
use fanout::{Fanout, outbox::FRAME_BYTES};
use futures_util::{FutureExt, StreamExt};
use metrics::counter;
use tokio::{
    io::BufReader,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        protocol::{Role, WebSocketConfig},
    },
};
use tracing::debug;

use super::{
    head::{self, Head, Upgrade},
    transport::RawConnection,
};

/// Bytes read from a publisher at a time.
const READ_BYTES: usize = 256 * 1024;

/// Bytes that the frame reader takes of them at a time. It clears as many before each read.
const FRAME_READ_BYTES: usize = 8 * 1024;

const NOT_FOUND: &[u8] =
    b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// Serves the bench port.
#[derive(Debug, Clone)]
pub struct BenchListener {
    pub fanout: Fanout,
    /// Bytes published in one batch, including the overhead of each frame: at most half of what may wait for
    /// a follower.
    pub batch_bytes_max: usize,
    pub handshake_timeout: Duration,
}

impl BenchListener {
    /// Serves publishers and followers of bare channels until `stop` turns true.
    pub async fn serve(self, listener: TcpListener, mut stop: watch::Receiver<bool>) {
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted.and_then(|(tcp, _)| tcp.into_std()),
                _ = stop.changed() => return,
            };
            while connections.try_join_next().is_some() {}
            match accepted {
                Ok(tcp) => drop(connections.spawn(self.clone().handle(tcp))),
                Err(error) => {
                    base::log_limited!(warn, %error, "a connection could not be accepted");
                    tokio::time::sleep(super::acceptor::ACCEPT_AGAIN).await;
                }
            }
        }
    }

    async fn handle(self, tcp: net::TcpStream) {
        if let Err(error) = self.try_handle(RawConnection::Tcp(tcp)).await {
            debug!(%error, "a connection of the bench listener ended early");
        }
    }

    async fn try_handle(&self, connection: RawConnection) -> io::Result<()> {
        let mut bytes = Vec::new();
        let reading = first_upgrade(connection, &mut bytes);
        let (mut connection, upgrade) = timeout(self.handshake_timeout, reading).await??;
        let Some(Upgrade { uri, request, length }) = upgrade else {
            return connection.answer(NOT_FOUND).await;
        };
        let Some(endpoint) = Endpoint::parse(uri.path()) else {
            return connection.answer(NOT_FOUND).await;
        };
        connection.answer(&request.answer()).await?;
        let ahead = bytes.split_off(length);
        match endpoint {
            Endpoint::Publish => publish(connection.into_tcp()?, ahead, self).await,
            Endpoint::Follow(channel) => {
                let (stream, ahead) = connection.into_stream(ahead)?;
                self.fanout.serve_bare(stream, ahead, channel);
            }
            Endpoint::Echo => {
                let (stream, ahead) = connection.into_stream(ahead)?;
                self.fanout.serve_echo(stream, ahead);
            }
        }
        Ok(())
    }
}

/// The endpoint of a path on the bench port.
enum Endpoint {
    Publish,
    /// A bare channel, by its number.
    Follow(u32),
    Echo,
}

impl Endpoint {
    fn parse(path: &str) -> Option<Self> {
        match path {
            "/pub" => Some(Self::Publish),
            "/echo" => Some(Self::Echo),
            _ => {
                let digits = path.strip_prefix("/sub/")?.as_bytes();
                Some(Self::Follow(six_digits(digits.try_into().ok()?)?))
            }
        }
    }
}

async fn first_upgrade(
    mut connection: RawConnection,
    bytes: &mut Vec<u8>,
) -> io::Result<(RawConnection, Option<Upgrade>)> {
    let mut read;
    loop {
        (connection, read) = connection.read(bytes).await?;
        match head::parse(bytes) {
            Head::Incomplete if read > 0 => {}
            Head::Incomplete => return Err(ErrorKind::UnexpectedEof.into()),
            Head::Upgrade(upgrade) => return Ok((connection, Some(upgrade))),
            Head::Other => return Ok((connection, None)),
        }
    }
}

/// Publishes everything that a publisher sends, in batches of what is ready, as fast as the fan-out has room.
async fn publish(tcp: TcpStream, ahead: Vec<u8>, bench: &BenchListener) {
    // The frame reader asks for a header and a payload at a time; without the buffer that is two system calls
    // per message.
    let tcp = BufReader::with_capacity(READ_BYTES, tcp);
    let config = WebSocketConfig::default().read_buffer_size(FRAME_READ_BYTES);
    let mut socket =
        WebSocketStream::from_partially_read(tcp, ahead, Role::Server, Some(config)).await;
    let ignored = counter!("matchwire_bench_ignored_total");
    while let Some(first) = socket.next().await {
        // Messages that arrive while a batch is written belong to the next one.
        bench.fanout.wait_for_bare_room().await;
        let (mut batch, mut bytes) = (Vec::new(), 0);
        let mut next = Some(first);
        while let Some(message) = next {
            if let Ok(Message::Binary(payload)) = message {
                bytes += payload.len() + FRAME_BYTES;
                match channel(&payload) {
                    Some(channel) => batch.push((channel, payload)),
                    None => ignored.increment(1),
                }
            }
            let more = bytes < bench.batch_bytes_max;
            next = if more { socket.next().now_or_never().flatten() } else { None };
        }
        bench.fanout.publish_bare(batch);
    }
}

/// The channel that a message names.
fn channel(payload: &Bytes) -> Option<u32> {
    six_digits(payload.get(1..7)?.try_into().ok()?)
}

fn six_digits(digits: [u8; 6]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0'))
    })
}
