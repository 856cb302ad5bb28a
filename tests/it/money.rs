//! Customers pay while the hub is killed repeatedly: each payment is granted exactly once.
//!
//! The hub is the real program; the providers are real servers that retry their webhooks until they
//! are accepted, and repeat them afterwards. At the end, the payments that the providers received
//! are compared with the ledger.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{
    StreamExt,
    future::{join, join_all},
    stream,
};
use sqlx::AnyPool;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    ports::free_ports,
    support::{
        Answer, Hub, PATIENCE, QUIET, Setting, TestDatabase,
        bank::{Bank, Event, PaymentMethod},
        is_long, on_sqlite,
        shopper::Shopper,
    },
};

/// How many accounts there are for each that buys.
const ACCOUNTS_PER_BUYER: usize = 100;

/// How many accounts buy concurrently.
fn buyers() -> usize {
    if is_long() { 100 } else { 25 }
}

/// The purchases of each account, in order: the add-on and the months.
const BASKET: [(&str, i64); 2] = [("websocket", 1), ("sports", 3)];
const PASSWORD: &str = "correct horse battery";
/// How often each webhook is sent after it was accepted.
const REPEATS: usize = 2;
/// The delay before a customer retries an interrupted request.
const TRY_AGAIN: Duration = Duration::from_millis(50);
const DAY_US: i64 = 24 * 60 * 60 * 1_000_000;

/// Cheap password hashing and no limit per address, because all customers share one; open orders
/// are checked at once; and minimal logging.
const SETTINGS: [Setting; 8] = [
    QUIET,
    ("LOGGING_FILTER", "warn"),
    ("ACCOUNTS_PASSWORD_MEMORY_KIB", "64"),
    ("ACCOUNTS_PASSWORD_PASSES", "1"),
    ("LIMITS_LOG_INS_PER_HOUR_BY_ADDRESS", "0"),
    ("LIMITS_LOG_INS_PER_HOUR_BY_EMAIL", "0"),
    ("PAYMENTS_SWEEP_MS", "200"),
    ("PAYMENTS_SWEEP_AFTER_MS", "500"),
];

fn address_of(number: usize) -> String {
    format!("customer-{number}@example.org")
}

/// Registers one customer, and copies the password to all others in one transaction.
async fn fill(hub: &Hub, pool: &AnyPool) {
    let mut shopper = Shopper::new(&hub.address);
    let fields = [("email", "first@example.org"), ("password", PASSWORD)];
    let answer = shopper.submit("/register/", "/register/", &fields).await.expect("it answers");
    assert!(answer.status < 400, "{answer:?}");
    let count = i64::try_from(buyers() * ACCOUNTS_PER_BUYER).expect("it fits");
    sqlx::query(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $1) \
         INSERT INTO accounts (email, password, created_us, active_us) \
         SELECT 'customer-' || i || '@example.org', \
         (SELECT password FROM links WHERE password IS NOT NULL LIMIT 1), 1, 1 FROM n",
    )
    .bind(count)
    .execute(pool)
    .await
    .expect("the accounts are made");
}

/// Retries through every crash until there is a response. Any other failure fails the test.
async fn surely(mut ask: impl AsyncFnMut() -> std::io::Result<Answer>) -> Answer {
    loop {
        match ask().await {
            Ok(answer) if answer.status < 500 => return answer,
            Ok(_) | Err(_) => sleep(TRY_AGAIN).await,
        }
    }
}

/// Logs in and buys the basket, each with another payment method.
async fn buy(hub: String, bank: &Bank, number: usize) {
    let email = address_of(number);
    let mut shopper = Shopper::new(&hub);
    let fields = [("email", &*email), ("password", PASSWORD)];
    surely(async || {
        let answer = shopper.submit("/login/", "/login/", &fields).await?;
        // A page from before the crash stays valid; only the log-in may have been interrupted.
        assert!(matches!(answer.status, 303 | 500..), "log-in: {answer:?}");
        Ok(answer)
    })
    .await;
    for (index, (addon, months)) in BASKET.into_iter().enumerate() {
        let rail = if (number + index).is_multiple_of(2) {
            PaymentMethod::Card
        } else {
            PaymentMethod::Paypal
        };
        let months = months.to_string();
        let fields = [("addon", addon), ("months", &*months), ("rail", rail.as_str())];
        let answer = surely(async || shopper.submit("/addons/", "/addons/", &fields).await).await;
        assert_eq!(answer.status, 303, "{answer:?}");
        let location = answer.header("location").expect("it leads to the checkout").to_owned();
        let order = location.trim_matches('/').rsplit('/').next().expect("an order").to_owned();
        bank.agree(&order).await;
        // Every other customer closes the window; those purchases complete by the webhook.
        if number.is_multiple_of(2) {
            let back = format!("/checkout/{order}/return/");
            surely(async || shopper.open(&back).await).await;
        }
    }
}

/// Sends every webhook until it is accepted, and then a few more times; records all of them. Runs
/// until its task is dropped.
async fn deliver(hub: String, mut waiting: mpsc::Receiver<Event>, sent: Arc<Mutex<Vec<Event>>>) {
    let mut sending = JoinSet::new();
    while let Some(event) = waiting.recv().await {
        sent.lock().expect("no panic").push(event.clone());
        let hub = hub.clone();
        sending.spawn(async move {
            for _ in 0..=REPEATS {
                event.deliver(&hub).await;
            }
        });
    }
}

/// The first column of each row, and the number in the second.
async fn numbers(pool: &AnyPool, statement: &'static str) -> BTreeMap<String, i64> {
    let rows: Vec<(String, i64)> =
        sqlx::query_as(statement).fetch_all(pool).await.expect("it is answered");
    rows.into_iter().collect()
}

async fn number(pool: &AnyPool, statement: &'static str) -> i64 {
    sqlx::query_scalar(statement).fetch_one(pool).await.expect("it is answered")
}

/// Every paid order has its days, and no other order has any.
async fn check(pool: &AnyPool, bank: &Bank) {
    let months: BTreeMap<String, i64> = numbers(pool, "SELECT id, months FROM orders").await;
    let paid: BTreeMap<String, i64> =
        bank.paid().into_iter().map(|it| (it.order.clone(), months[&it.order] * 30)).collect();
    let granted = "SELECT order_id, CAST(sum(days) AS BIGINT) FROM ledger GROUP BY order_id";
    assert_eq!(numbers(pool, granted).await, paid, "the ledger has what was paid, and no more");
    let entries = "SELECT order_id, count(*) FROM ledger GROUP BY order_id HAVING count(*) <> 1";
    assert_eq!(numbers(pool, entries).await, BTreeMap::new(), "each order is granted once");
    let orders = "SELECT id, days_granted FROM orders WHERE paid_us IS NOT NULL";
    assert_eq!(numbers(pool, orders).await, paid, "orders say what the ledger says");

    // The remaining days of an add-on count from the start of its first order, whichever was first.
    let wrong = "SELECT a.addon || ' of ' || a.account_id, a.expires_us FROM addons a JOIN \
                 (SELECT account_id, addon, min(at_us) AS since, CAST(sum(days) AS BIGINT) AS days \
                 FROM ledger GROUP BY account_id, addon) l \
                 ON l.account_id = a.account_id AND l.addon = a.addon \
                 WHERE a.expires_us <> l.since + l.days * 86400000000";
    assert_eq!(DAY_US, 86_400_000_000);
    assert_eq!(numbers(pool, wrong).await, BTreeMap::new(), "add-ons end as the ledger says");
    let granted = number(pool, "SELECT count(*) FROM addons").await;
    assert_eq!(granted, i64::try_from(buyers() * BASKET.len()).expect("it fits"));

    let amounts: Vec<String> =
        sqlx::query_scalar("SELECT amount FROM ledger").fetch_all(pool).await.expect("amounts");
    let amounts = amounts.iter().map(|it| it.parse::<rust_decimal::Decimal>().expect("a number"));
    let taken: i64 = bank.paid().iter().map(|it| it.hundredths).sum();
    assert_eq!(
        amounts.sum::<rust_decimal::Decimal>(),
        rust_decimal::Decimal::new(taken, 2),
        "the amounts are the providers'"
    );
}

/// No paid day is lost and none is granted twice, although the hub is killed five times while many
/// customers log in and buy, and every webhook is repeated.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paid_days_are_granted_exactly_once() {
    on_sqlite(async |database: TestDatabase| {
        let purchases = buyers() * BASKET.len();
        let (bank, waiting) = Bank::open().await;
        let settings = [&SETTINGS[..], &bank.settings()].concat();
        let [port] = free_ports();
        let address = format!("127.0.0.1:{port}");
        let mut hub = Hub::start_listening(&address, &database, &["serve"], &settings);
        let pool = database.pool().await;
        fill(&hub, &pool).await;

        let sent = Arc::default();
        let delivering = tokio::spawn(deliver(address.clone(), waiting, Arc::clone(&sent)));
        let buying = join_all((0..buyers()).map(|number| buy(address.clone(), &bank, number * 97)));
        let killing = async {
            // During the first log-ins, and then during purchases of both kinds.
            for percent in [0, 10, 30, 55, 80] {
                let agreed = (purchases * percent / 100).max(1);
                bank.agreed(agreed).await;
                hub.kill();
                hub = Hub::start_listening(&address, &database, &["serve"], &settings);
            }
        };
        timeout(6 * PATIENCE, join(buying, killing)).await.expect("all have bought");

        // Every customer who agreed has paid at the end, because the hub captures the money or is
        // notified.
        let settled = async {
            let all = i64::try_from(purchases).expect("it fits");
            while number(&pool, "SELECT count(*) FROM ledger").await < all {
                sleep(TRY_AGAIN).await;
            }
        };
        timeout(PATIENCE, settled).await.expect("every purchase is settled");
        assert_eq!(bank.paid().len(), purchases);
        check(&pool, &bank).await;

        // All of them once more, as after a long outage of the hub.
        let events = sent.lock().expect("no panic").clone();
        assert!(events.len() > purchases, "captures are reported too");
        let again = stream::iter(&events).for_each_concurrent(8, |event| event.deliver(&address));
        timeout(PATIENCE, again).await.expect("they are taken");
        check(&pool, &bank).await;
        delivering.abort();
        assert_eq!(hub.stop(), Some(0));
        pool.close().await;
    })
    .await;
}
