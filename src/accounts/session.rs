//! Who is logged in: sessions of browsers.
//!
//! A session is a row under the digest of a secret, and that secret is a cookie. It ends when nobody
//! comes for a while, when its time is over, when its owner says so, and with the account. Every log-in
//! makes a new one of the system's random bytes, so nobody can have fixed it beforehand.

use sqlx::AnyConnection;

use super::{
    AccountId, Accounts, AccountsError, AdminId, Micros,
    secret::SessionSecret,
    store::{self, StoredSession},
};

/// A visit is written down at most this often.
const SEEN_EVERY: Micros = 60 * 1_000_000;

/// Whose session it is. An administrator is no customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionOwner {
    Customer(AccountId),
    Admin(AdminId),
}

/// A session that is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    pub who: SessionOwner,
    pub created: Micros,
    /// When it ends in any case.
    pub expires: Micros,
}

impl Accounts {
    /// Begins a session for somebody who has just shown who they are otherwise than by
    /// [`Self::log_in`], such as by a link in the browser that asked for it.
    ///
    /// # Errors
    ///
    /// [`AccountsError::Gone`] if the account is blocked, deleted or not active, or the administrator
    /// is gone. If the store fails.
    pub async fn start_session(
        &self,
        who: SessionOwner,
        now: Micros,
    ) -> Result<SessionSecret, AccountsError> {
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

    /// Whose session a cookie is; `None` if it is none, or has ended.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn session(
        &self,
        secret: &str,
        now: Micros,
    ) -> Result<Option<Session>, AccountsError> {
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

    /// Ends a session: its owner logs out. Nothing happens if it had ended.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn end_session(&self, secret: &str) -> Result<(), AccountsError> {
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
    pub async fn end_all_sessions(&self, account: AccountId) -> Result<(), AccountsError> {
        let mut tx = self.shared.store.begin().await?;
        // Held, so that a log-in that is under way is either before this or after it.
        store::lock(&mut tx, account).await?;
        store::remove_sessions(&mut tx, account).await?;
        tx.commit().await?;
        Ok(())
    }

    /// The account or administrator is held by the caller's transaction.
    pub(super) async fn insert_session(
        &self,
        tx: &mut AnyConnection,
        who: SessionOwner,
        now: Micros,
    ) -> Result<SessionSecret, AccountsError> {
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
