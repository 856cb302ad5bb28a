//! `matchwire probe`: whether the hub of these settings is ready, for the health check of an image that has no
//! other program.

use std::{
    error::Error,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use reqwest::{Client, ClientBuilder, StatusCode, redirect::Policy};

use crate::{cli::ProbeArgs, config::Config};

/// Why the hub is not ready, or cannot be probed.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error("port 0 is a free one, which only the hub knows: give its address with --listen")]
    UnknownPort,
    #[error("cannot prepare HTTP")]
    Http(#[source] reqwest::Error),
    #[error("no answer from {address}: {cause}")]
    Unreachable { address: SocketAddr, cause: String },
    #[error("the hub at {address} is not ready: {status}")]
    NotReady { address: SocketAddr, status: StatusCode },
}

/// Succeeds if the hub that listens on the address of the settings answers `/readyz` with 200.
///
/// # Errors
///
/// If it does not within the time of the arguments.
pub async fn run(args: &ProbeArgs, config: &Config) -> Result<(), ProbeError> {
    let address = reachable(config.server.listen)?;
    let has_tls =
        !config.tls.certificate.as_os_str().is_empty() || config.acme.names().next().is_some();
    let (scheme, client) =
        if has_tls { ("https", client_of_own_hub()) } else { ("http", client_without_tls()) };
    let client = client
        .no_proxy()
        .redirect(Policy::none())
        .timeout(Duration::from_secs(args.timeout))
        .build()
        .map_err(ProbeError::Http)?;
    let sent = client.get(format!("{scheme}://{address}/readyz")).send().await;
    match sent.map(|response| response.status()) {
        Ok(StatusCode::OK) => Ok(()),
        Ok(status) => Err(ProbeError::NotReady { address, status }),
        Err(error) => Err(ProbeError::Unreachable { address, cause: root_cause(&error) }),
    }
}

/// The address under which this machine reaches a listener.
fn reachable(listen: SocketAddr) -> Result<SocketAddr, ProbeError> {
    let host = match listen.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        host => host,
    };
    if listen.port() == 0 { Err(ProbeError::UnknownPort) } else { Ok((host, listen.port()).into()) }
}

fn client_without_tls() -> ClientBuilder {
    Client::builder().tls_backend_preconfigured(base::tls::without_authorities().as_ref().clone())
}

/// Does not check the certificate: it is for the names of the hub, not for the address that it listens on, and
/// nothing is sent that anybody else must not know.
fn client_of_own_hub() -> ClientBuilder {
    // Fails if there is one already, which is as good.
    rustls::crypto::ring::default_provider().install_default().ok();
    Client::builder().tls_danger_accept_invalid_certs(true)
}

/// The innermost cause, such as `Connection refused`: the outer ones only say that a request failed.
fn root_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listener_on_all_addresses_is_reached_on_loopback() {
        let reached =
            |listen: &str| reachable(listen.parse().expect("an address")).expect("a port");
        assert_eq!(reached("0.0.0.0:8080").to_string(), "127.0.0.1:8080");
        assert_eq!(reached("[::]:8080").to_string(), "[::1]:8080");
        assert_eq!(reached("192.0.2.1:80").to_string(), "192.0.2.1:80");
    }
}
