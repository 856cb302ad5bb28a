//! The session token that Betfair gives at login, and that ends when nobody renews it.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use zeroize::Zeroizing;

use crate::source::secret::Secret;

/// Bytes of a file that is a token. Betfair's have 44.
const TOKEN_BYTES_MAX: u64 = 4096;

/// Where the session token is.
#[derive(Debug, Clone)]
pub enum Session {
    /// This one, until it ends.
    Token(Secret),
    /// In a file, read anew for each connection, so that whoever logs in can replace it.
    File(PathBuf),
}

impl Session {
    /// The token as it is now, without white space around it.
    pub(super) async fn read(&self) -> io::Result<Secret> {
        match self {
            Self::Token(token) => Ok(token.clone()),
            Self::File(path) => {
                let path = path.clone();
                // A file may be on a slow disk, and waiting for it must not hold up others.
                tokio::task::spawn_blocking(move || read(&path)).await.map_err(io::Error::other)?
            }
        }
    }

    /// Whether another try may find another token.
    pub(super) fn may_change(&self) -> bool {
        matches!(self, Self::File(_))
    }
}

fn read(path: &Path) -> io::Result<Secret> {
    let mut text = Zeroizing::new(String::with_capacity(64));
    File::open(path)?.take(TOKEN_BYTES_MAX).read_to_string(&mut text)?;
    match text.trim() {
        "" => Err(io::Error::new(io::ErrorKind::InvalidData, "it is empty")),
        token => Ok(token.to_owned().into()),
    }
}
