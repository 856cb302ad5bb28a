//! The TLS client configuration for providers: it trusts the authorities of the system, and one of
//! the operator's if configured.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

/// Why no TLS client can be configured.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("{} cannot be read", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} holds no certificate in PEM", .path.display())]
    NoCertificate { path: PathBuf },
    #[error("no authority is trusted: the system has none, and none is named")]
    NoAuthority,
}

/// The configuration of a TLS client. `authority`: a PEM file of certificates that are trusted in
/// addition to those of the system.
///
/// # Errors
///
/// When the file cannot be used, or when no authority would be trusted.
pub fn client(authority: Option<&Path>) -> Result<Arc<ClientConfig>, TrustError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = authority {
        roots.add_parsable_certificates(certificates(path)?);
    }
    if roots.is_empty() {
        return Err(TrustError::NoAuthority);
    }
    Ok(trusting(roots))
}

/// A configuration that trusts no certificate, for peers that are reached over plain HTTP.
#[must_use]
pub fn without_authorities() -> Arc<ClientConfig> {
    trusting(RootCertStore::empty())
}

fn trusting(roots: RootCertStore) -> Arc<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring offers the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let pem = fs::read(path)
        .map_err(|source| TrustError::Unreadable { path: path.to_owned(), source })?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => Err(TrustError::NoCertificate { path: path.to_owned() }),
    }
}
