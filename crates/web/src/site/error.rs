//! All errors of the pages and the pages that show them, in one place.

use std::borrow::Cow;

use askama::Template;
use axum::response::{IntoResponse, Response};
use hyper::{
    StatusCode,
    header::{HeaderValue, LOCATION, RETRY_AFTER},
};

use super::page::{self, Shell};
use crate::{
    http::{error::RETRY_AFTER_S, form::NoForm},
    limits::RetryAfter,
    payments::PaymentError,
    percent,
    usage::UsageError,
};
use accounts::{AccountsError, EntropyError};

/// Why a page is not shown.
#[derive(Debug)]
pub(super) enum SiteError {
    /// Only for customers: they may log in and return to this path.
    LogIn {
        next: String,
    },
    NotFound,
    /// The URL of a form, opened as a page.
    WrongMethod,
    /// The account has been blocked or deleted in the meantime.
    Gone,
    /// The form does not come from this site, or from the browser that it was rendered for.
    ForeignForm,
    /// The body is not a form, is too long, or is incomplete.
    NoForm(StatusCode),
    /// Too many requests from this address or for this account.
    TooMany {
        wait_s: u64,
    },
    /// The request is not valid.
    Refused(StatusCode),
    /// Too many log-ins; a mailed link still works.
    TooManyLogIns {
        wait_s: u64,
    },
    /// A service that this needs does not answer, or is not available now.
    Unavailable(&'static str),
    Internal,
}

#[derive(Debug, Template)]
#[template(path = "error.html")]
struct ErrorPage {
    shell: Shell<'static>,
    title: &'static str,
    text: Cow<'static, str>,
    /// Seconds, if retrying makes sense.
    wait_s: Option<u64>,
}

impl From<AccountsError> for SiteError {
    fn from(error: AccountsError) -> Self {
        match error {
            AccountsError::Busy => Self::Unavailable(
                "Too many people are logging in right now. Nothing was changed. Try again in a few \
                 seconds.",
            ),
            AccountsError::Gone => Self::Gone,
            error if error.is_away() => {
                base::log_limited!(warn, error, "the database does not answer");
                Self::Unavailable("Our database is not responding. Try again in a minute.")
            }
            error => Self::internal(&error),
        }
    }
}

impl From<NoForm> for SiteError {
    fn from(NoForm(status): NoForm) -> Self {
        Self::NoForm(status)
    }
}

impl From<PaymentError> for SiteError {
    fn from(error: PaymentError) -> Self {
        match error {
            PaymentError::NoOrder => Self::NotFound,
            PaymentError::Accounts(error) => error.into(),
            PaymentError::Store(error) => error.into(),
            error @ PaymentError::Provider(_) => {
                base::log_limited!(warn, error, "a payment provider failed");
                Self::Unavailable(
                    "The payment provider is not responding. We did not charge you. Try again in a \
                     minute.",
                )
            }
            error => Self::internal(&error),
        }
    }
}

impl From<UsageError> for SiteError {
    fn from(error: UsageError) -> Self {
        match error {
            UsageError::Store(error) => error.into(),
            error @ (UsageError::Full | UsageError::Unavailable) => Self::internal(&error),
        }
    }
}

impl From<RetryAfter> for SiteError {
    fn from(wait: RetryAfter) -> Self {
        Self::TooMany { wait_s: wait.seconds }
    }
}

/// The system returned no random bytes.
impl From<EntropyError> for SiteError {
    fn from(error: EntropyError) -> Self {
        Self::internal(&error)
    }
}

impl From<sqlx::Error> for SiteError {
    fn from(error: sqlx::Error) -> Self {
        AccountsError::from(error).into()
    }
}

impl SiteError {
    fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        base::log_limited!(error, error = error, "a page failed");
        Self::Internal
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::LogIn { .. } => StatusCode::SEE_OTHER,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::ForeignForm | Self::Gone => StatusCode::FORBIDDEN,
            Self::NoForm(status) | Self::Refused(status) => *status,
            Self::TooMany { .. } | Self::TooManyLogIns { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn words(&self) -> (&'static str, Cow<'static, str>) {
        match self {
            Self::LogIn { .. } => ("Log in required", "Log in to see this page.".into()),
            Self::NotFound => ("Page not found", "This page does not exist.".into()),
            Self::WrongMethod => (
                "Nothing to see here",
                "This address only accepts a form. Nothing was changed.".into(),
            ),
            Self::Gone => (
                "This account is closed",
                "It has been blocked or deleted. Nothing was changed.".into(),
            ),
            Self::ForeignForm => (
                "This form is out of date",
                "Nothing was changed. You may have logged in or out after you opened the form, or \
                 it came from another site. Go back, reload the page and submit it again."
                    .into(),
            ),
            Self::NoForm(_) => (
                "This form could not be read",
                "Nothing was changed. Go back and try again.".into(),
            ),
            Self::TooMany { wait_s } => (
                "Too many attempts",
                format!("Nothing was changed. Try again in {}.", in_words(*wait_s)).into(),
            ),
            Self::Refused(_) => (
                "This request is not valid",
                "Check the address in your browser. Nothing was changed.".into(),
            ),
            Self::TooManyLogIns { wait_s } => (
                "Too many attempts",
                format!(
                    "Nothing was changed. Try again in {}. To log in now, reset your password at \
                     /reset/. Your account then recognises this browser, and attempts by others no \
                     longer lock you out.",
                    in_words(*wait_s)
                )
                .into(),
            ),
            Self::Unavailable(text) => ("Temporarily unavailable", (*text).into()),
            Self::Internal => (
                "Something went wrong",
                "This is our fault, and we have logged the error. Try again in a minute.".into(),
            ),
        }
    }

    /// The text for an error with this status.
    fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::NotFound,
            StatusCode::METHOD_NOT_ALLOWED => Self::WrongMethod,
            StatusCode::SERVICE_UNAVAILABLE => {
                Self::Unavailable("The hub is not available right now. Try again in a minute.")
            }
            status if status.is_client_error() => Self::Refused(status),
            _ => Self::Internal,
        }
    }

    fn wait_s(&self) -> Option<u64> {
        match self {
            Self::TooMany { wait_s } | Self::TooManyLogIns { wait_s } => Some(*wait_s),
            _ => None,
        }
    }

    fn page(&self) -> Response {
        let (title, text) = self.words();
        let wait_s = self.wait_s();
        let page = ErrorPage { shell: Shell::bare(""), title, text, wait_s };
        // If even this page cannot be rendered, the status has to do.
        page::html(self.status(), &page).unwrap_or_else(|_| self.status().into_response())
    }
}

impl IntoResponse for SiteError {
    fn into_response(self) -> Response {
        match &self {
            Self::LogIn { next } => log_in(next),
            Self::TooMany { wait_s } | Self::TooManyLogIns { wait_s } => {
                let mut response = self.page();
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(*wait_s));
                response
            }
            Self::Unavailable(_) => {
                let mut response = self.page();
                let seconds = HeaderValue::from_static(RETRY_AFTER_S);
                response.headers_mut().insert(RETRY_AFTER, seconds);
                response
            }
            _ => self.page(),
        }
    }
}

/// The page for an error with this status.
pub(crate) fn error_page(status: StatusCode) -> Response {
    SiteError::of_status(status).page()
}

/// Redirects to the log-in page, which returns there afterwards.
fn log_in(next: &str) -> Response {
    see_other(&format!("/login/?next={}", percent::encode_path(next)))
}

/// Redirects to another page, which the browser fetches by GET.
pub(super) fn see_other(path: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let location = HeaderValue::try_from(path).unwrap_or_else(|_| HeaderValue::from_static("/"));
    response.headers_mut().insert(LOCATION, location);
    response
        .headers_mut()
        .insert(hyper::header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// `45 seconds`, `2 minutes`, `1 hour`: rounded up, so that clients do not retry too early.
fn in_words(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..=90 => (seconds.max(1), "second"),
        91..=5400 => (seconds.div_ceil(60), "minute"),
        _ => (seconds.div_ceil(3600), "hour"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_is_formatted_in_words() {
        let words = [0, 1, 90, 91, 3600, 5401, 86_400].map(in_words);
        let expected = [
            "1 second",
            "1 second",
            "90 seconds",
            "2 minutes",
            "60 minutes",
            "2 hours",
            "24 hours",
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn log_in_returns_to_the_same_page() {
        let response = SiteError::LogIn { next: "/addons/?a=1&b=\"é".to_owned() }.into_response();
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        assert_eq!(response.headers()[LOCATION], "/login/?next=/addons/%3Fa%3D1%26b%3D%22%C3%A9");
    }

    #[test]
    fn too_many_attempts_say_how_long_to_wait() {
        let response = SiteError::TooMany { wait_s: 120 }.into_response();
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers()[RETRY_AFTER], "120");
    }
}
