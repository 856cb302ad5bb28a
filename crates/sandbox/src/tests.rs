//! The sandbox's own pages, and where it may run. The tests of payments in `accounts` use its APIs.

use rust_decimal::Decimal;

use super::*;
use crate::state::{Checkout, CheckoutState, Price};

#[tokio::test]
async fn sandbox_refuses_to_run_if_the_hub_is_public() {
    let (_stop, stopped) = watch::channel(false);
    for hub in ["0.0.0.0:80", "192.0.2.1:80", "[::]:80"] {
        let started = Sandbox::start(hub.parse().unwrap(), String::new(), None, stopped.clone());
        assert!(matches!(started.await, Err(SandboxError::NotLoopback { .. })), "{hub}");
    }
}

/// Titles come from requests.
#[tokio::test]
async fn sandbox_page_escapes_titles() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let (sandbox, _deliveries) =
        Sandbox::new(format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let (_stop, stopped) = watch::channel(false);
    tokio::spawn(sandbox.clone().serve(listener, stopped));
    let checkout = Checkout {
        id: "one".to_owned(),
        provider: Provider::Stripe,
        order: String::new(),
        title: "<script>alert(1)</script>".to_owned(),
        price: Price { amount: Decimal::ONE, currency: "USD".to_owned() },
        back: String::new(),
        cancel: String::new(),
        state: CheckoutState::Open,
        payment: None,
        refunds: Vec::new(),
        lost: Decimal::ZERO,
    };
    sandbox.state().checkouts.push_back(checkout);
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(base::tls::without_authorities().as_ref().clone())
        .build()
        .unwrap();
    let page = client.get(format!("{}/pay/one", sandbox.access().url)).send().await.unwrap();
    assert_eq!(page.status(), 200);
    let text = page.text().await.unwrap();
    assert!(!text.contains("<script>"), "{text}");
}
