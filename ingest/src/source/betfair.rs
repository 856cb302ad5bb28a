//! The Betfair Exchange Stream API, live: markets by subscription, over TLS.
//!
//! The protocol is that of Betfair's stream specification (`ESASwaggerSchema.json` and the page
//! "Exchange Stream API"). A connection is authenticated, subscribes once, and is read until it
//! breaks or is silent; then another takes its place and goes on from the last position of which
//! everything was handed on (`initialClk`, `clk`), or from an image where there is none.
//!
//! What messages mean is told by [`Live`]. When it says that something was lost, an image is asked
//! for on the same connection; the second time within a minute the connection is given up, so that
//! it is the waits between connections that bound how often images are asked for.
//!
//! Neither the application key nor the session token is in anything that is told or logged. Lines
//! that do not begin as those of markets are refused without their text, because a peer that is not
//! Betfair might repeat what it was sent.
//!
//! While who listens is behind, nothing is read; Betfair then merges what it could not send.

mod connection;
mod fault;
mod request;
mod retry;
mod session;
mod settings;

use std::{convert::Infallible, sync::Arc, time::Duration};

use rustls::{ClientConfig, pki_types::ServerName};
use tokio::time::{sleep, timeout};

use self::{
    connection::{Answer, Connection},
    fault::{Code, Fault, Remedy},
    retry::Retry,
};
pub use self::{
    session::Session,
    settings::{Field, Settings, SettingsError},
};
use super::{Closed, Outlet, Report, backoff::Backoff, lines::Line, tls};
use crate::{
    decode::betfair::control::{self, Op},
    error::{DecodeError, Place, Refusal, RefusalKind},
    event::Micros,
    normalize::betfair::Live,
};

/// Follows a subscription until nobody listens any more.
///
/// # Errors
///
/// When the settings cannot be used; then nothing was tried.
pub async fn run(settings: Settings, outlet: Outlet) -> Result<(), SettingsError> {
    let mut source = Source::new(settings, &outlet)?;
    tokio::select! {
        () = outlet.closed() => {}
        Closed = source.run() => {}
    }
    Ok(())
}

struct Source<'a> {
    settings: Settings,
    host: ServerName<'static>,
    tls: Arc<ClientConfig>,
    outlet: &'a Outlet,
    live: Live,
    retry: Retry,
    /// Lines read so far, for places.
    lines: u64,
    /// When an image was asked for because something was lost.
    repaired: Option<Micros>,
}

/// How a connection ends.
enum End {
    Closed(Closed),
    Fault(Fault),
}

/// What is known of the subscription of one connection.
struct Subscription {
    id: u64,
    /// It asked for a position.
    resumes: bool,
    /// Betfair has accepted it, which was told.
    stands: bool,
}

impl<'a> Source<'a> {
    fn new(settings: Settings, outlet: &'a Outlet) -> Result<Self, SettingsError> {
        let host = settings.check()?;
        let tls = tls::client(settings.authority.as_deref())?;
        let [first, most] =
            [settings.backoff_first_ms, settings.backoff_most_ms].map(Duration::from_millis);
        let (live, retry) = (Live::default(), Retry::new(first, most));
        Ok(Self { settings, host, tls, outlet, live, retry, lines: 0, repaired: None })
    }

    async fn run(&mut self) -> Closed {
        loop {
            let fault = match self.connection().await {
                Ok(never) => match never {},
                Err(End::Closed(closed)) => return closed,
                Err(End::Fault(fault)) => fault,
            };
            let was_live = self.live.is_complete();
            // The next connection has not shown yet that it is up to date.
            self.live.disconnected();
            let remedy = fault.remedy(self.settings.session.may_change());
            if let Err(closed) = self.outlet.tell(Report::Down(reason(&fault, remedy))).await {
                return closed;
            }
            sleep(self.retry.wait(remedy, was_live, self.outlet.now())).await;
        }
    }

    /// Makes a connection and reads it to its end.
    async fn connection(&mut self) -> Result<Infallible, End> {
        let limit_ms = self.settings.connect_timeout_ms;
        let connecting = timeout(Duration::from_millis(limit_ms), self.connect());
        let mut connection = connecting.await.map_err(|_| Fault::Slow(limit_ms))??;
        self.retry.connected(self.outlet.now());
        let mut subscription = self.subscribe(&mut connection).await?;
        loop {
            self.read(&mut connection, &mut subscription).await?;
            if self.live.is_lost() {
                self.repair(&mut connection, &mut subscription).await?;
            }
        }
    }

    async fn connect(&self) -> Result<Connection, Fault> {
        let session = self.settings.session.read().await.map_err(Fault::Session)?;
        let (tls, host) = (self.tls.clone(), self.host.clone());
        let name = self.outlet.name();
        let mut connection = Connection::open(&self.settings, tls, host, name).await?;
        connection.authenticate(&self.settings.app_key, &session).await?;
        Ok(connection)
    }

    async fn subscribe(&mut self, connection: &mut Connection) -> Result<Subscription, Fault> {
        let resume = self.live.resume();
        let id = connection.subscribe(&self.settings, resume).await?;
        let resumes = resume.is_some();
        self.live.subscribe(id);
        Ok(Subscription { id, resumes, stands: false })
    }

    /// Asks for an image on the same connection, because something was lost.
    async fn repair(
        &mut self,
        connection: &mut Connection,
        subscription: &mut Subscription,
    ) -> Result<(), End> {
        let now = self.outlet.now();
        if self.repaired.is_some_and(|last| now - last < Backoff::HEALTHY_US) {
            return Err(Fault::LostAgain.into());
        }
        self.repaired = Some(now);
        let anew = self.subscribe(connection).await?;
        // That it recovers was told when the loss was found, if not before.
        *subscription = Subscription { stands: subscription.stands, ..anew };
        Ok(())
    }

    async fn read(
        &mut self,
        connection: &mut Connection,
        subscription: &mut Subscription,
    ) -> Result<(), End> {
        let line = connection.next().await.map_err(Fault::from)?;
        self.lines += 1;
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong(beginning) => {
                let limit = self.settings.message_bytes_max;
                let reason = format!("line of more than {limit} bytes");
                let error = DecodeError::new(RefusalKind::TooLong, reason);
                return Ok(self.miss(error, beginning).await?);
            }
        };
        match control::op(line) {
            Ok(Op::Markets) => {
                self.accepted(subscription).await?;
                Ok(self.outlet.message(&mut self.live, line, self.lines).await?)
            }
            Ok(Op::Status) => {
                let answer = Answer::read(line)?;
                self.answered(answer, connection, subscription).await
            }
            Ok(Op::Connection) => Ok(self.outlet.tell(Report::Heard).await?),
            Ok(Op::Other) => {
                let reason = "op is not one that was asked for";
                let error = DecodeError::new(RefusalKind::Value, reason);
                Ok(self.refuse(error, line).await?)
            }
            Err(error) => Ok(self.miss(error, line).await?),
        }
    }

    /// The subscription stands; says so the first time.
    async fn accepted(&self, subscription: &mut Subscription) -> Result<(), Closed> {
        if std::mem::replace(&mut subscription.stands, true) {
            return Ok(());
        }
        self.outlet.tell(Report::Recovering).await
    }

    async fn answered(
        &mut self,
        answer: Answer,
        connection: &mut Connection,
        subscription: &mut Subscription,
    ) -> Result<(), End> {
        let Some(code) = answer.refused else {
            let is_ours = answer.id == Some(subscription.id);
            return if is_ours { Ok(self.accepted(subscription).await?) } else { Ok(()) };
        };
        if code != Code::INVALID_CLOCK || !subscription.resumes {
            return Err(Fault::Refused(code).into());
        }
        self.live.forget_position();
        if answer.closed {
            return Err(Fault::NoResume.into());
        }
        *subscription = self.subscribe(connection).await?;
        Ok(())
    }

    /// Refuses a line in which there may have been changes.
    async fn miss(&mut self, error: DecodeError, line: &[u8]) -> Result<(), Closed> {
        self.refuse(error, line).await?;
        if self.live.miss() { self.outlet.tell(Report::Recovering).await } else { Ok(()) }
    }

    async fn refuse(&self, error: DecodeError, line: &[u8]) -> Result<(), Closed> {
        let shown = if line.starts_with(control::OF_MARKETS) { line } else { &[] };
        let place = Place { file: Arc::clone(self.outlet.name()), line: self.lines };
        self.outlet.tell(Report::Refused(Refusal::new(error, place, shown))).await
    }
}

/// Why the source is down, in the words of a report.
fn reason(fault: &Fault, remedy: Remedy) -> Arc<str> {
    match remedy {
        Remedy::AtOnce | Remedy::Wait => fault.to_string().into(),
        Remedy::WaitLong => format!("{fault}, needs operator action").into(),
    }
}

impl From<Closed> for End {
    fn from(closed: Closed) -> Self {
        Self::Closed(closed)
    }
}

impl From<Fault> for End {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}
