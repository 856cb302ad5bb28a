use database::testing::on_each;
use fanout::Epoch;

use super::*;
use crate::{
    BookPrices, PriceCondition, SelectionPrice, WebhookTerms,
    config::WebhooksConfig,
    store::tests::{NOW, eids, football, goal, position, terms, webhooks},
};

/// Its account was deleted, or its owner deleted it, after the webhooks were read.
#[tokio::test]
async fn deleted_webhook_does_not_keep_events_from_others() {
    on_each(async |database| {
        let webhooks = webhooks(&database, WebhooksConfig::default()).await;
        let gone = webhooks.create(1, &terms(&[]), NOW).await.unwrap().id;
        let other = webhooks.create(2, &terms(&[]), NOW).await.unwrap().id;
        let mut recorder = Recorder::new(database.clone(), webhooks.clone());
        recorder.refresh().await.unwrap();
        sqlx::query("DELETE FROM customer_webhooks WHERE id = $1")
            .bind(gone)
            .execute(database.pool())
            .await
            .unwrap();
        let crossing = |event| PriceCrossing {
            condition: ConditionId { webhook: gone, index: 0 },
            channel: ChannelId::new("football/7/odds"),
            event,
        };
        let crossings = [crossing(None), crossing(Some(goal("football/7/odds", "p1", NOW + 1)))];
        let events = [goal("football/7", "g1", NOW + 1)];
        recorder.record(&events, &crossings, position(5), &football(), NOW).await.unwrap();
        assert_eq!(eids(&webhooks, other, None).await, ["g1"]);
        assert_eq!(recorder.position().await.unwrap(), Some(position(5)));
    })
    .await;
}

#[tokio::test]
async fn waiting_deliveries_are_counted_after_a_twentieth_of_the_maximum() {
    on_each(async |database| {
        let config = WebhooksConfig { waiting_max: 40, ..WebhooksConfig::default() };
        let webhooks = webhooks(&database, config).await;
        let id = webhooks.create(1, &terms(&[]), NOW).await.unwrap().id;
        let mut recorder = Recorder::new(database.clone(), webhooks.clone());
        recorder.refresh().await.unwrap();
        let mut last = 0;
        let mut waiting_after = async |count| {
            let events: Vec<_> = (last + 1..=last + count)
                .map(|it| goal("football/7", &format!("g{it}"), NOW + 1))
                .collect();
            last += count;
            recorder.record(&events, &[], position(1), &football(), NOW).await.unwrap();
            eids(&webhooks, id, None).await.len()
        };
        assert_eq!(waiting_after(41).await, 40);
        assert_eq!(waiting_after(1).await, 41);
        assert_eq!(waiting_after(1).await, 42);
        assert_eq!(waiting_after(1).await, 40);
        assert_eq!(waiting_after(1).await, 41);
        assert_eq!(webhooks.get(1, id).await.unwrap().dropped, 4);
    })
    .await;
}

/// What the recorder does not know yet must not leave a row behind: it would count as met once the condition is back.
#[tokio::test]
async fn condition_that_was_removed_meanwhile_is_not_met() {
    on_each(async |database| {
        let webhooks = webhooks(&database, WebhooksConfig::default()).await;
        let condition = |line| PriceCondition::parse(line).unwrap();
        let priced = |prices| WebhookTerms {
            events: vec![EventKind::Price],
            prices,
            ..terms(&["football/7/odds"])
        };
        let home = condition("match_winner home >= 2.5");
        let first = priced(vec![home.clone()]);
        let id = webhooks.create(1, &first, NOW).await.unwrap().id;
        let mut recorder = Recorder::new(database.clone(), webhooks.clone());
        recorder.refresh().await.unwrap();
        let other = priced(vec![condition("match_winner away >= 9")]);
        webhooks.change(1, id, &other, None, NOW).await.unwrap();
        let update = PriceUpdate {
            channel: ChannelId::new("football/7/odds"),
            epoch: Epoch(1),
            seq: 1,
            at: NOW + 1,
            book: Some(BookPrices {
                selections: vec![SelectionPrice {
                    market: home.market,
                    selection: home.selection,
                    price: Some("3".parse().unwrap()),
                    bookmaker: None,
                }],
                ..BookPrices::default()
            }),
        };
        let (mut met, mut crossings) = (MetConditions::default(), Vec::new());
        recorder.check_prices(&update, &mut met, &mut crossings);
        assert_eq!(crossings.len(), 1);
        recorder.record(&[], &crossings, position(1), &football(), NOW).await.unwrap();
        assert_eq!(store::met_conditions(&database).await.unwrap(), []);
    })
    .await;
}
