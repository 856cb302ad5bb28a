//! A server of a run, from its URL. Several are nodes of a cluster: they have the same channels,
//! epochs and sequences, so a socket that leaves one continues at the next.

use std::{net::SocketAddr, path::Path, sync::Arc};

use anyhow::{Context, Result};
use rustls::{ClientConfig, pki_types::ServerName};
use tokio_tungstenite::tungstenite::http::Uri;

use crate::transport::CertificateVerification;

#[derive(Debug, Clone)]
pub(crate) struct Hub {
    pub(crate) url: String,
    pub(crate) address: SocketAddr,
    /// The value of the header `Host`.
    pub(crate) host: String,
    pub(crate) path: String,
    /// How its certificate is verified, if it speaks TLS.
    pub(crate) verification: Option<CertificateVerification>,
}

/// The hubs at checked URLs. `authority`: a PEM file of certificates that are trusted in addition to
/// those of the system.
///
/// # Errors
///
/// If a URL has no single address, or if no authority can be trusted for one of TLS.
pub(crate) fn hubs(urls: &[Uri], authority: Option<&Path>) -> Result<Vec<Hub>> {
    let config = urls.iter().any(is_secure).then(|| base::tls::client(authority)).transpose()?;
    urls.iter().map(|url| Hub::new(url, config.as_ref())).collect()
}

fn is_secure(url: &Uri) -> bool {
    url.scheme_str() == Some("wss")
}

impl Hub {
    fn new(url: &Uri, config: Option<&Arc<ClientConfig>>) -> Result<Self> {
        let host = url.host().context("the URL has no host")?;
        let name = host.trim_matches(['[', ']']);
        let ip = if name == "localhost" { "127.0.0.1" } else { name };
        let port = url.port_u16().unwrap_or_else(|| if is_secure(url) { 443 } else { 80 });
        let verification = match config.filter(|_| is_secure(url)) {
            Some(config) => {
                let name = ServerName::try_from(name.to_owned())?;
                Some(CertificateVerification { config: Arc::clone(config), name })
            }
            None => None,
        };
        Ok(Self {
            url: url.to_string(),
            address: SocketAddr::new(ip.parse()?, port),
            host: format!("{host}:{port}"),
            path: url.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
            verification,
        })
    }
}
