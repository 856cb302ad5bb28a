//! From an address to an account: registering, and confirming the address.
//!
//! Registering says nothing of whether the address is known. It costs one password hash and writes one
//! mail either way, and the difference is told by that mail alone, to whoever owns the address.

use std::time::Duration;

use sqlx::AnyConnection;
use tokio::time;

use super::{
    AccountId, Accounts, AccountsError, Email, HOUR_US, Micros, NewPassword, Visitor,
    link::{Followed, LinkKind, LinkUse},
    store::{self, Effect, StoredAccount, StoredLink},
};
use crate::mail::{self, MailKind};

/// What became of a verification link that was followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verified {
    /// The account is active from now on and has a key, which [`Accounts::take_new_key`] shows. In the
    /// browser that registered it may be logged in at once.
    Now { account: AccountId, same_browser: bool },
    /// It had been confirmed before.
    Already,
    /// It has run out; [`Accounts::resend_verification`] sends another one.
    Expired,
    /// It is none of ours, or can no longer take effect.
    Unknown,
}

impl Accounts {
    /// Registers an address. Its owner is sent a link, or, where there is an account already, word of
    /// that; the caller learns nothing either way.
    ///
    /// The password takes effect when the link is followed, so that nobody can set one for an address
    /// that is not theirs. An account without password, made by the operator for this address, is
    /// claimed in the same way and keeps its key.
    ///
    /// # Errors
    ///
    /// If too many passwords are being hashed, or if the store fails.
    pub async fn register(
        &self,
        email: &Email,
        password: NewPassword,
        visitor: Option<&Visitor>,
        now: Micros,
    ) -> Result<(), AccountsError> {
        self.unhurried(self.register_now(email, password, visitor, now)).await
    }

    async fn register_now(
        &self,
        email: &Email,
        password: NewPassword,
        visitor: Option<&Visitor>,
        now: Micros,
    ) -> Result<(), AccountsError> {
        let password = self.shared.hasher.hash(password).await?;
        let mut tx = self.shared.store.begin().await?;
        let account = store::lock_or_insert(&mut tx, email.as_str(), now).await?;
        if self.may_be_mailed(&mut tx, &account, now).await? {
            if account.is_confirmed() {
                let kind = MailKind::AlreadyRegistered;
                mail::enqueue(&mut tx, email.as_str(), kind, None, now).await?;
            } else {
                let visitor = visitor.map(Visitor::hash);
                let effect = Effect {
                    password: Some(&password),
                    visitor: visitor.as_ref().map(|it| &it[..]),
                    email: None,
                };
                self.send_link(&mut tx, (account.id, LinkKind::Verify), email, effect, now).await?;
            }
        }
        tx.commit().await?;
        Ok(())
    }

    /// Sends the newest verification link again, as one of its own, if the address waits to be
    /// confirmed; else does nothing and says nothing.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn resend_verification(
        &self,
        email: &Email,
        now: Micros,
    ) -> Result<(), AccountsError> {
        let resend = async {
            let mut tx = self.shared.store.begin().await?;
            if let Some(account) = store::lock_by_email(&mut tx, email.as_str()).await? {
                self.resend(&mut tx, &account, email, now).await?;
            }
            tx.commit().await?;
            Ok(())
        };
        self.unhurried(resend).await
    }

    /// Takes the same time whatever there is to do: an address that nobody registered is less work, and
    /// must not be told by that.
    pub(super) async fn unhurried<T>(&self, work: impl Future<Output = T>) -> T {
        let least = Duration::from_millis(self.shared.config.answer_ms);
        let (done, ()) = tokio::join!(work, time::sleep(least));
        done
    }

    pub(super) async fn resend(
        &self,
        tx: &mut AnyConnection,
        account: &StoredAccount,
        email: &Email,
        now: Micros,
    ) -> Result<(), AccountsError> {
        if account.is_confirmed() {
            return Ok(());
        }
        let newest = store::newest_unused(&mut *tx, account.id, LinkKind::Verify).await?;
        let Some(newest) = newest else { return Ok(()) };
        if self.may_be_mailed(&mut *tx, account, now).await? {
            let effect = Effect {
                password: newest.password.as_deref(),
                visitor: newest.visitor.as_deref(),
                email: None,
            };
            self.send_link(tx, (account.id, LinkKind::Verify), email, effect, now).await?;
        }
        Ok(())
    }

    /// Confirms an address: the account becomes active, its password becomes that of the registration,
    /// and its key is made, all at once or not at all.
    ///
    /// # Errors
    ///
    /// If the store fails; the link is as good as before then.
    pub async fn follow_verification(
        &self,
        link: &str,
        visitor: Option<&Visitor>,
        now: Micros,
    ) -> Result<Verified, AccountsError> {
        let Some(link) = self.signed_link(LinkKind::Verify, link).await? else {
            return Ok(Verified::Unknown);
        };
        let mut tx = self.shared.store.begin().await?;
        let account = match self.follow(&mut tx, &link, now).await? {
            Followed::Good(account) => account.id,
            Followed::Not(LinkUse::Already | LinkUse::Done) => return Ok(Verified::Already),
            Followed::Not(LinkUse::Expired) => return Ok(Verified::Expired),
            Followed::Not(LinkUse::Unknown) => return Ok(Verified::Unknown),
        };
        let Some(password) = &link.password else { return Ok(Verified::Unknown) };
        store::activate(&mut tx, account, password, now).await?;
        let key = match store::has_key(&mut tx, account).await? {
            true => None,
            false => Some(self.insert_new_key(&mut tx, account, now).await?),
        };
        tx.commit().await?;
        if let Some(key) = key {
            self.keep_new_key(account, key, now);
        }
        Ok(Verified::Now { account, same_browser: link.is_of(visitor) })
    }

    /// Makes a link and the mail that brings it to `to`.
    pub(super) async fn send_link(
        &self,
        tx: &mut AnyConnection,
        (account, kind): (AccountId, LinkKind),
        to: &Email,
        effect: Effect<'_>,
        now: Micros,
    ) -> Result<(), sqlx::Error> {
        let link = self.insert_link(&mut *tx, (account, kind), effect, now).await?;
        let mail = match kind {
            LinkKind::Verify => MailKind::Verify,
            LinkKind::Reset => MailKind::Reset,
            LinkKind::Email => MailKind::EmailChange,
        };
        mail::enqueue(tx, to.as_str(), mail, Some(link), now).await
    }

    /// Whether somebody who only knows the address may cause one more mail to it, which is counted.
    pub(super) async fn may_be_mailed(
        &self,
        tx: &mut AnyConnection,
        account: &StoredAccount,
        now: Micros,
    ) -> Result<bool, sqlx::Error> {
        if account.blocked.is_some() || account.deleted.is_some() {
            return Ok(false);
        }
        let asked_max = self.shared.config.mails_max_per_hour;
        store::count_asked(tx, account.id, asked_max, now.saturating_sub(HOUR_US), now).await
    }
}

impl StoredAccount {
    /// Whether somebody has shown that the address is theirs, by following a link to it.
    pub(super) fn is_confirmed(&self) -> bool {
        self.active.is_some() && self.password.is_some()
    }
}

impl StoredLink {
    /// Whether this browser asked for the link.
    fn is_of(&self, visitor: Option<&Visitor>) -> bool {
        match (visitor, &self.visitor) {
            (Some(visitor), Some(stored)) => visitor.is(stored),
            _ => false,
        }
    }
}
