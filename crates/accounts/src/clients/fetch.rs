//! Fetches the metadata documents of clients, and caches them.
//!
//! The URL is chosen by a stranger, so the hub must not become a way into its own network. The name
//! is resolved once; if any address is not public, nothing is fetched; and the connection goes to
//! the addresses that were checked, so a name that resolves differently the next time has no effect.

use std::{
    collections::HashMap,
    fmt, future,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::{
    Response, StatusCode,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{ACCEPT, CONTENT_TYPE},
    redirect,
};
use rustls::ClientConfig;
use tokio::{
    net,
    time::{Instant, timeout},
};

use super::{Client, ClientError, ClientId};
use crate::config::OAuthConfig;
use base::{
    address::is_public,
    work::{FairQueue, Pool, QueueLimits},
};

/// The documents of clients; clones share the cache.
#[derive(Clone)]
pub struct ClientDocuments {
    shared: Arc<Shared>,
}

struct Shared {
    tls: Arc<ClientConfig>,
    cache: Mutex<HashMap<ClientId, CachedClient>>,
    fetches: FairQueue,
    config: OAuthConfig,
}

struct CachedClient {
    client: Arc<Client>,
    fetched: Instant,
}

impl ClientDocuments {
    /// `tls` decides which hosts are trusted.
    #[must_use]
    pub fn new(tls: Arc<ClientConfig>, config: &OAuthConfig) -> Self {
        let limit = config.client_fetches_max;
        let fetches = FairQueue::new(QueueLimits::shared(limit, limit));
        let (cache, config) = (Mutex::default(), config.clone());
        Self { shared: Arc::new(Shared { tls, cache, fetches, config }) }
    }

    /// Parses a client id by the rules of the settings.
    ///
    /// # Errors
    ///
    /// [`ClientError::Id`].
    pub fn parse_id(&self, text: &str) -> Result<ClientId, ClientError> {
        ClientId::parse(text, self.shared.config.allow_private_clients)
    }

    /// The client, if its document is in the cache.
    #[must_use]
    pub fn cached(&self, id: &ClientId) -> Option<Arc<Client>> {
        let cache = self.shared.lock();
        let cached = cache.get(id).filter(|it| it.fetched.elapsed() < self.shared.age_max())?;
        Some(Arc::clone(&cached.client))
    }

    /// Fetches the client's document. The caller limits how often; see [`Self::cached`]. Failures are
    /// not cached.
    ///
    /// # Errors
    ///
    /// If the document cannot be fetched, or is not valid.
    pub async fn fetch(&self, id: &ClientId) -> Result<Arc<Client>, ClientError> {
        let shared = &*self.shared;
        let patience = Duration::from_millis(shared.config.client_timeout_ms);
        let slot = timeout(patience, shared.fetches.enter_current(Pool::Rest)).await;
        let Ok(Ok(_slot)) = slot else { return Err(ClientError::Busy) };
        let fetched = timeout(patience, shared.fetch(id)).await;
        let result = fetched.unwrap_or(Err(ClientError::Unreachable));
        match &result {
            Ok(client) => shared.store(Arc::clone(client)),
            Err(error) => {
                base::log_limited!(
                    info,
                    client = id.as_str(),
                    error = error as &dyn std::error::Error,
                    "no client document"
                );
            }
        }
        result
    }
}

impl Shared {
    async fn fetch(&self, id: &ClientId) -> Result<Arc<Client>, ClientError> {
        let addresses = self.resolve(id).await?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(self.tls.as_ref().clone())
            .user_agent(concat!("matchwire/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .no_proxy()
            // Otherwise the limit of bytes would not hold for what the document unpacks to.
            .no_gzip()
            .dns_resolver(Arc::new(Pinned(addresses)))
            .build()
            .expect("the TLS settings are of the rustls that the client is built with");
        let request = client.get(id.url().clone()).header(ACCEPT, "application/json");
        let response = request.send().await.map_err(|_| ClientError::Unreachable)?;
        if response.status() != StatusCode::OK {
            return Err(ClientError::Status { status: response.status().as_u16() });
        }
        if !is_json(&response) {
            return Err(ClientError::Document { why: "its type is not application/json" });
        }
        let body = self.body(response).await?;
        Client::parse(id, &body).map(Arc::new)
    }

    /// The addresses of the document's host, all of them public.
    async fn resolve(&self, id: &ClientId) -> Result<Vec<SocketAddr>, ClientError> {
        let url = id.url();
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = url.port_or_known_default().unwrap_or(443);
        let addresses: Vec<SocketAddr> = match host.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => {
                let found = net::lookup_host((host, port)).await;
                found.map_err(|_| ClientError::Unreachable)?.collect()
            }
        };
        let allows_all = self.config.allow_private_clients;
        match addresses.iter().all(|it| allows_all || is_public(it.ip())) {
            true if addresses.is_empty() => Err(ClientError::Unreachable),
            true => Ok(addresses),
            false => Err(ClientError::Private),
        }
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, ClientError> {
        let (mut body, limit) = (Vec::new(), self.config.client_bytes_max);
        while let Some(chunk) = response.chunk().await.map_err(|_| ClientError::Unreachable)? {
            if body.len() + chunk.len() > limit {
                return Err(ClientError::TooLong { limit });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn store(&self, client: Arc<Client>) {
        let (mut cache, age_max) = (self.lock(), self.age_max());
        cache.retain(|_, it| it.fetched.elapsed() < age_max);
        if cache.len() >= self.config.clients_cached_max && !cache.contains_key(&client.id) {
            let oldest = cache.iter().min_by_key(|(_, it)| it.fetched).map(|(id, _)| id.clone());
            oldest.and_then(|oldest| cache.remove(&oldest));
        }
        cache.insert(client.id.clone(), CachedClient { client, fetched: Instant::now() });
    }

    fn age_max(&self) -> Duration {
        Duration::from_millis(self.config.client_cache_ms)
    }

    /// Nothing panics while it holds the lock, and a partial change would be harmless.
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ClientId, CachedClient>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ClientDocuments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cached = self.shared.lock().len();
        f.debug_struct("ClientDocuments").field("cached", &cached).finish_non_exhaustive()
    }
}

/// Resolves every name to the addresses that were checked, and asks nobody.
struct Pinned(Vec<SocketAddr>);

impl Resolve for Pinned {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(future::ready(Ok(addresses)))
    }
}

/// `application/json`, or a type that is written in it.
fn is_json(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    kind == "application/json" || kind.starts_with("application/") && kind.ends_with("+json")
}
