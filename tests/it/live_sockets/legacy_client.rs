//! A client that does not know the stream protocol.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{
    net::{TcpSocket, TcpStream},
    time::timeout,
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, client_async, connect_async,
    tungstenite::{Message, client::IntoClientRequest, handshake::client::Response},
};

use crate::support::{Hub, PATIENCE};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A client that does not know the stream protocol.
pub(crate) struct LegacyClient {
    pub(crate) socket: Socket,
    pub(crate) handshake: Response,
}

impl LegacyClient {
    pub(crate) async fn connect(hub: &Hub, path: &str, protocols: Option<&str>) -> Self {
        let url = format!("ws://{}{path}", hub.address);
        let mut request = url.into_client_request().expect("a URL");
        if let Some(protocols) = protocols {
            let value = protocols.parse().expect("a header's value");
            request.headers_mut().insert("sec-websocket-protocol", value);
        }
        let connecting = timeout(PATIENCE, connect_async(request)).await;
        let (socket, handshake) = connecting.expect("in time").expect("it is upgraded");
        Self { socket, handshake }
    }

    /// A client with minimal network buffers, so that unread frames queue in the hub.
    pub(crate) async fn narrow(hub: &Hub, key: &str) -> Self {
        let request = format!("ws://{}/live/football/?token={key}", hub.address);
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a small buffer");
        let stream = socket.connect(hub.address.parse().expect("an address")).await;
        let stream = MaybeTlsStream::Plain(stream.expect("it connects"));
        let (socket, handshake) = client_async(request, stream).await.expect("it is upgraded");
        Self { socket, handshake }
    }

    pub(crate) async fn football(hub: &Hub, key: &str) -> Self {
        Self::connect(hub, &format!("/live/football/?token={key}"), None).await
    }

    pub(crate) async fn both(hub: &Hub, key: &str) -> Self {
        Self::connect(hub, &format!("/ws/live/?token={key}"), None).await
    }

    pub(crate) async fn send(&mut self, command: &Value) {
        self.send_text(&command.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.expect("the socket takes a command");
    }

    pub(crate) async fn subscribe(&mut self, event: u64) {
        self.send(&json!({"action": "subscribe", "event_id": event})).await;
    }

    /// The next frame, or the hub's close code.
    pub(crate) async fn next(&mut self) -> Result<Value, u16> {
        loop {
            let message = timeout(PATIENCE, self.socket.next()).await.expect("a frame in time");
            match message {
                Some(Ok(Message::Text(text))) => {
                    return Ok(serde_json::from_str(&text).expect("a frame is JSON"));
                }
                Some(Ok(Message::Close(frame))) => {
                    return Err(frame.map_or(1005, |frame| frame.code.into()));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(1006),
            }
        }
    }

    /// Reads on to a frame of this type.
    pub(crate) async fn next_of(&mut self, kind: &str) -> Value {
        self.next_where(kind, |frame| frame["type"] == kind).await
    }

    pub(crate) async fn next_where(
        &mut self,
        awaited: &str,
        condition: impl Fn(&Value) -> bool,
    ) -> Value {
        let reading = async {
            loop {
                match self.next().await {
                    Ok(frame) if condition(&frame) => return frame,
                    Ok(_) => {}
                    Err(code) => panic!("closed with {code} while waiting for {awaited}"),
                }
            }
        };
        let read = timeout(PATIENCE, reading).await;
        read.unwrap_or_else(|_| panic!("{awaited} did not come"))
    }

    /// The next error, and the close code after it.
    pub(crate) async fn refused(mut self) -> (Value, u16) {
        let first = self.next().await.expect("the reason comes before the close");
        assert_eq!(first["type"], "error", "{first}");
        let code = self.next().await.expect_err("nothing comes behind it");
        (first["code"].clone(), code)
    }
}
