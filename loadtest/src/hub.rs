//! A server of a run, from its URL. Several are nodes of a cluster: they have the same channels,
//! epochs and sequences, so a socket that leaves one continues at the next.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use tokio_tungstenite::tungstenite::http::Uri;

#[derive(Debug, Clone)]
pub(crate) struct Hub {
    pub(crate) url: String,
    pub(crate) address: SocketAddr,
    /// The value of the header `Host`.
    pub(crate) host: String,
    pub(crate) path: String,
}

impl Hub {
    /// The hub at a checked URL.
    ///
    /// # Errors
    ///
    /// If the URL has no single address.
    pub(crate) fn new(url: &Uri) -> Result<Self> {
        let host = url.host().context("the URL has no host")?;
        let ip = if host == "localhost" { "127.0.0.1" } else { host.trim_matches(['[', ']']) };
        let port = url.port_u16().unwrap_or(80);
        Ok(Self {
            url: url.to_string(),
            address: SocketAddr::new(ip.parse()?, port),
            host: format!("{host}:{port}"),
            path: url.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        })
    }
}
