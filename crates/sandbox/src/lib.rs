//! Simulated payment providers: they serve Stripe's and PayPal's APIs over HTTP without real payments.
//!
//! **In:** requests as the hub sends them to the real providers, clicks on the pages. **Out:** responses, and signed
//! webhooks for the hub. **Must not know** the hub's code: they follow the providers' descriptions.
//!
//! The sandbox listens on loopback only, as its hub must. Its state is lost at the stop: a checkout
//! that was open then has ended.

mod delivery;
mod pages;
mod paypal;
pub mod signature;
mod state;
mod stripe;
#[cfg(test)]
mod tests;

use std::{
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Router,
    http::{
        HeaderMap, HeaderName, HeaderValue,
        header::{AUTHORIZATION, CONTENT_TYPE},
    },
    middleware,
    routing::{get, post},
};
use base::{
    supervisor::{self, Lifetime},
    tls::TrustError,
};
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
};
use tracing::{info, warn};

use self::state::{Refusal, SandboxState};

/// Maximum webhooks waiting to be sent; more are dropped, and the hub finds out by polling.
const DELIVERIES_MAX: usize = 1024;

/// Why the sandbox did not start.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("the payment sandbox needs a hub on loopback, not on {hub}")]
    NotLoopback { hub: SocketAddr },
    #[error("the payment sandbox cannot listen")]
    Listen(#[from] io::Error),
    #[error("the hub's certificate cannot be trusted")]
    Trust(#[from] TrustError),
    #[error("the system gave no random bytes")]
    Random(#[from] getrandom::Error),
}

/// Both providers; clones share everything.
#[derive(Debug, Clone)]
pub struct Sandbox {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    access: SandboxAccess,
    state: Mutex<SandboxState>,
    deliveries: mpsc::Sender<Delivery>,
}

/// What the hub needs to use the providers. Secrets are generated at each start.
pub struct SandboxAccess {
    /// The base URL of its pages and APIs, without a trailing slash.
    pub url: String,
    pub stripe_key: String,
    /// Signs Stripe's webhooks.
    pub stripe_signing: String,
    pub paypal_client: String,
    pub paypal_secret: String,
    /// The id of PayPal's webhook.
    pub paypal_webhook: String,
    paypal_token: String,
    paypal_signing: String,
}

/// Without the secrets.
impl fmt::Debug for SandboxAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxAccess").field("url", &self.url).finish_non_exhaustive()
    }
}

/// A simulated provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    Stripe,
    Paypal,
}

/// A webhook on its way to the hub.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub provider: Provider,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Sandbox {
    /// Starts it on a free port of 127.0.0.1, until `stopped` turns true. `hub_url`: the URL of the
    /// hub, which listens on `hub`. `certificate`: the hub's own, if it serves TLS.
    ///
    /// # Errors
    ///
    /// If the hub is not on loopback, or if no port can be bound.
    pub async fn start(
        hub: SocketAddr,
        hub_url: String,
        certificate: Option<&Path>,
        stopped: watch::Receiver<bool>,
    ) -> Result<Self, SandboxError> {
        if !hub.ip().is_loopback() {
            return Err(SandboxError::NotLoopback { hub });
        }
        let tls = match certificate {
            Some(path) => base::tls::client(Some(path))?,
            None => base::tls::without_authorities(),
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let (sandbox, deliveries) = Self::new(format!("http://{}", listener.local_addr()?))?;
        let delivery_task = delivery::run(hub_url, tls, deliveries, stopped.clone());
        supervisor::spawn("sandbox-courier", Lifetime::UntilStop, delivery_task);
        let serving = sandbox.clone().serve(listener, stopped);
        supervisor::spawn("sandbox", Lifetime::UntilStop, serving);
        info!(url = sandbox.access().url, "the payment sandbox is running; no money moves");
        Ok(sandbox)
    }

    /// Creates it without serving it or delivering its webhooks.
    ///
    /// # Errors
    ///
    /// If the system gives no random bytes.
    pub fn new(url: String) -> Result<(Self, mpsc::Receiver<Delivery>), getrandom::Error> {
        let (deliveries, waiting) = mpsc::channel(DELIVERIES_MAX);
        let access = SandboxAccess {
            url,
            stripe_key: format!("sk_test_{}", random_id()?),
            stripe_signing: format!("whsec_{}", random_id()?),
            paypal_client: random_id()?,
            paypal_secret: random_id()?,
            paypal_webhook: random_id()?,
            paypal_token: random_id()?,
            paypal_signing: random_id()?,
        };
        let state = Mutex::new(SandboxState::default());
        Ok((Self { shared: Arc::new(Shared { access, state, deliveries }) }, waiting))
    }

    async fn serve(self, listener: TcpListener, mut stopped: watch::Receiver<bool>) {
        let stop = async move {
            stopped.wait_for(|stop| *stop).await.ok();
        };
        if let Err(error) = axum::serve(listener, self.router()).with_graceful_shutdown(stop).await
        {
            warn!(%error, "the payment sandbox stopped");
        }
    }

    /// What directs payments to the sandbox.
    #[must_use]
    pub fn access(&self) -> &SandboxAccess {
        &self.shared.access
    }

    /// Its pages and APIs.
    pub fn router(&self) -> Router {
        let stripe = Router::new()
            .route("/v1/checkout/sessions", post(stripe::open))
            .route("/v1/checkout/sessions/{id}", get(stripe::show))
            .route("/v1/checkout/sessions/{id}/expire", post(stripe::expire))
            .route("/v1/refunds", post(stripe::refund))
            .route_layer(middleware::from_fn_with_state(self.clone(), stripe::authorize));
        let paypal = Router::new()
            .route("/v2/checkout/orders", post(paypal::open))
            .route("/v2/checkout/orders/{id}", get(paypal::show))
            .route("/v2/checkout/orders/{id}/capture", post(paypal::capture))
            .route("/v2/payments/captures/{id}/refund", post(paypal::refund))
            .route("/v1/notifications/verify-webhook-signature", post(paypal::verify))
            .route_layer(middleware::from_fn_with_state(self.clone(), paypal::authorize));
        Router::new()
            .route("/", get(pages::list))
            .route("/sandbox.css", get(pages::style))
            .route("/pay/{id}", get(pages::show).post(pages::decide))
            .route("/v1/oauth2/token", post(paypal::token))
            .merge(stripe)
            .merge(paypal)
            .with_state(self.clone())
    }

    fn state(&self) -> MutexGuard<'_, SandboxState> {
        // No change of the state can panic half-way.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deliver(&self, delivery: Delivery) {
        if self.shared.deliveries.try_send(delivery).is_err() {
            warn!("a webhook of the payment sandbox was lost");
        }
    }
}

impl Delivery {
    /// A webhook in JSON with these headers.
    fn new(provider: Provider, headers: &[(&'static str, &str)], body: String) -> Self {
        let mut all = HeaderMap::new();
        all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in headers {
            let value = HeaderValue::try_from(*value).expect("plain text is valid in a header");
            all.insert(HeaderName::from_static(name), value);
        }
        Self { provider, headers: all, body: body.into_bytes() }
    }
}

/// A header's value, or nothing if it is missing or no text.
fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Whether the request has this bearer token.
fn has_bearer_token(headers: &HeaderMap, token: &str) -> bool {
    header(headers, AUTHORIZATION.as_str()).strip_prefix("Bearer ") == Some(token)
}

/// 128 random bits, in hexadecimal.
fn random_id() -> Result<String, getrandom::Error> {
    Ok(format!("{:016x}{:016x}", getrandom::u64()?, getrandom::u64()?))
}

/// A random id for a checkout, a payment, a refund or an event.
fn new_id() -> Result<String, Refusal> {
    random_id().map_err(|_| Refusal::NoRandomBytes)
}
