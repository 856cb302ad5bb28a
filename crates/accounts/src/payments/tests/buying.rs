//! Purchases: products, prices and expiry.

use super::*;
use crate::accounts::{FounderGrantOutcome, LedgerKind};

#[tokio::test]
async fn card_payment_reported_twice_grants_its_days_once() {
    on_each_shop(async |mut shop| {
        let customer = shop.customer("a@b").await;
        let order = shop.begin(&customer, Addon::Websocket, 1, PaymentMethod::Card).await;
        assert_eq!((order.state(), order.price.to_string().as_str()), (OrderState::Open, "$3"));
        assert_eq!(shop.days_left(&customer, Addon::Websocket, NOW).await, 0);

        let answer = shop.click(&order, "pay").await;
        let back = answer.headers()["location"].to_str().unwrap().to_owned();
        assert_eq!(back, format!("http://hub.test/checkout/{}/return/", order.id));
        let order = shop.payments.returned(&order.id, customer.account, NOW).await.unwrap();
        assert_eq!((order.state(), order.paid), (OrderState::Paid, Some(NOW)));
        let delivery = shop.next_webhook().await;
        shop.deliver(&delivery).await.unwrap();

        assert_eq!(shop.days_left(&customer, Addon::Websocket, NOW).await, 30);
        let ledger = shop.payments.ledger(customer.account).await.unwrap();
        let [row] = &ledger[..] else { panic!("{ledger:?}") };
        assert_eq!((row.kind, row.days, row.amount), (LedgerKind::Purchase, 30, dec!(3.00)));
        assert_eq!((row.expires, row.order.as_deref()), (NOW + 30 * DAY, Some(&*order.id)));
        assert_eq!(shop.outcomes().await, ["nothing new"]);
        shop.check_ledger(&customer).await;
    })
    .await;
}

#[tokio::test]
async fn paypal_is_captured_on_return_or_on_the_approval_webhook() {
    on_each_shop(async |mut shop| {
        let customer = shop.customer("a@b").await;
        shop.buy(&customer, Addon::Sports, 1, PaymentMethod::Paypal, NOW).await;
        shop.deliver_all().await;
        assert_eq!(shop.days_left(&customer, Addon::Sports, NOW).await, 30);

        let silent = shop.pay(&customer, Addon::Odds, 3, PaymentMethod::Paypal).await;
        let approved = shop.next_webhook().await;
        shop.deliver(&approved).await.unwrap();
        let silent = shop.reload(&silent).await;
        assert_eq!(silent.state(), OrderState::Paid);
        // The webhook also reports the capture that we requested.
        shop.deliver_all().await;
        assert_eq!(shop.days_left(&customer, Addon::Odds, now()).await, 89);
        shop.check_ledger(&customer).await;
    })
    .await;
}

/// SPEC section 3, section 5 rule 3 and section 8: each paid month adds 30 days to the expiry.
#[tokio::test]
async fn month_bought_with_12_days_left_expires_in_42_days() {
    on_each_shop(async |shop| {
        for method in PaymentMethod::ALL {
            let customer = shop.customer(method.as_str()).await;
            shop.buy(&customer, Addon::Sports, 1, method, NOW).await;
            let twelve_left = NOW + 18 * DAY;
            assert_eq!(shop.days_left(&customer, Addon::Sports, twelve_left).await, 12);
            shop.buy(&customer, Addon::Sports, 1, method, twelve_left).await;
            assert_eq!(shop.days_left(&customer, Addon::Sports, twelve_left).await, 42);
            // An add-on that has run out counts from now.
            let long_over = NOW + 200 * DAY;
            shop.buy(&customer, Addon::Sports, 1, method, long_over).await;
            assert_eq!(shop.days_left(&customer, Addon::Sports, long_over).await, 30);
            shop.check_ledger(&customer).await;
        }
    })
    .await;
}

#[tokio::test]
async fn only_terms_of_1_3_6_and_12_months_are_sold() {
    on_each_shop(async |shop| {
        for (months, price) in [(1, "5.00"), (3, "15.00"), (6, "30.00"), (12, "60.00")] {
            let customer = shop.customer(&months.to_string()).await;
            let order = shop.buy(&customer, Addon::Odds, months, PaymentMethod::Card, NOW).await;
            assert_eq!(order.price.amount.to_string(), price);
            let days = i64::from(months) * 30;
            assert_eq!(shop.days_left(&customer, Addon::Odds, NOW).await, days);
        }
        let customer = shop.customer("a@b").await;
        for months in [0, 2, 13, u32::MAX] {
            let wish = shop.payments.begin(
                customer.account,
                Addon::Odds,
                months,
                PaymentMethod::Card,
                NOW,
            );
            assert!(matches!(wish.await, Err(PaymentError::Term { .. })), "{months}");
        }
    })
    .await;
}

/// The amount charged by the provider.
async fn charged(shop: &TestShop, by: &Customer, addon: Addon, method: PaymentMethod) -> Decimal {
    let order = shop.begin(by, addon, 1, method).await;
    assert_eq!(shop.click(&order, "pay").await.status(), 303);
    let paid = shop.payments.returned(&order.id, by.account, NOW).await.unwrap();
    // An amount other than that of the order would not have been taken for its payment.
    assert_eq!(paid.state(), OrderState::Paid);
    paid.price.amount
}

/// SPEC section 3, rules 2, 4 and 5: the badge is granted once to the existing accounts; the founder rate,
/// if there is one, is charged without a code by card and by PayPal; the price shown is the price charged.
#[tokio::test]
async fn founders_are_charged_the_founder_price_by_both_providers() {
    on_each_shop(async |shop| {
        let founder = shop.customer("old@b").await;
        let granted = shop.accounts.grant_founders(NOW, NOW + DAY).await.unwrap();
        assert_eq!(granted, FounderGrantOutcome::Now { accounts: 1 });
        let other = shop.customer_at("new@b", NOW + 1).await;
        for method in PaymentMethod::ALL {
            for addon in Addon::ALL {
                for (customer, is_founder) in [(&founder, true), (&other, false)] {
                    let shown = catalogue().price(addon, is_founder).amount;
                    let charged = charged(&shop, customer, addon, method).await;
                    assert_eq!(charged, shown, "{method} {addon} {is_founder}");
                }
            }
        }
        assert_eq!(
            charged(&shop, &founder, Addon::Sports, PaymentMethod::Paypal).await,
            dec!(2.50)
        );
    })
    .await;
}

/// The country that a customer names decides the price, the currency and the tax of later orders, by both providers.
#[tokio::test]
async fn customer_pays_the_prices_of_its_country() {
    on_each_shop(async |shop| {
        let customer = shop.customer("a@b").await;
        let first = shop.begin(&customer, Addon::Sports, 1, PaymentMethod::Card).await;
        let country = async |code: &str| {
            shop.accounts.set_country(customer.account, code.parse().ok()).await.unwrap();
            shop.accounts.customer(customer.account).await.unwrap().unwrap().country
        };
        assert_eq!(country(SWITZERLAND).await.map(|it| it.to_string()).as_deref(), Some("CH"));
        for method in PaymentMethod::ALL {
            let order = shop.begin(&customer, Addon::Sports, 3, method).await;
            assert_eq!(order.price.to_string(), "CHF 18");
            assert_eq!(shop.click(&order, "pay").await.status(), 303);
            let paid = shop.payments.returned(&order.id, customer.account, NOW).await.unwrap();
            assert_eq!((paid.state(), paid.country), (OrderState::Paid, SWITZERLAND.parse().ok()));
            let receipt = shop.payments.receipt(&order.id, customer.account).await.unwrap();
            let text = receipt.expect("it is paid").text();
            for line in ["Country     CH", "Paid        18.00 CHF", "1.35 CHF (8.1%, included)"] {
                assert!(text.contains(line), "{line} is missing: {text}");
            }
        }
        // An order keeps the price that was shown.
        assert_eq!(shop.reload(&first).await.price.to_string(), "$5");
        assert_eq!(country("DE").await.map(|it| it.to_string()).as_deref(), Some("DE"));
        let other = shop.begin(&customer, Addon::Sports, 1, PaymentMethod::Card).await;
        assert_eq!((other.price.to_string().as_str(), other.country), ("$5", None));
        assert_eq!(country("").await, None);
    })
    .await;
}

/// SPEC section 3, rule 2: granted once, never by registering or subscribing afterwards.
#[tokio::test]
async fn founder_badge_is_granted_once_and_never_to_later_accounts() {
    on_each_shop(async |shop| {
        let founder = shop.customer("old@b").await;
        let early = shop.accounts.grant_founders(NOW + 1, NOW).await.unwrap();
        assert_eq!(early, FounderGrantOutcome::TooEarly);
        // Ten programs at once: one of them does it.
        let at_once = (0..10).map(|_| shop.accounts.grant_founders(NOW, NOW + DAY));
        let done = futures_util::future::join_all(at_once).await;
        let first =
            done.iter().filter(|it| matches!(it, Ok(FounderGrantOutcome::Now { accounts: 1 })));
        assert_eq!(first.count(), 1, "{done:?}");
        let late = shop.customer_at("late@b", NOW + 1).await;
        shop.buy(&late, Addon::Sports, 1, PaymentMethod::Card, NOW + 2).await;
        let again = shop.accounts.grant_founders(NOW + 5 * DAY, NOW + 9 * DAY).await.unwrap();
        assert_eq!(again, FounderGrantOutcome::Before { at: NOW });
        assert_eq!(
            (is_founder(&shop, &founder).await, is_founder(&shop, &late).await),
            (true, false)
        );
    })
    .await;
}

/// SPEC section 3, rule 3: it is never removed. Rule 4: it counts again when they resubscribe.
#[tokio::test]
async fn cancellation_expiry_and_refund_do_not_remove_the_badge() {
    on_each_shop(async |mut shop| {
        let founder = shop.customer("old@b").await;
        shop.accounts.grant_founders(NOW, NOW).await.unwrap();
        let turned_back = shop.begin(&founder, Addon::Sports, 1, PaymentMethod::Card).await;
        shop.payments.cancelled(&turned_back.id, founder.account, NOW).await.unwrap();
        let bought = shop.buy(&founder, Addon::Sports, 1, PaymentMethod::Card, NOW).await;
        shop.payments.refund(&bought.id, None, NOW).await.unwrap();
        shop.deliver_all().await;
        let years_later = NOW + 1_000 * DAY;
        let again = shop.buy(&founder, Addon::Sports, 1, PaymentMethod::Paypal, years_later).await;
        assert_eq!((again.founder, again.price.amount), (true, dec!(2.50)));
        assert!(is_founder(&shop, &founder).await);
    })
    .await;
}

async fn is_founder(shop: &TestShop, customer: &Customer) -> bool {
    let since: Option<i64> = sqlx::query_scalar("SELECT founder_us FROM accounts WHERE id = $1")
        .bind(customer.account.0)
        .fetch_one(shop.accounts.database().pool())
        .await
        .unwrap();
    since.is_some()
}

impl TestShop {
    async fn customer_at(&self, email: &str, at: Micros) -> Customer {
        let key = self.accounts.create_key(Some(email), &[], at).await.unwrap();
        let caller = self.accounts.authenticate(key.expose(), HERE, at).await.unwrap().unwrap();
        Customer { account: caller.account, key }
    }
}

#[tokio::test]
async fn operator_gifts_and_keys_are_in_the_ledger() {
    on_each_shop(async |shop| {
        let days = [(Addon::Odds, 5)];
        let key = shop.accounts.create_key(Some("a@b"), &days, NOW).await.unwrap();
        let caller = shop.accounts.authenticate(key.expose(), HERE, NOW).await.unwrap().unwrap();
        let customer = Customer { account: caller.account, key };
        shop.accounts.grant_addon(customer.account, Addon::Odds, 7, "sorry", NOW).await.unwrap();
        assert_eq!(shop.days_left(&customer, Addon::Odds, NOW).await, 12);
        let ledger = shop.payments.ledger(customer.account).await.unwrap();
        let rows: Vec<_> =
            ledger.iter().map(|row| (row.kind, row.days, row.note.as_str())).collect();
        let gift = LedgerKind::Grant;
        assert_eq!(rows, [(gift, 7, "sorry"), (gift, 5, "with a key")]);

        let unknown = shop.accounts.grant_addon(AccountId(-1), Addon::Odds, 1, "", NOW).await;
        assert!(unknown.is_err());
        let century =
            shop.accounts.grant_addon(customer.account, Addon::Odds, 36_501, "", NOW).await;
        assert!(century.is_err());
        assert_eq!(shop.days_left(&customer, Addon::Odds, NOW).await, 12);
    })
    .await;
}

#[tokio::test]
async fn ineligible_buyer_is_refused_before_any_provider_request() {
    on_each(async |database| {
        let few = PaymentsConfig { orders_open_max: 2, ..settings() };
        let shop = TestShop::with(&database, &few).await;
        let customer = shop.customer("a@b").await;
        let first = shop.begin(&customer, Addon::Odds, 1, PaymentMethod::Card).await;
        shop.begin(&customer, Addon::Odds, 1, PaymentMethod::Card).await;
        let begin = async |account| {
            shop.payments.begin(account, Addon::Odds, 1, PaymentMethod::Card, NOW).await
        };
        let third = begin(customer.account).await;
        assert!(matches!(third, Err(PaymentError::TooManyOpen { limit: 2 })), "{third:?}");
        shop.payments.cancelled(&first.id, customer.account, NOW).await.unwrap();
        begin(customer.account).await.unwrap();

        assert!(matches!(begin(AccountId(-1)).await, Err(PaymentError::NoAccount)));
        for column in ["blocked_us = 1", "deleted_us = 1", "active_us = NULL"] {
            let other = shop.customer(column).await;
            let change = format!("UPDATE accounts SET {column} WHERE id = $1");
            sqlx::query(sqlx::AssertSqlSafe(change))
                .bind(other.account.0)
                .execute(database.pool())
                .await
                .unwrap();
            assert!(matches!(begin(other.account).await, Err(PaymentError::NoAccount)), "{column}");
        }

        let none =
            Payments::new(&shop.accounts, CurrentCatalogue::new(catalogue()), "", &settings())
                .unwrap();
        assert_eq!(none.methods(), []);
        let begun = none.begin(customer.account, Addon::Odds, 1, PaymentMethod::Card, NOW).await;
        assert!(matches!(begun, Err(PaymentError::NotConfigured { method: PaymentMethod::Card })));
    })
    .await;
}

#[tokio::test]
async fn order_is_visible_only_to_its_account() {
    on_each_shop(async |shop| {
        let (mine, other) = (shop.customer("a@b").await, shop.customer("c@d").await);
        let order = shop.buy(&mine, Addon::Odds, 1, PaymentMethod::Card, NOW).await;
        let (payments, id) = (&shop.payments, &*order.id);
        assert!(matches!(payments.order(id, other.account).await, Err(PaymentError::NoOrder)));
        let returned = payments.returned(id, other.account, NOW).await;
        assert!(matches!(returned, Err(PaymentError::NoOrder)));
        let cancelled = payments.cancelled("' OR 1=1 --", mine.account, NOW).await;
        assert!(matches!(cancelled, Err(PaymentError::NoOrder)));
        assert_eq!(payments.orders(other.account).await.unwrap(), []);
        assert_eq!(payments.orders(mine.account).await.unwrap(), [order]);
    })
    .await;
}
