//! The kinds of mail.

use std::str::FromStr;

base::words! {
    /// What a mail is about. The database stores its name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum MailKind {
        /// Confirms a registration. Has a link.
        Verify = "verify",
        /// A registration with an address that already has an account.
        AlreadyRegistered = "already-registered",
        /// A password reset was requested. Has a link.
        Reset = "reset",
        /// Sent to the new address, to confirm it. Has a link.
        EmailChange = "email-change",
        /// Sent to the account's previous address.
        EmailChanged = "email-changed",
        PasswordChanged = "password-changed",
        AccountDeleted = "account-deleted",
        /// A payment has arrived. Has a receipt.
        Receipt = "receipt",
        /// A payment was refunded, at least partly. Has a receipt.
        Refund = "refund",
        /// A webhook of the account was disabled because it failed.
        WebhookDisabled = "webhook-disabled",
        /// A named key of the account was created.
        NewNamedKey = "new-named-key",
    }
}

/// The text does not name a kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no kind of mail is called `{0}`")]
pub struct UnknownMail(String);

impl FromStr for MailKind {
    type Err = UnknownMail;

    fn from_str(text: &str) -> Result<Self, UnknownMail> {
        Self::from_word(text).ok_or_else(|| UnknownMail(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_found_by_its_name() {
        for kind in MailKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert_eq!("spam".parse::<MailKind>(), Err(UnknownMail("spam".to_owned())));
    }
}
