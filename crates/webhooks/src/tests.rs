//! Changes of webhooks.

use database::testing::on_each;

use super::*;
use crate::store::tests::{NOW, terms, webhooks};

const TEST_SECRET: [u8; 32] = [7; 32];

/// The webhooks of a database in a process with these settings.
fn process(database: &Database, config: &WebhooksConfig) -> Webhooks {
    let tls = base::tls::without_authorities();
    Webhooks::new(database.clone(), Zeroizing::new(TEST_SECRET), config, tls)
}

/// Every change has all webhooks read again.
#[tokio::test]
async fn what_stays_as_it_was_is_no_change() {
    on_each(async |database| {
        let webhooks = webhooks(&database, WebhooksConfig::default()).await;
        let id = webhooks.create(1, &terms(&["football/*"]), NOW).await.unwrap().id;
        let mut recorder = Recorder::new(database.clone(), webhooks.clone());
        recorder.refresh().await.unwrap();
        let mut check = async |terms: &WebhookTerms, enabled, is_change: bool| {
            let before = webhooks.changes();
            webhooks.change(1, id, terms, enabled, NOW).await.unwrap();
            assert_eq!(webhooks.changes() > before, is_change, "{terms:?} {enabled:?}");
            assert_eq!(recorder.refresh().await.unwrap(), is_change, "{terms:?} {enabled:?}");
        };
        let same = terms(&["football/*"]);
        let mut events = same.events.clone();
        events.reverse();
        events.push(events[0]);
        check(&same, None, false).await;
        check(&same, Some(true), false).await;
        check(&WebhookTerms { events, ..same.clone() }, None, false).await;
        let other = terms(&[]);
        check(&other, None, true).await;
        check(&other, Some(false), true).await;
        check(&other, Some(false), false).await;
        check(&other, Some(true), true).await;
        check(&same, Some(true), true).await;
    })
    .await;
}

#[tokio::test]
async fn webhook_whose_terms_became_invalid_can_be_disabled_and_deleted() {
    on_each(async |database| {
        let config = WebhooksConfig { allow_private: true, ..WebhooksConfig::default() };
        let terms = WebhookTerms { url: "http://10.0.0.1/".to_owned(), ..terms(&[]) };
        let before = webhooks(&database, config).await;
        let id = before.create(1, &terms, NOW).await.unwrap().id;
        let webhooks = process(&database, &WebhooksConfig::default());
        let disabled = webhooks.change(1, id, &terms, Some(false), NOW).await.unwrap();
        assert!(disabled.disabled.is_some());
        let refused = webhooks.change(1, id, &terms, Some(true), NOW).await;
        assert!(matches!(refused, Err(WebhookError::Invalid(_))), "{refused:?}");
        let refused = webhooks
            .change(
                1,
                id,
                &WebhookTerms { channels: Vec::new(), events: vec![EventKind::Goal], ..terms },
                None,
                NOW,
            )
            .await;
        assert!(matches!(refused, Err(WebhookError::Invalid(_))), "{refused:?}");
        webhooks.delete(1, id).await.unwrap();
    })
    .await;
}

/// A newer program wrote them, and is to find them again.
#[tokio::test]
async fn unknown_events_and_conditions_stay_unless_they_are_replaced() {
    on_each(async |database| {
        let webhooks = webhooks(&database, WebhooksConfig::default()).await;
        let id = webhooks.create(1, &terms(&[]), NOW).await.unwrap().id;
        let stored = ("goal novelty card", "match_winner home is 2.5");
        sqlx::query("UPDATE customer_webhooks SET events = $1, prices = $2 WHERE id = $3")
            .bind(stored.0)
            .bind(stored.1)
            .bind(id)
            .execute(database.pool())
            .await
            .unwrap();
        let read = async || -> (String, String) {
            sqlx::query_as("SELECT events, prices FROM customer_webhooks")
                .fetch_one(database.pool())
                .await
                .unwrap()
        };
        let terms = webhooks.get(1, id).await.unwrap().terms;
        assert_eq!(terms.events, [EventKind::Goal, EventKind::Card]);
        webhooks.change(1, id, &terms, Some(false), NOW).await.unwrap();
        let channels = vec!["football/*".to_owned()];
        let changed = WebhookTerms { channels, ..terms };
        webhooks.change(1, id, &changed, Some(true), NOW).await.unwrap();
        assert_eq!(read().await, (stored.0.to_owned(), stored.1.to_owned()));
        let replaced = WebhookTerms { events: vec![EventKind::Card], ..changed };
        webhooks.change(1, id, &replaced, None, NOW).await.unwrap();
        assert_eq!(read().await, ("card".to_owned(), stored.1.to_owned()));
    })
    .await;
}
