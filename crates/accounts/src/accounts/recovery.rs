//! Setting a new password: by a link if the old one was forgotten, or with the old one.
//!
//! Either way, all sessions end, connected applications are disconnected, all earlier links stop
//! working, and the owner is notified by mail.

use sqlx::AnyConnection;

use super::{
    AccountId, Accounts, Email, KeyId, LinkOutcome, Micros, NewPassword, Password, ReauthOutcome,
    Requester, Result,
    link::{LinkCheck, LinkKind},
    store::{self, Effect, StoredAccount},
};
use crate::mail::{self, MailKind};

impl Accounts {
    /// Sends a password reset link if the address has an account. An unconfirmed account is sent
    /// another verification link instead. The caller learns nothing of it.
    ///
    /// An account that the operator created without a password gets its first one in this way.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn request_reset(
        &self,
        email: &Email,
        requester: Requester,
        now: Micros,
    ) -> Result<()> {
        self.with_uniform_duration(self.request_reset_now(email, requester, now)).await
    }

    async fn request_reset_now(
        &self,
        email: &Email,
        requester: Requester,
        now: Micros,
    ) -> Result<()> {
        let mut tx = self.shared.store.begin().await?;
        let Some(account) = store::lock_by_email(&mut tx, email.as_str()).await? else {
            return Ok(());
        };
        if account.active.is_none() {
            self.resend(&mut tx, &account, email, now).await?;
        } else if self.may_be_mailed(&mut tx, &account, requester, now).await? {
            let whose = (account.id, LinkKind::Reset);
            self.send_link(&mut tx, whose, email, Effect::default(), now).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Sets a new password with such a link, and ends all sessions.
    ///
    /// # Errors
    ///
    /// If too many passwords are being hashed, or if the store fails; the link stays valid then.
    pub async fn reset(
        &self,
        link: &str,
        password: NewPassword,
        now: Micros,
    ) -> Result<LinkOutcome> {
        let Some(link) = self.signed_link(LinkKind::Reset, link).await? else {
            return Ok(LinkOutcome::Unknown);
        };
        let password = self.shared.hasher.hash(password).await?;
        let mut tx = self.shared.store.begin().await?;
        let account = match self.follow(&mut tx, &link, now).await? {
            LinkCheck::Valid(account) => account,
            LinkCheck::Rejected(outcome) => return Ok(outcome),
        };
        let revoked = replace_password(&mut tx, &account, &password, now).await?;
        tx.commit().await?;
        self.broadcast_grants(revoked).await;
        Ok(LinkOutcome::Done)
    }

    /// Replaces a password, given the old one, and ends all sessions, the caller's too: a page
    /// starts a new one for it with [`Self::start_session`].
    ///
    /// # Errors
    ///
    /// If too many passwords are being hashed, or if the store fails.
    pub async fn change_password(
        &self,
        account: AccountId,
        old: Password,
        new: NewPassword,
        now: Micros,
    ) -> Result<ReauthOutcome> {
        let Some(read) = self.reauthenticate(account, old).await? else {
            return Ok(ReauthOutcome::WrongPassword);
        };
        let password = self.shared.hasher.hash(new).await?;
        let Some((mut tx, account)) = self.lock_unchanged(&read).await? else {
            return Ok(ReauthOutcome::WrongPassword);
        };
        store::void_links(&mut tx, account.id, now).await?;
        let revoked = replace_password(&mut tx, &account, &password, now).await?;
        tx.commit().await?;
        self.broadcast_grants(revoked).await;
        Ok(ReauthOutcome::Done)
    }
}

/// Returns the grants that it has revoked.
async fn replace_password(
    tx: &mut AnyConnection,
    account: &StoredAccount,
    password: &str,
    now: Micros,
) -> sqlx::Result<Vec<KeyId>> {
    store::set_password(&mut *tx, account.id, password).await?;
    store::remove_sessions(&mut *tx, account.id).await?;
    let revoked = store::revoke_all_grants(&mut *tx, account.id, now).await?;
    if let Some(email) = &account.email {
        mail::enqueue(tx, email, MailKind::PasswordChanged, None, now).await?;
    }
    Ok(revoked)
}
