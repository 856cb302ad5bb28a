use proptest::prelude::*;

use super::*;

fn request(headers: &[(&'static str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, value.parse().expect("a header's value"));
    }
    map
}

fn key(text: &str) -> PresentedCredential {
    PresentedCredential::One(Credential::Key(text.to_owned()))
}

/// What an upgrade with these headers and to this address shows, and what is left of the address.
fn upgrade(headers: &[(&'static str, &str)], uri: &str) -> (PresentedCredential, String) {
    let mut uri = uri.parse().expect("a uri");
    let query = take(&mut uri);
    (of_upgrade(&request(headers), query.as_ref()), uri.to_string())
}

fn check(headers: &[(&'static str, &str)], uri: &str, expected: &PresentedCredential) {
    assert_eq!(&upgrade(headers, uri).0, expected, "{headers:?} {uri}");
}

const QUERY: &str = "/stream/v1?token=k";

#[test]
fn key_is_found_in_each_place() {
    check(&[("authorization", "Token k")], "/", &key("k"));
    check(&[("sec-websocket-protocol", "matchwire.v1, token, k")], "/", &key("k"));
    check(&[], QUERY, &key("k"));
    check(&[], "/stream/v1", &PresentedCredential::Nothing);
}

/// Two equal credentials are accepted and two different ones refused, in any combination of places.
#[test]
fn conflicting_credentials_are_refused() {
    let places = |header: &str, protocol: &str, query: &str| {
        let headers = [
            ("authorization", format!("Token {header}")),
            ("sec-websocket-protocol", format!("token, {protocol}")),
        ];
        let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
        upgrade(&headers, &format!("/stream/v1?token={query}")).0
    };
    assert_eq!(places("a", "a", "a"), key("a"));
    assert_eq!(places("b", "a", "a"), PresentedCredential::Conflicting);
    assert_eq!(places("a", "b", "a"), PresentedCredential::Conflicting);
    assert_eq!(places("a", "a", "b"), PresentedCredential::Conflicting);
}

#[test]
fn repeated_and_joined_headers_are_all_read() {
    let check = |lines: &[&str], expected: &PresentedCredential| {
        let headers: Vec<_> = lines.iter().map(|line| ("authorization", *line)).collect();
        check(&headers, "/", expected);
        assert_eq!(&of_rest(&request(&headers), None), expected, "{lines:?}");
    };
    check(&["Token k", "Token k"], &key("k"));
    check(&["Token k", "Bearer k"], &key("k"));
    check(&["Token k", "Token l"], &PresentedCredential::Conflicting);
    check(&["Token k, Token l"], &PresentedCredential::Conflicting);
    check(&["Token k, Bearer k"], &key("k"));
    check(&["Token k, l"], &PresentedCredential::Conflicting);
    check(&["Token k,"], &key("k"));
    check(&["Basic dTpw, Token k"], &key("k"));
    check(&["Basic dTpw", "Token k"], &key("k"));
}

#[test]
fn both_schemes_are_read_in_any_case_and_others_are_ignored() {
    check(&[("authorization", "Bearer k")], "/", &key("k"));
    check(&[("authorization", "bearer  k ")], "/", &key("k"));
    check(&[("authorization", "TOKEN\tk")], "/", &key("k"));
    check(&[("authorization", "Basic k")], "/", &PresentedCredential::Nothing);
    check(
        &[("authorization", "Digest realm=\"x\", nonce=\"y\"")],
        "/",
        &PresentedCredential::Nothing,
    );
    check(&[("authorization", "k")], "/", &PresentedCredential::Nothing);
    check(&[("authorization", "Token")], "/", &PresentedCredential::Nothing);
    check(&[("authorization", "Basic l")], QUERY, &key("k"));
    check(&[("authorization", "Token l")], QUERY, &PresentedCredential::Conflicting);
}

/// Percent-encoding the parameter's name does not make it another parameter.
#[test]
fn encoded_parameter_name_cannot_hide_a_second_token() {
    let check = |query: &str, expected: PresentedCredential, left: &str| {
        let found = upgrade(&[], &format!("/x?{query}"));
        assert_eq!((found.0, found.1.as_str()), (expected, left), "{query}");
    };
    check("token=k", key("k"), "/x");
    check("a=1&token=k&b=2", key("k"), "/x?a=1&b=2");
    check("token=k&token=k", key("k"), "/x");
    check("token=k&token=l", PresentedCredential::Conflicting, "/x");
    check("token=k&%74oken=l", PresentedCredential::Conflicting, "/x");
    check("%74%6F%6b%65%6E=k", key("k"), "/x");
    check("token=%6B&token=k", key("k"), "/x");
    check("token=", PresentedCredential::Nothing, "/x");
    check("token", PresentedCredential::Nothing, "/x");
    check("token=&token=k", key("k"), "/x");
    check("TOKEN=k", PresentedCredential::Nothing, "/x?TOKEN=k");
    check("Token=k&token=l", key("l"), "/x?Token=k");
    check("token[]=k", PresentedCredential::Nothing, "/x?token[]=k");
    check("%2574oken=k", PresentedCredential::Nothing, "/x?%2574oken=k");
    check("tokens=k&xtoken=l", PresentedCredential::Nothing, "/x?tokens=k&xtoken=l");
    check("token=k%26token%3Dl", key("k&token=l"), "/x");
    check("token=k&ticket=l", PresentedCredential::Conflicting, "/x");
}

#[test]
fn credential_is_never_selected() {
    let check = |lines: &[&str], presented: PresentedCredential, label: Option<&str>| {
        let headers: Vec<_> = lines.iter().map(|it| ("sec-websocket-protocol", *it)).collect();
        check(&headers, "/", &presented);
        assert_eq!(selected(&request(&headers)), label, "{lines:?}");
    };
    check(&["token, secret"], key("secret"), Some("token"));
    check(&["matchwire.v1, token, secret"], key("secret"), Some("matchwire.v1"));
    check(&["token"], PresentedCredential::Nothing, Some("token"));
    check(&["secret"], PresentedCredential::Nothing, None);
    check(&["token", "secret"], key("secret"), Some("token"));
    check(&["token, secret, token, other"], PresentedCredential::Conflicting, Some("token"));
    check(&["token, secret, ticket, secret"], PresentedCredential::Conflicting, Some("token"));
}

#[test]
fn ticket_is_read_from_query_or_subprotocol_of_an_upgrade() {
    let ticket = PresentedCredential::One(Credential::Ticket("t1".to_owned()));
    assert_eq!(upgrade(&[], "/stream/v1?ticket=t1"), (ticket.clone(), "/stream/v1".to_owned()));
    check(&[("sec-websocket-protocol", "ticket, t1")], "/", &ticket);
    let mut uri = "/stream/v1?ticket=t1".parse().expect("a uri");
    let query = take(&mut uri);
    assert_eq!(of_rest(&HeaderMap::new(), query.as_ref()), PresentedCredential::Nothing);
}

#[test]
fn debug_output_hides_the_key() {
    let (presented, _) = upgrade(&[("authorization", "Token secret")], "/?token=secret");
    assert!(!format!("{presented:?}").contains("secret"));
}

proptest! {
    /// For any query, no token is left in it, and the rest is unchanged.
    #[test]
    fn taken_credentials_are_removed_from_the_query(pairs in prop::collection::vec(
        prop_oneof![
            "[a-z%=]{0,6}",
            "(token|ticket|%74oken|t%69cket)=SECRET[a-z0-9%+]{0,6}",
        ], 0..6))
    {
        let text = format!("http://host:1/path?{}", pairs.join("&"));
        let Ok(mut uri) = text.parse::<Uri>() else { return Ok(()) };
        let others: Vec<_> = pairs.iter().filter(|it| label(it).is_none()).cloned().collect();
        let (before, taken) = (uri.clone(), take(&mut uri));
        prop_assert!(!uri.to_string().contains("SECRET"), "{uri}");
        match taken {
            Some(_) => prop_assert_eq!(uri.query().unwrap_or_default(), others.join("&")),
            None => prop_assert_eq!(uri, before),
        }
    }
}
