//! A certificate from an authority that speaks ACME (RFC 8555), such as Let's Encrypt, obtained and renewed while the hub runs.
//!
//! The authority checks the names over the hub's own TLS port (TLS-ALPN-01, RFC 8737), so nothing else has to listen.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    error::Error,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, UNIX_EPOCH},
};

use axum::body::{Body, to_bytes};
use base::{clock::wall, retry_after::retry_after, tls::TrustError};
use bytes::Bytes;
use hyper::{
    HeaderMap, Request, Response, StatusCode,
    header::{DATE, HeaderValue, RETRY_AFTER},
};
use instant_acme::{
    Account, AccountBuilder, AccountCredentials, AuthorizationStatus, BodyWrapper, BytesResponse,
    ChallengeType, HttpClient, Identifier, NewAccount, NewOrder, Order, OrderStatus, RetryPolicy,
};
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use rustls::{
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject},
    sign::CertifiedKey,
};
use serde::{Deserialize, Serialize};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use tracing::{info, warn};
use webpki::EndEntityCert;

use super::{Certificate, CurrentCertificate, TlsError};
use crate::config::AcmeConfig;

/// How often the age of the certificate is checked.
const CHECK_EVERY: Duration = Duration::from_secs(3600);

/// The wait after a first failure. It doubles up to [`CHECK_EVERY`], so that there are five attempts in the first hour: Let's
/// Encrypt refuses a name for an hour after five failures.
const RETRY_FIRST: Duration = Duration::from_secs(120);

/// How long the authority's own wait is kept at most: its limits are by the week.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(7 * 24);

/// How long one attempt may take.
const ATTEMPT_WITHIN: Duration = Duration::from_secs(300);

const REQUEST_WITHIN: Duration = Duration::from_secs(30);

/// How long the authority may check a name, and sign.
const RETRIES: RetryPolicy = RetryPolicy::new().timeout(Duration::from_secs(90));

/// Bytes of a response of the authority at most.
const RESPONSE_BYTES_MAX: usize = 1 << 20;

/// The type of a problem (RFC 8555, section 6.7).
const ACCOUNT_UNKNOWN: &str = "urn:ietf:params:acme:error:accountDoesNotExist";

const ACCOUNT_FILE: &str = "account.json";
/// The certificate chain and its key, in one file, so that no crash separates them.
const CERTIFICATE_FILE: &str = "certificate.pem";
/// When the authority may be asked again, in seconds of Unix time, and which one, so that a restart keeps it.
const WAIT_FILE: &str = "wait";
/// Written before an order, to see whether the certificate can be.
const TRIAL_FILE: &str = "trial";

/// Why no certificate was obtained.
#[derive(Debug, thiserror::Error)]
pub enum AcmeError {
    #[error("{path} cannot be used")]
    File { path: PathBuf, source: io::Error },
    #[error("the authority's server cannot be trusted")]
    Trust(#[from] TrustError),
    #[error("no client for the authority")]
    Client(#[from] reqwest::Error),
    #[error("the authority refuses a request, or does not answer")]
    Authority(#[from] instant_acme::Error),
    #[error("the authority did not confirm {name}: {why}")]
    Refused { name: String, why: String },
    #[error("the authority does not offer tls-alpn-01 for {name}")]
    NoChallenge { name: String },
    #[error("no answer to a challenge can be made")]
    Challenge(#[from] rcgen::Error),
    #[error(transparent)]
    Certificate(#[from] TlsError),
    #[error("it took longer than {} s", ATTEMPT_WITHIN.as_secs())]
    TooSlow,
    #[error("the certificate is for other names, or has expired already")]
    NotUsable,
}

/// The account at an authority, as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredAccount {
    directory: String,
    credentials: AccountCredentials,
}

/// Whose a certificate is, and from when to when it is used, in seconds of Unix time.
#[derive(Debug, PartialEq, Eq)]
struct Validity {
    names: BTreeSet<String>,
    /// When it was obtained, or became valid if that was later. Authorities let it begin earlier than they issue it, which
    /// counts with one that is valid for hours.
    from: i64,
    until: i64,
}

impl Validity {
    /// `None` if the file has no certificate that can be read.
    fn of_file(path: &Path) -> Option<Self> {
        let der = CertificateDer::from_pem_file(path).ok()?;
        let certificate = EndEntityCert::try_from(&der).ok()?;
        let [from, until] = super::validity(&certificate)?;
        let written = fs::metadata(path).ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let written = i64::try_from(written.as_secs()).ok()?;
        // A copy of the file is younger than the certificate.
        let from = from.max(written.min(until));
        let names = certificate.valid_dns_names().map(ToOwned::to_owned).collect();
        Some(Self { names, from, until })
    }

    /// When a third of its time is left.
    fn renewed_at(&self) -> i64 {
        self.until - (self.until - self.from) / 3
    }

    /// The time until it is due to be renewed; `None` if it is, or if it lacks one of these names. It may have more than were
    /// ordered: an authority can add some. `now` in seconds.
    fn due_in(&self, names: &BTreeSet<String>, now: i64) -> Option<Duration> {
        let seconds = u64::try_from(self.renewed_at() - now).ok().filter(|seconds| *seconds > 0)?;
        names.is_subset(&self.names).then(|| Duration::from_secs(seconds))
    }
}

/// Obtains the certificate of a hub and renews it.
#[derive(Debug)]
pub struct AcmeClient {
    names: BTreeSet<String>,
    /// `mailto:` URLs.
    contact: Vec<String>,
    directory: String,
    folder: PathBuf,
    http: AuthorityClient,
    certificate: Arc<CurrentCertificate>,
}

impl AcmeClient {
    /// Begins with the certificate in this folder, if there is one.
    ///
    /// # Errors
    ///
    /// If no authority is trusted.
    pub fn new(config: &AcmeConfig, folder: PathBuf) -> Result<Self, AcmeError> {
        let authority = Some(&*config.authority).filter(|path| !path.as_os_str().is_empty());
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(base::tls::client(authority)?.as_ref().clone())
            .user_agent(concat!("matchwire/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .timeout(REQUEST_WITHIN)
            .build()?;
        let stored = folder.join(CERTIFICATE_FILE);
        let certificate = Certificate::read(&stored, &stored).ok();
        Ok(Self {
            names: config.names().map(str::to_lowercase).collect(),
            contact: config.email().map(|address| format!("mailto:{address}")).collect(),
            directory: config.directory.clone(),
            folder,
            http: AuthorityClient { http, wait: Arc::default() },
            certificate: Arc::new(CurrentCertificate::new(certificate)),
        })
    }

    /// Makes the folder, which only the hub's user can read.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub fn make_folder(&self) -> Result<(), AcmeError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(|source| AcmeError::File { path: self.folder.clone(), source })
    }

    /// The certificate that is shown to clients; none before the first one is there.
    #[must_use]
    pub fn certificate(&self) -> Arc<CurrentCertificate> {
        Arc::clone(&self.certificate)
    }

    /// Obtains and renews the certificate until `stopped`.
    pub async fn keep(self, mut stopped: watch::Receiver<bool>) {
        tokio::select! {
            never = self.renew_always() => match never {},
            _ = stopped.wait_for(|stopped| *stopped) => {}
        }
    }

    async fn renew_always(&self) -> Infallible {
        let mut retry = RETRY_FIRST;
        sleep(self.stored_wait()).await;
        loop {
            if let Some(wait) = self.due_in() {
                sleep(wait.min(CHECK_EVERY)).await;
                continue;
            }
            let obtained = self.obtain().await;
            let asked = self.http.take_wait();
            let wait = match &obtained {
                // However short the certificate is, the authority is not asked more often.
                Ok(()) => {
                    retry = RETRY_FIRST;
                    RETRY_FIRST
                }
                Err(_) => next_attempt(retry, asked),
            };
            if let Err(error) = &obtained {
                report(error, wait);
                retry = (retry * 2).min(CHECK_EVERY);
                if asked.is_some() {
                    self.store_wait(wait);
                }
            }
            sleep(wait).await;
        }
    }

    /// What is left of the wait that the authority asked an earlier process for.
    fn stored_wait(&self) -> Duration {
        let stored = fs::read_to_string(self.folder.join(WAIT_FILE)).unwrap_or_default();
        let until = stored.split_once(' ').filter(|(_, directory)| *directory == self.directory);
        let until: i64 = until.and_then(|(until, _)| until.parse().ok()).unwrap_or_default();
        let left = u64::try_from(until.saturating_sub(wall() / 1_000_000)).unwrap_or_default();
        Duration::from_secs(left).min(RETRY_AFTER_MAX)
    }

    fn store_wait(&self, wait: Duration) {
        let seconds = i64::try_from(wait.as_secs()).unwrap_or(i64::MAX);
        let until = (wall() / 1_000_000).saturating_add(seconds);
        let stored = self.write(WAIT_FILE, format!("{until} {}", self.directory).as_bytes());
        if let Err(error) = stored {
            let error = &error as &dyn Error;
            warn!(error, "a restart asks the authority earlier than it wants");
        }
    }

    /// The time until the stored certificate is due to be renewed; `None` if it is, or if there is none for these names.
    fn due_in(&self) -> Option<Duration> {
        let validity = Validity::of_file(&self.folder.join(CERTIFICATE_FILE))?;
        validity.due_in(&self.names, wall() / 1_000_000)
    }

    async fn obtain(&self) -> Result<(), AcmeError> {
        // Authorities limit how often they issue the same certificate, so none is ordered that cannot be stored.
        self.write(TRIAL_FILE, b"")?;
        let obtained = timeout(ATTEMPT_WITHIN, self.order()).await;
        self.certificate.set_challenges([].into());
        let pem = obtained.map_err(|_| AcmeError::TooSlow)??;
        let path = self.folder.join(CERTIFICATE_FILE);
        self.write(CERTIFICATE_FILE, pem.as_bytes())?;
        self.certificate.replace(Certificate::read(&path, &path)?);
        // Otherwise the next one would be ordered at once, again and again.
        self.due_in().ok_or(AcmeError::NotUsable)?;
        info!(names = ?self.names, "a certificate was obtained; new connections get it");
        Ok(())
    }

    /// Orders a certificate, and returns its chain and its key.
    async fn order(&self) -> Result<String, AcmeError> {
        let names: Vec<_> = self.names.iter().cloned().map(Identifier::Dns).collect();
        let mut order = self.new_order(&NewOrder::new(&names)).await?;
        let mut challenges = Vec::new();
        let mut authorizations = order.authorizations();
        while let Some(authorization) = authorizations.next().await {
            let mut authorization = authorization?;
            let name = authorization.identifier().to_string();
            match &authorization.status {
                AuthorizationStatus::Valid => continue,
                AuthorizationStatus::Pending => {}
                status => return Err(AcmeError::Refused { name, why: format!("{status:?}") }),
            }
            let challenge = authorization.challenge(ChallengeType::TlsAlpn01);
            let Some(mut challenge) = challenge else {
                return Err(AcmeError::NoChallenge { name });
            };
            let proof = challenge.key_authorization();
            let certificate = challenge_certificate(name.clone(), proof.digest().as_ref())?;
            challenges.push((name.clone(), certificate));
            self.certificate.set_challenges(challenges.iter().cloned().collect());
            match challenge.set_ready().await {
                // It may have checked, and failed, before it answers.
                Err(instant_acme::Error::Api(problem)) => {
                    return Err(AcmeError::Refused { name, why: problem.to_string() });
                }
                answer => answer?,
            }
        }
        match order.poll_ready(&RETRIES).await {
            Ok(OrderStatus::Ready) => {}
            // The order itself need not say which name failed, nor why.
            Ok(_) | Err(instant_acme::Error::Api(_)) => return Err(refusal(&mut order).await),
            Err(error) => return Err(error.into()),
        }
        let key = order.finalize().await?;
        let chain = order.poll_certificate(&RETRIES).await?;
        Ok(format!("{chain}\n{key}"))
    }

    /// Begins an order, of the account of the folder or, if there is none that the authority knows, of a new one.
    async fn new_order(&self, order: &NewOrder<'_>) -> Result<Order, AcmeError> {
        if let Some(account) = self.stored_account().await? {
            match account.new_order(order).await {
                Err(error) if is_account_unknown(&error) => {
                    let error = &error as &dyn Error;
                    warn!(error, "the authority no longer knows the account; a new one is made");
                }
                ordered => return Ok(ordered?),
            }
        }
        Ok(self.new_account().await?.new_order(order).await?)
    }

    /// The account of the folder, if it has one at this authority.
    async fn stored_account(&self) -> Result<Option<Account>, AcmeError> {
        let stored = fs::read(self.folder.join(ACCOUNT_FILE)).ok();
        let stored = stored.and_then(|bytes| serde_json::from_slice::<StoredAccount>(&bytes).ok());
        match stored.filter(|stored| stored.directory == self.directory) {
            Some(stored) => {
                Ok(Some(self.account_builder().from_credentials(stored.credentials).await?))
            }
            None => Ok(None),
        }
    }

    fn account_builder(&self) -> AccountBuilder {
        Account::builder_with_http(Box::new(self.http.clone()))
    }

    /// Makes an account and stores it. Setting `acme.domains` means accepting the authority's terms.
    async fn new_account(&self) -> Result<Account, AcmeError> {
        let contact: Vec<_> = self.contact.iter().map(String::as_str).collect();
        let account = NewAccount {
            contact: &contact,
            terms_of_service_agreed: true,
            only_return_existing: false,
        };
        let directory = self.directory.clone();
        let created = self.account_builder().create(&account, directory.clone(), None).await?;
        let (account, credentials) = created;
        let stored = serde_json::to_vec(&StoredAccount { directory, credentials });
        self.write(ACCOUNT_FILE, &stored.map_err(instant_acme::Error::from)?)?;
        Ok(account)
    }

    /// Writes a file of the folder as a whole. Only the hub's user can read it.
    fn write(&self, name: &str, content: &[u8]) -> Result<(), AcmeError> {
        let path = self.folder.join(name);
        let unfinished = path.with_extension("unfinished");
        let write = || {
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&unfinished)?;
            file.write_all(content)?;
            file.sync_all()?;
            fs::rename(&unfinished, &path)?;
            File::open(&self.folder)?.sync_all()
        };
        write().map_err(|source| AcmeError::File { path: path.clone(), source })
    }
}

fn report(error: &AcmeError, retry: Duration) {
    let (error, seconds) = (error as &dyn Error, retry.as_secs());
    warn!(error, seconds, "no certificate was obtained; it is tried again");
}

/// Whether the authority does not know the account of a request.
fn is_account_unknown(error: &instant_acme::Error) -> bool {
    let instant_acme::Error::Api(problem) = error else { return false };
    problem.r#type.as_deref() == Some(ACCOUNT_UNKNOWN)
}

/// Why the authority did not confirm an order.
async fn refusal(order: &mut Order) -> AcmeError {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = match authorization {
            Ok(authorization) => authorization,
            Err(error) => return error.into(),
        };
        // What is known of it is from before the check.
        if let Err(error) = authorization.refresh().await {
            return error.into();
        }
        let problem = authorization.challenges.iter().find_map(|it| it.error.as_ref());
        if let Some(problem) = problem {
            let name = authorization.identifier().to_string();
            return AcmeError::Refused { name, why: problem.to_string() };
        }
    }
    AcmeError::Refused { name: "the order".to_owned(), why: "without a reason".to_owned() }
}

/// The certificate by which a name is proved (RFC 8737, section 3).
fn challenge_certificate(name: String, digest: &[u8]) -> Result<Arc<CertifiedKey>, AcmeError> {
    let mut params = CertificateParams::new([name])?;
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let chain = vec![certificate.der().clone()];
    let key = ring::default_provider().key_provider.load_private_key(key);
    // Not `from_der`, which refuses the critical extension of RFC 8737.
    Ok(Arc::new(CertifiedKey::new(chain, key.map_err(TlsError::from)?)))
}

/// Requests to the authority.
#[derive(Debug, Clone)]
struct AuthorityClient {
    http: reqwest::Client,
    /// What the authority last asked to wait before the next request, with a refusal.
    wait: Arc<Mutex<Option<Duration>>>,
}

impl AuthorityClient {
    fn take_wait(&self) -> Option<Duration> {
        self.wait.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// When to try again: what the authority asked for, if that is longer than the own pause.
fn next_attempt(retry: Duration, asked: Option<Duration>) -> Duration {
    asked.unwrap_or_default().min(RETRY_AFTER_MAX).max(retry)
}

/// The wait that a refusal asks for. Other responses say with it when to look again, which the library does.
fn asked_wait(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if status.is_success() {
        return None;
    }
    retry_after(text(RETRY_AFTER)?, text(DATE))
}

impl HttpClient for AuthorityClient {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, instant_acme::Error>> + Send>> {
        let (http, wait) = (self.http.clone(), Arc::clone(&self.wait));
        let other = |error: reqwest::Error| instant_acme::Error::Other(Box::new(error));
        let too_long = |error: axum::Error| instant_acme::Error::Other(Box::new(error));
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = to_bytes(Body::new(body), RESPONSE_BYTES_MAX).await.map_err(too_long)?;
            let request = reqwest::Request::try_from(Request::from_parts(parts, body));
            let response = http.execute(request.map_err(other)?).await.map_err(other)?;
            let (parts, body) = Response::<reqwest::Body>::from(response).into_parts();
            if let Some(asked) = asked_wait(parts.status, &parts.headers) {
                *wait.lock().unwrap_or_else(PoisonError::into_inner) = Some(asked);
            }
            let body = to_bytes(Body::new(body), RESPONSE_BYTES_MAX).await.map_err(too_long)?;
            Ok(Response::from_parts(parts, Body::from(body)).into())
        })
    }
}

#[cfg(test)]
mod tests {
    use instant_acme::Problem;

    use super::*;

    const DAY: i64 = 86_400;

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn certificate_is_renewed_when_a_third_of_its_time_is_left() {
        let of_90_days = Validity { names: names(&["a.test"]), from: 10 * DAY, until: 100 * DAY };
        assert_eq!(of_90_days.renewed_at(), 70 * DAY);
        let due_in = |now| of_90_days.due_in(&names(&["a.test"]), now).map(|it| it.as_secs());
        assert_eq!(due_in(10 * DAY), Some(60 * 86_400));
        assert_eq!(due_in(70 * DAY - 1), Some(1));
        for now in [70 * DAY, 99 * DAY, 101 * DAY] {
            assert_eq!(due_in(now), None, "{now}");
        }
    }

    #[test]
    fn certificate_of_an_hour_is_used_for_two_thirds_of_what_is_left_of_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(CERTIFICATE_FILE);
        let now = wall() / 1_000_000;
        let at = |seconds: i64| {
            rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds.unsigned_abs())
        };
        // Issued as one of an hour before.
        for seconds in [300, 3_600, 6 * DAY] {
            let mut params = CertificateParams::new(["a.test".to_owned()]).expect("a name");
            params.not_before = at(now - 3_600);
            params.not_after = at(now + seconds);
            let key = KeyPair::generate().expect("a key");
            let pem = params.self_signed(&key).expect("a certificate").pem();
            fs::write(&path, pem).expect("a file");
            let validity = Validity::of_file(&path).expect("a certificate");
            let due_in = validity.due_in(&names(&["a.test"]), validity.from).expect("time is left");
            let used = i64::try_from(due_in.as_secs()).expect("seconds");
            let left = validity.until - validity.from;
            assert_eq!(used, left - left / 3, "{seconds}");
        }
    }

    #[test]
    fn authority_that_refuses_is_asked_again_when_it_says() {
        let asked = |status: u16, value: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.extend(value.map(|value| (RETRY_AFTER, HeaderValue::from_static(value))));
            asked_wait(StatusCode::from_u16(status).expect("a status"), &headers)
        };
        let minutes = Duration::from_mins;
        for (status, value, retry, expected) in [
            (429, Some("600"), minutes(2), minutes(10)),
            (503, Some("600"), minutes(2), minutes(10)),
            (429, Some("60"), minutes(2), minutes(2)),
            (429, None, minutes(4), minutes(4)),
            (429, Some("99999999999"), minutes(2), RETRY_AFTER_MAX),
            // An order that is not ready yet.
            (200, Some("600"), minutes(2), minutes(2)),
        ] {
            let wait = next_attempt(retry, asked(status, value));
            assert_eq!(wait, expected, "{status} {value:?}");
        }
    }

    #[test]
    fn certificate_may_have_more_names_than_were_ordered() {
        let validity = Validity { names: names(&["a.test", "b.test"]), from: 0, until: 3 * DAY };
        let is_due = |ordered: &[&str]| validity.due_in(&names(ordered), 0).is_none();
        assert!(!is_due(&["a.test"]) && !is_due(&["a.test", "b.test"]));
        assert!(is_due(&["a.test", "c.test"]) && is_due(&["c.test"]));
    }

    #[test]
    fn account_that_the_authority_does_not_know_is_told_from_other_problems() {
        let problem = |kind: &str| {
            instant_acme::Error::Api(Problem {
                r#type: Some(format!("urn:ietf:params:acme:error:{kind}")),
                detail: None,
                status: Some(400),
                subproblems: Vec::new(),
            })
        };
        assert!(is_account_unknown(&problem("accountDoesNotExist")));
        assert!(!is_account_unknown(&problem("rateLimited")));
        assert!(!is_account_unknown(&instant_acme::Error::Crypto));
    }
}
