//! The name of a database: a path, or a PostgreSQL URL, whose password is never shown.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use base::feature::MissingFeature;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The prefixes of PostgreSQL URLs. Anything else is a path.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The name of a database: `matchwire.db`, or `postgres://user:password@host/database`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseName {
    File(PathBuf),
    Postgres(PostgresUrl),
}

/// The URL of a PostgreSQL database. It contains a password, which `Display` omits.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl(String);

impl DatabaseName {
    /// Rejects a URL of PostgreSQL in a program that was built without it.
    ///
    /// # Errors
    ///
    /// If it is one.
    pub fn check_feature(&self) -> Result<(), MissingFeature> {
        match self {
            Self::Postgres(_) if !cfg!(feature = "postgres") => {
                Err(MissingFeature { needed_by: "a postgres:// URL", feature: "postgres" })
            }
            Self::File(_) | Self::Postgres(_) => Ok(()),
        }
    }

    /// The path that related files are stored next to; in the working directory for PostgreSQL.
    #[must_use]
    pub fn beside(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Postgres(_) => Path::new("matchwire.db"),
        }
    }
}

impl PostgresUrl {
    /// The complete URL. The caller is responsible for where it goes.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl From<&Path> for DatabaseName {
    fn from(path: &Path) -> Self {
        Self::File(path.to_owned())
    }
}

impl From<PathBuf> for DatabaseName {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

impl From<&str> for DatabaseName {
    fn from(text: &str) -> Self {
        let is_url = SCHEMES.iter().any(|scheme| text.starts_with(scheme));
        match is_url {
            true => Self::Postgres(PostgresUrl(text.to_owned())),
            false => Self::File(text.into()),
        }
    }
}

impl fmt::Display for DatabaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Postgres(url) => write!(f, "{url}"),
        }
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Everything between the scheme and the last @ of the authority may be a secret, and so may
        // be the parameters.
        let location = self.0.split_once("://").map_or(self.0.as_str(), |(_, rest)| rest);
        let location = location.split_once('?').map_or(location, |(location, _)| location);
        let location = location.rsplit_once('@').map_or(location, |(_, location)| location);
        write!(f, "postgres://{location}")
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresUrl({self})")
    }
}

/// The URL without its password, for display.
impl Serialize for DatabaseName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DatabaseName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| text.as_str().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, shown: &str, postgres: bool) {
        let name = DatabaseName::from(text);
        assert_eq!(matches!(name, DatabaseName::Postgres(_)), postgres, "{text}");
        assert_eq!(name.to_string(), shown);
        assert!(!format!("{name:?}").contains("secret"), "{name:?}");
    }

    #[test]
    fn url_is_distinguished_from_a_path() {
        check("hub.db", "hub.db", false);
        check("/var/lib/postgres.db", "/var/lib/postgres.db", false);
        check("postgres://h/db", "postgres://h/db", true);
    }

    #[test]
    fn password_is_never_shown() {
        check("postgres://me:secret@h:5432/db", "postgres://h:5432/db", true);
        check("postgresql://me:sec@secret@h/db?password=secret", "postgres://h/db", true);
        check("postgres:///db?host=/tmp&password=secret", "postgres:///db", true);
    }
}
