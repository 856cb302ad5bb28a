//! `[payments]`: who takes the customers' money, and how patiently they are asked.

use serde::{Deserialize, Serialize};

use super::secret::SecretRef;

/// `[payments]`: a payment method is offered where its keys are given. Secrets are `env:NAME`, `file:PATH`, or as
/// they are, and are read at the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PaymentsConfig {
    /// Where Stripe's API is. Default `https://api.stripe.com`.
    pub stripe_url: String,
    /// The secret key of the Stripe account. Default empty: cards are not offered.
    pub stripe_key: SecretRef,
    /// What Stripe signs its webhooks with; goes with the key.
    pub stripe_webhook_secret: SecretRef,
    /// Where PayPal's API is. Default `https://api-m.paypal.com`.
    pub paypal_url: String,
    /// The client of the PayPal application. Default empty: PayPal is not offered.
    pub paypal_client_id: String,
    /// Its secret; goes with the client.
    pub paypal_client_secret: SecretRef,
    /// PayPal's id of the webhook, by which it says whether one is its own; goes with the client.
    pub paypal_webhook_id: String,
    /// Milliseconds for one request to a provider. Default 10000. A customer waits for as long.
    pub timeout_ms: u64,
    /// How often a request is sent when the provider does not answer or fails. Default 3; always with
    /// the same idempotency key.
    pub attempts: u32,
    /// Milliseconds before the second attempt, twice as many before each next one. Default 250.
    pub retry_ms: u64,
    /// Milliseconds by which the time in a webhook's signature may differ from ours. Default 300000. An
    /// older one is refused as repeated by somebody else.
    pub webhook_age_ms: u64,
    /// Bytes of a webhook. Default 262144. As much memory for each that is being read.
    pub webhook_bytes_max: usize,
    /// Webhooks of PayPal about orders of one account, in a minute, that PayPal is asked about; it alone can check
    /// their signature. Default 60. The same number holds for all orders together that are unknown here. One more
    /// is answered 503, and comes again.
    pub webhook_checks_per_minute: u32,
    /// Orders of one account that are neither paid nor closed. Default 20.
    pub orders_open_max: usize,
    /// Milliseconds between two looks for orders of which nothing was heard. Default 60000.
    pub sweep_ms: u64,
    /// Orders that a provider is asked about in one such look. Default 50. Each is a request.
    pub sweep_orders_max: u32,
    /// Milliseconds after which a provider is asked about an open order. Default 300000; then ever more
    /// rarely.
    pub sweep_after_ms: u64,
    /// Whether the demo offers both payment methods with providers of its own, where nobody pays anything. Default
    /// true. Without effect where the demo is not played or a payment method has keys.
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
            sandbox: true,
        }
    }
}

/// Currencies whose smallest unit is not a hundredth, at one of the providers or at both. Amounts here
/// are hundredths.
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

    /// Whether the settings fit each other and the currency of the prices.
    ///
    /// # Errors
    ///
    /// The name of the setting that is wrong, and what it must be.
    pub(super) fn check(&self, currency: &str) -> Result<(), (&'static str, &'static str)> {
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
        let offered = self.offers_stripe() || self.offers_paypal();
        if offered && OTHER_UNITS.contains(&currency) {
            return Err(("products.currency", "one with hundredths where it is paid online"));
        }
        Ok(())
    }
}

/// The requests carry secrets.
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
        let wrong = config.check(currency).err().map(|(name, _)| name);
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
    fn keys_go_together() {
        check(&PaymentsConfig::default(), "USD", None);
        check(&stripe(), "USD", None);
        let half = PaymentsConfig { stripe_webhook_secret: SecretRef::default(), ..stripe() };
        check(&half, "USD", Some("payments.stripe_webhook_secret"));
        let half = PaymentsConfig { paypal_client_id: "me".to_owned(), ..stripe() };
        check(&half, "USD", Some("payments.paypal_client_id"));
    }

    #[test]
    fn secrets_travel_encrypted_or_stay_on_this_machine() {
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
    fn currencies_without_hundredths_are_refused_where_they_would_be_charged() {
        check(&PaymentsConfig::default(), "JPY", None);
        check(&stripe(), "JPY", Some("products.currency"));
        check(&stripe(), "EUR", None);
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown = format!("{:?}", PaymentsConfig { stripe_key: "sk_live_1".into(), ..stripe() });
        assert!(!shown.contains("sk_live_1") && !shown.contains("whsec"), "{shown}");
    }
}
