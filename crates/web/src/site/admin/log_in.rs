//! `/admin/login/` and `/admin/logout/`.

use askama::Template;
use axum::{Extension, response::Response};
use hyper::{
    StatusCode,
    header::{HeaderValue, SET_COOKIE},
};
use tracing::info;

use super::operator::{Operator, OperatorForm};
use crate::{
    http::Peer,
    site::{CookieName, FormSubmission, Shell, SiteError, Visit, see_other},
};
use accounts::{LogInOutcome, Password, SessionSecret};

const REFUSED: &str = "Wrong name or password.";
/// Prefix of names in the throttle, which separates operators from customers. No email address begins with
/// it.
const THROTTLE: &str = "operator ";
/// Maximum bytes of a name, as in the command line.
const NAME_MAX: usize = 64;

#[derive(Debug, Template)]
#[template(path = "admin/login.html")]
struct AdminLogInPage<'a> {
    shell: Shell<'a>,
    name: &'a str,
    problem: Option<&'static str>,
}

/// `/admin/login/`
pub(super) async fn show(visit: Visit) -> Result<Response, SiteError> {
    visit.show(&AdminLogInPage { shell: visit.shell(""), name: "", problem: None })
}

/// The form of `/admin/login/`. It takes the same time whether the operator exists or not.
pub(super) async fn log_in(
    Extension(Peer(address)): Extension<Peer>,
    FormSubmission { visit, fields }: FormSubmission,
) -> Result<Response, SiteError> {
    let parts = &visit.shared.parts;
    let name = fields.text("name");
    let password = Password::parse(fields.secret("password"));
    let (1..=NAME_MAX, Ok(password)) = (name.len(), password) else {
        return refused(&visit, "");
    };
    parts.admission.limits.log_in_operator(address, &format!("{THROTTLE}{name}"))?;
    match parts.customers.accounts.log_in_admin(name, password, visit.now).await? {
        LogInOutcome::In { secret, .. } => {
            info!(name, "an operator logged in");
            entered(&visit, &secret).await
        }
        LogInOutcome::Refused => refused(&visit, name),
    }
}

async fn entered(visit: &Visit, secret: &SessionSecret) -> Result<Response, SiteError> {
    let session = visit.shared.parts.customers.accounts.session(secret.expose(), visit.now).await?;
    let age_s = session.map(|it| it.expires.saturating_sub(visit.now) / 1_000_000);
    let cookie = CookieName::Admin.set(secret.expose(), age_s, visit.shared.is_https());
    Ok(with_cookie(see_other("/admin/"), cookie))
}

fn refused(visit: &Visit, name: &str) -> Result<Response, SiteError> {
    let page = AdminLogInPage { shell: visit.shell(""), name, problem: Some(REFUSED) };
    visit.show_as(StatusCode::UNPROCESSABLE_ENTITY, &page)
}

/// The form of `/admin/logout/`.
pub(super) async fn log_out(form: OperatorForm) -> Result<Response, SiteError> {
    let operator: &Operator = &form.operator;
    operator.shared.parts.customers.accounts.end_session(operator.secret()).await?;
    let forgotten = CookieName::Admin.forget(operator.shared.is_https());
    Ok(with_cookie(see_other("/admin/login/"), forgotten))
}

fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Response {
    response.headers_mut().extend(cookie.map(|cookie| (SET_COOKIE, cookie)));
    response
}
