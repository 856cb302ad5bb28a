//! `[mail]`: how mail is sent, and how often delivery is retried.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::mail::{Sender, SmtpServer};
use base::config::SecretRef;

/// `[mail]`: mail to customers. With neither `smtp_url` nor `folder` it stays in the database, except in the demo,
/// which writes it to a folder next to the database and prints its links. docs/OPERATING.md#mail
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MailConfig {
    /// The outgoing mail server: `smtp://user:password@host:587`, or `smtps://` for implicit TLS.
    /// Default empty. With `smtp://`, STARTTLS is required; the suffixes `?tls=opportunistic` and
    /// `?tls=none` relax that. A path is the name that the hub sends in EHLO. Prefer `env:NAME` or
    /// `file:PATH`.
    pub smtp_url: SecretRef,
    /// CA certificates, PEM, trusted in addition to the system's. Default empty: none.
    pub authority: PathBuf,
    /// A folder in which each mail is stored as a file, instead of a server. Default empty.
    pub folder: PathBuf,
    /// The sender's address. Default empty; required with `smtp_url`. Its mailbox should be read:
    /// some mails ask customers to reply if they did not initiate a change.
    pub from: String,
    /// The sender's display name, which also signs the text. Default `Matchwire`.
    pub from_name: String,
    /// Milliseconds until a connection is ready, and for one mail until the server accepts it.
    /// Default 30000. A server that hangs holds a connection for as long.
    pub timeout_ms: u64,
    /// Connections to the server at a time. Default 2. Each sends one mail at a time.
    pub connections: usize,
    /// Mails that a connection takes from the outbox at once. Default 50, about 200 bytes each.
    pub batch: u32,
    /// Milliseconds between two polls of the outbox. Default 500. It is the longest delay of a mail
    /// by polling; a poll takes microseconds.
    pub poll_ms: u64,
    /// Delivery attempts per mail. Default 20; after the last one, with the defaults after about 14
    /// hours, the mail has failed. An unreachable server does not count as an attempt.
    pub attempts_max: u32,
    /// Milliseconds to wait after the first failure of a mail. Default 30000; doubled after each
    /// failure, plus or minus a random quarter at most.
    pub retry_ms: u64,
    /// The longest wait in milliseconds. Default 3600000, an hour.
    pub retry_max_ms: u64,
    /// Days for which the rows of sent and failed mails are stored: address, kind, time and error.
    /// Default 30.
    pub keep_days: u32,
}

impl Default for MailConfig {
    fn default() -> Self {
        Self {
            smtp_url: SecretRef::default(),
            authority: PathBuf::new(),
            folder: PathBuf::new(),
            from: String::new(),
            from_name: "Matchwire".to_owned(),
            timeout_ms: 30_000,
            connections: 2,
            batch: 50,
            poll_ms: 500,
            attempts_max: 20,
            retry_ms: 30_000,
            retry_max_ms: 3_600_000,
            keep_days: 30,
        }
    }
}

impl MailConfig {
    /// Whether neither a server nor a folder is configured.
    #[must_use]
    pub fn has_no_transport(&self) -> bool {
        self.smtp_url.is_empty() && self.folder.as_os_str().is_empty()
    }

    /// The first problem that can be detected before secrets are read: a setting, and what it must
    /// be.
    pub fn problem(&self) -> Option<(&'static str, &'static str)> {
        let smtp = !self.smtp_url.is_empty();
        if smtp && !self.folder.as_os_str().is_empty() {
            return Some(("mail.folder", "empty where mail.smtp_url is set"));
        }
        if smtp && self.from.is_empty() {
            return Some(("mail.from", "an address where mail.smtp_url is set"));
        }
        if let SecretRef::Given(url) = &self.smtp_url
            && smtp
            && SmtpServer::parse(url.expose()).is_err()
        {
            return Some(("mail.smtp_url", "smtp:// or smtps://, see matchwire.toml.example"));
        }
        let sender = Sender::new(&self.from, &self.from_name);
        sender.is_none().then_some(("mail.from", "an address: name@host, in ASCII"))
    }
}
