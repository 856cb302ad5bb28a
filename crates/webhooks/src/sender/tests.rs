use database::testing::on_each;

use super::*;
use crate::store::tests::{NOW, terms, webhooks};

const HOUR_US: Micros = 3_600_000_000;

/// A sender that nothing has started, for accounts that may receive this.
fn sender(webhooks: &Webhooks, may_receive: Option<bool>) -> Sender {
    let config = &webhooks.shared.config;
    Sender {
        webhooks: webhooks.clone(),
        work: Work::unlimited(),
        client: Client::new(&webhooks.shared.tls, config).expect("a client"),
        may_receive: Arc::new(move |_, _| may_receive),
        on_disabled: Arc::new(|_, _, _| Box::pin(async { Ok(()) })),
        leads: Box::new(|| true),
        clock: || NOW,
        rounds: Mutex::default(),
        is_failing: AtomicBool::new(false),
    }
}

/// A webhook with a delivery that waits.
async fn waiting(webhooks: &Webhooks) -> (Webhook, Delivery) {
    let webhook = webhooks.create(1, &terms(&[]), NOW).await.unwrap();
    webhooks.test(1, webhook.id, NOW).await.unwrap();
    let delivery = webhooks.shared.store.next_due(webhook.id, NOW).await.unwrap().unwrap();
    (webhook, delivery)
}

async fn newest(webhooks: &Webhooks, webhook: &Webhook) -> Delivery {
    webhooks.deliveries(1, webhook.id, None, 1).await.unwrap().remove(0)
}

#[tokio::test]
async fn failed_delivery_waits_and_is_given_up_after_the_last_attempt() {
    on_each(async |database| {
        let config =
            WebhooksConfig { attempts_max: 2, retry_ms: 1_000, ..WebhooksConfig::default() };
        let webhooks = webhooks(&database, config).await;
        let sender = sender(&webhooks, Some(true));
        let (webhook, delivery) = waiting(&webhooks).await;
        sender.failed(&webhook, &delivery, SendError::Status(500)).await.unwrap();
        let waits = newest(&webhooks, &webhook).await;
        assert_eq!((waits.outcome, waits.status), (None, Some(500)));
        let wait_us = waits.next - NOW;
        assert!((750_000..=1_250_000).contains(&wait_us), "{wait_us}");
        let failing = webhooks.get(1, webhook.id).await.unwrap();
        assert_eq!((failing.failures, failing.failing_since), (1, Some(NOW)));

        let last = Delivery { attempts: 1, ..delivery };
        sender.failed(&failing, &last, SendError::Timeout).await.unwrap();
        let failed = newest(&webhooks, &webhook).await;
        assert_eq!(failed.outcome.as_deref(), Some("failed"));
        assert_eq!(failed.error.as_deref(), Some("there was no answer in time"));
        assert_eq!(webhooks.get(1, webhook.id).await.unwrap().disabled, None);
    })
    .await;
}

#[tokio::test]
async fn webhook_that_fails_for_too_long_is_disabled_with_the_reason() {
    on_each(async |database| {
        let webhooks = webhooks(&database, WebhooksConfig::default()).await;
        let sender = sender(&webhooks, Some(true));
        let (webhook, delivery) = waiting(&webhooks).await;
        let failing_since =
            |hours: i64| Webhook { failing_since: Some(NOW - hours * HOUR_US), ..webhook.clone() };
        sender.failed(&failing_since(47), &delivery, SendError::Unreachable).await.unwrap();
        assert_eq!(webhooks.get(1, webhook.id).await.unwrap().disabled, None);
        sender.failed(&failing_since(48), &delivery, SendError::Unreachable).await.unwrap();
        let (at, why) = webhooks.get(1, webhook.id).await.unwrap().disabled.expect("disabled");
        assert_eq!(at, NOW);
        let expected =
            "every attempt of 48 hours failed; the last one: no connection could be made";
        assert_eq!(why, expected);
        assert_eq!(newest(&webhooks, &webhook).await.outcome, None, "it waits until it is enabled");
    })
    .await;
}

#[tokio::test]
async fn account_that_may_not_receive_it_any_more_gets_nothing() {
    on_each(async |database| {
        let webhooks = webhooks(&database, WebhooksConfig::default()).await;
        let (webhook, test) = waiting(&webhooks).await;
        let goal = Delivery { kind: "goal".to_owned(), ..test };
        assert!(sender(&webhooks, Some(false)).take(&webhook, &goal).await.unwrap());
        let dropped = newest(&webhooks, &webhook).await;
        assert_eq!((dropped.outcome.as_deref(), dropped.attempts), (Some("dropped"), 0));
    })
    .await;
}
