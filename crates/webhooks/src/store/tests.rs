use std::sync::Arc;

use database::testing::on_each;
use fanout::{ChannelId, Epoch};
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use super::*;
use crate::{
    BookPrices, Event, EventKind, MayReceive, PriceCondition, PriceUpdate, SelectionPrice,
    WebhookError, Webhooks, config::WebhooksConfig, recorder::Recorder,
};

pub(crate) const NOW: Micros = 1_788_280_000_000_000;

/// Webhooks of a new database with the accounts 1 and 2.
pub(crate) async fn webhooks(database: &Database, config: WebhooksConfig) -> Webhooks {
    for id in 1..=2 {
        sqlx::query("INSERT INTO accounts (id, created_us) VALUES ($1, $2)")
            .bind(id)
            .bind(NOW)
            .execute(database.pool())
            .await
            .unwrap();
    }
    let tls = base::tls::without_authorities();
    Webhooks::new(database.clone(), Zeroizing::new([7; 32]), &config, tls)
}

pub(crate) fn terms(channels: &[&str]) -> WebhookTerms {
    WebhookTerms {
        url: "https://example.org/hook".to_owned(),
        events: vec![EventKind::Goal, EventKind::Card],
        channels: channels.iter().map(|channel| (*channel).to_owned()).collect(),
        prices: Vec::new(),
    }
}

pub(crate) fn goal(channel: &str, eid: &str, at: Micros) -> Event {
    let json = format!(r#"{{"kind":"goal","eid":"{eid}"}}"#);
    Event {
        kind: EventKind::Goal,
        channel: ChannelId::new(channel),
        epoch: Epoch(1),
        eid: eid.to_owned(),
        at,
        json: RawValue::from_string(json).unwrap(),
    }
}

/// Everybody may receive football.
pub(crate) fn football() -> MayReceive {
    Arc::new(|_, channel| Some(channel.starts_with("football/")))
}

pub(crate) fn position(record: u64) -> Position {
    Position { record, at: NOW + record.cast_signed() }
}

/// The `eid`s of the deliveries of a webhook with this outcome, the newest first; `None`: those that wait.
pub(crate) async fn eids(webhooks: &Webhooks, id: i64, outcome: Option<&str>) -> Vec<String> {
    let deliveries = webhooks.shared.store.deliveries(id, None, 100).await.unwrap();
    let of_outcome = deliveries.into_iter().filter(|it| it.outcome.as_deref() == outcome);
    of_outcome.map(|delivery| delivery.eid).collect()
}

#[tokio::test]
async fn webhooks_belong_to_their_account() {
    on_each(async |database| {
        let config = WebhooksConfig { max_per_account: 2, ..WebhooksConfig::default() };
        let webhooks = webhooks(&database, config).await;
        let first = webhooks.create(1, &terms(&["football/*"]), NOW).await.unwrap();
        assert_eq!(first.terms, terms(&["football/*"]));
        webhooks.create(1, &terms(&[]), NOW).await.unwrap();
        let error = webhooks.create(1, &terms(&[]), NOW).await.unwrap_err();
        assert!(matches!(error, WebhookError::TooMany { limit: 2 }), "{error}");
        let other = webhooks.create(2, &terms(&[]), NOW).await.unwrap();
        assert_eq!(webhooks.list(1).await.unwrap().len(), 2);
        for unknown in [other.id, 99] {
            let error = webhooks.get(1, unknown).await.unwrap_err();
            assert!(matches!(error, WebhookError::Unknown), "{error}");
            assert!(webhooks.delete(1, unknown).await.is_err());
            assert!(webhooks.rotate(1, unknown, NOW).await.is_err());
            assert!(webhooks.test(1, unknown, NOW).await.is_err());
        }
        webhooks.delete(1, first.id).await.unwrap();
        assert_eq!(webhooks.list(1).await.unwrap().len(), 1);
        assert_eq!(webhooks.get(2, other.id).await.unwrap(), other);
    })
    .await;
}

#[tokio::test]
async fn rotation_gives_another_secret() {
    on_each(async |database| {
        let webhooks = webhooks(&database, WebhooksConfig::default()).await;
        let webhook = webhooks.create(1, &terms(&[]), NOW).await.unwrap();
        let rotated = webhooks.rotate(1, webhook.id, NOW + 1).await.unwrap();
        assert_eq!((rotated.generation, rotated.rotated), (2, Some(NOW + 1)));
        assert_ne!(webhooks.secret(&webhook), webhooks.secret(&rotated));
    })
    .await;
}

#[tokio::test]
async fn events_are_recorded_once_with_the_position() {
    on_each(async |database| {
        let webhooks = webhooks(&database, WebhooksConfig::default()).await;
        let football_only = webhooks.create(1, &terms(&["football/7"]), NOW).await.unwrap().id;
        let all = webhooks.create(2, &terms(&[]), NOW).await.unwrap().id;
        let mut recorder = Recorder::new(database.clone(), webhooks.clone());
        recorder.refresh().await.unwrap();
        assert_eq!(recorder.position().await.unwrap(), None);
        assert_eq!(recorder.begin(), Some(NOW));
        let events = [
            goal("football/7", "g1", NOW + 1),
            goal("football/8", "g1", NOW + 1),
            goal("hockey/9", "g1", NOW + 1),
            goal("football/7", "g0", NOW - 1),
        ];
        recorder.record(&events, &[], position(5), &football(), NOW).await.unwrap();
        // After a crash the same records come again.
        recorder.record(&events, &[], position(6), &football(), NOW + 9).await.unwrap();
        assert_eq!(eids(&webhooks, football_only, None).await, ["g1"]);
        assert_eq!(eids(&webhooks, all, None).await, ["g1", "g1"], "hockey is not paid for");
        let messages = webhooks.shared.store.deliveries(all, None, 9).await.unwrap();
        assert_ne!(messages[0].message_id, messages[1].message_id);
        assert_eq!(recorder.position().await.unwrap(), Some(position(6)));
        recorder.forget_position().await.unwrap();
        assert_eq!(recorder.position().await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn disabled_webhook_gets_nothing_of_that_time() {
    on_each(async |database| {
        let webhooks = webhooks(&database, WebhooksConfig::default()).await;
        let id = webhooks.create(1, &terms(&[]), NOW).await.unwrap().id;
        let mut recorder = Recorder::new(database.clone(), webhooks.clone());
        let disabled = webhooks.change(1, id, &terms(&[]), Some(false), NOW + 1).await.unwrap();
        assert!(disabled.disabled.is_some());
        recorder.refresh().await.unwrap();
        assert!(recorder.kinds().is_empty() && recorder.accounts().is_empty());
        assert!(webhooks.test(1, id, NOW).await.is_err());
        let enabled = webhooks.change(1, id, &terms(&[]), Some(true), NOW + 10).await.unwrap();
        assert_eq!(enabled.disabled, None);
        recorder.refresh().await.unwrap();
        let events = [goal("football/7", "g1", NOW + 5), goal("football/7", "g2", NOW + 10)];
        recorder.record(&events, &[], position(1), &football(), NOW).await.unwrap();
        assert_eq!(eids(&webhooks, id, None).await, ["g2"]);
    })
    .await;
}

#[tokio::test]
async fn oldest_waiting_deliveries_are_dropped_and_counted() {
    on_each(async |database| {
        let config = WebhooksConfig { waiting_max: 3, ..WebhooksConfig::default() };
        let webhooks = webhooks(&database, config).await;
        let id = webhooks.create(1, &terms(&[]), NOW).await.unwrap().id;
        let mut recorder = Recorder::new(database.clone(), webhooks.clone());
        recorder.refresh().await.unwrap();
        let events: Vec<_> =
            (1..=5).map(|it| goal("football/7", &format!("g{it}"), NOW + it)).collect();
        recorder.record(&events, &[], position(1), &football(), NOW).await.unwrap();
        assert_eq!(eids(&webhooks, id, None).await, ["g5", "g4", "g3"]);
        assert_eq!(eids(&webhooks, id, Some("dropped")).await, ["g2", "g1"]);
        assert_eq!(webhooks.get(1, id).await.unwrap().dropped, 2);
    })
    .await;
}

#[tokio::test]
async fn delivery_is_claimed_once_and_retried() {
    on_each(async |database| {
        let webhooks = webhooks(&database, WebhooksConfig::default()).await;
        let id = webhooks.create(1, &terms(&[]), NOW).await.unwrap().id;
        let message = webhooks.test(1, id, NOW).await.unwrap();
        let store = &webhooks.shared.store;
        assert!(store.webhooks_due(NOW - 1, 0, 9).await.unwrap().is_empty());
        assert_eq!(store.webhooks_due(NOW, 0, 9).await.unwrap(), [(id, 1)]);
        let delivery = store.next_due(id, NOW).await.unwrap().unwrap();
        assert_eq!(delivery.message_id, message);
        assert!(store.claim(&delivery, NOW + 100).await.unwrap());
        assert!(!store.claim(&delivery, NOW + 100).await.unwrap(), "it is claimed");
        assert_eq!(store.next_due(id, NOW + 99).await.unwrap(), None);
        // The process that claimed it has died.
        let again = store.next_due(id, NOW + 100).await.unwrap().unwrap();
        assert_eq!((again.attempts, &again.message_id), (1, &message));

        store.reschedule(delivery.id, NOW + 200, Some(500), "no").await.unwrap();
        store.note_failure(id, NOW + 300, NOW + 1).await.unwrap();
        store.note_failure(id, NOW + 300, NOW + 2).await.unwrap();
        let webhook = webhooks.get(1, id).await.unwrap();
        assert_eq!((webhook.failures, webhook.failing_since), (2, Some(NOW + 1)));
        assert!(store.webhooks_due(NOW + 299, 0, 9).await.unwrap().is_empty(), "it pauses");
        assert_eq!(store.webhooks_due(NOW + 300, 0, 9).await.unwrap(), [(id, 1)]);
        let waiting = |due| vec![Waiting { webhook: id, count: 1, due }];
        assert_eq!(store.waiting(NOW + 299).await.unwrap(), waiting(None));
        assert_eq!(store.waiting(NOW + 300).await.unwrap(), waiting(Some(NOW + 200)));

        store.finish(delivery.id, Outcome::Delivered, Some(204), None, NOW + 301).await.unwrap();
        store.note_success(id).await.unwrap();
        let webhook = webhooks.get(1, id).await.unwrap();
        assert_eq!((webhook.failures, webhook.failing_since), (0, None));
        assert_eq!(store.waiting(NOW + 400).await.unwrap(), []);
        let done = webhooks.deliveries(1, id, None, 9).await.unwrap().remove(0);
        assert_eq!((done.status, done.error, done.done), (Some(204), None, Some(NOW + 301)));

        webhooks.resend(1, id, &message, NOW + 500).await.unwrap();
        let again = store.next_due(id, NOW + 500).await.unwrap().unwrap();
        assert_eq!((again.attempts, again.message_id), (0, message));
        assert!(webhooks.resend(1, id, "msg_none", NOW).await.is_err());
    })
    .await;
}

#[tokio::test]
async fn ten_tests_of_a_webhook_wait_at_most() {
    on_each(async |database| {
        let webhooks = webhooks(&database, WebhooksConfig::default()).await;
        let id = webhooks.create(1, &terms(&[]), NOW).await.unwrap().id;
        for at in 0..10 {
            webhooks.test(1, id, NOW + at).await.unwrap();
        }
        let refused = webhooks.test(1, id, NOW + 10).await;
        assert!(matches!(refused, Err(WebhookError::TooManyTests)), "{refused:?}");
        let store = &webhooks.shared.store;
        let sent = store.next_due(id, NOW + 11).await.unwrap().unwrap();
        store.finish(sent.id, Outcome::Delivered, Some(200), None, NOW + 11).await.unwrap();
        webhooks.test(1, id, NOW + 12).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn turn_goes_round_the_webhooks() {
    on_each(async |database| {
        let webhooks = webhooks(&database, WebhooksConfig::default()).await;
        let mut ids = Vec::new();
        for _ in 0..3 {
            let id = webhooks.create(1, &terms(&[]), NOW).await.unwrap().id;
            webhooks.test(1, id, NOW).await.unwrap();
            ids.push(id);
        }
        let store = &webhooks.shared.store;
        let due = store.webhooks_due(NOW, ids[0], 9).await.unwrap();
        assert_eq!(due, [ids[1], ids[2], ids[0]].map(|id| (id, 1)));
    })
    .await;
}

#[tokio::test]
async fn old_deliveries_are_deleted() {
    on_each(async |database| {
        let webhooks = webhooks(&database, WebhooksConfig::default()).await;
        let id = webhooks.create(1, &terms(&[]), NOW).await.unwrap().id;
        let store = &webhooks.shared.store;
        for at in 1..=6 {
            webhooks.test(1, id, NOW + at).await.unwrap();
            if at < 6 {
                let due = store.next_due(id, NOW + at).await.unwrap().unwrap();
                store.finish(due.id, Outcome::Delivered, Some(200), None, NOW).await.unwrap();
            }
        }
        store.sweep(NOW + 2, 3, || true).await.unwrap();
        assert_eq!(store.deliveries(id, None, 9).await.unwrap().len(), 6, "the hub stops");
        store.sweep(NOW + 2, 3, || false).await.unwrap();
        let kept: Vec<_> = (4..=6).rev().map(|at| format!("test-{}", NOW + at)).collect();
        assert_eq!(eids(&webhooks, id, None).await, kept[..1]);
        let done = eids(&webhooks, id, Some("delivered")).await;
        assert_eq!(done, [&kept[1], &kept[2], &format!("test-{}", NOW + 3)].map(String::clone));
        store.sweep(NOW + 9, 3, || false).await.unwrap();
        assert_eq!(store.deliveries(id, None, 9).await.unwrap(), []);
    })
    .await;
}

/// Conditions that are met are known after a restart, and forgotten with the terms that have them.
#[tokio::test]
async fn price_is_an_event_once_through_a_restart() {
    on_each(async |database| {
        let webhooks = webhooks(&database, WebhooksConfig::default()).await;
        let prices = vec![PriceCondition::parse("match_winner home >= 2.5").unwrap()];
        let priced =
            WebhookTerms { events: vec![EventKind::Price], prices, ..terms(&["football/7/odds"]) };
        let webhook = webhooks.create(1, &priced, NOW).await.unwrap();
        assert_eq!(webhook.terms, priced);
        let update = |seq, price: &str| PriceUpdate {
            channel: ChannelId::new("football/7/odds"),
            epoch: Epoch(1),
            seq,
            at: NOW + 1,
            book: Some(BookPrices {
                selections: vec![SelectionPrice {
                    market: "match_winner".to_owned(),
                    selection: "home".to_owned(),
                    price: Some(price.parse().unwrap()),
                    bookmaker: None,
                }],
                ..BookPrices::default()
            }),
        };
        // Each time by a recorder that knows only what is stored.
        let record = async |seq, price: &str| {
            let mut recorder = Recorder::new(database.clone(), webhooks.clone());
            recorder.refresh().await.unwrap();
            let mut met = recorder.met_conditions().await.unwrap();
            let mut crossings = Vec::new();
            recorder.check_prices(&update(seq, price), &mut met, &mut crossings);
            recorder.record(&[], &crossings, position(seq), &football(), NOW).await.unwrap();
            eids(&webhooks, webhook.id, None).await.len()
        };
        assert_eq!(record(1, "2.4").await, 0);
        assert_eq!(record(2, "2.5").await, 1);
        assert_eq!(record(3, "2.6").await, 1, "it is met already");
        assert_eq!(record(4, "2.4").await, 1);
        assert_eq!(record(5, "2.7").await, 2);
        let change = async |terms: &WebhookTerms, enabled| {
            webhooks.change(1, webhook.id, terms, enabled, NOW).await.unwrap();
        };
        let more = PriceCondition::parse("match_winner away >= 9").unwrap();
        let more = vec![more, priced.prices[0].clone()];
        change(&WebhookTerms { prices: more, ..priced.clone() }, Some(true)).await;
        assert_eq!(record(6, "2.8").await, 2, "it still has the condition, in another place");
        change(&WebhookTerms { channels: vec!["football/*/odds".to_owned()], ..priced }, None)
            .await;
        assert_eq!(record(7, "2.8").await, 3, "it may have missed something in other channels");
        let paused = webhooks.get(1, webhook.id).await.unwrap().terms;
        change(&paused, Some(false)).await;
        change(&paused, Some(true)).await;
        assert_eq!(record(8, "2.8").await, 4, "and while it was disabled");
    })
    .await;
}
