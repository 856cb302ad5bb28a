//! The templates of mails: one for each kind, and the fields they use.

use askama::Template;

use super::MailKind;

/// The fields that templates use.
pub(super) struct TemplateFields<'a> {
    pub(super) service: &'a str,
    pub(super) site: &'a str,
    pub(super) address: &'a str,
    pub(super) requested: String,
    pub(super) link: &'a str,
    pub(super) expires: String,
    /// The text of the receipt, for the kinds that have one.
    pub(super) receipt: Option<String>,
}

#[derive(Template)]
pub(super) enum TextTemplate<'a> {
    #[template(path = "mail/verify.txt")]
    Verify { it: &'a TemplateFields<'a> },
    #[template(path = "mail/already_registered.txt")]
    AlreadyRegistered { it: &'a TemplateFields<'a> },
    #[template(path = "mail/reset.txt")]
    Reset { it: &'a TemplateFields<'a> },
    #[template(path = "mail/email_change.txt")]
    EmailChange { it: &'a TemplateFields<'a> },
    #[template(path = "mail/email_changed.txt")]
    EmailChanged { it: &'a TemplateFields<'a> },
    #[template(path = "mail/password_changed.txt")]
    PasswordChanged { it: &'a TemplateFields<'a> },
    #[template(path = "mail/account_deleted.txt")]
    AccountDeleted { it: &'a TemplateFields<'a> },
    #[template(path = "mail/receipt.txt")]
    Receipt { it: &'a TemplateFields<'a> },
    #[template(path = "mail/refund.txt")]
    Refund { it: &'a TemplateFields<'a> },
    #[template(path = "mail/webhook_disabled.txt")]
    WebhookDisabled { it: &'a TemplateFields<'a> },
    #[template(path = "mail/new_named_key.txt")]
    NewNamedKey { it: &'a TemplateFields<'a> },
}

/// The HTML alternative: the same paragraphs.
#[derive(Template)]
#[template(path = "mail/message.html")]
pub(super) struct HtmlTemplate<'a> {
    pub(super) subject: &'a str,
    pub(super) paragraphs: Vec<&'a str>,
    pub(super) link: &'a str,
}

impl<'a> TextTemplate<'a> {
    pub(super) fn new(kind: MailKind, it: &'a TemplateFields<'a>) -> Self {
        match kind {
            MailKind::Verify => Self::Verify { it },
            MailKind::AlreadyRegistered => Self::AlreadyRegistered { it },
            MailKind::Reset => Self::Reset { it },
            MailKind::EmailChange => Self::EmailChange { it },
            MailKind::EmailChanged => Self::EmailChanged { it },
            MailKind::PasswordChanged => Self::PasswordChanged { it },
            MailKind::AccountDeleted => Self::AccountDeleted { it },
            MailKind::Receipt => Self::Receipt { it },
            MailKind::Refund => Self::Refund { it },
            MailKind::WebhookDisabled => Self::WebhookDisabled { it },
            MailKind::NewNamedKey => Self::NewNamedKey { it },
        }
    }
}
