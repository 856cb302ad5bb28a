//! How subscriptions are caught up: requests to the host, and what its responses do.

use std::{collections::VecDeque, mem, sync::Arc};

use serde_json::Value;

use super::{
    Join, Session, SessionContext,
    subscription::{Behind, Subscription, SubscriptionState},
};
use crate::{
    catch_up::{CatchUp, CatchUpFrame, Gap, HostRequest, HostResponse, Verdict},
    channel::{Channel, ChannelId, Pattern, Position, Rate, Seq},
    dialect::{Dialect, Notice},
    journal::JournalEvent,
    outbox::FrameOrigin,
    protocol::{self, Code, Coverage, OnSlow, Refusal, StartPoint, SubscribeOptions},
    topics::FollowerRef,
};

/// The request to the host that is pending, and what it is for.
#[derive(Debug)]
pub(super) enum PendingRequest {
    Subscribe {
        id: Value,
        channel: Pattern,
        options: SubscribeOptions,
        from: Option<Position>,
    },
    SubscribeAll {
        id: Value,
        pattern: Pattern,
        options: SubscribeOptions,
        from: StartPoint,
    },
    /// Where channels of a batch stand.
    LocateBatch {
        entries: Vec<(ChannelId, Option<Position>)>,
    },
    /// Which channels a pattern of a batch covers.
    MatchBatch {
        pattern: Pattern,
        from: StartPoint,
    },
    /// Which channels a pattern covers, now that the client may follow more.
    Widen {
        pattern: Pattern,
        options: SubscribeOptions,
    },
    /// A group in a dialect of the host, optionally with a companion.
    StartGroup {
        channel: ChannelId,
        companion: Option<Arc<str>>,
    },
    /// The hash of the document of a live subscription.
    Hash {
        key: usize,
        channel: u32,
    },
    /// A subscription that is behind. `set`: the `id` of the `set` command that caused it, if any, whose
    /// reply comes before the frames.
    CatchUp {
        key: usize,
        channel: u32,
        set: Option<Value>,
    },
}

/// A suspension may fill a reader's outbox to this many times its budget.
const URGENT_BUDGETS: usize = 2;

/// The least number of bytes to request when a suspension goes before a full outbox.
const URGENT_BYTES: usize = 16 * 1024;

impl Session {
    pub(super) fn set_pending(&mut self, pending: PendingRequest) {
        self.pending = Some(Box::new(pending));
    }

    /// Takes the host's response to the pending request. Returns the subscription that has become live,
    /// to be added to the index, and the entries that leave it.
    pub fn apply_response(
        &mut self,
        response: HostResponse,
        context: &mut SessionContext<'_>,
    ) -> (Option<Join>, Vec<FollowerRef>) {
        match (self.pending.take().map(|pending| *pending), response) {
            (
                Some(PendingRequest::Subscribe { id, options, from, .. }),
                HostResponse::CatchUp(catch_up),
            ) => self.subscribe_channel(&id, options, from, catch_up, context),
            (Some(PendingRequest::Subscribe { id, channel, .. }), _) => {
                let refusal = Refusal::new(&id, Code::NotTracked, "no such channel now");
                context.refuse(&refusal.about(channel.as_str()));
                (None, Vec::new())
            }
            (
                Some(PendingRequest::SubscribeAll { id, pattern, options, from }),
                HostResponse::Channels(channels),
            ) => {
                let (coverage, all_left) =
                    self.subscribe_all(&pattern, &options, &from, &channels, context);
                let reply = protocol::subscribed_all(&id, &options, &pattern, coverage);
                context.outbox.push_reply(reply, context.now);
                self.report_left_out(&pattern, coverage, context);
                (None, all_left)
            }
            (Some(PendingRequest::LocateBatch { entries }), response) => {
                let located = if let HostResponse::Located(located) = response {
                    located
                } else {
                    Vec::new()
                };
                (None, self.start_located(entries, located, context))
            }
            (Some(PendingRequest::MatchBatch { pattern, from }), response) => {
                let channels =
                    if let HostResponse::Channels(all) = response { all } else { Vec::new() };
                (None, self.start_matched(&pattern, &from, &channels, context))
            }
            (
                Some(PendingRequest::Widen { pattern, options }),
                HostResponse::Channels(channels),
            ) => {
                self.widen(&pattern, &options, &channels, context);
                (None, Vec::new())
            }
            (Some(PendingRequest::StartGroup { channel, companion }), response) => {
                self.group_started(&channel, companion, response, context)
            }
            (Some(PendingRequest::Hash { key, channel }), response) => {
                let left = self.hash_arrived((key, channel), response, context);
                (None, left.into_iter().collect())
            }
            (Some(PendingRequest::CatchUp { key, channel, set }), response) => {
                self.continue_catch_up(key, channel, set.as_ref(), response, context)
            }
            _ => (None, Vec::new()),
        }
    }

    /// Starts a subscription by name. An existing one, even if a wildcard started it while the request
    /// was pending, continues up to the response, so that nothing is missed; then it ends.
    fn subscribe_channel(
        &mut self,
        id: &Value,
        options: SubscribeOptions,
        from: Option<Position>,
        catch_up: CatchUp,
        context: &mut SessionContext<'_>,
    ) -> (Option<Join>, Vec<FollowerRef>) {
        let resumed = match catch_up.verdict {
            Verdict::Fresh => None,
            Verdict::Resumed => Some(Ok(())),
            Verdict::Refused(gap) => Some(Err(gap.as_str())),
        };
        debug_assert_eq!(from.is_some(), resumed.is_some(), "a verdict answers a position");
        let channel = &catch_up.channel;
        if !self.classes.cover(channel.needs) {
            self.refuse_class(id, channel, context);
            return (None, Vec::new());
        }
        let reply = protocol::subscribed(id, &options, channel, catch_up.head, resumed);
        context.outbox.push_reply(reply, context.now);
        context.note_subscribed(channel, options.rate, catch_up.head, from, catch_up.verdict);
        let old = self.by_name(channel.name.as_str());
        let left = old.and_then(|key| self.remove(key, context));
        let from = from.filter(|_| catch_up.verdict == Verdict::Resumed);
        let mut sub = Subscription::new(channel.clone(), options, true, from);
        sub.set_lease(catch_up.lease.clone());
        let key = self.insert(sub);
        (self.advance(key, catch_up, context), left.into_iter().collect())
    }

    /// Starts subscriptions to all channels of a pattern. A channel that is followed already starts again
    /// if it is given a position or if the pattern itself is repeated, as with a subscription by name;
    /// otherwise it continues. Channels for which there is no room are left out.
    pub(super) fn subscribe_all(
        &mut self,
        pattern: &Pattern,
        options: &SubscribeOptions,
        from: &StartPoint,
        channels: &[Channel],
        context: &mut SessionContext<'_>,
    ) -> (Coverage, Vec<FollowerRef>) {
        let classes = self.classes;
        let covered = channels.iter().filter(|channel| classes.cover(channel.needs));
        // What is followed is nearly always found by its number, which is the cheaper look-up.
        let old = |channel: &Channel| {
            self.by_number(channel.number).or_else(|| self.by_name(channel.name.as_str()))
        };
        let covered: Vec<(&Channel, Option<usize>)> =
            covered.map(|channel| (channel, old(channel))).collect();
        let mut coverage = Coverage {
            followed: covered.len(),
            not_entitled: channels.len() - covered.len(),
            left_out: 0,
        };
        let repeated = self.wildcards.contains_key(pattern);
        let mut all_left = Vec::new();
        let new = covered.iter().filter(|(_, old)| old.is_none()).count();
        let room = (self.channels_max as usize).saturating_sub(self.channels());
        self.reserve(new.min(room).min(self.quota.room()));
        for (channel, old) in covered {
            let from = match from {
                StartPoint::Positions(positions) => positions.get(&channel.name).copied(),
                StartPoint::Image | StartPoint::Position(_) => None,
            };
            if old.is_none() && self.is_full(1) {
                coverage.left_out += 1;
            } else if old.is_none() || repeated || from.is_some() {
                all_left.extend(self.start_by_pattern(
                    old,
                    channel.clone(),
                    (options.clone(), from),
                    context,
                ));
            }
        }
        coverage.followed -= coverage.left_out;
        let (name, channels) = (pattern.as_str().into(), coverage.followed);
        context.note(None, JournalEvent::SubscribedAll { pattern: name, channels });
        let pattern = context.patterns.add(context.slot, pattern);
        self.wildcards.insert(pattern, options.clone());
        self.unsettled = true;
        (coverage, all_left)
    }

    /// Starts the channels of a pattern that are not followed yet.
    fn widen(
        &mut self,
        pattern: &Pattern,
        options: &SubscribeOptions,
        channels: &[Channel],
        context: &mut SessionContext<'_>,
    ) {
        // The client may have unsubscribed from it or changed its options meanwhile.
        if !self.wildcards.contains_key(pattern) {
            return;
        }
        for channel in channels {
            let is_followed = self.by_number(channel.number).is_some();
            if is_followed || !self.classes.cover(channel.needs) {
                continue;
            }
            if self.is_full(1) {
                self.report_limit(pattern, context);
                break;
            }
            // It is new, so nothing leaves the index for it.
            self.start_by_pattern(None, channel.clone(), (options.clone(), None), context);
        }
        self.unsettled = true;
    }

    /// Starts a channel for a wildcard, or restarts it if it is followed already. A subscription by name
    /// stays one and keeps its options.
    fn start_by_pattern(
        &mut self,
        old: Option<usize>,
        channel: Channel,
        (options, from): (SubscribeOptions, Option<Position>),
        context: &mut SessionContext<'_>,
    ) -> Option<FollowerRef> {
        let (mut options, mut by_name, mut left) = (options, false, None);
        if let Some(key) = old {
            let sub = &self.subscriptions[key];
            by_name = sub.by_name;
            if by_name {
                options = sub.options.clone();
            }
            left = self.remove(key, context);
        }
        let mut sub = Subscription::new(channel, options, by_name, from);
        // Whether it can be led on from there is not certain yet.
        sub.set_delivered(None);
        let key = self.insert(sub);
        self.behind.push_back(key);
        left
    }

    /// Queues the frames that catch a subscription up. It becomes live if they reach the head.
    pub(super) fn advance(
        &mut self,
        key: usize,
        catch_up: CatchUp,
        context: &mut SessionContext<'_>,
    ) -> Option<Join> {
        let CatchUp { head, frames, to, verdict, .. } = catch_up;
        let sub = &mut self.subscriptions[key];
        let SubscriptionState::Behind(behind) = &sub.state else { return None };
        let Behind { from, why, urgent, .. } = **behind;
        if why == "slow" && verdict == Verdict::Resumed {
            let changes = to - from.map_or(to, |from| from.seq);
            let merged = changes.saturating_sub(frames.len() as u64);
            self.merged += merged;
            context.tally.merged += merged;
            context.tally.merged_while_slow += merged;
        }
        let (channel, name) = (sub.channel.number, sub.channel.name.clone());
        let epoch = Some(sub.channel.epoch);
        let (topic, options) = (sub.topic(), sub.options.clone());
        let view = self.view(&options);
        let resumed_at = from.filter(|_| verdict == Verdict::Resumed).map(|from| from.seq);
        let frames = context.renderer.catch_up(&view, frames, resumed_at);
        context.note_caught_up(&name, (resumed_at, to), why, &frames);
        let (mut before, is_resync) = (from, from.is_some() && resumed_at.is_none());
        let frames = frames.into_iter().map(|CatchUpFrame { frame, to }| {
            let before = before.replace(Position { epoch, seq: to });
            let origin = FrameOrigin { channel, before, is_resync };
            (frame, Some(origin))
        });
        if urgent {
            context.outbox.add_first(channel, frames.collect(), context.now);
        } else {
            frames.for_each(|(frame, origin)| context.outbox.add(frame, origin, context.now));
        }
        let sub = &mut self.subscriptions[key];
        sub.set_delivered(Some(to));
        if to < head {
            let from = Some(sub.at(to));
            self.set_state(
                key,
                SubscriptionState::Behind(Box::new(Behind { from, why, urgent, overtaken: false })),
            );
            if urgent {
                self.behind.push_front(key);
            } else {
                self.behind.push_back(key);
            }
            return None;
        }
        Some(Join { key, topic, view, head: to })
    }

    fn continue_catch_up(
        &mut self,
        key: usize,
        channel: u32,
        set: Option<&Value>,
        response: HostResponse,
        context: &mut SessionContext<'_>,
    ) -> (Option<Join>, Vec<FollowerRef>) {
        // The subscription may have ended meanwhile and another one may have its key.
        let sub = self.subscriptions.get_mut(key).filter(|sub| sub.channel.number == channel);
        let Some(sub) = sub else {
            if let Some(id) = set {
                let refusal = Refusal::new(id, Code::NotTracked, "the channel has ended");
                context.refuse(&refusal);
            }
            return (None, Vec::new());
        };
        let SubscriptionState::Behind(behind) = &mut sub.state else { return (None, Vec::new()) };
        // A suspension was published after the request, so the response includes it, and goes first.
        let is_overtaken = mem::take(&mut behind.overtaken);
        let options = sub.options.clone();
        let Behind { from, why, urgent, .. } = **behind;
        if is_overtaken && self.withdraw(key, context.outbox) {
            // What is queued for the channel goes with the suspension: request all of it. Nothing is queued
            // for it meanwhile, so this happens once, however often the channel is suspended.
            if let (Some(id), HostResponse::CatchUp(CatchUp { channel, head, .. })) =
                (set, &response)
            {
                let reply = protocol::subscribed(id, &options, channel, *head, Some(Ok(())));
                context.outbox.push_reply(reply, context.now);
            }
            return (None, self.move_to_front(key, context));
        }
        let HostResponse::CatchUp(catch_up) = response else {
            self.channel_gone(key, context);
            return (None, Vec::new());
        };
        if let Some(id) = set {
            let (channel, head) = (&catch_up.channel, catch_up.head);
            // Another pick starts with its image.
            let resumed = (catch_up.verdict != Verdict::Fresh).then_some(Ok(()));
            let reply = protocol::subscribed(id, &options, channel, head, resumed);
            context.outbox.push_reply(reply, context.now);
        }
        if catch_up.channel.deliver_last && self.others_are_behind() {
            // Another subscription fell behind meanwhile: this one comes after it.
            self.behind.push_back(key);
            return (None, Vec::new());
        }
        let sub = &mut self.subscriptions[key];
        // A reader without a position waits for its image already.
        let lost = from.is_some() && catch_up.verdict != Verdict::Resumed;
        // A dialect of the host has no such frame: its snapshot is enough.
        if lost && self.dialect.is_stream() {
            let why = match catch_up.verdict {
                Verdict::Refused(Gap::Epoch) => "epoch",
                _ if why == "slow" => "slow",
                _ => "gap",
            };
            let name = sub.channel.name.as_str();
            let had = from.map_or(0, |position| position.seq);
            let frame = protocol::resync(name, why, had, catch_up.head);
            let event = JournalEvent::Resync { why, from: had, to: catch_up.head };
            context.note(Some(&sub.channel.name), event);
            let origin = Some(FrameOrigin { channel, before: from, is_resync: false });
            if urgent {
                context.outbox.add_first(channel, vec![(frame, origin)], context.now);
            } else {
                context.outbox.add(frame, origin, context.now);
            }
        }
        sub.set_lease(catch_up.lease.clone());
        self.set_channel(key, &catch_up.channel);
        let all_left = if is_overtaken { self.hold_back_last(context) } else { Vec::new() };
        (self.advance_to_hash(key, catch_up, context), all_left)
    }

    pub(super) fn channel_gone(
        &mut self,
        key: usize,
        context: &mut SessionContext<'_>,
    ) -> Option<FollowerRef> {
        let channel = &self.subscriptions.get(key)?.channel.name;
        context.note(Some(channel), JournalEvent::Ended);
        match self.dialect {
            Dialect::Stream => {
                let gone = protocol::channel_gone(channel.as_str(), None);
                context.outbox.push_reply(gone, context.now);
            }
            Dialect::Hosted(_) => self.notify(Notice::Gone { channel }, context),
        }
        self.remove(key, context)
    }

    /// The request for the next subscription to catch up, if the outbox has room for it. A suspension may
    /// use a second budget.
    pub fn next_catch_up(&mut self, context: &SessionContext<'_>) -> Option<HostRequest> {
        if let Some(request) = self.next_of_batch().or_else(|| self.next_widening()) {
            return Some(request);
        }
        if self.behind_count == 0 {
            // All in the queue have caught up or ended.
            self.behind = VecDeque::new();
        }
        if self.pending.is_some() || self.behind_count == 0 {
            return None;
        }
        let has_room = context.outbox.has_room(context.budget);
        let has_urgent_room = context.outbox.bytes() < URGENT_BUDGETS * context.budget.bytes;
        for _ in 0..self.behind.len() {
            let key = self.behind.pop_front()?;
            let Some(sub) = self.subscriptions.get(key) else { continue };
            let SubscriptionState::Behind(behind) = &sub.state else { continue };
            let Behind { from, why, urgent, .. } = **behind;
            if !(has_room || urgent && has_urgent_room) {
                self.behind.push_front(key);
                return None;
            }
            if sub.channel.deliver_last && self.others_are_behind() {
                self.behind.push_back(key);
                continue;
            }
            let channel = Pattern::exactly(&sub.channel.name);
            let image = sub.options.on_slow == OnSlow::Resync && why == "slow";
            let (number, rate) = (sub.channel.number, sub.options.rate);
            let with_hash = sub.wants_hash();
            let bytes_max = context.outbox.room(context.budget).max(URGENT_BYTES);
            self.set_pending(PendingRequest::CatchUp { key, channel: number, set: None });
            let from = from.filter(|_| !image);
            return Some(HostRequest::CatchUp { channel, rate, from, why, bytes_max, with_hash });
        }
        None
    }

    /// Whether a channel that is not delivered last is behind.
    pub(super) fn others_are_behind(&self) -> bool {
        self.behind_count > self.behind_deliver_last
    }

    /// Returns true once when all channels of new wildcards have caught up. A beat then confirms the
    /// position of each, including those where nothing has changed.
    pub fn take_settled(&mut self) -> bool {
        let is_settled = self.unsettled
            && self.pending.is_none()
            && self.behind_count == 0
            && self.widening.is_empty();
        self.unsettled &= !is_settled;
        is_settled
    }
}

impl SessionContext<'_> {
    pub(super) fn note_subscribed(
        &mut self,
        channel: &Channel,
        rate: Rate,
        head: Seq,
        from: Option<Position>,
        verdict: Verdict,
    ) {
        let resumed = match verdict {
            Verdict::Fresh | Verdict::Resumed => Ok(()),
            Verdict::Refused(gap) => Err(gap.as_str()),
        };
        let from = from.map(|position| (position.seq, resumed));
        self.note(Some(&channel.name), JournalEvent::Subscribed { rate, head, from });
    }

    /// Notes the frames of a catch-up. `from`: `None` if they are the image.
    fn note_caught_up(
        &mut self,
        channel: &ChannelId,
        (from, to): (Option<Seq>, Seq),
        why: &'static str,
        frames: &[CatchUpFrame],
    ) {
        let count = if from.is_some() { &mut self.tally.catch_ups } else { &mut self.tally.images };
        *count = count.saturating_add(u32::from(!frames.is_empty()));
        if frames.is_empty() || !self.journal.watches(self.tally.serial) {
            return;
        }
        let bytes = frames.iter().map(|frame| frame.frame.len()).sum();
        let frames = frames.len();
        let event = match from {
            Some(from) => JournalEvent::CaughtUp { from, to, frames, bytes, why },
            None => JournalEvent::Image { seq: to, bytes, why },
        };
        self.note(Some(channel), event);
    }
}
