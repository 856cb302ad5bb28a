//! Refunds take the days back.

use super::*;
use crate::{
    payments::{order::ProviderStatus, store::EventKey},
    products::Price,
};

#[tokio::test]
async fn partial_and_full_refunds_revoke_days_with_both_providers() {
    on_each_shop(async |mut shop| {
        for method in PaymentMethod::ALL {
            let customer = shop.customer(method.as_str()).await;
            let order = shop.buy(&customer, Addon::Sports, 3, method, NOW).await;
            let part = shop.payments.refund(&order.id, Some(dec!(5)), NOW).await.unwrap();
            assert_eq!((part.state(), part.refunded), (OrderState::PartlyRefunded, dec!(5.00)));
            assert_eq!(shop.days_left(&customer, Addon::Sports, NOW).await, 60);
            // The webhooks about it report nothing new.
            shop.deliver_all().await;
            assert_eq!(shop.days_left(&customer, Addon::Sports, NOW).await, 60);

            let rest = shop.payments.refund(&order.id, None, NOW).await.unwrap();
            assert_eq!((rest.state(), rest.refunded), (OrderState::Refunded, dec!(15.00)));
            shop.deliver_all().await;
            assert_eq!(shop.days_left(&customer, Addon::Sports, NOW).await, 0);
            let ledger = shop.payments.ledger(customer.account).await.unwrap();
            let days: Vec<i64> = ledger.iter().map(|row| row.days).collect();
            assert_eq!(days, [-60, -30, 90], "{method}");
            shop.check_ledger(&customer).await;
        }
    })
    .await;
}

#[tokio::test]
async fn refund_of_a_fraction_of_a_day_does_not_revoke_the_day() {
    on_each_shop(async |shop| {
        let customer = shop.customer("a@b").await;
        let order = shop.buy(&customer, Addon::Sports, 1, PaymentMethod::Card, NOW).await;
        // A cent of five dollars is six hundredths of a day.
        shop.payments.refund(&order.id, Some(dec!(0.01)), NOW).await.unwrap();
        assert_eq!(shop.days_left(&customer, Addon::Sports, NOW).await, 30);
        shop.payments.refund(&order.id, Some(dec!(0.16)), NOW).await.unwrap();
        assert_eq!(shop.days_left(&customer, Addon::Sports, NOW).await, 29);
        shop.check_ledger(&customer).await;
    })
    .await;
}

#[tokio::test]
async fn refund_beyond_the_amount_paid_is_refused() {
    on_each_shop(async |shop| {
        let customer = shop.customer("a@b").await;
        let open = shop.begin(&customer, Addon::Sports, 1, PaymentMethod::Card).await;
        let refused = shop.payments.refund(&open.id, None, NOW).await;
        assert!(matches!(refused, Err(PaymentError::NotPaid)), "{refused:?}");
        let order = shop.buy(&customer, Addon::Sports, 1, PaymentMethod::Card, NOW).await;
        for wish in [dec!(5.01), dec!(0), dec!(-1), dec!(0.001)] {
            let refused = shop.payments.refund(&order.id, Some(wish), NOW).await;
            assert!(matches!(refused, Err(PaymentError::Refund { .. })), "{wish}");
        }
        shop.payments.refund(&order.id, None, NOW).await.unwrap();
        let refused = shop.payments.refund(&order.id, None, NOW).await;
        assert!(matches!(refused, Err(PaymentError::Refund { .. })), "{refused:?}");
        let unknown = shop.payments.refund("none", None, NOW).await;
        assert!(matches!(unknown, Err(PaymentError::NoOrder)));
    })
    .await;
}

/// On the provider's own pages, before the hub learns of the payment.
#[tokio::test]
async fn refund_reported_before_its_payment_leaves_no_days() {
    on_each_shop(async |mut shop| {
        let customer = shop.customer("a@b").await;
        let order = shop.pay(&customer, Addon::Sports, 1, PaymentMethod::Card).await;
        shop.click(&order, "refund").await;
        let (paid, refunded) = (shop.next_webhook().await, shop.next_webhook().await);
        for delivery in [&refunded, &paid, &refunded, &paid] {
            shop.deliver(delivery).await.unwrap();
        }
        let order = shop.reload(&order).await;
        assert_eq!((order.state(), order.days_granted), (OrderState::Refunded, 0));
        shop.check_ledger(&customer).await;
    })
    .await;
}

#[tokio::test]
async fn refund_with_a_lost_response_is_not_repeated() {
    on_each_shop(async |mut shop| {
        for method in PaymentMethod::ALL {
            let customer = shop.customer(method.as_str()).await;
            let order = shop.buy(&customer, Addon::Sports, 1, method, NOW).await;
            // One request for the state, then the refund.
            shop.faults.expect([Fault::None, Fault::ResponseLost, Fault::ResponseLost]);
            let order = shop.payments.refund(&order.id, Some(dec!(1)), NOW).await.unwrap();
            shop.deliver_all().await;
            let order = shop.reload(&order).await;
            assert_eq!(order.refunded, dec!(1.00), "{method}");
            shop.check_ledger(&customer).await;
        }
    })
    .await;
}

/// The refund is applied after the order was read for the dispute, and before its row is locked.
#[tokio::test]
async fn lost_dispute_is_added_to_a_refund_of_the_same_moment() {
    on_each_shop(async |mut shop| {
        let customer = shop.customer("a@b").await;
        let order = shop.buy(&customer, Addon::Sports, 1, PaymentMethod::Card, NOW).await;
        shop.payments.refund(&order.id, Some(dec!(1)), NOW).await.unwrap();
        shop.deliver_all().await;
        let lost = Price { amount: dec!(3.00), currency: "USD".to_owned() };
        let status = ProviderStatus { lost: Some(lost), ..ProviderStatus::default() };
        let event =
            EventKey { method: PaymentMethod::Card, id: "evt", kind: "charge.dispute.closed" };
        for _ in 0..2 {
            shop.payments.record_status(&order, &status, Some(event), NOW).await.unwrap();
            assert_eq!(shop.reload(&order).await.refunded, dec!(4.00));
        }
        assert_eq!(shop.days_left(&customer, Addon::Sports, NOW).await, 6);
        shop.check_ledger(&customer).await;
    })
    .await;
}
