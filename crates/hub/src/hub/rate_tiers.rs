//! Conflated updates for readers with a lower rate: the changes of a channel are merged over time,
//! once for all readers at the same rate.
//!
//! A rate tier is one channel at one rate. It exists while its lease is held, so there are at most
//! as many as channels times rates in use, and each holds at most one merged patch. It does not
//! know its readers: a new reader is brought to the head, and the tier's next frame may begin
//! before that position, since patches hold absolute values.
//!
//! Time is passed in. A tier with a pending update has an entry in [`TierTimers`], which the writer waits for.

use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

use fanout::{Change, Micros, Publication, Seq, catch_up::Lease, channel::Rate};

use super::sequence::Update;
use crate::{channels::Subject, dialect::stream, document::Barrier, patch::Patch};

/// The rate tiers of one channel: none if all readers take each change.
#[derive(Debug, Default)]
pub struct RateTiers(Vec<RateTier>);

/// A change that has just been numbered, with its frame for readers that take each one.
#[derive(Debug, Clone)]
pub struct NumberedUpdate {
    pub update: Arc<Update>,
    pub publication: Arc<Publication>,
}

/// The due times of tiers. Bounded by the tiers with a pending update, and those that had one when
/// they closed, for less than an interval.
#[derive(Debug, Default)]
pub struct TierTimers(BinaryHeap<Reverse<TierTimer>>);

/// A due time and its tier.
pub type TierTimer = (Micros, Subject, Rate);

#[derive(Debug)]
struct RateTier {
    rate: Rate,
    lease: Lease,
    /// When the interval since the last frame ends.
    ready_at: Micros,
    /// Its due time, if it has an entry in the timers.
    timer: Option<Micros>,
    pending: Option<PendingUpdate>,
}

/// The update that waits for the end of the interval. It leads from the tier's last frame to the channel's head.
#[derive(Debug)]
struct PendingUpdate {
    prev: Seq,
    last: NumberedUpdate,
    /// The merged patch, if more than one change waits.
    merged: Option<Patch>,
}

impl RateTiers {
    /// A lease of the tier of this rate, opening it if needed. Readers that take each change need
    /// none.
    pub fn lease(&mut self, rate: Rate) -> Option<Lease> {
        if rate == Rate::Each {
            return None;
        }
        let index = self.0.iter().position(|tier| tier.rate == rate).unwrap_or_else(|| {
            self.0.push(RateTier::new(rate));
            self.0.len() - 1
        });
        Some(self.0[index].lease.clone())
    }

    /// Passes the channel's next change to all tiers. Frames due at once are pushed in order.
    pub fn take(
        &mut self,
        subject: Subject,
        change: &NumberedUpdate,
        timers: &mut TierTimers,
        changes: &mut Vec<Change>,
    ) {
        self.close_unfollowed();
        for tier in &mut self.0 {
            tier.take(change, changes);
            tier.set_timer(subject, timers);
        }
    }

    /// Closes tiers without followers. None is closed under a reader: an answer on its way holds
    /// the lease too, and a lease that is not held can only be cloned here.
    pub fn close_unfollowed(&mut self) {
        self.0.retain(|tier| tier.lease.is_shared());
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Flushes the tier of this rate if it is due by `until`. It may not be, if an earlier frame
    /// was forced since the timer was set.
    pub fn fire(
        &mut self,
        (timer, subject, rate): TierTimer,
        until: Micros,
        now: Micros,
        timers: &mut TierTimers,
        changes: &mut Vec<Change>,
    ) {
        let tier = self.0.iter_mut().find(|tier| tier.rate == rate && tier.timer == Some(timer));
        // The tier was closed, and may have been reopened.
        let Some(tier) = tier else { return };
        tier.timer = None;
        if tier.ready_at <= until {
            tier.flush(now, changes);
        }
        tier.set_timer(subject, timers);
    }
}

impl RateTier {
    fn new(rate: Rate) -> Self {
        let lease = Lease::default();
        Self { rate, lease, ready_at: Micros::MIN, timer: None, pending: None }
    }

    /// Events and suspensions are never merged and never wait, nor does the first change after a
    /// quiet interval. Other changes wait, merged with the pending update.
    fn take(&mut self, change: &NumberedUpdate, changes: &mut Vec<Change>) {
        let NumberedUpdate { update, publication } = change;
        let now = update.stamp.published;
        if publication.urgent || !update.events.is_empty() {
            self.flush(now, changes);
            return self.send(Arc::clone(publication), now, changes);
        }
        match self.pending.take() {
            None if self.ready_at <= now => self.send(Arc::clone(publication), now, changes),
            None => self.pending = Some(PendingUpdate::new(change)),
            Some(mut pending) => match pending.merge(change) {
                Ok(()) => self.pending = Some(pending),
                Err(Barrier) => {
                    self.send(pending.into_publication(), now, changes);
                    self.pending = Some(PendingUpdate::new(change));
                }
            },
        }
    }

    fn flush(&mut self, now: Micros, changes: &mut Vec<Change>) {
        if let Some(pending) = self.pending.take() {
            self.send(pending.into_publication(), now, changes);
        }
    }

    fn send(&mut self, publication: Arc<Publication>, now: Micros, changes: &mut Vec<Change>) {
        self.ready_at = now + Micros::from(self.rate.every_ms()) * 1_000;
        changes.push(Change::Published(self.rate, publication));
    }

    fn set_timer(&mut self, subject: Subject, timers: &mut TierTimers) {
        if self.pending.is_some() && self.timer.is_none() {
            self.timer = Some(self.ready_at);
            timers.0.push(Reverse((self.ready_at, subject, self.rate)));
        }
    }
}

impl PendingUpdate {
    fn new(change: &NumberedUpdate) -> Self {
        Self { prev: change.publication.prev, last: change.clone(), merged: None }
    }

    fn merge(&mut self, change: &NumberedUpdate) -> Result<(), Barrier> {
        let merged = self.merged.get_or_insert_with(|| self.last.update.patch.clone());
        merged.merge(&change.update.patch)?;
        self.last = change.clone();
        Ok(())
    }

    /// A single change is sent as the frame of readers that take each one, encoded once for all.
    fn into_publication(self) -> Arc<Publication> {
        let Self { prev, last: NumberedUpdate { update, publication }, merged } = self;
        match merged {
            Some(patch) if update.seq - prev > 1 => {
                let (channel, seq) = (publication.channel.clone(), update.seq);
                let channel_name = channel.name.clone();
                let body = stream::MergedFrame {
                    channel: channel_name,
                    prev,
                    seq,
                    stamp: update.stamp,
                    patch,
                };
                Arc::new(Publication::new(channel, prev, seq, Box::new(body)))
            }
            _ => publication,
        }
    }
}

impl TierTimers {
    /// When the next tier is due.
    #[must_use]
    pub fn next(&self) -> Option<Micros> {
        self.0.peek().map(|Reverse((timer, ..))| *timer)
    }

    /// Removes and returns the next timer, if it is due by `until`.
    pub fn pop(&mut self, until: Micros) -> Option<TierTimer> {
        self.next().filter(|timer| *timer <= until)?;
        self.0.pop().map(|Reverse(timer)| timer)
    }
}

#[cfg(test)]
mod tests;
