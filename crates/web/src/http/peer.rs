//! The client's address: that of the connection, or the one that a trusted proxy reports.

use std::net::{IpAddr, SocketAddr};

use hyper::{HeaderMap, header::HeaderName};

use base::config::Network;

/// The address that a request comes from; an extension of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// The trusted proxies and the header in which they report their client.
#[derive(Debug, Clone, Default)]
pub struct Proxies {
    /// The header; `None` if no proxy is trusted.
    pub header: Option<HeaderName>,
    pub trusted: Vec<Network>,
}

impl Proxies {
    /// The client of a request on a connection from this address. Each proxy appends the address of its peer, so
    /// the list is read from its end as long as its author is trusted; entries that a client forged before
    /// that are never reached.
    pub(super) fn peer(&self, connection: IpAddr, headers: &HeaderMap) -> Peer {
        let mut address = connection.to_canonical();
        let Some(header) = &self.header else { return Peer(address) };
        let lines = headers.get_all(header).iter().rev();
        let mut entries = lines.flat_map(|line| line.to_str().unwrap_or_default().rsplit(','));
        while self.trusts(address)
            && let Some(forwarded) = entries.next().and_then(|entry| parse(entry.trim()))
        {
            address = forwarded;
        }
        Peer(address)
    }

    /// Whether the peer of a connection is trusted to report its client.
    pub(super) fn trusts_connection(&self, connection: IpAddr) -> bool {
        self.header.is_some() && self.trusts(connection.to_canonical())
    }

    /// Whether a connection from this address may carry requests of many clients, so that the address
    /// identifies none of them. It holds with and without a header.
    pub(super) fn may_stand_for_many(&self, connection: IpAddr) -> bool {
        self.trusts(connection.to_canonical())
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(address))
    }
}

/// An address, which some proxies write with a port or in brackets.
fn parse(entry: &str) -> Option<IpAddr> {
    let bare = entry.strip_prefix('[').and_then(|entry| entry.strip_suffix(']'));
    let address = bare.unwrap_or(entry).parse::<IpAddr>().ok();
    let address = address.or_else(|| Some(entry.parse::<SocketAddr>().ok()?.ip()))?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(trusted: &str, connection: &str, lines: &[&str], expected: &str) {
        let name = HeaderName::from_static("x-forwarded-for");
        let proxies =
            Proxies { header: Some(name.clone()), trusted: Network::parse_all(trusted).unwrap() };
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(&name, line.parse().unwrap());
        }
        let peer = proxies.peer(connection.parse().unwrap(), &headers);
        assert_eq!(peer.0.to_string(), expected, "{lines:?}");
    }

    #[test]
    fn peer_is_the_last_entry_that_is_not_a_trusted_proxy() {
        let trusted = "10.0.0.0/8, ::1";
        check(trusted, "10.0.0.1", &["1.1.1.1, 2.2.2.2"], "2.2.2.2");
        check(trusted, "10.0.0.1", &["1.1.1.1, 2.2.2.2, 10.0.0.9"], "2.2.2.2");
        check(trusted, "10.0.0.1", &["1.1.1.1", "2.2.2.2 ,10.0.0.9"], "2.2.2.2");
        check(trusted, "10.0.0.1", &["2001:db8::7"], "2001:db8::7");
        check(trusted, "10.0.0.1", &["[2001:db8::7]:443"], "2001:db8::7");
        check(trusted, "10.0.0.1", &["2.2.2.2:1234"], "2.2.2.2");
        check(trusted, "::ffff:10.0.0.1", &["2.2.2.2"], "2.2.2.2");
        check(trusted, "::1", &["10.0.0.3"], "10.0.0.3");
    }

    #[test]
    fn header_of_an_untrusted_proxy_is_ignored() {
        check("10.0.0.0/8", "2.2.2.2", &["1.1.1.1"], "2.2.2.2");
        check("", "10.0.0.1", &["1.1.1.1"], "10.0.0.1");
        check("10.0.0.0/8", "10.0.0.1", &[], "10.0.0.1");
        check("10.0.0.0/8", "10.0.0.1", &["1.1.1.1, unknown"], "10.0.0.1");
        check("10.0.0.0/8", "10.0.0.1", &["1.1.1.1, unknown, 10.0.0.2"], "10.0.0.2");
    }

    #[test]
    fn peer_without_a_header_is_the_connection() {
        let mut headers = HeaderMap::new();
        headers.append("x-forwarded-for", "1.1.1.1".parse().unwrap());
        let peer = Proxies::default().peer("::ffff:10.0.0.1".parse().unwrap(), &headers);
        assert_eq!(peer.0.to_string(), "10.0.0.1");
    }
}
