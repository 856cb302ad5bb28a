//! One connection: opened with a key, subscribed to channels, and read frame by frame.

use std::sync::Arc;

use anyhow::{Context, Result};
use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        Message, client::IntoClientRequest, http::HeaderValue, protocol::WebSocketConfig,
    },
};

use crate::hub::Hub;

/// Bytes read at a time. The default of 128 KiB would be most of the memory of a run with thousands
/// of sockets.
const READ_BYTES: usize = 8 << 10;

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

pub(crate) struct Socket(WebSocketStream<Box<dyn Stream>>);

/// The result of [`Socket::read`].
#[derive(Debug)]
pub(crate) enum ReadOutcome {
    Text(String),
    /// The connection has ended; the reason comes from the hub or the system.
    End(String),
}

impl Socket {
    /// Connects, and sends these commands.
    pub(crate) async fn open(hub: &Hub, key: &str, commands: &[Value]) -> Result<Self> {
        let mut request = hub.url.as_str().into_client_request()?;
        let mut token = HeaderValue::from_str(&format!("Token {key}"))
            .ok()
            .context("the key holds characters that no header may")?;
        token.set_sensitive(true);
        request.headers_mut().insert("authorization", token);
        let config = WebSocketConfig::default().read_buffer_size(READ_BYTES);
        let tcp = TcpStream::connect(hub.address).await?;
        tcp.set_nodelay(true)?;
        let stream: Box<dyn Stream> = match &hub.verification {
            Some(verification) => {
                let connector = TlsConnector::from(Arc::clone(&verification.config));
                Box::new(connector.connect(verification.name.clone(), tcp).await?)
            }
            None => Box::new(tcp),
        };
        let (mut socket, _) = client_async_with_config(request, stream, Some(config)).await?;
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
