//! Webhooks: forged, old, repeated, of the wrong amount, of things unknown.

use axum::http::HeaderMap;
use sandbox::signature;
use serde_json::{Value, json};

use super::*;
use crate::payments::WebhookError;

impl TestShop {
    /// An event as Stripe would sign it.
    fn signed(&self, event: &Value, at: Micros) -> Delivery {
        let secret = self.sandbox.access().stripe_signing.as_bytes();
        let body = event.to_string().into_bytes();
        let signature = signature::header(at / 1_000_000, &body, secret);
        let headers = HeaderMap::from_iter([(
            "stripe-signature".parse().unwrap(),
            signature.parse().unwrap(),
        )]);
        Delivery { provider: Provider::Stripe, headers, body }
    }

    fn completed(&self, order: &str, amount: i64, currency: &str) -> Delivery {
        let event = json!({"id": format!("evt_{order}_{amount}_{currency}"),
            "type": "checkout.session.completed", "data": {"object": {
                "id": "cs_x", "status": "complete", "payment_status": "paid",
                "amount_total": amount, "currency": currency,
                "client_reference_id": order, "payment_intent": "pi_x"}}});
        self.signed(&event, now())
    }
}

#[tokio::test]
async fn wrong_amount_or_currency_is_recorded_and_grants_nothing() {
    on_each_shop(async |shop| {
        let customer = shop.customer("a@b").await;
        let order = shop.begin(&customer, Addon::Sports, 1, PaymentMethod::Card).await;
        for (amount, currency) in
            [(499, "usd"), (1, "usd"), (50_000, "usd"), (500, "eur"), (-500, "usd")]
        {
            shop.deliver(&shop.completed(&order.id, amount, currency)).await.unwrap();
        }
        let order = shop.reload(&order).await;
        assert_eq!((order.state(), order.payment.as_deref()), (OrderState::Open, None));
        assert_eq!(shop.days_left(&customer, Addon::Sports, NOW).await, 0);
        let mut outcomes = shop.outcomes().await;
        outcomes.sort();
        let (amount, currency) = ("wrong amount", "wrong currency");
        assert_eq!(outcomes, [amount, amount, amount, amount, currency]);
        shop.deliver(&shop.completed(&order.id, 500, "usd")).await.unwrap();
        assert_eq!(shop.days_left(&customer, Addon::Sports, now()).await, 29);
    })
    .await;
}

#[tokio::test]
async fn lost_dispute_takes_the_rest_back_once_and_one_that_is_won_nothing() {
    on_each_shop(async |mut shop| {
        let customer = shop.customer("a@b").await;
        let order = shop.buy(&customer, Addon::Sports, 1, PaymentMethod::Card, NOW).await;
        shop.payments.refund(&order.id, Some(dec!(1)), NOW).await.unwrap();
        shop.deliver_all().await;
        let payment = shop.reload(&order).await.payment;
        let closed = |status: &str| {
            json!({"id": format!("evt_{status}"), "type": "charge.dispute.closed", "data": {"object": {
                "amount": 400, "currency": "usd", "status": status, "payment_intent": payment}}})
        };
        shop.deliver(&shop.signed(&closed("won"), now())).await.unwrap();
        assert_eq!(shop.days_left(&customer, Addon::Sports, NOW).await, 24);
        for _ in 0..2 {
            shop.deliver(&shop.signed(&closed("lost"), now())).await.unwrap();
            let order = shop.reload(&order).await;
            assert_eq!((order.state(), order.refunded), (OrderState::Refunded, dec!(5.00)));
            assert_eq!(shop.days_left(&customer, Addon::Sports, NOW).await, 0);
        }
        shop.check_ledger(&customer).await;

        // The same in the sandbox, which the demo's operator can click through.
        let order = shop.buy(&customer, Addon::Odds, 1, PaymentMethod::Card, NOW).await;
        shop.click(&order, "dispute").await;
        shop.deliver_all().await;
        assert_eq!(shop.reload(&order).await.state(), OrderState::Refunded);
        assert_eq!(shop.days_left(&customer, Addon::Odds, NOW).await, 0);
        shop.check_ledger(&customer).await;
    })
    .await;
}

/// Providers report out of order. A dispute names only the payment, which the hub learns with the payment.
#[tokio::test]
async fn lost_dispute_before_its_payment_is_put_off_and_applied_when_it_is_repeated() {
    on_each_shop(async |mut shop| {
        let customer = shop.customer("a@b").await;
        let order = shop.pay(&customer, Addon::Sports, 1, PaymentMethod::Card).await;
        let paid = shop.next_webhook().await;
        let body: Value = serde_json::from_slice(&paid.body).unwrap();
        let payment = body["data"]["object"]["payment_intent"].clone();
        let lost = |id: &str, payment: &Value| {
            json!({"id": id, "type": "charge.dispute.closed", "data": {"object": {
                "amount": 500, "currency": "usd", "status": "lost", "payment_intent": payment}}})
        };
        let early = shop.deliver(&shop.signed(&lost("evt_early", &payment), now())).await;
        assert!(matches!(early, Err(WebhookError::Early)), "{early:?}");
        assert_eq!(shop.outcomes().await, [""; 0]);

        shop.deliver(&paid).await.unwrap();
        assert_eq!(shop.reload(&order).await.state(), OrderState::Paid);
        shop.deliver(&shop.signed(&lost("evt_early", &payment), now())).await.unwrap();
        assert_eq!(shop.reload(&order).await.state(), OrderState::Refunded);
        assert_eq!(shop.days_left(&customer, Addon::Sports, now()).await, 0);
        shop.check_ledger(&customer).await;

        // No order waits for a payment, so this one is of something else.
        let other = lost("evt_other", &json!("pi_other"));
        shop.deliver(&shop.signed(&other, now())).await.unwrap();
        assert!(shop.outcomes().await.iter().any(|outcome| outcome == "unknown order"));
    })
    .await;
}

#[tokio::test]
async fn forged_or_old_webhook_is_refused() {
    on_each_shop(async |mut shop| {
        let customer = shop.customer("a@b").await;
        for method in PaymentMethod::ALL {
            let order = shop.pay(&customer, Addon::Sports, 1, method).await;
            let good = shop.next_webhook().await;
            let other = shop.begin(&customer, Addon::Sports, 12, method).await;
            let text = String::from_utf8(good.body.clone()).unwrap();
            let another = text.replace(&order.id, &other.id).into_bytes();
            let forged = [
                Delivery { body: another, ..good.clone() },
                Delivery { headers: HeaderMap::new(), ..good.clone() },
                Delivery { body: text.replace('}', "} ").into_bytes(), ..good.clone() },
                Delivery { body: b"\xff not json".to_vec(), ..good.clone() },
                Delivery { body: Vec::new(), ..good.clone() },
            ];
            for forged in forged {
                let refused = shop.deliver(&forged).await;
                assert!(
                    matches!(refused, Err(WebhookError::Forged { .. })),
                    "{method} {refused:?}"
                );
            }
        }
        shop.pay(&customer, Addon::Sports, 1, PaymentMethod::Card).await;
        let (card, old) = (PaymentMethod::Card, shop.next_webhook().await);
        for later in [-6, 6] {
            let at = now() + later * 60 * 1_000_000;
            let refused = shop.payments.webhook(card, &old.headers, &old.body, at).await;
            assert!(matches!(refused, Err(WebhookError::Forged { why }) if why.contains("old")));
        }
        assert_eq!(shop.payments.ledger(customer.account).await.unwrap(), []);
        assert_eq!(shop.outcomes().await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn webhook_for_an_unknown_order_is_accepted_without_effect() {
    on_each_shop(async |shop| {
        let unknown = shop.completed("0123456789abcdef", 500, "usd");
        shop.deliver(&unknown).await.unwrap();
        shop.deliver(&unknown).await.unwrap();
        assert_eq!(shop.outcomes().await, ["unknown order"]);
        let other = json!({"id": "evt_1", "type": "invoice.paid", "data": {"object": {}}});
        shop.deliver(&shop.signed(&other, now())).await.unwrap();
        let odd =
            json!({"id": "evt_2", "type": "checkout.session.completed", "data": {"object": 7}});
        let refused = shop.deliver(&shop.signed(&odd, now())).await;
        assert!(matches!(refused, Err(WebhookError::Forged { .. })));
        let nameless = json!({"id": "", "type": "charge.refunded", "data": {"object":
            {"amount_refunded": 1, "currency": "usd", "payment_intent": "pi_1", "metadata": {}}}});
        let refused = shop.deliver(&shop.signed(&nameless, now())).await;
        assert!(matches!(refused, Err(WebhookError::Forged { .. })));
        assert_eq!(shop.outcomes().await, ["unknown order"]);
    })
    .await;
}

/// A Stripe event must not pay an order that is to be paid by PayPal.
#[tokio::test]
async fn provider_cannot_pay_orders_of_another_provider() {
    on_each_shop(async |shop| {
        let customer = shop.customer("a@b").await;
        let order = shop.begin(&customer, Addon::Sports, 1, PaymentMethod::Paypal).await;
        shop.deliver(&shop.completed(&order.id, 500, "usd")).await.unwrap();
        assert_eq!(shop.outcomes().await, ["unknown order"]);
        let order = shop.reload(&order).await;
        assert_eq!(order.state(), OrderState::Open);
    })
    .await;
}

#[tokio::test]
async fn webhook_that_fails_temporarily_is_accepted_on_retry() {
    let impatient = PaymentsConfig { attempts: 1, ..settings() };
    on_each_shop_with(&impatient, async |mut shop| {
        let customer = shop.customer("a@b").await;
        shop.pay(&customer, Addon::Sports, 1, PaymentMethod::Paypal).await;
        let delivery = shop.next_webhook().await;
        // The verification, the state of the order, and the capture.
        for before in 0..3 {
            let well = std::iter::repeat_n(Fault::None, before);
            shop.faults.expect(well.chain([Fault::Status(503)]));
            let failed = shop.deliver(&delivery).await;
            assert!(matches!(failed, Err(WebhookError::Provider(_))), "{before}: {failed:?}");
            assert_eq!(shop.outcomes().await, [""; 0]);
        }
        shop.deliver(&delivery).await.unwrap();
        shop.deliver_all().await;
        assert_eq!(shop.days_left(&customer, Addon::Sports, now()).await, 29);

        shop.pay(&customer, Addon::Odds, 1, PaymentMethod::Card).await;
        let delivery = shop.next_webhook().await;
        shop.accounts.close().await;
        assert!(matches!(shop.deliver(&delivery).await, Err(WebhookError::Store(_))));
    })
    .await;
}

#[tokio::test]
async fn checkout_reported_as_expired_by_stripe_is_closed() {
    on_each_shop(async |shop| {
        let customer = shop.customer("a@b").await;
        let order = shop.begin(&customer, Addon::Sports, 1, PaymentMethod::Card).await;
        let event = |kind: &str, status: &str, payment: &str| {
            shop.signed(
                &json!({"id": format!("evt_{kind}_{payment}"), "type": kind, "data": {"object": {
                    "id": order.checkout, "status": status, "payment_status": payment,
                    "amount_total": 500, "currency": "usd", "client_reference_id": order.id,
                    "payment_intent": "pi_1"}}}),
                now(),
            )
        };
        // Paid by a way that takes days: not yet.
        shop.deliver(&event("checkout.session.completed", "complete", "unpaid")).await.unwrap();
        let state = async || shop.reload(&order).await.state();
        assert_eq!(state().await, OrderState::Open);
        shop.deliver(&event("checkout.session.expired", "expired", "unpaid")).await.unwrap();
        assert_eq!(state().await, OrderState::Closed);
        // A payment counts, whenever it is reported.
        shop.deliver(&event("checkout.session.async_payment_succeeded", "complete", "paid"))
            .await
            .unwrap();
        assert_eq!(state().await, OrderState::Paid);
        shop.deliver(&event("checkout.session.expired", "expired", "no")).await.unwrap();
        assert_eq!(state().await, OrderState::Paid);
    })
    .await;
}

/// 200 concurrent forged webhooks, for which PayPal never responds, followed by a genuine one.
#[tokio::test]
async fn forged_webhooks_do_not_delay_a_genuine_one() {
    let patient = PaymentsConfig { attempts: 1, timeout_ms: 60_000, ..settings() };
    on_each_shop_with(&patient, async |mut shop| {
        let customer = shop.customer("a@b").await;
        let order = shop.pay(&customer, Addon::Sports, 1, PaymentMethod::Paypal).await;
        let genuine = shop.next_webhook().await;
        let text = String::from_utf8(genuine.body.clone()).unwrap();
        let text = text.replace(&order.id, "0123456789abcdef");
        let unknown = text.replace(order.checkout.as_ref().unwrap(), "UNKNOWN").into_bytes();
        let forged = Delivery { body: unknown, ..genuine.clone() };
        let mut stranger = forged.clone();
        let elsewhere = "https://evil.test/certificate".parse().unwrap();
        stranger.headers.insert("paypal-cert-url", elsewhere);

        let before = shop.faults.requests();
        for _ in 0..200 {
            let refused = shop.deliver(&stranger).await;
            assert!(matches!(refused, Err(WebhookError::Forged { .. })), "{refused:?}");
        }
        assert_eq!(shop.faults.requests(), before, "what is plainly forged costs no request");

        const AT_ONCE: usize = 4;
        shop.faults.expect([Fault::Silence; AT_ONCE]);
        let flood = futures_util::future::join_all((0..200).map(|_| shop.deliver(&forged)));
        let honest = async {
            while shop.faults.requests() < before + AT_ONCE {
                tokio::task::yield_now().await;
            }
            shop.deliver(&genuine).await
        };
        tokio::select! {
            results = flood => panic!("PayPal answered none of them: {results:?}"),
            taken = honest => taken.unwrap(),
        }
        let requests = shop.faults.requests() - before;
        // The verification, the state of the order, and the capture.
        assert!(
            requests <= AT_ONCE + 3,
            "{requests} requests for 200 forged webhooks and one genuine"
        );
        assert_eq!(shop.days_left(&customer, Addon::Sports, now()).await, 29);
    })
    .await;
}

#[tokio::test]
async fn webhooks_beyond_the_allowance_are_refused_as_busy() {
    let few = PaymentsConfig { webhook_checks_per_minute: 2, ..settings() };
    on_each_shop_with(&few, async |mut shop| {
        let customer = shop.customer("a@b").await;
        shop.pay(&customer, Addon::Sports, 1, PaymentMethod::Paypal).await;
        let delivery = shop.next_webhook().await;
        let mut forged = delivery.clone();
        forged.headers.insert("paypal-transmission-sig", "00".parse().unwrap());
        for _ in 0..2 {
            let refused = shop.deliver(&forged).await;
            assert!(matches!(refused, Err(WebhookError::Forged { .. })), "{refused:?}");
        }
        for delivery in [&forged, &delivery] {
            let put_off = shop.deliver(delivery).await;
            assert!(matches!(put_off, Err(WebhookError::Busy)), "{put_off:?}");
        }
        let other = shop.customer("c@d").await;
        shop.pay(&other, Addon::Sports, 1, PaymentMethod::Paypal).await;
        let delivery = shop.next_webhook().await;
        shop.deliver(&delivery).await.unwrap();
        assert_eq!(shop.days_left(&other, Addon::Sports, now()).await, 29, "another account");
    })
    .await;
}
