//! Authentication by password.
//!
//! All refusals are identical: an unregistered or unconfirmed address, a blocked account and a wrong
//! password get the same answer after the same work.

use sqlx::{Any, Transaction};

use super::{
    AccountId, Accounts, Email, Micros, Password, Result, SessionOwner, SessionSecret,
    hasher::{PasswordMatch, VerifiedPassword},
    store::{self, StoredAccount},
};

/// The result of a log-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogInOutcome {
    /// The new session.
    In { who: SessionOwner, secret: SessionSecret },
    /// Address or password are wrong, or the account is unusable. The response does not reveal which.
    Refused,
}

/// The result of an action that requires the password again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReauthOutcome {
    Done,
    WrongPassword,
}

impl Accounts {
    /// Logs a customer in and starts a session. The caller limits the attempts.
    ///
    /// # Errors
    ///
    /// [`AccountsError::Busy`](super::AccountsError::Busy) if too many passwords are being compared; if the store fails.
    pub async fn log_in(
        &self,
        email: &Email,
        password: Password,
        now: Micros,
    ) -> Result<LogInOutcome> {
        let found = self.shared.store.account_by_email(email.as_str()).await?;
        let open = found.filter(StoredAccount::is_open);
        let stored = open.as_ref().and_then(|it| it.password.as_deref());
        let verified = self.shared.hasher.verify_at_log_in(password, stored).await?;
        match open.zip(verified) {
            Some((account, verified)) => self.open_session(&account, &verified, now).await,
            None => Ok(LogInOutcome::Refused),
        }
    }

    /// Opens a session, unless the account has changed since it was read.
    async fn open_session(
        &self,
        read: &StoredAccount,
        verified: &VerifiedPassword,
        now: Micros,
    ) -> Result<LogInOutcome> {
        let Some((mut tx, _)) = self.lock_unchanged(read).await? else {
            return Ok(LogInOutcome::Refused);
        };
        if let Some(password) = &verified.rehashed {
            store::set_password(&mut tx, read.id, password).await?;
        }
        let who = SessionOwner::Customer(read.id);
        let secret = self.insert_session(&mut tx, who, now).await?;
        tx.commit().await?;
        Ok(LogInOutcome::In { who, secret })
    }

    /// The account, if this is its password. The caller must [lock](Self::lock_unchanged) it before
    /// it changes anything.
    pub(super) async fn reauthenticate(
        &self,
        account: AccountId,
        password: Password,
    ) -> Result<Option<StoredAccount>> {
        let found = self.shared.store.account_by_id(account).await?;
        let open = found.filter(StoredAccount::is_open);
        let stored = open.as_ref().and_then(|it| it.password.as_deref());
        let fit = self.shared.hasher.compare(password, stored).await?;
        Ok(open.filter(|_| fit != PasswordMatch::Wrong))
    }

    /// Begins a transaction and locks an account whose password was just compared; `None` if the
    /// account has changed since it was read.
    pub(super) async fn lock_unchanged(
        &self,
        read: &StoredAccount,
    ) -> Result<Option<(Transaction<'static, Any>, StoredAccount)>> {
        let mut tx = self.shared.store.begin().await?;
        let locked = store::lock(&mut tx, read.id).await?;
        let unchanged = locked.filter(|it| it.is_open() && it.password == read.password);
        Ok(unchanged.map(|account| (tx, account)))
    }
}
