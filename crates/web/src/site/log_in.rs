//! `/login/` and `/logout/`.
//!
//! All failures look the same: they do not reveal whether an address is registered or confirmed.

use askama::Template;
use axum::{Extension, response::Response};
use hyper::StatusCode;

use super::{
    error::{SiteError, see_other},
    form::{FormSubmission, SignedForm},
    next,
    page::Shell,
    visit::Visit,
};
use crate::http::Peer;
use accounts::{Email, LogInOutcome, Password};

const REFUSED: &str = "Wrong email address or password, or the email address is not confirmed yet.";

#[derive(Debug, Template)]
#[template(path = "login.html")]
struct LogInPage<'a> {
    shell: Shell<'a>,
    email: &'a str,
    next: &'a str,
    done: Option<&'static str>,
    problem: Option<&'static str>,
}

/// `/login/`; `?next=` is where to go afterwards, `?done=` what was done before.
pub(super) async fn show(visit: Visit) -> Result<Response, SiteError> {
    let next = next::own_path(visit.query.text("next")).unwrap_or_default();
    if visit.customer().is_some() {
        return Ok(see_other(if next.is_empty() { "/dashboard/" } else { next }));
    }
    let done = match visit.query.text("done") {
        "reset" => Some("Your password was changed. Log in with the new one."),
        "email" => Some("Your email address was changed. Log in with the new one."),
        "out" => Some("You're logged out."),
        "deleted" => Some("Your account was deleted."),
        _ => None,
    };
    let shell = visit.shell("/login/");
    visit.show(&LogInPage { shell, email: "", next, done, problem: None })
}

/// The form of `/login/`.
pub(super) async fn log_in(
    Extension(Peer(address)): Extension<Peer>,
    FormSubmission { visit, fields }: FormSubmission,
) -> Result<Response, SiteError> {
    let parts = &visit.shared.parts;
    let (typed, next) = (fields.text("email"), next::own_path(fields.text("next")));
    let (email, password) = (Email::parse(typed), Password::parse(fields.secret("password")));
    let (Some(email), Ok(password)) = (email, password) else {
        return refused(&visit, typed, next);
    };
    if let Err(wait) = parts.admission.limits.log_in(address, email.as_str(), visit.device(&email))
    {
        return Err(SiteError::TooManyLogIns { wait_s: wait.seconds });
    }
    match parts.customers.accounts.log_in(&email, password, visit.now).await? {
        LogInOutcome::In { secret, .. } => {
            let onward = see_other(next.unwrap_or("/dashboard/"));
            visit.make_known(visit.begin_session(onward, &secret).await?, Some(&email))
        }
        LogInOutcome::Refused => refused(&visit, typed, next),
    }
}

fn refused(visit: &Visit, email: &str, next: Option<&str>) -> Result<Response, SiteError> {
    let (shell, next) = (visit.shell("/login/"), next.unwrap_or_default());
    let page = LogInPage { shell, email, next, done: None, problem: Some(REFUSED) };
    visit.show_as(StatusCode::UNPROCESSABLE_ENTITY, &page)
}

/// The form of `/logout/`.
pub(super) async fn log_out(form: SignedForm) -> Result<Response, SiteError> {
    let visit = &form.signed_in.visit;
    if let Some(secret) = visit.session() {
        visit.shared.parts.customers.accounts.end_session(secret).await?;
    }
    Ok(visit.forget_session(see_other("/login/?done=out")))
}
