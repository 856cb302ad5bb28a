//! Mail to customers: what waits to be sent, how it reads, and how it leaves.
//!
//! A mail is a row, written with [`enqueue`] in the transaction of what causes it, so that neither is
//! there without the other. What it says is made when it is sent: no link lies in the database. It is
//! sent at least once: a program that ends between a server's word for a mail and the note of it sends
//! the mail again, under the same `Message-ID`.
//!
//! In reading order: [`MailKind`], `outbox`, `letter`, then `postman`, who has mails carried by a
//! `carrier`: `smtp` to a [`SmtpServer`], or a `folder`.

mod backoff;
mod carrier;
mod folder;
mod kind;
mod letter;
mod outbox;
mod postman;
mod sender;
mod server;
mod smtp;
#[expect(
    unused_qualifications,
    clippy::let_underscore_must_use,
    reason = "what derives the templates writes so"
)]
mod text;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use tokio::{sync::watch, task::JoinHandle};
use tracing::warn;

use self::{
    backoff::Backoff,
    carrier::Carrier,
    folder::Folder,
    outbox::Outbox,
    postman::{Postman, Terms},
    smtp::{Line, Smtp},
};
pub use self::{
    kind::{MailKind, UnknownMail},
    outbox::{enqueue, forget},
    sender::Sender,
    server::{SmtpServer, WrongSmtpUrl},
    smtp::AuthorityError,
};
use crate::{
    accounts::{AccountsError, Micros},
    config::{MailConfig, secret::SecretError},
    database::Database,
};

/// Why mail cannot be sent with these settings.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    #[error("mail.smtp_url: a secret is missing")]
    Secret(#[from] SecretError),
    #[error("mail.smtp_url cannot be used")]
    Server(#[from] WrongSmtpUrl),
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    #[error("mail.from is no address")]
    Sender,
}

/// What the program adds to the settings.
#[derive(Debug, Clone)]
pub struct Office {
    pub database: Database,
    /// Where the pages are, without a slash at the end.
    pub site: String,
    /// Where mails go if the settings name nothing, and their links to the standard output: the
    /// demo's folder.
    pub demo_folder: Option<PathBuf>,
    pub clock: fn() -> Micros,
}

/// Starts to send what is in the outbox, until told to stop. What is under way then is finished, which
/// takes `mail.timeout_ms` at most. `link` tells the text of a link by its number, or that it is gone.
///
/// # Errors
///
/// If a secret or a certificate of the settings cannot be had.
pub fn start<L, F>(
    config: &MailConfig,
    office: Office,
    link: L,
    stopped: &watch::Receiver<bool>,
) -> Result<Vec<JoinHandle<()>>, MailError>
where
    L: Fn(i64) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Option<String>, AccountsError>> + Send + 'static,
{
    let carriers = carriers(config, office.demo_folder)?;
    if carriers.is_empty() {
        warn!("mail waits in the database: neither mail.smtp_url nor mail.folder is set");
    }
    let postman = Postman {
        outbox: Outbox::new(office.database),
        terms: terms(config),
        sender: Sender::new(&config.from, &config.from_name).ok_or(MailError::Sender)?,
        site: office.site,
        link,
        clock: office.clock,
        reached: AtomicBool::new(true),
    };
    Ok(postman.start(carriers, stopped))
}

/// One for each connection; none if mail can go nowhere.
fn carriers(config: &MailConfig, demo_folder: Option<PathBuf>) -> Result<Vec<Carrier>, MailError> {
    if !config.smtp_url.is_empty() {
        let server = SmtpServer::parse(config.smtp_url.resolve()?.expose())?;
        let timeout = Duration::from_millis(config.timeout_ms);
        let line = Arc::new(Line::new(server, &config.authority, timeout)?);
        return Ok((0..config.connections).map(|_| Carrier::Smtp(Smtp::on(&line))).collect());
    }
    let set = (!config.folder.as_os_str().is_empty()).then(|| config.folder.clone());
    let folder = match (set, demo_folder) {
        (Some(path), _) => Folder { path, printed: false },
        (None, Some(path)) => Folder { path, printed: true },
        (None, None) => return Ok(Vec::new()),
    };
    Ok(vec![Carrier::Folder(folder)])
}

/// Where the demo's mails go, beside its database.
#[must_use]
pub fn folder_beside(db: &Path) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(".mails");
    name.into()
}

fn terms(config: &MailConfig) -> Terms {
    let timeout_us =
        Micros::try_from(config.timeout_ms).unwrap_or(Micros::MAX).saturating_mul(1_000);
    Terms {
        batch: config.batch,
        poll: Duration::from_millis(config.poll_ms),
        attempts_max: config.attempts_max,
        retry: Backoff { first_ms: config.retry_ms, max_ms: config.retry_max_ms },
        // Longer than an attempt, also for a clock that is set forward a little.
        claim_us: timeout_us.saturating_mul(2).saturating_add(60_000_000),
        keep_us: postman::days(config.keep_days),
    }
}

#[cfg(test)]
mod tests;
