//! A connection to the server that takes mail.
//!
//! The conversation is led here, command by command, and not by the library's own transport: only so
//! is it known whether a server refuses the recipient, who will not become another one, or us.

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
    carrier::{Undelivered, Unreachable},
    server::Encryption,
};

/// How long a server may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

/// The way to the server. Connections share it.
pub(super) struct Line {
    server: SmtpServer,
    tls: TlsParameters,
    timeout: Duration,
}

/// The certificates that are to be trusted cannot be.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    #[error("mail.authority cannot be read")]
    Unreadable(#[from] io::Error),
    #[error("mail.authority has no certificate that can be used")]
    Unusable(#[from] smtp::Error),
}

impl Line {
    /// `authority`: certificates, PEM, that are trusted besides the system's; empty for none.
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

/// One connection, made when it is needed.
pub(super) struct Smtp {
    line: Arc<Line>,
    connection: Option<Box<AsyncSmtpConnection>>,
}

impl Smtp {
    pub(super) fn on(line: &Arc<Line>) -> Self {
        Self { line: Arc::clone(line), connection: None }
    }

    /// Connects, unless it is connected.
    pub(super) async fn ready(&mut self) -> Result<(), Unreachable> {
        if self.connection.is_some() {
            return Ok(());
        }
        let connected = timeout(self.line.timeout, self.line.connect()).await;
        let connected = connected.map_err(|_| Unreachable(self.too_slow()))?;
        let connection = connected.map_err(|error| Unreachable(all_causes(&error)))?;
        self.connection = Some(Box::new(connection));
        Ok(())
    }

    /// Hands one mail over. After any failure the connection is given up, so that nothing of the one
    /// mail is taken for a part of the next.
    pub(super) async fn carry(&mut self, message: &Message) -> Result<(), Undelivered> {
        let Some(mut connection) = self.connection.take() else {
            return Err(Undelivered::of_ours(true, "there was no connection"));
        };
        match timeout(self.line.timeout, hand_over(&mut connection, message)).await {
            Ok(Ok(())) => {
                self.connection = Some(connection);
                Ok(())
            }
            Ok(Err(undelivered)) => {
                goodbye(&mut connection).await;
                Err(undelivered)
            }
            Err(_) => Err(Undelivered::of_ours(true, self.too_slow())),
        }
    }

    pub(super) async fn leave(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            goodbye(&mut connection).await;
        }
    }

    fn too_slow(&self) -> String {
        format!("no answer within {} ms", self.line.timeout.as_millis())
    }
}

impl fmt::Debug for Smtp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Smtp").field("server", &self.line.server).finish_non_exhaustive()
    }
}

async fn goodbye(connection: &mut AsyncSmtpConnection) {
    // Nothing depends on the answer.
    timeout(GOODBYE, connection.abort()).await.ok();
}

async fn hand_over(
    connection: &mut AsyncSmtpConnection,
    message: &Message,
) -> Result<(), Undelivered> {
    let envelope = message.envelope();
    let bytes = message.formatted();
    let mut options = Vec::new();
    let plain =
        bytes.is_ascii() && envelope.to().iter().all(|to| AsRef::<str>::as_ref(to).is_ascii());
    if !plain {
        if !connection.server_info().supports_feature(Extension::SmtpUtfEight) {
            let text = "the server takes no address outside ASCII (no SMTPUTF8)";
            return Err(Undelivered::of_ours(false, text));
        }
        options.push(MailParameter::SmtpUtfEight);
        options.push(MailParameter::Body(MailBodyParameter::EightBitMime));
    }
    let sender = envelope.from().cloned();
    // Whom it refuses here is us, and that can be mended.
    connection.command(Mail::new(sender, options)).await.map_err(|it| refused(&it, true))?;
    for recipient in envelope.to() {
        let recipient = Rcpt::new(recipient.clone(), Vec::new());
        connection.command(recipient).await.map_err(|it| refused(&it, !it.is_permanent()))?;
    }
    connection.command(Data).await.map_err(|it| refused(&it, !it.is_permanent()))?;
    connection.message(&bytes).await.map_err(|it| refused(&it, !it.is_permanent()))?;
    Ok(())
}

fn refused(error: &smtp::Error, again: bool) -> Undelivered {
    let full = all_causes(error);
    // What a server says often repeats the address.
    let plain = match error.status() {
        Some(code) => format!("the server answered {code}"),
        None => full.clone(),
    };
    Undelivered { again, full, plain }
}

fn all_causes(error: &smtp::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}
