//! One provider's HTTP API: bounded in time, in size and in attempts.
//!
//! Every request may be sent again, because each that does something carries an idempotency key. No
//! redirection is followed and no proxy used: requests carry secrets.

use std::{error::Error, sync::Arc, time::Duration};

use reqwest::{Client, RequestBuilder, Response, StatusCode, redirect};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::time::sleep;
use tracing::warn;

use super::{PaymentMethod, ProviderError};
use crate::config::PaymentsConfig;

/// Bytes of an answer. What providers say of one order is some kilobytes.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Characters of a provider's error code that are kept.
const CODE_MAX: usize = 64;

/// Who is asked, and how patiently.
#[derive(Debug)]
pub(super) struct ProviderClient {
    method: PaymentMethod,
    client: Client,
    /// Without a slash at the end.
    base: String,
    attempts: u32,
    retry: Duration,
}

/// What came back, of a status below 500. `body` is null where it was no JSON.
#[derive(Debug)]
pub(super) struct ProviderResponse {
    pub(super) status: StatusCode,
    pub(super) body: Value,
}

impl ProviderClient {
    pub(super) fn new(
        method: PaymentMethod,
        base: &str,
        config: &PaymentsConfig,
        tls: &Arc<ClientConfig>,
    ) -> Self {
        let client = Client::builder()
            .tls_backend_preconfigured(tls.as_ref().clone())
            .user_agent(concat!("matchwire/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .no_proxy()
            .timeout(Duration::from_millis(config.timeout_ms))
            .build()
            .expect("the TLS settings are of the rustls that the client is built with");
        Self {
            method,
            client,
            base: base.trim_end_matches('/').to_owned(),
            attempts: config.attempts,
            retry: Duration::from_millis(config.retry_ms),
        }
    }

    /// Where the API is, without a slash at the end.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    pub(super) fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.base))
    }

    pub(super) fn post(&self, path: &str) -> RequestBuilder {
        self.client.post(format!("{}{path}", self.base))
    }

    /// Asks until there is an answer, or until it was asked often enough. `request` has no body that is
    /// read while it is sent.
    pub(super) async fn send(
        &self,
        request: RequestBuilder,
    ) -> Result<ProviderResponse, ProviderError> {
        let mut wait = self.retry;
        for attempt in 1.. {
            let again = request.try_clone().expect("the body lies in memory");
            let why = match self.send_once(again).await {
                Err(ProviderError::Unreachable { why }) => why,
                result => return result,
            };
            let method = self.method.as_str();
            warn!(rail = method, attempt, why, "the payment provider did not answer");
            metrics::counter!("matchwire_payment_failures_total", "rail" => method).increment(1);
            if attempt >= self.attempts {
                return Err(ProviderError::Unreachable { why });
            }
            sleep(wait).await;
            wait = wait.saturating_mul(2);
        }
        unreachable!("the attempts are counted")
    }

    async fn send_once(&self, request: RequestBuilder) -> Result<ProviderResponse, ProviderError> {
        let response = request.send().await.map_err(|error| unreachable(&error))?;
        let status = response.status();
        // Conflicts are requests with the same idempotency key that are being carried out.
        let later = [StatusCode::TOO_MANY_REQUESTS, StatusCode::CONFLICT];
        if status.is_server_error() || later.contains(&status) {
            let why = format!("it answered {}", status.as_u16());
            return Err(ProviderError::Unreachable { why });
        }
        let body = body(response).await?;
        let body = serde_json::from_slice(&body);
        if status.is_success() && body.is_err() {
            return Err(ProviderError::Unusable { why: "it is no JSON" });
        }
        Ok(ProviderResponse { status, body: body.unwrap_or_default() })
    }
}

impl ProviderResponse {
    /// The body of a success. `code`: where the provider says what was wrong, in one word.
    pub(super) fn done(self, code: &str) -> Result<Value, ProviderError> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        let code = self.body.pointer(code).and_then(Value::as_str).unwrap_or("no code");
        Err(ProviderError::Refused { status: self.status.as_u16(), code: plain(code) })
    }
}

/// A code as it may be logged: what is no word may be anything.
fn plain(code: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ' ';
    if code.len() > CODE_MAX || !code.chars().all(is_plain) {
        return "no code".to_owned();
    }
    code.to_owned()
}

async fn body(mut response: Response) -> Result<Vec<u8>, ProviderError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unreachable(&error))? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(ProviderError::Unusable { why: "it is too long" });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The innermost cause alone: what is around it repeats the address.
fn unreachable(error: &reqwest::Error) -> ProviderError {
    if error.is_timeout() {
        return ProviderError::Unreachable { why: "no whole answer in time".to_owned() };
    }
    let mut innermost: Option<&dyn Error> = error.source();
    while let Some(deeper) = innermost.and_then(Error::source) {
        innermost = Some(deeper);
    }
    let why = innermost.map_or_else(|| "no reason is known".to_owned(), ToString::to_string);
    ProviderError::Unreachable { why }
}

/// Trusts nobody, for providers that are asked without TLS.
pub(super) fn no_tls() -> Arc<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring offers the default versions")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Arc::new(config)
}
