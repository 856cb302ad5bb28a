//! Records the deliveries of events, with the position in the log behind them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use base::Micros;
use database::Database;
use fanout::ChannelId;
use metrics::counter;
use sqlx::AnyConnection;

use crate::{
    Event, EventKind, MayReceive, MetConditions, PriceCrossing, PriceUpdate, Webhook, Webhooks,
    price::{self, ConditionId},
    store::{self, NewDelivery, Stamp},
    webhook::Subscription,
};

/// The part of the maximum of waiting deliveries that a webhook can get before those that wait are counted again: a twentieth.
const UNCOUNTED_SHARE: u32 = 20;

/// A position in the log: behind this record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub record: u64,
    /// When the record was made.
    pub at: Micros,
}

/// Knows the webhooks that get events, and adds deliveries to the outbox.
#[derive(Debug)]
pub struct Recorder {
    database: Database,
    webhooks: Webhooks,
    stamp: Option<Stamp>,
    subscriptions: Vec<Subscription>,
    /// The deliveries that each webhook got since those that wait were counted last. None of a webhook for which that was
    /// not done yet.
    uncounted: HashMap<i64, u32>,
}

impl Recorder {
    pub(crate) fn new(database: Database, webhooks: Webhooks) -> Self {
        let (subscriptions, uncounted) = (Vec::new(), HashMap::new());
        Self { database, webhooks, stamp: None, subscriptions, uncounted }
    }

    /// Reads the webhooks again if they have changed. Returns whether they have.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn refresh(&mut self) -> sqlx::Result<bool> {
        let store = &self.webhooks.shared.store;
        let stamp = store.stamp().await?;
        let has_changed = self.stamp != Some(stamp);
        if has_changed {
            let enabled = store.enabled().await?;
            let ids: BTreeSet<i64> = enabled.iter().map(|webhook| webhook.id).collect();
            self.uncounted.retain(|webhook, _| ids.contains(webhook));
            self.subscriptions = enabled.into_iter().map(Subscription::new).collect();
            self.stamp = Some(stamp);
        }
        Ok(has_changed)
    }

    /// Whether any webhook has conditions on the prices of this channel.
    #[must_use]
    pub fn follows_prices(&self, channel: &ChannelId) -> bool {
        self.subscriptions.iter().any(|subscription| subscription.follows_prices(channel))
    }

    /// The conditions on prices that are met, as of the stored position.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn met_conditions(&self) -> sqlx::Result<MetConditions> {
        let mut met = MetConditions::default();
        for (webhook, condition, channel) in store::met_conditions(&self.database).await? {
            let channel = ChannelId::new(channel);
            for index in self.places(webhook, &condition) {
                met.insert(channel.clone(), ConditionId { webhook, index });
            }
        }
        Ok(met)
    }

    /// The places of a condition, given as text, among those of a webhook. None for one that the webhook no longer has.
    fn places(&self, webhook: i64, condition: &str) -> impl Iterator<Item = usize> {
        let found = self.webhook(webhook).into_iter().flat_map(|webhook| &webhook.terms.prices);
        found.enumerate().filter(move |(_, it)| it.to_string() == condition).map(|(index, _)| index)
    }

    fn webhook(&self, id: i64) -> Option<&Webhook> {
        let mut webhooks = self.subscriptions.iter().map(|subscription| &subscription.webhook);
        webhooks.find(|webhook| webhook.id == id)
    }

    /// Adds what an update changes for conditions on prices. To be recorded with [`Self::record`].
    pub fn check_prices(
        &self,
        update: &PriceUpdate,
        met: &mut MetConditions,
        crossings: &mut Vec<PriceCrossing>,
    ) {
        price::check(&self.subscriptions, update, met, crossings);
    }

    /// Adds that no condition is met any more in channels that are not open, whose end was not read. To be recorded with
    /// [`Self::record`].
    pub fn end_closed(
        is_open: impl Fn(&ChannelId) -> bool,
        met: &mut MetConditions,
        crossings: &mut Vec<PriceCrossing>,
    ) {
        for channel in met.channels().filter(|channel| !is_open(channel)).collect::<Vec<_>>() {
            price::end(&channel, met, crossings);
        }
    }

    /// The kinds of events that any webhook is about. None: there is nothing to record.
    #[must_use]
    pub fn kinds(&self) -> BTreeSet<EventKind> {
        let terms = self.subscriptions.iter().map(|subscription| &subscription.webhook.terms);
        terms.flat_map(|terms| terms.events.iter().copied()).collect()
    }

    /// The accounts that have such webhooks.
    #[must_use]
    pub fn accounts(&self) -> BTreeSet<i64> {
        self.subscriptions.iter().map(|subscription| subscription.webhook.account).collect()
    }

    /// The time from which on events are recorded: of all webhooks, the first one that began to get events.
    #[must_use]
    pub fn begin(&self) -> Option<Micros> {
        self.subscriptions.iter().map(|subscription| subscription.webhook.active).min()
    }

    /// The position that is stored.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn position(&self) -> sqlx::Result<Option<Position>> {
        store::position(&self.database).await
    }

    /// Forgets the position, while nobody has a webhook.
    ///
    /// # Errors
    ///
    /// If the store fails, or if another node leads.
    pub async fn forget_position(&self) -> sqlx::Result<()> {
        let mut tx = self.database.begin().await?;
        store::set_position(&mut tx, None).await?;
        tx.commit().await
    }

    /// Stores the deliveries of these events, which conditions on prices are met, and the position behind them, in one
    /// transaction. An event that was recorded before changes nothing, and neither does one for a webhook that was deleted
    /// since the webhooks were read.
    ///
    /// # Errors
    ///
    /// If the store fails, or if another node leads; nothing has changed then.
    pub async fn record(
        &mut self,
        events: &[Event],
        crossings: &[PriceCrossing],
        position: Position,
        may_receive: &MayReceive,
        now: Micros,
    ) -> sqlx::Result<()> {
        let mut deliveries = self.deliveries(events, may_receive, now);
        deliveries.extend(self.price_deliveries(crossings, may_receive, now));
        let of_deliveries = deliveries.iter().map(|delivery| delivery.webhook);
        let of_crossings = crossings.iter().map(|crossing| crossing.condition.webhook);
        let webhooks: BTreeSet<i64> = of_deliveries.chain(of_crossings).collect();
        let mut tx = self.database.begin().await?;
        let conditions = store::conditions(&mut tx, &webhooks, self.database.is_sqlite()).await?;
        let mut added_to: BTreeMap<i64, u32> = BTreeMap::new();
        for delivery in deliveries.iter().filter(|it| conditions.contains_key(&it.webhook)) {
            let is_new = store::insert(&mut tx, delivery).await?;
            *added_to.entry(delivery.webhook).or_default() += u32::from(is_new);
        }
        let (mut counted, mut dropped) = (Vec::new(), 0);
        for (&webhook, &added) in &added_to {
            let max = self.webhooks.shared.config.waiting_max;
            if self.is_count_due(webhook, added, max) {
                dropped += store::drop_oldest(&mut tx, webhook, max, now).await?;
                counted.push(webhook);
            }
        }
        for crossing in crossings {
            self.set_met(&mut tx, crossing, &conditions, now).await?;
        }
        store::set_position(&mut tx, Some(position)).await?;
        tx.commit().await?;
        let added: u32 = added_to.values().sum();
        for (webhook, added) in added_to {
            *self.uncounted.entry(webhook).or_default() += added;
        }
        self.uncounted.extend(counted.into_iter().map(|webhook| (webhook, 0)));
        if added > 0 {
            counter!("matchwire_webhook_deliveries_total").increment(added.into());
            self.webhooks.shared.due.notify_one();
        }
        if dropped > 0 {
            counter!("matchwire_webhook_dropped_total").increment(dropped);
        }
        Ok(())
    }

    /// Whether the waiting deliveries of a webhook must be counted, now that it gets so many more. Counting reads all that
    /// wait, which are many if an endpoint is dead, so it is not done for each event.
    fn is_count_due(&self, webhook: i64, added: u32, waiting_max: u32) -> bool {
        let uncounted = self.uncounted.get(&webhook);
        uncounted.is_none_or(|it| it.saturating_add(added) > waiting_max / UNCOUNTED_SHARE)
    }

    /// Stores whether a condition is met. `conditions`: those that each webhook has now.
    async fn set_met(
        &self,
        tx: &mut AnyConnection,
        crossing: &PriceCrossing,
        conditions: &HashMap<i64, String>,
        now: Micros,
    ) -> sqlx::Result<()> {
        let PriceCrossing { condition: ConditionId { webhook, index }, channel, event } = crossing;
        let stored_condition = self.webhook(*webhook).and_then(|it| it.terms.prices.get(*index));
        let (Some(condition), Some(stored)) = (stored_condition, conditions.get(webhook)) else {
            return Ok(());
        };
        // The row of a condition that the webhook no longer has would outlast it.
        let text = condition.to_string();
        let is_met = event.is_some();
        if is_met && !stored.lines().any(|line| line == text) {
            return Ok(());
        }
        store::set_met(tx, (*webhook, condition, channel.as_str()), is_met, now).await
    }

    fn price_deliveries(
        &self,
        crossings: &[PriceCrossing],
        may_receive: &MayReceive,
        now: Micros,
    ) -> Vec<NewDelivery> {
        let delivery = |crossing: &PriceCrossing| {
            let event = crossing.event.as_ref()?;
            let webhook = self.webhook(crossing.condition.webhook)?;
            (may_receive(webhook.account, event.channel.as_str()) == Some(true))
                .then(|| NewDelivery::new(webhook, event, &event.body(), now))
        };
        crossings.iter().filter_map(delivery).collect()
    }

    fn deliveries(
        &self,
        events: &[Event],
        may_receive: &MayReceive,
        now: Micros,
    ) -> Vec<NewDelivery> {
        let mut deliveries = Vec::new();
        for event in events {
            let mut body = None;
            for Subscription { webhook, .. } in
                self.subscriptions.iter().filter(|subscription| subscription.wants(event))
            {
                if may_receive(webhook.account, event.channel.as_str()) == Some(true) {
                    let body = body.get_or_insert_with(|| event.body());
                    deliveries.push(NewDelivery::new(webhook, event, body, now));
                }
            }
        }
        deliveries
    }
}

#[cfg(test)]
mod tests;
