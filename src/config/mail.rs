//! `[mail]`: how mail leaves, and how stubbornly.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::secret::SecretRef;
use crate::mail::{Sender, SmtpServer};

/// `[mail]`: mail to customers. With neither `smtp_url` nor `folder` it waits in the database, except in
/// the demo, which writes it into a folder beside the database and prints its links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MailConfig {
    /// The server that takes the mail: `smtp://user:password@host:587`, or `smtps://` for TLS from the
    /// first byte. Default empty. With `smtp://` the connection is upgraded by STARTTLS, or else is
    /// not used; `?tls=opportunistic` and `?tls=none` behind it allow for less. A path is the name by
    /// which the hub introduces itself. Best given as `env:NAME` or `file:PATH`.
    pub smtp_url: SecretRef,
    /// Certificates, PEM, that are trusted besides the system's. Default empty: none.
    pub authority: PathBuf,
    /// A folder that gets each mail as a file, in place of a server. Default empty.
    pub folder: PathBuf,
    /// The address that mail comes from. Default empty; needed with `smtp_url`. Somebody should read what
    /// comes to it: some texts ask for an answer when it was not the customer who did something.
    pub from: String,
    /// The name beside it, which also signs the text. Default `Matchwire`.
    pub from_name: String,
    /// Milliseconds for a connection until it is ready, and for one mail from its begin to the
    /// server's word for it. Default 30000. A server that hangs holds a connection for so long.
    pub timeout_ms: u64,
    /// Connections to the server at a time. Default 2. Each sends one mail after the other.
    pub connections: usize,
    /// Mails that a connection takes from the outbox at once. Default 50, some 200 bytes each.
    pub batch: u32,
    /// Milliseconds between two looks into the outbox. Default 500. As late as a mail can be for it;
    /// a look takes microseconds.
    pub poll_ms: u64,
    /// How often one mail is tried. Default 20. Then it has failed; with the defaults after about 14
    /// hours. A server that cannot be reached does not count.
    pub attempts_max: u32,
    /// Milliseconds to wait after the first failure of a mail. Default 30000; doubled each time, give
    /// or take a quarter.
    pub retry_ms: u64,
    /// Milliseconds to wait at most. Default 3600000, an hour.
    pub retry_max_ms: u64,
    /// Days for which the rows of mails that were sent or have failed are kept: address, kind, moment and
    /// error. Default 30.
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
    /// Whether neither a server nor a folder is named.
    #[must_use]
    pub fn goes_nowhere(&self) -> bool {
        self.smtp_url.is_empty() && self.folder.as_os_str().is_empty()
    }

    /// What is wrong with it, as far as it can be told before secrets are fetched: a setting and what
    /// it must be.
    pub(super) fn problem(&self) -> Option<(&'static str, &'static str)> {
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
