//! Which number each digest has: pure state, without a clock, a lock or a database.

use facts::event::Id;
use rustc_hash::FxHashMap;

/// How many numbers there are: 1 to 2^31 - 1, which fit a signed 32-bit integer. It is a prime, so that a
/// digest's choices go through all of them.
pub const NUMBERS_MAX: u32 = i32::MAX.unsigned_abs();

/// The assigned numbers.
///
/// A digest takes the first of its own sequence of choices that is free. Nothing is ever given back, so
/// the same sequence finds it again. One map is enough for both directions: 12 bytes each, and room to grow.
#[derive(Debug, Clone)]
pub struct Numbers {
    count: u32,
    owners: FxHashMap<u32, Id>,
    /// Digests that their choices do not lead to: another program gave them their numbers, and what
    /// stood in their way there is not known here.
    elsewhere: FxHashMap<Id, u32>,
}

impl Default for Numbers {
    fn default() -> Self {
        Self::with_count(NUMBERS_MAX)
    }
}

impl Numbers {
    /// Numbers from 1 to `count`, which is a prime.
    #[must_use]
    pub fn with_count(count: u32) -> Self {
        Self { count, owners: FxHashMap::default(), elsewhere: FxHashMap::default() }
    }

    /// How many are assigned.
    #[must_use]
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// The number of this digest.
    #[must_use]
    pub fn get(&self, digest: Id) -> Option<u32> {
        if !self.elsewhere.is_empty()
            && let Some(number) = self.elsewhere.get(&digest)
        {
            return Some(*number);
        }
        for number in choices(digest, self.count) {
            match self.owners.get(&number) {
                Some(owner) if *owner == digest => return Some(number),
                Some(_) => {}
                None => return None,
            }
        }
        None
    }

    /// The number of this digest, and whether it is new. `None` when all are assigned.
    pub fn take(&mut self, digest: Id) -> Option<(u32, bool)> {
        if let Some(number) = self.get(digest) {
            return Some((number, false));
        }
        let number =
            choices(digest, self.count).find(|number| !self.owners.contains_key(number))?;
        self.owners.insert(number, digest);
        Some((number, true))
    }

    /// Adds a number that was assigned earlier or by another program. Returns whether it was possible: a
    /// number has one owner, and a digest one number.
    pub fn insert(&mut self, digest: Id, number: u32) -> bool {
        if let Some(existing) = self.get(digest) {
            return existing == number;
        }
        if number == 0 || number > self.count || self.owners.contains_key(&number) {
            return false;
        }
        self.owners.insert(number, digest);
        if self.get(digest) != Some(number) {
            self.elsewhere.insert(digest, number);
        }
        true
    }
}

/// The numbers that a digest would have, in this order: each of 1 to `count` once.
pub fn choices(digest: Id, count: u32) -> impl Iterator<Item = u32> {
    let size = u64::from(count);
    let first = digest.0 % size;
    let step = 1 + (digest.0 / size) % (size - 1).max(1);
    (0..size).map(move |step_index| {
        let number = 1 + (first + step_index * step) % size;
        u32::try_from(number).expect("it is at most `count`")
    })
}

/// The number that a digest gets if no other digest has it.
#[must_use]
pub fn first_choice(digest: u64) -> u64 {
    choices(Id(digest), NUMBERS_MAX).next().map_or(1, u64::from)
}

#[cfg(test)]
mod tests;
