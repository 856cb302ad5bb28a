//! The kinds of mail.

use std::str::FromStr;

/// What a mail is about. The database stores its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MailKind {
    /// Confirms a registration. Has a link.
    Verify,
    /// A registration with an address that already has an account.
    AlreadyRegistered,
    /// A password reset was requested. Has a link.
    Reset,
    /// Sent to the new address, to confirm it. Has a link.
    EmailChange,
    /// Sent to the account's previous address.
    EmailChanged,
    PasswordChanged,
    AccountDeleted,
    /// A payment has arrived. Has a receipt.
    Receipt,
    /// A payment was refunded, at least partly. Has a receipt.
    Refund,
    /// A webhook of the account was disabled because it failed.
    WebhookDisabled,
    /// A named key of the account was created.
    NewNamedKey,
}

/// The text does not name a kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no kind of mail is called `{0}`")]
pub struct UnknownMail(String);

impl MailKind {
    pub const ALL: [Self; 11] = [
        Self::Verify,
        Self::AlreadyRegistered,
        Self::Reset,
        Self::EmailChange,
        Self::EmailChanged,
        Self::PasswordChanged,
        Self::AccountDeleted,
        Self::Receipt,
        Self::Refund,
        Self::WebhookDisabled,
        Self::NewNamedKey,
    ];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::AlreadyRegistered => "already-registered",
            Self::Reset => "reset",
            Self::EmailChange => "email-change",
            Self::EmailChanged => "email-changed",
            Self::PasswordChanged => "password-changed",
            Self::AccountDeleted => "account-deleted",
            Self::Receipt => "receipt",
            Self::Refund => "refund",
            Self::WebhookDisabled => "webhook-disabled",
            Self::NewNamedKey => "new-named-key",
        }
    }
}

impl FromStr for MailKind {
    type Err = UnknownMail;

    fn from_str(text: &str) -> Result<Self, UnknownMail> {
        let kind = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        kind.ok_or_else(|| UnknownMail(text.to_owned()))
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
