//! Mail to customers: the outbox, the text of each email, and how it is sent.
//!
//! A mail is a row, written with [`enqueue`] in the transaction that causes it, so that neither exists
//! without the other. The text is rendered when the mail is sent, so no link is stored in the database.
//! A mail is sent at least once: a process that ends after the server accepted a mail, but before it
//! recorded this, sends the mail again under the same `Message-ID`.
//!
//! In reading order: [`MailKind`], `outbox`, `render`, then `worker`, which sends mails over a
//! `transport`: `smtp` to a [`SmtpServer`], or a `folder`.

mod folder;
mod kind;
mod outbox;
mod render;
mod sender;
mod server;
mod smtp;
#[expect(
    unused_qualifications,
    clippy::let_underscore_must_use,
    reason = "the derive of the templates generates such code"
)]
mod text;
mod transport;
mod worker;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use base::{backoff::BackoffPolicy, config::SecretError};
use tokio::{sync::watch, task::JoinHandle};
use tracing::warn;

use self::{
    folder::MailFolder,
    outbox::Outbox,
    smtp::{SmtpConnection, SmtpEndpoint},
    transport::Transport,
    worker::{DeliveryPolicy, MailWorker},
};
pub use self::{
    kind::{MailKind, UnknownMail},
    outbox::{delete_for_address, enqueue, enqueue_for_account, enqueue_receipt},
    sender::Sender,
    server::{SmtpServer, SmtpUrlError},
    smtp::AuthorityError,
};
use crate::{
    accounts::{Micros, Result},
    config::MailConfig,
};
use database::Database;

/// Why mail cannot be sent with these settings.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    #[error("mail.smtp_url: a secret is missing")]
    Secret(#[from] SecretError),
    #[error("mail.smtp_url cannot be used")]
    Server(#[from] SmtpUrlError),
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    #[error("mail.from is not an address")]
    Sender,
}

/// Dependencies of a mail worker other than the settings.
#[derive(Debug, Clone)]
pub struct MailContext {
    pub database: Database,
    /// The URL of the site, without a trailing slash.
    pub site: String,
    /// The demo's folder: receives the mails if the settings name no destination. Their links are
    /// printed on the standard output.
    pub demo_folder: Option<PathBuf>,
    pub clock: fn() -> Micros,
}

/// Starts sending the mails of the outbox, until `stopped` turns true. A mail in flight is finished
/// then, which takes `mail.timeout_ms` at most. `link` returns the text of a link by its id, or `None`
/// if the link no longer exists.
///
/// # Errors
///
/// If a secret or a certificate of the settings cannot be loaded.
pub fn start<L, F>(
    config: &MailConfig,
    context: MailContext,
    link: L,
    stopped: &watch::Receiver<bool>,
) -> Result<Vec<JoinHandle<()>>, MailError>
where
    L: Fn(i64) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Option<String>>> + Send + 'static,
{
    let transports = transports(config, context.demo_folder)?;
    if transports.is_empty() {
        warn!("mail waits in the database: neither mail.smtp_url nor mail.folder is set");
    }
    let worker = MailWorker {
        outbox: Outbox::new(context.database),
        policy: policy(config),
        sender: Sender::new(&config.from, &config.from_name).ok_or(MailError::Sender)?,
        site: context.site,
        link,
        clock: context.clock,
        reached: AtomicBool::new(true),
    };
    Ok(worker.start(transports, stopped))
}

/// Checks what [`start`] needs of the settings.
///
/// # Errors
///
/// As [`start`].
pub fn check(config: &MailConfig) -> Result<(), MailError> {
    transports(config, None)?;
    Sender::new(&config.from, &config.from_name).ok_or(MailError::Sender).map(drop)
}

/// One transport for each connection; none if no destination is configured.
fn transports(
    config: &MailConfig,
    demo_folder: Option<PathBuf>,
) -> Result<Vec<Transport>, MailError> {
    if !config.smtp_url.is_empty() {
        let server = SmtpServer::parse(config.smtp_url.resolve()?.expose())?;
        let timeout = Duration::from_millis(config.timeout_ms);
        let endpoint = Arc::new(SmtpEndpoint::new(server, &config.authority, timeout)?);
        return Ok((0..config.connections)
            .map(|_| Transport::Smtp(SmtpConnection::new(&endpoint)))
            .collect());
    }
    let set = (!config.folder.as_os_str().is_empty()).then(|| config.folder.clone());
    let folder = match (set, demo_folder) {
        (Some(path), _) => MailFolder { path, printed: false },
        (None, Some(path)) => MailFolder { path, printed: true },
        (None, None) => return Ok(Vec::new()),
    };
    Ok(vec![Transport::Folder(folder)])
}

/// The folder of the demo's mails, next to its database.
#[must_use]
pub fn demo_folder_for(db: &Path) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(".mails");
    name.into()
}

fn policy(config: &MailConfig) -> DeliveryPolicy {
    let timeout_us =
        Micros::try_from(config.timeout_ms).unwrap_or(Micros::MAX).saturating_mul(1_000);
    DeliveryPolicy {
        batch: config.batch,
        poll: Duration::from_millis(config.poll_ms),
        attempts_max: config.attempts_max,
        retry: BackoffPolicy {
            first: Duration::from_millis(config.retry_ms),
            max: Duration::from_millis(config.retry_max_ms),
        },
        // Longer than an attempt, even if the clock is set forward a little.
        claim_us: timeout_us.saturating_mul(2).saturating_add(60_000_000),
        keep_us: worker::days(config.keep_days),
    }
}

#[cfg(test)]
mod tests;
