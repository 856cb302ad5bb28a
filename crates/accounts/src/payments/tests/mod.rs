//! Payments against the sandbox over real HTTP, on both databases.

mod buying;
mod facts;
mod pages;
mod providers;
mod refunds;
mod webhooks;

use std::{
    collections::{BTreeMap, VecDeque},
    net::Ipv4Addr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    extract::{Request, State},
    http::StatusCode,
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use rust_decimal::{Decimal, dec};
use sandbox::{Delivery, Provider, Sandbox};
use tokio::{net::TcpListener, sync::mpsc, time::timeout};

use super::{Order, OrderState, PaymentError, PaymentMethod, Payments, ProviderError};
use crate::{
    accounts::{AccountId, Accounts, Addon, HERE, Key, Micros},
    clock::now,
    config::{AccountsConfig, PaymentsConfig},
    products::{Catalogue, CurrentCatalogue},
};
use database::{Database, testing::on_each};

const DAY: Micros = 24 * 60 * 60 * 1_000_000;
/// A fixed moment; signed webhooks use the current time instead.
const NOW: Micros = 1_790_000_000_000_000;
const WAIT: Duration = Duration::from_secs(20);
/// It has prices of its own.
const SWITZERLAND: &str = "CH";

/// A hub's payments, with the sandbox as its providers.
struct TestShop {
    accounts: Accounts,
    payments: Payments,
    sandbox: Sandbox,
    /// Webhooks of the sandbox, which only the test delivers.
    deliveries: mpsc::Receiver<Delivery>,
    faults: FaultInjector,
}

/// Runs a test on a new shop in a database of each kind.
async fn on_each_shop(test: impl AsyncFn(TestShop)) {
    on_each_shop_with(&settings(), test).await;
}

async fn on_each_shop_with(settings: &PaymentsConfig, test: impl AsyncFn(TestShop)) {
    on_each(async |database| test(TestShop::with(&database, settings).await).await).await;
}

/// What happens to the next requests to the providers.
#[derive(Clone, Default)]
struct FaultInjector {
    next: Arc<Mutex<VecDeque<Fault>>>,
    /// Requests that have come so far.
    requests: Arc<AtomicUsize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// It is refused with this status, without any effect.
    Status(u16),
    /// It succeeds, but the response is lost.
    ResponseLost,
    /// It is never answered.
    Silence,
    /// The response is unusable.
    Garbage,
}

/// A customer with a key, which shows the add-ons.
struct Customer {
    account: AccountId,
    key: Key,
}

impl TestShop {
    async fn open(database: &Database) -> Self {
        Self::with(database, &settings()).await
    }

    async fn with(database: &Database, settings: &PaymentsConfig) -> Self {
        let accounts = Accounts::new(database.clone(), &AccountsConfig::default()).await.unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sandbox, deliveries) = Sandbox::new(url).unwrap();
        let faults = FaultInjector::default();
        let router = sandbox
            .router()
            .layer(middleware::from_fn_with_state(faults.clone(), FaultInjector::inject));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let settings = with_providers(&sandbox, settings);
        let url = "http://hub.test";
        let payments =
            Payments::new(&accounts, CurrentCatalogue::new(catalogue()), url, &settings).unwrap();
        Self { accounts, payments, sandbox, deliveries, faults }
    }

    async fn customer(&self, email: &str) -> Customer {
        let key = self.accounts.create_key(Some(email), &[], NOW).await.unwrap();
        let caller = self.accounts.authenticate(key.expose(), HERE, NOW).await.unwrap().unwrap();
        Customer { account: caller.account, key }
    }

    async fn begin(
        &self,
        by: &Customer,
        addon: Addon,
        months: u32,
        method: PaymentMethod,
    ) -> Order {
        self.payments.begin(by.account, addon, months, method, NOW).await.unwrap()
    }

    /// Opens a checkout that the customer pays at the provider. The hub does not know of it yet.
    async fn pay(&self, by: &Customer, addon: Addon, months: u32, method: PaymentMethod) -> Order {
        let order = self.begin(by, addon, months, method).await;
        self.click(&order, "pay").await;
        order
    }

    /// The order as it is stored now.
    async fn reload(&self, order: &Order) -> Order {
        self.payments.order(&order.id, order.account).await.unwrap()
    }

    /// The customer clicks.
    async fn click(&self, order: &Order, action: &str) -> reqwest::Response {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(base::tls::without_authorities().as_ref().clone())
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        let request = client.post(order.checkout_url.clone().unwrap());
        let form = "application/x-www-form-urlencoded";
        let request = request.header("content-type", form).body(format!("action={action}"));
        request.send().await.unwrap()
    }

    /// Opens an order, pays it and returns to the hub.
    async fn buy(
        &self,
        by: &Customer,
        addon: Addon,
        months: u32,
        method: PaymentMethod,
        at: Micros,
    ) -> Order {
        let order = self.payments.begin(by.account, addon, months, method, at).await.unwrap();
        assert_eq!(self.click(&order, "pay").await.status(), 303);
        let order = self.payments.returned(&order.id, by.account, at).await.unwrap();
        assert_eq!(order.state(), OrderState::Paid, "{method}");
        order
    }

    /// The next webhook.
    async fn next_webhook(&mut self) -> Delivery {
        timeout(WAIT, self.deliveries.recv()).await.expect("a webhook in time").expect("a sandbox")
    }

    /// Delivers a webhook.
    async fn deliver(&self, delivery: &Delivery) -> Result<(), super::WebhookError> {
        let method = match delivery.provider {
            Provider::Stripe => PaymentMethod::Card,
            Provider::Paypal => PaymentMethod::Paypal,
        };
        self.payments.webhook(method, &delivery.headers, &delivery.body, now()).await
    }

    /// Delivers all pending webhooks of the sandbox.
    async fn deliver_all(&mut self) {
        while let Ok(delivery) = self.deliveries.try_recv() {
            self.deliver(&delivery).await.unwrap();
        }
    }

    /// The days that are left of an add-on, counted from a moment.
    async fn days_left(&self, customer: &Customer, addon: Addon, from: Micros) -> i64 {
        let caller =
            self.accounts.authenticate(customer.key.expose(), HERE, from).await.unwrap().unwrap();
        caller.expiry(addon).map_or(0, |expiry| (expiry - from) / DAY)
    }

    /// Checks that the ledger is consistent: its days are those of its orders, its amounts are the
    /// payments minus the refunds, and there is a mail with a receipt for each amount.
    async fn check_ledger(&self, customer: &Customer) {
        let ledger = self.payments.ledger(customer.account).await.unwrap();
        for order in self.payments.orders(customer.account).await.unwrap() {
            let rows = || ledger.iter().filter(|row| row.order.as_ref() == Some(&order.id));
            assert_eq!(rows().map(|row| row.days).sum::<i64>(), order.days_due(), "{order:?}");
            assert_eq!(order.days_granted, order.days_due(), "{order:?}");
            assert_eq!(rows().map(|row| row.amount).sum::<Decimal>(), order.amount_due());
        }
        let receipts: Vec<String> = sqlx::query_scalar(
            "SELECT mails.kind FROM mails JOIN accounts ON accounts.email = mails.address \
             WHERE accounts.id = $1 AND mails.content IS NOT NULL ORDER BY mails.kind",
        )
        .bind(customer.account.0)
        .fetch_all(self.accounts.database().pool())
        .await
        .unwrap();
        let amounts = ledger.iter().filter(|row| row.order.is_some() && !row.amount.is_zero());
        let mut expected: Vec<_> = amounts
            .map(|row| if row.amount.is_sign_negative() { "refund" } else { "receipt" })
            .collect();
        expected.sort_unstable();
        assert_eq!(receipts, expected, "{ledger:?}");
    }

    async fn outcomes(&self) -> Vec<String> {
        let outcomes =
            sqlx::query_scalar("SELECT outcome FROM webhooks ORDER BY received_us, outcome");
        outcomes.fetch_all(self.accounts.database().pool()).await.unwrap()
    }
}

impl FaultInjector {
    fn expect(&self, faults: impl IntoIterator<Item = Fault>) {
        self.next.lock().unwrap().extend(faults);
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    async fn inject(State(faults): State<Self>, request: Request, next: Next) -> Response {
        faults.requests.fetch_add(1, Ordering::Relaxed);
        let fault = faults.next.lock().unwrap().pop_front().unwrap_or(Fault::None);
        match fault {
            Fault::None => next.run(request).await,
            Fault::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
            Fault::ResponseLost => {
                drop(next.run(request).await);
                StatusCode::BAD_GATEWAY.into_response()
            }
            Fault::Silence => std::future::pending().await,
            Fault::Garbage => "<html>it works!</html>".into_response(),
        }
    }
}

/// The settings that direct payments to the sandbox.
fn with_providers(sandbox: &Sandbox, config: &PaymentsConfig) -> PaymentsConfig {
    let access = sandbox.access();
    PaymentsConfig {
        stripe_url: access.url.clone(),
        stripe_key: (&*access.stripe_key).into(),
        stripe_webhook_secret: (&*access.stripe_signing).into(),
        paypal_url: access.url.clone(),
        paypal_client_id: access.paypal_client.clone(),
        paypal_client_secret: (&*access.paypal_secret).into(),
        paypal_webhook_id: access.paypal_webhook.clone(),
        ..config.clone()
    }
}

/// The status and the text of a page.
async fn page(url: &str) -> (u16, String) {
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(base::tls::without_authorities().as_ref().clone())
        .build()
        .unwrap();
    let answer = client.get(url).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

fn settings() -> PaymentsConfig {
    PaymentsConfig { retry_ms: 1, timeout_ms: 5_000, ..PaymentsConfig::default() }
}

fn catalogue() -> Catalogue {
    let general = Catalogue {
        currency: "USD".to_owned(),
        monthly: [dec!(3), dec!(5.00), dec!(5.00)],
        monthly_for_founders: [Some(dec!(1.50)), Some(dec!(2.50)), None],
        odds_free_until: None,
        tax_percent: None,
        countries: BTreeMap::new(),
    };
    let swiss = Catalogue {
        currency: "CHF".to_owned(),
        monthly: [dec!(4), dec!(6), dec!(6)],
        tax_percent: Some(dec!(8.1)),
        ..general.clone()
    };
    Catalogue { countries: BTreeMap::from([(SWITZERLAND.parse().unwrap(), swiss)]), ..general }
}
