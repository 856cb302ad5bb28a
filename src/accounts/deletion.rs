//! The end of an account. Its row stays, without a name, because the ledger speaks of it.

use sqlx::AnyConnection;

use super::{
    AccountId, Accounts, AccountsError, KeyId, Micros, Password, ReauthOutcome,
    store::{self, StoredAccount},
};
use crate::mail::{self, MailKind};

impl Accounts {
    /// Deletes an account, for whoever knows its password: its keys work no more when this returns,
    /// their sockets are being closed, sessions and links have ended, add-ons are gone. The address
    /// may register again, as somebody new.
    ///
    /// # Errors
    ///
    /// If too many passwords are being compared, or if the store fails; nothing has changed then.
    pub async fn delete_account(
        &self,
        account: AccountId,
        password: Password,
        now: Micros,
    ) -> Result<ReauthOutcome, AccountsError> {
        let Some(read) = self.reauthenticate(account, password).await? else {
            return Ok(ReauthOutcome::WrongPassword);
        };
        let mut tx = self.shared.store.begin().await?;
        let Some(account) = store::lock(&mut tx, account).await?.filter(|it| it.is_still(&read))
        else {
            return Ok(ReauthOutcome::WrongPassword);
        };
        let revoked = erase(&mut tx, &account, now).await?;
        tx.commit().await?;
        self.forget_new_key(account.id);
        self.broadcast_keys(revoked).await;
        Ok(ReauthOutcome::Done)
    }

    /// The same by the word of an operator; false if it had been deleted before, or there is none.
    ///
    /// # Errors
    ///
    /// If the store fails; nothing has changed then.
    pub async fn delete_account_for_operator(
        &self,
        account: AccountId,
        now: Micros,
    ) -> Result<bool, AccountsError> {
        let mut tx = self.shared.store.begin().await?;
        let locked = store::lock(&mut tx, account).await?;
        let Some(account) = locked.filter(|it| it.deleted.is_none()) else { return Ok(false) };
        let revoked = erase(&mut tx, &account, now).await?;
        tx.commit().await?;
        self.forget_new_key(account.id);
        self.broadcast_keys(revoked).await;
        Ok(true)
    }
}

/// Ends all that a locked account has, and forgets who it was; returns the keys that have ended.
async fn erase(
    tx: &mut AnyConnection,
    account: &StoredAccount,
    now: Micros,
) -> Result<Vec<KeyId>, sqlx::Error> {
    // First, and not deleted: a key that is gone tells no socket to close.
    let revoked = store::revoke_all_keys(&mut *tx, account.id, now).await?;
    store::remove_sessions(&mut *tx, account.id).await?;
    store::remove_links(&mut *tx, account.id).await?;
    store::anonymise(&mut *tx, account.id, now).await?;
    if let Some(email) = &account.email {
        mail::delete_for_address(&mut *tx, email).await?;
        mail::enqueue(&mut *tx, email, MailKind::AccountDeleted, None, now).await?;
    }
    Ok(revoked)
}
