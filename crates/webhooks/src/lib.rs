//! Webhooks: events of channels, sent to URLs that customers name.
//!
//! **In:** records of the log, in which an [`Extractor`] finds events and prices; requests of owners. **Out:** signed HTTPS requests,
//! and the log of deliveries. **Must not know** the hub, add-ons, HTTP requests of clients.
//!
//! - **At least once.** A [`Recorder`] writes the deliveries of events and the position behind them in one transaction. After a
//!   crash the events behind the stored position come again. A delivery has a row, and its id follows from the webhook and
//!   the event, so a repeated event adds none. A process that ends between an answer and its row sends once more.
//! - **Sending** claims a row by moving its due time. Each webhook has one request in flight, so a slow endpoint delays only
//!   its own deliveries, and up to [`config::WebhooksConfig::connections`] webhooks are sent to at a time. The row of a
//!   failed delivery waits, and so does its webhook, for a time that doubles.
//! - **The URL is a stranger's.** A request goes to public addresses only, over HTTPS, without redirects: see `client`.
//! - **The secret** is not stored: see `signing`.
//!
//! In reading order: [`EventKind`] and [`Event`], [`Extractor`], [`Webhook`] with its checks, [`PriceCondition`], `signing`, `store`, [`Recorder`], `follower`,
//! `client`, `sender`.
//!
//! | queue | limit | beyond it |
//! |---|---|---|
//! | deliveries of a webhook that wait | `webhooks.waiting_max`, and a twentieth between two counts | the oldest are dropped, and its owner sees how many |
//! | its finished deliveries | `webhooks.log_max`, `webhooks.keep_days` | the oldest are deleted |
//! | requests in flight | `webhooks.connections` | other webhooks wait |
//! | bytes of a response | 16 KiB | not read, and the connection is closed |

mod client;
pub mod config;
mod event;
mod extract;
mod follower;
mod price;
mod recorder;
mod sender;
mod signing;
mod store;
mod webhook;

use std::{
    fmt, io,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use base::{Micros, work::Work};
use database::Database;
use rustls::ClientConfig;
use sqlx::AnyConnection;
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
};
use zeroize::Zeroizing;

use self::{
    client::Client, config::WebhooksConfig, sender::Sender, signing::ServerSecret, store::Store,
};
pub use self::{
    event::{Event, EventKind, UnknownEventKind},
    extract::Extractor,
    follower::FollowedHub,
    price::{
        BookPrices, MetConditions, PriceBound, PriceCondition, PriceCrossing, PriceUpdate,
        SelectionPrice,
    },
    recorder::{Position, Recorder},
    store::Delivery,
    webhook::{InvalidWebhook, Webhook, WebhookTerms},
};

/// Whether an account may receive events of a channel now, by the account's number and the name of the channel. `None`: that is
/// not known yet.
pub type MayReceive = Arc<dyn Fn(i64, &str) -> Option<bool> + Send + Sync>;

/// What is done in the transaction that disables a webhook because it failed: by the number of its account, and the time.
pub type OnDisabled = Arc<
    dyn for<'t> Fn(
            &'t mut AnyConnection,
            i64,
            Micros,
        ) -> Pin<Box<dyn Future<Output = sqlx::Result<()>> + Send + 't>>
        + Send
        + Sync,
>;

/// Why a request of an owner cannot be fulfilled.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    #[error(transparent)]
    Invalid(#[from] InvalidWebhook),
    #[error("the account has {limit} webhooks, the maximum")]
    TooMany { limit: u32 },
    /// There is no such webhook or delivery of this account.
    #[error("no such webhook or delivery")]
    Unknown,
    /// It must be enabled first.
    #[error("the webhook is disabled")]
    Disabled,
    #[error("ten tests of the webhook wait already")]
    TooManyTests,
    #[error("the store of webhooks failed")]
    Store(#[from] sqlx::Error),
}

/// The webhooks of all accounts. Clones share everything.
#[derive(Clone)]
pub struct Webhooks {
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    secret: ServerSecret,
    config: WebhooksConfig,
    tls: Arc<ClientConfig>,
    /// There may be deliveries to send.
    due: Notify,
    /// How often this process has changed which webhooks there are, or what they get.
    changes: AtomicU64,
    changed: Notify,
}

impl Webhooks {
    /// `secret`: a secret of the server, from which those of webhooks follow. `tls` decides which hosts are trusted.
    #[must_use]
    pub fn new(
        database: Database,
        secret: Zeroizing<[u8; 32]>,
        config: &WebhooksConfig,
        tls: Arc<ClientConfig>,
    ) -> Self {
        let (store, secret) = (Store::new(database), ServerSecret::new(secret));
        let shared = Shared {
            store,
            secret,
            config: config.clone(),
            tls,
            due: Notify::new(),
            changes: AtomicU64::new(0),
            changed: Notify::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The webhooks of an account, the oldest first.
    ///
    /// # Errors
    ///
    /// If the store fails, as for all others.
    pub async fn list(&self, account: i64) -> Result<Vec<Webhook>, WebhookError> {
        Ok(self.shared.store.webhooks_of(account).await?)
    }

    /// A webhook of an account.
    ///
    /// # Errors
    ///
    /// [`WebhookError::Unknown`].
    pub async fn get(&self, account: i64, id: i64) -> Result<Webhook, WebhookError> {
        let found = self.shared.store.webhook(id).await?;
        found.filter(|webhook| webhook.account == account).ok_or(WebhookError::Unknown)
    }

    /// Adds a webhook. It gets the events from `now` on, by the hub's clock.
    ///
    /// # Errors
    ///
    /// If the terms are not valid, or if the account has its maximum.
    pub async fn create(
        &self,
        account: i64,
        terms: &WebhookTerms,
        now: Micros,
    ) -> Result<Webhook, WebhookError> {
        let limit = self.shared.config.max_per_account;
        let terms = terms.checked(self.shared.config.allow_private)?;
        let id = self.shared.store.create(account, &terms, limit, now).await?;
        let id = id.ok_or(WebhookError::TooMany { limit })?;
        self.note_change();
        self.get(account, id).await
    }

    /// Replaces what a webhook gets, and where. `enabled`: enables or disables it. It gets no event of the time in which it was
    /// disabled. What stays as it was is no change.
    ///
    /// # Errors
    ///
    /// As [`Self::get`], and if the terms are not valid. The terms that it has may have become invalid, by another setting or
    /// another program: it can be disabled all the same.
    pub async fn change(
        &self,
        account: i64,
        id: i64,
        terms: &WebhookTerms,
        enabled: Option<bool>,
        now: Micros,
    ) -> Result<Webhook, WebhookError> {
        let existing = self.get(account, id).await?;
        let is_new = *terms != existing.terms;
        let checked = match is_new || enabled == Some(true) {
            true => Some(terms.checked(self.shared.config.allow_private)?),
            false => None,
        };
        let new = checked.filter(|checked| is_new && *checked != existing.terms);
        if self.shared.store.change(&existing, new.as_ref(), enabled, now).await? {
            self.note_change();
        }
        self.shared.due.notify_one();
        self.get(account, id).await
    }

    /// Deletes a webhook with all its deliveries.
    ///
    /// # Errors
    ///
    /// As [`Self::get`].
    pub async fn delete(&self, account: i64, id: i64) -> Result<(), WebhookError> {
        self.get(account, id).await?;
        self.shared.store.delete(id).await?;
        self.note_change();
        Ok(())
    }

    /// Replaces the secret. For 24 hours requests are signed with the one before as well.
    ///
    /// # Errors
    ///
    /// As [`Self::get`].
    pub async fn rotate(
        &self,
        account: i64,
        id: i64,
        now: Micros,
    ) -> Result<Webhook, WebhookError> {
        self.get(account, id).await?;
        self.shared.store.rotate(id, now).await?;
        self.get(account, id).await
    }

    /// The current secret of a webhook, as its owner needs it: `whsec_` and base64.
    #[must_use]
    pub fn secret(&self, webhook: &Webhook) -> Zeroizing<String> {
        self.shared.secret.current(webhook).text()
    }

    /// Sends an event of the type `test`. Returns the message id of the delivery.
    ///
    /// # Errors
    ///
    /// As [`Self::get`], and [`WebhookError::Disabled`].
    pub async fn test(&self, account: i64, id: i64, now: Micros) -> Result<String, WebhookError> {
        let webhook = self.get(account, id).await?;
        if webhook.disabled.is_some() {
            return Err(WebhookError::Disabled);
        }
        let delivery = store::NewDelivery::test(&webhook, now);
        let added = self.shared.store.add_test(&delivery, self.shared.config.waiting_max).await?;
        if !added {
            return Err(WebhookError::TooManyTests);
        }
        self.shared.due.notify_one();
        Ok(delivery.message_id)
    }

    /// Deliveries of a webhook, the newest first: those with a smaller id than `before`.
    ///
    /// # Errors
    ///
    /// As [`Self::get`].
    pub async fn deliveries(
        &self,
        account: i64,
        id: i64,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Delivery>, WebhookError> {
        self.get(account, id).await?;
        Ok(self.shared.store.deliveries(id, before, limit).await?)
    }

    /// Sends a delivery again, by its message id, which stays the same, whether it was delivered or not.
    ///
    /// # Errors
    ///
    /// As [`Self::get`], and [`WebhookError::Disabled`].
    pub async fn resend(
        &self,
        account: i64,
        id: i64,
        message_id: &str,
        now: Micros,
    ) -> Result<(), WebhookError> {
        let webhook = self.get(account, id).await?;
        if webhook.disabled.is_some() {
            return Err(WebhookError::Disabled);
        }
        if !self.shared.store.resend(id, message_id, now).await? {
            return Err(WebhookError::Unknown);
        }
        self.shared.due.notify_one();
        Ok(())
    }

    /// How often this process has changed which webhooks there are, or what they get.
    fn changes(&self) -> u64 {
        self.shared.changes.load(Ordering::SeqCst)
    }

    fn note_change(&self) {
        self.shared.changes.fetch_add(1, Ordering::SeqCst);
        self.shared.changed.notify_one();
    }

    /// Starts sending, until `stopped` turns true. Requests in flight are finished then, which takes `webhooks.timeout_ms` at
    /// most. `work`: charged for them. `leads`: whether this process sends.
    ///
    /// # Errors
    ///
    /// If no HTTP client can be made.
    pub fn start_sending(
        &self,
        work: Work,
        may_receive: MayReceive,
        on_disabled: OnDisabled,
        leads: impl Fn() -> bool + Send + Sync + 'static,
        clock: fn() -> Micros,
        stopped: &watch::Receiver<bool>,
    ) -> io::Result<JoinHandle<()>> {
        let Shared { config, tls, .. } = &*self.shared;
        let client = Client::new(tls, config).map_err(io::Error::other)?;
        let sender = Sender {
            webhooks: self.clone(),
            work,
            client,
            may_receive,
            on_disabled,
            leads: Box::new(leads),
            clock,
            rounds: Mutex::default(),
            is_failing: AtomicBool::new(false),
        };
        Ok(sender.start(stopped.clone()))
    }
}

impl fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhooks").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
