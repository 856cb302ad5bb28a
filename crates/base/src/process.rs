//! What the system grants to this process.

use rustix::{
    fs::Mode,
    process::{Resource, Rlimit, getrlimit, setrlimit, umask},
};

/// File descriptors that connections of strangers leave to the log, the database, sources and pages, at most.
const KEPT_BACK_MAX: u64 = 256;

/// Lets only the owner read files and folders that the process makes from now on.
pub fn keep_files_private() {
    umask(Mode::RWXG | Mode::RWXO);
}

/// How many files the process may have open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// `None`: without a limit.
    limit: Option<u64>,
}

impl OpenFiles {
    /// Raises the limit as far as the system permits.
    #[must_use]
    pub fn raised() -> Self {
        let limit = getrlimit(Resource::Nofile);
        // If it is refused, the limit stays as it is.
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).ok();
        Self { limit: getrlimit(Resource::Nofile).current }
    }

    /// The descriptors for connections: all but a quarter, or 256 if that is less.
    #[must_use]
    pub fn for_connections(self) -> usize {
        let limit = self.limit.unwrap_or(u64::MAX);
        usize::try_from(limit - KEPT_BACK_MAX.min(limit / 4)).unwrap_or(usize::MAX)
    }

    /// How many of these HTTP connections there may be: with half of the descriptors for connections. The others are for
    /// sockets, and for connections that have sent nothing yet.
    #[must_use]
    pub fn http_connections(self, wanted: usize) -> usize {
        wanted.min(self.for_connections() / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_follow_the_limit_of_open_files() {
        for (limit, descriptors, http) in [
            (None, usize::MAX - 256, 10_000),
            (Some(1_048_576), 1_048_320, 10_000),
            (Some(262_144), 261_888, 10_000),
            (Some(1_024), 768, 384),
            (Some(256), 192, 96),
            (Some(0), 0, 0),
        ] {
            let files = OpenFiles { limit };
            let found = (files.for_connections(), files.http_connections(10_000));
            assert_eq!(found, (descriptors, http), "{limit:?}");
        }
    }
}
