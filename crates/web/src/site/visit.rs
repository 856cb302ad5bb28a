//! Identifies the visitor of a page: a browser by its anonymous cookie, a customer by a session cookie.

use std::{fmt, sync::Arc};

use askama::Template;
use axum::{extract::FromRequestParts, response::Response};
use hyper::{
    Method, StatusCode,
    header::{HeaderValue, SET_COOKIE},
    http::request::Parts,
};

use super::{
    cookies::CookieName,
    error::SiteError,
    page::{self, Shell, Who},
};
use crate::{
    clock,
    http::{Shared, csrf::Holder, form::Fields},
};
use accounts::{self, Customer, Device, Email, Micros, Session, SessionSecret, Visitor};

/// A browser that requests a page.
pub(super) struct Visit {
    pub(super) shared: Arc<Shared>,
    /// The time of the request.
    pub(super) now: Micros,
    /// The query.
    pub(super) query: Fields,
    visitor: Visitor,
    /// The browser has no anonymous cookie yet and gets one.
    is_new: bool,
    member: Option<CustomerSession>,
    /// The cookie by which an account may recognise the browser.
    device: Option<String>,
}

/// A customer's session.
struct CustomerSession {
    secret: SessionSecret,
    customer: Customer,
}

impl Visit {
    /// A value that the hub has not issued, or a session that is not in the store, is ignored and never
    /// adopted.
    async fn from_request(parts: &Parts, shared: &Arc<Shared>) -> Result<Self, SiteError> {
        let (now, headers) = (clock::wall(), &parts.headers);
        let secure = shared.is_https();
        let presented = CookieName::Visitor.read(headers, secure).and_then(Visitor::parse);
        let is_new = presented.is_none();
        let visitor = presented.map_or_else(Visitor::generate, Ok)?;
        let secret = CookieName::Session.read(headers, secure).and_then(SessionSecret::parse);
        let member = match secret {
            Some(secret) => member(shared, secret, now).await?,
            None => None,
        };
        let query = Fields::of_query(&parts.uri);
        let device = CookieName::Device.read(headers, secure).map(str::to_owned);
        Ok(Self { shared: Arc::clone(shared), now, query, visitor, is_new, member, device })
    }

    /// The browser, by its anonymous cookie.
    pub(super) fn visitor(&self) -> &Visitor {
        &self.visitor
    }

    /// The browser as the account of this address recognises it.
    pub(super) fn device(&self, email: &Email) -> Option<Device> {
        let cookie = self.device.as_deref()?;
        self.shared.parts.customers.accounts.device(cookie, email, self.now)
    }

    /// Makes the account of this address recognise the browser, because it has presented the password or a
    /// mailed link.
    ///
    /// # Errors
    ///
    /// If the system returns no random bytes.
    pub(super) fn make_known(
        &self,
        mut response: Response,
        email: Option<&Email>,
    ) -> Result<Response, SiteError> {
        let accounts = &self.shared.parts.customers.accounts;
        if let Some(email) = email {
            let device = accounts.new_device(email, self.now)?;
            let age_s = Some(accounts.device_age_s());
            let cookie = CookieName::Device.set(&device, age_s, self.shared.is_https());
            add_cookie(&mut response, cookie);
        }
        Ok(response)
    }

    /// The customer who is logged in.
    pub(super) fn customer(&self) -> Option<&Customer> {
        self.member.as_ref().map(|member| &member.customer)
    }

    /// The secret of the customer's session.
    pub(super) fn session(&self) -> Option<&str> {
        self.member.as_ref().map(|member| member.secret.expose())
    }

    /// The layout of a page for this visitor.
    pub(super) fn shell(&self, here: &'static str) -> Shell<'_> {
        let who = match self.customer() {
            Some(customer) => {
                Who::Customer { email: customer.email.as_deref().unwrap_or_default() }
            }
            None => Who::Visitor,
        };
        Shell::new(here, who, self.shared.forms.token(self.holder()))
    }

    /// Whether a form was rendered for this visitor.
    pub(super) fn owns(&self, token: &str) -> bool {
        self.shared.forms.accepts(self.holder(), token)
    }

    /// Renders the page with status 200.
    ///
    /// # Errors
    ///
    /// If it cannot be rendered.
    pub(super) fn show(&self, template: &impl Template) -> Result<Response, SiteError> {
        self.show_as(StatusCode::OK, template)
    }

    /// Renders the page.
    ///
    /// # Errors
    ///
    /// If it cannot be rendered.
    pub(super) fn show_as(
        &self,
        status: StatusCode,
        template: &impl Template,
    ) -> Result<Response, SiteError> {
        let mut response = page::html(status, template)?;
        if self.is_new {
            let cookie =
                CookieName::Visitor.set(self.visitor.expose(), None, self.shared.is_https());
            add_cookie(&mut response, cookie);
        }
        Ok(response)
    }

    /// Sets the cookie of a new session, replacing any other.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub(super) async fn begin_session(
        &self,
        mut response: Response,
        secret: &SessionSecret,
    ) -> Result<Response, SiteError> {
        let accounts = &self.shared.parts.customers.accounts;
        if let Some(old) = self.session() {
            accounts.end_session(old).await?;
        }
        let session = accounts.session(secret.expose(), self.now).await?;
        let age_s = session.map(|it: Session| it.expires.saturating_sub(self.now) / 1_000_000);
        let cookie = CookieName::Session.set(secret.expose(), age_s, self.shared.is_https());
        add_cookie(&mut response, cookie);
        Ok(response)
    }

    /// Deletes the cookies of the session and of the recognised browser.
    pub(super) fn forget_session(&self, mut response: Response) -> Response {
        let secure = self.shared.is_https();
        for name in [CookieName::Session, CookieName::Visitor] {
            add_cookie(&mut response, name.forget(secure));
        }
        response
    }

    fn holder(&self) -> Holder<'_> {
        match &self.member {
            Some(member) => Holder::Session(member.secret.expose()),
            None => Holder::Visitor(self.visitor.expose()),
        }
    }
}

fn add_cookie(response: &mut Response, cookie: Option<HeaderValue>) {
    if let Some(cookie) = cookie {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}

async fn member(
    shared: &Arc<Shared>,
    secret: SessionSecret,
    now: Micros,
) -> Result<Option<CustomerSession>, SiteError> {
    let accounts = &shared.parts.customers.accounts;
    let Some(session) = accounts.session(secret.expose(), now).await? else { return Ok(None) };
    let accounts::SessionOwner::Customer(account) = session.who else { return Ok(None) };
    let customer = accounts.customer(account).await?;
    Ok(customer.map(|customer| CustomerSession { secret, customer }))
}

impl FromRequestParts<Arc<Shared>> for Visit {
    type Rejection = SiteError;

    async fn from_request_parts(
        parts: &mut Parts,
        shared: &Arc<Shared>,
    ) -> Result<Self, SiteError> {
        Self::from_request(parts, shared).await
    }
}

impl fmt::Debug for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visit").field("customer", &self.customer()).finish_non_exhaustive()
    }
}

/// A visit by a customer who is logged in. Anyone else is redirected to the log-in page, which returns
/// here.
#[derive(Debug)]
pub(super) struct SignedIn {
    pub(super) visit: Visit,
    pub(super) customer: Customer,
}

impl SignedIn {
    /// # Errors
    ///
    /// If the visitor is not logged in; the error carries the path to return to.
    pub(super) fn new(visit: Visit, parts: &Parts) -> Result<Self, SiteError> {
        match visit.customer().cloned() {
            Some(customer) => Ok(Self { visit, customer }),
            None => Err(SiteError::LogIn { next: return_path(parts) }),
        }
    }
}

/// The page to return to. A form cannot be sent again by returning.
fn return_path(parts: &Parts) -> String {
    match parts.method {
        Method::GET | Method::HEAD => {
            parts.uri.path_and_query().map_or_else(String::new, ToString::to_string)
        }
        _ => "/dashboard/".to_owned(),
    }
}

impl FromRequestParts<Arc<Shared>> for SignedIn {
    type Rejection = SiteError;

    async fn from_request_parts(
        parts: &mut Parts,
        shared: &Arc<Shared>,
    ) -> Result<Self, SiteError> {
        Self::new(Visit::from_request_parts(parts, shared).await?, parts)
    }
}
