//! One TLS connection to Betfair: made, greeted, authenticated, subscribed.
//!
//! The stream's own order: `connection` comes first, then each request is answered by a `status` of
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
    fault::{Code, Fault},
    request,
    settings::Settings,
};
use crate::{
    decode::betfair::{
        control::{self, Op},
        quoted,
    },
    source::{
        lines::{Line, Lines, ReadError},
        secret::Secret,
    },
};

pub(super) struct Connection {
    lines: Lines<TlsStream<TcpStream>>,
    /// The id of the last request.
    request: u64,
    silence: Duration,
}

/// What Betfair says to a request, or at the end.
pub(super) struct Answer {
    pub(super) id: Option<u64>,
    pub(super) refused: Option<Code>,
    /// The connection is at its end.
    pub(super) closed: bool,
}

impl Connection {
    /// Connects and waits for the greeting. `name` is the source's, for the log.
    pub(super) async fn open(
        settings: &Settings,
        tls: Arc<ClientConfig>,
        host: ServerName<'static>,
        name: &str,
    ) -> Result<Self, Fault> {
        let address = (settings.host.as_str(), settings.port);
        let tcp = TcpStream::connect(address).await.map_err(Fault::Connect)?;
        tcp.set_nodelay(true).map_err(Fault::Connect)?;
        let stream = TlsConnector::from(tls).connect(host, tcp).await.map_err(Fault::Connect)?;
        let silence = Duration::from_millis(settings.silence_ms);
        let lines = Lines::new(stream, settings.message_bytes_max, silence);
        let mut connection = Self { lines, request: 0, silence };
        connection.greeting(name).await?;
        Ok(connection)
    }

    async fn greeting(&mut self, name: &str) -> Result<(), Fault> {
        let Line::Whole(line) = self.lines.next().await? else { return Err(Fault::Strange) };
        match control::op(line) {
            Ok(Op::Connection) => {
                let greeting = control::connection(line).map_err(|_| Fault::Strange)?;
                let id = greeting.connection_id.unwrap_or_default();
                // Betfair's support asks for it.
                tracing::info!(source = name, connection_id = &*quoted(&id), "connected");
                Ok(())
            }
            Ok(Op::Status) => {
                Err(Answer::read(line)?.refused.map_or(Fault::Strange, Fault::Refused))
            }
            Ok(Op::Markets | Op::Other) | Err(_) => Err(Fault::Strange),
        }
    }

    pub(super) async fn authenticate(
        &mut self,
        app_key: &Secret,
        session: &Secret,
    ) -> Result<(), Fault> {
        self.request += 1;
        let request = request::authentication(self.request, app_key, session);
        self.send(&request).await?;
        let Line::Whole(line) = self.lines.next().await? else { return Err(Fault::Strange) };
        if control::op(line) != Ok(Op::Status) {
            return Err(Fault::Strange);
        }
        match Answer::read(line)? {
            Answer { refused: Some(code), .. } => Err(Fault::Refused(code)),
            Answer { id, refused: None, .. } if id == Some(self.request) => Ok(()),
            Answer { .. } => Err(Fault::Strange),
        }
    }

    /// Asks for the markets, from a position or from an image on. Gives the request's id, which the
    /// answer and all messages of the subscription carry.
    pub(super) async fn subscribe(
        &mut self,
        settings: &Settings,
        resume: Option<[&str; 2]>,
    ) -> Result<u64, Fault> {
        self.request += 1;
        let request = request::subscription(self.request, settings, resume);
        self.send(&request).await?;
        Ok(self.request)
    }

    pub(super) async fn next(&mut self) -> Result<Line<'_>, ReadError> {
        self.lines.next().await
    }

    async fn send(&mut self, request: &[u8]) -> Result<(), Fault> {
        let stream = self.lines.stream();
        let sending = async {
            stream.write_all(request).await?;
            stream.flush().await
        };
        let sent = timeout(self.silence, sending).await;
        sent.map_err(|_| ReadError::Silent(self.silence))?.map_err(Fault::Write)
    }
}

impl Answer {
    pub(super) fn read(line: &[u8]) -> Result<Self, Fault> {
        let status = control::status(line).map_err(|_| Fault::Strange)?;
        let refused = (!status.success).then(|| Code::of(status.error_code.as_deref()));
        Ok(Self { id: status.id, refused, closed: status.connection_closed })
    }
}
