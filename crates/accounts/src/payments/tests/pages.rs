//! The sandbox's own pages, and where it may run.

use tokio::sync::watch;

use super::*;
use crate::payments::sandbox::SandboxError;

async fn page(url: &str) -> (u16, String) {
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(base::tls::without_authorities().as_ref().clone())
        .build()
        .unwrap();
    let answer = client.get(url).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn sandbox_refuses_to_run_if_the_hub_is_public() {
    let (_stop, stopped) = watch::channel(false);
    for hub in ["0.0.0.0:80", "192.0.2.1:80", "[::]:80"] {
        let started = Sandbox::start(hub.parse().unwrap(), String::new(), None, stopped.clone());
        assert!(matches!(started.await, Err(SandboxError::NotLoopback { .. })), "{hub}");
    }
}

#[tokio::test]
async fn sandbox_page_shows_the_order_and_takes_a_payment() {
    on_each_shop(async |shop| {
        let customer = shop.customer("a@b").await;
        let order = shop.begin(&customer, Addon::Sports, 3, PaymentMethod::Paypal).await;
        let url = order.checkout_url.clone().unwrap();
        let (status, text) = page(&url).await;
        assert_eq!(status, 200);
        for part in ["Sandbox", "Sports add-on, 30 days × 3", "$15", "value=\"cancel\""] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let answer = shop.click(&order, "cancel").await;
        let way = format!("http://hub.test/checkout/{}/cancel/", order.id);
        assert_eq!(answer.headers()["location"], *way);
        shop.click(&order, "pay").await;
        // Twice makes no second payment.
        assert_eq!(shop.click(&order, "pay").await.status(), 303);
        assert!(!page(&url).await.1.contains("value=\"pay\""));
        assert_eq!(shop.click(&order, "fly").await.status(), 400);
        let (status, _) = page(&format!("{}/pay/none", shop.sandbox.url())).await;
        assert_eq!(status, 404);
        let (_, list) = page(&format!("{}/", shop.sandbox.url())).await;
        assert!(list.contains(order.checkout.as_deref().unwrap()), "{list}");
    })
    .await;
}

/// Titles come from requests.
#[tokio::test]
async fn sandbox_page_escapes_titles() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let (sandbox, _deliveries) =
        Sandbox::new(format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let (_stop, stopped) = watch::channel(false);
    tokio::spawn(sandbox.clone().serve(listener, stopped));
    let id = sandbox.insert_checkout("<script>alert(1)</script>");
    let (status, text) = page(&format!("{}/pay/{id}", sandbox.url())).await;
    assert_eq!(status, 200);
    assert!(!text.contains("<script>"), "{text}");
}
