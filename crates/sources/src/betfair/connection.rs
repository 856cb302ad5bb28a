//! One TLS connection to Betfair: connect, wait for the greeting, authenticate, subscribe.
//!
//! The order of the stream: `connection` comes first, each request is answered by a `status` with
//! its id, and messages carry the id of the request that subscribed.

use std::sync::Arc;

use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    time::{Duration, timeout},
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::{
    error::{ConnectionError, ErrorCode},
    request,
    settings::BetfairSettings,
};
use crate::lines::{AsyncLineReader, BoundedLine, ReadError};
use base::secret::Secret;
use ingest::decode::betfair::{
    control::{self, Op},
    quoted,
};

pub(super) struct StreamConnection {
    lines: AsyncLineReader<TlsStream<TcpStream>>,
    /// The id of the last request.
    request: u64,
    silence: Duration,
}

/// A `status` message: the reply to a request, or the notice that the connection ends.
pub(super) struct StatusReply {
    pub(super) id: Option<u64>,
    pub(super) error_code: Option<ErrorCode>,
    /// Betfair closes the connection.
    pub(super) closed: bool,
}

impl StreamConnection {
    /// Connects and waits for the greeting. `name` is the name of the source, for the log.
    pub(super) async fn open(
        settings: &BetfairSettings,
        tls: Arc<ClientConfig>,
        host: ServerName<'static>,
        name: &str,
    ) -> Result<Self, ConnectionError> {
        let address = (settings.host.as_str(), settings.port);
        let tcp = TcpStream::connect(address).await.map_err(ConnectionError::Connect)?;
        tcp.set_nodelay(true).map_err(ConnectionError::Connect)?;
        let stream =
            TlsConnector::from(tls).connect(host, tcp).await.map_err(ConnectionError::Connect)?;
        let silence = Duration::from_millis(settings.silence_ms);
        let lines = AsyncLineReader::new(stream, settings.message_bytes_max, silence);
        let mut connection = Self { lines, request: 0, silence };
        connection.read_greeting(name).await?;
        Ok(connection)
    }

    async fn read_greeting(&mut self, name: &str) -> Result<(), ConnectionError> {
        let BoundedLine::Whole(line) = self.lines.next().await? else {
            return Err(ConnectionError::UnexpectedReply);
        };
        match control::op(line) {
            Ok(Op::Connection) => {
                let greeting =
                    control::connection(line).map_err(|_| ConnectionError::UnexpectedReply)?;
                let id = greeting.connection_id.unwrap_or_default();
                // Betfair's support requests this id.
                tracing::info!(source = name, connection_id = &*quoted(&id), "connected");
                Ok(())
            }
            Ok(Op::Status) => Err(StatusReply::read(line)?
                .error_code
                .map_or(ConnectionError::UnexpectedReply, ConnectionError::Refused)),
            Ok(Op::Markets | Op::Other) | Err(_) => Err(ConnectionError::UnexpectedReply),
        }
    }

    pub(super) async fn authenticate(
        &mut self,
        app_key: &Secret,
        session: &Secret,
    ) -> Result<(), ConnectionError> {
        self.request += 1;
        let request = request::authentication(self.request, app_key, session);
        self.send(&request).await?;
        let BoundedLine::Whole(line) = self.lines.next().await? else {
            return Err(ConnectionError::UnexpectedReply);
        };
        if control::op(line) != Ok(Op::Status) {
            return Err(ConnectionError::UnexpectedReply);
        }
        match StatusReply::read(line)? {
            StatusReply { error_code: Some(code), .. } => Err(ConnectionError::Refused(code)),
            StatusReply { id, error_code: None, .. } if id == Some(self.request) => Ok(()),
            StatusReply { .. } => Err(ConnectionError::UnexpectedReply),
        }
    }

    /// Subscribes to the markets, from a position or starting with an image. Returns the request's
    /// id, which the reply and all messages of the subscription carry.
    pub(super) async fn subscribe(
        &mut self,
        settings: &BetfairSettings,
        resume: Option<[&str; 2]>,
    ) -> Result<u64, ConnectionError> {
        self.request += 1;
        let request = request::subscription(self.request, settings, resume);
        self.send(&request).await?;
        Ok(self.request)
    }

    pub(super) async fn next(&mut self) -> Result<BoundedLine<'_>, ReadError> {
        self.lines.next().await
    }

    async fn send(&mut self, request: &[u8]) -> Result<(), ConnectionError> {
        let stream = self.lines.stream();
        let sending = async {
            stream.write_all(request).await?;
            stream.flush().await
        };
        let sent = timeout(self.silence, sending).await;
        sent.map_err(|_| ReadError::Silent(self.silence))?.map_err(ConnectionError::Write)
    }
}

impl StatusReply {
    pub(super) fn read(line: &[u8]) -> Result<Self, ConnectionError> {
        let status = control::status(line).map_err(|_| ConnectionError::UnexpectedReply)?;
        let error_code =
            (!status.success).then(|| ErrorCode::from_code(status.error_code.as_deref()));
        Ok(Self { id: status.id, error_code, closed: status.connection_closed })
    }
}
