//! Renders pages: the layout that all of them share, and the response headers.

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use hyper::{
    StatusCode,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue},
};
use tracing::error;

use super::error::SiteError;

/// Scripts, styles and sockets from this host only.
pub(super) const POLICY: &str = "default-src 'self'; connect-src 'self' ws: wss:; base-uri 'none'; \
                      form-action 'self'; frame-ancestors 'none'";

/// What `layout.html` shows around every page.
#[derive(Debug)]
pub(super) struct Shell<'a> {
    /// The path of the current entry in the navigation.
    pub(super) here: &'static str,
    pub(super) who: Who<'a>,
    /// The token for each form on the page: the hidden field `csrf`.
    pub(super) token: String,
    pub(super) version: &'static str,
}

/// The audience of the navigation.
#[derive(Debug, Clone, Copy)]
pub(super) enum Who<'a> {
    Visitor,
    Customer {
        email: &'a str,
    },
    /// An operator, on a page for operators.
    Operator,
    /// Unknown: the page offers neither log-in nor log-out.
    Unknown,
}

impl<'a> Shell<'a> {
    pub(super) fn new(here: &'static str, who: Who<'a>, token: String) -> Self {
        Self { here, who, token, version: env!("CARGO_PKG_VERSION") }
    }

    /// The email address of the customer who is logged in.
    pub(super) fn email(&self) -> Option<&str> {
        if let Who::Customer { email } = self.who { Some(email) } else { None }
    }

    /// Whether an operator is logged in.
    pub(super) fn is_for_an_operator(&self) -> bool {
        matches!(self.who, Who::Operator)
    }

    /// Whether to offer log-in and registration.
    pub(super) fn is_for_a_visitor(&self) -> bool {
        matches!(self.who, Who::Visitor)
    }

    /// For pages that are the same for everyone, without a form.
    pub(super) fn bare(here: &'static str) -> Self {
        Self::new(here, Who::Unknown, String::new())
    }
}

/// Renders a page that may not be cached and loads nothing from other hosts.
///
/// # Errors
///
/// If rendering fails, which is logged.
pub(super) fn html(status: StatusCode, template: &impl Template) -> Result<Response, SiteError> {
    rendered(status, template.render())
}

// Apart, so that it is compiled once and not for each page.
fn rendered(status: StatusCode, html: askama::Result<String>) -> Result<Response, SiteError> {
    let html = html.map_err(|error| {
        error!(%error, "cannot render a page");
        SiteError::Internal
    })?;
    let mut response = (status, Html(html)).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
