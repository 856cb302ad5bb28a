//! Seeded chance, from a stream of its own for each match and each use.
//!
//! Nothing but `+ - * /` is done with what is drawn, here and in the whole simulator: `exp` and `ln`
//! differ in the last bit from one platform to the next, and a seed must give the same day on all.

use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use facts::event::{Micros, Side};

/// Microseconds in a second.
pub(super) const SECOND: Micros = 1_000_000;
pub(super) const MINUTE: Micros = 60 * SECOND;

#[derive(Debug, Clone)]
pub(super) struct Dice(ChaCha8Rng);

impl Dice {
    /// Streams of one seed are independent: what one match draws disturbs no other.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self(rng)
    }

    /// Evenly from 0 up to 1, without 1.
    pub(super) fn unit(&mut self) -> f64 {
        self.0.random()
    }

    /// Evenly around 0, from -1 up to 1.
    pub(super) fn swing(&mut self) -> f64 {
        self.unit() * 2.0 - 1.0
    }

    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Either side, evenly.
    pub(super) fn side(&mut self) -> Side {
        if self.chance(0.5) { Side::First } else { Side::Second }
    }

    /// A whole number between two bounds, inclusive.
    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        self.0.random_range(low..=high)
    }

    /// A span of whole milliseconds between two bounds in milliseconds, as microseconds.
    pub(super) fn millis(&mut self, (low, high): (i64, i64)) -> Micros {
        self.0.random_range(low..=high) * 1000
    }

    /// A span of whole milliseconds between two bounds in seconds, as microseconds.
    pub(super) fn seconds(&mut self, (low, high): (i64, i64)) -> Micros {
        self.millis((low * 1000, high * 1000))
    }

    /// The index of one of the weights; each is as likely as its share of them all.
    pub(super) fn weighted(&mut self, weights: impl Iterator<Item = f64> + Clone) -> usize {
        let mut rest = self.unit() * weights.clone().sum::<f64>();
        let mut last = 0;
        for (index, weight) in weights.enumerate() {
            last = index;
            rest -= weight;
            if rest < 0.0 {
                break;
            }
        }
        last
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        items.shuffle(&mut self.0);
    }
}
