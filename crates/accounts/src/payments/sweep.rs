//! Checks open orders with their provider.
//!
//! This repairs what a crash left between a provider's action and our record of it, and replaces
//! webhooks that never arrived.

use std::time::Duration;

use tokio::{sync::watch, time};
use tracing::{info, warn};

use super::{Order, OrderState, PaymentError, Payments, ProviderError, order::ProviderStatus};
use crate::{accounts::Micros, clock};

/// Three days. No provider keeps a checkout open for so long.
const CLOSE_AFTER: Micros = 3 * 24 * 60 * 60 * 1_000_000;

impl Payments {
    /// Checks open orders until `stopped` turns true. Must run once per process.
    pub async fn run(self, mut stopped: watch::Receiver<bool>) {
        tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => {}
            () = self.sweep_always() => {}
        }
    }

    async fn sweep_always(&self) {
        let mut fetch_status = time::interval(Duration::from_millis(self.shared.config.sweep_ms));
        fetch_status.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
        loop {
            fetch_status.tick().await;
            if let Err(error) = self.sweep(clock::wall()).await {
                warn!(error = &error as &dyn std::error::Error, "cannot sweep open orders");
            }
        }
    }

    /// Checks the open orders that are due, and returns their number.
    ///
    /// # Errors
    ///
    /// If the store fails. A provider that does not respond is queried again later.
    pub async fn sweep(&self, now: Micros) -> Result<usize, PaymentError> {
        let config = &self.shared.config;
        let after = config.sweep_age_min();
        let orders = self.shared.store.due_for_check(after, config.sweep_orders_max, now).await?;
        let count = orders.len();
        for order in orders {
            // Marked before the check: an order that always fails must not block the others.
            self.shared.store.mark_checked(&order.id, now).await?;
            let id = order.id.clone();
            match self.check_with_provider(order, now).await {
                Ok(order) if order.state() == OrderState::Open => {}
                Ok(order) => {
                    info!(order = id, state = order.state().as_str(), "an order was settled")
                }
                Err(PaymentError::Store(error)) => return Err(error.into()),
                Err(error) => base::log_limited!(info, order = id, %error, "no news of an order"),
            }
        }
        Ok(count)
    }

    async fn check_with_provider(&self, order: Order, now: Micros) -> Result<Order, PaymentError> {
        let provider = self.provider(order.method)?;
        let order = match order.checkout {
            Some(_) => order,
            // The id of the checkout was never received; the provider returns it again.
            None => self.open_checkout(provider, order, now).await?,
        };
        let status = match provider.fetch_status(&order).await {
            Ok(status) => status,
            Err(ProviderError::Unreachable { why }) => {
                return Err(ProviderError::Unreachable { why }.into());
            }
            Err(_) => ProviderStatus::default(),
        };
        let old = now - order.created > CLOSE_AFTER;
        let closed = status.closed || (old && status.paid.is_none());
        self.apply(&order, &ProviderStatus { closed, ..status }, now).await
    }
}
