//! `/reset/`: a new password by a mailed link; and `/email/`, the link of a new address.

use askama::Template;
use axum::{Extension, response::Response};
use hyper::StatusCode;

use super::{
    error::{SiteError, see_other},
    form::FormSubmission,
    message::{self, NextLink},
    page::Shell,
    register::{NO_ADDRESS, sentence},
    visit::Visit,
};
use crate::http::Peer;
use accounts::{Email, LinkOutcome, Requester};

#[derive(Debug, Template)]
#[template(path = "reset_ask.html")]
struct AskPage<'a> {
    shell: Shell<'a>,
    is_sent: bool,
    problem: Option<&'static str>,
}

#[derive(Debug, Template)]
#[template(path = "reset_set.html")]
struct SetPage<'a> {
    shell: Shell<'a>,
    link: &'a str,
    chars_min: usize,
    problem: Option<String>,
}

#[derive(Debug, Template)]
#[template(path = "email_confirm.html")]
struct ConfirmPage<'a> {
    shell: Shell<'a>,
    link: &'a str,
}

/// `/reset/`: asks for the address, or, with a link, for the new password. Submitting the form uses the link
/// up; opening the page does not.
pub(super) async fn show(visit: Visit) -> Result<Response, SiteError> {
    match visit.query.text("link") {
        "" => visit.show(&ask_page(&visit, visit.query.has("asked"), None)),
        link => visit.show(&set_page(&visit, link, None)),
    }
}

fn ask_page<'a>(visit: &'a Visit, is_sent: bool, problem: Option<&'static str>) -> AskPage<'a> {
    AskPage { shell: visit.shell("/login/"), is_sent, problem }
}

fn set_page<'a>(visit: &'a Visit, link: &'a str, problem: Option<String>) -> SetPage<'a> {
    let chars_min = visit.shared.parts.customers.accounts.password_chars_min();
    SetPage { shell: visit.shell("/login/"), link, chars_min, problem }
}

/// The form of `/reset/`: sends a mail if the account exists; the answer is the same if it does not.
pub(super) async fn ask(
    Extension(Peer(address)): Extension<Peer>,
    FormSubmission { visit, fields }: FormSubmission,
) -> Result<Response, SiteError> {
    let Some(email) = Email::parse(fields.text("email")) else {
        let page = ask_page(&visit, false, Some(NO_ADDRESS));
        return visit.show_as(StatusCode::UNPROCESSABLE_ENTITY, &page);
    };
    let device = visit.device(&email);
    visit.shared.parts.admission.limits.mail(address, email.as_str(), device)?;
    let requester = if device.is_some() { Requester::Owner } else { Requester::Stranger };
    visit.shared.parts.customers.accounts.request_reset(&email, requester, visit.now).await?;
    Ok(see_other("/reset/?asked"))
}

/// The form of `/reset/?link=`.
pub(super) async fn set(
    FormSubmission { visit, fields }: FormSubmission,
) -> Result<Response, SiteError> {
    let (accounts, link) = (&visit.shared.parts.customers.accounts, fields.text("link"));
    let owner = accounts.email_of_link(link).await?;
    let password = match accounts.new_password(fields.secret("password"), owner.as_ref()) {
        Ok(password) => password,
        Err(weak) => {
            let page = set_page(&visit, link, Some(sentence(&weak.to_string())));
            return visit.show_as(StatusCode::UNPROCESSABLE_ENTITY, &page);
        }
    };
    match accounts.reset(link, password, visit.now).await? {
        // All sessions have ended, including this browser's.
        LinkOutcome::Done => {
            let response = visit.forget_session(see_other("/login/?done=reset"));
            visit.make_known(response, owner.as_ref())
        }
        LinkOutcome::Already => message::used_link(&visit),
        LinkOutcome::Expired => {
            too_old(&visit, NextLink { path: "/reset/", name: "Request a new link" })
        }
        LinkOutcome::Unknown => message::no_link(&visit),
    }
}

/// `/email/?link=`: sets an account's new address, at once if its owner is logged in. Anyone else confirms
/// it by a form: a mail scanner that fetches the link must not attach the mail's recipient to another person's
/// account.
pub(super) async fn change_email(visit: Visit) -> Result<Response, SiteError> {
    let link = visit.query.text("link");
    let Some(account) = visit.shared.parts.customers.accounts.email_change_of(link).await? else {
        return message::no_link(&visit);
    };
    if visit.customer().is_some_and(|customer| customer.account == account) {
        return follow_email_change(&visit, link).await;
    }
    visit.show(&ConfirmPage { shell: visit.shell("/login/"), link })
}

/// The form of `/email/?link=`.
pub(super) async fn confirm_email(
    FormSubmission { visit, fields }: FormSubmission,
) -> Result<Response, SiteError> {
    follow_email_change(&visit, fields.text("link")).await
}

async fn follow_email_change(visit: &Visit, link: &str) -> Result<Response, SiteError> {
    let accounts = &visit.shared.parts.customers.accounts;
    match accounts.follow_email_change(link, visit.now).await? {
        LinkOutcome::Done if visit.customer().is_some() => {
            Ok(see_other("/dashboard/settings/?done=email"))
        }
        LinkOutcome::Done => Ok(see_other("/login/?done=email")),
        LinkOutcome::Already => message::used_link(visit),
        LinkOutcome::Expired => {
            too_old(visit, NextLink { path: "/dashboard/settings/", name: "Request a new link" })
        }
        LinkOutcome::Unknown => message::no_link(visit),
    }
}

fn too_old(visit: &Visit, onward: NextLink) -> Result<Response, SiteError> {
    let text = "Links are valid for a limited time. Request a new one.";
    message::show(visit, StatusCode::GONE, "This link has expired", text, onward)
}
