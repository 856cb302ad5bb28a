//! The Betfair Exchange Stream API, live: markets by subscription, over TLS.
//!
//! The protocol is that of Betfair's stream specification (`ESASwaggerSchema.json` and the page
//! "Exchange Stream API"). A connection is authenticated, subscribes once, and is read until it
//! breaks or is silent. The next one resumes from the last position whose messages were all passed on
//! (`initialClk`, `clk`), or starts with an image if there is none.
//!
//! [`Live`] interprets the messages. When it reports a loss, an image is requested on the same
//! connection. After a second loss within a minute the connection is closed instead, so that the
//! back-off between connections limits how often images are requested.
//!
//! Neither the application key nor the session token appears in a report or a log line. Lines that
//! do not begin like market messages are refused without their text, because a peer that is not
//! Betfair might echo what it was sent.
//!
//! The stream has no names. They are requested from the catalogue for markets that have none, and interpreted as another
//! message.
//!
//! Nothing is read while the queue of the hub is full; Betfair then conflates what it could not send.

mod catalogue;
mod connection;
mod error;
mod request;
mod retry;
mod session;
mod settings;

use std::{convert::Infallible, sync::Arc, time::Duration};

use facts::event::Micros;
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::time::{sleep, timeout};

use self::{
    catalogue::Catalogue,
    connection::{StatusReply, StreamConnection},
    error::{ConnectionError, ErrorCode, Remedy},
    retry::RetryTimer,
};
pub use self::{
    session::Session,
    settings::{BetfairSettings, Field, SettingsError},
};
use crate::{SourceSender, lines::BoundedLine};
use base::{backoff::Backoff, clock::now, tls};
use hub::{feeds::FeedState, pipeline::HubStopped};
use ingest::{
    decode::betfair::{
        catalogue as catalogue_decode,
        control::{self, Op},
    },
    error::{DecodeError, RefusalKind},
    normalize::betfair::Live,
};

/// Follows a subscription until the hub has stopped.
///
/// # Errors
///
/// When the settings are invalid. No connection is attempted then.
pub async fn run(settings: BetfairSettings, sender: SourceSender) -> Result<(), SettingsError> {
    let mut source = BetfairSource::new(settings, &sender)?;
    tokio::select! {
        () = sender.closed() => {}
        HubStopped = source.run() => {}
    }
    Ok(())
}

struct BetfairSource<'a> {
    settings: BetfairSettings,
    host: ServerName<'static>,
    tls: Arc<ClientConfig>,
    sender: &'a SourceSender,
    live: Live,
    retry: RetryTimer,
    /// `None` if names are not wanted.
    catalogue: Option<Catalogue>,
    /// Lines read so far, for the place in a refusal.
    lines: u64,
    /// When an image was last requested because of a loss.
    image_requested: Option<Micros>,
}

/// Why a connection ended.
enum StopReason {
    Closed(HubStopped),
    Connection(ConnectionError),
}

/// The subscription of one connection.
struct MarketSubscription {
    id: u64,
    /// It was requested from a position.
    resumes: bool,
    /// Betfair has accepted it, and that was reported.
    accepted: bool,
}

impl<'a> BetfairSource<'a> {
    fn new(settings: BetfairSettings, sender: &'a SourceSender) -> Result<Self, SettingsError> {
        let host = settings.check()?;
        let tls = tls::client(settings.authority.as_deref())?;
        let [first, most] =
            [settings.backoff_first_ms, settings.backoff_most_ms].map(Duration::from_millis);
        let (live, retry) = (Live::default(), RetryTimer::new(first, most));
        let catalogue = catalogue::start(&settings, &tls, sender.name());
        let (lines, image_requested) = (0, None);
        Ok(Self { settings, host, tls, sender, live, retry, catalogue, lines, image_requested })
    }

    async fn run(&mut self) -> HubStopped {
        loop {
            let error = match self.connection().await {
                Ok(never) => match never {},
                Err(StopReason::Closed(closed)) => return closed,
                Err(StopReason::Connection(error)) => error,
            };
            let was_live = self.live.is_complete();
            // The next connection is not known to be up to date yet.
            self.live.disconnected();
            let remedy = error.remedy(self.settings.session.may_change());
            if let Err(closed) = self.sender.down(reason(&error, remedy)).await {
                return closed;
            }
            sleep(self.retry.wait(remedy, was_live, now())).await;
        }
    }

    /// Connects, and reads until the connection ends.
    async fn connection(&mut self) -> Result<Infallible, StopReason> {
        let limit_ms = self.settings.connect_timeout_ms;
        let connecting = timeout(Duration::from_millis(limit_ms), self.connect());
        let mut connection = connecting.await.map_err(|_| ConnectionError::Slow(limit_ms))??;
        self.retry.connected(now());
        let mut subscription = self.subscribe(&mut connection).await?;
        loop {
            self.read(&mut connection, &mut subscription).await?;
            if self.live.is_lost() {
                self.repair(&mut connection, &mut subscription).await?;
            }
            self.take_names().await?;
            self.request_names();
        }
    }

    /// Takes the names that have been received.
    async fn take_names(&mut self) -> Result<(), HubStopped> {
        let answer = self.catalogue.as_mut().and_then(Catalogue::try_answer);
        let Some(answer) = answer else { return Ok(()) };
        self.lines += 1;
        if catalogue_decode::is_catalogue(&answer) {
            self.sender.message(&mut self.live, &answer, self.lines).await
        } else {
            // It may repeat what was sent.
            let error = DecodeError::new(RefusalKind::Value, "the catalogue is no list");
            self.refuse(error, &[]).await
        }
    }

    /// Requests the names of markets that have none, once the image is complete.
    fn request_names(&mut self) {
        let Some(catalogue) = &self.catalogue else { return };
        if let Some(permit) = catalogue.permit().filter(|_| self.live.is_complete()) {
            let markets = self.live.unnamed(catalogue::MARKETS_MAX, now());
            if !markets.is_empty() {
                permit.send(markets);
            }
        }
    }

    async fn connect(&self) -> Result<StreamConnection, ConnectionError> {
        let session = self.settings.session.read().await.map_err(ConnectionError::Session)?;
        let (tls, host) = (self.tls.clone(), self.host.clone());
        let name = self.sender.name();
        let mut connection = StreamConnection::open(&self.settings, tls, host, name).await?;
        connection.authenticate(&self.settings.app_key, &session).await?;
        Ok(connection)
    }

    async fn subscribe(
        &mut self,
        connection: &mut StreamConnection,
    ) -> Result<MarketSubscription, ConnectionError> {
        let resume = self.live.resume();
        let id = connection.subscribe(&self.settings, resume).await?;
        let resumes = resume.is_some();
        self.live.subscribe(id);
        Ok(MarketSubscription { id, resumes, accepted: false })
    }

    /// Requests an image on the same connection after a loss.
    async fn repair(
        &mut self,
        connection: &mut StreamConnection,
        subscription: &mut MarketSubscription,
    ) -> Result<(), StopReason> {
        let now = now();
        if self.image_requested.is_some_and(|last| now - last < Backoff::HEALTHY_US) {
            return Err(ConnectionError::LostAgain.into());
        }
        self.image_requested = Some(now);
        let renewed = self.subscribe(connection).await?;
        // `Recovering` was reported when the loss was found, if not before.
        *subscription = MarketSubscription { accepted: subscription.accepted, ..renewed };
        Ok(())
    }

    async fn read(
        &mut self,
        connection: &mut StreamConnection,
        subscription: &mut MarketSubscription,
    ) -> Result<(), StopReason> {
        let line = connection.next().await.map_err(ConnectionError::from)?;
        self.lines += 1;
        let line = match line {
            BoundedLine::Whole(line) => line,
            BoundedLine::TooLong(beginning) => {
                let limit = self.settings.message_bytes_max;
                let reason = format!("line of more than {limit} bytes");
                let error = DecodeError::new(RefusalKind::TooLong, reason);
                return Ok(self.miss(error, beginning).await?);
            }
        };
        match control::op(line) {
            Ok(Op::Markets) => {
                self.report_accepted(subscription).await?;
                Ok(self.sender.message(&mut self.live, line, self.lines).await?)
            }
            Ok(Op::Status) => {
                let status = StatusReply::read(line)?;
                self.handle_status(status, connection, subscription).await
            }
            Ok(Op::Connection) => Ok(self.sender.alive().await?),
            Ok(Op::Other) => {
                let reason = "op is not one that was requested";
                let error = DecodeError::new(RefusalKind::Value, reason);
                Ok(self.refuse(error, line).await?)
            }
            Err(error) => Ok(self.miss(error, line).await?),
        }
    }

    /// Reports `Recovering` when the subscription is accepted, the first time only.
    async fn report_accepted(
        &self,
        subscription: &mut MarketSubscription,
    ) -> Result<(), HubStopped> {
        if std::mem::replace(&mut subscription.accepted, true) {
            return Ok(());
        }
        self.sender.state(FeedState::Recovering).await
    }

    async fn handle_status(
        &mut self,
        status: StatusReply,
        connection: &mut StreamConnection,
        subscription: &mut MarketSubscription,
    ) -> Result<(), StopReason> {
        let Some(code) = status.error_code else {
            let is_current = status.id == Some(subscription.id);
            return if is_current { Ok(self.report_accepted(subscription).await?) } else { Ok(()) };
        };
        if code != ErrorCode::INVALID_CLOCK || !subscription.resumes {
            return Err(ConnectionError::Refused(code).into());
        }
        self.live.forget_position();
        if status.closed {
            return Err(ConnectionError::NoResume.into());
        }
        *subscription = self.subscribe(connection).await?;
        Ok(())
    }

    /// Refuses a line that may have contained changes.
    async fn miss(&mut self, error: DecodeError, line: &[u8]) -> Result<(), HubStopped> {
        self.refuse(error, line).await?;
        if self.live.miss() { self.sender.state(FeedState::Recovering).await } else { Ok(()) }
    }

    async fn refuse(&self, error: DecodeError, line: &[u8]) -> Result<(), HubStopped> {
        let text = if line.starts_with(control::OF_MARKETS) { line } else { &[] };
        self.sender.refuse(error, self.lines, text).await
    }
}

/// The reason in a `Down` report.
fn reason(error: &ConnectionError, remedy: Remedy) -> Arc<str> {
    match remedy {
        Remedy::AtOnce | Remedy::Wait => error.to_string().into(),
        Remedy::WaitLong => format!("{error}, needs operator action").into(),
    }
}

impl From<HubStopped> for StopReason {
    fn from(closed: HubStopped) -> Self {
        Self::Closed(closed)
    }
}

impl From<ConnectionError> for StopReason {
    fn from(error: ConnectionError) -> Self {
        Self::Connection(error)
    }
}
