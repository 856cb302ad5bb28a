//! One connection: opened with a key, subscribed to channels, and read frame by frame.

use anyhow::{Context, Result};
use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{
        Message,
        client::IntoClientRequest,
        http::{HeaderValue, Uri},
        protocol::WebSocketConfig,
    },
};

/// Bytes read at a time. The default of 128 KiB would be most of the memory of a run with thousands
/// of sockets.
const READ_BYTES: usize = 8 << 10;

#[derive(Debug)]
pub(crate) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

/// The result of [`Socket::read`].
#[derive(Debug)]
pub(crate) enum ReadOutcome {
    Text(String),
    /// The connection has ended; the reason comes from the hub or the system.
    End(String),
}

impl Socket {
    /// Connects, and sends these commands.
    pub(crate) async fn open(url: &Uri, key: &str, commands: &[Value]) -> Result<Self> {
        let mut request = url.into_client_request()?;
        let mut token = HeaderValue::from_str(&format!("Token {key}"))
            .ok()
            .context("the key holds characters that no header may")?;
        token.set_sensitive(true);
        request.headers_mut().insert("authorization", token);
        let config = WebSocketConfig::default().read_buffer_size(READ_BYTES);
        let (mut socket, _) = connect_async_with_config(request, Some(config), true).await?;
        for command in commands {
            socket.send(Message::text(command.to_string())).await?;
        }
        Ok(Self(socket))
    }

    /// The next text message. Cancel-safe.
    pub(crate) async fn read(&mut self) -> ReadOutcome {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => {
                    return ReadOutcome::Text(text.as_str().to_owned());
                }
                Some(Ok(Message::Close(Some(close)))) => {
                    return ReadOutcome::End(format!(
                        "closed with {} {}",
                        close.code, close.reason
                    ));
                }
                Some(Ok(Message::Close(None))) | None => {
                    return ReadOutcome::End("closed without a code".to_owned());
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return ReadOutcome::End(format!("cut off: {error}")),
            }
        }
    }
}
