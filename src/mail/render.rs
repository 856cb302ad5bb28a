//! What a mail says.

use askama::Template;
use jiff::Timestamp;
use lettre::{
    Address, Message,
    message::{
        Body, MultiPart, SinglePart,
        header::{ContentTransferEncoding, ContentType, HeaderName, HeaderValue},
    },
};

use super::{
    MailKind, Sender,
    text::{Facts, Html, Text},
};
use crate::accounts::Micros;

/// Bytes of a line of a mail, as RFC 5322 bounds them.
const LINE_MAX: usize = 998;

/// All that a text may speak of.
#[derive(Debug, Clone)]
pub(super) struct Occasion<'a> {
    /// The number of the mail, the same at each attempt.
    pub(super) id: i64,
    pub(super) kind: MailKind,
    pub(super) address: &'a Address,
    /// When it was asked for.
    pub(super) asked: Micros,
    pub(super) link: Option<Link>,
    /// Where the pages are, without a slash at the end.
    pub(super) site: &'a str,
}

/// A link to follow.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) url: String,
    pub(super) expires: Micros,
}

/// The page that takes the link of such a mail.
pub(super) fn page(kind: MailKind) -> Option<&'static str> {
    match kind {
        MailKind::Verify => Some("/verify/"),
        MailKind::Reset => Some("/reset/"),
        MailKind::EmailChange => Some("/email/"),
        MailKind::AlreadyRegistered
        | MailKind::EmailChanged
        | MailKind::PasswordChanged
        | MailKind::AccountDeleted => None,
    }
}

/// A mail as a person reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) subject: String,
    pub(super) text: String,
    html: String,
}

impl Letter {
    /// Writes it.
    ///
    /// # Errors
    ///
    /// If a template cannot be filled in, which is ours to mend.
    pub(super) fn write(occasion: &Occasion<'_>, sender: &Sender) -> Result<Self, askama::Error> {
        let link = occasion.link.as_ref();
        let facts = Facts {
            service: sender.name(),
            site: occasion.site,
            address: occasion.address.as_ref(),
            asked: day_and_time(occasion.asked),
            link: link.map_or("", |link| &link.url),
            expires: link.map_or_else(String::new, |link| day_and_time(link.expires)),
        };
        let text = Text::of(occasion.kind, &facts).render()?;
        let subject = subject(occasion.kind, sender.name());
        let paragraphs = text.split("\n\n").map(str::trim).collect();
        let html = Html { subject: &subject, paragraphs, link: facts.link }.render()?;
        Ok(Self { subject, text, html })
    }

    /// As it goes over the wire. The number of the mail is in its `Message-ID`, so that a mailbox that
    /// gets it twice can tell.
    ///
    /// # Errors
    ///
    /// If the library finds something missing, which is ours to mend.
    pub(super) fn into_message(
        self,
        occasion: &Occasion<'_>,
        sender: &Sender,
    ) -> Result<Message, lettre::error::Error> {
        let domain = sender.address().domain();
        let id = format!("<{}.{}@{domain}>", occasion.id, occasion.asked);
        Message::builder()
            .from(sender.mailbox())
            .to(occasion.address.clone().into())
            .subject(self.subject)
            .message_id(Some(id))
            .date_now()
            // No machine is to answer it.
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                "auto-generated".to_owned(),
            ))
            .multipart(
                MultiPart::alternative()
                    .singlepart(part(ContentType::TEXT_PLAIN, &self.text))
                    .singlepart(part(ContentType::TEXT_HTML, &self.html)),
            )
    }
}

/// Lines are left as they are where that is allowed: the library would break the longer ones, and the
/// one with the link is to be whole for whoever reads the mail as it is.
pub(super) fn part(kind: ContentType, text: &str) -> SinglePart {
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
    };
    if service.is_empty() { what.to_owned() } else { format!("{what} ({service})") }
}

/// `22 November 2026, 14:05 UTC`.
fn day_and_time(at: Micros) -> String {
    let at = Timestamp::from_microsecond(at).unwrap_or(Timestamp::UNIX_EPOCH);
    at.strftime("%-d %B %Y, %H:%M UTC").to_string()
}
