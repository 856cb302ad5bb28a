//! Customers as the pages and the operator see them, and blocking them.

use super::{AccountId, Accounts, Addons, Caller, Micros, Result, ZoneName, store};
use crate::products::Country;

/// The details of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Customer {
    pub account: AccountId,
    /// `None` for a key that the operator created without an address.
    pub email: Option<String>,
    pub created: Micros,
    /// When the address was confirmed; `None` for an account that is not active.
    pub active: Option<Micros>,
    pub blocked: Option<Micros>,
    /// When the Founder badge was granted.
    pub founder: Option<Micros>,
    pub addons: Addons,
    /// The country that the customer named.
    pub country: Option<Country>,
    /// The time zone in which the customer means days; `None` for UTC.
    pub zone: Option<ZoneName>,
    /// The public part of the newest valid main key.
    pub key_prefix: Option<String>,
    pub key_created: Option<Micros>,
}

impl Accounts {
    /// The details of an account; `None` if there is none, or it was deleted.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn customer(&self, account: AccountId) -> Result<Option<Customer>> {
        let store = &self.shared.store;
        let found = store.account_by_id(account).await?;
        let Some(stored) = found.filter(|it| it.deleted.is_none()) else { return Ok(None) };
        let addons = store.addons(account).await?;
        let (key_prefix, key_created) = store.newest_key(account).await?.unzip();
        Ok(Some(Customer {
            account,
            email: stored.email,
            created: stored.created,
            active: stored.active,
            blocked: stored.blocked,
            founder: stored.founder,
            addons,
            country: stored.country,
            zone: stored.zone,
            key_prefix,
            key_created,
        }))
    }

    /// The account as the caller with its newest main key, for a customer who is known by a session;
    /// `None` if it has no valid key.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn caller_of(&self, account: AccountId) -> Result<Option<Caller>> {
        let store = &self.shared.store;
        // Read first: a change that is noticed meanwhile causes another read.
        let generation = self.shared.cache.generation();
        let Some((prefix, _)) = store.newest_key(account).await? else { return Ok(None) };
        let stored = store.key_by_prefix(&prefix).await?;
        Ok(stored.and_then(|stored| Caller::from_stored(&stored, generation)))
    }

    /// Sets the country that a customer names, which decides the prices of its next orders; `None` for none.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn set_country(&self, account: AccountId, country: Option<Country>) -> Result<()> {
        let set = "UPDATE accounts SET country = $2 WHERE id = $1 AND deleted_us IS NULL";
        let country = country.map(|country| country.to_string());
        Ok(self.shared.store.choose(set, account, country).await?)
    }

    /// Sets the time zone in which a customer means days; `None` for UTC. Callers with any of its keys have it from then on.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn set_zone(&self, account: AccountId, zone: Option<ZoneName>) -> Result<()> {
        let set = "UPDATE accounts SET time_zone = $2 WHERE id = $1 AND deleted_us IS NULL";
        let zone = zone.map(|zone| zone.as_str().to_owned());
        self.shared.store.choose(set, account, zone).await?;
        self.broadcast_own_changes().await;
        Ok(())
    }

    /// Blocks or unblocks an account; false if nothing changes or there is no such account.
    /// Blocking disables its keys, closes its sockets, ends its sessions for good and prevents
    /// log-ins.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn block(&self, account: AccountId, blocked: bool, now: Micros) -> Result<bool> {
        let mut tx = self.shared.store.begin().await?;
        let changed = store::set_blocked(&mut tx, account, blocked.then_some(now)).await?;
        if blocked {
            store::remove_sessions(&mut tx, account).await?;
        }
        let keys = store::all_key_ids(&mut tx, account).await?;
        tx.commit().await?;
        self.broadcast_keys(keys).await;
        Ok(changed)
    }
}
