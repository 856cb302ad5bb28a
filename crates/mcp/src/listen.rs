//! `subscriptions/listen`: tells which resources have changed, coalesced. It never sends values: the client
//! reads, or calls `wait_for_change`, and knows from the sequence whether it has to.

use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use facts::event::Sport;
use futures_util::future::select_all;
use hub::watch::{ChannelWatch, Head};
use rmcp::{
    ErrorData,
    model::{
        NotificationMetaObject, ResourceUpdatedNotification, ResourceUpdatedNotificationParam,
        ServerNotification, SubscriptionFilter,
    },
    service::{SubscriptionContext, SubscriptionSink},
};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use crate::{
    refusal::Refusal,
    resource::{ResourceName, named},
    server::Server,
};

/// How often the matches in play are compared, for the notification that the list of resources has changed.
const LISTS_EVERY: Duration = Duration::from_secs(1);

/// The matches in play of each sport, as a number that changes with them. Computed once for all streams.
#[derive(Debug, Default)]
pub(crate) struct LiveLists {
    lists: Mutex<HashMap<Sport, LiveList>>,
}

#[derive(Debug)]
struct LiveList {
    at: Instant,
    ids: Vec<record::Key>,
    generation: u64,
}

/// What a stream follows.
#[derive(Debug, Default)]
struct Subscription {
    watched: Vec<Watched>,
    /// The generation of the list of matches in play that the client knows, if it follows that.
    list: Option<u64>,
}

/// What the stream of a request follows, from before its filter is acknowledged: clients read after that, and hear of all
/// that changes later. A clone of the server is for another request.
#[derive(Debug, Default)]
pub(crate) struct PendingSubscription(Mutex<Subscription>);

impl PendingSubscription {
    fn replace(&self, followed: Subscription) -> Subscription {
        mem::replace(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), followed)
    }
}

impl Clone for PendingSubscription {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// A watched resource.
#[derive(Debug)]
struct Watched {
    uri: String,
    watch: ChannelWatch,
    /// What the client knows: the head at the last notification.
    notified: Option<Head>,
    /// A change that the client does not know yet.
    latest: Option<Head>,
    /// When it may be notified of values again.
    next: Instant,
}

impl Watched {
    /// When the client is to be notified, as of `now`; `None` if it knows everything.
    fn due(&self, now: Instant) -> Option<Instant> {
        let latest = self.latest?;
        let last_event = self.notified.map_or(0, |notified| notified.last_event);
        let is_urgent = latest.last_event > last_event
            || latest.is_closed
            || self.notified.is_some_and(|notified| notified.epoch != latest.epoch);
        Some(if is_urgent { now } else { self.next })
    }
}

impl Server {
    /// The part of a requested filter that this server honours, which it follows from now on. Whether the account may
    /// see a resource is known only in [`Server::follow`].
    pub(crate) fn accepted(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        let uris = requested.resource_subscriptions.as_ref();
        let uris = uris.into_iter().flatten().filter(
            |uri| matches!(named(uri), Some(ResourceName::Channel(channel)) if self.has_channel(&channel)),
        );
        let uris: Vec<String> =
            uris.take(self.shared.parts.config.listen_resources_max).cloned().collect();
        let mut accepted = SubscriptionFilter::new();
        accepted.resources_list_changed = requested.resources_list_changed.filter(|wanted| *wanted);
        let subscription = Subscription {
            watched: uris.iter().map(|uri| self.watch(uri)).collect(),
            list: accepted.resources_list_changed.map(|_| self.live_list()),
        };
        accepted.resource_subscriptions = (!uris.is_empty()).then_some(uris);
        self.pending.replace(subscription);
        accepted
    }

    fn watch(&self, uri: &str) -> Watched {
        let channel = uri.split_once("://").map_or("", |(_, path)| path);
        let watch = self.shared.channels.watch(channel);
        Watched { uri: uri.to_owned(), watch, notified: None, latest: None, next: Instant::now() }
    }

    fn has_channel(&self, channel: &str) -> bool {
        let first = channel.split('/').next().unwrap_or_default();
        let sport = self.kind.sport.as_str();
        first == sport || sport == "football" && matches!(channel, "signals" | "feeds")
    }

    /// Notifies a stream until its client leaves or the hub stops.
    pub(crate) async fn follow(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let context = subscription.request_context();
        let caller = Self::caller(context)?;
        let config = &self.shared.parts.config;
        let followed = self.pending.replace(Subscription::default());
        for watched in &followed.watched {
            if let Some(ResourceName::Channel(channel)) = named(&watched.uri) {
                self.may_follow(&channel, &caller).map_err(|refusal| refusal.error())?;
            }
        }
        let is_full = self.shared.channels.watched() > config.watched_channels_max;
        let slot = self.shared.listens.take(caller.account).filter(|_| !is_full);
        let _slot = slot.ok_or_else(|| {
            let message =
                format!("At most {} streams of one account.", config.listens_max_per_account);
            Refusal::new("too_many_streams", message).error()
        })?;
        let notify = self.notify(subscription.sink(), followed);
        tokio::select! {
            result = notify => result,
            () = subscription.cancelled() => Ok(()),
            () = self.shared.admission.until_withdrawn(caller, self.kind.product) => Ok(()),
            // The final result tells the client that the stream ended in order.
            () = self.shared.parts.stop.cancelled() => Ok(()),
        }
    }

    async fn notify(
        &self,
        sink: &SubscriptionSink,
        Subscription { mut watched, list: mut generation }: Subscription,
    ) -> Result<(), ErrorData> {
        let every = Duration::from_millis(self.shared.parts.config.notify_ms);
        let mut list_at = Instant::now() + LISTS_EVERY;
        loop {
            let now = Instant::now();
            let due = watched.iter().filter_map(|it| it.due(now)).min();
            let due = due.into_iter().chain(generation.map(|_| list_at)).min();
            let alarm = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                (head, index) = any_change(&mut watched) => watched[index].latest = Some(head),
                () = alarm => {}
            }
            let now = Instant::now();
            for one in watched.iter_mut().filter(|it| it.due(now).is_some_and(|due| due <= now)) {
                let Some(head) = one.latest.take() else { continue };
                let notified = one.notified.replace(head);
                one.next = now + every;
                let seen = notified
                    .filter(|notified| notified.epoch == head.epoch)
                    .map_or(0, |notified| notified.last_event);
                if sink.send(updated(&one.uri, head, head.last_event > seen)).await.is_err() {
                    return Ok(());
                }
            }
            if let Some(seen) = generation.filter(|_| now >= list_at) {
                list_at = now + LISTS_EVERY;
                let current = self.live_list();
                generation = Some(current);
                if current != seen && sink.notify_resource_list_changed().await.is_err() {
                    return Ok(());
                }
            }
        }
    }

    /// The generation of the list of matches in play.
    fn live_list(&self) -> u64 {
        let lists = self.shared.live_lists.lists.lock();
        let mut lists = lists.unwrap_or_else(PoisonError::into_inner);
        let cached = lists.get(&self.kind.sport);
        if let Some(cached) = cached.filter(|cached| cached.at.elapsed() < LISTS_EVERY / 2) {
            return cached.generation;
        }
        let live = self.shared.parts.history.live(self.kind.sport);
        let ids: Vec<_> = live.iter().map(|record| record.summary.id).collect();
        let generation = match cached {
            Some(cached) if cached.ids == ids => cached.generation,
            cached => cached.map_or(1, |cached| cached.generation + 1),
        };
        lists.insert(self.kind.sport, LiveList { at: Instant::now(), ids, generation });
        generation
    }
}

async fn any_change(watched: &mut [Watched]) -> (Head, usize) {
    if watched.is_empty() {
        return std::future::pending().await;
    }
    let (head, index, _) =
        select_all(watched.iter_mut().map(|it| Box::pin(it.watch.changed()))).await;
    (head, index)
}

/// The notification of a change, with the position that it has reached.
fn updated(uri: &str, head: Head, has_events: bool) -> ServerNotification {
    let mut meta = NotificationMetaObject::new();
    meta.insert("org.matchwire/epoch".to_owned(), json!(head.epoch.to_string()));
    meta.insert("org.matchwire/seq".to_owned(), json!(head.seq));
    meta.insert("org.matchwire/events".to_owned(), json!(has_events));
    if head.is_closed {
        meta.insert("org.matchwire/closed".to_owned(), json!(true));
    }
    let params = ResourceUpdatedNotificationParam::new(uri);
    let mut notification = ResourceUpdatedNotification::new(params);
    notification.extensions.insert(meta);
    ServerNotification::ResourceUpdatedNotification(notification)
}
