//! Submitted forms, after the check that they come from this site.

use std::{collections::HashSet, sync::Arc};

use axum::{
    Form,
    extract::{FromRequest, FromRequestParts, Query, Request, rejection::FormRejection},
    response::IntoResponse,
};
use hyper::{StatusCode, Uri, http::request::Parts};

use super::{
    csrf,
    error::SiteError,
    visit::{SignedIn, Visit},
};
use crate::http::Shared;

/// Maximum bytes of a form. The longest has an address, two passwords and a token.
pub(in crate::http) const FORM_BYTES_MAX: usize = 16 * 1024;

/// A form from the browser that it was rendered for.
#[derive(Debug)]
pub(in crate::http) struct FormSubmission {
    pub(in crate::http) visit: Visit,
    pub(in crate::http) fields: Fields,
}

/// The fields of a form. Missing ones read as empty.
pub(in crate::http) struct Fields(Vec<(String, String)>);

impl Fields {
    /// The first field of this name, trimmed.
    pub(in crate::http) fn text(&self, name: &str) -> &str {
        self.raw(name).trim()
    }

    /// The first field of this name, unchanged: a password may begin with a space.
    pub(in crate::http) fn secret(&self, name: &str) -> String {
        self.raw(name).to_owned()
    }

    /// The first field of this name, unchanged.
    pub(super) fn raw(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// Whether there is a field of this name, even an empty one.
    pub(in crate::http) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// Whether a name occurs more than once.
    pub(in crate::http) fn has_repeated(&self) -> bool {
        let names: HashSet<_> = self.0.iter().map(|(name, _)| name).collect();
        names.len() < self.0.len()
    }

    /// The fields of a query; empty if it cannot be read.
    pub(super) fn of_query(uri: &Uri) -> Self {
        let read = Query::<Vec<(String, String)>>::try_from_uri(uri);
        Self(read.map(|Query(fields)| fields).unwrap_or_default())
    }

    /// Parses the body, and nothing else of the request.
    pub(in crate::http) async fn read(request: Request) -> Result<Self, SiteError> {
        match Form::<Vec<(String, String)>>::from_request(request, &()).await {
            Ok(Form(fields)) => Ok(Self(fields)),
            Err(refused) => Err(SiteError::NoForm(status(refused))),
        }
    }
}

impl std::fmt::Debug for Fields {
    /// Only the names: the values include passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

fn status(refused: FormRejection) -> StatusCode {
    refused.into_response().status()
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
pub(in crate::http) struct SignedForm {
    pub(in crate::http) signed_in: SignedIn,
    pub(in crate::http) fields: Fields,
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
    match csrf::may_be_ours(&parts.headers, &shared.parts.public_url) {
        true => Ok(()),
        false => Err(SiteError::ForeignForm),
    }
}

async fn fields_of(visit: &Visit, request: Request) -> Result<Fields, SiteError> {
    let fields = Fields::read(request).await?;
    if visit.owns(fields.text("csrf")) { Ok(fields) } else { Err(SiteError::ForeignForm) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_and_a_missing_one_is_empty() {
        let pairs = [("email", " a@b "), ("password", " x "), ("email", "c@d")];
        let fields = Fields(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        assert_eq!(fields.text("email"), "a@b");
        assert_eq!(fields.secret("password"), " x ");
        assert_eq!(fields.text("none"), "");
        assert!(fields.has("email") && !fields.has("none"));
        assert!(!format!("{fields:?}").contains(" x "), "a password is shown: {fields:?}");
    }
    #[test]
    fn query_is_read_like_a_form() {
        let fields = |uri: &str| Fields::of_query(&uri.parse().unwrap());
        assert_eq!(fields("/a/?next=%2Fb%2F&next=c").text("next"), "/b/");
        assert!(fields("/a/?again").has("again"));
        assert!(!fields("/a/").has("again"));
    }
}
