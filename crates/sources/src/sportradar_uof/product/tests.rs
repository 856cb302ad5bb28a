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
        let rates = RecoveryRates::default();
        let products = Products::new(all, alive, recovery, rates, 100, start);
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

    /// Both are alive again after a disconnect.
    fn reconnected(&mut self, second: u64) {
        self.connected(second);
        self.check_due(second, &[]);
        self.alive(LIVE, 7000, second);
        self.alive(PRE, 7000, second);
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
        test.alive(LIVE, 1000, 1);
        test.alive(PRE, 1000, 1);
        test.check_due(1, &[(0, 100, None), (1, 101, None)]);
        assert!(test.products.complete(LIVE, 100) && test.products.complete(PRE, 101));
        assert!(test.products.all_live());
        test
    }
}

#[test]
fn all_is_live_once_the_recovery_of_each_product_is_complete() {
    let mut test = TestProducts::new();
    test.connected(0);
    test.check_due(0, &[]);
    test.alive(LIVE, 500, 1);
    test.check_due(1, &[(0, 100, None)]);
    test.alive(PRE, 500, 1);
    test.check_due(1, &[(1, 101, None)]);
    test.check_due(1, &[]);
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
    test.reconnected(5);
    assert!(!test.products.all_live());
    test.check_due(5, &[(0, 102, Some(2000)), (1, 103, Some(1000))]);
    // Disconnected again before it was complete: the recovery start stays, despite a newer alive.
    test.alive(LIVE, 6000, 6);
    test.reconnected(7);
    test.check_due(7, &[(0, 104, Some(2000)), (1, 105, Some(1000))]);
    assert!(!test.products.complete(LIVE, 102), "of the connection before");
    test.alive(LIVE, 8000, 8);
    assert!(test.products.complete(LIVE, 104));
    test.reconnected(9);
    test.check_due(9, &[(0, 106, Some(8000)), (1, 107, Some(1000))]);
}

#[test]
fn a_gap_beyond_the_horizon_is_recovered_in_full() {
    let mut test = TestProducts::live();
    test.wall_ms = 1000 + 10 * HOUR_MS;
    test.reconnected(5);
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
    test.products.down(LIVE);
    test.products.down(9);
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
    test.reconnected(5);
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

/// A provider that has refused is not asked again before the wait is over, whatever happens meanwhile.
#[test]
fn back_off_outlives_every_event() {
    const RETRY_S: u64 = 60;
    let check = |what: &str, event: fn(&mut TestProducts, u64)| {
        let mut test = TestProducts::live();
        test.reconnected(5);
        test.check_due(5, &[(0, 102, Some(1000)), (1, 103, Some(1000))]);
        let refused = RecoveryRequest { index: 0, request_id: 102, after: Some(1000) };
        let retry_at = test.at(RETRY_S);
        test.products.failed(&refused, retry_at);
        test.products.complete(PRE, 103);
        for second in 6..RETRY_S {
            event(&mut test, second);
            test.alive(PRE, 7000, second);
            let now = test.at(second);
            let due = test.products.due_requests(now, test.wall_ms);
            assert!(due.iter().all(|it| it.index != 0), "{what}: {due:?} at second {second}");
        }
        test.alive(LIVE, 8000, RETRY_S);
        let due = test.products.due_requests(retry_at, test.wall_ms);
        assert!(due.iter().any(|it| it.index == 0), "{what}: {due:?}");
    };
    check("nothing but signs of life", |test, second| test.alive(LIVE, 7000, second));
    check("gaps", |test, second| {
        if second % 11 == 0 {
            test.alive(LIVE, 7000, second);
        }
    });
    check("a new connection", |test, second| {
        if second == 10 {
            test.connected(second);
        }
        test.alive(LIVE, 7000, second);
    });
    check("the product was down", |test, second| {
        test.products.down(LIVE);
        test.alive(LIVE, 7000, second);
    });
    check("messages were missed", |test, second| {
        let now = test.at(second);
        test.products.alive(LIVE, 7000, false, now);
    });
}

/// A feed that has a gap every ten seconds is recovered as often as the provider allows, and no more.
#[test]
fn recoveries_keep_the_rates_of_the_provider() {
    let mut test = TestProducts::live();
    let mut requested = Vec::new();
    for second in (10..7_200).step_by(10) {
        test.wall_ms = HOUR_MS + i64::try_from(second).unwrap() * 1000;
        let timestamp = test.wall_ms;
        test.alive(PRE, timestamp, second);
        let now = test.at(second);
        test.products.alive(LIVE, timestamp, false, now);
        for request in test.products.due_requests(now, test.wall_ms) {
            assert_eq!(request.index, 0, "the other product has no gap");
            // After a long wait one reaches back further, and counts among others.
            if request.after.is_some_and(|after| timestamp - after < HOUR_MS / 2) {
                requested.push(second);
            }
            assert!(test.products.complete(LIVE, request.request_id));
        }
    }
    for (most, seconds) in [(20, 600), (60, 3_600)] {
        let count =
            |end: u64| requested.iter().filter(|at| (end - seconds + 1..=end).contains(at)).count();
        // After the first hour, whose first recovery reaches back further than the others.
        assert_eq!((3_700..7_200).map(count).max(), Some(most), "in {seconds} s: {requested:?}");
    }
}

/// What a restart, a takeover or a crash keeps: where to go on, what was requested, and how long to wait.
#[test]
fn position_outlives_a_restart() {
    let mut test = TestProducts::live();
    test.reconnected(5);
    test.check_due(5, &[(0, 102, Some(1000)), (1, 103, Some(1000))]);
    let refused = RecoveryRequest { index: 0, request_id: 102, after: Some(1000) };
    test.products.failed(&refused, test.start + Duration::from_secs(60));
    assert!(test.products.complete(PRE, 103));
    test.alive(PRE, 9000, 9);
    let position = test.products.take_position("feed", test.at(10), test.wall_ms).unwrap();
    assert_eq!(test.products.take_position("feed", test.at(10), test.wall_ms), None, "unchanged");

    let mut again = TestProducts::new();
    let (now, wall_ms) = (again.at(0), again.wall_ms);
    assert!(!again.products.resume("{}", Some("feed"), now, wall_ms));
    assert!(again.products.resume(&position, Some("feed"), now, wall_ms));
    again.reconnected(1);
    again.check_due(1, &[(1, 100, Some(9000))]);
    // The other one still waits: 50 s were left.
    again.alive(LIVE, 7000, 49);
    again.check_due(49, &[]);
    again.alive(LIVE, 7000, 50);
    again.check_due(50, &[(0, 101, Some(1000))]);
}

/// An outage of the network uses up no request of the provider, and those that it has seen count.
#[test]
fn request_that_was_not_sent_does_not_count() {
    let mut test = TestProducts::new();
    test.reconnected(1);
    let mut requested = 0;
    for second in 1..=60 {
        test.alive(LIVE, 7000, second);
        let now = test.at(second);
        for request in test.products.due_requests(now, test.wall_ms) {
            requested += 1;
            if second <= 40 {
                test.products.unsent(&request);
            }
            test.products.failed(&request, now + Duration::from_secs(1));
        }
    }
    // Each product, of which the second is silent after ten seconds: a request each second, and two that count.
    assert_eq!(requested, 40 + 10 + 2);
}

/// The provider counts requests of an account, whatever the hub has forgotten since.
#[test]
fn other_settings_do_not_forget_the_limits_of_the_provider() {
    for feed in [None, Some("another feed")] {
        let mut position: Option<String> = None;
        let mut requested = 0;
        // Each change of settings takes a full recovery.
        for _ in 0..5 {
            let mut test = TestProducts::new();
            let (now, wall_ms) = (test.at(0), test.wall_ms);
            if let Some(position) = &position {
                assert!(!test.products.resume(position, feed, now, wall_ms));
            }
            test.reconnected(1);
            for request in test.products.due_requests(test.at(1), test.wall_ms) {
                assert_eq!(request.after, None, "nothing of before the change counts");
                requested += 1;
            }
            position = test.products.take_position("feed", test.at(1), wall_ms).or(position);
        }
        assert_eq!(requested, 4, "two of each product");
    }
}
