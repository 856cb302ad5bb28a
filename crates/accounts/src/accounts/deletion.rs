//! Deletion of accounts. The row stays, anonymised, because the ledger refers to it.

use sqlx::{Any, AnyConnection, Transaction};

use super::{
    AccountId, Accounts, KeyId, Micros, Password, ReauthOutcome, Result,
    store::{self, StoredAccount},
};
use crate::mail::{self, MailKind};

impl Accounts {
    /// Deletes an account, given its password. When this returns, its keys no longer work, its
    /// sockets are being closed, its sessions, links and add-ons are gone. The address can register
    /// again as a new account.
    ///
    /// # Errors
    ///
    /// If too many passwords are being compared, or if the store fails; nothing has changed then.
    pub async fn delete_account(
        &self,
        account: AccountId,
        password: Password,
        now: Micros,
    ) -> Result<ReauthOutcome> {
        let Some(read) = self.reauthenticate(account, password).await? else {
            return Ok(ReauthOutcome::WrongPassword);
        };
        let Some((tx, account)) = self.lock_unchanged(&read).await? else {
            return Ok(ReauthOutcome::WrongPassword);
        };
        self.delete_locked(tx, &account, now).await?;
        Ok(ReauthOutcome::Done)
    }

    /// Deletes an account on an operator's request; false if it was already deleted or never
    /// existed.
    ///
    /// # Errors
    ///
    /// If the store fails; nothing has changed then.
    pub async fn delete_account_for_operator(
        &self,
        account: AccountId,
        now: Micros,
    ) -> Result<bool> {
        let mut tx = self.shared.store.begin().await?;
        let locked = store::lock(&mut tx, account).await?;
        let Some(account) = locked.filter(|it| it.deleted.is_none()) else { return Ok(false) };
        self.delete_locked(tx, &account, now).await?;
        Ok(true)
    }

    async fn delete_locked(
        &self,
        mut tx: Transaction<'static, Any>,
        account: &StoredAccount,
        now: Micros,
    ) -> Result<()> {
        let revoked = erase(&mut tx, account, now).await?;
        tx.commit().await?;
        self.shared.new_keys.remove_all(account.id);
        self.broadcast_keys(revoked).await;
        Ok(())
    }
}

/// Removes everything a locked account has and anonymises it; returns the revoked keys.
async fn erase(
    tx: &mut AnyConnection,
    account: &StoredAccount,
    now: Micros,
) -> sqlx::Result<Vec<KeyId>> {
    // Revoked first rather than deleted: a deleted key would not close its sockets.
    let revoked = store::revoke_all_keys(&mut *tx, account.id, now).await?;
    store::remove_sessions(&mut *tx, account.id).await?;
    store::remove_links(&mut *tx, account.id).await?;
    store::remove_webhooks(&mut *tx, account.id).await?;
    store::anonymise(&mut *tx, account.id, now).await?;
    if let Some(email) = &account.email {
        mail::delete_for_address(&mut *tx, email).await?;
        mail::enqueue(&mut *tx, email, MailKind::AccountDeleted, None, now).await?;
    }
    Ok(revoked)
}
