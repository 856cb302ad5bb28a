//! Asks for confirmation before an action that is hard to undo. It works without scripts: the same form is sent again, with
//! the field `confirmed`.

use askama::Template;
use axum::response::Response;
use hyper::StatusCode;

use super::operator::Operator;
use crate::{
    http::form::Fields,
    site::{Shell, SiteError, html},
};

#[derive(Debug, Template)]
#[template(path = "admin/confirm.html")]
struct AdminConfirmPage<'a> {
    shell: Shell<'a>,
    /// The URL to return to without doing it.
    back: String,
    question: Confirmation,
}

#[derive(Debug)]
pub(super) struct Confirmation {
    pub(super) title: String,
    pub(super) text: String,
    pub(super) action: String,
    /// The fields of the original form.
    pub(super) fields: Vec<(&'static str, String)>,
    pub(super) button: String,
}

impl Confirmation {
    /// The page that asks. `here`: its entry in the navigation. `back`: where it leads without doing it.
    ///
    /// # Errors
    ///
    /// If rendering fails.
    pub(super) fn ask(
        self,
        operator: &Operator,
        here: &'static str,
        back: String,
    ) -> Result<Response, SiteError> {
        let shell = operator.shell(here);
        html(StatusCode::OK, &AdminConfirmPage { shell, back, question: self })
    }
}

/// Whether the operator has confirmed the action.
pub(super) fn is_confirmed(fields: &Fields) -> bool {
    fields.text("confirmed") == "yes"
}
