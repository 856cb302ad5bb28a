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

use base::clock::wall;
use jiff::Timestamp;
use metrics::gauge;
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer, UnixTime,
        pem::{self, PemObject},
    },
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::{sync::watch, time::interval};
use tracing::{info, warn};
use webpki::{EndEntityCert, Error as Refusal, KeyUsage};

/// Why a certificate cannot be used. Always for the operator to fix.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("no certificate can be read from {path}")]
    Certificate { path: PathBuf, source: Option<pem::Error> },
    #[error("no private key can be read from {path}")]
    Key { path: PathBuf, source: pem::Error },
    #[error("the certificate {certificate} cannot be used with the key {key}")]
    Unusable { certificate: PathBuf, key: PathBuf, source: rustls::Error },
    #[error("the certificate {path} has expired at {at}")]
    Expired { path: PathBuf, at: Timestamp },
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
        let validity =
            pair.cert.first().and_then(|leaf| validity(&EndEntityCert::try_from(leaf).ok()?));
        Ok(Self { files, states, validity, pair: Arc::new(pair) })
    }

    /// Fails if clients will not accept it because it has expired. `now`: Unix time in seconds.
    ///
    /// # Errors
    ///
    /// [`TlsError::Expired`].
    pub fn check_expiry(&self, now: i64) -> Result<(), TlsError> {
        match self.validity {
            Some([_, expires]) if expires <= now => Err(TlsError::Expired {
                path: self.files.certificate.clone(),
                at: Timestamp::from_second(expires).unwrap_or_default(),
            }),
            Some(_) | None => Ok(()),
        }
    }
}

/// From when and until when a certificate is valid, in seconds of Unix time: what a verifier says before and after. `None`
/// also if it begins before 1970, or ends before it begins.
fn validity(certificate: &EndEntityCert<'_>) -> Option<[i64; 2]> {
    let refusal = |at| {
        let (at, usage) = (UnixTime::since_unix_epoch(at), KeyUsage::server_auth());
        certificate.verify_for_usage(&[], &[], &[], at, usage, None, None).err()
    };
    let from = match refusal(Duration::ZERO)? {
        Refusal::CertNotValidYet { not_before, .. } => not_before.as_secs(),
        // It is valid since 1970.
        _ => 0,
    };
    let Some(Refusal::CertExpired { not_after, .. }) = refusal(Duration::MAX) else { return None };
    Some([from, not_after.as_secs()].map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX)))
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

    /// Reads a certificate that may replace this one. An expired one may only replace one that has expired too. `now`:
    /// Unix time in seconds.
    ///
    /// # Errors
    ///
    /// As [`Certificate::read`], and [`TlsError::Expired`].
    pub fn read_next(
        &self,
        certificate: &Path,
        key: &Path,
        now: i64,
    ) -> Result<Certificate, TlsError> {
        let next = Certificate::read(certificate, key)?;
        if self.check_expiry(now).is_ok() {
            next.check_expiry(now)?;
        }
        Ok(next)
    }

    /// As [`Certificate::check_expiry`], of the one that is shown.
    ///
    /// # Errors
    ///
    /// [`TlsError::Expired`].
    pub fn check_expiry(&self, now: i64) -> Result<(), TlsError> {
        self.get(|shown| shown.check_expiry(now)).unwrap_or(Ok(()))
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

    fn get<T>(&self, read: impl FnOnce(&Certificate) -> T) -> Option<T> {
        self.certificate.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(read)
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
            match self.read_next(&files.certificate, &files.key, wall() / 1_000_000) {
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

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    /// Writes a certificate that is valid for the whole of a year.
    fn write(folder: &Path, year: i32) -> (PathBuf, PathBuf) {
        let mut params = CertificateParams::new(["localhost".to_owned()]).expect("a name");
        params.not_before = date_time_ymd(year, 1, 1);
        params.not_after = date_time_ymd(year + 1, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        let paths = ["pem", "key"].map(|ending| folder.join(format!("{year}.{ending}")));
        fs::write(&paths[0], certificate.pem()).expect("a file");
        fs::write(&paths[1], key.serialize_pem()).expect("a file");
        let [certificate, key] = paths;
        (certificate, key)
    }

    fn start_of(year: i16) -> i64 {
        let day = jiff::civil::date(year, 1, 1);
        day.to_zoned(jiff::tz::TimeZone::UTC).expect("a day").timestamp().as_second()
    }

    #[test]
    fn expired_certificate_does_not_replace_a_valid_one() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (current, next, now, is_taken) in [
            (2030, 2031, 2030, true),
            (2030, 2029, 2030, false),
            (2030, 2030, 2030, true),
            // Clients accept neither, and the operator may go step by step.
            (2030, 2030, 2031, true),
            (2029, 2030, 2031, true),
        ] {
            let (certificate, key) = write(folder.path(), current);
            let read = Certificate::read(&certificate, &key).expect("a certificate");
            let shown = CurrentCertificate::new(Some(read));
            let (certificate, key) = write(folder.path(), next);
            let taken = shown.read_next(&certificate, &key, start_of(now) + 86_400);
            assert_eq!(taken.is_ok(), is_taken, "{current} {next} {now}");
            if let Err(error) = taken {
                let ended = format!("{}-01-01T00:00:00Z", next + 1);
                assert!(error.to_string().ends_with(&ended), "{error}");
            }
        }
    }
}
