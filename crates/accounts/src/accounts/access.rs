//! Who may use what: the one place with the rules from which 401, 402 and 403 follow, the closes of sockets that correspond, and
//! the refusals of MCP.
//!
//! No store, no clock, no HTTP. A transport finds out who calls and what for, asks [`decide`], and renders the [`Denial`]. Not
//! decided here: whose a key is, which [`super::Accounts`] looks up, and 429, which is that of [`crate::limits`].

use std::net::IpAddr;

use hyper::StatusCode;

use super::{Addon, Caller, FeedGrant, Micros, Scope};
use crate::{
    limits::Quota,
    products::{Catalogue, Product},
};

/// What a caller requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// A path of a product, or its MCP server.
    Product(Product),
    /// The account over REST, and its webhooks.
    Account,
    /// The account over MCP. The consent to a connected application includes it.
    AccountTool,
    /// A webhook gets what the account may follow, and outlasts the key that chose what and where. So a key needs every scope for
    /// that, to delete it, for the secret that signs what is sent, and to read what was sent or have it sent again.
    WebhookTerms,
    /// A ticket for a socket.
    Ticket,
    /// A socket. A ticket may outlive its key.
    Socket,
    /// What an add-on pays for, in an answer or a channel that has other content too. What is free for a time is not in the scopes
    /// of every key and access token.
    Content(Addon),
    /// Prices by bookmaker in REST. All accounts have the consensus.
    Bookmakers,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// The key is missing.
    NoKey,
    /// The key is not valid. `register` leads to the registration page.
    WrongKey,
    /// Two different keys were sent.
    DifferentKeys,
    /// The URL of an MCP server has the key, which belongs in a header.
    KeyInUrl,
    /// The key does not work from this address.
    WrongAddress(IpAddr),
    /// The key or access token lacks the scope that the path needs.
    Scope(Scope),
    /// The feed key is for another source.
    OtherSource,
    /// The account lacks the add-on that the path needs. `pricing_url` leads to the prices.
    Addon(Addon),
    /// Prices of named bookmakers need the Odds add-on.
    Bookmakers,
}

/// Decides by the prices in force. `quota`: that of the account for what it asks; while it lasts, it replaces the add-on. The
/// order determines the answer when several apply: whether the key has ended, its scopes, the add-on.
///
/// # Errors
///
/// If the request is refused; likewise below.
pub fn decide(
    caller: &Caller,
    quota: Option<Quota>,
    resource: Resource,
    catalogue: &Catalogue,
    now: Micros,
) -> Result<(), Denial> {
    if resource == Resource::Socket && !caller.lasts(now) {
        return Err(Denial::WrongKey);
    }
    let is_missing = |scope: &Scope| !caller.has_scope(*scope);
    let (scope, addon) = match resource {
        Resource::Product(product) => (Some(Scope::for_product(product)), product.addon()),
        Resource::Account => (Some(Scope::Account), None),
        Resource::AccountTool => (Some(Scope::Account).filter(|_| !caller.is_app()), None),
        Resource::WebhookTerms => (Scope::ALL.into_iter().find(is_missing), None),
        Resource::Ticket => (Some(Scope::Stream), None),
        Resource::Socket => (Some(Scope::Stream), Some(Addon::Websocket)),
        Resource::Content(addon) => (Scope::for_addon(addon), Some(addon)),
        Resource::Bookmakers => (Some(Scope::Odds), Some(Addon::Odds)),
    };
    let is_paid =
        |addon| quota.is_some() || catalogue.is_free(addon, now) || caller.has(addon, now);
    let scope = scope.filter(is_missing).map(Denial::Scope);
    let addon = || addon.filter(|addon| !is_paid(*addon)).map(Denial::Addon);
    match scope.or_else(addon) {
        Some(_) if resource == Resource::Bookmakers => Err(Denial::Bookmakers),
        denial => denial.map_or(Ok(()), Err),
    }
}

/// Whether a feed key pushes as this source.
pub fn check_source(grant: &FeedGrant, source: &str) -> Result<(), Denial> {
    if grant.source == source { Ok(()) } else { Err(Denial::OtherSource) }
}

impl Resource {
    /// What a path below a product is.
    #[must_use]
    pub fn from_path(product: Product, path: &str) -> Self {
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        match [parts.next(), parts.next(), parts.next()].map(Option::unwrap_or_default) {
            ["api", "v2", "account" | "webhooks"] => Self::Account,
            ["api", "v2", "stream"] => Self::Ticket,
            _ => Self::Product(product),
        }
    }
}

impl Denial {
    /// The status, and the word for programs and metrics; `other` where there is none.
    fn answer(self) -> (StatusCode, &'static str) {
        match self {
            Self::NoKey | Self::WrongKey | Self::DifferentKeys | Self::KeyInUrl => {
                (StatusCode::UNAUTHORIZED, "authentication_required")
            }
            Self::WrongAddress(_) => (StatusCode::FORBIDDEN, "address_not_allowed"),
            Self::Scope(_) => (StatusCode::FORBIDDEN, "insufficient_scope"),
            Self::OtherSource => (StatusCode::FORBIDDEN, "other"),
            Self::Addon(_) => (StatusCode::PAYMENT_REQUIRED, "addon_required"),
            Self::Bookmakers => (StatusCode::FORBIDDEN, "bookmakers_not_entitled"),
        }
    }

    /// The status over HTTP.
    #[must_use]
    pub fn status(self) -> StatusCode {
        self.answer().0
    }

    /// The word for programs, over HTTP and MCP, and in metrics.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.answer().1
    }

    /// The code with which a socket is closed.
    #[must_use]
    pub fn close_code(self) -> u16 {
        if self.status() == StatusCode::PAYMENT_REQUIRED { 4402 } else { 4401 }
    }
}

#[cfg(test)]
mod tests;
