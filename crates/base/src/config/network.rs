//! Networks of reverse proxies, in the notation of the settings: `127.0.0.0/8, ::1`.

use std::net::IpAddr;

/// A range of addresses with a common prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// Length of the prefix in bits.
    prefix: u32,
}

impl Network {
    /// Parses an address, or an address and a prefix length; `None` if it is neither.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address = address.parse::<IpAddr>().ok()?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Some(bits), |prefix| prefix.parse().ok())?;
        (prefix <= bits).then_some(Self { address, prefix })
    }

    /// Parses a list that is separated by commas; `None` if an entry is no network.
    #[must_use]
    pub fn parse_all(text: &str) -> Option<Vec<Self>> {
        text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(Self::parse).collect()
    }

    /// Whether the network contains an address. IPv4 and IPv6 never match each other.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let equal_bits = match (self.address, address.to_canonical()) {
            (IpAddr::V4(net), IpAddr::V4(host)) => (net.to_bits() ^ host.to_bits()).leading_zeros(),
            (IpAddr::V6(net), IpAddr::V6(host)) => (net.to_bits() ^ host.to_bits()).leading_zeros(),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return false,
        };
        equal_bits >= self.prefix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(network: &str, address: &str, expected: bool) {
        let network = Network::parse(network).unwrap();
        assert_eq!(network.contains(address.parse().unwrap()), expected, "{network:?} {address}");
    }

    #[test]
    fn network_contains_addresses_with_its_prefix() {
        check("10.1.0.0/16", "10.1.255.3", true);
        check("10.1.0.0/16", "10.2.0.0", false);
        check("10.1.2.3", "10.1.2.3", true);
        check("10.1.2.3", "10.1.2.2", false);
        check("10.1.2.3", "::ffff:10.1.2.3", true);
        check("0.0.0.0/0", "255.255.255.255", true);
        check("0.0.0.0/0", "::1", false);
        check("2001:db8::/32", "2001:db8:ffff::1", true);
        check("2001:db8::/32", "2001:db9::1", false);
        check("::1", "::1", true);
    }

    #[test]
    fn invalid_network_is_refused() {
        for wrong in ["", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "proxy", "1.2.3"] {
            assert_eq!(Network::parse(wrong), None, "{wrong}");
        }
        assert_eq!(Network::parse_all(""), Some(Vec::new()));
        assert_eq!(Network::parse_all("10.0.0.1, ::1").map(|all| all.len()), Some(2));
        assert_eq!(Network::parse_all("10.0.0.1, proxy"), None);
    }
}
