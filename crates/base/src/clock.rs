//! The clocks of the hub.
//!
//! - [`now`] is the clock of the hub's facts: stamps that clients see, what is in play, what is due in the
//!   writer. It never goes back within the process.
//! - [`wall`] is the system's time of day. Accounts, sessions, payments and mail use it: their rows are
//!   shared with other programs and outlive this one, so the operator's correction of a wrong clock must
//!   hold for them at once.
//! - Pure waits (beats, idle sockets, time-outs, tickets, token buckets, intervals of tasks) use [`monotonic`]
//!   or tokio's clock, and are not affected when the wall clock is set.
//!
//! # How `now` follows the wall clock
//!
//! `now` is the monotonic clock plus an offset. About once a millisecond one caller compares it with the wall
//! clock. Within `TOLERANCE_US` nothing happens: both clocks are adjusted equally by NTP's small corrections.
//!
//! - The wall clock is ahead: `now` jumps to it. [`stepped`] has the sum of all jumps, so that
//!   the writer can move its deadlines along and no feed is late because of a jump.
//! - The wall clock is behind: `now` runs at nine tenths of its speed until both agree. It goes on, so beats,
//!   deadlines and the demo go on, a tenth slower than usual at worst. After a step back by 60 s it is right
//!   again after ten minutes. After a step back by days it stays ahead until the process is restarted; an
//!   operator who corrects a clock that was wrong by so much should restart the hub.

use std::{
    sync::{
        LazyLock,
        atomic::{AtomicI64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use crate::Micros;

#[expect(clippy::disallowed_types, reason = "the clock of the process, which tests do not pause")]
type Instant = std::time::Instant;

/// Differences from the wall clock that are left alone. Two clocks cannot be read at the same moment, and
/// a thread may be interrupted in between.
const TOLERANCE_US: Micros = 2_000;
/// Between two comparisons with the wall clock.
const COMPARE_EVERY_US: Micros = 1_000;
/// While it is ahead of the wall clock, `now` loses one microsecond in so many.
const SLEW: Micros = 10;
/// The most that it loses at one comparison: for so long it may stand still.
const SLEW_MAX_US: Micros = 1_000;
/// An offset that was not set yet.
const UNSET: i64 = i64::MIN;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);
static CLOCK: Clock = Clock::new();

/// Microseconds since the Unix epoch, UTC, by a clock that follows the wall clock and never goes back.
#[must_use]
pub fn now() -> Micros {
    CLOCK.read(monotonic, wall)
}

/// Lets [`now`] go on from a time that a process before has shown, if it is ahead of the wall clock.
pub fn go_on_from(time: Micros) {
    CLOCK.go_on_from(time, monotonic, wall);
}

/// Microseconds since the Unix epoch, UTC, by the system's clock, which may be set back.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is where the hub asks for the time")]
pub fn wall() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Micros::try_from(since.as_micros()).unwrap_or(Micros::MAX)
}

/// Microseconds since some moment in the life of this process.
#[must_use]
pub fn monotonic() -> Micros {
    Micros::try_from(START.elapsed().as_micros()).unwrap_or(Micros::MAX)
}

/// By how many microseconds [`now`] has jumped forward, and the system's clock has been set back, in all.
#[must_use]
pub fn stepped() -> [Micros; 2] {
    [&CLOCK.stepped, &CLOCK.stepped_back].map(|steps| steps.load(Ordering::Relaxed))
}

/// Lock-free: readers share six numbers.
#[derive(Debug)]
struct Clock {
    /// From the monotonic clock to this one.
    offset: AtomicI64,
    /// When it is compared next, by the monotonic clock.
    compare_at: AtomicI64,
    /// The latest time that any thread has read.
    latest: AtomicI64,
    stepped: AtomicI64,
    stepped_back: AtomicI64,
    /// How far it was ahead of the wall clock when they were compared.
    ahead: AtomicI64,
}

impl Clock {
    const fn new() -> Self {
        Self {
            offset: AtomicI64::new(UNSET),
            compare_at: AtomicI64::new(0),
            latest: AtomicI64::new(0),
            stepped: AtomicI64::new(0),
            stepped_back: AtomicI64::new(0),
            ahead: AtomicI64::new(0),
        }
    }

    fn read(&self, monotonic: impl Fn() -> Micros, wall: impl Fn() -> Micros) -> Micros {
        let mono = monotonic();
        let due = self.compare_at.load(Ordering::Relaxed);
        if mono >= due
            && self
                .compare_at
                .compare_exchange(due, mono + COMPARE_EVERY_US, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        {
            let time_of_day = wall();
            // Interrupted in between, the two say nothing about each other.
            if monotonic() - mono < TOLERANCE_US / 2 {
                self.compare(mono, time_of_day, mono - due + COMPARE_EVERY_US);
            }
        }
        let offset = match self.offset.load(Ordering::Acquire) {
            // Another thread is about to set it.
            UNSET => wall() - mono,
            offset => offset,
        };
        let time = mono + offset;
        // Across threads, no read returns less than an earlier read.
        self.latest.fetch_max(time, Ordering::AcqRel).max(time)
    }

    fn go_on_from(&self, time: Micros, monotonic: impl Fn() -> Micros, wall: impl Fn() -> Micros) {
        let ahead = time - self.read(&monotonic, &wall);
        if ahead > 0 {
            self.offset.fetch_add(ahead, Ordering::AcqRel);
            self.ahead.fetch_add(ahead, Ordering::AcqRel);
        }
    }

    /// `passed`: since it was compared before.
    fn compare(&self, mono: Micros, wall: Micros, passed: Micros) {
        let offset = self.offset.load(Ordering::Acquire);
        if offset == UNSET {
            self.offset.store(wall - mono, Ordering::Release);
            return;
        }
        let ahead = mono + offset - wall;
        let back = ahead.max(0) - self.ahead.swap(ahead.max(0), Ordering::AcqRel);
        if back > TOLERANCE_US {
            self.stepped_back.fetch_add(back, Ordering::AcqRel);
        }
        if ahead < -TOLERANCE_US {
            self.offset.fetch_sub(ahead, Ordering::AcqRel);
            self.stepped.fetch_sub(ahead, Ordering::AcqRel);
        } else if ahead > TOLERANCE_US {
            let lost = (passed / SLEW).clamp(0, SLEW_MAX_US).min(ahead);
            self.offset.fetch_sub(lost, Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, thread};

    use proptest::prelude::*;

    use super::*;

    const SECOND: Micros = 1_000_000;
    const START: Micros = 1_788_220_800 * SECOND;

    /// A clock whose sources are moved by hand.
    struct Bench {
        clock: Clock,
        mono: Cell<Micros>,
        wall: Cell<Micros>,
    }

    impl Bench {
        fn new() -> Self {
            Self { clock: Clock::new(), mono: Cell::new(5), wall: Cell::new(START) }
        }

        fn read(&self) -> Micros {
            self.clock.read(|| self.mono.get(), || self.wall.get())
        }

        fn pass(&self, span: Micros) {
            self.mono.set(self.mono.get() + span);
            self.wall.set(self.wall.get() + span);
        }

        /// Reads every ten milliseconds, as shards do.
        fn run(&self, span: Micros) -> Micros {
            for _ in 0..span / 10_000 {
                self.pass(10_000);
                self.read();
            }
            self.read()
        }
    }

    #[test]
    fn undisturbed_clock_equals_the_wall_clock() {
        let bench = Bench::new();
        assert_eq!(bench.read(), START);
        assert_eq!(bench.run(10 * SECOND), START + 10 * SECOND);
        assert_eq!(bench.clock.stepped.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn step_forward_is_followed_at_once_and_counted() {
        for step in [2 * SECOND, 3_600 * SECOND, 40 * 86_400 * SECOND] {
            let bench = Bench::new();
            bench.run(SECOND);
            bench.wall.set(bench.wall.get() + step);
            bench.pass(10_000);
            assert_eq!(bench.read(), bench.wall.get(), "step {step}");
            assert_eq!(bench.clock.stepped.load(Ordering::Relaxed), step);
        }
    }

    #[test]
    fn step_back_is_counted_once_and_shown_until_both_agree() {
        let bench = Bench::new();
        let counts = || {
            let Clock { stepped_back, ahead, .. } = &bench.clock;
            (stepped_back.load(Ordering::Relaxed), ahead.load(Ordering::Relaxed))
        };
        bench.run(SECOND);
        assert_eq!(counts(), (0, 0));
        bench.wall.set(bench.wall.get() - 3_600 * SECOND);
        bench.run(SECOND);
        let (back, ahead) = counts();
        assert_eq!(back, 3_600 * SECOND);
        assert!((3_599 * SECOND..3_600 * SECOND).contains(&ahead), "{ahead}");
        bench.wall.set(bench.wall.get() + 3_600 * SECOND);
        bench.run(SECOND);
        assert_eq!(counts(), (3_600 * SECOND, 0));
        let later = bench.read() + 60 * SECOND;
        bench.clock.go_on_from(later, || bench.mono.get(), || bench.wall.get());
        bench.run(SECOND);
        let (back, ahead) = counts();
        assert_eq!(back, 3_600 * SECOND, "it was ahead from the start");
        assert!((59 * SECOND..60 * SECOND).contains(&ahead), "{ahead}");
    }

    #[test]
    fn clock_slows_after_a_step_back_until_both_agree() {
        for step in [60 * SECOND, 3_600 * SECOND, 40 * 86_400 * SECOND] {
            let bench = Bench::new();
            let before = bench.run(SECOND);
            bench.wall.set(bench.wall.get() - step);
            let after = bench.run(60 * SECOND);
            let passed = after - before;
            assert!(passed >= 54 * SECOND, "{step}: it ran for {passed} of 60 s");
            assert!(passed <= 55 * SECOND, "{step}: it does not come nearer, {passed}");
        }
        let bench = Bench::new();
        bench.run(SECOND);
        bench.wall.set(bench.wall.get() - 6 * SECOND);
        assert!(bench.run(61 * SECOND) - bench.wall.get() <= TOLERANCE_US);
    }

    #[test]
    fn clock_goes_on_from_the_time_of_the_process_before() {
        let bench = Bench::new();
        let go_on_from =
            |time| bench.clock.go_on_from(time, || bench.mono.get(), || bench.wall.get());
        go_on_from(START - SECOND);
        assert_eq!(bench.read(), START, "it is not behind");
        go_on_from(START + 6 * SECOND);
        assert_eq!(bench.read(), START + 6 * SECOND);
        let passed = bench.run(10 * SECOND) - (START + 6 * SECOND);
        assert!((9 * SECOND..10 * SECOND).contains(&passed), "it runs slower, {passed}");
        bench.run(60 * SECOND);
        assert!(bench.read() - bench.wall.get() <= TOLERANCE_US, "until both agree");
    }

    #[test]
    fn pause_between_reading_both_clocks_is_not_a_step() {
        let bench = Bench::new();
        bench.run(SECOND);
        bench.pass(10_000);
        // The thread stands still for five seconds after it has read the monotonic clock.
        let interrupted = || {
            bench.pass(5 * SECOND);
            bench.wall.get()
        };
        bench.clock.read(|| bench.mono.get(), interrupted);
        assert_eq!(bench.clock.stepped.load(Ordering::Relaxed), 0);
        assert_eq!(bench.run(SECOND), bench.wall.get());
    }

    #[test]
    fn threads_never_see_the_clock_go_back() {
        let clock = Clock::new();
        let shown = AtomicI64::new(0);
        // A wall clock that jumps between two times a day apart with each look.
        let looks = AtomicI64::new(0);
        let wall = || START + looks.fetch_add(1, Ordering::Relaxed) % 2 * 86_400 * SECOND;
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let before = shown.load(Ordering::SeqCst);
                        let time = clock.read(monotonic, wall);
                        assert!(time >= before, "{time} after {before}");
                        shown.fetch_max(time, Ordering::SeqCst);
                    }
                });
            }
        });
    }

    proptest! {
        /// For any changes of the wall clock, `now` never goes back, is never behind the wall clock by
        /// more than the tolerance, and never stands still for longer than allowed.
        #[test]
        fn clock_never_goes_back_and_never_stops(
            moves in prop::collection::vec(
                (1..200_000_i64, prop_oneof![4 => Just(0_i64), 1 => -1_000_000_000_000..1_000_000_000_000_i64]),
                1..200,
            ),
        ) {
            let bench = Bench::new();
            let mut last = bench.read();
            for (passed, step) in moves {
                bench.pass(passed);
                bench.wall.set(bench.wall.get() + step);
                let time = bench.read();
                prop_assert!(time >= last);
                prop_assert!(time - last >= passed - SLEW_MAX_US, "{} of {passed}", time - last);
                if passed >= COMPARE_EVERY_US {
                    prop_assert!(time >= bench.wall.get() - TOLERANCE_US);
                }
                last = time;
            }
        }
    }
}
