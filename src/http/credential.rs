//! How a request carries its key: found here, and never written anywhere.

use std::fmt;

use axum::extract::Query;
use hyper::{
    HeaderMap, Uri,
    header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL},
};

/// The name of the stream protocol among subprotocols.
const PROTOCOL: &str = "matchwire.v1";

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

/// The credential of a REST request: header, then query.
pub(super) fn of_rest(headers: &HeaderMap, uri: &Uri) -> Option<Credential> {
    of_header(headers).or_else(|| of_query(uri, false))
}

/// The credential of an upgrade: header, then subprotocol, then query.
pub(super) fn of_upgrade(headers: &HeaderMap, uri: &Uri) -> Option<Credential> {
    of_header(headers).or_else(|| of_protocols(headers)).or_else(|| of_query(uri, true))
}

fn of_header(headers: &HeaderMap) -> Option<Credential> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = value.trim().split_once(' ')?;
    let known = scheme.eq_ignore_ascii_case("token") || scheme.eq_ignore_ascii_case("bearer");
    known.then(|| Credential::Key(key.trim().to_owned()))
}

fn of_protocols(headers: &HeaderMap) -> Option<Credential> {
    let mut offered = protocols(headers);
    while let Some(item) = offered.next() {
        match item {
            "token" => return offered.next().map(|key| Credential::Key(key.to_owned())),
            "ticket" => return offered.next().map(|it| Credential::Ticket(it.to_owned())),
            _ => {}
        }
    }
    None
}

fn of_query(uri: &Uri, tickets: bool) -> Option<Credential> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?;
    let find = |name: &str| pairs.iter().find(|(own, _)| own == name).map(|(_, v)| v.clone());
    find("token")
        .map(Credential::Key)
        .or_else(|| tickets.then(|| find("ticket").map(Credential::Ticket)).flatten())
}

fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let all = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    all.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).map(str::trim)
}

/// The subprotocol to select: ours if it was offered, else the label of the credential. Never the
/// credential, whatever place it has in the list.
pub(super) fn selected(headers: &HeaderMap) -> Option<&'static str> {
    let offered: Vec<&str> = protocols(headers).collect();
    if offered.contains(&PROTOCOL) {
        return Some(PROTOCOL);
    }
    let label = offered.iter().find(|item| ["token", "ticket"].contains(*item))?;
    Some(if *label == "token" { "token" } else { "ticket" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().expect("a header's value"));
        }
        map
    }

    fn check(headers: &[(&'static str, &str)], uri: &str, key: Option<&str>, label: Option<&str>) {
        let headers = request(headers);
        let uri = uri.parse().expect("a uri");
        let found = of_upgrade(&headers, &uri);
        assert_eq!(found, key.map(|key| Credential::Key(key.to_owned())));
        assert_eq!(selected(&headers), label);
    }

    #[test]
    fn header_wins_over_subprotocol_and_that_over_query() {
        let authorization = ("authorization", "Token head");
        let protocols = ("sec-websocket-protocol", "matchwire.v1, token, proto");
        let uri = "/stream/v1?token=query";
        check(&[authorization, protocols], uri, Some("head"), Some("matchwire.v1"));
        check(&[protocols], uri, Some("proto"), Some("matchwire.v1"));
        check(&[], uri, Some("query"), None);
        check(&[], "/stream/v1", None, None);
    }

    #[test]
    fn both_schemes_are_read_in_any_case() {
        check(&[("authorization", "Bearer k")], "/", Some("k"), None);
        check(&[("authorization", "bearer  k ")], "/", Some("k"), None);
        check(&[("authorization", "Basic k")], "/", None, None);
        check(&[("authorization", "k")], "/", None, None);
    }

    #[test]
    fn credential_is_never_selected() {
        check(&[("sec-websocket-protocol", "token, secret")], "/", Some("secret"), Some("token"));
        check(&[("sec-websocket-protocol", "token")], "/", None, Some("token"));
        check(&[("sec-websocket-protocol", "secret")], "/", None, None);
        let split = [("sec-websocket-protocol", "token"), ("sec-websocket-protocol", "secret")];
        check(&split, "/", Some("secret"), Some("token"));
    }

    #[test]
    fn ticket_stands_in_query_or_subprotocol() {
        let uri = "/stream/v1?ticket=t1".parse().expect("a uri");
        let ticket = Some(Credential::Ticket("t1".to_owned()));
        assert_eq!(of_upgrade(&HeaderMap::new(), &uri), ticket);
        assert_eq!(of_rest(&HeaderMap::new(), &uri), None);
        let headers = request(&[("sec-websocket-protocol", "ticket, t1")]);
        assert_eq!(of_upgrade(&headers, &Uri::from_static("/")), ticket);
        assert_eq!(selected(&headers), Some("ticket"));
    }

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", Credential::Key("secret".to_owned())), "Credential(..)");
    }
}
