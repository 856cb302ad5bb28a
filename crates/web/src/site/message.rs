//! A page with one message and a link to continue.

use askama::Template;
use axum::response::Response;
use hyper::StatusCode;

use super::{error::SiteError, page::Shell, visit::Visit};

/// The link to continue.
#[derive(Debug, Clone, Copy)]
pub(super) struct NextLink {
    pub(super) path: &'static str,
    pub(super) name: &'static str,
}

impl NextLink {
    pub(super) const LOG_IN: Self = Self { path: "/login/", name: "Log in" };
    pub(super) const HOME: Self = Self { path: "/", name: "Back to home" };
}

#[derive(Debug, Template)]
#[template(path = "message.html")]
struct MessagePage<'a> {
    shell: Shell<'a>,
    title: &'static str,
    text: &'static str,
    onward: NextLink,
}

/// Shows a message.
///
/// # Errors
///
/// If the page cannot be rendered.
pub(super) fn show(
    visit: &Visit,
    status: StatusCode,
    title: &'static str,
    text: &'static str,
    onward: NextLink,
) -> Result<Response, SiteError> {
    visit.show_as(status, &MessagePage { shell: visit.shell(""), title, text, onward })
}

/// For a link that does not exist, or has expired for good.
///
/// # Errors
///
/// If the page cannot be rendered.
pub(super) fn no_link(visit: &Visit) -> Result<Response, SiteError> {
    show(
        visit,
        StatusCode::NOT_FOUND,
        "This link does not work",
        "Your email program may have cut it off, or a newer link has replaced it. Open the latest \
         email and copy the whole link.",
        NextLink::HOME,
    )
}

/// For a link that has already been used.
///
/// # Errors
///
/// If the page cannot be rendered.
pub(super) fn used_link(visit: &Visit) -> Result<Response, SiteError> {
    show(
        visit,
        StatusCode::GONE,
        "This link has already been used",
        "Each link works once. If you did not use it, set a new password.",
        NextLink { path: "/reset/", name: "Set a new password" },
    )
}
