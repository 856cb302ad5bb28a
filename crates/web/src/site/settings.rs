//! `/dashboard/settings/`: password, email address, time zone, sessions, and deletion of the account.

use askama::Template;
use axum::{Extension, response::Response};
use hyper::StatusCode;

use super::{
    error::{SiteError, see_other},
    form::SignedForm,
    page::Shell,
    register::{NO_ADDRESS, sentence},
    visit::SignedIn,
};
use crate::http::Peer;
use accounts::{Email, EmailChangeOutcome, Password, ReauthOutcome, SessionOwner, ZoneName};

const WRONG_PASSWORD: &str = "Wrong password. Nothing was changed.";

#[derive(Debug, Template)]
#[template(path = "settings.html")]
struct SettingsPage<'a> {
    shell: Shell<'a>,
    email: &'a str,
    /// The time zone of the account, and those to choose from.
    zone: &'static str,
    zones: Vec<&'static str>,
    chars_min: usize,
    done: Option<&'static str>,
    problem: Option<&'a str>,
    /// Whether the deletion section is open.
    deleting: bool,
}

/// `/dashboard/settings/`; `?done=` is what was done just before.
pub(super) async fn show(signed_in: SignedIn) -> Result<Response, SiteError> {
    let done = match signed_in.visit.query.text("done") {
        "password" => Some("Your password was changed. Other browsers are logged out."),
        "asked" => Some("We sent an email to the new address. Follow the link in it."),
        "email" => Some("Your email address was changed."),
        "zone" => Some("Your time zone was changed."),
        _ => None,
    };
    signed_in.visit.show(&SettingsPage { done, ..page(&signed_in, None) })
}

fn page<'a>(signed_in: &'a SignedIn, problem: Option<&'a str>) -> SettingsPage<'a> {
    SettingsPage {
        shell: signed_in.visit.shell("/dashboard/settings/"),
        email: signed_in.customer.email.as_deref().unwrap_or_default(),
        zone: signed_in.customer.zone.map_or("UTC", ZoneName::as_str),
        zones: ZoneName::all().map(ZoneName::as_str).collect(),
        chars_min: signed_in.visit.shared.parts.customers.accounts.password_chars_min(),
        done: None,
        problem,
        deleting: false,
    }
}

fn refused(signed_in: &SignedIn, problem: &str) -> Result<Response, SiteError> {
    let page = page(signed_in, Some(problem));
    signed_in.visit.show_as(StatusCode::UNPROCESSABLE_ENTITY, &page)
}

/// Limits guesses at the password in these forms. Only requests with a session count, so that others cannot
/// lock the owner out.
fn guard(SignedIn { visit, customer }: &SignedIn) -> Result<(), SiteError> {
    Ok(visit.shared.parts.admission.limits.confirm(customer.account)?)
}

/// Changes the password. All sessions end, and this browser gets a new one.
pub(super) async fn change_password(
    SignedForm { signed_in, fields }: SignedForm,
) -> Result<Response, SiteError> {
    guard(&signed_in)?;
    let SignedIn { visit, customer } = &signed_in;
    let accounts = &visit.shared.parts.customers.accounts;
    let owner = customer.email.as_deref().and_then(Email::parse);
    let new = match accounts.new_password(fields.secret("new"), owner.as_ref()) {
        Ok(new) => new,
        Err(weak) => return refused(&signed_in, &sentence(&weak.to_string())),
    };
    let Ok(old) = Password::parse(fields.secret("old")) else {
        return refused(&signed_in, WRONG_PASSWORD);
    };
    match accounts.change_password(customer.account, old, new, visit.now).await? {
        ReauthOutcome::WrongPassword => refused(&signed_in, WRONG_PASSWORD),
        ReauthOutcome::Done => {
            let who = SessionOwner::Customer(customer.account);
            let secret = accounts.start_session(who, visit.now).await?;
            visit.begin_session(see_other("/dashboard/settings/?done=password"), &secret).await
        }
    }
}

/// Requests a change of the address.
pub(super) async fn change_email(
    Extension(peer): Extension<Peer>,
    SignedForm { signed_in, fields }: SignedForm,
) -> Result<Response, SiteError> {
    guard(&signed_in)?;
    let SignedIn { visit, customer } = &signed_in;
    let parts = &visit.shared.parts;
    let Some(email) = Email::parse(fields.text("email")) else {
        return refused(&signed_in, NO_ADDRESS);
    };
    let Ok(password) = Password::parse(fields.secret("password")) else {
        return refused(&signed_in, WRONG_PASSWORD);
    };
    parts.admission.limits.mail(peer.0, email.as_str(), None)?;
    let account = customer.account;
    match parts
        .customers
        .accounts
        .request_email_change(account, &email, password, visit.now)
        .await?
    {
        EmailChangeOutcome::Sent => Ok(see_other("/dashboard/settings/?done=asked")),
        EmailChangeOutcome::WrongPassword => refused(&signed_in, WRONG_PASSWORD),
        EmailChangeOutcome::TooMany => {
            refused(&signed_in, "Too many emails requested in the last hour. Try again later.")
        }
    }
}

/// Sets the time zone in which the account means days.
pub(super) async fn set_zone(
    SignedForm { signed_in, fields }: SignedForm,
) -> Result<Response, SiteError> {
    let Some(zone) = ZoneName::parse(fields.text("zone")) else {
        return refused(&signed_in, "There is no such time zone. Nothing was changed.");
    };
    let accounts = &signed_in.visit.shared.parts.customers.accounts;
    accounts.set_zone(signed_in.customer.account, Some(zone)).await?;
    Ok(see_other("/dashboard/settings/?done=zone"))
}

/// Ends all sessions of the account.
pub(super) async fn sign_out(
    SignedForm { signed_in, .. }: SignedForm,
) -> Result<Response, SiteError> {
    let SignedIn { visit, customer } = &signed_in;
    visit.shared.parts.customers.accounts.end_all_sessions(customer.account).await?;
    Ok(visit.forget_session(see_other("/login/?done=out")))
}

/// Deletes the account.
pub(super) async fn delete(
    SignedForm { signed_in, fields }: SignedForm,
) -> Result<Response, SiteError> {
    guard(&signed_in)?;
    let SignedIn { visit, customer } = &signed_in;
    let wrong = |problem| {
        let page = SettingsPage { deleting: true, ..page(&signed_in, Some(problem)) };
        visit.show_as(StatusCode::UNPROCESSABLE_ENTITY, &page)
    };
    if fields.text("sure") != "yes" {
        return wrong("Confirm that you want to delete your account. Nothing was changed.");
    }
    let Ok(password) = Password::parse(fields.secret("password")) else {
        return wrong(WRONG_PASSWORD);
    };
    let accounts = &visit.shared.parts.customers.accounts;
    match accounts.delete_account(customer.account, password, visit.now).await? {
        ReauthOutcome::Done => Ok(visit.forget_session(see_other("/login/?done=deleted"))),
        ReauthOutcome::WrongPassword => wrong(WRONG_PASSWORD),
    }
}
