//! Orders and their payments: by card through Stripe, and through PayPal.
//!
//! Owns what is bought, at which price, and which days follow from payments and refunds; it knows
//! neither pages nor keys. Providers are slow, repeat themselves and report out of order, and this
//! process may die between any two steps. So their reports are stored as facts that only grow, the
//! days follow from the facts ([`Order`]), and every request to a provider can be repeated.
//!
//! In reading order: [`PaymentMethod`], [`Order`], then `provider` with `stripe`, `paypal` and
//! `client`, `store`, `webhook` and `sweep`.

mod checks;
mod client;
mod error;
mod method;
mod order;
mod paypal;
mod provider;
mod receipt;
mod store;
mod stripe;
mod sweep;
#[cfg(test)]
mod tests;
mod webhook;

use std::{fmt, sync::Arc};

use base::{
    config::{SecretError, SecretRef},
    secret::Secret,
    tls::{self, TrustError},
};
use rust_decimal::Decimal;
use tracing::{error, info};

use self::{
    checks::Checks,
    client::ProviderClient,
    order::ProviderStatus,
    paypal::Paypal,
    provider::{Provider, ReturnUrls},
    receipt::ReceiptTerms,
    store::{ApplyOutcome, EventKey, PaymentStore},
    stripe::Stripe,
};
pub use self::{
    error::{PaymentError, ProviderError, WebhookError},
    method::{PaymentMethod, UnknownPaymentMethod},
    order::{Order, OrderState},
    receipt::Receipt,
};
pub use crate::accounts::{LedgerEntry, LedgerKind};
use crate::{
    accounts::{AccountId, Accounts, Addon, Micros},
    config::PaymentsConfig,
    products::{CurrentCatalogue, DAYS_PER_MONTH, TERMS},
};

/// A handle to orders and payments; clones share everything.
#[derive(Clone)]
pub struct Payments {
    shared: Arc<Shared>,
}

struct Shared {
    accounts: Accounts,
    prices: CurrentCatalogue,
    store: PaymentStore,
    /// The URL where customers reach the hub, without a trailing slash.
    public_url: String,
    providers: Vec<Provider>,
    methods: Vec<PaymentMethod>,
    config: PaymentsConfig,
    /// Limits the webhooks that a provider must verify.
    checks: Checks,
}

/// Why the configured payment methods cannot be used. Always for the operator to fix.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("{name}: a secret is missing")]
    Secret { name: &'static str, source: SecretError },
    #[error("{name} is empty")]
    Empty { name: &'static str },
    #[error("payment providers cannot be trusted")]
    Trust(#[from] TrustError),
}

impl Payments {
    /// The configured payment methods. `public_url`: where customers reach the hub, without a
    /// trailing slash.
    ///
    /// # Errors
    ///
    /// If a secret cannot be loaded, or if no certificate authority is available to verify a
    /// provider.
    pub fn new(
        accounts: &Accounts,
        prices: CurrentCatalogue,
        public_url: &str,
        config: &PaymentsConfig,
    ) -> Result<Self, SetupError> {
        let providers = providers(config)?;
        Ok(Self {
            shared: Arc::new(Shared {
                accounts: accounts.clone(),
                prices,
                store: PaymentStore::new(accounts.database().clone(), ReceiptTerms::new(config)),
                public_url: public_url.to_owned(),
                methods: providers.iter().map(Provider::method).collect(),
                providers,
                config: config.clone(),
                checks: Checks::new(config.webhook_checks_per_minute),
            }),
        })
    }

    /// The payment methods on offer.
    #[must_use]
    pub fn methods(&self) -> &[PaymentMethod] {
        &self.shared.methods
    }

    /// The maximum bytes of a webhook.
    #[must_use]
    pub fn webhook_bytes_max(&self) -> usize {
        self.shared.config.webhook_bytes_max
    }

    /// Creates an order at the account's own price, and opens a checkout for it. The caller sends
    /// the customer to [`Order::checkout_url`].
    ///
    /// # Errors
    ///
    /// If the purchase is not allowed, if too many orders are open, if the provider fails, or if
    /// the store fails. Nothing has been paid in any case.
    pub async fn begin(
        &self,
        account: AccountId,
        addon: Addon,
        months: u32,
        method: PaymentMethod,
        now: Micros,
    ) -> Result<Order, PaymentError> {
        let provider = self.provider(method)?;
        if !TERMS.contains(&months) {
            return Err(PaymentError::Term { months });
        }
        let order = self.take_order(account, addon, months, method, now).await?;
        self.open_checkout(provider, order, now).await
    }

    /// Handles the customer's return from the checkout: fetches the order's status from the
    /// provider.
    ///
    /// # Errors
    ///
    /// If the account has no such order, if the provider does not answer, or if the store fails. A
    /// payment is not lost then: the provider reports it, or a sweep queries it later.
    pub async fn returned(
        &self,
        order_id: &str,
        account: AccountId,
        now: Micros,
    ) -> Result<Order, PaymentError> {
        let order = self.order(order_id, account).await?;
        if order.paid.is_some() {
            return Ok(order);
        }
        let status = self.provider(order.method)?.fetch_status(&order).await?;
        self.apply(&order, &status, now).await
    }

    /// Handles a cancelled checkout. A payment that arrives nevertheless counts.
    ///
    /// # Errors
    ///
    /// If the account has no such order, or if the store fails.
    pub async fn cancelled(
        &self,
        order_id: &str,
        account: AccountId,
        now: Micros,
    ) -> Result<Order, PaymentError> {
        let order = self.order(order_id, account).await?;
        if order.state() != OrderState::Open {
            return Ok(order);
        }
        let status = self.provider(order.method)?.cancel(&order).await;
        let status = status.unwrap_or_else(|error| {
            info!(order = order.id, %error, "the checkout stays open");
            ProviderStatus::default()
        });
        self.apply(&order, &ProviderStatus { closed: true, ..status }, now).await
    }

    /// An order of this account.
    ///
    /// # Errors
    ///
    /// If there is none, or if the store fails.
    pub async fn order(&self, order_id: &str, account: AccountId) -> Result<Order, PaymentError> {
        let order = self.order_of_any_account(order_id).await?;
        if order.account == account { Ok(order) } else { Err(PaymentError::NoOrder) }
    }

    /// An order of any account, for the operator.
    ///
    /// # Errors
    ///
    /// If there is none, or if the store fails.
    pub async fn order_of_any_account(&self, order_id: &str) -> Result<Order, PaymentError> {
        self.shared.store.order(order_id).await?.ok_or(PaymentError::NoOrder)
    }

    /// The receipt of an order of this account, with what was refunded so far; `None` if it is not paid.
    ///
    /// # Errors
    ///
    /// If the account has no such order, or if the store fails.
    pub async fn receipt(
        &self,
        order_id: &str,
        account: AccountId,
    ) -> Result<Option<Receipt>, PaymentError> {
        let order = self.order(order_id, account).await?;
        Ok(self.shared.store.receipt(&order))
    }

    /// The orders of an account, the newest first, 200 at most.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn orders(&self, account: AccountId) -> Result<Vec<Order>, PaymentError> {
        Ok(self.shared.store.orders_of(account).await?)
    }

    /// The ledger entries of an account, as [`Accounts::ledger`].
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn ledger(&self, account: AccountId) -> Result<Vec<LedgerEntry>, PaymentError> {
        Ok(self.shared.accounts.ledger(account).await?)
    }

    /// Refunds the rest of an order, or part of it, and takes back a proportional number of days.
    ///
    /// # Errors
    ///
    /// If it is not paid, if less than the amount is left, if the provider fails, or if the store
    /// fails. A refund that the provider has made is not lost then: the provider reports it.
    pub async fn refund(
        &self,
        order_id: &str,
        amount: Option<Decimal>,
        now: Micros,
    ) -> Result<Order, PaymentError> {
        let order = self.order_of_any_account(order_id).await?;
        let provider = self.provider(order.method)?;
        // A refund may have been made on the provider's own pages.
        let status = provider.fetch_status(&order).await?;
        let order = self.apply(&order, &status, now).await?;
        let amount = refundable(&order, amount)?;
        provider.refund(&order, amount).await?;
        let mut all = order.price.clone();
        all.amount = order.refunded + amount;
        let status = ProviderStatus { refunded: Some(all), ..ProviderStatus::default() };
        self.apply(&order, &status, now).await
    }

    fn provider(&self, method: PaymentMethod) -> Result<&Provider, PaymentError> {
        let found = self.shared.providers.iter().find(|provider| provider.method() == method);
        found.ok_or(PaymentError::NotConfigured { method })
    }

    /// The price is the current one, determined under the account's lock.
    async fn take_order(
        &self,
        account: AccountId,
        addon: Addon,
        months: u32,
        method: PaymentMethod,
        now: Micros,
    ) -> Result<Order, PaymentError> {
        let id = random_id()?;
        let mut tx = self.shared.store.begin().await?;
        let buyer = store::buyer(&mut tx, account).await?.ok_or(PaymentError::NoAccount)?;
        let limit = self.shared.config.orders_open_max;
        if buyer.open >= limit {
            return Err(PaymentError::TooManyOpen { limit });
        }
        let all = self.shared.prices.now();
        let country = buyer.country.filter(|country| all.countries.contains_key(country));
        let catalogue = all.for_country(country);
        let mut price = catalogue.price(addon, buyer.founder).times(months);
        price.amount.rescale(2);
        let order = Order {
            id,
            account,
            method,
            addon,
            months,
            days: months * DAYS_PER_MONTH,
            price,
            founder: buyer.founder && catalogue.has_founder_rate(addon),
            country,
            tax_percent: Some(catalogue.tax_percent.unwrap_or(self.shared.config.tax_percent)),
            created: now,
            checkout: None,
            payment: None,
            checkout_url: None,
            paid: None,
            refunded: Decimal::ZERO,
            closed: None,
            days_granted: 0,
        };
        store::insert(&mut tx, &order).await?;
        tx.commit().await?;
        metrics::counter!("matchwire_orders_total", "rail" => method.as_str()).increment(1);
        Ok(order)
    }

    /// A provider that refuses will refuse again, so the order is closed; one that does not answer
    /// may have opened the checkout, which `sweep` finds out.
    async fn open_checkout(
        &self,
        provider: &Provider,
        mut order: Order,
        now: Micros,
    ) -> Result<Order, PaymentError> {
        let way = |end| format!("{}/checkout/{}/{end}/", self.shared.public_url, order.id);
        let return_urls = ReturnUrls { back: way("return"), cancel: way("cancel") };
        let new_checkout = match provider.open(&order, &return_urls).await {
            Ok(new_checkout) => new_checkout,
            Err(refused) => {
                error!(order = order.id, error = %refused, "cannot open a checkout");
                if !matches!(refused, ProviderError::Unreachable { .. }) {
                    self.apply(&order, &ProviderStatus::closed(), now).await?;
                }
                return Err(refused.into());
            }
        };
        self.shared
            .store
            .checkout_opened(&order.id, &new_checkout.checkout, &new_checkout.url)
            .await?;
        order.checkout = Some(new_checkout.checkout);
        order.checkout_url = Some(new_checkout.url);
        Ok(order)
    }

    /// Records a status that did not come from a webhook.
    async fn apply(
        &self,
        order: &Order,
        status: &ProviderStatus,
        now: Micros,
    ) -> Result<Order, PaymentError> {
        let (order, _) = self.record_status(order, status, None, now).await?;
        Ok(order)
    }

    async fn record_status(
        &self,
        order: &Order,
        status: &ProviderStatus,
        event: Option<EventKey<'_>>,
        now: Micros,
    ) -> sqlx::Result<(Order, ApplyOutcome)> {
        let (order, applied) = self.shared.store.apply(order, status, event, now).await?;
        match &applied {
            ApplyOutcome::Days(days) => {
                info!(
                    order = order.id,
                    account = order.account.0,
                    days,
                    "the days of an add-on changed"
                );
                self.shared.accounts.broadcast_own_changes().await;
            }
            ApplyOutcome::Mismatch(mismatch) => {
                let rail = order.method;
                error!(order = order.id, %rail, %mismatch, "a payment does not match its order");
            }
            ApplyOutcome::Nothing | ApplyOutcome::Repeated => {}
        }
        Ok((order, applied))
    }
}

impl fmt::Debug for Payments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payments").field("rails", &self.shared.methods).finish_non_exhaustive()
    }
}

/// The requested amount, or all that is left.
fn refundable(order: &Order, requested: Option<Decimal>) -> Result<Decimal, PaymentError> {
    if order.paid.is_none() {
        return Err(PaymentError::NotPaid);
    }
    let left = order.refundable();
    let mut requested = requested.unwrap_or(left);
    if requested <= Decimal::ZERO || requested > left || requested != requested.round_dp(2) {
        return Err(PaymentError::Refund { requested, left });
    }
    requested.rescale(2);
    Ok(requested)
}

/// 128 random bits, in hexadecimal, so that an order's id cannot be guessed.
fn random_id() -> Result<String, getrandom::Error> {
    let random = (u128::from(getrandom::u64()?) << 64) | u128::from(getrandom::u64()?);
    Ok(format!("{random:032x}"))
}

/// Checks what [`Payments::new`] needs of the settings.
///
/// # Errors
///
/// As [`Payments::new`].
pub fn check(config: &PaymentsConfig) -> Result<(), SetupError> {
    providers(config).map(drop)
}

fn providers(config: &PaymentsConfig) -> Result<Vec<Provider>, SetupError> {
    let urls = [
        config.offers_stripe().then_some(&config.stripe_url),
        config.offers_paypal().then_some(&config.paypal_url),
    ];
    let encrypted = urls.iter().flatten().any(|url| url.starts_with("https:"));
    let tls = if encrypted { tls::client(None)? } else { tls::without_authorities() };
    let mut providers = Vec::new();
    if config.offers_stripe() {
        let key = secret("payments.stripe_key", &config.stripe_key)?;
        let signing = secret("payments.stripe_webhook_secret", &config.stripe_webhook_secret)?;
        let client = ProviderClient::new(PaymentMethod::Card, &config.stripe_url, config, &tls);
        providers.push(Provider::Stripe(Stripe::new(client, key, signing, config)));
    }
    if config.offers_paypal() {
        let secret = secret("payments.paypal_client_secret", &config.paypal_client_secret)?;
        let client = ProviderClient::new(PaymentMethod::Paypal, &config.paypal_url, config, &tls);
        providers.push(Provider::Paypal(Paypal::new(client, secret, config)));
    }
    Ok(providers)
}

fn secret(name: &'static str, reference: &SecretRef) -> Result<Secret, SetupError> {
    let secret = reference.resolve().map_err(|source| SetupError::Secret { name, source })?;
    if secret.expose().is_empty() {
        return Err(SetupError::Empty { name });
    }
    Ok(secret)
}
