//! The limit on requests of one address: a rate, and a burst.
//!
//! Beyond it, an address with one request at a time waits for its turn, so that a client that sends one request after the other
//! slows down and sees no error. An address with several requests in flight is refused.

use std::{sync::Arc, time::Duration};

use dashmap::{DashMap, Entry};
use metrics::counter;
use tokio::time::sleep;

use super::{Origin, RetryAfter, buckets::Buckets};

/// The longest that a request waits. The next token of an address comes within a second; another request may take it.
const WAIT_MAX: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct AddressLimit {
    pub(super) buckets: Buckets,
    /// Requests that are being answered or wait.
    in_flight: DashMap<Origin, usize>,
}

/// A request of an address, in flight until this is dropped.
#[derive(Debug)]
#[must_use = "the request is in flight until this is dropped"]
pub struct RequestPermit {
    /// `None` where there is no limit.
    counted: Option<(Arc<AddressLimit>, Origin)>,
}

impl AddressLimit {
    /// `None` where there is no limit.
    pub(super) fn new(buckets: Option<Buckets>) -> Option<Arc<Self>> {
        buckets.map(|buckets| Arc::new(Self { buckets, in_flight: DashMap::new() }))
    }

    /// Takes a token for a request of this address, and waits for it if no other request of the address is in flight.
    pub(super) async fn acquire(
        self: Arc<Self>,
        origin: Origin,
    ) -> Result<RequestPermit, RetryAfter> {
        let is_alone = self.enter(origin);
        let permit = RequestPermit { counted: Some((Arc::clone(&self), origin)) };
        let mut waited = Duration::ZERO;
        while let Err(wait) = self.buckets.try_take(origin) {
            if !is_alone || waited + wait > WAIT_MAX {
                return Err(RetryAfter::after(wait));
            }
            if waited.is_zero() {
                counter!("matchwire_requests_delayed_total").increment(1);
            }
            waited += wait;
            sleep(wait).await;
        }
        Ok(permit)
    }

    /// Counts a request in flight. Whether it is the only one of its address.
    fn enter(&self, origin: Origin) -> bool {
        let mut count = self.in_flight.entry(origin).or_default();
        *count += 1;
        *count == 1
    }
}

impl RequestPermit {
    pub(super) const UNLIMITED: Self = Self { counted: None };
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        let Some((limit, origin)) = &self.counted else { return };
        if let Entry::Occupied(mut entry) = limit.in_flight.entry(*origin) {
            *entry.get_mut() -= 1;
            if *entry.get() == 0 {
                entry.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use tokio::time::{Instant, timeout};

    use super::*;
    use crate::limits::{LimitsKey, buckets::per_second};

    fn limit(count: u32, burst: u32) -> Arc<AddressLimit> {
        let buckets = Buckets::new(per_second(count, burst), 100, &LimitsKey::random());
        AddressLimit::new(buckets).expect("a limit")
    }

    fn origin(last: u8) -> Origin {
        IpAddr::from(Ipv4Addr::new(198, 51, 100, last)).into()
    }

    #[tokio::test(start_paused = true)]
    async fn sequential_client_waits_and_is_never_refused() {
        let limit = limit(25, 110);
        let begun = Instant::now();
        for request in 0..360 {
            let permit = Arc::clone(&limit).acquire(origin(1)).await;
            assert!(permit.is_ok(), "request {request}: {permit:?}");
        }
        // 250 of them had to wait for 40 ms each. A timer may be a millisecond late.
        let waited = begun.elapsed();
        assert!(waited >= Duration::from_secs(10) - Duration::from_millis(40), "{waited:?}");
        assert!(waited <= Duration::from_millis(10_300), "{waited:?}");
        assert!(limit.in_flight.is_empty(), "addresses without requests remain");
    }

    #[tokio::test(start_paused = true)]
    async fn address_with_several_requests_in_flight_is_refused_beyond_its_burst() {
        let limit = limit(1, 3);
        let acquire = || Arc::clone(&limit).acquire(origin(1));
        let held = [acquire().await, acquire().await, acquire().await];
        assert!(held.iter().all(Result::is_ok), "within the burst");
        let begun = Instant::now();
        assert_eq!(acquire().await.err(), Some(RetryAfter { seconds: 1 }));
        assert_eq!(begun.elapsed(), Duration::ZERO, "it is refused at once");
        let other = Arc::clone(&limit).acquire(origin(2)).await;
        assert!(other.is_ok(), "another address");
        drop((held, other));
        assert!(acquire().await.is_ok(), "alone, it waits");
        assert!(begun.elapsed() >= Duration::from_millis(990), "{:?}", begun.elapsed());
    }

    /// A request that its client gives up leaves nothing.
    #[tokio::test(start_paused = true)]
    async fn waiting_request_may_be_cancelled() {
        let limit = limit(1, 1);
        drop(Arc::clone(&limit).acquire(origin(1)).await.expect("the first"));
        let waiting = Arc::clone(&limit).acquire(origin(1));
        assert!(timeout(Duration::from_millis(1), waiting).await.is_err(), "it waits");
        assert!(limit.in_flight.is_empty());
    }
}
