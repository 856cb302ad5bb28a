//! Asks the provider to send again what was missed: one POST, whose answer comes as messages.

use std::{fmt, sync::Arc, time::Duration};

use reqwest::{Client, StatusCode, Url, header::HeaderValue, redirect};
use rustls::ClientConfig;

use super::product::Ask;
use crate::source::secret::Secret;

/// Where recoveries are asked for.
#[derive(Clone)]
pub struct Api {
    base: Url,
    token: HeaderValue,
    tls: Arc<ClientConfig>,
    /// Messages of a recovery are marked with it, where several sessions share an account.
    pub node: Option<u32>,
    /// How long a request may take. Default: 15 s.
    pub timeout: Duration,
}

/// Why nothing can be asked for there.
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
    /// When the address is no HTTP address, or the token cannot stand in a header.
    pub fn new(base: &str, token: &Secret, tls: Arc<ClientConfig>) -> Result<Self, ApiError> {
        let base = Url::parse(base).map_err(|_| ApiError::Address)?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(ApiError::Address);
        }
        let mut token = HeaderValue::try_from(token.expose()).map_err(|_| ApiError::Token)?;
        token.set_sensitive(true);
        Ok(Self { base, token, tls, node: None, timeout: Duration::from_secs(15) })
    }

    fn url(&self, product: &str, ask: &Ask) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            let request = ["v1", product, "recovery", "initiate_request"];
            path.pop_if_empty().extend(request);
        }
        let node = self.node.map(|node| ("node_id", node.to_string()));
        let after = ask.after.map(|after| ("after", after.to_string()));
        let id = Some(("request_id", ask.request_id.to_string()));
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

/// Who asks.
#[derive(Debug, Clone)]
pub(super) struct Recovery {
    api: Api,
    client: Client,
}

/// Why a recovery was not accepted: to ask again soon may help, or not.
#[derive(Debug)]
pub(super) enum Refused {
    Passing,
    Denied,
}

impl Recovery {
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

    pub(super) async fn ask(&self, product: &str, ask: &Ask) -> Result<(), Refused> {
        let request = self.client.post(self.api.url(product, ask));
        let sent = request.header("x-access-token", self.api.token.clone()).send().await;
        let status = sent.map_err(|_| Refused::Passing)?.status();
        tracing::debug!(product, request = ask.request_id, status = status.as_u16(), "recovery");
        match status {
            status if status.is_success() => Ok(()),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS => {
                Err(Refused::Denied)
            }
            _ => Err(Refused::Passing),
        }
    }
}
