//! Where a secret is stored: in the environment, in a file, or in the settings themselves.

use std::{fmt, fs, io, path::PathBuf};

use crate::secret::Secret;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `env:NAME`, `file:PATH`, or the secret itself.
#[derive(Clone, PartialEq, Eq)]
pub enum SecretRef {
    Env(String),
    /// Without surrounding white space. Settings whose description says so read the file again at
    /// each connection.
    File(PathBuf),
    Given(Secret),
}

/// Why a secret cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("the environment variable {name} is not set")]
    NotSet { name: String },
    #[error("cannot read the file {}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

impl SecretRef {
    /// Whether a secret is given; an empty setting is not.
    #[must_use]
    pub fn is_set(&self) -> bool {
        !matches!(self, Self::Given(secret) if secret.expose().is_empty())
    }

    /// Whether no secret is given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.is_set()
    }

    /// Reads the secret.
    ///
    /// # Errors
    ///
    /// If the variable is not set or the file cannot be read.
    #[expect(clippy::disallowed_methods, reason = "this is where settings are read")]
    pub fn resolve(&self) -> Result<Secret, SecretError> {
        match self {
            Self::Given(secret) => Ok(secret.clone()),
            Self::Env(name) => match std::env::var(name) {
                Ok(secret) => Ok(secret.into()),
                Err(_) => Err(SecretError::NotSet { name: name.clone() }),
            },
            Self::File(path) => match fs::read_to_string(path) {
                Ok(secret) => Ok(secret.trim().to_owned().into()),
                Err(source) => Err(SecretError::Unreadable { path: path.clone(), source }),
            },
        }
    }
}

impl Default for SecretRef {
    fn default() -> Self {
        Self::from("")
    }
}

impl From<&str> for SecretRef {
    fn from(text: &str) -> Self {
        match text.split_once(':') {
            Some(("env", name)) => Self::Env(name.to_owned()),
            Some(("file", path)) => Self::File(path.into()),
            _ => Self::Given(text.to_owned().into()),
        }
    }
}

impl<'de> Deserialize<'de> for SecretRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(&*String::deserialize(deserializer)?))
    }
}

/// It is written out as if it were not set.
impl Serialize for SecretRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("")
    }
}

impl fmt::Debug for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "SecretRef(env:{name})"),
            Self::File(path) => write!(f, "SecretRef(file:{})", path.display()),
            Self::Given(_) => f.write_str("SecretRef(..)"),
        }
    }
}
