//! Both payment providers in one, over real HTTP: the parts of Stripe's and PayPal's APIs that a
//! purchase uses, and their webhooks. Its state survives any crash of the hub.

use std::{
    collections::{BTreeMap, HashMap},
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Json, Router, body::Bytes, extract::State};
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use hyper::{HeaderMap, Method, StatusCode, Uri};
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
    task::JoinHandle,
    time,
};

use super::{Setting, http};

const WEBHOOK_SECRET: &str = "whsec_of_the_test";
/// The interval between two attempts of a webhook. Real providers wait longer.
const TRY_AGAIN: Duration = Duration::from_millis(100);
/// The capacity for webhooks to send.
const WAITING_MAX: usize = 10_000;

/// The provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PaymentMethod {
    Card,
    Paypal,
}

impl PaymentMethod {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::Paypal => "paypal",
        }
    }
}

/// The state of a checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    /// The customer has agreed; the hub must capture the money. PayPal only.
    Approved,
    Paid,
}

#[derive(Debug, Clone)]
pub(crate) struct Checkout {
    id: String,
    rail: PaymentMethod,
    /// The hub's own name of the purchase.
    pub(crate) order: String,
    pub(crate) hundredths: i64,
    stage: Stage,
}

/// A webhook to send.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    rail: PaymentMethod,
    body: String,
}

/// Serves until dropped.
pub(crate) struct Bank {
    ledger: Arc<Ledger>,
    address: SocketAddr,
    serving: JoinHandle<()>,
}

struct Ledger {
    /// By the hub's order.
    checkouts: Mutex<BTreeMap<String, Checkout>>,
    /// The response under each idempotency key.
    answered: Mutex<HashMap<String, Value>>,
    numbers: AtomicUsize,
    events: mpsc::Sender<Event>,
    /// How many customers have paid or agreed.
    agreed: watch::Sender<usize>,
}

impl Bank {
    /// The bank, and its outgoing webhooks.
    pub(crate) async fn open() -> (Self, mpsc::Receiver<Event>) {
        let (events, waiting) = mpsc::channel(WAITING_MAX);
        let ledger = Arc::new(Ledger {
            checkouts: Mutex::default(),
            answered: Mutex::default(),
            numbers: AtomicUsize::default(),
            events,
            agreed: watch::Sender::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let router = Router::new().fallback(answer).with_state(Arc::clone(&ledger));
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let service = TowerToHyperService::new(router.clone());
                let connection = hyper::server::conn::http1::Builder::new();
                tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
            }
        });
        (Self { ledger, address, serving }, waiting)
    }

    /// The settings of a hub whose customers pay here.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        let url: &str = format!("http://{}", self.address).leak();
        vec![
            ("PAYMENTS_STRIPE_URL", url),
            ("PAYMENTS_STRIPE_KEY", "sk_of_the_test"),
            ("PAYMENTS_STRIPE_WEBHOOK_SECRET", WEBHOOK_SECRET),
            ("PAYMENTS_PAYPAL_URL", url),
            ("PAYMENTS_PAYPAL_CLIENT_ID", "client"),
            ("PAYMENTS_PAYPAL_CLIENT_SECRET", "secret"),
            ("PAYMENTS_PAYPAL_WEBHOOK_ID", "webhook"),
            // A hub that is killed repeatedly receives the same webhook many times.
            ("PAYMENTS_WEBHOOK_CHECKS_PER_MINUTE", "1000000"),
        ]
    }

    /// The customer pays, or agrees to pay, on the provider's page.
    pub(crate) async fn agree(&self, order: &str) {
        let event = {
            let mut checkouts = self.ledger.checkouts.lock().expect("no panic");
            let checkout = checkouts.get_mut(order).expect("a checkout was opened for the order");
            if checkout.stage != Stage::Open {
                return;
            }
            checkout.stage = match checkout.rail {
                PaymentMethod::Card => Stage::Paid,
                PaymentMethod::Paypal => Stage::Approved,
            };
            match checkout.rail {
                PaymentMethod::Card => {
                    self.ledger.event("checkout.session.completed", &checkout.session())
                }
                PaymentMethod::Paypal => {
                    self.ledger.event("CHECKOUT.ORDER.APPROVED", &checkout.paypal())
                }
            }
        };
        self.ledger.events.send(event).await.expect("the sender is running");
        self.ledger.agreed.send_modify(|count| *count += 1);
    }

    /// Waits until this many customers have agreed.
    pub(crate) async fn agreed(&self, count: usize) {
        let mut agreed = self.ledger.agreed.subscribe();
        agreed.wait_for(|agreed| *agreed >= count).await.expect("the bank is open");
    }

    /// Everything for which money was taken.
    pub(crate) fn paid(&self) -> Vec<Checkout> {
        let checkouts = self.ledger.checkouts.lock().expect("no panic");
        checkouts.values().filter(|it| it.stage == Stage::Paid).cloned().collect()
    }
}

impl Drop for Bank {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Event {
    /// Sends it to the hub until it is accepted.
    pub(crate) async fn deliver(&self, hub: &str) {
        while !self.send(hub).await {
            time::sleep(TRY_AGAIN).await;
        }
    }

    async fn send(&self, hub: &str) -> bool {
        let length = self.body.len().to_string();
        let (signature, time) = (self.signature(), Timestamp::now().to_string());
        let mut headers = vec![("content-type", "application/json"), ("content-length", &*length)];
        let path = match self.rail {
            PaymentMethod::Card => {
                headers.push(("stripe-signature", &signature));
                "/webhooks/stripe/"
            }
            PaymentMethod::Paypal => {
                headers.extend(paypal_signature(&time, "good"));
                "/webhooks/paypal/"
            }
        };
        let answer = http::try_request(hub, "POST", path, &headers, self.body.as_bytes()).await;
        answer.is_ok_and(|answer| (200..300).contains(&answer.status))
    }

    fn signature(&self) -> String {
        let time = Timestamp::now().as_second();
        let mut mac = Hmac::<Sha256>::new_from_slice(WEBHOOK_SECRET.as_bytes()).expect("any key");
        mac.update(format!("{time}.{}", self.body).as_bytes());
        format!("t={time},v1={}", HEXLOWER.encode(&mac.finalize().into_bytes()))
    }
}

/// The headers with which PayPal signs a webhook; signatures equal to `good` are valid.
pub(crate) fn paypal_signature<'a>(
    time: &'a str,
    signature: &'a str,
) -> [(&'static str, &'a str); 5] {
    [
        ("paypal-auth-algo", "SHA256withRSA"),
        ("paypal-cert-url", "https://api.paypal.com/v1/notifications/certs/CERT-1"),
        ("paypal-transmission-id", "505fcad0-acfc-11e6-8e5f-13662a490b19"),
        ("paypal-transmission-time", time),
        ("paypal-transmission-sig", signature),
    ]
}

impl Checkout {
    /// In the format of its provider.
    fn shown(&self) -> Value {
        match self.rail {
            PaymentMethod::Card => self.session(),
            PaymentMethod::Paypal => self.paypal(),
        }
    }

    fn is(&self, stage: Stage) -> bool {
        self.stage == stage
    }

    fn amount(&self) -> Value {
        let value = format!("{}.{:02}", self.hundredths / 100, self.hundredths % 100);
        json!({"value": value, "currency_code": "USD"})
    }

    /// In Stripe's format.
    fn session(&self) -> Value {
        let paid = self.is(Stage::Paid);
        let charge = json!({"amount_refunded": 0, "currency": "usd"});
        let intent = json!({"id": format!("pi_{}", self.id), "latest_charge": charge});
        json!({
            "id": self.id,
            "url": format!("https://checkout.test/{}", self.id),
            "status": if paid { "complete" } else { "open" },
            "payment_status": if paid { "paid" } else { "unpaid" },
            "amount_total": self.hundredths,
            "currency": "usd",
            "client_reference_id": self.order,
            "payment_intent": if paid { intent } else { Value::Null },
        })
    }

    fn capture(&self) -> Value {
        json!({
            "id": format!("CAP{}", self.id),
            "status": "COMPLETED",
            "amount": self.amount(),
            "custom_id": self.order,
            "supplementary_data": {"related_ids": {"order_id": self.id}},
        })
    }

    /// In PayPal's format.
    fn paypal(&self) -> Value {
        let status = match self.stage {
            Stage::Open => "PAYER_ACTION_REQUIRED",
            Stage::Approved => "APPROVED",
            Stage::Paid => "COMPLETED",
        };
        let mut unit = json!({"custom_id": self.order, "amount": self.amount()});
        if self.is(Stage::Paid) {
            unit["payments"] = json!({"captures": [self.capture()]});
        }
        let href = format!("https://paypal.test/{}", self.id);
        json!({
            "id": self.id,
            "status": status,
            "purchase_units": [unit],
            "links": [{"rel": "payer-action", "href": href}],
        })
    }
}

async fn answer(
    State(ledger): State<Arc<Ledger>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Json<Value>) {
    let body = String::from_utf8_lossy(&body);
    let key = |name: &str| headers.get(name).and_then(|key| key.to_str().ok());
    let key = key("idempotency-key").or_else(|| key("paypal-request-id")).map(str::to_owned);
    let parts: Vec<&str> = uri.path().split('/').skip(1).collect();
    let (status, answer) = match (method.as_str(), &parts[..]) {
        ("POST", ["v1", "checkout", "sessions"]) => (200, ledger.open(key, || of_form(&body))),
        ("POST", ["v2", "checkout", "orders"]) => (201, ledger.open(key, || of_json(&body))),
        ("GET", ["v1", "checkout", "sessions", id] | ["v2", "checkout", "orders", id]) => {
            ledger.show(id)
        }
        ("POST", ["v2", "checkout", "orders", id, "capture"]) => ledger.capture(id).await,
        ("POST", ["v1", "oauth2", "token"]) => {
            (200, json!({"access_token": "token", "expires_in": 3600}))
        }
        ("POST", ["v1", "notifications", "verify-webhook-signature"]) => {
            let good = body.contains("\"transmission_sig\":\"good\"");
            (200, json!({"verification_status": if good { "SUCCESS" } else { "FAILURE" }}))
        }
        _ => (404, json!({"error": {"code": "no_such_thing"}})),
    };
    (StatusCode::from_u16(status).expect("a status"), Json(answer))
}

/// The payment method, the hub's order and the amount in hundredths, from a Stripe request.
fn of_form(body: &str) -> (PaymentMethod, String, i64) {
    let form = reqwest::Url::parse(&format!("http://form/?{body}")).expect("a form");
    let field = |name: &str| {
        let value = form.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value);
        value.unwrap_or_else(|| panic!("{name} is missing: {body}")).into_owned()
    };
    let number = |name: &str| field(name).parse::<i64>().expect("a number");
    let unit = number("line_items[0][price_data][unit_amount]");
    (PaymentMethod::Card, field("client_reference_id"), unit * number("line_items[0][quantity]"))
}

/// The same from a PayPal request.
fn of_json(body: &str) -> (PaymentMethod, String, i64) {
    let body: Value = serde_json::from_str(body).expect("JSON");
    let unit = &body["purchase_units"][0];
    let value = unit["amount"]["value"].as_str().expect("an amount is text");
    let value: rust_decimal::Decimal = value.parse().expect("an amount is a number");
    let hundredths = (value * rust_decimal::Decimal::ONE_HUNDRED).try_into().expect("it fits");
    (PaymentMethod::Paypal, unit["custom_id"].as_str().expect("the order").to_owned(), hundredths)
}

impl Ledger {
    /// The same checkout if it is requested again under the same key.
    fn open(
        &self,
        key: Option<String>,
        wanted: impl Fn() -> (PaymentMethod, String, i64),
    ) -> Value {
        let key = key.expect("what does something has an idempotency key");
        let mut answered = self.answered.lock().expect("no panic");
        let first = || {
            let (rail, order, hundredths) = wanted();
            let number = self.numbers.fetch_add(1, Ordering::Relaxed);
            let id = match rail {
                PaymentMethod::Card => format!("cs_{number}"),
                PaymentMethod::Paypal => format!("PAYID{number}"),
            };
            let checkout = Checkout { id, rail, order, hundredths, stage: Stage::Open };
            let shown = checkout.shown();
            let mut checkouts = self.checkouts.lock().expect("no panic");
            let twice = checkouts.insert(checkout.order.clone(), checkout);
            assert!(twice.is_none(), "two checkouts for one order: {twice:?}");
            shown
        };
        answered.entry(key).or_insert_with(first).clone()
    }

    fn show(&self, id: &str) -> (u16, Value) {
        let checkouts = self.checkouts.lock().expect("no panic");
        match checkouts.values().find(|it| it.id == id) {
            Some(checkout) => (200, checkout.shown()),
            None => (404, json!({"error": {"code": "resource_missing"}})),
        }
    }

    /// Captures the money that the customer agreed to pay.
    async fn capture(&self, id: &str) -> (u16, Value) {
        let issue = |issue: &str| (422, json!({"details": [{"issue": issue}]}));
        let (shown, event) = {
            let mut checkouts = self.checkouts.lock().expect("no panic");
            let Some(checkout) = checkouts.values_mut().find(|it| it.id == id) else {
                return (404, json!({}));
            };
            match checkout.stage {
                Stage::Open => return issue("ORDER_NOT_APPROVED"),
                Stage::Paid => return issue("ORDER_ALREADY_CAPTURED"),
                Stage::Approved => checkout.stage = Stage::Paid,
            }
            (checkout.shown(), self.event("PAYMENT.CAPTURE.COMPLETED", &checkout.capture()))
        };
        self.events.send(event).await.expect("the sender is running");
        (201, shown)
    }

    fn event(&self, kind: &str, object: &Value) -> Event {
        let id = format!("evt_{}", self.numbers.fetch_add(1, Ordering::Relaxed));
        if kind.starts_with("checkout.") {
            let body = json!({"id": id, "type": kind, "data": {"object": object}});
            return Event { rail: PaymentMethod::Card, body: body.to_string() };
        }
        let body = json!({"id": id, "event_type": kind, "resource": object});
        Event { rail: PaymentMethod::Paypal, body: body.to_string() }
    }
}
