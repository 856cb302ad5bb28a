//! The caller, as far as the rest of the hub needs to know.

use std::fmt;

use super::{Addon, Addons, Micros, cache::Generation, store::StoredKey};

/// An account. Ids are never reused and mean nothing outside this database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountId(pub i64);

/// The number that operators use for it.
impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of a key of an account. It does not help to find the key itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(pub(super) i64);

impl AccountId {
    /// The id as stored, for other tables that refer to accounts.
    #[must_use]
    pub fn number(self) -> i64 {
        self.0
    }

    /// The account that such a table refers to.
    #[must_use]
    pub(crate) fn numbered(number: i64) -> Self {
        Self(number)
    }
}

impl KeyId {
    /// The id as a bare number, for code that knows nothing of keys.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0.unsigned_abs()
    }
}

/// An account that has presented a valid key, as of its last read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    pub account: AccountId,
    pub key: KeyId,
    pub addons: Addons,
    /// The generation of the read; lets [`super::Accounts::renew`] detect that nothing has changed since.
    pub(super) generation: Generation,
}

impl Caller {
    /// Whether the account has the add-on and it has not expired.
    #[must_use]
    pub fn has(&self, addon: Addon, now: Micros) -> bool {
        self.addons.has(addon, now)
    }

    /// When the add-on ends or ended; `None` if the account never had it.
    #[must_use]
    pub fn expiry(&self, addon: Addon) -> Option<Micros> {
        self.addons.expiry(addon)
    }

    /// `None` for a revoked key, and for every key of a blocked account.
    pub(super) fn from_stored(stored: &StoredKey, generation: Generation) -> Option<Self> {
        let StoredKey { account, key, addons, .. } = *stored;
        let works = stored.revoked.is_none() && stored.blocked.is_none();
        works.then_some(Self { account, key, addons, generation })
    }
}
