//! The session token that Betfair issues at login, which expires unless it is renewed.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use zeroize::Zeroizing;

use base::secret::Secret;

/// The longest token file, in bytes. Betfair's have 44.
const TOKEN_BYTES_MAX: u64 = 4096;

/// Where the session token is.
#[derive(Debug, Clone)]
pub enum Session {
    /// A fixed token, until it expires.
    Token(Secret),
    /// In a file that is read for each connection, so that a login process can replace the token.
    File(PathBuf),
}

impl Session {
    /// The current token, trimmed.
    pub(super) async fn read(&self) -> io::Result<Secret> {
        match self {
            Self::Token(token) => Ok(token.clone()),
            Self::File(path) => {
                let path = path.clone();
                // The file may be on a slow disk; reading it must not block other tasks.
                tokio::task::spawn_blocking(move || read(&path)).await.map_err(io::Error::other)?
            }
        }
    }

    /// Whether the next attempt may find a different token.
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
