//! Films that cannot be written or read. Each one is left alone for a while and then tried again. It does not affect
//! the others.

use fanout::{ChannelId, Micros};

use super::FilmWriter;
use crate::film::FilmError;

/// When a film that has failed is tried again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failure {
    pub(super) retry_at: Micros,
    wait_us: Micros,
}

/// How long a film that has failed is left alone, at first and at most. The time doubles each time.
const RETRY_US: Micros = 1_000_000;
const RETRY_US_MAX: Micros = 60_000_000;

impl FilmWriter {
    /// Whether a film has failed and is not tried again yet.
    pub(super) fn must_wait(&self, name: &ChannelId, now: Micros) -> bool {
        self.failures.get(name).is_some_and(|failure| failure.retry_at > now)
    }

    /// Notes that a film cannot be written or read.
    pub(super) fn fail(&mut self, name: &ChannelId, error: FilmError, now: Micros) {
        if let FilmError::Deleted { .. } = error {
            // It begins again, with what is left of it if anything is.
            tracing::warn!(film = name.as_str(), "the file of a film was deleted or cut");
            self.films.end_readers(name);
            self.drop_entries(name);
            return;
        }
        let before = self.failures.get(name).map_or(RETRY_US / 2, |failure| failure.wait_us);
        let wait_us = (2 * before).min(RETRY_US_MAX);
        if self.failures.is_empty() {
            self.error = Some(error);
        } else {
            tracing::debug!(film = name.as_str(), %error, "another film cannot be written");
        }
        let retry_at = now.saturating_add(wait_us);
        self.failures.insert(name.clone(), Failure { retry_at, wait_us });
        if self.open.get(name).is_some_and(|film| !film.buffer.is_empty()) {
            self.due.insert((retry_at, name.clone()));
        }
    }

    /// Forgets what a film has in memory.
    pub(super) fn drop_entries(&mut self, name: &ChannelId) {
        self.forget(name);
        self.gaps.insert(name.clone());
    }
}
