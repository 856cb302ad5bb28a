//! The pages of customers: registration, log-in, the dashboard, connected applications, orders and payment.
//!
//! Each page is readable and works without scripts. A form changes something by POST only, after the check in
//! `csrf`, and is answered with a redirect. Nothing here decides about accounts or money: it calls
//! [`crate::accounts`] and [`crate::payments`] and shows the result.
//!
//! In reading order: `cookies`, `csrf`, `visit`, `form`, `page`, `error`, then the pages.

mod addons;
mod chart;
mod checkout;
mod consent;
mod cookies;
mod csrf;
mod dashboard;
mod error;
mod form;
mod keys;
mod log_in;
mod message;
mod moment;
mod next;
mod offer;
mod page;
mod register;
mod reset;
mod settings;
mod visit;
#[cfg(feature = "webhooks")]
mod webhooks;

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{get, post},
};

pub(in crate::http) use self::{
    chart::grouped,
    cookies::CookieName,
    csrf::{FormKey, Holder, may_be_ours},
    dashboard::last_day,
    error::{SiteError, see_other},
    form::{FORM_BYTES_MAX, Fields, FormSubmission, SignedForm},
    moment::Moment,
    offer::{AddonStatus, title, unlocks},
    page::{Shell, Who, html},
    visit::{SignedIn, Visit},
};
use super::Shared;

/// The pages and their forms. A GET changes nothing, with one exception: a mailed link, in the browser that
/// requested it.
pub(super) fn routes() -> Router<Arc<Shared>> {
    let pages = Router::new();
    #[cfg(feature = "webhooks")]
    let pages = pages
        .route("/dashboard/webhooks/", get(webhooks::show).post(webhooks::add))
        .route("/dashboard/webhooks/{id}/", get(webhooks::show_one).post(webhooks::act));
    let pages = pages
        .route("/register/", get(register::show).post(register::register))
        .route("/register/sent/", get(register::sent).post(register::resend))
        .route(
            "/verify/",
            get(register::verify).post(register::verify_with).head(register::not_followed),
        )
        .route("/login/", get(log_in::show).post(log_in::log_in))
        .route("/logout/", post(log_in::log_out))
        .route("/reset/", get(reset::show).post(reset::ask))
        .route("/reset/set/", post(reset::set))
        .route(
            "/email/",
            get(reset::change_email).post(reset::confirm_email).head(register::not_followed),
        )
        .route("/dashboard/", get(dashboard::show).head(dashboard::head))
        .route("/dashboard/regenerate/", post(dashboard::regenerate))
        .route("/dashboard/disconnect/", post(dashboard::disconnect))
        .route("/dashboard/settings/", get(settings::show))
        .route("/dashboard/settings/password/", post(settings::change_password))
        .route("/dashboard/settings/email/", post(settings::change_email))
        .route("/dashboard/settings/zone/", post(settings::set_zone))
        .route("/dashboard/settings/sign-out/", post(settings::sign_out))
        .route("/dashboard/settings/delete/", post(settings::delete))
        .route("/dashboard/keys/", get(keys::show).post(keys::act))
        .route("/oauth/authorize", get(consent::show).post(consent::decide))
        .route("/oauth/authorize/", get(consent::show).post(consent::decide))
        .route("/addons/", get(addons::show).post(addons::buy))
        .route("/addons/country/", post(addons::set_country))
        .route("/checkout/{order}/", get(checkout::show))
        .route("/checkout/{order}/receipt.pdf", get(checkout::receipt))
        .route("/checkout/{order}/return/", get(checkout::returned))
        .route("/checkout/{order}/cancel/", get(checkout::turned_back).post(checkout::cancel));
    // Without the trailing slash they redirect to the page.
    let bare = [
        "register",
        "login",
        "reset",
        "dashboard",
        "addons",
        "dashboard/settings",
        "dashboard/keys",
        "dashboard/webhooks",
    ];
    let pages = bare.into_iter().fold(pages, |pages, path| {
        let page = move || async move { see_other(&format!("/{path}/")) };
        pages.route(&format!("/{path}"), get(page))
    });
    pages
        .method_not_allowed_fallback(|| async { SiteError::WrongMethod })
        .layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
}
