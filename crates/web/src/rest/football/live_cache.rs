//! Caches responses that many clients request at the same time.
//!
//! A response is fresh while its source is unchanged: for at most a second if it contains a running clock,
//! otherwise for five, because earlier meetings of the sides may change in the meantime. Responses that are no
//! longer fresh are evicted, since each also holds the record that it was made from.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::response::Response;
use base::work::{self, Pool, SharedValue};
use hyper::{HeaderMap, header::HeaderValue};
use tokio::time::Instant;

use crate::{
    http::SharedBody,
    rest::{ApiError, CacheControl, response::CACHE_STATUS},
};
use record::{Key, MatchRecord, MatchSummary};

/// The maximum bytes of cached details, compressed forms included. Most have a few kilobytes; beyond it, details
/// are rendered for each request.
const DETAIL_BYTES_MAX: usize = 4 * 1024 * 1024;

const LIVE_TTL: Duration = Duration::from_secs(1);
const IDLE_TTL: Duration = Duration::from_secs(5);

/// The source that a response was made from.
#[derive(Debug, Clone)]
pub(in crate::rest) enum ResponseSource {
    /// The version of everything that the hub exports.
    Reader(u64),
    Fresh(Arc<MatchRecord>),
    Archived(Arc<MatchSummary>),
}

impl ResponseSource {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Reader(one), Self::Reader(other)) => one == other,
            (Self::Fresh(one), Self::Fresh(other)) => Arc::ptr_eq(one, other),
            (Self::Archived(one), Self::Archived(other)) => Arc::ptr_eq(one, other),
            (Self::Reader(_) | Self::Fresh(_) | Self::Archived(_), _) => false,
        }
    }

    fn ttl(&self) -> Duration {
        let is_playing = match self {
            Self::Reader(_) => true,
            Self::Fresh(record) => record.summary.status.is_live(),
            Self::Archived(_) => false,
        };
        if is_playing { LIVE_TTL } else { IDLE_TTL }
    }
}

/// Which detail of a match: version 1 renders one for each time zone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::rest) struct DetailKey {
    pub(in crate::rest) id: Key,
    pub(in crate::rest) zone: Option<Box<str>>,
}

impl From<Key> for DetailKey {
    fn from(id: Key) -> Self {
        Self { id, zone: None }
    }
}

#[derive(Debug, Clone)]
struct CachedResponse {
    source: ResponseSource,
    until: Instant,
    body: SharedBody,
}

impl CachedResponse {
    /// Bytes of the body and, at most, of its compressed forms together.
    fn cost(&self) -> usize {
        2 * self.body.bytes() + size_of::<Self>()
    }

    fn is_fresh(&self, source: &ResponseSource, now: Instant) -> bool {
        now < self.until && self.source.is_same(source)
    }
}

/// Cached responses; clones share them.
#[derive(Debug, Clone, Default)]
pub(in crate::rest) struct ResponseCache {
    /// The list of matches in play.
    live: SharedValue<CachedResponse>,
    details: Arc<Mutex<Details>>,
}

/// The details of matches. None stays longer than twice the longest time for which one is fresh, as long as
/// details are requested.
#[derive(Debug, Default)]
struct Details {
    responses: HashMap<DetailKey, CachedResponse>,
    /// The sum of the costs of all responses.
    bytes: usize,
    sweep_at: Option<Instant>,
}

impl Details {
    fn get(&self, key: &DetailKey, source: &ResponseSource, now: Instant) -> Option<SharedBody> {
        let cached = self.responses.get(key).filter(|cached| cached.is_fresh(source, now))?;
        Some(cached.body.clone())
    }

    /// Adds a response, if it fits in beside those that are fresh.
    fn insert(&mut self, key: DetailKey, response: CachedResponse, now: Instant) {
        self.bytes -= self.responses.remove(&key).map_or(0, |cached| cached.cost());
        let cost = response.cost();
        let is_full = self.bytes + cost > DETAIL_BYTES_MAX;
        if self.sweep_at.is_none_or(|at| now >= at) {
            self.responses.retain(|_, cached| now < cached.until);
            self.bytes = self.responses.values().map(CachedResponse::cost).sum();
            // No more often: each sweep reads all of them. Full caches of fresh responses wait as well.
            self.sweep_at = Some(now + if is_full { LIVE_TTL } else { IDLE_TTL });
        }
        if self.bytes + cost <= DETAIL_BYTES_MAX {
            self.bytes += cost;
            self.responses.insert(key, response);
        }
    }
}

/// A response, and whether it came from the cache.
#[derive(Debug)]
pub(in crate::rest) struct CacheLookup {
    body: SharedBody,
    is_hit: bool,
}

impl CacheLookup {
    pub(in crate::rest) fn answer(&self, cache: CacheControl, headers: &HeaderMap) -> Response {
        let mut response = cache.answer_shared(headers, &self.body);
        let word = HeaderValue::from_static(if self.is_hit { "HIT" } else { "MISS" });
        response.headers_mut().insert(CACHE_STATUS, word);
        response
    }
}

impl ResponseCache {
    /// The live list, of this version of the hub's export or a newer one. Each version is rendered once, on a
    /// blocking thread.
    pub(super) async fn live(
        &self,
        version: impl Fn() -> u64 + Clone + Send + 'static,
        make: impl FnOnce() -> Result<SharedBody, ApiError> + Send + 'static,
    ) -> Result<CacheLookup, ApiError> {
        let is_made = Arc::new(AtomicBool::new(false));
        let (newest, makes) = (version.clone(), Arc::clone(&is_made));
        let is_fresh = move |cached: &CachedResponse| {
            cached.is_fresh(&ResponseSource::Reader(newest()), Instant::now())
        };
        let make = async move {
            makes.store(true, Ordering::Relaxed);
            // The version is read first: data read after it may be newer, but never older.
            let (source, now) = (ResponseSource::Reader(version()), Instant::now());
            let body = work::run_blocking(Pool::Blocking, make).await??;
            Ok::<_, ApiError>(CachedResponse { until: now + source.ttl(), source, body })
        };
        let CachedResponse { body, .. } = self.live.get_or_make(is_fresh, make).await?;
        Ok(CacheLookup { body, is_hit: !is_made.load(Ordering::Relaxed) })
    }

    /// The detail of a match.
    pub(super) fn detail(
        &self,
        key: DetailKey,
        source: ResponseSource,
        now: Instant,
        make: impl FnOnce() -> Result<SharedBody, ApiError>,
    ) -> Result<CacheLookup, ApiError> {
        match self.cached(&key, &source, now) {
            Some(lookup) => Ok(lookup),
            None => Ok(self.add(key, source, now, make()?)),
        }
    }

    /// The cached detail of a match, if it is fresh.
    pub(in crate::rest) fn cached(
        &self,
        key: &DetailKey,
        source: &ResponseSource,
        now: Instant,
    ) -> Option<CacheLookup> {
        let details = self.details.lock().unwrap_or_else(PoisonError::into_inner);
        details.get(key, source, now).map(|body| CacheLookup { body, is_hit: true })
    }

    /// Caches the detail of a match that was just rendered.
    pub(in crate::rest) fn add(
        &self,
        key: DetailKey,
        source: ResponseSource,
        now: Instant,
        body: SharedBody,
    ) -> CacheLookup {
        let until = now + source.ttl();
        let mut details = self.details.lock().unwrap_or_else(PoisonError::into_inner);
        details.insert(key, CachedResponse { source, until, body: body.clone() }, now);
        CacheLookup { body, is_hit: false }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{atomic::AtomicUsize, mpsc};

    use tokio::task::JoinSet;

    use super::*;

    fn body(text: &'static str) -> Result<SharedBody, ApiError> {
        Ok(SharedBody::new(text.into()))
    }

    #[tokio::test]
    async fn list_is_rendered_again_when_its_source_has_changed() {
        let cache = ResponseCache::default();
        let is_hit = async |version| {
            let lookup = cache.live(move || version, || body("[]")).await;
            lookup.expect("it is made").is_hit
        };
        assert!(!is_hit(1).await);
        assert!(is_hit(1).await);
        assert!(!is_hit(2).await, "an answer of an older state was given");
    }

    #[test]
    fn clock_of_a_cached_response_is_at_most_a_second_old() {
        let (source, now) = (ResponseSource::Reader(1), Instant::now());
        let body = SharedBody::new("[]".into());
        let cached = CachedResponse { until: now + source.ttl(), source: source.clone(), body };
        assert!(cached.is_fresh(&source, now + LIVE_TTL / 2));
        assert!(!cached.is_fresh(&source, now + LIVE_TTL));
    }

    #[test]
    fn details_are_bounded_in_bytes_and_evicted_when_they_are_no_longer_fresh() {
        let (cache, now) = (ResponseCache::default(), Instant::now());
        let source = ResponseSource::Reader(1);
        let text = "x".repeat(40_000);
        let detail = |id: Key, now| {
            let make = || Ok(SharedBody::new(text.clone().into()));
            cache.detail(id.into(), source.clone(), now, make).expect("it is made").is_hit
        };
        let cached = || {
            let details = cache.details.lock().unwrap();
            let bytes = details.responses.values().map(CachedResponse::cost).sum::<usize>();
            assert_eq!(details.bytes, bytes);
            assert!(bytes <= DETAIL_BYTES_MAX, "{bytes} bytes");
            details.responses.len()
        };
        for id in 0..1_000 {
            assert!(!detail(id, now));
        }
        let full = cached();
        assert!((10..1_000).contains(&full), "{full} details");
        assert!(detail(0, now), "a fresh detail is cached");
        assert!(!detail(999, now), "there was no room");
        let later = now + IDLE_TTL;
        assert!(!detail(999, later));
        assert_eq!(cached(), 1, "outdated details stay");
        assert!(detail(999, later));
    }

    /// The test's runtime has one thread, so a render that blocked it would deadlock.
    #[tokio::test]
    async fn one_request_renders_the_list_without_blocking_the_runtime() {
        let (cache, made) = (ResponseCache::default(), Arc::new(AtomicUsize::new(0)));
        let (go, wait) = mpsc::sync_channel::<()>(1);
        let wait = Arc::new(Mutex::new(wait));
        let readers: JoinSet<_> = (0..50)
            .map(|_| {
                let (cache, made, wait) = (cache.clone(), Arc::clone(&made), Arc::clone(&wait));
                async move {
                    let make = move || {
                        made.fetch_add(1, Ordering::Relaxed);
                        let wait = wait.lock().unwrap_or_else(PoisonError::into_inner);
                        wait.recv().expect("the test lets it go on");
                        body("[]")
                    };
                    cache.live(|| 1, make).await.expect("it is made").is_hit
                }
            })
            .collect();
        tokio::task::yield_now().await;
        go.send(()).expect("the task that builds the list is running");
        let hits = readers.join_all().await;
        assert_eq!(hits.iter().filter(|is_hit| !**is_hit).count(), 1);
        assert_eq!(made.load(Ordering::Relaxed), 1, "several made the same list");
    }
}
