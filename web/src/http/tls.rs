//! TLS without a proxy: the certificate, which can be replaced while the hub runs, and the server's configuration.

#[cfg_attr(not(feature = "acme"), path = "tls/no_acme.rs")]
pub mod acme;

use std::{
    collections::HashMap,
    error::Error,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use metrics::gauge;
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::{sync::watch, time::interval};
use tracing::{info, warn};
use x509_parser::parse_x509_certificate;

/// Why a certificate cannot be used. Always for the operator to fix.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("no certificate can be read from {path}")]
    Certificate { path: PathBuf, source: Option<pem::Error> },
    #[error("no private key can be read from {path}")]
    Key { path: PathBuf, source: pem::Error },
    #[error("the certificate {certificate} cannot be used with the key {key}")]
    Unusable { certificate: PathBuf, key: PathBuf, source: rustls::Error },
    #[error("TLS cannot be set up")]
    SetUp(#[from] rustls::Error),
}

/// The two files of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CertificateFiles {
    certificate: PathBuf,
    key: PathBuf,
}

/// By what a change of the files is noticed: when each was written, and its bytes; `None` for one that is missing.
type FileStates = [Option<(SystemTime, u64)>; 2];

impl CertificateFiles {
    fn states(&self) -> FileStates {
        [&self.certificate, &self.key].map(|path| {
            // Of the file that a link names: tools that renew certificates replace the link.
            let data = fs::metadata(path).ok()?;
            Some((data.modified().ok()?, data.len()))
        })
    }
}

/// A certificate chain with its key, as read from its files.
#[derive(Debug)]
pub struct Certificate {
    files: CertificateFiles,
    /// The files as they were right before they were read.
    states: FileStates,
    /// From when and until when it is valid: Unix times, in seconds; `None` if they cannot be read.
    validity: Option<[i64; 2]>,
    pair: Arc<CertifiedKey>,
}

impl Certificate {
    /// Reads a PEM certificate chain, the leaf first, and its PEM key.
    ///
    /// # Errors
    ///
    /// If a file does not contain them, or the key does not belong to the certificate.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let files = CertificateFiles { certificate: certificate.to_owned(), key: key.to_owned() };
        let states = files.states();
        let unreadable = |source| TlsError::Certificate { path: certificate.to_owned(), source };
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect)
            .map_err(|error| unreadable(Some(error)))?;
        if chain.is_empty() {
            return Err(unreadable(None));
        }
        let secret = PrivateKeyDer::from_pem_file(key)
            .map_err(|source| TlsError::Key { path: key.to_owned(), source })?;
        let pair = CertifiedKey::from_der(chain, secret, &ring::default_provider());
        let pair = pair.map_err(|source| TlsError::Unusable {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            source,
        })?;
        let validity = pair.cert.first().and_then(|leaf| {
            let (_, leaf) = parse_x509_certificate(leaf).ok()?;
            let validity = leaf.validity();
            Some([validity.not_before, validity.not_after].map(|time| time.timestamp()))
        });
        Ok(Self { files, states, validity, pair: Arc::new(pair) })
    }
}

/// The protocol by which an authority checks the names of a certificate: RFC 8737.
const CHALLENGE_PROTOCOL: &[u8] = b"acme-tls/1";

/// Certificates for an authority's checks, by the name that is checked.
type Challenges = HashMap<String, Arc<CertifiedKey>>;

/// The certificate that new connections are shown. Open connections keep theirs.
#[derive(Debug)]
pub struct CurrentCertificate {
    certificate: RwLock<Option<Certificate>>,
    challenges: RwLock<Challenges>,
}

impl CurrentCertificate {
    /// `None`: no connection is served before there is one.
    #[must_use]
    pub fn new(certificate: Option<Certificate>) -> Self {
        let current = Self { certificate: RwLock::default(), challenges: RwLock::default() };
        if let Some(certificate) = certificate {
            current.replace(certificate);
        }
        current
    }

    /// Shows another certificate from now on.
    pub fn replace(&self, certificate: Certificate) {
        let mut current = self.certificate.write().unwrap_or_else(PoisonError::into_inner);
        Self::set(&mut current, certificate);
    }

    /// The same, unless the one in use is from other files. Whether it is shown.
    fn replace_same_files(&self, certificate: Certificate) -> bool {
        let mut current = self.certificate.write().unwrap_or_else(PoisonError::into_inner);
        let is_same = current.as_ref().is_some_and(|current| current.files == certificate.files);
        if is_same {
            Self::set(&mut current, certificate);
        }
        is_same
    }

    fn set(current: &mut Option<Certificate>, certificate: Certificate) {
        if let Some(validity) = certificate.validity {
            #[expect(clippy::cast_precision_loss, reason = "seconds are far below 2^53")]
            let [begins, expires] = validity.map(|time| time as f64);
            gauge!("matchwire_certificate_begins_timestamp_seconds").set(begins);
            gauge!("matchwire_certificate_expires_timestamp_seconds").set(expires);
        }
        *current = Some(certificate);
    }

    #[cfg(feature = "acme")]
    /// Answers these checks of an authority from now on.
    fn set_challenges(&self, challenges: Challenges) {
        *self.challenges.write().unwrap_or_else(PoisonError::into_inner) = challenges;
    }

    fn get<T>(&self, of: impl FnOnce(&Certificate) -> T) -> Option<T> {
        self.certificate.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(of)
    }

    /// Reads the files again whenever they have changed, until `stopped`. While they cannot be used, for example because only
    /// one of them is written yet, the certificate before stays.
    pub async fn follow_files(
        self: Arc<Self>,
        every: Duration,
        mut stopped: watch::Receiver<bool>,
    ) {
        let mut turns = interval(every);
        let mut reported = None;
        loop {
            tokio::select! {
                _ = turns.tick() => {}
                _ = stopped.wait_for(|stopped| *stopped) => return,
            }
            let Some(files) = self.get(|certificate| certificate.files.clone()) else { continue };
            let states = Some(files.states());
            if states == self.get(|certificate| certificate.states) {
                continue;
            }
            match Certificate::read(&files.certificate, &files.key) {
                Ok(certificate) => {
                    // Other files may have been configured meanwhile.
                    if self.replace_same_files(certificate) {
                        info!("the certificate has changed; new connections get the new one");
                    }
                }
                // Also tried again if nothing changes: perhaps only the permissions were wrong.
                Err(error) if reported != states => {
                    reported = states;
                    let error = &error as &dyn Error;
                    warn!(error, "the certificate has changed; the one before stays in use");
                }
                Err(_) => {}
            }
        }
    }
}

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        if hello.alpn().is_some_and(|mut names| names.any(|name| name == CHALLENGE_PROTOCOL)) {
            let challenges = self.challenges.read().unwrap_or_else(PoisonError::into_inner);
            return challenges.get(hello.server_name()?).cloned();
        }
        self.get(|certificate| Arc::clone(&certificate.pair))
    }
}

/// The configuration of a server that shows this certificate.
///
/// # Errors
///
/// If the system gives no random bytes.
pub fn server_config(certificate: Arc<CurrentCertificate>) -> Result<Arc<ServerConfig>, TlsError> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(certificate);
    config.alpn_protocols = vec![b"http/1.1".to_vec(), CHALLENGE_PROTOCOL.to_vec()];
    // Returning clients skip most of the handshake, without server state.
    config.ticketer = ring::Ticketer::new()?;
    Ok(Arc::new(config))
}
