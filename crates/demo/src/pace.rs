//! The demo's clock, which may run faster than the wall clock.

use facts::event::{Fact, Timed};
use fanout::Micros;
use serde::{Deserialize, Serialize};

use crate::speed::DemoSpeed;

/// The simulated clock showed `world` when the real clock showed `ours`, and has run `speed` times
/// as fast since then. Before that, both ran at the same speed. By default both are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorldClock {
    speed: DemoSpeed,
    ours: Micros,
    world: Micros,
}

impl WorldClock {
    #[must_use]
    pub fn new(speed: DemoSpeed, ours: Micros, world: Micros) -> Self {
        Self { speed, ours, world }
    }

    /// The simulated time at this real time.
    #[must_use]
    pub fn in_world(self, ours: Micros) -> Micros {
        let since = ours - self.ours;
        self.world + if since > 0 { self.speed.times(since) } else { since }
    }

    /// The real time at this simulated time.
    #[must_use]
    pub fn ours(self, world: Micros) -> Micros {
        let since = world - self.world;
        self.ours + if since > 0 { self.speed.divide(since) } else { since }
    }

    /// Converts the times of the batch to the real clock.
    #[must_use]
    pub fn on_our_clock(self, mut timed: Timed) -> Timed {
        timed.clock_us = self.ours(timed.clock_us);
        timed.batch.at = timed.batch.at.map(|at| self.ours(at));
        for event in &mut timed.batch.events {
            if let Fact::Fixture(fixture) = &mut event.fact {
                fixture.start = fixture.start.map(|start| self.ours(start));
            }
        }
        timed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Micros = 1_000_000;

    #[test]
    fn clock_conversions_are_inverse() {
        let pace = WorldClock::new("10".parse().expect("a speed"), 1_000 * SECOND, 5_000 * SECOND);
        for (ours, world) in [(990, 4_990), (1_000, 5_000), (1_001, 5_010), (1_060, 5_600)] {
            assert_eq!(pace.in_world(ours * SECOND), world * SECOND, "at {ours} s");
            assert_eq!(pace.ours(world * SECOND), ours * SECOND, "at {world} s of the world");
        }
        assert_eq!(WorldClock::default().ours(123), 123);
    }
}
