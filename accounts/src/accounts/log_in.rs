//! Authentication by password.
//!
//! All refusals are alike: an unregistered or unconfirmed address, a blocked account and a wrong
//! password get the same answer after the same work.

use super::{
    AccountId, Accounts, AccountsError, Email, Micros, Password, SessionOwner, SessionSecret,
    hasher::PasswordMatch,
    store::{self, StoredAccount},
};

/// The result of a log-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogInOutcome {
    /// The new session.
    In { who: SessionOwner, secret: SessionSecret },
    /// Address or password are wrong, or the account is unusable. The answer does not tell which.
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
    /// [`AccountsError::Busy`] if too many passwords are being compared; if the store fails.
    pub async fn log_in(
        &self,
        email: &Email,
        password: Password,
        now: Micros,
    ) -> Result<LogInOutcome, AccountsError> {
        let found = self.shared.store.account_by_email(email.as_str()).await?;
        let open = found.filter(StoredAccount::is_open);
        let stored = open.as_ref().and_then(|it| it.password.as_deref());
        let fit = self.shared.hasher.compare(password.clone(), stored).await?;
        match (open, fit) {
            (Some(account), PasswordMatch::Right) => self.open_session(&account, None, now).await,
            (Some(account), PasswordMatch::RightButOld) => {
                let anew = self.shared.hasher.hash_again(password).await?;
                self.open_session(&account, Some(&anew), now).await
            }
            (None, _) | (_, PasswordMatch::Wrong) => Ok(LogInOutcome::Refused),
        }
    }

    /// Opens a session, unless the account has changed since it was read.
    async fn open_session(
        &self,
        read: &StoredAccount,
        anew: Option<&str>,
        now: Micros,
    ) -> Result<LogInOutcome, AccountsError> {
        let mut tx = self.shared.store.begin().await?;
        let locked = store::lock(&mut tx, read.id).await?;
        if !locked.is_some_and(|it| it.is_open() && it.password == read.password) {
            return Ok(LogInOutcome::Refused);
        }
        if let Some(password) = anew {
            store::set_password(&mut tx, read.id, password).await?;
        }
        let who = SessionOwner::Customer(read.id);
        let secret = self.insert_session(&mut tx, who, now).await?;
        tx.commit().await?;
        Ok(LogInOutcome::In { who, secret })
    }

    /// The account, if this is its password. The caller must lock it and check that it is unchanged
    /// before it changes anything.
    pub(super) async fn reauthenticate(
        &self,
        account: AccountId,
        password: Password,
    ) -> Result<Option<StoredAccount>, AccountsError> {
        let found = self.shared.store.account_by_id(account).await?;
        let open = found.filter(StoredAccount::is_open);
        let stored = open.as_ref().and_then(|it| it.password.as_deref());
        let fit = self.shared.hasher.compare(password, stored).await?;
        Ok(open.filter(|_| fit != PasswordMatch::Wrong))
    }
}
