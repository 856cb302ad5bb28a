//! Tracks which products of the feed are live, and which recoveries must be requested.
//!
//! Pure: `now` is an argument, the requests are return values. A product is live from the end of a
//! recovery for as long as it sends `alive`. After a disconnect or a gap, the changes since the last
//! time it was complete are requested; everything, if that is too long ago or never happened.

use std::time::Duration;

use tokio::time::Instant;

/// One of the feed's producers of odds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// The id in messages: 1 is live odds, 3 is pre-match odds.
    pub id: u32,
    /// The name in the URL of a recovery: `liveodds`, `pre`.
    pub name: String,
    /// How far back the provider recovers. Live odds: 10 hours; pre-match odds: 72 hours.
    pub horizon: Duration,
}

impl Product {
    #[must_use]
    pub fn live_odds() -> Self {
        let horizon = Duration::from_secs(10 * 60 * 60);
        Self { id: 1, name: "liveodds".to_owned(), horizon }
    }

    #[must_use]
    pub fn pre_match() -> Self {
        let horizon = Duration::from_secs(72 * 60 * 60);
        Self { id: 3, name: "pre".to_owned(), horizon }
    }
}

/// A recovery to request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecoveryRequest {
    /// The index of the product in the list of products.
    pub(super) index: usize,
    pub(super) request_id: u32,
    /// Milliseconds by the provider's clock; `None`: everything.
    pub(super) after: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProductStatus {
    /// It does not send `alive`; a recovery request would be useless.
    Silent,
    /// A recovery is to be requested at that time.
    Due(Instant),
    /// A recovery with this id was requested at that time.
    Requested(u32, Instant),
    Live,
}

#[derive(Debug)]
struct ProductState {
    product: Product,
    status: ProductStatus,
    /// When the last `alive` was received, by our clock.
    last_message: Instant,
    /// The timestamp of the last `alive`, by the provider's clock.
    alive: Option<i64>,
    /// Everything before this, by the provider's clock, was received.
    whole: Option<i64>,
}

/// The state of all products.
#[derive(Debug)]
pub(super) struct Products {
    all: Vec<ProductState>,
    /// A product without an `alive` for this long is silent.
    alive_within: Duration,
    /// A recovery that takes longer is requested again.
    recovery_within: Duration,
    next_id: u32,
}

impl Products {
    pub(super) fn new(
        products: Vec<Product>,
        alive_within: Duration,
        recovery_within: Duration,
        first_id: u32,
        now: Instant,
    ) -> Self {
        let new_state = |product| ProductState {
            product,
            status: ProductStatus::Silent,
            last_message: now,
            alive: None,
            whole: None,
        };
        let all = products.into_iter().map(new_state).collect();
        Self { all, alive_within, recovery_within, next_id: first_id }
    }

    pub(super) fn name(&self, index: usize) -> &str {
        &self.all[index].product.name
    }

    pub(super) fn all_live(&self) -> bool {
        self.all.iter().all(|state| state.status == ProductStatus::Live)
    }

    /// A new connection: the messages sent before it were missed.
    pub(super) fn connected(&mut self, now: Instant) {
        for state in &mut self.all {
            state.status = ProductStatus::Due(now);
            state.last_message = now;
        }
    }

    /// Handles an `alive` message.
    pub(super) fn alive(&mut self, id: u32, timestamp: i64, subscribed: bool, now: Instant) {
        let Some(state) = self.all.iter_mut().find(|it| it.product.id == id) else { return };
        state.last_message = now;
        match state.status {
            ProductStatus::Live if subscribed => state.whole = Some(timestamp),
            ProductStatus::Live | ProductStatus::Silent => state.status = ProductStatus::Due(now),
            // The product reports this until it has processed the request.
            ProductStatus::Requested(..) | ProductStatus::Due(_) => {}
        }
        state.alive = Some(timestamp);
    }

    /// Handles a `product_down` message: only a full recovery brings back the markets that it suspends.
    pub(super) fn down(&mut self, id: u32, now: Instant) {
        let Some(state) = self.all.iter_mut().find(|it| it.product.id == id) else { return };
        state.whole = None;
        // One that is due already may have to wait until it is requested again.
        if !matches!(state.status, ProductStatus::Due(_)) {
            state.status = ProductStatus::Due(now);
        }
    }

    /// Handles the end of a recovery. Returns whether that recovery was pending.
    pub(super) fn complete(&mut self, id: u32, request_id: u32) -> bool {
        let Some(state) = self.all.iter_mut().find(|it| it.product.id == id) else {
            return false;
        };
        if !matches!(state.status, ProductStatus::Requested(requested, _) if requested == request_id)
        {
            return false;
        }
        state.status = ProductStatus::Live;
        state.whole = state.alive.or(state.whole);
        true
    }

    /// The request failed; it is to be sent again at `retry_at`.
    pub(super) fn failed(&mut self, request: &RecoveryRequest, retry_at: Instant) {
        let state = &mut self.all[request.index];
        if matches!(state.status, ProductStatus::Requested(requested, _) if requested == request.request_id)
        {
            state.status = ProductStatus::Due(retry_at);
        }
    }

    /// The recoveries to request now. `wall_ms` is the wall clock, in milliseconds.
    pub(super) fn due_requests(&mut self, now: Instant, wall_ms: i64) -> Vec<RecoveryRequest> {
        let mut requests = Vec::new();
        for (index, state) in self.all.iter_mut().enumerate() {
            state.check_deadlines(now, self.alive_within, self.recovery_within);
            if matches!(state.status, ProductStatus::Due(at) if at <= now) {
                let request_id = self.next_id;
                // The provider's own clients count in a signed number of 32 bits.
                self.next_id = (self.next_id % 0x7fff_ffff) + 1;
                state.status = ProductStatus::Requested(request_id, now);
                requests.push(RecoveryRequest { index, request_id, after: state.after(wall_ms) });
            }
        }
        requests
    }

    /// When the next action is due if no message arrives before.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let deadlines = self.all.iter().filter_map(|state| {
            let silence = state.last_message + self.alive_within;
            match state.status {
                ProductStatus::Silent => None,
                ProductStatus::Due(at) => Some(at.min(silence)),
                ProductStatus::Requested(_, at) => Some(silence.min(at + self.recovery_within)),
                ProductStatus::Live => Some(silence),
            }
        });
        deadlines.min()
    }
}

impl ProductState {
    fn check_deadlines(&mut self, now: Instant, alive_within: Duration, recovery_within: Duration) {
        if now >= self.last_message + alive_within {
            self.status = ProductStatus::Silent;
        }
        if matches!(self.status, ProductStatus::Requested(_, at) if now >= at + recovery_within) {
            self.status = ProductStatus::Due(now);
        }
    }

    fn after(&self, wall_ms: i64) -> Option<i64> {
        let horizon = i64::try_from(self.product.horizon.as_millis()).unwrap_or(i64::MAX);
        self.whole.filter(|whole| wall_ms.saturating_sub(*whole) < horizon)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two products with limits of 10 s for `alive` and 60 s for a recovery, and a clock.
    struct TestProducts {
        products: Products,
        start: Instant,
        wall_ms: i64,
    }

    const LIVE: u32 = 1;
    const PRE: u32 = 3;
    const HOUR_MS: i64 = 3_600_000;

    impl TestProducts {
        fn new() -> Self {
            let start = Instant::now();
            let all = vec![Product::live_odds(), Product::pre_match()];
            let (alive, recovery) = (Duration::from_secs(10), Duration::from_secs(60));
            let products = Products::new(all, alive, recovery, 100, start);
            Self { products, start, wall_ms: HOUR_MS }
        }

        fn at(&self, second: u64) -> Instant {
            self.start + Duration::from_secs(second)
        }

        fn alive(&mut self, product: u32, timestamp: i64, second: u64) {
            let now = self.at(second);
            self.products.alive(product, timestamp, true, now);
        }

        fn connected(&mut self, second: u64) {
            let now = self.at(second);
            self.products.connected(now);
        }

        /// Checks index, request id and start of the recoveries that are due now.
        #[track_caller]
        fn check_due(&mut self, second: u64, expected: &[(usize, u32, Option<i64>)]) {
            let now = self.at(second);
            let requests = self.products.due_requests(now, self.wall_ms);
            let requests: Vec<_> =
                requests.iter().map(|it| (it.index, it.request_id, it.after)).collect();
            assert_eq!(requests, expected);
        }

        /// Both live, alive at 1 s by our clock and at 1000 by their own.
        fn live() -> Self {
            let mut test = Self::new();
            test.connected(0);
            test.check_due(0, &[(0, 100, None), (1, 101, None)]);
            test.alive(LIVE, 1000, 1);
            test.alive(PRE, 1000, 1);
            assert!(test.products.complete(LIVE, 100) && test.products.complete(PRE, 101));
            assert!(test.products.all_live());
            test
        }
    }

    #[test]
    fn all_is_live_once_the_recovery_of_each_product_is_complete() {
        let mut test = TestProducts::new();
        test.connected(0);
        test.check_due(0, &[(0, 100, None), (1, 101, None)]);
        test.check_due(0, &[]);
        assert!(!test.products.complete(LIVE, 101), "another product's");
        assert!(!test.products.complete(9, 100), "no product has this id");
        assert!(test.products.complete(LIVE, 100));
        assert!(!test.products.all_live());
        assert!(test.products.complete(PRE, 101));
        assert!(test.products.all_live());
    }

    #[test]
    fn after_a_disconnect_changes_since_the_last_alive_are_requested() {
        let mut test = TestProducts::live();
        test.alive(LIVE, 2000, 2);
        test.connected(5);
        assert!(!test.products.all_live());
        test.check_due(5, &[(0, 102, Some(2000)), (1, 103, Some(1000))]);
        // Disconnected again before it was complete: the recovery start stays, despite a newer alive.
        test.alive(LIVE, 6000, 6);
        test.connected(7);
        test.check_due(7, &[(0, 104, Some(2000)), (1, 105, Some(1000))]);
        assert!(!test.products.complete(LIVE, 102), "of the connection before");
        test.alive(LIVE, 8000, 8);
        assert!(test.products.complete(LIVE, 104));
        test.connected(9);
        test.check_due(9, &[(0, 106, Some(8000)), (1, 107, Some(1000))]);
    }

    #[test]
    fn a_gap_beyond_the_horizon_is_recovered_in_full() {
        let mut test = TestProducts::live();
        test.wall_ms = 1000 + 10 * HOUR_MS;
        test.connected(5);
        test.check_due(5, &[(0, 102, None), (1, 103, Some(1000))]);
    }

    #[test]
    fn a_silent_product_is_not_live_and_is_recovered_when_it_is_alive_again() {
        let mut test = TestProducts::live();
        test.alive(PRE, 9000, 9);
        assert_eq!(test.products.deadline(), Some(test.at(11)));
        test.check_due(10, &[]);
        assert!(test.products.all_live());
        test.check_due(11, &[]);
        assert!(!test.products.all_live());
        test.alive(PRE, 12000, 12);
        test.check_due(12, &[]);
        test.alive(LIVE, 13000, 13);
        test.check_due(13, &[(0, 102, Some(1000))]);
        assert!(test.products.complete(LIVE, 102));
        assert!(test.products.all_live());
    }

    #[test]
    fn a_product_that_reports_missed_messages_is_recovered_once() {
        let mut test = TestProducts::live();
        for second in [2, 3] {
            let now = test.at(second);
            test.products.alive(LIVE, 2000, false, now);
            assert!(!test.products.all_live());
        }
        test.check_due(3, &[(0, 102, Some(1000))]);
        let now = test.at(4);
        test.products.alive(LIVE, 4000, false, now);
        test.check_due(4, &[]);
        assert!(test.products.complete(LIVE, 102));
    }

    #[test]
    fn a_product_that_is_down_is_recovered_in_full() {
        let mut test = TestProducts::live();
        let now = test.at(2);
        test.products.down(LIVE, now);
        test.products.down(9, now);
        assert!(!test.products.all_live());
        test.check_due(2, &[(0, 102, None)]);
        test.check_due(3, &[]);
        test.alive(LIVE, 4000, 4);
        assert!(test.products.complete(LIVE, 102));
        assert!(test.products.all_live());
    }

    #[test]
    fn a_recovery_that_fails_or_never_ends_is_requested_again() {
        let mut test = TestProducts::live();
        test.connected(5);
        test.check_due(5, &[(0, 102, Some(1000)), (1, 103, Some(1000))]);
        let retry_at = test.at(8);
        let request = RecoveryRequest { index: 0, request_id: 102, after: None };
        test.products.failed(&request, retry_at);
        assert_eq!(test.products.deadline(), Some(retry_at));
        test.check_due(7, &[]);
        test.check_due(8, &[(0, 104, Some(1000))]);
        test.products.failed(&request, retry_at);
        test.check_due(9, &[]);
        for second in (10..70).step_by(5) {
            test.alive(LIVE, 5000, second);
            test.alive(PRE, 5000, second);
        }
        test.check_due(64, &[]);
        test.check_due(65, &[(1, 105, Some(1000))]);
        test.check_due(68, &[(0, 106, Some(1000))]);
    }
}
