//! A folder instead of a server: each mail becomes a file.

use std::{
    fs::{self, DirBuilder},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::PathBuf,
};

use tempfile::NamedTempFile;

use super::transport::{DeliveryFailure, OutgoingEmail, TransportUnreachable};

/// Stores mails as `.eml` files, readable only by their owner.
#[derive(Debug, Clone)]
pub(super) struct MailFolder {
    pub(super) path: PathBuf,
    /// Whether the recipient and the link of a mail are printed on the standard output: in the demo,
    /// where the person at the terminal requested the mail.
    pub(super) printed: bool,
}

impl MailFolder {
    pub(super) fn ready(&self) -> Result<(), TransportUnreachable> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        made.map_err(|error| TransportUnreachable(format!("{}: {error}", self.path.display())))
    }

    /// Writes a temporary file and renames it, so that a watcher of the folder never reads half a mail.
    /// A second attempt replaces the first.
    pub(super) fn send(&self, email: &OutgoingEmail) -> Result<(), DeliveryFailure> {
        self.write(email).map_err(|error| DeliveryFailure::internal(true, error.to_string()))?;
        if self.printed {
            // The standard output may be closed.
            print(email).ok();
        }
        Ok(())
    }

    fn write(&self, email: &OutgoingEmail) -> io::Result<()> {
        let mut file = NamedTempFile::new_in(&self.path)?;
        file.write_all(&email.message.formatted())?;
        file.as_file().sync_all()?;
        file.persist(self.path.join(format!("{}.eml", email.name)))?;
        fs::File::open(&self.path)?.sync_all()
    }
}

fn print(email: &OutgoingEmail) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let subject = email.message.headers().get_raw("Subject").unwrap_or_default();
    for to in email.message.envelope().to() {
        writeln!(out, "mail for {to}: {subject}")?;
    }
    if let Some(link) = &email.link {
        writeln!(out, "  {link}")?;
    }
    out.flush()
}
