//! Sends requests to URLs of strangers, so the hub must not become a way into its own network.
//!
//! A name is resolved by [`PublicResolver`], which refuses it if any of its addresses is not public, and the connection goes to the
//! addresses that were checked. Redirects are not followed, proxies are not used, and of a response no more than its status
//! is ever shown.

use std::{error::Error, net::SocketAddr, sync::Arc, time::Duration};

use base::address::is_public;
use reqwest::{
    Response, Url,
    dns::{Addrs, Name, Resolve, Resolving},
    header::CONTENT_TYPE,
    redirect,
};
use rustls::ClientConfig;
use tokio::net;

use crate::{config::WebhooksConfig, webhook::may_be_public};

/// Bytes of a response that are read, so that the connection can be used again.
const RESPONSE_BYTES_MAX: usize = 16 * 1024;
/// How long an idle connection is kept.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// The HTTP client.
pub(crate) struct Client {
    http: reqwest::Client,
    allow_private: bool,
}

/// The headers of a request, except for the usual ones.
#[derive(Clone, Copy)]
pub(crate) struct SignedHeaders<'a> {
    pub(crate) id: &'a str,
    /// Seconds since 1970.
    pub(crate) timestamp: i64,
    pub(crate) signature: &'a str,
}

/// Why an attempt failed. The texts are shown to the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SendError {
    #[error("it was answered with status {0}")]
    Status(u16),
    #[error("the address is not public")]
    Private,
    #[error("the URL must be https://")]
    Insecure,
    #[error("there was no answer in time")]
    Timeout,
    #[error("no connection could be made")]
    Unreachable,
    #[error("the connection broke off")]
    Broken,
}

impl SendError {
    pub(crate) fn status(self) -> Option<u16> {
        match self {
            Self::Status(status) => Some(status),
            Self::Private | Self::Insecure | Self::Timeout | Self::Unreachable | Self::Broken => {
                None
            }
        }
    }

    /// The label of the metric that counts failures.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Status(_) => "status",
            Self::Private | Self::Insecure => "refused",
            Self::Timeout => "timeout",
            Self::Unreachable => "unreachable",
            Self::Broken => "broken",
        }
    }
}

impl Client {
    pub(crate) fn new(
        tls: &Arc<ClientConfig>,
        config: &WebhooksConfig,
    ) -> Result<Self, reqwest::Error> {
        let allow_private = config.allow_private;
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls.as_ref().clone())
            .user_agent(concat!("matchwire/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .no_proxy()
            // Otherwise the limit of bytes would not hold for what a response unpacks to.
            .no_gzip()
            .pool_max_idle_per_host(1)
            .pool_idle_timeout(IDLE_MAX)
            .timeout(Duration::from_millis(config.timeout_ms))
            .dns_resolver(Arc::new(PublicResolver { allow_private }))
            .build()?;
        Ok(Self { http, allow_private })
    }

    /// Posts JSON, and returns the status if it means success.
    pub(crate) async fn post(
        &self,
        url: &str,
        headers: SignedHeaders<'_>,
        body: String,
    ) -> Result<u16, SendError> {
        // The settings may have changed since the URL was accepted. The resolver does not see addresses.
        let url = Url::parse(url).map_err(|_| SendError::Insecure)?;
        if !self.allow_private && url.scheme() != "https" {
            return Err(SendError::Insecure);
        }
        if !self.allow_private && !may_be_public(&url) {
            return Err(SendError::Private);
        }
        let request = self
            .http
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", headers.id)
            .header("webhook-timestamp", headers.timestamp)
            .header("webhook-signature", headers.signature)
            .body(body);
        let response = request.send().await.map_err(|error| failure(&error))?;
        let status = response.status();
        drain(response).await;
        if status.is_success() {
            Ok(status.as_u16())
        } else {
            Err(SendError::Status(status.as_u16()))
        }
    }
}

/// Reads a response to its end, if that is near.
async fn drain(mut response: Response) {
    let mut read = 0;
    while let Ok(Some(chunk)) = response.chunk().await {
        read += chunk.len();
        if read > RESPONSE_BYTES_MAX {
            return;
        }
    }
}

fn failure(error: &reqwest::Error) -> SendError {
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(cause) = source {
        if cause.is::<NotPublic>() {
            return SendError::Private;
        }
        source = cause.source();
    }
    if error.is_timeout() {
        SendError::Timeout
    } else if error.is_connect() {
        SendError::Unreachable
    } else {
        SendError::Broken
    }
}

/// Resolves names to public addresses only.
struct PublicResolver {
    allow_private: bool,
}

/// A name leads to an address that is not public.
#[derive(Debug, thiserror::Error)]
#[error("the address is not public")]
struct NotPublic;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allow_private = self.allow_private;
        Box::pin(async move {
            // The port is that of the URL.
            let found: Vec<SocketAddr> = net::lookup_host((name.as_str(), 0)).await?.collect();
            if !allow_private && !found.iter().all(|address| is_public(address.ip())) {
                return Err(NotPublic.into());
            }
            let addresses: Addrs = Box::new(found.into_iter());
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests;
