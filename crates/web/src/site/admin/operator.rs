//! Authenticates requests for operators' pages.

use std::{fmt, sync::Arc};

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    response::{IntoResponse, Response},
};
use hyper::{HeaderMap, http::request::Parts};

use crate::{
    clock,
    http::{
        Shared,
        csrf::{Holder, may_be_ours},
        form::Fields,
    },
    site::{self, CookieName, Shell, SiteError, see_other},
};
use accounts::{AdminId, Micros, SessionOwner, SessionSecret};

/// An operator who is logged in. Anyone else, including customers, is redirected to the operators' log-in.
pub(super) struct Operator {
    pub(super) shared: Arc<Shared>,
    /// The time of the request.
    pub(super) now: Micros,
    pub(super) admin: AdminId,
    secret: SessionSecret,
}

impl Operator {
    /// The operator whose session the cookie holds; a customer's session does not count.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub(super) async fn from_headers(
        headers: &HeaderMap,
        shared: &Arc<Shared>,
    ) -> Result<Option<Self>, SiteError> {
        let now = clock::wall();
        let cookie = CookieName::Admin.read(headers, shared.is_https());
        let Some(secret) = cookie.and_then(SessionSecret::parse) else { return Ok(None) };
        let session = shared.parts.customers.accounts.session(secret.expose(), now).await?;
        let Some(SessionOwner::Admin(admin)) = session.map(|session| session.who) else {
            return Ok(None);
        };
        Ok(Some(Self { shared: Arc::clone(shared), now, admin, secret }))
    }

    /// The layout of a page for this operator.
    pub(super) fn shell(&self, here: &'static str) -> Shell<'_> {
        let token = self.shared.forms.token(Holder::Operator(self.secret.expose()));
        Shell::new(here, site::Who::Operator, token)
    }

    /// The secret of the session.
    pub(super) fn secret(&self) -> &str {
        self.secret.expose()
    }

    fn owns(&self, token: &str) -> bool {
        self.shared.forms.accepts(Holder::Operator(self.secret.expose()), token)
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operator").field("admin", &self.admin).finish_non_exhaustive()
    }
}

impl FromRequestParts<Arc<Shared>> for Operator {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Response> {
        match Self::from_headers(&parts.headers, shared).await {
            Ok(Some(operator)) => Ok(operator),
            Ok(None) => Err(see_other("/admin/login/")),
            Err(error) => Err(error.into_response()),
        }
    }
}

/// A form from the operator that it was rendered for.
#[derive(Debug)]
pub(super) struct OperatorForm {
    pub(super) operator: Operator,
    pub(super) fields: Fields,
}

impl FromRequest<Arc<Shared>> for OperatorForm {
    type Rejection = Response;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        if !may_be_ours(&parts.headers, &shared.parts.settings.public_url) {
            return Err(SiteError::ForeignForm.into_response());
        }
        let operator = Operator::from_request_parts(&mut parts, shared).await?;
        let read = Fields::read(Request::from_parts(parts, body)).await;
        let fields = read.map_err(|refused| SiteError::from(refused).into_response())?;
        if !operator.owns(fields.text("csrf")) {
            return Err(SiteError::ForeignForm.into_response());
        }
        Ok(Self { operator, fields })
    }
}
