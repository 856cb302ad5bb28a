//! `[payments]`: payment providers, timeouts and retries.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use base::{
    Micros,
    config::{SecretRef, micros},
};

/// `[payments]`: a payment method is offered if its keys are set: docs/PAYMENTS.md. Secrets are `env:NAME`,
/// `file:PATH`, or the secret itself, and are read at startup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PaymentsConfig {
    /// Base URL of Stripe's API. Default `https://api.stripe.com`.
    pub stripe_url: String,
    /// The secret key of the Stripe account. Default empty: cards are not offered.
    pub stripe_key: SecretRef,
    /// The secret that signs Stripe's webhooks. Default empty; required with the key.
    pub stripe_webhook_secret: SecretRef,
    /// Base URL of PayPal's API. Default `https://api-m.paypal.com`.
    pub paypal_url: String,
    /// The client id of the PayPal application. Default empty: PayPal is not offered.
    pub paypal_client_id: String,
    /// The secret of the PayPal application. Default empty; required with the client id.
    pub paypal_client_secret: SecretRef,
    /// PayPal's id of the webhook, which its signature check needs. Default empty; required with the client id.
    pub paypal_webhook_id: String,
    /// Milliseconds for one request to a provider. Default 10000. A customer waits for as long.
    pub timeout_ms: u64,
    /// How often a request is sent if the provider does not respond or fails. Default 3; always
    /// with the same idempotency key.
    pub attempts: u32,
    /// Milliseconds before the second attempt, doubled before each further one. Default 250.
    pub retry_ms: u64,
    /// Milliseconds by which the timestamp in a webhook's signature may differ from the hub's
    /// clock. Default 300000. An older webhook is refused as a replay.
    pub webhook_age_ms: u64,
    /// Bytes of a webhook. Default 262144. Each webhook that is being read takes as much memory.
    pub webhook_bytes_max: usize,
    /// Signature verifications per minute requested from PayPal for webhooks about orders of one
    /// account; only PayPal can verify them. Default 60. The same limit applies to all unknown orders
    /// together. Further webhooks get 503, and PayPal sends them again.
    pub webhook_checks_per_minute: u32,
    /// Orders of one account that are neither paid nor closed. Default 20. One more is refused.
    pub orders_open_max: usize,
    /// Milliseconds between two sweeps for open orders without news from the provider. Default
    /// 60000.
    pub sweep_ms: u64,
    /// Orders per sweep whose state is requested from a provider. Default 50. Each is a request.
    pub sweep_orders_max: u32,
    /// Age in milliseconds after which the state of an open order is requested. Default 300000;
    /// further requests are increasingly rare.
    pub sweep_after_ms: u64,
    /// Who sells, for receipts: name, address and tax number, in lines, such as `Matchwire Ltd\nLondon\nGB123456789`.
    /// Default empty.
    pub seller: String,
    /// The tax that prices include, in percent, which receipts then show. Default 0: none.
    pub tax_percent: Decimal,
    /// Whether the demo offers both payment methods with simulated providers, where no money moves.
    /// Default true; needs the feature `sandbox`. It has no effect without the demo, or if a payment method has
    /// keys.
    pub sandbox: bool,
}

impl Default for PaymentsConfig {
    fn default() -> Self {
        Self {
            stripe_url: "https://api.stripe.com".to_owned(),
            stripe_key: SecretRef::default(),
            stripe_webhook_secret: SecretRef::default(),
            paypal_url: "https://api-m.paypal.com".to_owned(),
            paypal_client_id: String::new(),
            paypal_client_secret: SecretRef::default(),
            paypal_webhook_id: String::new(),
            timeout_ms: 10_000,
            attempts: 3,
            retry_ms: 250,
            webhook_age_ms: 300_000,
            webhook_bytes_max: 256 * 1024,
            webhook_checks_per_minute: 60,
            orders_open_max: 20,
            sweep_ms: 60_000,
            sweep_orders_max: 50,
            sweep_after_ms: 300_000,
            seller: String::new(),
            tax_percent: Decimal::ZERO,
            sandbox: cfg!(feature = "sandbox"),
        }
    }
}

/// Currencies whose smallest unit is not a hundredth, at one or both providers. Amounts here are
/// hundredths.
const OTHER_UNITS: [&str; 24] = [
    "BHD", "BIF", "CLP", "DJF", "GNF", "HUF", "ISK", "JOD", "JPY", "KMF", "KRW", "KWD", "MGA",
    "OMR", "PYG", "RWF", "TND", "TWD", "UGX", "VND", "VUV", "XAF", "XOF", "XPF",
];

impl PaymentsConfig {
    /// Whether cards are offered.
    #[must_use]
    pub fn offers_stripe(&self) -> bool {
        self.stripe_key.is_set()
    }

    /// Whether PayPal is offered.
    #[must_use]
    pub fn offers_paypal(&self) -> bool {
        !self.paypal_client_id.is_empty()
    }

    /// `webhook_age_ms` in microseconds, as `now` is given.
    #[must_use]
    pub fn webhook_age_max(&self) -> Micros {
        micros(self.webhook_age_ms)
    }

    /// `sweep_after_ms` in microseconds.
    #[must_use]
    pub fn sweep_age_min(&self) -> Micros {
        micros(self.sweep_after_ms)
    }

    /// Checks that the settings fit each other and the currency of the prices.
    ///
    /// # Errors
    ///
    /// The name of the setting that is wrong, and what it must be.
    pub fn check<'c>(
        &self,
        mut currencies: impl Iterator<Item = &'c str>,
    ) -> Result<(), (&'static str, &'static str)> {
        if self.stripe_key.is_set() != self.stripe_webhook_secret.is_set() {
            return Err(("payments.stripe_webhook_secret", "given with payments.stripe_key"));
        }
        let paypal = [
            self.offers_paypal(),
            self.paypal_client_secret.is_set(),
            !self.paypal_webhook_id.is_empty(),
        ];
        if paypal.contains(&true) && paypal.contains(&false) {
            return Err((
                "payments.paypal_client_id",
                "given with its secret and the webhook's id",
            ));
        }
        for (name, url) in
            [("payments.stripe_url", &self.stripe_url), ("payments.paypal_url", &self.paypal_url)]
        {
            if !is_safe(url) {
                return Err((name, "an https address, or an http address on loopback"));
            }
        }
        if self.tax_percent.is_sign_negative() || self.tax_percent > Decimal::ONE_HUNDRED {
            return Err(("payments.tax_percent", "0 to 100"));
        }
        let offered = self.offers_stripe() || self.offers_paypal();
        if offered && currencies.any(|currency| OTHER_UNITS.contains(&currency)) {
            return Err(("products.currency", "one with hundredths where it is paid online"));
        }
        Ok(())
    }
}

/// Whether requests to this URL may carry secrets.
fn is_safe(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let loopback = match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host.parse().is_ok_and(|ip: std::net::Ipv4Addr| ip.is_loopback()),
        None => return false,
    };
    match url.scheme() {
        "https" => true,
        "http" => loopback,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(config: &PaymentsConfig, currency: &str, expected: Option<&str>) {
        let wrong = config.check([currency].into_iter()).err().map(|(name, _)| name);
        assert_eq!(wrong, expected, "{config:?}");
    }

    fn stripe() -> PaymentsConfig {
        PaymentsConfig {
            stripe_key: "sk".into(),
            stripe_webhook_secret: "whsec".into(),
            ..PaymentsConfig::default()
        }
    }

    #[test]
    fn provider_keys_are_required_together() {
        check(&PaymentsConfig::default(), "USD", None);
        check(&stripe(), "USD", None);
        let half = PaymentsConfig { stripe_webhook_secret: SecretRef::default(), ..stripe() };
        check(&half, "USD", Some("payments.stripe_webhook_secret"));
        let half = PaymentsConfig { paypal_client_id: "me".to_owned(), ..stripe() };
        check(&half, "USD", Some("payments.paypal_client_id"));
    }

    #[test]
    fn provider_urls_must_be_https_or_loopback() {
        for (url, good) in [
            ("https://api.stripe.com", true),
            ("http://127.0.0.1:9", true),
            ("http://localhost:9/", true),
            ("http://[::1]:9/", true),
            ("http://api.stripe.com", false),
            ("http://127.0.0.1.example.com", false),
            ("ftp://127.0.0.1", false),
            ("", false),
        ] {
            let config = PaymentsConfig { stripe_url: url.to_owned(), ..stripe() };
            check(&config, "USD", (!good).then_some("payments.stripe_url"));
        }
    }

    #[test]
    fn currency_without_hundredths_is_refused_if_payments_are_on() {
        check(&PaymentsConfig::default(), "JPY", None);
        check(&stripe(), "JPY", Some("products.currency"));
        check(&stripe(), "EUR", None);
    }

    #[test]
    fn debug_output_has_no_secrets() {
        let shown = format!("{:?}", PaymentsConfig { stripe_key: "sk_live_1".into(), ..stripe() });
        assert!(!shown.contains("sk_live_1") && !shown.contains("whsec"), "{shown}");
    }
}
