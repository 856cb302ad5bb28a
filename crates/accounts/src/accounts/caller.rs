//! The caller, as far as the rest of the hub needs to know.

use std::fmt;

use base::work::Payer;

use super::{Addon, Addons, Micros, Scope, Scopes, ZoneName, cache::Generation, store::StoredKey};
use crate::products::Product;

/// An account. Ids are never reused and mean nothing outside this database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountId(pub i64);

/// The number that operators use for it.
impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of a key of an account, or of the grant of a connected application. It does not help to find the key itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(pub(super) i64);

impl AccountId {
    /// The id as stored, for other tables that refer to accounts.
    #[must_use]
    pub fn number(self) -> i64 {
        self.0
    }

    /// Who pays for the work of the account.
    #[must_use]
    pub fn payer(self) -> Payer {
        Payer::Account(self.0.cast_unsigned())
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

/// An account that has presented a valid key or access token, as of its last read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    pub account: AccountId,
    pub key: KeyId,
    /// Those of the account. What the caller may use of them, [`Self::has`] answers.
    pub addons: Addons,
    /// In which the account means days; `None` for UTC.
    pub zone: Option<ZoneName>,
    pub(super) access: Access,
    /// The generation of the read; lets [`super::Accounts::renew`] detect that nothing has changed since.
    pub(super) generation: Generation,
}

/// What a key or an access token gives access to, of what the account has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) scopes: Scopes,
    /// The product whose MCP server accepts an access token; `None` for a key, which all accept.
    pub(super) audience: Option<Product>,
    /// `None` if it does not end.
    pub(super) ends: Option<Micros>,
}

impl Caller {
    /// Whether the account has the add-on, it has not expired, and the scopes cover it.
    #[must_use]
    pub fn has(&self, addon: Addon, now: Micros) -> bool {
        self.may_use(addon) && self.addons.has(addon, now)
    }

    /// Whether the scopes cover what an add-on pays for, whether the account has the add-on or not.
    /// The main key covers everything. What is free for a time needs this check too.
    #[must_use]
    pub fn may_use(&self, addon: Addon) -> bool {
        self.access.scopes.cover(addon)
    }

    /// Whether the caller has this scope. The main key has all.
    #[must_use]
    pub fn has_scope(&self, scope: Scope) -> bool {
        self.access.scopes.contains(scope)
    }

    /// Whether a connected application calls, with an access token in place of a key.
    #[must_use]
    pub fn is_app(&self) -> bool {
        self.access.audience.is_some()
    }

    /// When the add-on ends or ended for this caller; `None` if the account never had it, or if the
    /// scopes do not cover it.
    #[must_use]
    pub fn expiry(&self, addon: Addon) -> Option<Micros> {
        self.addons.expiry(addon).filter(|_| self.may_use(addon))
    }

    /// When the key or access token ends; `None` if it does not. What outlasts the request, such as a
    /// socket, must end then.
    #[must_use]
    pub fn ends(&self) -> Option<Micros> {
        self.access.ends
    }

    /// Whether the key or access token has not ended.
    #[must_use]
    pub fn lasts(&self, now: Micros) -> bool {
        self.access.ends.is_none_or(|ends| now < ends)
    }

    /// `None` for a revoked key, and for every key of a blocked account. One that has ended is
    /// returned: [`Self::lasts`] tells.
    pub(super) fn from_stored(stored: &StoredKey, generation: Generation) -> Option<Self> {
        let StoredKey { account, key, addons, zone, .. } = *stored;
        let works = stored.revoked.is_none() && stored.blocked.is_none();
        let (scopes, ends) = match &stored.terms {
            Some(terms) => (terms.scopes, terms.ends),
            None => (Scopes::all(), None),
        };
        let access = Access { scopes, audience: None, ends };
        works.then_some(Self { account, key, addons, zone, access, generation })
    }
}
