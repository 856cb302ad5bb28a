//! `/admin/`: pages and actions for operators, behind accounts separate from customers'.
//!
//! Operators have their own table, log-in and cookie, so that neither kind of session opens the other's
//! pages. Forms are checked like customers' forms. Nothing here decides about accounts or money: it calls
//! [`accounts`], [`accounts::payments`] and [`accounts::books`].
//!
//! In reading order: `operator`, `log_in`, `confirmation`, then `figures` with `samples`, `rate`, `memory` and `nodes`,
//! `live`, `accounts` and `account`; `sockets`, and `socket` with `journal_row`;
//! `work`; `sources`; `matches`; `deductions`.

mod account;
mod accounts;
mod confirmation;
mod deductions;
mod figures;
mod journal_row;
mod live;
mod log_in;
mod matches;
mod memory;
mod operator;
mod rate;
mod samples;
mod socket;
mod sockets;
mod sources;
mod units;
mod work;

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::DefaultBodyLimit,
    routing::{get, post},
};

use self::figures::FigureHistory;
use super::{SiteError, see_other};
use crate::{
    clock,
    http::{Shared, form::FORM_BYTES_MAX},
};

/// The routes of the pages.
pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        // Without the slash the browser does not send the cookie.
        .route("/admin", get(async || see_other("/admin/")))
        .route("/admin/", get(live::show))
        .route("/admin/figures.json", get(live::figures))
        .route("/admin/login/", get(log_in::show).post(log_in::log_in))
        .route("/admin/logout/", post(log_in::log_out))
        .route("/admin/accounts/", get(accounts::show))
        .route("/admin/accounts/{id}/", get(account::show))
        .route("/admin/accounts/{id}/gift/", post(account::gift))
        .route("/admin/accounts/{id}/block/", post(account::block))
        .route("/admin/accounts/{id}/unblock/", post(account::unblock))
        .route("/admin/sockets/", get(sockets::show))
        .route("/admin/sockets/{id}/", get(socket::show))
        .route("/admin/work/", get(work::show))
        .route("/admin/sources/", get(sources::show))
        .route("/admin/matches/", get(matches::show))
        .route("/admin/matches/join/", post(matches::join))
        .route("/admin/matches/split/", post(matches::split))
        .route("/admin/matches/competitions/", post(matches::competitions))
        .route("/admin/deductions/", get(deductions::show))
        .route("/admin/deductions/add/", post(deductions::add))
        .route("/admin/deductions/remove/", post(deductions::remove))
        .route("/admin/orders/{order}/refund/", post(account::refund))
        .method_not_allowed_fallback(async || SiteError::WrongMethod)
        .layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
        .layer(Extension(Arc::new(FigureHistory::new(clock::wall()))))
}
