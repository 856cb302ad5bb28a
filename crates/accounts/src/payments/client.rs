//! One provider's HTTP API: bounded in time, in size and in attempts.
//!
//! Every request can be retried, because each one with an effect carries an idempotency key.
//! Redirects are not followed and proxies are not used: requests carry secrets.

use std::{error::Error, sync::Arc, time::Duration};

use reqwest::{Client, RequestBuilder, Response, StatusCode, redirect};
use rustls::ClientConfig;
use serde_json::Value;
use tokio::time::sleep;
use tracing::warn;

use super::{PaymentMethod, ProviderError};
use crate::config::PaymentsConfig;

/// Maximum bytes of a response. A provider's description of an order takes a few kilobytes.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Maximum characters of a provider's error code that are stored.
const CODE_MAX: usize = 64;

/// The client of one provider, with its retry limits.
#[derive(Debug)]
pub(super) struct ProviderClient {
    method: PaymentMethod,
    client: Client,
    /// Without a trailing slash.
    base: String,
    attempts: u32,
    retry: Duration,
}

/// A response with a status below 500. `body` is null if it is not JSON.
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

    /// The base URL of the API, without a trailing slash.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    pub(super) fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.base))
    }

    pub(super) fn post(&self, path: &str) -> RequestBuilder {
        self.client.post(format!("{}{path}", self.base))
    }

    /// Sends a request until a response arrives or the attempts are used up. The body of `request`
    /// must not be a stream.
    pub(super) async fn send(
        &self,
        request: RequestBuilder,
    ) -> Result<ProviderResponse, ProviderError> {
        let mut wait = self.retry;
        for attempt in 1.. {
            let again = request.try_clone().expect("the body is in memory");
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
        // A conflict means that a request with the same idempotency key is in progress.
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
    /// The body of a success. `code`: the JSON pointer to the provider's error code.
    pub(super) fn done(self, code: &str) -> Result<Value, ProviderError> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        let code = self.body.pointer(code).and_then(Value::as_str).unwrap_or("no code");
        Err(ProviderError::Refused { status: self.status.as_u16(), code: plain(code) })
    }
}

/// An error code that is safe to log: anything but words may contain secrets.
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

/// The innermost cause alone: the outer ones repeat the address.
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
