//! Ports for servers that tests start. Crates include this file by its path.

use std::{
    hash::{BuildHasher, RandomState},
    net::{Ipv4Addr, TcpListener, UdpSocket},
};

/// Ports of loopback on which nothing listens, neither over TCP nor over UDP.
///
/// They are below the ports that Linux gives to sockets that ask for any: of those, another test could get one before the
/// server listens on it, or while the server is down.
pub(crate) fn free_ports<const N: usize>() -> [u16; N] {
    // All are held until each is known, so that they differ.
    let held: [_; N] = std::array::from_fn(|_| {
        loop {
            let random = RandomState::new().hash_one("port") % 22_000;
            let port = 10_000 + u16::try_from(random).expect("it fits");
            let address = (Ipv4Addr::LOCALHOST, port);
            if let (Ok(tcp), Ok(udp)) = (TcpListener::bind(address), UdpSocket::bind(address)) {
                break (tcp, udp, port);
            }
        }
    });
    held.map(|(_, _, port)| port)
}
