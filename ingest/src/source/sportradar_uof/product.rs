//! Which products of the feed can be relied on, and what must be asked for to mend the others.
//!
//! Pure: `now` is told, what is to be asked is returned. A product is live from the end of a
//! recovery on, for as long as it says that it is alive. After a cut or a gap it is asked for all
//! that changed since the last time that it was known to be whole; if that is too long ago, or never
//! was, for everything.

use std::time::Duration;

use tokio::time::Instant;

/// One of the feed's producers of odds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// As in the messages: 1 is live odds, 3 is pre-match odds.
    pub id: u32,
    /// As in the address of a recovery: `liveodds`, `pre`.
    pub name: String,
    /// The provider recovers no further back. Live odds: 10 hours; pre-match odds: 72 hours.
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

/// A recovery that is to be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ask {
    /// Its place in the list of products.
    pub(super) place: usize,
    pub(super) request_id: u32,
    /// Milliseconds by the provider's clock; `None`: everything.
    pub(super) after: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It does not say that it is alive; to ask would be in vain.
    Silent,
    /// A recovery is to be asked for at that time.
    Due(Instant),
    /// One was asked for at that time.
    Asked(u32, Instant),
    Live,
}

#[derive(Debug)]
struct Followed {
    product: Product,
    state: State,
    /// When it was alive last, by our clock.
    heard: Instant,
    /// When it was alive last, by its own.
    alive: Option<i64>,
    /// All before this, by its own clock, was received.
    whole: Option<i64>,
}

/// All products that are followed.
#[derive(Debug)]
pub(super) struct Products {
    all: Vec<Followed>,
    /// A product that says nothing of itself for so long is not to be relied on.
    alive_within: Duration,
    /// A recovery that takes longer is asked for again.
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
        let followed = |product| Followed {
            product,
            state: State::Silent,
            heard: now,
            alive: None,
            whole: None,
        };
        let all = products.into_iter().map(followed).collect();
        Self { all, alive_within, recovery_within, next_id: first_id }
    }

    pub(super) fn name(&self, place: usize) -> &str {
        &self.all[place].product.name
    }

    pub(super) fn all_live(&self) -> bool {
        self.all.iter().all(|followed| followed.state == State::Live)
    }

    /// Messages come again; those in between did not.
    pub(super) fn connected(&mut self, now: Instant) {
        for followed in &mut self.all {
            followed.state = State::Due(now);
            followed.heard = now;
        }
    }

    /// A product says that it is alive.
    pub(super) fn alive(&mut self, id: u32, timestamp: i64, subscribed: bool, now: Instant) {
        let Some(followed) = self.all.iter_mut().find(|it| it.product.id == id) else { return };
        followed.heard = now;
        match followed.state {
            State::Live if subscribed => followed.whole = Some(timestamp),
            State::Live | State::Silent => followed.state = State::Due(now),
            // It says so until it has taken notice of the request.
            State::Asked(..) | State::Due(_) => {}
        }
        followed.alive = Some(timestamp);
    }

    /// A recovery has come to its end. Whether it is the one that was waited for.
    pub(super) fn complete(&mut self, id: u32, request_id: u32) -> bool {
        let Some(followed) = self.all.iter_mut().find(|it| it.product.id == id) else {
            return false;
        };
        if !matches!(followed.state, State::Asked(asked, _) if asked == request_id) {
            return false;
        }
        followed.state = State::Live;
        followed.whole = followed.alive.or(followed.whole);
        true
    }

    /// A recovery could not be asked for; it is to be tried again at that time.
    pub(super) fn refused(&mut self, ask: &Ask, again: Instant) {
        let followed = &mut self.all[ask.place];
        if matches!(followed.state, State::Asked(asked, _) if asked == ask.request_id) {
            followed.state = State::Due(again);
        }
    }

    /// What is to be asked for now. `wall_ms` is now by the wall clock, in milliseconds.
    pub(super) fn due(&mut self, now: Instant, wall_ms: i64) -> Vec<Ask> {
        let mut asks = Vec::new();
        for (place, followed) in self.all.iter_mut().enumerate() {
            followed.mind(now, self.alive_within, self.recovery_within);
            if matches!(followed.state, State::Due(at) if at <= now) {
                let request_id = self.next_id;
                // The provider's own clients count in a signed number of 32 bits.
                self.next_id = (self.next_id % 0x7fff_ffff) + 1;
                followed.state = State::Asked(request_id, now);
                asks.push(Ask { place, request_id, after: followed.after(wall_ms) });
            }
        }
        asks
    }

    /// When something is due next, if nothing happens until then.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let deadlines = self.all.iter().filter_map(|followed| {
            let silence = followed.heard + self.alive_within;
            match followed.state {
                State::Silent => None,
                State::Due(at) => Some(at.min(silence)),
                State::Asked(_, at) => Some(silence.min(at + self.recovery_within)),
                State::Live => Some(silence),
            }
        });
        deadlines.min()
    }
}

impl Followed {
    fn mind(&mut self, now: Instant, alive_within: Duration, recovery_within: Duration) {
        if now >= self.heard + alive_within {
            self.state = State::Silent;
        }
        if matches!(self.state, State::Asked(_, at) if now >= at + recovery_within) {
            self.state = State::Due(now);
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

    /// Two products that are alive within 10 s and recover within 60 s, and a clock.
    struct Told {
        products: Products,
        start: Instant,
        wall_ms: i64,
    }

    const LIVE: u32 = 1;
    const PRE: u32 = 3;
    const HOUR_MS: i64 = 3_600_000;

    impl Told {
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

        /// Place, request and since when, of what is asked for now.
        #[track_caller]
        fn asks(&mut self, second: u64, expected: &[(usize, u32, Option<i64>)]) {
            let now = self.at(second);
            let asks = self.products.due(now, self.wall_ms);
            let asks: Vec<_> = asks.iter().map(|it| (it.place, it.request_id, it.after)).collect();
            assert_eq!(asks, expected);
        }

        /// Both live, alive at 1 s by our clock and at 1000 by their own.
        fn live() -> Self {
            let mut told = Self::new();
            told.connected(0);
            told.asks(0, &[(0, 100, None), (1, 101, None)]);
            told.alive(LIVE, 1000, 1);
            told.alive(PRE, 1000, 1);
            assert!(told.products.complete(LIVE, 100) && told.products.complete(PRE, 101));
            assert!(told.products.all_live());
            told
        }
    }

    #[test]
    fn all_is_live_once_the_recovery_of_each_product_is_complete() {
        let mut told = Told::new();
        told.connected(0);
        told.asks(0, &[(0, 100, None), (1, 101, None)]);
        told.asks(0, &[]);
        assert!(!told.products.complete(LIVE, 101), "another product's");
        assert!(!told.products.complete(9, 100), "nobody's");
        assert!(told.products.complete(LIVE, 100));
        assert!(!told.products.all_live());
        assert!(told.products.complete(PRE, 101));
        assert!(told.products.all_live());
    }

    #[test]
    fn after_a_cut_what_changed_since_the_last_alive_is_asked_for() {
        let mut told = Told::live();
        told.alive(LIVE, 2000, 2);
        told.connected(5);
        assert!(!told.products.all_live());
        told.asks(5, &[(0, 102, Some(2000)), (1, 103, Some(1000))]);
        // Cut off again before it was complete: that since when stays, whatever is alive now.
        told.alive(LIVE, 6000, 6);
        told.connected(7);
        told.asks(7, &[(0, 104, Some(2000)), (1, 105, Some(1000))]);
        assert!(!told.products.complete(LIVE, 102), "of the connection before");
        told.alive(LIVE, 8000, 8);
        assert!(told.products.complete(LIVE, 104));
        told.connected(9);
        told.asks(9, &[(0, 106, Some(8000)), (1, 107, Some(1000))]);
    }

    #[test]
    fn what_is_too_long_ago_is_asked_for_whole() {
        let mut told = Told::live();
        told.wall_ms = 1000 + 10 * HOUR_MS;
        told.connected(5);
        told.asks(5, &[(0, 102, None), (1, 103, Some(1000))]);
    }

    #[test]
    fn a_silent_product_is_not_live_and_is_recovered_when_it_speaks_again() {
        let mut told = Told::live();
        told.alive(PRE, 9000, 9);
        assert_eq!(told.products.deadline(), Some(told.at(11)));
        told.asks(10, &[]);
        assert!(told.products.all_live());
        told.asks(11, &[]);
        assert!(!told.products.all_live());
        told.alive(PRE, 12000, 12);
        told.asks(12, &[]);
        told.alive(LIVE, 13000, 13);
        told.asks(13, &[(0, 102, Some(1000))]);
        assert!(told.products.complete(LIVE, 102));
        assert!(told.products.all_live());
    }

    #[test]
    fn a_product_that_says_that_we_miss_messages_is_recovered_once() {
        let mut told = Told::live();
        for second in [2, 3] {
            let now = told.at(second);
            told.products.alive(LIVE, 2000, false, now);
            assert!(!told.products.all_live());
        }
        told.asks(3, &[(0, 102, Some(1000))]);
        let now = told.at(4);
        told.products.alive(LIVE, 4000, false, now);
        told.asks(4, &[]);
        assert!(told.products.complete(LIVE, 102));
    }

    #[test]
    fn a_recovery_that_is_refused_or_never_ends_is_asked_for_again() {
        let mut told = Told::live();
        told.connected(5);
        told.asks(5, &[(0, 102, Some(1000)), (1, 103, Some(1000))]);
        let again = told.at(8);
        let ask = Ask { place: 0, request_id: 102, after: None };
        told.products.refused(&ask, again);
        assert_eq!(told.products.deadline(), Some(again));
        told.asks(7, &[]);
        told.asks(8, &[(0, 104, Some(1000))]);
        told.products.refused(&ask, again);
        told.asks(9, &[]);
        for second in (10..70).step_by(5) {
            told.alive(LIVE, 5000, second);
            told.alive(PRE, 5000, second);
        }
        told.asks(64, &[]);
        told.asks(65, &[(1, 105, Some(1000))]);
        told.asks(68, &[(0, 106, Some(1000))]);
    }
}
