//! Named keys: further keys of an account, for its programs and its people, each with limits of its own.
//!
//! An account has a main key, which may do everything, and which Regenerate replaces. A named key is created next to
//! it, and revoked alone. What it may do does not change: to change it, create another and revoke this one.

use crate::mail::{self, MailKind};

use super::{
    AccountId, Accounts, AccountsError, HOUR_US, Key, KeySummary, Micros, Networks, NetworksError,
    Result, Scopes, store,
};

/// The most characters of a name.
const NAME_CHARS_MAX: usize = 60;

/// What a named key is called, and what it may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyTerms {
    pub name: String,
    /// What it may use of what the account has.
    pub scopes: Scopes,
    /// From where it works.
    pub networks: Networks,
    /// When it ends; `None` if it does not.
    pub ends: Option<Micros>,
}

/// Why a key cannot have these terms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyTermsError {
    #[error("give the key a name of 1 to {NAME_CHARS_MAX} characters")]
    Name,
    #[error("choose what the key may use")]
    NoScope,
    #[error("the key would have ended already")]
    Ended,
    #[error(transparent)]
    Networks(#[from] NetworksError),
}

impl KeyTerms {
    /// Checks the terms of a new key. `name` is trimmed; `networks` as [`Networks::parse`] reads them.
    ///
    /// # Errors
    ///
    /// If the name is empty, too long or has control characters, if there is no scope, if the end has passed, or if
    /// the networks are none.
    pub fn new(
        name: &str,
        scopes: Scopes,
        networks: &str,
        ends: Option<Micros>,
        now: Micros,
    ) -> Result<Self, KeyTermsError> {
        let name = name.trim();
        let chars = name.chars().count();
        if !(1..=NAME_CHARS_MAX).contains(&chars) || name.chars().any(char::is_control) {
            return Err(KeyTermsError::Name);
        }
        if scopes.is_empty() {
            return Err(KeyTermsError::NoScope);
        }
        if ends.is_some_and(|ends| ends <= now) {
            return Err(KeyTermsError::Ended);
        }
        Ok(Self { name: name.to_owned(), scopes, networks: Networks::parse(networks)?, ends })
    }
}

impl Accounts {
    /// Creates a named key of an account.
    ///
    /// # Errors
    ///
    /// [`AccountsError::Gone`] if the account cannot have keys, [`AccountsError::TooManyKeys`] if it has as many named
    /// ones as it may. If the store fails.
    pub async fn create_named_key(
        &self,
        account: AccountId,
        terms: &KeyTerms,
        now: Micros,
    ) -> Result<Key> {
        let mut tx = self.shared.store.begin().await?;
        let locked = store::lock(&mut tx, account).await?;
        if !locked.is_some_and(|account| account.is_open()) {
            return Err(AccountsError::Gone);
        }
        let key = self.insert_named_key(&mut tx, account, terms, now).await?;
        // Its owner hears of a key that somebody else made in a stolen session. The mails that it takes to reach the limit are
        // of this kind too, so nobody can use it up in silence.
        let hour_ago = now.saturating_sub(HOUR_US);
        let new = store::count_new_named_keys(&mut tx, account, hour_ago).await?;
        if new <= i64::from(self.shared.config.mails_max_per_hour) {
            mail::enqueue_for_account(&mut tx, account.0, MailKind::NewNamedKey, now).await?;
        }
        tx.commit().await?;
        Ok(key)
    }

    /// The named keys of an account that are not revoked, the newest first. Those that have ended are among them, until
    /// others need their places.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn named_keys(&self, account: AccountId) -> Result<Vec<KeySummary>> {
        let keys = self.shared.store.named_keys(account).await?;
        Ok(keys.into_iter().map(KeySummary::from).collect())
    }

    /// Revokes a named key, given by its public part; false if the account has no such key. When this returns, it no
    /// longer works, and its sockets are being closed.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn revoke_named_key(
        &self,
        account: AccountId,
        prefix: &str,
        now: Micros,
    ) -> Result<bool> {
        let mut tx = self.shared.store.begin().await?;
        store::lock(&mut tx, account).await?;
        let revoked = store::revoke_named_key(&mut tx, account, prefix, now).await?;
        tx.commit().await?;
        let is_revoked = revoked.is_some();
        self.broadcast_keys(revoked.into_iter().collect()).await;
        Ok(is_revoked)
    }

    /// The caller's transaction must hold the lock of the account.
    pub(super) async fn insert_named_key(
        &self,
        tx: &mut sqlx::AnyConnection,
        account: AccountId,
        terms: &KeyTerms,
        now: Micros,
    ) -> Result<Key> {
        let limit = self.shared.config.named_keys_max;
        let mut count = store::count_named_keys(&mut *tx, account).await?;
        if count >= i64::from(limit) {
            count -= store::revoke_ended_named_keys(&mut *tx, account, now).await?;
        }
        if count >= i64::from(limit) {
            return Err(AccountsError::TooManyKeys { limit });
        }
        self.insert_new_key(tx, account, Some(terms), now).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Micros = 1_788_280_000_000_000;

    #[test]
    fn terms_are_checked() {
        let all = Scopes::all();
        let check = |name: &str, scopes, networks: &str, ends, expected| {
            assert_eq!(KeyTerms::new(name, scopes, networks, ends, NOW).err(), expected, "{name}");
        };
        check("ci", all, "10.0.0.0/8", Some(NOW + 1), None);
        check(" Büro ", all, "", None, None);
        check(&"x".repeat(60), all, "", None, None);
        check(&"x".repeat(61), all, "", None, Some(KeyTermsError::Name));
        check("  ", all, "", None, Some(KeyTermsError::Name));
        check("a\nb", all, "", None, Some(KeyTermsError::Name));
        check("ci", Scopes::default(), "", None, Some(KeyTermsError::NoScope));
        check("ci", all, "", Some(NOW), Some(KeyTermsError::Ended));
        let syntax = NetworksError::Syntax("home".to_owned());
        check("ci", all, "home", None, Some(KeyTermsError::Networks(syntax)));
    }
}
