//! The texts of mails: which template is which kind's, and what they name.

use askama::Template;

use super::MailKind;

/// What the templates name.
pub(super) struct Facts<'a> {
    pub(super) service: &'a str,
    pub(super) site: &'a str,
    pub(super) address: &'a str,
    pub(super) asked: String,
    pub(super) link: &'a str,
    pub(super) expires: String,
}

#[derive(Template)]
pub(super) enum Text<'a> {
    #[template(path = "mail/verify.txt")]
    Verify { it: &'a Facts<'a> },
    #[template(path = "mail/already_registered.txt")]
    AlreadyRegistered { it: &'a Facts<'a> },
    #[template(path = "mail/reset.txt")]
    Reset { it: &'a Facts<'a> },
    #[template(path = "mail/email_change.txt")]
    EmailChange { it: &'a Facts<'a> },
    #[template(path = "mail/email_changed.txt")]
    EmailChanged { it: &'a Facts<'a> },
    #[template(path = "mail/password_changed.txt")]
    PasswordChanged { it: &'a Facts<'a> },
    #[template(path = "mail/account_deleted.txt")]
    AccountDeleted { it: &'a Facts<'a> },
}

/// The same paragraphs for programs that show no plain text.
#[derive(Template)]
#[template(path = "mail/letter.html")]
pub(super) struct Html<'a> {
    pub(super) subject: &'a str,
    pub(super) paragraphs: Vec<&'a str>,
    pub(super) link: &'a str,
}

impl<'a> Text<'a> {
    pub(super) fn of(kind: MailKind, it: &'a Facts<'a>) -> Self {
        match kind {
            MailKind::Verify => Self::Verify { it },
            MailKind::AlreadyRegistered => Self::AlreadyRegistered { it },
            MailKind::Reset => Self::Reset { it },
            MailKind::EmailChange => Self::EmailChange { it },
            MailKind::EmailChanged => Self::EmailChanged { it },
            MailKind::PasswordChanged => Self::PasswordChanged { it },
            MailKind::AccountDeleted => Self::AccountDeleted { it },
        }
    }
}
