//! Tracks which products of the feed are live, and which recoveries must be requested.
//!
//! Pure: `now` is an argument, the requests are return values. A product is live from the end of a
//! recovery for as long as it sends `alive`. After a disconnect or a gap, the changes since the last
//! time it was complete are requested; everything, if that is too long ago or never happened. A request
//! waits for an `alive`, for the provider's rates, and for the back-off after a refusal.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::rates::{RecoveryLength, RecoveryRates, SentRecoveries};

/// One of the feed's producers of odds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// The id in messages: 1 is live odds, 3 is pre-match odds.
    pub id: u32,
    /// The name in the URL of a recovery: `liveodds`, `pre`.
    pub name: String,
    /// How far back the provider recovers. Live odds: 10 hours; pre-match odds: 72 hours.
    pub horizon: Duration,
}

impl Product {
    #[must_use]
    pub fn live_odds() -> Self {
        let horizon = Duration::from_secs(10 * 60 * 60);
        Self { id: 1, name: "liveodds".to_owned(), horizon }
    }

    #[must_use]
    pub fn pre_match() -> Self {
        let horizon = Duration::from_secs(72 * 60 * 60);
        Self { id: 3, name: "pre".to_owned(), horizon }
    }
}

/// A recovery to request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecoveryRequest {
    /// The index of the product in the list of products.
    pub(super) index: usize,
    pub(super) request_id: u32,
    /// Milliseconds by the provider's clock; `None`: everything.
    pub(super) after: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProductStatus {
    /// It does not send `alive`; a recovery request would be useless.
    Silent,
    /// A recovery is to be requested, as soon as it may be.
    Due,
    /// A recovery with this id was requested at that time.
    Requested(u32, Instant),
    Live,
}

#[derive(Debug)]
struct ProductState {
    product: Product,
    status: ProductStatus,
    /// When the last `alive` was received, by our clock.
    last_message: Instant,
    /// The timestamp of the last `alive`, by the provider's clock.
    alive: Option<i64>,
    /// Everything before this, by the provider's clock, was received.
    whole: Option<i64>,
    sent: SentRecoveries,
    /// No recovery is requested before this: one was refused, or the rates are used up.
    not_before: Instant,
}

/// What of a product outlives a restart. Times are in milliseconds.
#[derive(Debug, Serialize, Deserialize)]
struct SavedProduct {
    id: u32,
    whole: Option<i64>,
    sent: SentRecoveries,
    /// By the wall clock.
    not_before_ms: i64,
}

/// The position of the feed.
#[derive(Debug, Serialize, Deserialize)]
struct SavedProducts {
    /// Which messages it is of.
    feed: String,
    products: Vec<SavedProduct>,
}

/// The state of all products.
#[derive(Debug)]
pub(super) struct Products {
    all: Vec<ProductState>,
    /// A product without an `alive` for this long is silent.
    alive_within: Duration,
    /// A recovery that takes longer is requested again.
    recovery_within: Duration,
    rates: RecoveryRates,
    next_id: u32,
    /// Whether the position has changed since it was last taken.
    is_changed: bool,
}

impl Products {
    pub(super) fn new(
        products: Vec<Product>,
        alive_within: Duration,
        recovery_within: Duration,
        rates: RecoveryRates,
        first_id: u32,
        now: Instant,
    ) -> Self {
        let new_state = |product| ProductState {
            product,
            status: ProductStatus::Silent,
            last_message: now,
            alive: None,
            whole: None,
            sent: SentRecoveries::default(),
            not_before: now,
        };
        let all = products.into_iter().map(new_state).collect();
        Self { all, alive_within, recovery_within, rates, next_id: first_id, is_changed: false }
    }

    /// The position, as text, if it has changed since it was last taken. `feed`: which messages it is of.
    pub(super) fn take_position(
        &mut self,
        feed: &str,
        now: Instant,
        wall_ms: i64,
    ) -> Option<String> {
        if !std::mem::take(&mut self.is_changed) {
            return None;
        }
        let products = self.all.iter().map(|state| {
            let wait = state.not_before.saturating_duration_since(now).as_millis();
            SavedProduct {
                id: state.product.id,
                whole: state.whole,
                sent: state.sent.clone(),
                not_before_ms: wall_ms.saturating_add(i64::try_from(wait).unwrap_or(i64::MAX)),
            }
        });
        let saved = SavedProducts { feed: feed.to_owned(), products: products.collect() };
        serde_json::to_string(&saved).ok()
    }

    /// Goes on from a position, and returns whether it is of this feed. Of that of another one, only what was requested and
    /// refused counts, which the provider remembers.
    pub(super) fn resume(
        &mut self,
        position: &str,
        feed: Option<&str>,
        now: Instant,
        wall_ms: i64,
    ) -> bool {
        /// A wait that is longer is of a clock that was put back.
        const WAIT_MAX_MS: i64 = 2 * 60 * 60 * 1000;
        let Ok(saved) = serde_json::from_str::<SavedProducts>(position) else { return false };
        let is_same = feed == Some(&*saved.feed);
        for SavedProduct { id, whole, sent, not_before_ms } in saved.products {
            let Some(state) = self.all.iter_mut().find(|it| it.product.id == id) else { continue };
            let wait_ms = not_before_ms.saturating_sub(wall_ms).clamp(0, WAIT_MAX_MS);
            state.not_before = now + Duration::from_millis(wait_ms.unsigned_abs());
            (state.whole, state.sent) = (whole.filter(|_| is_same), sent);
        }
        is_same
    }

    pub(super) fn name(&self, index: usize) -> &str {
        &self.all[index].product.name
    }

    pub(super) fn all_live(&self) -> bool {
        self.all.iter().all(|state| state.status == ProductStatus::Live)
    }

    /// A new connection: the messages sent before it were missed. A recovery before the first `alive`
    /// would fail.
    pub(super) fn connected(&mut self, now: Instant) {
        for state in &mut self.all {
            state.status = ProductStatus::Silent;
            state.last_message = now;
        }
    }

    /// Handles an `alive` message.
    pub(super) fn alive(&mut self, id: u32, timestamp: i64, subscribed: bool, now: Instant) {
        let Some(state) = self.all.iter_mut().find(|it| it.product.id == id) else { return };
        state.last_message = now;
        match state.status {
            ProductStatus::Live if subscribed => {
                state.whole = Some(timestamp);
                self.is_changed = true;
            }
            ProductStatus::Live | ProductStatus::Silent => state.status = ProductStatus::Due,
            // The product reports this until it has processed the request.
            ProductStatus::Requested(..) | ProductStatus::Due => {}
        }
        state.alive = Some(timestamp);
    }

    /// Handles a `product_down` message: only a full recovery brings back the markets that it suspends.
    pub(super) fn down(&mut self, id: u32) {
        let Some(state) = self.all.iter_mut().find(|it| it.product.id == id) else { return };
        state.whole = None;
        self.is_changed = true;
        if state.status != ProductStatus::Silent {
            state.status = ProductStatus::Due;
        }
    }

    /// Handles the end of a recovery. Returns whether that recovery was pending.
    pub(super) fn complete(&mut self, id: u32, request_id: u32) -> bool {
        let Some(state) = self.all.iter_mut().find(|it| it.product.id == id) else {
            return false;
        };
        if !matches!(state.status, ProductStatus::Requested(requested, _) if requested == request_id)
        {
            return false;
        }
        state.status = ProductStatus::Live;
        state.whole = state.alive.or(state.whole);
        self.is_changed = true;
        true
    }

    /// The last request of its product has not reached the provider, which does not count it.
    pub(super) fn unsent(&mut self, request: &RecoveryRequest) {
        self.all[request.index].sent.take_back();
        self.is_changed = true;
    }

    /// The request failed. None of its product is sent before `retry_at`, whatever happens meanwhile.
    pub(super) fn failed(&mut self, request: &RecoveryRequest, retry_at: Instant) {
        let state = &mut self.all[request.index];
        state.not_before = state.not_before.max(retry_at);
        self.is_changed = true;
        if matches!(state.status, ProductStatus::Requested(requested, _) if requested == request.request_id)
        {
            state.status = ProductStatus::Due;
        }
    }

    /// The recoveries to request now. `wall_ms` is the wall clock, in milliseconds.
    pub(super) fn due_requests(&mut self, now: Instant, wall_ms: i64) -> Vec<RecoveryRequest> {
        let mut requests = Vec::new();
        for (index, state) in self.all.iter_mut().enumerate() {
            state.check_deadlines(now, self.alive_within, self.recovery_within);
            if state.may_be_requested(&self.rates, now, wall_ms) {
                let request_id = self.next_id;
                // The provider's own clients count in a signed number of 32 bits.
                self.next_id = (self.next_id % 0x7fff_ffff) + 1;
                state.status = ProductStatus::Requested(request_id, now);
                self.is_changed = true;
                let after = state.after(wall_ms);
                state.sent.note(&self.rates, RecoveryLength::new(after, wall_ms), wall_ms);
                requests.push(RecoveryRequest { index, request_id, after });
            }
        }
        requests
    }

    /// When the next action is due if no message arrives before.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let deadlines = self.all.iter().filter_map(|state| {
            let silence = state.last_message + self.alive_within;
            match state.status {
                ProductStatus::Silent => None,
                ProductStatus::Due => Some(state.not_before.min(silence)),
                ProductStatus::Requested(_, at) => Some(silence.min(at + self.recovery_within)),
                ProductStatus::Live => Some(silence),
            }
        });
        deadlines.min()
    }
}

impl ProductState {
    fn check_deadlines(&mut self, now: Instant, alive_within: Duration, recovery_within: Duration) {
        if now >= self.last_message + alive_within {
            self.status = ProductStatus::Silent;
        }
        if matches!(self.status, ProductStatus::Requested(_, at) if now >= at + recovery_within) {
            self.status = ProductStatus::Due;
        }
    }

    /// Whether a recovery is due and may be sent now. If the rates forbid it, it waits for them.
    fn may_be_requested(&mut self, rates: &RecoveryRates, now: Instant, wall_ms: i64) -> bool {
        if self.status != ProductStatus::Due || now < self.not_before {
            return false;
        }
        let length = RecoveryLength::new(self.after(wall_ms), wall_ms);
        let wait = self.sent.wait(rates, length, wall_ms);
        self.not_before = now + wait;
        wait.is_zero()
    }

    fn after(&self, wall_ms: i64) -> Option<i64> {
        let horizon = i64::try_from(self.product.horizon.as_millis()).unwrap_or(i64::MAX);
        self.whole.filter(|whole| wall_ms.saturating_sub(*whole) < horizon)
    }
}

#[cfg(test)]
mod tests;
