//! The clients of one shard: what they follow, and how publications reach their sockets.
//!
//! Plain state: no thread, no clock, and any kind of socket that implements [`Write`]. A client that
//! keeps up is written to directly, once for everything that a batch holds for it. A client that does
//! not keep up gets the frames for which its outbox has room, and falls behind when there is none.
//! Everything else that happens to a client takes effect after the publications before it.

mod broadcast;
mod flush;
mod subscriber;

use std::{collections::HashSet, io::Write, mem};

use bytes::Bytes;
use metrics::counter;
use rustc_hash::FxBuildHasher;
use slab::Slab;

use self::broadcast::SlowDelivery;
pub use self::subscriber::{ConnectionCounts, Subscriber};
use crate::{
    Micros,
    batch::{Batch, TopicSet},
    catch_up::{HostRequest, HostResponse},
    channel::{Channel, Publication},
    dialect,
    journal::{Journal, JournalEvent},
    outbox::{Budget, Outbox},
    patterns::Patterns,
    protocol,
    replay::{ReplayCommand, ReplayResponse},
    session::{Join, Session, SessionContext},
    topics::{FollowerRef, Topics},
    view::Renderer,
};

/// How often all are told at most that nothing new can be known.
const STALE_EVERY_US: Micros = 1_000_000;

/// Limits of one subscriber.
#[derive(Debug, Clone, Copy)]
pub struct SubscriberLimits {
    /// What may be queued for it.
    pub budget: Budget,
    /// Bytes written to it at a time, for fairness to the others.
    pub write_bytes: usize,
}

#[derive(Debug)]
pub struct Subscribers<S> {
    subscribers: Slab<Subscriber<S>>,
    /// One more than the highest slot ever used.
    slots: usize,
    topics: Topics,
    patterns: Patterns,
    renderer: Renderer,
    journal: Journal,
    /// The serial of the newest subscriber: distinguishes subscribers in one slot.
    serial: u64,
    batch: Batch,
    limits: SubscriberLimits,
    /// Added to `now` for timestamps that clients see.
    stamp_offset: Micros,
    /// Since when nothing new can be known, if so.
    stale_since: Option<Micros>,
    /// When all were last told at once.
    stale_told_at: Option<Micros>,
    /// Where the next broadcast starts among the followers, so that no client is always last.
    rotation: usize,
    /// Subscribers with something to write and a socket that may accept it.
    ready: Vec<u32>,
    /// Subscribers with subscriptions behind. Some may have caught up since they were added.
    behind: HashSet<u32, FxBuildHasher>,
    /// Subscribers that are slow, or were when they were last checked.
    slow: HashSet<u32, FxBuildHasher>,
    effects: Vec<(usize, Effect)>,
    /// When the oldest publication was published that has been written since this was last taken.
    oldest_written: Option<Micros>,
    // Used within one broadcast and reused for their allocations.
    /// Subscribers that are written to directly.
    direct: Vec<u32>,
    one_by_one: Vec<SlowDelivery>,
}

/// A client's command, in its dialect.
#[derive(Debug)]
pub enum Command {
    Stream(protocol::StreamCommand),
    Hosted(dialect::HostedCommand),
}

impl From<protocol::StreamCommand> for Command {
    fn from(command: protocol::StreamCommand) -> Self {
        Self::Stream(command)
    }
}

impl From<dialect::HostedCommand> for Command {
    fn from(command: dialect::HostedCommand) -> Self {
        Self::Hosted(command)
    }
}

/// What the shard must do for a subscriber.
#[derive(Debug)]
pub enum Effect {
    /// Submit this request to the host.
    Submit(HostRequest),
    /// Submit this command of the replay with this number to the host.
    Replay(u32, ReplayCommand),
    /// Close it: it is too slow, and the client requested to be closed in that case.
    TooSlow,
    /// Read its commands again.
    Resume,
    /// Remove it: its socket has failed.
    Failed,
}

impl<S: Write> Subscribers<S> {
    #[must_use]
    pub fn new(limits: SubscriberLimits) -> Self {
        Self {
            subscribers: Slab::new(),
            slots: 0,
            topics: Topics::default(),
            patterns: Patterns::default(),
            renderer: Renderer::default(),
            journal: Journal::default(),
            serial: 0,
            batch: Batch::default(),
            limits,
            stamp_offset: 0,
            stale_since: None,
            stale_told_at: None,
            rotation: 0,
            ready: Vec::new(),
            behind: HashSet::default(),
            effects: Vec::new(),
            oldest_written: None,
            slow: HashSet::default(),
            direct: Vec::new(),
            one_by_one: Vec::new(),
        }
    }

    // ---------------------------------------------------------------------------- subscribers

    #[must_use]
    pub fn len(&self) -> usize {
        self.subscribers.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.subscribers.is_empty()
    }

    /// One more than the highest slot ever used, to visit all slots in parts.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Sets what is added to `now` for timestamps that clients see. `now` itself is monotonic.
    pub fn set_stamp_offset(&mut self, offset: Micros) {
        self.stamp_offset = offset;
    }

    /// Sets since when nothing new can be known, if so. When that begins, all are told at once, unless they were told less than
    /// a second ago. Beats are not sent meanwhile.
    pub fn set_stale(&mut self, since: Option<Micros>, now: Micros) {
        let begins = self.stale_since.is_none() && since.is_some();
        self.stale_since = since;
        let was_told = |at| now - at < STALE_EVERY_US;
        if begins && !self.stale_told_at.is_some_and(was_told) {
            self.stale_told_at = Some(now);
            self.broadcast(now);
            let slots: Vec<usize> = self.subscribers.iter().map(|(slot, _)| slot).collect();
            slots.into_iter().for_each(|slot| self.beat(slot, now));
        }
    }

    /// The slot that the next subscriber gets.
    #[must_use]
    pub fn next_slot(&self) -> usize {
        self.subscribers.vacant_key()
    }

    /// The serial that the next subscriber gets.
    #[must_use]
    pub fn next_serial(&self) -> u64 {
        self.serial + 1
    }

    #[must_use]
    pub fn get(&self, slot: usize) -> Option<&Subscriber<S>> {
        self.subscribers.get(slot)
    }

    #[must_use]
    pub fn get_mut(&mut self, slot: usize) -> Option<&mut Subscriber<S>> {
        self.subscribers.get_mut(slot)
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, &Subscriber<S>)> {
        self.subscribers.iter()
    }

    pub fn admit(&mut self, session: Session, sink: S) -> usize {
        let outbox = Outbox::default();
        self.serial += 1;
        let subscriber = Subscriber {
            set: TopicSet::EMPTY,
            blocked: false,
            is_ready: false,
            defers_commands: false,
            outbox,
            session,
            sink,
            progressed: 0,
            slow_since: None,
            tally: ConnectionCounts::new(self.serial),
        };
        let slot = self.subscribers.insert(subscriber);
        self.slots = self.slots.max(slot + 1);
        slot
    }

    /// Ends all subscriptions of a subscriber.
    pub fn unsubscribe_all(&mut self, slot: usize, now: Micros) {
        self.broadcast(now);
        let Subscriber { session, outbox, .. } = &mut self.subscribers[slot];
        outbox.withdraw_all_replays();
        for pattern in session.take_wildcards() {
            self.patterns.remove(narrow(slot), &pattern);
        }
        let all_left = session.unsubscribe_all();
        self.leave(all_left);
    }

    pub fn remove(&mut self, slot: usize, now: Micros) -> S {
        self.unsubscribe_all(slot, now);
        self.subscribers.remove(slot).sink
    }

    /// The effects since this was last called.
    pub fn take_effects(&mut self) -> Vec<(usize, Effect)> {
        mem::take(&mut self.effects)
    }

    /// When the oldest publication was published that has been written to a subscriber that keeps up,
    /// since this was last called.
    pub fn take_oldest_written(&mut self) -> Option<Micros> {
        self.oldest_written.take()
    }

    // ----------------------------------------------------------------------- conversation

    /// Queues a reply to a subscriber, regardless of its budget.
    pub fn reply(&mut self, slot: usize, frame: Bytes, now: Micros) {
        self.subscribers[slot].outbox.push_reply(frame, now);
        self.mark_ready(slot);
    }

    /// Queues a lag frame ahead of everything else that is queued for a subscriber.
    pub fn send_lag(&mut self, slot: usize, frame: Bytes, now: Micros) {
        self.subscribers[slot].outbox.add_lag(frame, now);
        self.mark_ready(slot);
    }

    /// Whether a subscriber's next command must wait, because the host has not responded to the last
    /// one or because the client does not read its replies.
    pub fn defers_commands(&mut self, slot: usize) -> bool {
        let Some(subscriber) = self.subscribers.get_mut(slot) else { return true };
        subscriber.defers_commands = subscriber.outbox.is_over(self.limits.budget);
        subscriber.defers_commands || subscriber.session.is_waiting()
    }

    /// The session of a subscriber, with what it needs from the shard.
    fn session(&mut self, slot: usize, now: Micros) -> Option<(&mut Session, SessionContext<'_>)> {
        let Self { subscribers, topics, patterns, renderer, journal, limits, .. } = self;
        let Subscriber { outbox, session, tally, .. } = subscribers.get_mut(slot)?;
        let (slot, budget) = (narrow(slot), limits.budget);
        let context = SessionContext {
            outbox,
            tally,
            topics,
            patterns,
            renderer,
            journal,
            slot,
            budget,
            now,
        };
        Some((session, context))
    }

    /// Carries out a command. The batch has been broadcast, and no request to the host is pending.
    pub fn apply_command(&mut self, slot: usize, command: impl Into<Command>, now: Micros) {
        let (stamp, is_sent) = (now + self.stamp_offset, self.batch.is_empty());
        let Some((session, context)) = &mut self.session(slot, now) else { return };
        debug_assert!(
            is_sent && !session.is_waiting(),
            "a command waits for the batch and for the host"
        );
        let (all_left, next) = match command.into() {
            Command::Stream(command) => session.apply_command(command, stamp, context),
            Command::Hosted(command) => session.apply_hosted_command(command, context),
        };
        self.leave(all_left);
        if let Some(request) = next {
            self.effects.push((slot, Effect::Submit(request)));
        }
        self.mark_ready(slot);
        self.mark_behind(slot);
        self.request_catch_up(slot, now);
    }

    /// Takes the host's response to the pending request of a subscriber.
    pub fn apply_response(&mut self, slot: usize, response: HostResponse, now: Micros) {
        self.broadcast(now);
        let Some((session, context)) = &mut self.session(slot, now) else { return };
        let (join, all_left) = session.apply_response(response, context);
        self.leave(all_left);
        self.join(slot, join);
        self.mark_ready(slot);
        self.mark_behind(slot);
        self.request_catch_up(slot, now);
    }

    /// Takes the host's response about a replay of a subscriber. Replays are independent of publications, so
    /// the batch may wait.
    pub fn apply_replay_response(&mut self, slot: usize, response: ReplayResponse, now: Micros) {
        let Some((session, context)) = &mut self.session(slot, now) else { return };
        session.apply_replay_response(response, context);
        self.mark_ready(slot);
        self.request_catch_up(slot, now);
    }

    /// Applies a permission that has changed: ends subscriptions that it no longer covers, extends
    /// patterns to channels that it covers now, and sends one frame. Does nothing if nothing has
    /// changed. Permissions change by the time of day.
    pub fn renew_permission(&mut self, slot: usize, time_of_day: Micros, now: Micros) {
        let has_changed =
            |subscriber: &Subscriber<S>| subscriber.session.permission_has_changed(time_of_day);
        if !self.subscribers.get(slot).is_some_and(has_changed) {
            return;
        }
        self.broadcast(now);
        let Some((session, context)) = &mut self.session(slot, now) else { return };
        let all_left = session.renew_permission(time_of_day, context);
        self.leave(all_left);
        self.mark_ready(slot);
        self.request_catch_up(slot, now);
    }

    /// Subscribes every client with a matching pattern to a new channel.
    pub fn channel_opened(&mut self, image: &Publication, now: Micros) {
        self.broadcast(now);
        for (slot, pattern) in self.patterns.covering(&image.channel.name) {
            let slot = slot as usize;
            let Some((session, context)) = &mut self.session(slot, now) else { continue };
            let join = session.channel_opened(image, &pattern, context);
            self.join(slot, join);
            self.mark_ready(slot);
            self.mark_behind(slot);
            self.request_catch_up(slot, now);
        }
    }

    /// Ends the subscriptions to a channel that no longer exists.
    pub fn channel_closed(&mut self, channel: &Channel, now: Micros) {
        self.broadcast(now);
        let live = self.topics.close(channel.number).into_iter().map(|follower| follower.slot);
        let slots: Vec<u32> = live.chain(self.behind.iter().copied()).collect();
        for slot in slots {
            let slot = slot as usize;
            let Some((session, context)) = &mut self.session(slot, now) else { continue };
            session.channel_closed(channel.number, context);
            self.mark_ready(slot);
        }
    }

    /// Puts all subscriptions behind, so that the host brings them up to date. Called when publications
    /// on their way to this shard were dropped.
    pub fn mark_all_behind(&mut self, now: Micros) {
        self.broadcast(now);
        self.journal.note_for_all(JournalEvent::Overflow, now);
        let slots: Vec<usize> = self.subscribers.iter().map(|(slot, _)| slot).collect();
        for slot in &slots {
            self.subscribers[*slot].session.mark_all_behind(&self.topics);
        }
        self.topics.clear();
        for slot in slots {
            self.mark_behind(slot);
            self.request_catch_up(slot, now);
        }
    }

    /// Adds a subscription to the index. It does not get publications of the current batch.
    pub fn join(&mut self, slot: usize, join: Option<Join>) {
        let Some(Join { key, topic, view, head }) = join else { return };
        let follower = self.topics.join(topic, &view, head, narrow(slot), narrow(key));
        self.subscribers[slot].session.set_live(key, follower);
    }

    fn leave(&mut self, all_left: Vec<FollowerRef>) {
        // The highest index first: the follower that moves into a freed index is then never one that
        // leaves, and all other references stay valid.
        let mut all_left = all_left;
        all_left.sort_unstable_by_key(|left| std::cmp::Reverse(left.index));
        for left in all_left {
            if let Some(moved) = self.topics.leave(left) {
                let session = &mut self.subscribers[moved.slot as usize].session;
                session.set_live(moved.subscription as usize, left);
            }
        }
    }

    /// Requests the catch-up of a subscriber's next subscription that is behind, or sends a beat when
    /// all have caught up. While nothing new can be known, `stale` takes the place of the beat.
    pub fn request_catch_up(&mut self, slot: usize, now: Micros) {
        let (stale_since, stamp) = (self.stale_since, now + self.stamp_offset);
        let Some((session, context)) = self.session(slot, now) else { return };
        let request = session.next_catch_up(&context);
        let replays = session.take_replay_commands(&context);
        let is_settled = request.is_none() && session.take_settled();
        let beat = is_settled
            .then(|| beat_or_stale(session, context.topics, stale_since, stamp))
            .flatten();
        let has_beat = beat.is_some();
        if let Some(beat) = beat {
            context.outbox.push_beat(beat, now);
        }
        let replays = replays.into_iter().map(|(replay, it)| (slot, Effect::Replay(replay, it)));
        self.effects.extend(replays);
        self.effects.extend(request.map(|request| (slot, Effect::Submit(request))));
        if has_beat {
            self.mark_ready(slot);
        }
    }

    /// Sends a subscriber the positions of its channels, or `stale` while nothing new can be known. Skipped
    /// without room: a beat only confirms what the frames before it say.
    pub fn beat(&mut self, slot: usize, now: Micros) {
        let Self { subscribers, topics, journal, limits, .. } = self;
        let Some(Subscriber { outbox, session, tally, .. }) = subscribers.get_mut(slot) else {
            return;
        };
        if !outbox.has_room(limits.budget) {
            counter!("matchwire_beats_skipped_total").increment(1);
            journal.note(tally.serial, None, JournalEvent::BeatSkipped, now);
            return;
        }
        if self.stale_since.is_some() && session.has_beats() {
            journal.note(tally.serial, None, JournalEvent::Stale, now);
        }
        let beat = beat_or_stale(session, topics, self.stale_since, now + self.stamp_offset);
        if let Some(beat) = beat {
            outbox.push_beat(beat, now);
            self.mark_ready(slot);
        }
    }

    /// Notes what happened to a subscriber in the journal.
    pub(crate) fn note(&mut self, slot: usize, event: JournalEvent, now: Micros) {
        if let Some(subscriber) = self.subscribers.get(slot) {
            self.journal.note(subscriber.tally.serial, None, event, now);
        }
    }

    /// The journal, to read it and to watch a subscriber.
    pub(crate) fn journal(&mut self) -> &mut Journal {
        &mut self.journal
    }

    /// The slot of a watched subscriber.
    pub(crate) fn journal_slot(&self, serial: u64) -> Option<usize> {
        let slot = self.journal.watched().find(|(_, watched)| *watched == serial)?.0;
        Some(slot as usize)
    }

    /// The index of subscriptions.
    pub(crate) fn topics(&self) -> &Topics {
        &self.topics
    }
}

/// A beat, or what takes its place while nothing new can be known.
fn beat_or_stale(
    session: &mut Session,
    topics: &Topics,
    stale_since: Option<Micros>,
    now: Micros,
) -> Option<Bytes> {
    match stale_since {
        Some(since) => session.has_beats().then(|| protocol::stale(since)),
        None => session.beat(topics, now),
    }
}

#[cfg(test)]
mod tests;

/// Slots are indices into memory, far fewer than 2^32.
fn narrow(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 of anything")
}
