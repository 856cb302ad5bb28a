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
    record::{Key, MatchRecord, MatchSummary},
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
    Kept(Arc<MatchSummary>),
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
    live: Arc<LiveList>,
    details: Arc<Mutex<HashMap<Key, Plate>>>,
}

/// The list of what is in play.
#[derive(Debug, Default)]
struct LiveList {
    /// Locked to look and to put, never while a list is made.
    newest: Mutex<Option<Plate>>,
    /// Held by the one request that makes the list; the others wait for it.
    maker: tokio::sync::Mutex<()>,
}

impl LiveList {
    fn at_hand(&self, made_of: &MadeOf, now: Instant) -> Option<Served> {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let plate = newest.as_ref().filter(|plate| plate.is_good(made_of, now))?;
        Some(Served { prepared: plate.prepared.clone(), is_hit: true })
    }
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
    /// The list of what is in play, of this version of what the hub shows or a newer one. For each version
    /// one list is made, on a thread where nobody waits for it.
    pub(super) async fn live(
        &self,
        version: impl Fn() -> u64,
        make: impl FnOnce() -> Result<Prepared, ApiError> + Send + 'static,
    ) -> Result<Served, ApiError> {
        let live = &self.live;
        if let Some(served) = live.at_hand(&MadeOf::Reader(version()), Instant::now()) {
            return Ok(served);
        }
        let _making = live.maker.lock().await;
        // The version first: what is read after it may be newer, and never older.
        let (made_of, now) = (MadeOf::Reader(version()), Instant::now());
        if let Some(served) = live.at_hand(&made_of, now) {
            return Ok(served);
        }
        let prepared = tokio::task::spawn_blocking(make).await??;
        let until = now + made_of.good_for();
        let plate = Plate { made_of, until, prepared: prepared.clone() };
        *live.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(plate);
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
    use std::sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    };

    use tokio::task::JoinSet;

    use super::*;

    fn body(text: &'static str) -> Result<Prepared, ApiError> {
        Ok(Prepared::of(text.into()))
    }

    #[tokio::test]
    async fn list_is_made_anew_when_what_it_is_of_has_changed() {
        let shown = Shown::default();
        let is_hit = async |version| {
            let served = shown.live(|| version, || body("[]")).await;
            served.expect("it is made").is_hit
        };
        assert!(!is_hit(1).await);
        assert!(is_hit(1).await);
        assert!(!is_hit(2).await, "an answer of an older state was given");
    }

    #[test]
    fn clock_of_an_answer_stands_still_for_a_second_at_most() {
        let (made_of, now) = (MadeOf::Reader(1), Instant::now());
        let prepared = Prepared::of("[]".into());
        let plate = Plate { until: now + made_of.good_for(), made_of: made_of.clone(), prepared };
        assert!(plate.is_good(&made_of, now + PLAYING_FOR / 2));
        assert!(!plate.is_good(&made_of, now + PLAYING_FOR));
    }

    /// The runtime of the test has one thread: a maker that blocked it would never be let go on.
    #[tokio::test]
    async fn one_makes_the_list_and_nobody_blocks_the_runtime() {
        let (shown, made) = (Shown::default(), Arc::new(AtomicUsize::new(0)));
        let (go, wait) = mpsc::sync_channel::<()>(1);
        let wait = Arc::new(Mutex::new(wait));
        let readers: JoinSet<_> = (0..50)
            .map(|_| {
                let (shown, made, wait) = (shown.clone(), Arc::clone(&made), Arc::clone(&wait));
                async move {
                    let make = move || {
                        made.fetch_add(1, Ordering::Relaxed);
                        let wait = wait.lock().unwrap_or_else(PoisonError::into_inner);
                        wait.recv().expect("the test lets it go on");
                        body("[]")
                    };
                    shown.live(|| 1, make).await.expect("it is made").is_hit
                }
            })
            .collect();
        tokio::task::yield_now().await;
        go.send(()).expect("somebody makes the list");
        let hits = readers.join_all().await;
        assert_eq!(hits.iter().filter(|is_hit| !**is_hit).count(), 1);
        assert_eq!(made.load(Ordering::Relaxed), 1, "several made the same list");
    }
}
