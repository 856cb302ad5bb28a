//! What the limits of a node tell other nodes, so that a limit holds for all nodes together.

use std::{
    fmt,
    hash::{DefaultHasher, Hasher},
    sync::{Mutex, PoisonError},
};

use rustc_hash::FxHashMap;
use zeroize::Zeroizing;

/// Maximum keys of one limit whose use is recorded between two reports to other nodes. Use under further keys is not
/// reported.
const TAKEN_MAX: usize = 4_096;

/// What hashes of addresses and names begin with, so that nobody else can tell whose they are.
#[derive(Clone)]
pub struct LimitsKey {
    key: Zeroizing<[u8; 32]>,
    is_shared: bool,
}

impl LimitsKey {
    /// Of a hub that limits alone.
    ///
    /// # Panics
    ///
    /// If the system gives no random bytes.
    #[must_use]
    pub fn random() -> Self {
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *key).expect("the system gives random bytes");
        Self { key, is_shared: false }
    }

    /// Of nodes that limit together: the same for all.
    #[must_use]
    pub fn shared(key: Zeroizing<[u8; 32]>) -> Self {
        Self { key, is_shared: true }
    }

    /// A hasher that has taken the key.
    pub(super) fn hasher(&self) -> DefaultHasher {
        let mut hasher = DefaultHasher::new();
        hasher.write(&*self.key);
        hasher
    }

    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }
}

impl fmt::Debug for LimitsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LimitsKey").field("is_shared", &self.is_shared).finish_non_exhaustive()
    }
}

/// What a node has used of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitUse {
    /// The number of the limit.
    pub limit: u8,
    /// A hash of the address or name, or the number of the account.
    pub whose: u64,
    /// Tokens, or microseconds of CPU time.
    pub amount: u32,
}

/// Amounts by key.
pub(super) type Uses = FxHashMap<u64, u32>;

/// Use at this node that is not reported yet.
#[derive(Debug, Default)]
pub(super) struct UnreportedUse(Mutex<Uses>);

impl UnreportedUse {
    pub(super) fn add(&self, whose: u64, amount: u32) {
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if uses.len() < TAKEN_MAX || uses.contains_key(&whose) {
            let sum = uses.entry(whose).or_default();
            *sum = sum.saturating_add(amount);
        }
    }

    pub(super) fn drain(&self) -> Uses {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
