//! A connection to the SMTP server.
//!
//! This module sends the commands itself instead of using the library's transport, to distinguish a
//! refused recipient, which is permanent, from a refused hub.

use std::{error::Error, fmt, fs, io, path::Path, sync::Arc, time::Duration};

use lettre::{
    Message,
    transport::smtp::{
        self,
        authentication::DEFAULT_MECHANISMS,
        client::{AsyncSmtpConnection, Certificate, TlsParameters},
        commands::{Data, Mail, Rcpt},
        extension::{Extension, MailBodyParameter, MailParameter},
    },
};
use tokio::time::timeout;

use super::{
    SmtpServer,
    server::Encryption,
    transport::{DeliveryFailure, TransportUnreachable},
};

/// How long a server may take to answer QUIT.
const QUIT_TIMEOUT: Duration = Duration::from_secs(1);

/// The server and how to connect to it. Connections share it.
pub(super) struct SmtpEndpoint {
    server: SmtpServer,
    tls: TlsParameters,
    timeout: Duration,
}

/// The configured certificates cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    #[error("cannot read mail.authority")]
    Unreadable(#[from] io::Error),
    #[error("mail.authority contains no usable certificate")]
    Unusable(#[from] smtp::Error),
}

impl SmtpEndpoint {
    /// `authority`: a PEM file of certificates trusted in addition to the system's; empty for none.
    pub(super) fn new(
        server: SmtpServer,
        authority: &Path,
        timeout: Duration,
    ) -> Result<Self, AuthorityError> {
        let mut tls = TlsParameters::builder(server.host.clone());
        if !authority.as_os_str().is_empty() {
            tls = tls.add_root_certificate(Certificate::from_pem(&fs::read(authority)?)?);
        }
        Ok(Self { server, tls: tls.build()?, timeout })
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, smtp::Error> {
        let Self { server, tls, timeout } = self;
        let wrapped = (server.encryption == Encryption::Always).then(|| tls.clone());
        let address = (&*server.host, server.port);
        let mut connection = AsyncSmtpConnection::connect_tokio1(
            address,
            Some(*timeout),
            &server.hello,
            wrapped,
            None,
        )
        .await?;
        let upgrade = match server.encryption {
            Encryption::Required => true,
            Encryption::Opportunistic => connection.can_starttls(),
            Encryption::Always | Encryption::Never => false,
        };
        if upgrade {
            connection.starttls(tls.clone(), &server.hello).await?;
        }
        if let Some(credentials) = &server.credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials).await?;
        }
        Ok(connection)
    }
}

/// One connection, opened when it is needed.
pub(super) struct SmtpConnection {
    endpoint: Arc<SmtpEndpoint>,
    connection: Option<Box<AsyncSmtpConnection>>,
}

impl SmtpConnection {
    pub(super) fn new(endpoint: &Arc<SmtpEndpoint>) -> Self {
        Self { endpoint: Arc::clone(endpoint), connection: None }
    }

    /// Connects, unless already connected.
    pub(super) async fn ready(&mut self) -> Result<(), TransportUnreachable> {
        if self.connection.is_some() {
            return Ok(());
        }
        let connected = timeout(self.endpoint.timeout, self.endpoint.connect()).await;
        let connected = connected.map_err(|_| TransportUnreachable(self.too_slow()))?;
        let connection = connected.map_err(|error| TransportUnreachable(all_causes(&error)))?;
        self.connection = Some(Box::new(connection));
        Ok(())
    }

    /// Sends one mail. After any failure the connection is dropped, so that no part of this mail can be
    /// mistaken for part of the next.
    pub(super) async fn send(&mut self, message: &Message) -> Result<(), DeliveryFailure> {
        let Some(mut connection) = self.connection.take() else {
            return Err(DeliveryFailure::internal(true, "there was no connection"));
        };
        match timeout(self.endpoint.timeout, hand_over(&mut connection, message)).await {
            Ok(Ok(())) => {
                self.connection = Some(connection);
                Ok(())
            }
            Ok(Err(failure)) => {
                quit(&mut connection).await;
                Err(failure)
            }
            Err(_) => Err(DeliveryFailure::internal(true, self.too_slow())),
        }
    }

    pub(super) async fn close(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            quit(&mut connection).await;
        }
    }

    fn too_slow(&self) -> String {
        format!("no answer within {} ms", self.endpoint.timeout.as_millis())
    }
}

impl fmt::Debug for SmtpConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmtpConnection")
            .field("server", &self.endpoint.server)
            .finish_non_exhaustive()
    }
}

async fn quit(connection: &mut AsyncSmtpConnection) {
    // Nothing depends on the answer.
    timeout(QUIT_TIMEOUT, connection.abort()).await.ok();
}

async fn hand_over(
    connection: &mut AsyncSmtpConnection,
    message: &Message,
) -> Result<(), DeliveryFailure> {
    let envelope = message.envelope();
    let bytes = message.formatted();
    let mut options = Vec::new();
    let plain =
        bytes.is_ascii() && envelope.to().iter().all(|to| AsRef::<str>::as_ref(to).is_ascii());
    if !plain {
        if !connection.server_info().supports_feature(Extension::SmtpUtfEight) {
            let text = "the server takes no address outside ASCII (no SMTPUTF8)";
            return Err(DeliveryFailure::internal(false, text));
        }
        options.push(MailParameter::SmtpUtfEight);
        options.push(MailParameter::Body(MailBodyParameter::EightBitMime));
    }
    let sender = envelope.from().cloned();
    // A refusal here concerns the hub, and can be fixed in its settings.
    connection.command(Mail::new(sender, options)).await.map_err(|it| refused(&it, true))?;
    for recipient in envelope.to() {
        let recipient = Rcpt::new(recipient.clone(), Vec::new());
        connection.command(recipient).await.map_err(|it| refused(&it, !it.is_permanent()))?;
    }
    connection.command(Data).await.map_err(|it| refused(&it, !it.is_permanent()))?;
    connection.message(&bytes).await.map_err(|it| refused(&it, !it.is_permanent()))?;
    Ok(())
}

fn refused(error: &smtp::Error, retryable: bool) -> DeliveryFailure {
    let detail = all_causes(error);
    // A server's reply often repeats the address.
    let log_detail = match error.status() {
        Some(code) => format!("the server answered {code}"),
        None => detail.clone(),
    };
    DeliveryFailure { retryable, detail, log_detail }
}

fn all_causes(error: &smtp::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    text
}
