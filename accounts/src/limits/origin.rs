//! The origin of a request, as limits distinguish them.

use std::net::{IpAddr, Ipv6Addr};

/// One customer of a network: an IPv4 address, or the /64 of an IPv6 address. A customer with one
/// IPv6 address has the 2^64 around it, so a limit per address would be ineffective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin(IpAddr);

impl From<IpAddr> for Origin {
    fn from(address: IpAddr) -> Self {
        // `::ffff:1.2.3.4` is 1.2.3.4 on a listener for both.
        match address.to_canonical() {
            IpAddr::V6(it) => {
                let [a, b, c, d, ..] = it.segments();
                Self(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into())
            }
            it @ IpAddr::V4(_) => Self(it),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(one: &str, other: &str, same: bool) {
        let origin = |text: &str| Origin::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(origin(one) == origin(other), same, "{one} and {other}");
    }

    #[test]
    fn ipv6_addresses_of_one_subnet_are_one_origin() {
        check("10.0.0.1", "10.0.0.1", true);
        check("10.0.0.1", "10.0.0.2", false);
        check("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", true);
        check("2001:db8::1", "2001:db8:0:1::1", false);
        check("::ffff:10.0.0.1", "10.0.0.1", true);
        check("::1", "127.0.0.1", false);
    }
}
