//! The origin of a request, as limits distinguish them.

use std::net::IpAddr;

use base::work::address_prefix;

/// One customer of a network: an IPv4 address, or the /64 of an IPv6 address. A customer with one
/// IPv6 address has the 2^64 around it, so a limit per address would be ineffective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin(IpAddr);

impl From<IpAddr> for Origin {
    fn from(address: IpAddr) -> Self {
        Self(address_prefix(address))
    }
}
