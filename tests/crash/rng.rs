//! Pseudo-random numbers: the same ones for the same seed.

use std::time::Duration;

#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    /// A sequence of its own for each number of a seed.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mut rng = Self(seed ^ number.wrapping_mul(0xd1b5_4a32_d192_ed03));
        rng.next();
        rng
    }

    /// SplitMix64.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// An index of a list that is not empty.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("below a length")
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.index(all.len())]
    }

    /// True once in so many times.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below(to - from + 1))
    }
}

/// Deals all values in a random order, and then all of them again.
#[derive(Debug)]
pub(crate) struct Deck<T> {
    all: Vec<T>,
    rest: Vec<T>,
}

impl<T: Copy + PartialEq> Deck<T> {
    pub(crate) fn new(all: &[T]) -> Self {
        Self { all: all.into(), rest: Vec::new() }
    }

    pub(crate) fn deal(&mut self, rng: &mut Rng) -> T {
        if self.rest.is_empty() {
            self.rest.clone_from(&self.all);
        }
        let index = rng.index(self.rest.len());
        self.rest.swap_remove(index)
    }

    /// Deals the first value that can be used now. The others stay in the deck.
    pub(crate) fn deal_usable<U>(
        &mut self,
        rng: &mut Rng,
        mut usable: impl FnMut(T, &mut Rng) -> Option<U>,
    ) -> Option<(T, U)> {
        let mut unusable = Vec::new();
        let mut dealt = None;
        for _ in 0..self.all.len() {
            let value = self.deal(rng);
            if let Some(result) = usable(value, rng) {
                dealt = Some((value, result));
                break;
            }
            unusable.push(value);
        }
        self.rest.extend(unusable);
        dealt
    }
}

#[test]
fn deck_deals_each_value_before_any_again() {
    let (mut deck, mut rng) = (Deck::new(&[1, 2, 3]), Rng::new(1, 1));
    for _ in 0..10 {
        let mut dealt = [0; 3].map(|_| deck.deal(&mut rng));
        dealt.sort_unstable();
        assert_eq!(dealt, [1, 2, 3]);
    }
    let odd = deck.deal_usable(&mut rng, |value, _| (value == 2).then_some("two"));
    assert_eq!(odd, Some((2, "two")));
    let mut rest = [0; 2].map(|_| deck.deal(&mut rng));
    rest.sort_unstable();
    assert_eq!(rest, [1, 3]);
}
