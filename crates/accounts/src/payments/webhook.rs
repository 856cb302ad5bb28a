//! Webhooks: events that providers send.
//!
//! A webhook is accepted once its signature is verified, and applied once by its id. The response
//! is an error only if the provider must send it again.

use hyper::HeaderMap;
use tokio::time::Instant;
use tracing::{debug, info};

use super::{
    PaymentMethod, Payments, WebhookError,
    order::ProviderStatus,
    provider::{EventContent, Provider, WebhookEvent},
    store::EventKey,
};
use crate::accounts::Micros;

impl Payments {
    /// Accepts a webhook. One that is unknown, repeated or does not fit is not an error, since
    /// sending it again would not help.
    ///
    /// # Errors
    ///
    /// If it does not come from the provider, or if it must be sent again because the provider or
    /// the store failed.
    pub async fn webhook(
        &self,
        method: PaymentMethod,
        headers: &HeaderMap,
        body: &[u8],
        now: Micros,
    ) -> Result<(), WebhookError> {
        let provider = self.provider(method).map_err(|_| WebhookError::NotConfigured { method })?;
        let result = self.take_webhook(provider, headers, body, now).await;
        let outcome = match &result {
            Ok(outcome) => outcome,
            Err(WebhookError::Forged { why }) => {
                base::log_limited!(info, rail = %method, why, "a webhook was refused");
                "refused"
            }
            Err(WebhookError::Busy | WebhookError::Early) => "put off",
            Err(_) => "failed",
        };
        let labels = [("rail", method.as_str()), ("outcome", outcome)];
        metrics::counter!("matchwire_webhooks_total", &labels).increment(1);
        result.map(|_| ())
    }

    /// The outcome, in a word or two.
    async fn take_webhook(
        &self,
        provider: &Provider,
        headers: &HeaderMap,
        body: &[u8],
        now: Micros,
    ) -> Result<&'static str, WebhookError> {
        let event = provider.read_webhook(headers, body, now)?;
        let WebhookEvent { id, kind, order_ref, content } = event;
        if content == EventContent::Nothing {
            debug!(id, kind, "a webhook of an irrelevant kind");
            return Ok("ignored");
        }
        let store = &self.shared.store;
        let event = EventKey { method: provider.method(), id: &id, kind: &kind };
        if store.is_recorded(event).await? {
            return Ok("repeated");
        }
        let order = store.find(event.method, &order_ref).await?;
        if provider.checks_signatures() {
            let account = order.as_ref().map(|order| order.account);
            let turn = self.shared.checks.begin(account, Instant::now());
            let _turn = turn.ok_or(WebhookError::Busy)?;
            provider.check(headers, body).await?;
        }
        let Some(order) = order else {
            // A dispute names nothing but the payment, which an order has once its payment is reported.
            let is_lost = matches!(content, EventContent::Lost(_));
            if is_lost && store.has_open_order(event.method).await? {
                return Err(WebhookError::Early);
            }
            base::log_limited!(info, id, kind, "a webhook names an unknown order");
            store.record(event, "unknown order", now).await?;
            return Ok("unknown order");
        };
        let status = match content {
            EventContent::Status(status) => status,
            // Each event is applied once, so the sum is not added twice.
            EventContent::Lost(lost) => {
                info!(order = order.id, amount = %lost, "a dispute is lost");
                ProviderStatus { lost: Some(lost), ..ProviderStatus::default() }
            }
            EventContent::FetchStatus | EventContent::Nothing => {
                provider.fetch_status(&order).await?
            }
        };
        let (_, applied) = self.record_status(&order, &status, Some(event), now).await?;
        Ok(applied.as_str())
    }
}
