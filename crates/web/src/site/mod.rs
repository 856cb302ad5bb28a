//! The pages: of the stream, of customers and operators, the documentation, and static files.
//!
//! Each page is readable and works without scripts, but for those that follow the stream. A form changes something by POST
//! only, after the check in `http::csrf`, and is answered with a redirect. Nothing here decides about accounts or money: it
//! calls `accounts` and `accounts::payments` and shows the result.
//!
//! It uses the types of `http` for a request, and nothing of `rest`.
//!
//! In reading order: `cookies`, `visit`, `form`, `page`, `error`, then the pages of customers (registration, log-in, the
//! dashboard, connected applications, orders and payment), `live` with `trade` and `truth`, `pricing`, `docs`, `discovery`,
//! `client`, `files`, `admin`.

mod addons;
mod admin;
mod chart;
mod checkout;
mod client;
mod consent;
mod cookies;
mod dashboard;
mod discovery;
mod docs;
mod error;
mod files;
mod form;
mod keys;
mod live;
mod log_in;
mod mcp_servers;
mod message;
mod moment;
mod next;
mod offer;
mod page;
mod pricing;
mod register;
mod reset;
mod settings;
mod trade;
mod truth;
mod visit;
#[cfg(feature = "webhooks")]
mod webhooks;

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{get, post},
};

use self::{
    chart::grouped,
    cookies::CookieName,
    error::{SiteError, see_other},
    form::FormSubmission,
    moment::Moment,
    offer::{AddonStatus, title},
    page::{Shell, Who, html},
    visit::Visit,
};
pub(crate) use self::{docs::mcp_pages, error::error_page};
use crate::http::{Shared, form::FORM_BYTES_MAX};

/// Every page and static file.
pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/", get(live::home))
        .route("/watch/", get(live::watch))
        .route("/watch/ticket/", post(live::ticket))
        .route("/board/", get(live::live_board))
        .route("/match/{sport}/{id}/", get(live::match_page))
        .route("/watch/boards/{sport}/", get(live::board))
        .route("/trade/", get(trade::show))
        .route("/trade/{sport}/{id}/", get(trade::show_match))
        .route("/truth/", get(truth::show))
        .route("/truth/feed/", post(truth::interrupt))
        .route("/static/{file}", get(files::file))
        .route("/client/v1/", get(client::index))
        .route("/client/v1/matchwire.js", get(client::file))
        .route("/favicon.ico", get(files::favicon))
        .route("/robots.txt", get(files::robots))
        .route("/pricing/", get(pricing::show))
        .merge(docs::routes())
        .merge(discovery::routes())
        .merge(admin::routes())
        .merge(account_routes())
}

/// The pages of customers and their forms. A GET changes nothing, with one exception: a mailed link, in the browser that
/// requested it.
fn account_routes() -> Router<Arc<Shared>> {
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
