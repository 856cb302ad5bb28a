//! The demo's key, with which newcomers try everything without an account.
//!
//! It is the only key that is stored in full, so that a page or terminal of a demo keeps working
//! when the demo is restarted. That is acceptable because the demo listens on loopback only, and a
//! hub without the demo revokes the key when it starts: see [`Accounts::forget_demo_key`].

use std::net::Ipv4Addr;

use super::{Accounts, Addon, DAY_US, Key, Micros, Result};

const EMAIL: &str = "demo@localhost";
const META: &str = "demo_key";
/// Long enough for any demo.
const DAYS: u32 = 365;
/// A key that expires sooner than this is replaced at the start.
const LEFT_MIN: Micros = 30 * DAY_US;

impl Accounts {
    /// The demo's key, with every add-on; the previous one if it is still valid.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn ensure_demo_key(&self, now: Micros) -> Result<Key> {
        if let Some(key) = self.valid_demo_key(now).await? {
            return Ok(key);
        }
        self.forget_demo_key(now).await?;
        let addons = Addon::ALL.map(|addon| (addon, DAYS));
        let key = self.create_key(Some(EMAIL), &addons, now).await?;
        self.set_meta(META, key.expose()).await?;
        Ok(key)
    }

    /// Revokes the demo's key, if there is one. Must be called when a hub without the demo starts:
    /// it may be public, and anyone who can read the database can read the key.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn forget_demo_key(&self, now: Micros) -> Result<()> {
        let Some(stored) = self.meta(META).await? else { return Ok(()) };
        self.revoke(&stored, now).await?;
        self.shared.store.remove_meta(META).await?;
        Ok(())
    }

    async fn valid_demo_key(&self, now: Micros) -> Result<Option<Key>> {
        let Some(key) = self.meta(META).await?.and_then(Key::parse) else { return Ok(None) };
        let caller = self.authenticate(key.expose(), Ipv4Addr::LOCALHOST.into(), now).await?;
        let lasts = caller.is_some_and(|caller| {
            Addon::ALL.into_iter().all(|addon| caller.has(addon, now + LEFT_MIN))
        });
        Ok(lasts.then_some(key))
    }
}
