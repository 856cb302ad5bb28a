//! The key of the demo, with which a newcomer tries everything without an account.
//!
//! It is the one key that is kept in full, so that a page or a terminal of a demo goes on working when
//! the demo is started again. That is tolerable because the demo listens on loopback only, and a hub
//! that is no demo ends the key when it starts: see [`Accounts::forget_demo_key`].

use super::{Accounts, AccountsError, Addon, DAY_US, Key, Micros};

const EMAIL: &str = "demo@localhost";
const META: &str = "demo_key";
/// So long that no demo outlives it.
const DAYS: u32 = 365;
/// A key with less left than this is replaced at the start.
const LEFT_MIN: Micros = 30 * DAY_US;

impl Accounts {
    /// The demo's key, with every add-on; the same as last time if that is still good.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn ensure_demo_key(&self, now: Micros) -> Result<Key, AccountsError> {
        if let Some(key) = self.kept_demo_key(now).await? {
            return Ok(key);
        }
        self.forget_demo_key(now).await?;
        let addons = Addon::ALL.map(|addon| (addon, DAYS));
        let key = self.create_key(Some(EMAIL), &addons, now).await?;
        self.set_meta(META, key.expose()).await?;
        Ok(key)
    }

    /// Ends the demo's key, if there is one. To be called where a hub starts that is no demo: it
    /// may listen to the world, and the key stands in the database for all who can read it.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn forget_demo_key(&self, now: Micros) -> Result<(), AccountsError> {
        let Some(kept) = self.meta(META).await? else { return Ok(()) };
        self.revoke(&kept, now).await?;
        self.shared.store.remove_meta(META).await?;
        Ok(())
    }

    async fn kept_demo_key(&self, now: Micros) -> Result<Option<Key>, AccountsError> {
        let Some(key) = self.meta(META).await?.and_then(Key::parse) else { return Ok(None) };
        let caller = self.authenticate(key.expose(), now).await?;
        let lasts = caller.is_some_and(|caller| {
            Addon::ALL.into_iter().all(|addon| caller.has(addon, now + LEFT_MIN))
        });
        Ok(lasts.then_some(key))
    }
}
