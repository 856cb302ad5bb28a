//! A WebSocket server controlled by the test.

use std::net::SocketAddr;

use futures_util::SinkExt;
use tokio::{
    net::{TcpListener, TcpStream},
    time::{Instant, timeout},
};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async,
    tungstenite::{
        Message,
        handshake::server::{ErrorResponse, Request, Response},
        http::StatusCode,
    },
};

use crate::support::{PATIENCE, SECRET};

/// A peer controlled by the test, which decides what each connection does.
pub(crate) struct Peer {
    pub(crate) listener: TcpListener,
    pub(crate) addr: SocketAddr,
}

impl Peer {
    pub(crate) async fn start() -> Self {
        Self::start_on(0).await
    }

    pub(crate) async fn start_on(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("the port is free");
        let addr = listener.local_addr().expect("it is bound");
        Self { listener, addr }
    }

    pub(crate) fn url(&self) -> String {
        format!("ws://{}/live?key={SECRET}", self.addr)
    }

    /// The next connection, before its handshake.
    pub(crate) async fn connection(&self) -> TcpStream {
        let accepted = timeout(PATIENCE, self.listener.accept()).await;
        accepted.expect("no client connects").expect("a connection").0
    }

    pub(crate) async fn accept(&self) -> WebSocketStream<TcpStream> {
        accept_hdr_async(self.connection().await, check_headers).await.expect("a handshake")
    }

    /// Answers a handshake with a status.
    pub(crate) async fn refuse(&self, status: StatusCode) -> Instant {
        let stream = self.connection().await;
        #[expect(clippy::result_large_err, reason = "the library's own signature")]
        let refusing = |_: &Request, _: Response| -> Result<Response, ErrorResponse> {
            let mut refusal = ErrorResponse::new(None);
            *refusal.status_mut() = status;
            Err(refusal)
        };
        let at = Instant::now();
        accept_hdr_async(stream, refusing).await.expect_err("it is refused");
        at
    }
}

#[expect(clippy::result_large_err, reason = "the library's own signature")]
pub(crate) fn check_headers(
    request: &Request,
    response: Response,
) -> Result<Response, ErrorResponse> {
    assert_eq!(request.headers()["x-key"], SECRET);
    assert_eq!(request.uri().query(), Some(format!("key={SECRET}").as_str()));
    Ok(response)
}

pub(crate) async fn say(stream: &mut (impl SinkExt<Message> + Unpin), text: &str) {
    assert!(stream.send(Message::text(text)).await.is_ok(), "no client receives {text}");
}
