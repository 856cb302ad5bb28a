//! Webhooks: what providers tell by themselves.
//!
//! A webhook is believed once its signature is checked, and taken once by its id. It may be answered
//! with an error only where it is to come again.

use hyper::HeaderMap;
use tokio::time::Instant;
use tracing::{debug, info};

use super::{
    Payments, Rail, WebhookError,
    provider::{Notice, Provider, Says},
    store::Event,
};
use crate::accounts::Micros;

impl Payments {
    /// Takes in a webhook. What is unknown, repeated or does not fit is no error: to send it again would
    /// not help.
    ///
    /// # Errors
    ///
    /// If it does not come from the provider, or if it is to come again because the provider or the store
    /// had no answer.
    pub async fn webhook(
        &self,
        rail: Rail,
        headers: &HeaderMap,
        body: &[u8],
        now: Micros,
    ) -> Result<(), WebhookError> {
        let provider = self.provider(rail).map_err(|_| WebhookError::NoRail { rail })?;
        let taken = self.take_webhook(provider, headers, body, now).await;
        let outcome = match &taken {
            Ok(outcome) => outcome,
            Err(WebhookError::Forged { why }) => {
                info!(%rail, why, "a webhook was refused");
                "refused"
            }
            Err(WebhookError::Busy) => "put off",
            Err(_) => "failed",
        };
        let labels = [("rail", rail.as_str()), ("outcome", outcome)];
        metrics::counter!("matchwire_webhooks_total", &labels).increment(1);
        taken.map(|_| ())
    }

    /// What came of it, in a word or two.
    async fn take_webhook(
        &self,
        provider: &Provider,
        headers: &HeaderMap,
        body: &[u8],
        now: Micros,
    ) -> Result<&'static str, WebhookError> {
        let notice = provider.notice(headers, body, now)?;
        let Notice { id, kind, about, says } = notice;
        if says == Says::Nothing {
            debug!(id, kind, "a webhook is about nothing that matters");
            return Ok("ignored");
        }
        let store = &self.shared.store;
        let event = Event { rail: provider.rail(), id: &id, kind: &kind };
        if store.knows(event).await? {
            return Ok("repeated");
        }
        let order = store.named(event.rail, &about).await?;
        if provider.checks_signatures() {
            let account = order.as_ref().map(|order| order.account);
            let turn = self.shared.checks.begin(account, Instant::now());
            let _turn = turn.ok_or(WebhookError::Busy)?;
            provider.check(headers, body).await?;
        }
        let Some(order) = order else {
            info!(id, kind, "a webhook is about no order of ours");
            store.record(event, "unknown order", now).await?;
            return Ok("unknown order");
        };
        let told = match says {
            Says::Told(told) => told,
            Says::Ask | Says::Nothing => provider.look(&order).await?,
        };
        let (_, applied) = self.take_in(&order, &told, Some(event), now).await?;
        Ok(applied.as_str())
    }
}
