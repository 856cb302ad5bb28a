//! Registration, and confirmation of the address.
//!
//! A link proves the address and nothing else. The password comes from the browser that follows the
//! link: the one it registered with, or one that is typed on the link's page. So anybody may
//! register an address, but another person's click never activates a stranger's password.
//!
//! Registration does not reveal whether the address is known. It costs one password hash and writes
//! one mail either way; only the mail, which the owner receives, differs.

use std::time::Duration;

use sqlx::AnyConnection;
use tokio::time;

use super::{
    AccountId, Accounts, Email, HOUR_US, Micros, NewKeyKind, NewPassword, Result, Visitor,
    link::{LinkCheck, LinkKind, LinkOutcome},
    store::{self, Effect, StoredAccount},
};
use crate::mail::{self, MailKind};

/// The result of following a verification link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerificationOutcome {
    /// The account is now active and has a key, which [`Accounts::take_new_key`] shows. The browser
    /// has proved the address and the password, and may be logged in.
    Now { account: AccountId },
    /// The link is valid, but this browser did not register the address: it has to choose a
    /// password. Nothing has changed.
    NeedsPassword,
    /// It was confirmed before.
    Already,
    /// It has expired; [`Accounts::resend_verification`] sends another one.
    Expired,
    /// It is not a valid link, or can no longer take effect.
    Unknown,
}

/// The requester of a mail to an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requester {
    /// Proved to be the owner: by a session, or in a known browser.
    Owner,
    /// Anyone who knows the address.
    Stranger,
}

impl Accounts {
    /// Registers an address. Its owner is sent a link or, if there already is an account, a notice;
    /// the response does not reveal which.
    ///
    /// The password takes effect when this browser, the `visitor`, follows a link to the address.
    /// Other browsers' registrations of the same address do not affect this. An account without a
    /// password, created by the operator for this address, is claimed in the same way and keeps its
    /// key.
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
    ) -> Result<()> {
        self.with_uniform_duration(self.register_now(email, password, visitor, now)).await
    }

    async fn register_now(
        &self,
        email: &Email,
        password: NewPassword,
        visitor: Option<&Visitor>,
        now: Micros,
    ) -> Result<()> {
        let password = self.shared.hasher.hash(password).await?;
        let mut tx = self.shared.store.begin().await?;
        let account = store::lock_or_insert(&mut tx, email.as_str(), now).await?;
        if account.is_confirmed() {
            // One an hour is enough. The notice has its own limit because it contains no link: it
            // must not take the place of a mail that does.
            let hour_ago = now.saturating_sub(HOUR_US);
            if account.may_be_used()
                && store::count_notice(&mut tx, account.id, hour_ago, now).await?
            {
                let kind = MailKind::AlreadyRegistered;
                mail::enqueue(&mut tx, email.as_str(), kind, None, now).await?;
            }
        } else if self.may_be_mailed(&mut tx, &account, Requester::Stranger, now).await? {
            let visitor = visitor.map(Visitor::hash);
            let effect = Effect {
                password: Some(&password),
                visitor: visitor.as_ref().map(|it| &it[..]),
                email: None,
            };
            self.send_link(&mut tx, (account.id, LinkKind::Verify), email, effect, now).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Sends another verification link if the address is unconfirmed. The response does not reveal it.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn resend_verification(&self, email: &Email, now: Micros) -> Result<()> {
        let resend = async {
            let mut tx = self.shared.store.begin().await?;
            if let Some(account) = store::lock_by_email(&mut tx, email.as_str()).await? {
                self.resend(&mut tx, &account, email, now).await?;
            }
            tx.commit().await?;
            Ok(())
        };
        self.with_uniform_duration(resend).await
    }

    /// Takes the same time for any work: an unregistered address means less work, and the duration
    /// must not reveal it.
    pub(super) async fn with_uniform_duration<T>(&self, work: impl Future<Output = T>) -> T {
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
    ) -> Result<()> {
        if account.is_confirmed() {
            return Ok(());
        }
        if self.may_be_mailed(&mut *tx, account, Requester::Stranger, now).await? {
            // The link carries no password: see the top of this file.
            let whose = (account.id, LinkKind::Verify);
            self.send_link(tx, whose, email, Effect::default(), now).await?;
        }
        Ok(())
    }

    /// Confirms an address: activates the account, sets its password and creates its key, all or
    /// nothing. The password is the one `typed` on the page of the link, or else the one with which
    /// this browser registered.
    ///
    /// # Errors
    ///
    /// If too many passwords are being hashed, or if the store fails; the link stays valid then.
    pub async fn follow_verification(
        &self,
        link: &str,
        visitor: Option<&Visitor>,
        typed: Option<NewPassword>,
        now: Micros,
    ) -> Result<VerificationOutcome> {
        let Some(link) = self.signed_link(LinkKind::Verify, link).await? else {
            return Ok(VerificationOutcome::Unknown);
        };
        let typed = match typed {
            Some(password) => Some(self.shared.hasher.hash(password).await?),
            None => None,
        };
        let mut tx = self.shared.store.begin().await?;
        // Read before the link is followed, which invalidates all links of the account.
        let password = match (typed, visitor) {
            (Some(typed), _) => Some(typed),
            (None, Some(visitor)) => {
                store::registered_password(&mut tx, link.account, &visitor.hash()).await?
            }
            (None, None) => None,
        };
        let account = match self.follow(&mut tx, &link, now).await? {
            LinkCheck::Valid(account) => account.id,
            LinkCheck::Rejected(LinkOutcome::Already | LinkOutcome::Done) => {
                return Ok(VerificationOutcome::Already);
            }
            LinkCheck::Rejected(LinkOutcome::Expired) => return Ok(VerificationOutcome::Expired),
            LinkCheck::Rejected(LinkOutcome::Unknown) => return Ok(VerificationOutcome::Unknown),
        };
        let Some(password) = password else {
            // The transaction is rolled back: the link stays valid.
            tx.rollback().await?;
            return Ok(VerificationOutcome::NeedsPassword);
        };
        store::activate(&mut tx, account, &password, now).await?;
        let key = match store::has_key(&mut tx, account).await? {
            true => None,
            false => Some(self.insert_new_key(&mut tx, account, None, now).await?),
        };
        tx.commit().await?;
        if let Some(key) = key {
            self.keep_new_key(account, NewKeyKind::Main, key, now);
        }
        Ok(VerificationOutcome::Now { account })
    }

    /// Creates a link and the mail that delivers it to `to`.
    pub(super) async fn send_link(
        &self,
        tx: &mut AnyConnection,
        (account, kind): (AccountId, LinkKind),
        to: &Email,
        effect: Effect<'_>,
        now: Micros,
    ) -> sqlx::Result<()> {
        let link = self.insert_link(&mut *tx, (account, kind), effect, now).await?;
        let mail = match kind {
            LinkKind::Verify => MailKind::Verify,
            LinkKind::Reset => MailKind::Reset,
            LinkKind::Email => MailKind::EmailChange,
        };
        mail::enqueue(tx, to.as_str(), mail, Some(link), now).await
    }

    /// Counts a mail with a link to this account, and returns whether it is within the limit. Once
    /// strangers have used up their share, the links they caused are in the owner's mailbox and
    /// work, and the owner has a reserve.
    pub(super) async fn may_be_mailed(
        &self,
        tx: &mut AnyConnection,
        account: &StoredAccount,
        requester: Requester,
        now: Micros,
    ) -> sqlx::Result<bool> {
        if !account.may_be_used() {
            return Ok(false);
        }
        let (config, hour_ago) = (&self.shared.config, now.saturating_sub(HOUR_US));
        let (id, reserve) = (account.id, config.mails_reserved_per_hour);
        if requester == Requester::Owner
            && store::count_mail_request(&mut *tx, id, requester, reserve, hour_ago, now).await?
        {
            return Ok(true);
        }
        let (stranger, max) = (Requester::Stranger, config.mails_max_per_hour);
        store::count_mail_request(tx, id, stranger, max, hour_ago, now).await
    }
}

impl StoredAccount {
    /// Neither blocked nor deleted.
    fn may_be_used(&self) -> bool {
        self.blocked.is_none() && self.deleted.is_none()
    }

    /// Whether its owner confirmed the address by following a link.
    pub(super) fn is_confirmed(&self) -> bool {
        self.active.is_some() && self.password.is_some()
    }
}
