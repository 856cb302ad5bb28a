//! `/webhooks/{stripe,paypal}/`: reports from payment providers.
//!
//! Anybody may call; a request without a provider's signature is rejected. A report that cannot be
//! stored right now is answered with 503, so that the provider retries.

use std::sync::Arc;

use axum::{
    Extension, body,
    extract::{Request, State},
};
use hyper::StatusCode;

use super::{Peer, Shared, error::HttpError};
use crate::{
    clock,
    payments::{PaymentMethod, WebhookError},
};

/// `POST /webhooks/stripe/`.
pub(crate) async fn stripe(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<StatusCode, HttpError> {
    take(&shared, PaymentMethod::Card, peer, request).await
}

/// `POST /webhooks/paypal/`.
pub(crate) async fn paypal(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<StatusCode, HttpError> {
    take(&shared, PaymentMethod::Paypal, peer, request).await
}

async fn take(
    shared: &Shared,
    method: PaymentMethod,
    peer: Peer,
    request: Request,
) -> Result<StatusCode, HttpError> {
    let payments = &shared.parts.customers.payments;
    if !payments.methods().contains(&method) {
        return Err(HttpError::NotFound);
    }
    // Forged reports would cost database queries. A proxy's own address does not identify the sender.
    let _in_flight = match shared.parts.connections.proxies.may_stand_for_many(peer.0) {
        true => None,
        false => Some(
            shared.parts.admission.limits.request(peer.0).await.map_err(HttpError::RateLimited)?,
        ),
    };
    let (head, body) = request.into_parts();
    let body = body::to_bytes(body, payments.webhook_bytes_max()).await;
    let body = body.map_err(|_| HttpError::BadRequest("the body is too long, or broke off"))?;
    match payments.webhook(method, &head.headers, &body, clock::wall()).await {
        Ok(()) => Ok(StatusCode::OK),
        Err(WebhookError::Forged { why }) => Err(HttpError::BadRequest(why)),
        Err(WebhookError::Busy) => {
            Err(HttpError::Refused(StatusCode::SERVICE_UNAVAILABLE, "too many at once: try again"))
        }
        Err(WebhookError::Early) => Err(HttpError::TryLater),
        Err(WebhookError::NotConfigured { .. }) => Err(HttpError::NotFound),
        Err(error @ (WebhookError::Provider(_) | WebhookError::Store(_))) => {
            base::log_limited!(error, error, "a webhook could not be stored");
            Err(HttpError::TryLater)
        }
    }
}
