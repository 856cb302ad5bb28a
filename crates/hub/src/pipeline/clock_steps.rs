//! Reports that the clock of the system was set.

use std::mem;

use base::clock;
use fanout::Micros;
use metrics::counter;
use tracing::warn;

/// Shorter steps are corrections by NTP.
const STEP_US_MIN: Micros = 1_000_000;

/// The steps of the clock so far, forward and back, in microseconds.
#[derive(Debug)]
pub(super) struct ClockSteps([Micros; 2]);

impl ClockSteps {
    pub(super) fn new() -> Self {
        Self(clock::stepped())
    }

    /// Logs and counts new steps. Returns by how many microseconds the hub's clock has jumped forward.
    pub(super) fn report(&mut self) -> Micros {
        let new = self.advance(clock::stepped());
        for (step, direction) in new.into_iter().zip(["forward", "back"]) {
            if step >= STEP_US_MIN {
                counter!("matchwire_clock_steps_total", "direction" => direction).increment(1);
                warn!(direction, seconds = step / 1_000_000, "the clock of the system was set");
            }
        }
        new[0]
    }

    fn advance(&mut self, steps: [Micros; 2]) -> [Micros; 2] {
        let before = mem::replace(&mut self.0, steps);
        [steps[0] - before[0], steps[1] - before[1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_is_reported_once() {
        let mut steps = ClockSteps([5, 7]);
        assert_eq!(steps.advance([5, 7]), [0, 0]);
        assert_eq!(steps.advance([3_600_000_005, 7]), [3_600_000_000, 0]);
        assert_eq!(steps.advance([3_600_000_005, 10]), [0, 3]);
        assert_eq!(steps.advance([3_600_000_005, 10]), [0, 0]);
    }
}
