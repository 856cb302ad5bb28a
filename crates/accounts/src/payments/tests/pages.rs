//! The pages of the simulated providers.

use super::*;

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
        let (status, _) = page(&format!("{}/pay/none", shop.sandbox.access().url)).await;
        assert_eq!(status, 404);
        let (_, list) = page(&format!("{}/", shop.sandbox.access().url)).await;
        assert!(list.contains(order.checkout.as_deref().unwrap()), "{list}");
    })
    .await;
}
