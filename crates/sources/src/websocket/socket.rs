//! A WebSocket client: its address, its limits and the open socket.
//!
//! Frames and messages are limited in size, the handshake has a deadline, and a write that takes
//! longer than the allowed silence counts as a broken connection. This module does not know what the
//! messages mean.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::{SinkExt, StreamExt};
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};
use tokio_rustls::TlsConnector;
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        self, Bytes, Error, Message,
        client::IntoClientRequest,
        error::CapacityError,
        handshake::client::Request,
        http::{HeaderName, HeaderValue, StatusCode, Uri},
        protocol::WebSocketConfig,
    },
};

use crate::{
    config,
    reconnect::{Disconnect, Reconnector},
};
use base::secret::Secret;

/// The URL and the headers of a socket. `Display` and `Debug` omit the query and the headers, which
/// may contain secrets.
#[derive(Clone)]
pub struct Address {
    uri: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Why an address is invalid. It does not repeat the address, which may contain a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("is no URL")]
    NotUrl,
    #[error("is neither ws nor wss")]
    Scheme,
    #[error("names no header, or a secret that cannot stand in one")]
    Header,
}

impl Address {
    /// `url`: `ws://` or `wss://`. `headers`: names and values, sent with the handshake.
    ///
    /// # Errors
    ///
    /// When the address is not a WebSocket address, or a header is invalid.
    pub fn new(url: &str, headers: &[(String, Secret)]) -> Result<Self, AddressError> {
        let uri: Uri = url.parse().map_err(|_| AddressError::NotUrl)?;
        if !matches!(uri.scheme_str(), Some("ws" | "wss")) || uri.host().is_none_or(str::is_empty) {
            return Err(AddressError::Scheme);
        }
        let headers = headers.iter().map(|(name, secret)| header(name, secret));
        let headers = headers.collect::<Option<_>>().ok_or(AddressError::Header)?;
        Ok(Self { uri, headers })
    }

    fn is_secure(&self) -> bool {
        self.uri.scheme_str() == Some("wss")
    }

    fn host(&self) -> &str {
        // Only the URL has brackets around an IPv6 address.
        self.uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
    }

    fn port(&self) -> u16 {
        self.uri.port_u16().unwrap_or_else(|| if self.is_secure() { 443 } else { 80 })
    }

    fn request(&self) -> Result<Request, Error> {
        let mut request = self.uri.clone().into_client_request()?;
        request.headers_mut().extend(self.headers.iter().cloned());
        Ok(request)
    }
}

fn header(name: &str, secret: &Secret) -> Option<(HeaderName, HeaderValue)> {
    let mut value = HeaderValue::try_from(secret.expose()).ok()?;
    value.set_sensitive(true);
    Some((HeaderName::try_from(name).ok()?, value))
}

/// Scheme, host, port and path.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.uri.scheme_str().unwrap_or_default();
        write!(f, "{scheme}://{}", self.uri.host().unwrap_or_default())?;
        if let Some(port) = self.uri.port_u16() {
            write!(f, ":{port}")?;
        }
        f.write_str(self.uri.path())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// The limits of a socket.
#[derive(Debug, Clone)]
pub struct SocketLimits {
    /// The trusted authorities; see [`base::tls::client`].
    pub tls: Arc<ClientConfig>,
    /// The time limit for connecting and the handshake together. Default: 10 s.
    pub connect_timeout: Duration,
    /// After this long without a frame of any kind the connection is dead. A ping is sent after a
    /// third of it. Default: that of the settings.
    pub silence: Duration,
    /// The longest message, in bytes; a longer one ends the connection. Default: 16 MiB, held in
    /// memory at once.
    pub message_bytes_max: usize,
    /// The upper bound of the first wait after a disconnect. Default: 500 ms.
    pub backoff_first: Duration,
    /// The longest wait, also used after access was denied. Default: 30 s.
    pub backoff_most: Duration,
}

impl SocketLimits {
    #[must_use]
    pub fn new(tls: Arc<ClientConfig>) -> Self {
        Self {
            tls,
            connect_timeout: Duration::from_secs(10),
            silence: Duration::from_millis(config::WebSocketConfig::silence_ms()),
            message_bytes_max: 16 << 20,
            backoff_first: Duration::from_millis(500),
            backoff_most: Duration::from_secs(30),
        }
    }

    pub(crate) fn reconnector(&self) -> Reconnector {
        Reconnector::new(self.backoff_first, self.backoff_most)
    }
}

/// What was received.
pub(crate) enum Incoming {
    /// Text or binary.
    Message(Bytes),
    /// A ping or a pong: the peer is alive.
    KeepAlive,
}

trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// An open socket.
pub(crate) struct Socket {
    stream: WebSocketStream<Box<dyn Transport>>,
    silence: Duration,
}

impl Socket {
    pub(crate) async fn connect(
        address: &Address,
        limits: &SocketLimits,
    ) -> Result<Self, Disconnect> {
        let connecting = Self::open(address, limits);
        let stream = timeout(limits.connect_timeout, connecting)
            .await
            .map_err(|_| Disconnect::Broken("no connection in time".to_owned()))??;
        Ok(Self { stream, silence: limits.silence })
    }

    async fn open(
        address: &Address,
        limits: &SocketLimits,
    ) -> Result<WebSocketStream<Box<dyn Transport>>, Disconnect> {
        let connect_error =
            |error: &dyn fmt::Display| Disconnect::Broken(format!("cannot connect: {error}"));
        let host = address.host();
        let tcp = TcpStream::connect((host, address.port()))
            .await
            .map_err(|error| connect_error(&error))?;
        tcp.set_nodelay(true).map_err(|error| connect_error(&error))?;
        let transport: Box<dyn Transport> = if address.is_secure() {
            let name =
                ServerName::try_from(host.to_owned()).map_err(|error| connect_error(&error))?;
            let tls = TlsConnector::from(Arc::clone(&limits.tls)).connect(name, tcp).await;
            Box::new(tls.map_err(|error| connect_error(&error))?)
        } else {
            Box::new(tcp)
        };
        let request = address.request().map_err(disconnect)?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(limits.message_bytes_max))
            .max_frame_size(Some(limits.message_bytes_max));
        let opened = client_async_with_config(request, transport, Some(config)).await;
        opened.map(|(stream, _)| stream).map_err(disconnect)
    }

    /// Sets the time without a frame after which the connection is dead.
    pub(crate) fn expect_within(&mut self, silence: Duration) {
        self.silence = silence;
    }

    pub(crate) async fn send(&mut self, text: &str) -> Result<(), Disconnect> {
        self.write(Message::text(text)).await
    }

    /// Waits for the next message, and pings the peer if it is silent.
    pub(crate) async fn next(&mut self) -> Result<Incoming, Disconnect> {
        let began = Instant::now();
        let pinged = began + self.silence / 3;
        if let Ok(received) = timeout_at(pinged, self.read()).await {
            return received;
        }
        self.write(Message::Ping(Bytes::new())).await?;
        match timeout_at(began + self.silence, self.read()).await {
            Ok(received) => received,
            Err(_) => Err(Disconnect::Broken(format!("nothing was heard for {:?}", self.silence))),
        }
    }

    async fn read(&mut self) -> Result<Incoming, Disconnect> {
        match self.stream.next().await {
            Some(Ok(Message::Text(text))) => Ok(Incoming::Message(text.into())),
            Some(Ok(Message::Binary(bytes))) => Ok(Incoming::Message(bytes)),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {
                Ok(Incoming::KeepAlive)
            }
            Some(Ok(Message::Close(frame))) => Err(closed(frame)),
            Some(Err(error)) => Err(disconnect(error)),
            None => Err(Disconnect::Broken("the peer closed the connection".to_owned())),
        }
    }

    async fn write(&mut self, message: Message) -> Result<(), Disconnect> {
        match timeout(self.silence, self.stream.send(message)).await {
            Ok(sent) => sent.map_err(disconnect),
            Err(_) => Err(Disconnect::Broken("the peer takes nothing".to_owned())),
        }
    }
}

fn closed(frame: Option<tungstenite::protocol::CloseFrame>) -> Disconnect {
    let Some(frame) = frame else {
        return Disconnect::Broken("the peer closed the connection".to_owned());
    };
    let text = format!("closed with {} {}", u16::from(frame.code), frame.reason.as_str());
    match u16::from(frame.code) {
        // Policy violation, and the codes of another hub for a key that it does not accept.
        1008 | 4401 | 4402 | 4403 | 4404 => Disconnect::Denied(text),
        _ => Disconnect::Broken(text),
    }
}

fn disconnect(error: Error) -> Disconnect {
    match error {
        Error::Http(response) => {
            let why = format!("answered {}", response.status().as_u16());
            match response.status() {
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Disconnect::Denied(why),
                _ => Disconnect::Broken(why),
            }
        }
        Error::Capacity(CapacityError::MessageTooLong { size, max_size }) => {
            Disconnect::Broken(format!("a message of {size} bytes is longer than {max_size}"))
        }
        error => Disconnect::Broken(format!("the connection broke: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_and_debug_contain_no_secret() {
        let headers = [("authorization".to_owned(), Secret::from("s3cret".to_owned()))];
        let url = "wss://feed.example.com:8443/live?key=s3cret";
        let address = Address::new(url, &headers).unwrap();
        assert_eq!(address.to_string(), "wss://feed.example.com:8443/live");
        assert!(!format!("{address:?}").contains("s3cret"));
        let request = address.request().unwrap();
        assert_eq!(request.uri().query(), Some("key=s3cret"));
        assert_eq!(request.headers()["authorization"], "s3cret");
        assert!(!format!("{:?}", request.headers()).contains("s3cret"));
    }

    #[test]
    fn invalid_addresses_are_rejected() {
        let check = |url: &str, name: &str, expected| {
            let headers = [(name.to_owned(), Secret::from("key".to_owned()))];
            assert_eq!(Address::new(url, &headers).unwrap_err(), expected, "{url}");
        };
        check("not an address", "x-key", AddressError::NotUrl);
        check("/live", "x-key", AddressError::Scheme);
        check("https://example.com/", "x-key", AddressError::Scheme);
        check("ws://example.com/", "x key", AddressError::Header);
    }

    #[test]
    fn an_address_knows_its_port_and_the_name_of_its_host() {
        let check = |url: &str, host: &str, port: u16| {
            let address = Address::new(url, &[]).unwrap();
            assert_eq!((address.host(), address.port()), (host, port), "{url}");
        };
        check("ws://example.com/", "example.com", 80);
        check("wss://example.com/live", "example.com", 443);
        check("wss://[::1]:9000/", "::1", 9000);
    }
}
