//! Follows a hub's channels with many sockets and checks what arrives.

fn main() {}
