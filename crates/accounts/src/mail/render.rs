//! Renders the subject and the text of a mail.

use askama::Template;
use jiff::Timestamp;
use lettre::{
    Address, Message,
    message::{
        Attachment, Body, MultiPart, SinglePart,
        header::{ContentTransferEncoding, ContentType, HeaderName, HeaderValue},
    },
};

use super::{
    MailKind, Sender,
    text::{HtmlTemplate, TemplateFields, TextTemplate},
};
use crate::{accounts::Micros, payments::Receipt};

/// Bytes of a line of a mail, as RFC 5322 bounds them.
const LINE_MAX: usize = 998;

/// What a template can refer to.
#[derive(Debug, Clone)]
pub(super) struct EmailContext<'a> {
    /// The id of the mail, the same at each attempt.
    pub(super) id: i64,
    pub(super) kind: MailKind,
    pub(super) address: &'a Address,
    /// When it was enqueued.
    pub(super) requested: Micros,
    pub(super) link: Option<EmailLink>,
    /// For the kinds that have one.
    pub(super) receipt: Option<Receipt>,
    /// The URL of the site, without a trailing slash.
    pub(super) site: &'a str,
}

/// The link that a mail asks its reader to click.
#[derive(Debug, Clone)]
pub(super) struct EmailLink {
    pub(super) url: String,
    pub(super) expires: Micros,
}

/// The page that the link of such a mail opens.
pub(super) fn page(kind: MailKind) -> Option<&'static str> {
    match kind {
        MailKind::Verify => Some("/verify/"),
        MailKind::Reset => Some("/reset/"),
        MailKind::EmailChange => Some("/email/"),
        MailKind::AlreadyRegistered
        | MailKind::EmailChanged
        | MailKind::PasswordChanged
        | MailKind::AccountDeleted
        | MailKind::Receipt
        | MailKind::Refund
        | MailKind::WebhookDisabled
        | MailKind::NewNamedKey => None,
    }
}

/// Whether such a mail has a receipt.
pub(super) fn has_receipt(kind: MailKind) -> bool {
    matches!(kind, MailKind::Receipt | MailKind::Refund)
}

/// A mail as its recipient reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RenderedEmail {
    pub(super) subject: String,
    pub(super) text: String,
    html: String,
}

impl RenderedEmail {
    /// Renders the templates of this kind of mail.
    ///
    /// # Errors
    ///
    /// If a template cannot be rendered, which is a bug.
    pub(super) fn render(
        context: &EmailContext<'_>,
        sender: &Sender,
    ) -> Result<Self, askama::Error> {
        let link = context.link.as_ref();
        let facts = TemplateFields {
            service: sender.name(),
            site: context.site,
            address: context.address.as_ref(),
            requested: day_and_time(context.requested),
            link: link.map_or("", |link| &link.url),
            expires: link.map_or_else(String::new, |link| day_and_time(link.expires)),
            receipt: context.receipt.as_ref().map(Receipt::text),
        };
        let text = TextTemplate::new(context.kind, &facts).render()?;
        let subject = subject(context.kind, sender.name());
        let paragraphs = text.split("\n\n").map(str::trim).collect();
        let html = HtmlTemplate { subject: &subject, paragraphs, link: facts.link }.render()?;
        Ok(Self { subject, text, html })
    }

    /// The message as it goes over the wire. The mail's id is in its `Message-ID`, so that a mailbox
    /// can detect a duplicate.
    ///
    /// # Errors
    ///
    /// If the library finds something missing, which is a bug.
    pub(super) fn into_message(
        self,
        context: &EmailContext<'_>,
        sender: &Sender,
    ) -> Result<Message, lettre::error::Error> {
        let alternative = MultiPart::alternative()
            .singlepart(text_part(ContentType::TEXT_PLAIN, &self.text))
            .singlepart(text_part(ContentType::TEXT_HTML, &self.html));
        let content = match context.receipt.as_ref().and_then(attachment) {
            Some(attachment) => MultiPart::mixed().multipart(alternative).singlepart(attachment),
            None => alternative,
        };
        let domain = sender.address().domain();
        let id = format!("<{}.{}@{domain}>", context.id, context.requested);
        Message::builder()
            .from(sender.mailbox())
            .to(context.address.clone().into())
            .subject(self.subject)
            .message_id(Some(id))
            .date_now()
            // Auto-responders must not answer it.
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                "auto-generated".to_owned(),
            ))
            .multipart(content)
    }
}

fn attachment(receipt: &Receipt) -> Option<SinglePart> {
    let kind = ContentType::parse("application/pdf").expect("it is a type");
    Some(Attachment::new(receipt.file_name()).body(receipt.pdf()?, kind))
}

/// Leaves lines unencoded where that is allowed: the library would break the longer ones, and a link
/// must stay whole for readers of the raw mail.
pub(super) fn text_part(kind: ContentType, text: &str) -> SinglePart {
    let as_it_is = text.is_ascii() && text.lines().all(|line| line.len() <= LINE_MAX);
    let body = match as_it_is {
        true => Body::dangerous_pre_encoded(
            text.replace('\n', "\r\n").into_bytes(),
            ContentTransferEncoding::SevenBit,
        ),
        false => Body::new(text.to_owned()),
    };
    SinglePart::builder().header(kind).body(body)
}

fn subject(kind: MailKind, service: &str) -> String {
    let what = match kind {
        MailKind::Verify => "Confirm your email address",
        MailKind::AlreadyRegistered => "You already have an account",
        MailKind::Reset => "Reset your password",
        MailKind::EmailChange => "Confirm your new email address",
        MailKind::EmailChanged => "Your email address was changed",
        MailKind::PasswordChanged => "Your password was changed",
        MailKind::AccountDeleted => "Your account was deleted",
        MailKind::Receipt => "Receipt for your payment",
        MailKind::Refund => "Receipt for your refund",
        MailKind::WebhookDisabled => "Your webhook was disabled",
        MailKind::NewNamedKey => "A key was created",
    };
    if service.is_empty() { what.to_owned() } else { format!("{what} ({service})") }
}

/// `22 November 2026, 14:05 UTC`.
fn day_and_time(at: Micros) -> String {
    let at = Timestamp::from_microsecond(at).unwrap_or(Timestamp::UNIX_EPOCH);
    at.strftime("%-d %B %Y, %H:%M UTC").to_string()
}
