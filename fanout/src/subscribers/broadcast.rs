//! How a batch of publications reaches its followers.
//!
//! The first step finds out what each follower gets. Subscribers that keep up are then written to once;
//! the others are offered their frames one by one.

use std::{
    io::{self, Write},
    mem,
    sync::Arc,
};

use bytes::Bytes;
use metrics::counter;

use super::{Effect, Subscribers, narrow};
use crate::{
    Micros,
    batch::{Batch, BatchFrame, TopicBatch, TopicSet},
    channel::{Publication, Rate},
    journal::JournalEvent,
    session::DeliveryOutcome,
    topics::{Topic, TopicFollowers},
};

/// A subscription that gets the frames of a topic one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SlowDelivery {
    slot: u32,
    /// The topic's index in the batch.
    topic: usize,
    subscription: u32,
}

impl<S: Write> Subscribers<S> {
    /// Adds a publication to the batch for the followers of a channel at a rate.
    /// [`Subscribers::broadcast`] delivers it.
    pub fn publish(&mut self, rate: Rate, publication: Arc<Publication>, now: Micros) {
        let channel = publication.channel.number;
        let goes_first =
            publication.urgent && rate == Rate::Each && !publication.channel.deliver_last;
        if goes_first && !self.behind.is_empty() {
            self.broadcast(now);
            self.prioritise(channel, now);
        }
        let topic = Topic { channel, rate };
        self.publish_views(topic, &publication, now);
        let Some(mut number) = self.topics.number(topic) else { return };
        if !self.has_room(publication.frame()) {
            self.broadcast(now);
            // The last of its followers may have fallen behind.
            let Some(same) = self.topics.number(topic) else { return };
            number = same;
        }
        self.batch.add(number, publication);
    }

    /// Adds a publication to the batch for the followers that get it in part or compressed.
    fn publish_views(&mut self, topic: Topic, publication: &Arc<Publication>, now: Micros) {
        for number in self.topics.viewed(topic).to_vec() {
            // A broadcast below may have ended the topic.
            let Some(TopicFollowers { view, head, passed, .. }) = self.topics.get(number) else {
                continue;
            };
            let (head, passed) = self.batch.reaches(number).unwrap_or((*head, *passed));
            // Changes that were passed over have nothing that the followers pick. Others were lost.
            let is_gap = publication.prev > passed;
            let prev = if is_gap { publication.prev } else { publication.prev.min(head) };
            let frame = self.renderer.publication(view, publication, prev, is_gap);
            let Some(bytes) = frame else {
                if !self.batch.pass(number, publication.seq) {
                    self.topics.advance(number, head, publication.seq);
                }
                continue;
            };
            if !self.has_room(&bytes) {
                self.broadcast(now);
                if self.topics.get(number).is_none() {
                    continue;
                }
            }
            let publication = Arc::clone(publication);
            self.batch.add_frame(number, BatchFrame { publication, bytes, prev });
        }
    }

    /// Whether a frame may be written together with those of the batch.
    fn has_room(&self, frame: &Bytes) -> bool {
        self.batch.is_empty() || self.batch.bytes() + frame.len() <= self.limits.write_bytes
    }

    /// Delivers the current batch to all followers of its topics.
    pub fn broadcast(&mut self, now: Micros) {
        if self.batch.is_empty() {
            return;
        }
        let mut batch = mem::take(&mut self.batch);
        self.collect_sets(&mut batch);
        if self.journal.is_watching() {
            self.note_sent(&batch, now);
        }
        let mut delivered = self.write_directly(&mut batch, now);
        delivered += self.deliver_one_by_one(&batch, now);
        for topic_batch in batch.topics() {
            self.topics.advance(topic_batch.topic, topic_batch.seq, topic_batch.passed);
        }
        if delivered > 0 {
            let oldest = self.oldest_written.into_iter().chain(batch.oldest());
            self.oldest_written = oldest.min();
        }
        counter!("matchwire_deliveries_total").increment(delivered);
        batch.clear();
        self.batch = batch;
    }

    /// Finds out which topics of the batch each follower gets.
    fn collect_sets(&mut self, batch: &mut Batch) {
        let Self { subscribers, topics, direct, one_by_one: slow, .. } = self;
        for topic in 0..batch.topics().len() {
            let topic_batch = &batch.topics()[topic];
            let entry = topics.followers_mut(topic_batch.topic);
            let has_gap = topic_batch.prev > entry.head;
            self.rotation = self.rotation.wrapping_add(1);
            let start = self.rotation % entry.followers.len();
            let (last, first) = entry.followers.split_at_mut(start);
            // Neighbours usually have the same set.
            let (mut from, mut to) = (TopicSet::EMPTY, batch.extend(TopicSet::EMPTY, topic));
            for follower in first.iter_mut().chain(last) {
                let subscriber = &mut subscribers[follower.slot as usize];
                if follower.is_new || has_gap || !subscriber.keeps_up() {
                    follower.is_new = false;
                    let (slot, subscription) = (follower.slot, follower.subscription);
                    slow.push(SlowDelivery { slot, topic, subscription });
                    continue;
                }
                if subscriber.set == TopicSet::EMPTY {
                    direct.push(follower.slot);
                }
                if subscriber.set != from {
                    (from, to) = (subscriber.set, batch.extend(subscriber.set, topic));
                }
                subscriber.set = to;
            }
        }
        // A subscriber that gets one topic frame by frame gets all topics so, to keep their order.
        for at in 0..slow.len() {
            let slot = slow[at].slot;
            let subscriber = &mut subscribers[slot as usize];
            for topic in batch.topics_of(mem::take(&mut subscriber.set)) {
                let topic_batch = &batch.topics()[topic];
                let channel = batch.frame(topic_batch.frames[0]).publication.channel.number;
                let key = subscriber.session.in_topic(topic_batch.topic, channel);
                slow.extend(key.map(|key| SlowDelivery { slot, topic, subscription: narrow(key) }));
            }
        }
    }

    /// Notes what watched subscribers that keep up are about to get.
    fn note_sent(&mut self, batch: &Batch, now: Micros) {
        let stamp = now + self.stamp_offset;
        for (slot, serial) in self.journal.watched().collect::<Vec<_>>() {
            let subscriber = self.subscribers.get(slot as usize);
            let Some(subscriber) = subscriber.filter(|it| it.tally.serial == serial) else {
                continue;
            };
            for topic in batch.topics_of(subscriber.set) {
                let TopicBatch { topic, frames, .. } = &batch.topics()[topic];
                let rate = self.topics.get(*topic).map_or(Rate::Each, TopicFollowers::rate);
                for index in frames {
                    let BatchFrame { publication, bytes, prev } = batch.frame(*index);
                    let (seq, bytes) = (publication.seq, bytes.len());
                    let delay_us = publication.published.map(|published| stamp - published);
                    let event = JournalEvent::Sent { prev: *prev, seq, rate, bytes, delay_us };
                    self.journal.note(serial, Some(&publication.channel.name), event, now);
                }
            }
        }
    }

    /// Writes once to each subscriber that keeps up.
    fn write_directly(&mut self, batch: &mut Batch, now: Micros) -> u64 {
        let mut delivered = 0;
        let mut direct = mem::take(&mut self.direct);
        for slot in direct.drain(..) {
            let subscriber = &mut self.subscribers[slot as usize];
            let set = mem::take(&mut subscriber.set);
            if set == TopicSet::EMPTY {
                continue;
            }
            let frames = batch.frames_of(set);
            let count = frames.indices.len() as u64;
            delivered += count;
            match write(&mut subscriber.sink, &frames.bytes) {
                Ok(written) if written == frames.bytes.len() => {
                    subscriber.outbox.count_delivered(count);
                }
                Ok(written) => {
                    let indices = Arc::clone(&frames.indices);
                    subscriber.queue_rest(batch, &indices, written, now);
                    self.mark_ready(slot as usize);
                }
                Err(_) => self.effects.push((slot as usize, Effect::Failed)),
            }
        }
        self.direct = direct;
        delivered
    }

    /// Offers frames one by one to subscriptions that are new or whose subscriber does not keep up.
    fn deliver_one_by_one(&mut self, batch: &Batch, now: Micros) -> u64 {
        let mut slow = mem::take(&mut self.one_by_one);
        slow.sort_unstable();
        let (mut queued, mut fell_behind) = (0, 0_u64);
        let mut frames: Vec<(usize, u32)> = Vec::new();
        for deliveries in slow.chunk_by(|a, b| a.slot == b.slot) {
            let slot = deliveries[0].slot as usize;
            frames.clear();
            for SlowDelivery { topic, subscription, .. } in deliveries {
                let indices = batch.topics()[*topic].frames.iter();
                frames.extend(indices.map(|index| (*index, *subscription)));
            }
            frames.sort_unstable();
            for (index, subscription) in &frames {
                match self.deliver(slot, *subscription as usize, batch.frame(*index), now) {
                    DeliveryOutcome::Queued => queued += 1,
                    DeliveryOutcome::NotNeeded => {}
                    DeliveryOutcome::Behind(left) => {
                        fell_behind += 1;
                        self.leave(left);
                    }
                    DeliveryOutcome::TooSlow(left) => {
                        self.leave(left);
                        self.effects.push((slot, Effect::TooSlow));
                    }
                }
            }
            self.mark_ready(slot);
            self.mark_behind(slot);
            self.request_catch_up(slot, now);
        }
        slow.clear();
        self.one_by_one = slow;
        counter!("matchwire_behind_total").increment(fell_behind);
        queued
    }

    fn deliver(
        &mut self,
        slot: usize,
        key: usize,
        frame: &BatchFrame,
        now: Micros,
    ) -> DeliveryOutcome {
        let (session, mut context) = self.session(slot, now).expect("it follows the topic");
        session.deliver(key, frame, &mut context)
    }

    /// Lets a suspension go before everything queued for subscribers that are behind on its channel.
    pub(super) fn prioritise(&mut self, channel: u32, now: Micros) {
        self.behind.retain(|slot| {
            let subscriber = self.subscribers.get(*slot as usize);
            subscriber.is_some_and(|subscriber| subscriber.session.is_behind())
        });
        let slots: Vec<u32> = self.behind.iter().copied().collect();
        for slot in slots {
            let slot = slot as usize;
            let Some((session, context)) = &mut self.session(slot, now) else { continue };
            let all_left = session.prioritise(channel, context);
            self.leave(all_left);
            self.request_catch_up(slot, now);
        }
    }
}

/// Writes as much as the socket accepts now, which may be nothing.
fn write(sink: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match sink.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
