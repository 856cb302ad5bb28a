//! TLS without a proxy: loads the certificate and configures the server.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
};

/// Why a certificate cannot be used. Always for the operator to fix.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("no certificate can be read from {path}")]
    Certificate { path: PathBuf, source: Option<pem::Error> },
    #[error("no private key can be read from {path}")]
    Key { path: PathBuf, source: pem::Error },
    #[error("the certificate {certificate} cannot be used with the key {key}")]
    Unusable { certificate: PathBuf, key: PathBuf, source: rustls::Error },
}

/// Loads a PEM certificate chain, the leaf first, and its PEM key.
///
/// # Errors
///
/// If a file does not contain them, or the key does not belong to the certificate.
pub fn load(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let unreadable = |source| TlsError::Certificate { path: certificate.to_owned(), source };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| unreadable(Some(error)))?;
    if chain.is_empty() {
        return Err(unreadable(None));
    }
    let secret = PrivateKeyDer::from_pem_file(key)
        .map_err(|source| TlsError::Key { path: key.to_owned(), source })?;
    let config = config(chain, secret).map_err(|source| TlsError::Unusable {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
        source,
    })?;
    Ok(Arc::new(config))
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Returning clients skip most of the handshake, without server state.
    config.ticketer = ring::Ticketer::new()?;
    Ok(config)
}
