//! Answers that many ask for at once, rendered once for all of them.
//!
//! An answer is good while what it was made of is the same, and for a second at most while a clock
//! runs in it, else for five: how the sides met before may have changed meanwhile.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::response::Response;
use hyper::{HeaderMap, header::HeaderValue};
use tokio::time::Instant;

use crate::{
    api::{
        ApiError, Kept,
        answer::{CACHE_STATUS, Prepared},
    },
    record::{Brief, Key, MatchRecord},
};

/// Details of so many matches are held at most; each is a few kilobytes.
const DETAILS_MAX: usize = 4096;

const PLAYING_FOR: Duration = Duration::from_secs(1);
const RESTING_FOR: Duration = Duration::from_secs(5);

/// What an answer was made of.
#[derive(Debug, Clone)]
pub(super) enum MadeOf {
    /// All that the hub shows, by its version.
    Reader(u64),
    Fresh(Arc<MatchRecord>),
    Kept(Arc<Brief>),
}

impl MadeOf {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Reader(own), Self::Reader(other)) => own == other,
            (Self::Fresh(own), Self::Fresh(other)) => Arc::ptr_eq(own, other),
            (Self::Kept(own), Self::Kept(other)) => Arc::ptr_eq(own, other),
            (Self::Reader(_) | Self::Fresh(_) | Self::Kept(_), _) => false,
        }
    }

    fn good_for(&self) -> Duration {
        let is_playing = match self {
            Self::Reader(_) => true,
            Self::Fresh(record) => record.brief.status.is_live(),
            Self::Kept(_) => false,
        };
        if is_playing { PLAYING_FOR } else { RESTING_FOR }
    }
}

#[derive(Debug)]
struct Plate {
    made_of: MadeOf,
    until: Instant,
    prepared: Prepared,
}

impl Plate {
    fn is_good(&self, made_of: &MadeOf, now: Instant) -> bool {
        now < self.until && self.made_of.is_same(made_of)
    }
}

/// Prepared answers; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Shown {
    live: Arc<Mutex<Option<Plate>>>,
    details: Arc<Mutex<HashMap<Key, Plate>>>,
}

/// An answer, and whether it was at hand.
#[derive(Debug)]
pub(super) struct Served {
    prepared: Prepared,
    is_hit: bool,
}

impl Served {
    pub(super) fn answer(&self, kept: Kept, headers: &HeaderMap) -> Response {
        let mut response = kept.answer_prepared(headers, &self.prepared);
        let word = HeaderValue::from_static(if self.is_hit { "HIT" } else { "MISS" });
        response.headers_mut().insert(CACHE_STATUS, word);
        response
    }
}

impl Shown {
    /// The list of what is in play.
    pub(super) fn live(
        &self,
        made_of: MadeOf,
        now: Instant,
        make: impl FnOnce() -> Result<Prepared, ApiError>,
    ) -> Result<Served, ApiError> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plate) = live.as_ref().filter(|plate| plate.is_good(&made_of, now)) {
            return Ok(Served { prepared: plate.prepared.clone(), is_hit: true });
        }
        // Made under the lock: whoever asks meanwhile waits for this answer and makes no other.
        let prepared = make()?;
        let until = now + made_of.good_for();
        *live = Some(Plate { made_of, until, prepared: prepared.clone() });
        Ok(Served { prepared, is_hit: false })
    }

    /// A match.
    pub(super) fn detail(
        &self,
        id: Key,
        made_of: MadeOf,
        now: Instant,
        make: impl FnOnce() -> Result<Prepared, ApiError>,
    ) -> Result<Served, ApiError> {
        {
            let details = self.details.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(plate) = details.get(&id).filter(|plate| plate.is_good(&made_of, now)) {
                return Ok(Served { prepared: plate.prepared.clone(), is_hit: true });
            }
        }
        let prepared = make()?;
        let until = now + made_of.good_for();
        let mut details = self.details.lock().unwrap_or_else(PoisonError::into_inner);
        if details.len() >= DETAILS_MAX {
            details.retain(|_, plate| now < plate.until);
        }
        if details.len() < DETAILS_MAX {
            details.insert(id, Plate { made_of, until, prepared: prepared.clone() });
        }
        Ok(Served { prepared, is_hit: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &'static str) -> Result<Prepared, ApiError> {
        Ok(Prepared::of(text.into()))
    }

    #[test]
    fn answer_is_made_anew_when_what_it_is_of_has_changed_or_a_second_has_passed() {
        let shown = Shown::default();
        let start = Instant::now();
        let is_hit = |version, now| {
            let served = shown.live(MadeOf::Reader(version), now, || body("[]"));
            served.expect("it is made").is_hit
        };
        assert!(!is_hit(1, start));
        assert!(is_hit(1, start));
        assert!(!is_hit(2, start), "an answer of an older state was given");
        assert!(!is_hit(2, start + PLAYING_FOR), "the clock of an answer stood still");
    }
}
