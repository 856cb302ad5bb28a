//! Which addresses are public: those that a request for a stranger's URL may be sent to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is reachable over the internet, by the registries of special-purpose addresses
/// (RFC 6890). All others may be of the hub's own network: loopback, private, shared by carriers,
/// link-local, where clouds publish credentials, and unique-local.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = match address.octets() {
        [0 | 10 | 127, ..] => true,
        [100, second, ..] => (64..128).contains(&second),
        [169, 254, ..] | [192, 168, ..] | [198, 18..=19, ..] => true,
        [172, second, ..] => (16..32).contains(&second),
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 51, 100, _] | [203, 0, 113, _] => true,
        // Multicast, reserved, broadcast.
        [first, ..] => first >= 224,
    };
    !special
}

/// Only 2000::/3 is assigned. Prefixes that embed an IPv4 address, such as those of NAT64 and 6to4,
/// could lead to one that is not public.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let special = match address.segments() {
        // Protocol assignments with Teredo, documentation, 6to4.
        [0x2001, second, ..] => second < 0x0200 || second == 0x0db8,
        [0x2002, ..] => true,
        [0x3fff, second, ..] => second < 0x1000,
        [first, ..] => !(0x2000..0x4000).contains(&first),
    };
    !special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_not_public() {
        for special in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(special.parse().unwrap()), "{special}");
        }
    }

    #[test]
    fn other_addresses_are_public() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.0.1",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "2606:4700:4700::1111",
            "2001:4860:4860::8888",
            "2a00:1450::1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }
}
