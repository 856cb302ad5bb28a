//! In any order and with repetitions, days granted are days paid minus days refunded.

use std::collections::HashMap;

use proptest::{
    collection::vec,
    prelude::*,
    strategy::{Strategy, ValueTree},
    test_runner::{Config, TestRunner},
};

use super::*;
use crate::{
    payments::{
        order::ProviderStatus,
        receipt::ReceiptTerms,
        store::{EventKey, PaymentStore},
    },
    products::{Price, TERMS},
};

/// A fact that a provider reports about one of the orders.
#[derive(Debug, Clone, Copy)]
enum Fact {
    Paid,
    /// Hundredths, in all; cut to the price.
    Refunded(i64),
    Closed,
    /// Of a wrong amount or a wrong currency.
    WrongAmount(i64),
    WrongCurrency,
}

/// A report about an order, and its name, by which a repeated report is recognised.
#[derive(Debug, Clone, Copy)]
struct Report {
    order: usize,
    fact: Fact,
    name: u8,
}

#[derive(Debug, Clone)]
struct Scenario {
    /// Account, add-on and months of each order.
    orders: Vec<(usize, Addon, u32)>,
    reports: Vec<Report>,
}

const ACCOUNTS: usize = 2;

fn fact() -> impl Strategy<Value = Fact> {
    prop_oneof![
        4 => Just(Fact::Paid),
        3 => (0_i64..6_100).prop_map(Fact::Refunded),
        1 => Just(Fact::Refunded(i64::MAX)),
        1 => Just(Fact::Closed),
        1 => (0_i64..7_000).prop_map(Fact::WrongAmount),
        1 => Just(Fact::WrongCurrency),
    ]
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let addon = prop_oneof![Just(Addon::Websocket), Just(Addon::Sports)];
    let order = (0..ACCOUNTS, addon, proptest::sample::select(TERMS.to_vec()));
    vec(order, 1..5).prop_flat_map(|orders| {
        let report = (0..orders.len(), fact(), any::<u8>());
        let report = report.prop_map(|(order, fact, name)| Report { order, fact, name });
        vec(report, 0..24).prop_map(move |reports| Scenario { orders: orders.clone(), reports })
    })
}

fn usd(hundredths: i64) -> Price {
    Price { amount: Decimal::new(hundredths, 2), currency: "USD".to_owned() }
}

fn status_of(fact: Fact, price: &Price) -> ProviderStatus {
    match fact {
        Fact::Paid => ProviderStatus { paid: Some(price.clone()), ..ProviderStatus::default() },
        Fact::Refunded(cents) => {
            let amount = Decimal::new(cents, 2).min(price.amount);
            ProviderStatus {
                refunded: Some(Price { amount, ..price.clone() }),
                ..ProviderStatus::default()
            }
        }
        Fact::Closed => ProviderStatus { closed: true, ..ProviderStatus::default() },
        Fact::WrongAmount(cents) => {
            let paid = usd(cents);
            let off = if paid.amount == price.amount { usd(cents + 1) } else { paid };
            ProviderStatus { paid: Some(off), ..ProviderStatus::default() }
        }
        Fact::WrongCurrency => {
            let paid = Price { currency: "EUR".to_owned(), ..price.clone() };
            ProviderStatus { paid: Some(paid), ..ProviderStatus::default() }
        }
    }
}

/// The expected days of a scenario, computed without the code under test.
fn days_expected(scenario: &Scenario, order: usize, price: &Price) -> i64 {
    let facts = || scenario.reports.iter().filter(|it| it.order == order).map(|it| it.fact);
    if !facts().any(|fact| matches!(fact, Fact::Paid)) {
        return 0;
    }
    let cents = |amount: Decimal| (amount * dec!(100)).try_into().unwrap_or(i64::MAX);
    let all = cents(price.amount);
    let refunds = facts().filter_map(|fact| match fact {
        Fact::Refunded(back) => Some(back.min(all)),
        _ => None,
    });
    let back = refunds.max().unwrap_or(0);
    let days = i64::from(scenario.orders[order].2) * 30;
    days - days * back / all
}

async fn check(shop: &TestShop, scenario: &Scenario, number: usize) {
    let mut customers = Vec::new();
    for account in 0..ACCOUNTS {
        customers.push(shop.customer(&format!("{number}-{account}@b")).await);
    }
    let mut orders = Vec::new();
    for &(account, addon, months) in &scenario.orders {
        let by = customers[account].account;
        let order =
            shop.payments.take_order(by, addon, months, PaymentMethod::Card, NOW).await.unwrap();
        orders.push(order);
    }
    let store = PaymentStore::new(shop.accounts.database().clone(), ReceiptTerms::default());
    for report in &scenario.reports {
        let order = &orders[report.order];
        // The same fact under the same name is the same event; some are reported without a name.
        let id = format!("{number}-{report:?}");
        let event = EventKey { method: PaymentMethod::Card, id: &id, kind: "test" };
        let event = (report.name % 3 != 0).then_some(event);
        let status = status_of(report.fact, &order.price);
        store.apply(order, &status, event, NOW).await.unwrap();
    }
    let mut granted: HashMap<(usize, Addon), i64> = HashMap::new();
    for (index, order) in orders.iter().enumerate() {
        let expected = days_expected(scenario, index, &order.price);
        let now = store.order(&order.id).await.unwrap().unwrap();
        assert_eq!(now.days_granted, expected, "order {index} of {scenario:?}");
        let (account, addon, _) = scenario.orders[index];
        *granted.entry((account, addon)).or_default() += expected;
    }
    for ((account, addon), days) in granted {
        shop.check_ledger(&customers[account]).await;
        shop.accounts.broadcast_own_changes().await;
        // No time passed, so the days granted are the days left.
        assert_eq!(shop.days_left(&customers[account], addon, NOW).await, days, "{scenario:?}");
    }
}

/// SPEC section 8, and a ledger that adds up: any sequence of provider reports, with repetitions and
/// permutations, over several orders and accounts.
#[tokio::test]
async fn days_granted_are_days_paid_minus_days_refunded() {
    on_each_shop(async |shop| {
        let mut runner = TestRunner::new(Config::default());
        for number in 0..60 {
            let scenario = scenario().new_tree(&mut runner).unwrap().current();
            check(&shop, &scenario, number).await;
        }
    })
    .await;
}

fn order(months: u32, hundredths: i64) -> Order {
    Order {
        id: String::new(),
        account: AccountId(1),
        method: PaymentMethod::Card,
        addon: Addon::Odds,
        months,
        days: months * 30,
        price: usd(hundredths),
        founder: false,
        country: None,
        tax_percent: None,
        created: NOW,
        checkout: None,
        payment: None,
        checkout_url: None,
        paid: None,
        refunded: Decimal::ZERO,
        closed: None,
        days_granted: 0,
    }
}

proptest! {
    /// Facts reported in any order and any number of times have the same result.
    #[test]
    fn result_does_not_depend_on_order_or_repetition_of_facts(
        facts in vec(fact(), 0..12),
        months in proptest::sample::select(TERMS.to_vec()),
        cents in 1_i64..100_000,
        turns in 0_usize..12,
    ) {
        let learn = |facts: &[Fact]| {
            let mut order = order(months, cents);
            for fact in facts {
                let status = status_of(*fact, &order.price.clone());
                order.learn(&status, NOW).ok();
            }
            order
        };
        let once = learn(&facts);
        let mut other: Vec<Fact> = facts.iter().rev().copied().collect();
        other.rotate_left(turns.min(facts.len()));
        other.extend(facts.iter());
        prop_assert_eq!(&once, &learn(&other));
        prop_assert!((0..=i64::from(months) * 30).contains(&once.days_due()));
        prop_assert!(once.amount_due() >= Decimal::ZERO);
        if once.paid.is_some() && once.refunded == once.price.amount {
            prop_assert_eq!(once.days_due(), 0);
        }
    }
}

/// The same webhook, twenty times concurrently.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn webhook_received_twenty_times_at_once_counts_once() {
    on_each_shop(async |mut shop| {
        let customer = shop.customer("a@b").await;
        shop.pay(&customer, Addon::Sports, 1, PaymentMethod::Card).await;
        let delivery = shop.next_webhook().await;
        let at_once = (0..20).map(|_| shop.deliver(&delivery));
        for result in futures_util::future::join_all(at_once).await {
            result.unwrap();
        }
        assert_eq!(shop.payments.ledger(customer.account).await.unwrap().len(), 1);
        assert_eq!(shop.outcomes().await, ["granted"]);
        shop.check_ledger(&customer).await;
    })
    .await;
}

/// The return, the webhooks and the sweep run concurrently for many customers.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn return_and_concurrent_webhook_count_once() {
    on_each_shop(async |mut shop| {
        let mut customers = Vec::new();
        for number in 0..10 {
            let customer = shop.customer(&format!("{number}@b")).await;
            let method = PaymentMethod::ALL[number % 2];
            let order = shop.pay(&customer, Addon::Odds, 1, method).await;
            let delivery = shop.next_webhook().await;
            customers.push((customer, order, delivery));
        }
        let at_once = customers.iter().map(async |(customer, order, delivery)| {
            let (back, again) = (
                shop.payments.returned(&order.id, customer.account, NOW),
                shop.payments.returned(&order.id, customer.account, NOW),
            );
            let (back, delivered, again, swept) =
                tokio::join!(back, shop.deliver(delivery), again, shop.payments.sweep(NOW + DAY));
            back.unwrap();
            again.unwrap();
            delivered.unwrap();
            swept.unwrap();
        });
        futures_util::future::join_all(at_once).await;
        shop.deliver_all().await;
        for (customer, order, _) in &customers {
            let order = shop.reload(order).await;
            assert_eq!((order.state(), order.days_granted), (OrderState::Paid, 30));
            assert_eq!(shop.payments.ledger(customer.account).await.unwrap().len(), 1);
            shop.check_ledger(customer).await;
        }
    })
    .await;
}
