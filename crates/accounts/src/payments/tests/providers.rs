//! Providers that fail, are slow, or send unusable responses.

use super::*;

const HOUR: Micros = 60 * 60 * 1_000_000;

fn is_unreachable(error: &PaymentError) -> bool {
    matches!(error, PaymentError::Provider(ProviderError::Unreachable { .. }))
}

#[tokio::test]
async fn failing_provider_is_retried_and_opens_one_checkout() {
    on_each_shop(async |shop| {
        for method in PaymentMethod::ALL {
            let customer = shop.customer(method.as_str()).await;
            // With PayPal the first request fetches the token.
            shop.faults.expect([Fault::Status(500), Fault::ResponseLost]);
            let order = shop.begin(&customer, Addon::Sports, 1, method).await;
            assert_eq!(order.state(), OrderState::Open);
            shop.faults.next.lock().unwrap().clear();
        }
        let (_, list) = page(&format!("{}/", shop.sandbox.access().url)).await;
        assert_eq!(list.matches("<li>").count(), 2, "{list}");
    })
    .await;
}

#[tokio::test]
async fn checkout_of_an_unresponsive_provider_is_found_by_the_sweep() {
    let impatient = PaymentsConfig { timeout_ms: 2_000, attempts: 1, ..settings() };
    on_each_shop_with(&impatient, async |shop| {
        for method in PaymentMethod::ALL {
            let customer = shop.customer(method.as_str()).await;
            shop.faults.expect([Fault::Silence]);
            let begun = shop.payments.begin(customer.account, Addon::Odds, 1, method, NOW).await;
            let error = begun.unwrap_err();
            assert!(is_unreachable(&error), "{error:?}");
            assert_eq!(error.to_string(), "the payment provider refused or did not respond");
            let orders = shop.payments.orders(customer.account).await.unwrap();
            assert_eq!((orders.len(), orders[0].state()), (1, OrderState::Open));

            // The hub finds its checkout, and the customer can still pay it.
            shop.payments.sweep(NOW + HOUR).await.unwrap();
            let order = shop.payments.order(&orders[0].id, customer.account).await.unwrap();
            assert_eq!(shop.click(&order, "pay").await.status(), 303);
            let paid = shop.payments.returned(&order.id, customer.account, NOW).await.unwrap();
            assert_eq!(paid.state(), OrderState::Paid);
        }
    })
    .await;
}

#[tokio::test]
async fn unusable_response_opens_no_checkout_and_grants_nothing() {
    on_each(async |database| {
        let shop = TestShop::open(&database).await;
        let customer = shop.customer("a@b").await;
        for fault in [Fault::Garbage, Fault::Status(400), Fault::Status(302)] {
            shop.faults.expect([fault]);
            let begun = shop
                .payments
                .begin(customer.account, Addon::Odds, 1, PaymentMethod::Card, NOW)
                .await;
            assert!(matches!(begun, Err(PaymentError::Provider(_))), "{fault:?}: {begun:?}");
            let latest = &shop.payments.orders(customer.account).await.unwrap()[0];
            assert_eq!(latest.state(), OrderState::Closed, "{fault:?}");
            sqlx::query("DELETE FROM orders").execute(database.pool()).await.unwrap();
        }
        let order = shop.pay(&customer, Addon::Odds, 1, PaymentMethod::Card).await;
        shop.faults.expect([Fault::Garbage]);
        let back = shop.payments.returned(&order.id, customer.account, NOW).await;
        let nonsense = ProviderError::Unusable { why: "it is no JSON" };
        assert!(matches!(back, Err(PaymentError::Provider(error)) if error == nonsense));
        assert_eq!(shop.days_left(&customer, Addon::Odds, NOW).await, 0);
        shop.payments.returned(&order.id, customer.account, NOW).await.unwrap();
        assert_eq!(shop.days_left(&customer, Addon::Odds, NOW).await, 30);
    })
    .await;
}

#[tokio::test]
async fn rejected_token_is_replaced_once() {
    on_each_shop(async |shop| {
        let customer = shop.customer("a@b").await;
        shop.begin(&customer, Addon::Odds, 1, PaymentMethod::Paypal).await;
        shop.faults.expect([Fault::Status(401)]);
        shop.begin(&customer, Addon::Odds, 1, PaymentMethod::Paypal).await;
        // A token that is rejected again is not requested endlessly.
        shop.faults.expect([Fault::Status(401), Fault::None, Fault::Status(401)]);
        let refused =
            shop.payments.begin(customer.account, Addon::Odds, 1, PaymentMethod::Paypal, NOW);
        let refused = refused.await;
        let Err(PaymentError::Provider(ProviderError::Refused { status, .. })) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(status, 401);
    })
    .await;
}

/// The process ended after PayPal captured the payment: nothing was stored.
#[tokio::test]
async fn capture_with_a_lost_response_is_found_by_the_sweep() {
    let once = PaymentsConfig { attempts: 1, ..settings() };
    on_each_shop_with(&once, async |shop| {
        let customer = shop.customer("a@b").await;
        let order = shop.pay(&customer, Addon::Odds, 1, PaymentMethod::Paypal).await;
        shop.faults.expect([Fault::None, Fault::ResponseLost]);
        let lost = shop.payments.returned(&order.id, customer.account, NOW).await;
        assert!(is_unreachable(&lost.unwrap_err()));
        assert_eq!(shop.days_left(&customer, Addon::Odds, NOW).await, 0);

        assert_eq!(shop.payments.sweep(NOW + 4 * 60 * 1_000_000).await.unwrap(), 0, "too early");
        assert_eq!(shop.payments.sweep(NOW + HOUR).await.unwrap(), 1);
        let order = shop.reload(&order).await;
        assert_eq!(order.state(), OrderState::Paid);
        assert_eq!(shop.days_left(&customer, Addon::Odds, NOW + HOUR).await, 30);
        assert_eq!(shop.payments.sweep(NOW + 2 * HOUR).await.unwrap(), 0, "it is settled");
    })
    .await;
}

#[tokio::test]
async fn unpaid_orders_are_closed_eventually() {
    on_each_shop(async |shop| {
        let customer = shop.customer("a@b").await;
        let forgotten = shop.begin(&customer, Addon::Odds, 1, PaymentMethod::Paypal).await;
        let turned_back = shop.begin(&customer, Addon::Odds, 1, PaymentMethod::Card).await;
        let closed = shop.payments.cancelled(&turned_back.id, customer.account, NOW).await.unwrap();
        assert_eq!(closed.state(), OrderState::Closed);
        // At the provider too.
        shop.click(&closed, "pay").await;
        let still = shop.payments.returned(&closed.id, customer.account, NOW).await.unwrap();
        assert_eq!(still.state(), OrderState::Closed);

        let mut requests = 0;
        for hour in 1..100 {
            requests += shop.payments.sweep(NOW + hour * HOUR).await.unwrap();
        }
        let state = shop.reload(&forgotten).await.state();
        assert_eq!(state, OrderState::Closed);
        assert!((2..15).contains(&requests), "{requests} requests about it");
    })
    .await;
}

/// Cancelled here, paid there: the money counts.
#[tokio::test]
async fn payment_after_cancellation_counts() {
    on_each_shop(async |mut shop| {
        let customer = shop.customer("a@b").await;
        let order = shop.pay(&customer, Addon::Odds, 1, PaymentMethod::Card).await;
        let order = shop.payments.cancelled(&order.id, customer.account, NOW).await.unwrap();
        assert_eq!((order.state(), order.days_granted), (OrderState::Paid, 30));
        let late = shop.begin(&customer, Addon::Odds, 1, PaymentMethod::Paypal).await;
        shop.payments.cancelled(&late.id, customer.account, NOW).await.unwrap();
        shop.click(&late, "pay").await;
        shop.deliver_all().await;
        let late = shop.reload(&late).await;
        assert_eq!((late.state(), late.days_granted), (OrderState::Paid, 30));
    })
    .await;
}

#[tokio::test]
async fn debug_output_and_errors_have_no_secrets() {
    on_each_shop(async |shop| {
        let customer = shop.customer("a@b").await;
        let config = with_providers(&shop.sandbox, &settings());
        let key = config.stripe_key.resolve().unwrap();
        shop.faults.expect([Fault::Status(401)]);
        let error =
            shop.payments.begin(customer.account, Addon::Odds, 1, PaymentMethod::Card, NOW).await;
        let provider = shop.payments.provider(PaymentMethod::Card).unwrap();
        let shown = format!("{:?} {config:?} {error:?} {provider:?}", shop.payments);
        assert!(!shown.contains(key.expose()), "{shown}");
        let gone = PaymentsConfig { stripe_key: "file:/nowhere/key".into(), ..config };
        let error = Payments::new(&shop.accounts, CurrentCatalogue::new(catalogue()), "", &gone)
            .unwrap_err();
        assert_eq!(error.to_string(), "payments.stripe_key: a secret is missing");
    })
    .await;
}
