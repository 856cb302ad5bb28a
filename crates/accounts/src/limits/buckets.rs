//! Token buckets: one per key, with a burst and a refill rate.
//!
//! The key of a bucket is stored as a hash, so that no address or customer is identifiable. The
//! number of buckets is bounded: full ones are dropped, and while too many are in use, they are
//! shared. In a cluster, nodes tell one another what was taken.

use std::{
    fmt,
    hash::{Hash, Hasher},
    num::NonZeroU32,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use governor::{
    Quota, RateLimiter, clock::Clock, middleware::NoOpMiddleware, state::keyed::DashMapStateStore,
};
use tokio::time::Instant;

use super::{
    LimitsKey, RetryAfter,
    shared::{UnreportedUse, Uses},
};

/// The number of shared buckets while there are too many.
const SHARED: u64 = 65_536;

type Limiter<C> =
    RateLimiter<u64, DashMapStateStore<u64>, C, NoOpMiddleware<<C as Clock>::Instant>>;

/// Time since the start. Limits must not notice when the wall clock is set.
#[derive(Debug, Clone)]
pub(super) struct SinceStart(Instant);

impl Default for SinceStart {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SinceStart {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

pub(super) struct Buckets<C: Clock = SinceStart> {
    limiter: Limiter<C>,
    clock: C,
    /// Begins every hash of a key.
    key: LimitsKey,
    /// For other nodes.
    unreported: Option<UnreportedUse>,
    buckets_max: usize,
    /// Requests that cannot create more than `buckets_max` buckets.
    room: AtomicUsize,
    is_crowded: AtomicBool,
    /// Held while sweeping.
    sweep: Mutex<()>,
}

impl Buckets {
    /// `None` where there is no limit.
    pub(super) fn new(quota: Option<Quota>, buckets_max: usize, key: &LimitsKey) -> Option<Self> {
        quota.map(|quota| Self::with_clock(quota, buckets_max, key, SinceStart::default()))
    }
}

impl<C: Clock + Clone> Buckets<C> {
    fn with_clock(quota: Quota, buckets_max: usize, key: &LimitsKey, clock: C) -> Self {
        Self {
            limiter: RateLimiter::new(quota, DashMapStateStore::default(), clock.clone()),
            clock,
            key: key.clone(),
            unreported: key.is_shared().then(UnreportedUse::default),
            buckets_max,
            room: AtomicUsize::new(buckets_max),
            is_crowded: AtomicBool::new(false),
            sweep: Mutex::new(()),
        }
    }

    /// Takes a token from this key's bucket.
    pub(super) fn take(&self, whose: impl Hash) -> Result<(), RetryAfter> {
        self.try_take(whose).map_err(RetryAfter::after)
    }

    /// The same; otherwise how long it takes until there is one.
    pub(super) fn try_take(&self, whose: impl Hash) -> Result<(), Duration> {
        let mut hasher = self.key.hasher();
        whose.hash(&mut hasher);
        let whose = hasher.finish();
        let taken = self.limiter.check_key(&self.bucket(whose));
        taken.map_err(|early| early.wait_time_from(self.clock.now()))?;
        if let Some(unreported) = &self.unreported {
            unreported.add(whose, 1);
        }
        Ok(())
    }

    /// Takes what was taken at another node, as far as there is something.
    pub(super) fn take_elsewhere(&self, whose: u64, tokens: u32) {
        let bucket = self.bucket(whose);
        let Some(all) = NonZeroU32::new(tokens) else { return };
        if !matches!(self.limiter.check_key_n(&bucket, all), Ok(Ok(()))) {
            // It holds fewer.
            while self.limiter.check_key(&bucket).is_ok() {}
        }
    }

    /// What was taken here since this was last called.
    pub(super) fn drain_taken(&self) -> Uses {
        self.unreported.as_ref().map(UnreportedUse::drain).unwrap_or_default()
    }

    fn bucket(&self, whose: u64) -> u64 {
        self.make_room();
        if self.is_crowded.load(Ordering::Relaxed) { whose % SHARED } else { whose }
    }

    /// Sweeps after as many requests as there was room for: the cost of a sweep per request is
    /// constant.
    fn make_room(&self) {
        let take = |room: usize| room.checked_sub(1);
        if self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
            return;
        }
        // Another thread is sweeping: for this short time there may be a few buckets more.
        let Ok(_sweeping) = self.sweep.try_lock() else { return };
        self.limiter.retain_recent();
        self.limiter.shrink_to_fit();
        let free = self.buckets_max.saturating_sub(self.limiter.len());
        let least = (self.buckets_max / 4).max(1);
        self.is_crowded.store(free < least, Ordering::Relaxed);
        self.room.store(free.max(least), Ordering::Relaxed);
    }
}

impl<C: Clock> fmt::Debug for Buckets<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buckets").field("buckets_max", &self.buckets_max).finish_non_exhaustive()
    }
}

/// A rate per second, and a burst; `None` for 0.
pub(super) fn per_second(count: u32, burst: u32) -> Option<Quota> {
    let burst = NonZeroU32::new(burst.max(count))?;
    Some(Quota::per_second(NonZeroU32::new(count)?).allow_burst(burst))
}

/// A rate per minute, with a burst of the same size; `None` for 0.
pub(super) fn per_minute(count: u32) -> Option<Quota> {
    NonZeroU32::new(count).map(Quota::per_minute)
}

/// A rate per hour, with a burst of the same size; `None` for 0.
pub(super) fn per_hour(count: u32) -> Option<Quota> {
    NonZeroU32::new(count).map(Quota::per_hour)
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    fn buckets(
        quota: Option<Quota>,
        max: usize,
    ) -> (Buckets<FakeRelativeClock>, FakeRelativeClock) {
        let clock = FakeRelativeClock::default();
        (Buckets::with_clock(quota.unwrap(), max, &LimitsKey::random(), clock.clone()), clock)
    }

    fn taken(buckets: &Buckets<FakeRelativeClock>, whose: &str, tries: u32) -> u32 {
        (0..tries).map(|_| u32::from(buckets.take(whose).is_ok())).sum()
    }

    /// SERVICE section 6: 25 a second of one address, 110 at once.
    #[test]
    fn burst_is_available_at_once_and_refills_every_second() {
        let (buckets, clock) = buckets(per_second(25, 110), 100);
        assert_eq!(taken(&buckets, "one", 200), 110);
        assert_eq!(buckets.take("one"), Err(RetryAfter { seconds: 1 }));
        assert_eq!(taken(&buckets, "other", 200), 110, "another one has a bucket of its own");
        clock.advance(Duration::from_secs(1));
        assert_eq!(taken(&buckets, "one", 200), 25);
        clock.advance(Duration::from_secs(60));
        assert_eq!(taken(&buckets, "one", 200), 110, "no more than the burst is saved up");
    }

    #[test]
    fn retry_after_is_the_time_until_the_next_token() {
        let (buckets, clock) = buckets(per_hour(2), 100);
        assert_eq!(taken(&buckets, "one", 9), 2);
        assert_eq!(buckets.take("one"), Err(RetryAfter { seconds: 1_800 }));
        clock.advance(Duration::from_millis(1_799_500));
        assert_eq!(buckets.take("one"), Err(RetryAfter { seconds: 1 }));
        clock.advance(Duration::from_millis(500));
        assert_eq!(buckets.take("one"), Ok(()));
    }

    #[test]
    fn zero_rate_means_no_limit() {
        assert!(per_second(0, 110).is_none() && per_minute(0).is_none() && per_hour(0).is_none());
        assert!(Buckets::new(None, 100, &LimitsKey::random()).is_none());
    }

    #[test]
    fn number_of_buckets_is_bounded_and_overflow_is_still_limited() {
        let (buckets, clock) = buckets(per_hour(1), 20_000);
        let mut passed = 0;
        for address in 0..200_000_u32 {
            passed += u32::from(buckets.take(address).is_ok());
        }
        let most = 20_000 + usize::try_from(SHARED).unwrap();
        assert!(buckets.limiter.len() <= most, "{} buckets", buckets.limiter.len());
        assert!(passed as usize <= most, "{passed} of a crowd have passed");
        assert!(passed > 20_000, "none of the crowd has passed");
        clock.advance(Duration::from_secs(3 * 3_600));
        taken(&buckets, "one", 20_000);
        assert!(buckets.limiter.len() < 10, "full buckets stay: {}", buckets.limiter.len());
        assert!(!buckets.is_crowded.load(Ordering::Relaxed));
    }
}
