//! How an email leaves: to an SMTP server, or into a folder.

use lettre::Message;

use super::{folder::MailFolder, smtp::SmtpConnection};

#[derive(Debug)]
pub(super) enum Transport {
    Smtp(SmtpConnection),
    Folder(MailFolder),
}

/// An email that is ready to be sent.
#[derive(Debug)]
pub(super) struct OutgoingEmail {
    /// The row's id and kind, for the name of a file.
    pub(super) name: String,
    pub(super) message: Message,
    pub(super) link: Option<String>,
}

/// No mail can be sent at present. The text names no customer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct TransportUnreachable(pub(super) String);

/// Why a mail was not delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeliveryFailure {
    pub(super) retryable: bool,
    /// For the mail's row: the full error.
    pub(super) detail: String,
    /// For the log: without the server's text, which may name a customer.
    pub(super) log_detail: String,
}

impl DeliveryFailure {
    /// A failure on this side, whose text names no customer.
    pub(super) fn internal(retryable: bool, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { retryable, detail: text.clone(), log_detail: text }
    }
}

impl Transport {
    /// Makes sure that a mail can be sent now.
    pub(super) async fn ready(&mut self) -> Result<(), TransportUnreachable> {
        match self {
            Self::Smtp(smtp) => smtp.ready().await,
            Self::Folder(folder) => folder.ready(),
        }
    }

    pub(super) async fn send(&mut self, email: &OutgoingEmail) -> Result<(), DeliveryFailure> {
        match self {
            Self::Smtp(smtp) => smtp.send(&email.message).await,
            Self::Folder(folder) => folder.send(email),
        }
    }

    /// Releases the connection: there is nothing more to send for now.
    pub(super) async fn idle(&mut self) {
        match self {
            Self::Smtp(smtp) => smtp.close().await,
            Self::Folder(_) => {}
        }
    }
}
