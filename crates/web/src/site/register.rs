//! `/register/` and its mails: `/register/sent/`, `/verify/`.
//!
//! Registration answers the same whether the address is known or not. Only the mail to the address
//! contains what depends on it.

use askama::Template;
use axum::{Extension, response::Response};
use hyper::StatusCode;

use super::{
    error::{SiteError, see_other},
    form::FormSubmission,
    message::{self, NextLink},
    page::Shell,
    visit::Visit,
};
use crate::http::Peer;
use accounts::{Email, SessionOwner, VerificationOutcome};

/// The message for an invalid address.
pub(super) const NO_ADDRESS: &str = "Enter a valid email address.";

#[derive(Debug, Template)]
#[template(path = "register.html")]
struct RegisterPage<'a> {
    shell: Shell<'a>,
    email: &'a str,
    chars_min: usize,
    problem: Option<String>,
}

#[derive(Debug, Template)]
#[template(path = "sent.html")]
struct SentPage<'a> {
    shell: Shell<'a>,
    demo: bool,
    again: bool,
    problem: Option<&'static str>,
}

#[derive(Debug, Template)]
#[template(path = "verify_set.html")]
struct ChoosePage<'a> {
    shell: Shell<'a>,
    link: &'a str,
    chars_min: usize,
    problem: Option<String>,
}

/// `/register/`
pub(super) async fn show(visit: Visit) -> Result<Response, SiteError> {
    if visit.customer().is_some() {
        return Ok(see_other("/dashboard/"));
    }
    visit.show(&page(&visit, "", None))
}

/// The form of `/register/`.
pub(super) async fn register(
    Extension(Peer(address)): Extension<Peer>,
    FormSubmission { visit, fields }: FormSubmission,
) -> Result<Response, SiteError> {
    let parts = &visit.shared.parts;
    let typed = fields.text("email");
    let refused = |problem: String| {
        visit.show_as(StatusCode::UNPROCESSABLE_ENTITY, &page(&visit, typed, Some(problem)))
    };
    let Some(email) = Email::parse(typed) else { return refused(NO_ADDRESS.to_owned()) };
    let password =
        match parts.customers.accounts.new_password(fields.secret("password"), Some(&email)) {
            Ok(password) => password,
            Err(weak) => return refused(sentence(&weak.to_string())),
        };
    parts.admission.limits.register(address, email.as_str())?;
    parts.customers.accounts.register(&email, password, Some(visit.visitor()), visit.now).await?;
    Ok(see_other("/register/sent/"))
}

fn page<'a>(visit: &'a Visit, email: &'a str, problem: Option<String>) -> RegisterPage<'a> {
    let chars_min = visit.shared.parts.customers.accounts.password_chars_min();
    RegisterPage { shell: visit.shell("/register/"), email, chars_min, problem }
}

/// `/register/sent/`; `?again` after the mail was requested again.
pub(super) async fn sent(visit: Visit) -> Result<Response, SiteError> {
    visit.show(&sent_page(&visit, visit.query.has("again"), None))
}

/// The form of `/register/sent/`: sends the mail again.
pub(super) async fn resend(
    Extension(Peer(address)): Extension<Peer>,
    FormSubmission { visit, fields }: FormSubmission,
) -> Result<Response, SiteError> {
    let Some(email) = Email::parse(fields.text("email")) else {
        let page = sent_page(&visit, false, Some(NO_ADDRESS));
        return visit.show_as(StatusCode::UNPROCESSABLE_ENTITY, &page);
    };
    let device = visit.device(&email);
    visit.shared.parts.admission.limits.mail(address, email.as_str(), device)?;
    visit.shared.parts.customers.accounts.resend_verification(&email, visit.now).await?;
    Ok(see_other("/register/sent/?again"))
}

fn sent_page<'a>(visit: &'a Visit, again: bool, problem: Option<&'static str>) -> SentPage<'a> {
    let demo = visit.shared.parts.demo.key.is_some();
    SentPage { shell: visit.shell("/register/"), demo, again, problem }
}

/// `/verify/?link=`: confirms the address at once in the browser that registered it. In any other, such as a
/// mail scanner, the GET changes nothing: the page asks for the password to set.
pub(super) async fn verify(visit: Visit) -> Result<Response, SiteError> {
    let accounts = &visit.shared.parts.customers.accounts;
    let (link, now) = (visit.query.text("link"), visit.now);
    let verified = accounts.follow_verification(link, Some(visit.visitor()), None, now).await?;
    match verified {
        VerificationOutcome::NeedsPassword => visit.show(&choose_page(&visit, link, None)),
        verified => verified_page(&visit, link, verified).await,
    }
}

/// The form of `/verify/`: the password, chosen by the reader of the mail.
pub(super) async fn verify_with(
    FormSubmission { visit, fields }: FormSubmission,
) -> Result<Response, SiteError> {
    let (accounts, link) = (&visit.shared.parts.customers.accounts, fields.text("link"));
    let owner = accounts.email_of_link(link).await?;
    let password = match accounts.new_password(fields.secret("password"), owner.as_ref()) {
        Ok(password) => password,
        Err(weak) => {
            let page = choose_page(&visit, link, Some(sentence(&weak.to_string())));
            return visit.show_as(StatusCode::UNPROCESSABLE_ENTITY, &page);
        }
    };
    let verified = accounts.follow_verification(link, None, Some(password), visit.now).await?;
    verified_page(&visit, link, verified).await
}

fn choose_page<'a>(visit: &'a Visit, link: &'a str, problem: Option<String>) -> ChoosePage<'a> {
    let chars_min = visit.shared.parts.customers.accounts.password_chars_min();
    ChoosePage { shell: visit.shell("/register/"), link, chars_min, problem }
}

async fn verified_page(
    visit: &Visit,
    link: &str,
    verified: VerificationOutcome,
) -> Result<Response, SiteError> {
    let accounts = &visit.shared.parts.customers.accounts;
    match verified {
        VerificationOutcome::Now { account } => {
            let secret = accounts.start_session(SessionOwner::Customer(account), visit.now).await?;
            let response = visit.begin_session(see_other("/dashboard/"), &secret).await?;
            let email = accounts.email_of_link(link).await?;
            visit.make_known(response, email.as_ref())
        }
        VerificationOutcome::NeedsPassword => visit.show(&choose_page(visit, link, None)),
        VerificationOutcome::Already => message::show(
            visit,
            StatusCode::OK,
            "Already confirmed",
            "This link has already been used, and your account is active. Log in to continue.",
            NextLink::LOG_IN,
        ),
        VerificationOutcome::Expired => message::show(
            visit,
            StatusCode::GONE,
            "This link has expired",
            "Links are valid for a limited time. Request a new one.",
            NextLink { path: "/register/sent/", name: "Request a new link" },
        ),
        VerificationOutcome::Unknown => message::no_link(visit),
    }
}

/// HEAD never follows a link: probing whether the page exists must not use it up.
pub(super) async fn not_followed() -> StatusCode {
    StatusCode::OK
}

/// The message of an error.
pub(super) fn sentence(fragment: &str) -> String {
    let mut letters = fragment.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}
