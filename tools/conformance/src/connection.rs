//! One WebSocket to a client.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{SinkExt, StreamExt};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::TcpStream,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async,
    tungstenite::{
        Error, Message,
        handshake::server::{ErrorResponse, Request, Response},
        http::{HeaderValue, header::SEC_WEBSOCKET_PROTOCOL},
        protocol::{CloseFrame, frame::coding::CloseCode},
    },
};

/// The subprotocol that the hub selects if it is offered, as `docs/PROTOCOL.md` says.
const SUBPROTOCOLS: [&str; 3] = ["matchwire.v1", "token", "ticket"];

/// How long the client may take to close its side.
const CLOSE_MAX: Duration = Duration::from_secs(5);

/// What the client did.
#[derive(Debug)]
pub(crate) enum Received {
    Command(String),
    Pong,
    /// It has closed the connection, or broke it off.
    End,
}

#[derive(Debug)]
pub(crate) struct Connection(WebSocketStream<Pieces>);

impl Connection {
    /// Answers the upgrade of a client.
    ///
    /// # Errors
    ///
    /// What is wrong with the upgrade.
    pub(crate) async fn accept(
        stream: TcpStream,
        key: &str,
        trickle_bytes: Option<usize>,
    ) -> Result<Self, String> {
        // Pieces are packets, not a few large ones.
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let mut has_key = false;
        #[expect(clippy::result_large_err, reason = "the library defines the type")]
        let upgrade =
            |request: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
                has_key = names_key(request, key);
                let offered = request.headers().get_all(SEC_WEBSOCKET_PROTOCOL).iter();
                let offered: Vec<&str> = offered
                    .filter_map(|value| value.to_str().ok())
                    .flat_map(|value| value.split(','))
                    .map(str::trim)
                    .collect();
                let selected = SUBPROTOCOLS.into_iter().find(|name| offered.contains(name));
                if let Some(selected) = selected {
                    response
                        .headers_mut()
                        .insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(selected));
                }
                Ok(response)
            };
        let accepted = accept_hdr_async(Pieces { stream, bytes: usize::MAX }, upgrade).await;
        let mut socket = accepted.map_err(|error| format!("its upgrade failed: {error}"))?;
        if !has_key {
            return Err("it does not send its key: header, subprotocol or query".to_owned());
        }
        socket.get_mut().bytes = trickle_bytes.unwrap_or(usize::MAX);
        Ok(Self(socket))
    }

    /// Sends a frame.
    ///
    /// # Errors
    ///
    /// If the client has ended the connection.
    pub(crate) async fn send(&mut self, text: &str) -> Result<(), Error> {
        self.0.send(Message::text(text)).await
    }

    /// Pings the client. Its answer shows that it has read everything before.
    pub(crate) async fn ping(&mut self) -> Result<(), Error> {
        self.0.send(Message::Ping(Vec::new().into())).await
    }

    /// What the client does next. Cancel-safe.
    pub(crate) async fn receive(&mut self) -> Received {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => {
                    return Received::Command(text.as_str().to_owned());
                }
                Some(Ok(Message::Pong(_))) => return Received::Pong,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Received::End,
                Some(Ok(_)) => {}
            }
        }
    }

    /// Closes with this code, and waits for the client to do so.
    pub(crate) async fn close(mut self, code: u16, reason: &str) {
        let frame = CloseFrame { code: CloseCode::from(code), reason: reason.into() };
        if self.0.close(Some(frame)).await.is_ok() {
            self.read_to_the_end().await;
        }
    }

    /// Ends the connection without a close frame, as a network does that fails.
    pub(crate) async fn cut(mut self) {
        // What the client has sent is read, otherwise the system would reset the connection, and what it has not read yet be lost.
        if self.0.get_mut().stream.shutdown().await.is_ok() {
            self.read_to_the_end().await;
        }
    }

    async fn read_to_the_end(&mut self) {
        let read = async { while !matches!(self.receive().await, Received::End) {} };
        // A client that keeps it open is not waited for.
        timeout(CLOSE_MAX, read).await.ok();
    }
}

/// Whether a request has the key in one of the places in which the hub accepts it.
fn names_key(request: &Request, key: &str) -> bool {
    let has = |name, separators: &[char]| {
        let values = request.headers().get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(separators)).any(|part| part == key)
    };
    let query = request.uri().query().unwrap_or_default();
    has("authorization", &[' '])
        || has("sec-websocket-protocol", &[',', ' '])
        || query.split('&').any(|part| part.strip_prefix("token=") == Some(key))
}

/// A connection on which no write is longer than so many bytes.
#[derive(Debug)]
struct Pieces {
    stream: TcpStream,
    bytes: usize,
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Pieces {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let piece = &buffer[..buffer.len().min(self.bytes)];
        Pin::new(&mut self.stream).poll_write(cx, piece)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
