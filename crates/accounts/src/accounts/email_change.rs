//! Changing an account's address: the new one is confirmed, and the old one is notified.

use super::{
    AccountId, Accounts, Email, LinkOutcome, Micros, Password, Requester, Result,
    link::{LinkCheck, LinkKind},
    store::{self, Effect},
};
use crate::mail::{self, MailKind};

/// The result of a request to change the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmailChangeOutcome {
    /// A mail was sent to the new address. Its content is for its owner alone.
    Sent,
    WrongPassword,
    /// No mail was sent: there were too many within an hour.
    TooMany,
}

impl Accounts {
    /// Sends a link to the new address; following it changes the account's address. If the new
    /// address has an account of its own, its owner is notified instead, and the caller sees no
    /// difference.
    ///
    /// # Errors
    ///
    /// If too many passwords are being compared, or if the store fails.
    pub async fn request_email_change(
        &self,
        account: AccountId,
        email: &Email,
        password: Password,
        now: Micros,
    ) -> Result<EmailChangeOutcome> {
        let Some(read) = self.reauthenticate(account, password).await? else {
            return Ok(EmailChangeOutcome::WrongPassword);
        };
        let Some((mut tx, account)) = self.lock_unchanged(&read).await? else {
            return Ok(EmailChangeOutcome::WrongPassword);
        };
        if !self.may_be_mailed(&mut tx, &account, Requester::Owner, now).await? {
            return Ok(EmailChangeOutcome::TooMany);
        }
        // Only a preview: what counts is who has the address when the link is followed.
        let holder = store::account_of_email(&mut tx, email.as_str()).await?;
        match holder {
            Some(holder) if holder.active.is_some() => {
                let kind = MailKind::AlreadyRegistered;
                mail::enqueue(&mut tx, email.as_str(), kind, None, now).await?;
            }
            _ => {
                let effect = Effect { email: Some(email.as_str()), ..Effect::default() };
                self.send_link(&mut tx, (account.id, LinkKind::Email), email, effect, now).await?;
            }
        }
        tx.commit().await?;
        Ok(EmailChangeOutcome::Sent)
    }

    /// The account whose address such a link would change; `None` if it is not a valid link.
    /// Changes nothing.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn email_change_of(&self, link: &str) -> Result<Option<AccountId>> {
        Ok(self.signed_link(LinkKind::Email, link).await?.map(|link| link.account))
    }

    /// Changes the account's address. An unconfirmed registration of it gives way; an account that
    /// has taken it meanwhile does not, and the result is [`LinkOutcome::Unknown`].
    ///
    /// # Errors
    ///
    /// If the store fails; the link is as good as before then.
    pub async fn follow_email_change(&self, link: &str, now: Micros) -> Result<LinkOutcome> {
        let Some(link) = self.signed_link(LinkKind::Email, link).await? else {
            return Ok(LinkOutcome::Unknown);
        };
        let Some(email) = &link.email else { return Ok(LinkOutcome::Unknown) };
        let mut tx = self.shared.store.begin().await?;
        let account = match self.follow(&mut tx, &link, now).await? {
            LinkCheck::Valid(account) => account,
            LinkCheck::Rejected(outcome) => return Ok(outcome),
        };
        match store::lock_by_email(&mut tx, email).await? {
            Some(holder) if holder.active.is_none() => {
                store::remove_links(&mut tx, holder.id).await?;
                store::anonymise(&mut tx, holder.id, now).await?;
            }
            Some(_) => return Ok(LinkOutcome::Unknown),
            None => {}
        }
        match store::set_email(&mut tx, account.id, email).await {
            Err(error) if is_taken(&error) => return Ok(LinkOutcome::Unknown),
            done => done?,
        }
        if let Some(old) = &account.email {
            mail::enqueue(&mut tx, old, MailKind::EmailChanged, None, now).await?;
        }
        tx.commit().await?;
        Ok(LinkOutcome::Done)
    }
}

/// Whether the address was registered concurrently.
fn is_taken(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}
