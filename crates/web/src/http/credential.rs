//! Finds the credential of a request. It is never written anywhere.
//!
//! A key may be sent in a header, among the subprotocols of an upgrade or in the query, and also twice. Of
//! two different keys none is chosen, because a proxy in front of the hub may have chosen the other one.
//! Anything that is not a key, such as `Basic` in the header, is ignored.

use std::fmt;

use hyper::{
    HeaderMap, Uri,
    header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL},
};

use super::uri;
use accounts::access::Denial;

/// The subprotocol name of the stream protocol.
const PROTOCOL: &str = "matchwire.v1";

/// The error detail for two different credentials.
pub(super) const DIFFERENT: &str = "the request carries two different tokens";

/// A key or a ticket as it was sent.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Credential {
    Key(String),
    Ticket(String),
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(..)")
    }
}

/// What a request presents, over all places together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum PresentedCredential {
    #[default]
    Nothing,
    One(Credential),
    /// Two different credentials.
    Conflicting,
}

impl PresentedCredential {
    pub(super) fn is_ticket(&self) -> bool {
        matches!(self, Self::One(Credential::Ticket(_)))
    }

    /// What is wrong if it is nobody's.
    pub(super) fn denial(&self) -> Denial {
        match self {
            Self::Nothing => Denial::NoKey,
            Self::One(_) => Denial::WrongKey,
            Self::Conflicting => Denial::DifferentKeys,
        }
    }

    fn and(self, more: Credential) -> Self {
        match self {
            Self::Nothing => Self::One(more),
            Self::One(existing) if existing == more => Self::One(existing),
            Self::One(_) | Self::Conflicting => Self::Conflicting,
        }
    }

    fn join(self, more: Self) -> Self {
        match more {
            Self::Nothing => self,
            Self::One(more) => self.and(more),
            Self::Conflicting => Self::Conflicting,
        }
    }
}

/// Credentials from the query. They travel in the request's extensions, never in its URI.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct QueryCredentials {
    keys: PresentedCredential,
    tickets: PresentedCredential,
}

/// Removes every `token` and `ticket` from the query, however the name is encoded; `None` if there is none.
/// Other parameters stay unchanged; names are case-sensitive, so `TOKEN` is another parameter.
pub(super) fn take(uri: &mut Uri) -> Option<QueryCredentials> {
    let query = uri.query()?;
    if !query.split('&').any(|pair| label(pair).is_some()) {
        return None;
    }
    let (mut found, mut others) = (QueryCredentials::default(), Vec::new());
    for pair in query.split('&') {
        match label(pair) {
            Some(QueryParameter::Token) => {
                found.keys = join_value(found.keys, pair, Credential::Key)
            }
            Some(QueryParameter::Ticket) => {
                found.tickets = join_value(found.tickets, pair, Credential::Ticket);
            }
            None => others.push(pair),
        }
    }
    let (path, query) = (uri.path().to_owned(), others.join("&"));
    uri::replace(uri, &path, (!query.is_empty()).then_some(&query));
    Some(found)
}

/// The credential of a REST request. Tickets do not count.
pub(super) fn of_rest(
    headers: &HeaderMap,
    query: Option<&QueryCredentials>,
) -> PresentedCredential {
    let presented = of_header(headers);
    query.map_or(PresentedCredential::Nothing, |query| query.keys.clone()).join(presented)
}

/// The credential of an upgrade.
pub(super) fn of_upgrade(
    headers: &HeaderMap,
    query: Option<&QueryCredentials>,
) -> PresentedCredential {
    let presented = of_header(headers).join(of_protocols(headers));
    match query {
        Some(query) => presented.join(query.keys.clone()).join(query.tickets.clone()),
        None => presented,
    }
}

/// Some proxies join header lines with commas, so a list in one line counts as several lines.
fn of_header(headers: &HeaderMap) -> PresentedCredential {
    let mut presented = PresentedCredential::Nothing;
    for line in headers.get_all(AUTHORIZATION) {
        let line = String::from_utf8_lossy(line.as_bytes());
        let mut after_a_key = false;
        for part in line.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let key = match part.split_once([' ', '\t']) {
                Some((scheme, key)) if is_known(scheme) => Some(key.trim()),
                None if after_a_key => Some(part),
                Some(_) | None => None,
            };
            after_a_key = key.is_some();
            if let Some(key) = key {
                presented = presented.and(Credential::Key(key.to_owned()));
            }
        }
    }
    presented
}

fn is_known(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("token") || scheme.eq_ignore_ascii_case("bearer")
}

fn of_protocols(headers: &HeaderMap) -> PresentedCredential {
    let (mut offered, mut presented) = (protocols(headers), PresentedCredential::Nothing);
    while let Some(item) = offered.next() {
        let credential = match item {
            "token" => offered.next().map(|key| Credential::Key(key.to_owned())),
            "ticket" => offered.next().map(|it| Credential::Ticket(it.to_owned())),
            _ => None,
        };
        if let Some(credential) = credential {
            presented = presented.and(credential);
        }
    }
    presented
}

fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let all = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    all.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).map(str::trim)
}

/// The subprotocol to select: the stream protocol if offered, else the label of the credential. Never the
/// credential itself, at any position in the list.
pub(super) fn selected(headers: &HeaderMap) -> Option<&'static str> {
    let offered: Vec<&str> = protocols(headers).collect();
    if offered.contains(&PROTOCOL) {
        return Some(PROTOCOL);
    }
    let label = offered.iter().find(|item| ["token", "ticket"].contains(*item))?;
    Some(if *label == "token" { "token" } else { "ticket" })
}

/// A query parameter that is a credential.
#[derive(Clone, Copy)]
enum QueryParameter {
    Token,
    Ticket,
}

fn label(pair: &str) -> Option<QueryParameter> {
    let (name, _) = form_urlencoded::parse(pair.as_bytes()).next()?;
    match &*name {
        "token" => Some(QueryParameter::Token),
        "ticket" => Some(QueryParameter::Ticket),
        _ => None,
    }
}

/// An empty value presents nothing.
fn join_value(
    presented: PresentedCredential,
    pair: &str,
    kind: fn(String) -> Credential,
) -> PresentedCredential {
    match form_urlencoded::parse(pair.as_bytes()).next() {
        Some((_, value)) if !value.is_empty() => presented.and(kind(value.into_owned())),
        Some(_) | None => presented,
    }
}

#[cfg(test)]
mod tests;
