//! Administrators: the operators of the service. They are not customers: they have names instead of
//! addresses, and buy nothing.

use super::{
    Accounts, LogInOutcome, Micros, NewPassword, Password, Result, SessionOwner,
    hasher::VerifiedPassword,
    store::{self, StoredAdmin},
};

/// An administrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AdminId(pub(super) i64);

/// An administrator, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin {
    pub id: AdminId,
    pub name: String,
    pub created: Micros,
}

impl Accounts {
    /// Creates an administrator; false if the name is taken.
    ///
    /// # Errors
    ///
    /// If too many passwords are being hashed, or if the store fails.
    pub async fn create_admin(
        &self,
        name: &str,
        password: NewPassword,
        now: Micros,
    ) -> Result<bool> {
        let password = self.shared.hasher.hash(password).await?;
        Ok(self.shared.store.insert_admin(name, &password, now).await?)
    }

    /// Logs an administrator in; as [`Self::log_in`] otherwise.
    ///
    /// # Errors
    ///
    /// [`AccountsError::Busy`](super::AccountsError::Busy) if too many passwords are being compared; if the store fails.
    pub async fn log_in_admin(
        &self,
        name: &str,
        password: Password,
        now: Micros,
    ) -> Result<LogInOutcome> {
        let found = self.shared.store.admin_by_name(name).await?;
        let stored = found.as_ref().map(|it| it.password.as_str());
        let verified = self.shared.hasher.verify_at_log_in(password, stored).await?;
        match found.zip(verified) {
            Some((admin, verified)) => self.open_admin_session(&admin, &verified, now).await,
            None => Ok(LogInOutcome::Refused),
        }
    }

    /// All administrators, by name.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn admins(&self) -> Result<Vec<Admin>> {
        let admins = self.shared.store.all_admins().await?;
        let public = |StoredAdmin { id, name, created, .. }| Admin { id, name, created };
        Ok(admins.into_iter().map(public).collect())
    }

    /// Removes an administrator and ends their sessions; false if there was none of this name.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn remove_admin(&self, name: &str) -> Result<bool> {
        Ok(self.shared.store.remove_admin(name).await?)
    }

    /// Opens a session, unless the administrator was removed or changed since it was read.
    async fn open_admin_session(
        &self,
        read: &StoredAdmin,
        verified: &VerifiedPassword,
        now: Micros,
    ) -> Result<LogInOutcome> {
        let mut tx = self.shared.store.begin().await?;
        let locked = store::lock_admin(&mut tx, read.id).await?;
        let same = locked.is_some_and(|it| it.password == read.password);
        if !same {
            return Ok(LogInOutcome::Refused);
        }
        if let Some(password) = &verified.rehashed {
            store::set_admin_password(&mut tx, read.id, password).await?;
        }
        let who = SessionOwner::Admin(read.id);
        let secret = self.insert_session(&mut tx, who, now).await?;
        tx.commit().await?;
        Ok(LogInOutcome::In { who, secret })
    }
}
