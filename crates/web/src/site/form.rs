//! Submitted forms, after the check that they come from this site.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use hyper::http::request::Parts;

use super::{
    error::SiteError,
    visit::{SignedIn, Visit},
};
use crate::http::{Shared, csrf, form::Fields};

/// A form from the browser that it was rendered for.
#[derive(Debug)]
pub(super) struct FormSubmission {
    pub(super) visit: Visit,
    pub(super) fields: Fields,
}

impl FromRequest<Arc<Shared>> for FormSubmission {
    type Rejection = SiteError;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, SiteError> {
        let (mut parts, body) = request.into_parts();
        check_origin(&parts, shared)?;
        let visit = Visit::from_request_parts(&mut parts, shared).await?;
        let fields = fields_of(&visit, Request::from_parts(parts, body)).await?;
        Ok(Self { visit, fields })
    }
}

/// A form from the customer that it was rendered for.
#[derive(Debug)]
pub(super) struct SignedForm {
    pub(super) signed_in: SignedIn,
    pub(super) fields: Fields,
}

impl FromRequest<Arc<Shared>> for SignedForm {
    type Rejection = SiteError;

    /// Redirects a customer whose session has expired to the log-in page, instead of reporting an
    /// outdated form.
    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, SiteError> {
        let (mut parts, body) = request.into_parts();
        check_origin(&parts, shared)?;
        let signed_in = SignedIn::from_request_parts(&mut parts, shared).await?;
        let fields = fields_of(&signed_in.visit, Request::from_parts(parts, body)).await?;
        Ok(Self { signed_in, fields })
    }
}

fn check_origin(parts: &Parts, shared: &Shared) -> Result<(), SiteError> {
    match csrf::may_be_ours(&parts.headers, &shared.parts.settings.public_url) {
        true => Ok(()),
        false => Err(SiteError::ForeignForm),
    }
}

async fn fields_of(visit: &Visit, request: Request) -> Result<Fields, SiteError> {
    let fields = Fields::read(request).await?;
    if visit.owns(fields.text("csrf")) { Ok(fields) } else { Err(SiteError::ForeignForm) }
}
