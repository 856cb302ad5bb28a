//! Which text a mail is.

use std::str::FromStr;

/// What a mail is about. Its name is what the database has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MailKind {
    /// A registration waits to be confirmed. Has a link.
    Verify,
    /// Somebody registered with an address that has an account.
    AlreadyRegistered,
    /// A new password was asked for. Has a link.
    Reset,
    /// To the new address, which is to be confirmed. Has a link.
    EmailChange,
    /// To the address that was the account's until now.
    EmailChanged,
    PasswordChanged,
    AccountDeleted,
}

/// The text is no kind's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no kind of mail is called `{0}`")]
pub struct UnknownMail(String);

impl MailKind {
    pub const ALL: [Self; 7] = [
        Self::Verify,
        Self::AlreadyRegistered,
        Self::Reset,
        Self::EmailChange,
        Self::EmailChanged,
        Self::PasswordChanged,
        Self::AccountDeleted,
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
