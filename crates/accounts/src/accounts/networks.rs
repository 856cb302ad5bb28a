//! The networks from which a key works.

use std::{fmt, net::IpAddr, sync::Arc};

use ipnet::IpNet;

/// The most networks of one key.
pub(super) const NETWORKS_MAX: usize = 50;

/// The bits before an IPv4 address in IPv6 notation: RFC 4291, section 2.5.5.2.
const MAPPED_BITS: u8 = 96;

/// A set of networks; an empty one has every address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Networks(Option<Arc<[IpNet]>>);

/// Why a text is not a set of networks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworksError {
    #[error("`{0}` is neither an address nor a network such as 192.0.2.0/24")]
    Syntax(String),
    #[error("a key can have at most {NETWORKS_MAX} addresses and networks")]
    TooMany,
}

impl Networks {
    /// Parses addresses and networks in CIDR notation, separated by white space or commas. Bits after the prefix
    /// are ignored: `192.0.2.7/24` is `192.0.2.0/24`.
    ///
    /// # Errors
    ///
    /// If one of them is neither, or if there are too many.
    pub fn parse(text: &str) -> Result<Self, NetworksError> {
        let parts = text.split(|c: char| c.is_whitespace() || c == ',');
        let networks: Vec<_> =
            parts.filter(|part| !part.is_empty()).map(network).collect::<Result<_, _>>()?;
        if networks.len() > NETWORKS_MAX {
            return Err(NetworksError::TooMany);
        }
        Ok(Self((!networks.is_empty()).then(|| networks.into())))
    }

    /// Whether a request may come from this address.
    #[must_use]
    pub fn allow(&self, address: IpAddr) -> bool {
        let Some(networks) = &self.0 else { return true };
        // `::ffff:1.2.3.4` is 1.2.3.4 on a listener for both.
        let address = address.to_canonical();
        networks.iter().any(|network| network.contains(&address))
    }
}

/// In CIDR notation, a single address without its prefix; separated by spaces.
impl fmt::Display for Networks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, network) in self.0.iter().flat_map(|networks| networks.iter()).enumerate() {
            let space = if index == 0 { "" } else { " " };
            match network.prefix_len() == network.max_prefix_len() {
                true => write!(f, "{space}{}", network.addr())?,
                false => write!(f, "{space}{network}")?,
            }
        }
        Ok(())
    }
}

/// An IPv4 network in IPv6 notation becomes one of IPv4, as addresses do.
fn network(text: &str) -> Result<IpNet, NetworksError> {
    let syntax = || NetworksError::Syntax(text.to_owned());
    let network = match text.parse::<IpNet>() {
        Ok(network) => network,
        Err(_) => text.parse::<IpAddr>().map_err(|_| syntax())?.into(),
    };
    let mapped_len = network.prefix_len().checked_sub(MAPPED_BITS);
    let network = match (network.addr().to_canonical(), mapped_len) {
        (IpAddr::V4(address), Some(len)) if network.addr().is_ipv6() => {
            IpNet::new(address.into(), len).map_err(|_| syntax())?
        }
        _ => network,
    };
    Ok(network.trunc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_round_trip() {
        let check = |text: &str, expected: &str| {
            let networks = Networks::parse(text).unwrap();
            assert_eq!(networks.to_string(), expected, "{text}");
            assert_eq!(Networks::parse(expected), Ok(networks), "{text}");
        };
        check("", "");
        check(" 192.0.2.7/24,\n10.0.0.1 ", "192.0.2.0/24 10.0.0.1");
        check("2001:db8::/32 ::1", "2001:db8::/32 ::1");
        check("::ffff:10.0.0.1 ::ffff:192.0.2.7/120", "10.0.0.1 192.0.2.0/24");
        check("0.0.0.0/0", "0.0.0.0/0");
    }

    #[test]
    fn address_is_allowed_within_a_network() {
        let check = |networks: &str, address: &str, expected: bool| {
            let allowed = Networks::parse(networks).unwrap().allow(address.parse().unwrap());
            assert_eq!(allowed, expected, "{address} in {networks}");
        };
        check("", "203.0.113.9", true);
        check("192.0.2.0/24", "192.0.2.255", true);
        check("192.0.2.0/24", "192.0.3.0", false);
        check("192.0.2.0/24", "::ffff:192.0.2.1", true);
        check("192.0.2.0/24 2001:db8::/32", "2001:db8:1::1", true);
        check("10.0.0.1", "10.0.0.2", false);
        check("0.0.0.0/0", "2001:db8::1", false);
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in ["example.org", "10.0.0.0/33", "10.0.0", "10.0.0.1/", "10.0.0.1-10.0.0.9"] {
            assert_eq!(Networks::parse(text), Err(NetworksError::Syntax(text.to_owned())));
        }
        let many = "10.0.0.1 ".repeat(NETWORKS_MAX + 1);
        assert_eq!(Networks::parse(&many), Err(NetworksError::TooMany));
        assert!(Networks::parse(many.trim_end().rsplit_once(' ').unwrap().0).is_ok());
    }
}
