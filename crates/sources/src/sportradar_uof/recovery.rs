//! Requests a recovery of missed messages: one POST; the recovered data arrives as messages.

use std::{fmt, sync::Arc, time::Duration};

use reqwest::{Client, RequestBuilder, StatusCode, Url, header::HeaderValue, redirect};
use rustls::ClientConfig;

use super::product::RecoveryRequest;
use base::secret::Secret;

/// The HTTP API for recoveries.
#[derive(Clone)]
pub struct Api {
    base: Url,
    token: HeaderValue,
    tls: Arc<ClientConfig>,
    /// The node id that marks the messages of a recovery, where several sessions share an account.
    pub node: Option<u32>,
    /// The time limit of a request. Default: 15 s.
    pub timeout: Duration,
}

/// Why the API cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    #[error("is no HTTP address")]
    Address,
    #[error("the token cannot stand in a header")]
    Token,
}

impl Api {
    /// `base`: `https://api.betradar.com`.
    ///
    /// # Errors
    ///
    /// When the address is not an HTTP address, or the token is not a valid header value.
    pub fn new(base: &str, token: &Secret, tls: Arc<ClientConfig>) -> Result<Self, ApiError> {
        let base = Url::parse(base).map_err(|_| ApiError::Address)?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(ApiError::Address);
        }
        let mut token = HeaderValue::try_from(token.expose()).map_err(|_| ApiError::Token)?;
        token.set_sensitive(true);
        Ok(Self { base, token, tls, node: None, timeout: Duration::from_secs(15) })
    }

    pub(super) fn tls(&self) -> &ClientConfig {
        &self.tls
    }

    /// Adds the token.
    pub(super) fn authorized(&self, request: RequestBuilder) -> RequestBuilder {
        request.header("x-access-token", self.token.clone())
    }

    /// The document of an event's fixture, with English names.
    pub(super) fn fixture_url(&self, event: &str) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend([
                "v1",
                "sports",
                "en",
                "sport_events",
                event,
                "fixture.xml",
            ]);
        }
        url
    }

    /// The document with the descriptions of all markets, with English names.
    pub(super) fn descriptions_url(&self) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["v1", "descriptions", "en", "markets.xml"]);
        }
        url.set_query(Some("include_mappings=false"));
        url
    }

    fn url(&self, product: &str, request: &RecoveryRequest) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            let request = ["v1", product, "recovery", "initiate_request"];
            path.pop_if_empty().extend(request);
        }
        let node = self.node.map(|node| ("node_id", node.to_string()));
        let after = request.after.map(|after| ("after", after.to_string()));
        let id = Some(("request_id", request.request_id.to_string()));
        url.query_pairs_mut().extend_pairs(after.into_iter().chain(id).chain(node));
        url
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base, node, timeout, .. } = self;
        let host = base.host_str().unwrap_or_default();
        write!(f, "Api({}://{host}, node {node:?}, {timeout:?})", base.scheme())
    }
}

/// Sends recovery requests.
#[derive(Debug, Clone)]
pub(super) struct RecoveryClient {
    api: Api,
    client: Client,
}

/// Why a recovery request failed: a retry may help soon (`Unsent`, `Transient`) or not (`Denied`).
#[derive(Debug, thiserror::Error)]
pub(super) enum RecoveryError {
    /// The provider has not seen it.
    #[error("it could not be sent")]
    Unsent,
    #[error("it failed")]
    Transient,
    #[error("answered {}", .0.as_u16())]
    Denied(StatusCode),
}

impl RecoveryClient {
    pub(super) fn new(api: Api) -> Self {
        let client = Client::builder()
            .tls_backend_preconfigured(api.tls.as_ref().clone())
            .redirect(redirect::Policy::none())
            .no_proxy()
            .timeout(api.timeout)
            .build()
            .expect("the TLS settings are of the rustls that the client is built with");
        Self { api, client }
    }

    pub(super) async fn send(
        &self,
        product: &str,
        request: &RecoveryRequest,
    ) -> Result<(), RecoveryError> {
        let post = self.client.post(self.api.url(product, request));
        let sent = self.api.authorized(post).send().await;
        let sent = sent.map_err(|error| {
            if error.is_connect() { RecoveryError::Unsent } else { RecoveryError::Transient }
        });
        let status = sent?.status();
        tracing::debug!(
            product,
            request = request.request_id,
            status = status.as_u16(),
            "recovery"
        );
        match status {
            status if status.is_success() => Ok(()),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS => {
                Err(RecoveryError::Denied(status))
            }
            _ => Err(RecoveryError::Transient),
        }
    }
}
