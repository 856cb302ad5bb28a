//! A folder in place of a server: each mail becomes a file.

use std::{
    fs::{self, DirBuilder},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::PathBuf,
};

use tempfile::NamedTempFile;

use super::carrier::{Parcel, Undelivered, Unreachable};

/// Where mails go as files, `.eml`, readable by their owner alone.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// Whether whom a mail is for, and its link, is said on the standard output: in the demo, where
    /// the reader is the one who asked for it.
    pub(super) printed: bool,
}

impl Folder {
    pub(super) fn ready(&self) -> Result<(), Unreachable> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        made.map_err(|error| Unreachable(format!("{}: {error}", self.path.display())))
    }

    /// Written under another name and moved when it is whole, so that who watches the folder never
    /// reads half of it. A second attempt replaces the first.
    pub(super) fn carry(&self, parcel: &Parcel) -> Result<(), Undelivered> {
        self.write(parcel).map_err(|error| Undelivered::of_ours(true, error.to_string()))?;
        if self.printed {
            // Nobody may be looking.
            print(parcel).ok();
        }
        Ok(())
    }

    fn write(&self, parcel: &Parcel) -> io::Result<()> {
        let mut file = NamedTempFile::new_in(&self.path)?;
        file.write_all(&parcel.message.formatted())?;
        file.as_file().sync_all()?;
        file.persist(self.path.join(format!("{}.eml", parcel.name)))?;
        fs::File::open(&self.path)?.sync_all()
    }
}

fn print(parcel: &Parcel) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let subject = parcel.message.headers().get_raw("Subject").unwrap_or_default();
    for to in parcel.message.envelope().to() {
        writeln!(out, "mail for {to}: {subject}")?;
    }
    if let Some(link) = &parcel.link {
        writeln!(out, "  {link}")?;
    }
    out.flush()
}
