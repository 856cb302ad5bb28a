//! `/register/` and what follows by mail: `/register/sent/`, `/verify/`.
//!
//! Whoever registers is told the same whether the address is known or not. What there is to say of an
//! address is said in the mail to it.

use askama::Template;
use axum::{Extension, response::Response};
use hyper::StatusCode;

use super::{
    error::{SiteError, see_other},
    form::Submitted,
    message::{self, Onward},
    page::Shell,
    visit::Visit,
};
use crate::{
    accounts::{Email, Verified, Who},
    http::Peer,
};

/// What is said of an address that none is.
pub(super) const NO_ADDRESS: &str = "This is no e-mail address that we can write to.";

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
    Submitted { visit, fields }: Submitted,
) -> Result<Response, SiteError> {
    let parts = &visit.shared.parts;
    let typed = fields.text("email");
    let refused = |problem: String| {
        visit.show_as(StatusCode::UNPROCESSABLE_ENTITY, &page(&visit, typed, Some(problem)))
    };
    let Some(email) = Email::parse(typed) else { return refused(NO_ADDRESS.to_owned()) };
    let password = match parts.accounts.new_password(fields.secret("password")) {
        Ok(password) => password,
        Err(weak) => return refused(sentence(&weak.to_string())),
    };
    parts.limits.register(address)?;
    parts.accounts.register(&email, password, Some(visit.visitor()), visit.now).await?;
    Ok(see_other("/register/sent/"))
}

fn page<'a>(visit: &'a Visit, email: &'a str, problem: Option<String>) -> RegisterPage<'a> {
    let chars_min = visit.shared.parts.accounts.password_chars_min();
    RegisterPage { shell: visit.shell("/register/"), email, chars_min, problem }
}

/// `/register/sent/`; `?again` after a mail was asked for once more.
pub(super) async fn sent(visit: Visit) -> Result<Response, SiteError> {
    visit.show(&sent_page(&visit, visit.query.has("again"), None))
}

/// The form of `/register/sent/`: the mail once more.
pub(super) async fn resend(
    Extension(Peer(address)): Extension<Peer>,
    Submitted { visit, fields }: Submitted,
) -> Result<Response, SiteError> {
    let Some(email) = Email::parse(fields.text("email")) else {
        let page = sent_page(&visit, false, Some(NO_ADDRESS));
        return visit.show_as(StatusCode::UNPROCESSABLE_ENTITY, &page);
    };
    visit.shared.parts.limits.mail(address)?;
    visit.shared.parts.accounts.resend_verification(&email, visit.now).await?;
    Ok(see_other("/register/sent/?again"))
}

fn sent_page<'a>(visit: &'a Visit, again: bool, problem: Option<&'static str>) -> SentPage<'a> {
    let demo = visit.shared.parts.demo_key.is_some();
    SentPage { shell: visit.shell("/register/"), demo, again, problem }
}

/// `/verify/?link=`: confirms the address. The browser that registered is logged in at once; any other
/// has only shown that it can read the mail.
pub(super) async fn verify(visit: Visit) -> Result<Response, SiteError> {
    let accounts = &visit.shared.parts.accounts;
    let now = visit.now;
    match accounts.follow_verification(visit.query.text("link"), Some(visit.visitor()), now).await?
    {
        Verified::Now { account, same_browser: true } => {
            let secret = accounts.start_session(Who::Customer(account), now).await?;
            visit.begin_session(see_other("/dashboard/"), &secret).await
        }
        Verified::Now { same_browser: false, .. } => message::show(
            &visit,
            StatusCode::OK,
            "The address is confirmed",
            "Your account is active and has its API key. Log in to see it.",
            Onward::LOG_IN,
        ),
        Verified::Already => message::show(
            &visit,
            StatusCode::OK,
            "Confirmed already",
            "This link has done its work before: the account is active. Log in to see your API key.",
            Onward::LOG_IN,
        ),
        Verified::Expired => message::show(
            &visit,
            StatusCode::GONE,
            "This link is too old",
            "A link works for a limited time. Ask for a new one.",
            Onward { path: "/register/sent/", name: "Ask for a new link" },
        ),
        Verified::Unknown => message::no_link(&visit),
    }
}

/// A link is followed by GET alone: what only looks whether there is a page must not use it up.
pub(super) async fn not_followed() -> StatusCode {
    StatusCode::OK
}

/// What an error says, as a sentence.
pub(super) fn sentence(fragment: &str) -> String {
    let mut letters = fragment.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}
