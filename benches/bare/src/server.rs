//! Accepts connections, upgrades them, and reads from publishers.

use std::{io, time::Duration};

use anyhow::{Context, bail};
use bytes::Bytes;
use fanout::outbox::FRAME_BYTES;
use futures_util::{FutureExt, StreamExt};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        handshake::{
            machine::TryParse,
            server::{Request, create_response, write_response},
        },
        protocol::{Role, WebSocketConfig},
    },
};

use crate::channels::{BATCH_BYTES_MAX, Channels, six_digits};

/// The longest head of a request.
const HEAD_BYTES_MAX: usize = 8 * 1024;

/// How long a client may take to send it.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// The pause after a connection could not be accepted.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Bytes read from a publisher at a time.
const READ_BYTES: usize = 256 * 1024;

/// Bytes that the frame reader takes of them at a time. It clears as many before each read.
const FRAME_READ_BYTES: usize = 8 * 1024;

const NOT_FOUND: &[u8] =
    b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// Serves forever.
pub(crate) async fn serve(listener: &TcpListener, channels: &Channels) -> ! {
    loop {
        match listener.accept().await {
            Ok((tcp, _)) => {
                let channels = channels.clone();
                tokio::spawn(async move {
                    // Who sends nonsense is not told why.
                    handle(tcp, &channels).await.ok();
                });
            }
            Err(_) => sleep(ACCEPT_AGAIN).await,
        }
    }
}

async fn handle(mut tcp: TcpStream, channels: &Channels) -> anyhow::Result<()> {
    let (request, ahead) = timeout(HANDSHAKE_MAX, read_request(&mut tcp)).await??;
    let upgrade = Endpoint::parse(request.uri().path()).zip(create_response(&request).ok());
    let Some((endpoint, response)) = upgrade else {
        return Ok(tcp.write_all(NOT_FOUND).await?);
    };
    let mut answer = Vec::new();
    write_response(&mut answer, &response)?;
    match endpoint {
        Endpoint::Publish => {
            tcp.write_all(&answer).await?;
            publish(tcp, ahead, channels).await;
        }
        Endpoint::Follow(number) => {
            channels.follow(tcp.into_std()?, &ahead, number, str::from_utf8(&answer)?)?;
        }
        Endpoint::Echo => {
            tcp.write_all(&answer).await?;
            channels.echo(tcp.into_std()?, ahead);
        }
    }
    Ok(())
}

/// The head of a request, and the bytes that were read after it.
async fn read_request(tcp: &mut TcpStream) -> anyhow::Result<(Request, Vec<u8>)> {
    let mut bytes = Vec::with_capacity(HEAD_BYTES_MAX);
    while bytes.len() < HEAD_BYTES_MAX {
        if tcp.read_buf(&mut bytes).await? == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        if let Some((length, request)) = Request::try_parse(&bytes).context("no request")? {
            return Ok((request, bytes.split_off(length)));
        }
    }
    bail!("the head is too long")
}

enum Endpoint {
    Publish,
    /// A channel, by its number.
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

/// Publishes everything that a publisher sends, in batches of what is ready, as fast as followers have room.
async fn publish(tcp: TcpStream, ahead: Vec<u8>, channels: &Channels) {
    // The frame reader asks for a header and a payload at a time; without the buffer that is two system calls
    // per message.
    let tcp = BufReader::with_capacity(READ_BYTES, tcp);
    let config = WebSocketConfig::default().read_buffer_size(FRAME_READ_BYTES);
    let mut socket =
        WebSocketStream::from_partially_read(tcp, ahead, Role::Server, Some(config)).await;
    while let Some(first) = socket.next().await {
        // Messages that arrive while a batch is written belong to the next one.
        channels.wait_for_room().await;
        let (mut batch, mut bytes) = (Vec::new(), 0);
        let mut next = Some(first);
        while let Some(message) = next {
            if let Ok(Message::Binary(payload)) = message {
                bytes += payload.len() + FRAME_BYTES;
                batch.extend(channel(&payload).map(|channel| (channel, payload)));
            }
            let more = bytes < BATCH_BYTES_MAX;
            next = if more { socket.next().now_or_never().flatten() } else { None };
        }
        channels.publish(batch);
    }
}

/// The channel that a message names. A message that names none is ignored.
fn channel(payload: &Bytes) -> Option<u32> {
    six_digits(payload.get(1..7)?.try_into().ok()?)
}
