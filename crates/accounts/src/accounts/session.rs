//! Sessions of logged-in browsers.
//!
//! A session is a row under the digest of a secret, which is a cookie. It ends after a period of
//! inactivity, at its maximum age, on log-out, and with the account. Every log-in creates a new
//! secret from the system's random bytes, which prevents session fixation.

use sqlx::AnyConnection;

use super::{
    AccountId, Accounts, AccountsError, AdminId, Micros, Result,
    secret::SessionSecret,
    store::{self, StoredSession},
};

/// A visit is recorded at most this often.
const SEEN_EVERY: Micros = 60 * 1_000_000;

/// The owner of a session. An administrator is not a customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionOwner {
    Customer(AccountId),
    Admin(AdminId),
}

/// A valid session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    pub who: SessionOwner,
    pub created: Micros,
    /// When it ends at the latest.
    pub expires: Micros,
}

impl Accounts {
    /// Starts a session for a person who has authenticated by other means than [`Self::log_in`],
    /// such as a link opened in the browser that requested it.
    ///
    /// # Errors
    ///
    /// [`AccountsError::Gone`] if the account is blocked, deleted or not active, or the administrator
    /// is gone. If the store fails.
    pub async fn start_session(&self, who: SessionOwner, now: Micros) -> Result<SessionSecret> {
        let mut tx = self.shared.store.begin().await?;
        let is_open = match who {
            SessionOwner::Customer(account) => {
                store::lock(&mut tx, account).await?.is_some_and(|it| it.is_open())
            }
            SessionOwner::Admin(admin) => store::lock_admin(&mut tx, admin).await?.is_some(),
        };
        if !is_open {
            return Err(AccountsError::Gone);
        }
        let secret = self.insert_session(&mut tx, who, now).await?;
        tx.commit().await?;
        Ok(secret)
    }

    /// The session of a cookie; `None` if there is none, or it has ended.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn session(&self, secret: &str, now: Micros) -> Result<Option<Session>> {
        let Some(secret) = SessionSecret::parse(secret) else { return Ok(None) };
        let hash = secret.hash();
        let Some(stored) = self.shared.store.session(&hash).await? else { return Ok(None) };
        let idle_max = self.idle_max(stored.who);
        if !stored.lasts(now, idle_max) {
            return Ok(None);
        }
        if now.saturating_sub(stored.seen) >= SEEN_EVERY.min(idle_max / 2) {
            self.shared.store.touch_session(&hash, now).await?;
        }
        let StoredSession { who, created, expires, .. } = stored;
        Ok(Some(Session { who, created, expires }))
    }

    /// Ends a session: its owner logs out. Has no effect if it has already ended.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn end_session(&self, secret: &str) -> Result<()> {
        if let Some(secret) = SessionSecret::parse(secret) {
            self.shared.store.remove_session(&secret.hash()).await?;
        }
        Ok(())
    }

    /// Ends all sessions of an account: its owner logs out everywhere.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn end_all_sessions(&self, account: AccountId) -> Result<()> {
        let mut tx = self.shared.store.begin().await?;
        // Locked, so that a concurrent log-in is either before this or after it.
        store::lock(&mut tx, account).await?;
        store::remove_sessions(&mut tx, account).await?;
        tx.commit().await?;
        Ok(())
    }

    /// The caller's transaction must hold the lock of the account or administrator.
    pub(super) async fn insert_session(
        &self,
        tx: &mut AnyConnection,
        who: SessionOwner,
        now: Micros,
    ) -> Result<SessionSecret> {
        let secret = SessionSecret::generate()?;
        let config = &self.shared.config;
        let age_max = match who {
            SessionOwner::Customer(account) => {
                let others = config.sessions_max_per_account.saturating_sub(1);
                store::keep_newest_sessions(&mut *tx, account, others).await?;
                config.session_age_max()
            }
            SessionOwner::Admin(_) => config.admin_session_age_max(),
        };
        let expires = now.saturating_add(age_max);
        store::insert_session(tx, &secret.hash(), who, expires, now).await?;
        Ok(secret)
    }

    fn idle_max(&self, who: SessionOwner) -> Micros {
        let idle_max = self.shared.config.session_idle_max();
        match who {
            SessionOwner::Customer(_) => idle_max,
            SessionOwner::Admin(_) => idle_max.min(self.shared.config.admin_session_age_max()),
        }
    }
}

impl StoredSession {
    fn lasts(&self, now: Micros, idle_max: Micros) -> bool {
        now < self.expires && now.saturating_sub(self.seen) < idle_max
    }
}
