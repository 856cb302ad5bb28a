//! The way of a run of publications to everybody who follows them.
//!
//! First it is found out what each follower gets; then whoever keeps up is written to once, and the
//! others are offered frame by frame.

use std::{
    io::{self, Write},
    mem,
    sync::Arc,
};

use metrics::counter;

use super::{Audience, Due, Member, means, narrow};
use crate::{
    Micros,
    channel::Publication,
    run::{Run, Set},
    session::Delivered,
};

/// Somebody who gets a topic's frames one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slow {
    slot: u32,
    touched: usize,
    subscription: u32,
}

impl<S: Write> Audience<S> {
    /// Brings the run to everybody who follows one of its topics.
    pub fn perform(&mut self, now: Micros) {
        if self.run.is_empty() {
            return;
        }
        let mut run = mem::take(&mut self.run);
        self.walk(&mut run);
        let mut delivered = self.write_touched(&mut run, now);
        delivered += self.deliver_slow(&run, now);
        for touched in run.topics() {
            self.topics.served(touched.topic, touched.seq);
        }
        if delivered > 0 {
            let oldest = self.oldest_written.into_iter().chain(run.oldest());
            self.oldest_written = oldest.min();
        }
        counter!("matchwire_deliveries_total").increment(delivered);
        run.clear();
        self.run = run;
    }

    /// Finds out for every follower which topics of the run it gets.
    fn walk(&mut self, run: &mut Run) {
        let Self { members, topics, met, one_by_one: slow, .. } = self;
        for touched in 0..run.topics().len() {
            let topic = &run.topics()[touched];
            let followed = topics.followed(topic.topic);
            let hole = topic.prev > followed.head;
            self.rotation = self.rotation.wrapping_add(1);
            let start = self.rotation % followed.followers.len();
            let (last, first) = followed.followers.split_at_mut(start);
            // Neighbours have the same set as a rule.
            let (mut from, mut to) = (Set::EMPTY, run.extend(Set::EMPTY, touched));
            for follower in first.iter_mut().chain(last) {
                let member = &mut members[follower.slot as usize];
                if follower.is_new || hole || !member.keeps_up() {
                    follower.is_new = false;
                    let (slot, subscription) = (follower.slot, follower.subscription);
                    slow.push(Slow { slot, touched, subscription });
                    continue;
                }
                if member.set == Set::EMPTY {
                    met.push(follower.slot);
                }
                if member.set != from {
                    (from, to) = (member.set, run.extend(member.set, touched));
                }
                member.set = to;
            }
        }
        // Whoever gets some of it frame by frame gets all of it so, in order.
        for at in 0..slow.len() {
            let slot = slow[at].slot;
            let member = &mut members[slot as usize];
            for touched in run.topics_of(mem::take(&mut member.set)) {
                let own = &run.topics()[touched];
                let channel = run.frame(own.frames[0]).publication.channel.number;
                let key = member.session.in_topic(own.topic, channel);
                slow.extend(key.map(|key| Slow { slot, touched, subscription: narrow(key) }));
            }
        }
    }

    /// Writes to everybody who keeps up, once.
    fn write_touched(&mut self, run: &mut Run, now: Micros) -> u64 {
        let mut delivered = 0;
        let mut met = mem::take(&mut self.met);
        for slot in met.drain(..) {
            let member = &mut self.members[slot as usize];
            let set = mem::take(&mut member.set);
            if set == Set::EMPTY {
                continue;
            }
            let whole = run.whole(set);
            delivered += whole.frames.len() as u64;
            match write(&mut member.sink, &whole.bytes) {
                Ok(written) if written == whole.bytes.len() => {
                    member.outbox.passed(whole.frames.len() as u64);
                }
                Ok(written) => {
                    let frames = Arc::clone(&whole.frames);
                    member.keep_rest(run, &frames, written, now);
                    self.note(slot as usize);
                }
                Err(_) => self.due.push((slot as usize, Due::Failed)),
            }
        }
        self.met = met;
        delivered
    }

    /// Offers its frames one by one to everybody who does not keep up, or who is new.
    fn deliver_slow(&mut self, run: &Run, now: Micros) -> u64 {
        let mut slow = mem::take(&mut self.one_by_one);
        slow.sort_unstable();
        let (mut queued, mut fell, mut skipped) = (0, 0_u64, 0_u64);
        let mut frames: Vec<(usize, u32)> = Vec::new();
        for own in slow.chunk_by(|a, b| a.slot == b.slot) {
            let slot = own[0].slot as usize;
            frames.clear();
            for Slow { touched, subscription, .. } in own {
                let places = run.topics()[*touched].frames.iter();
                frames.extend(places.map(|place| (*place, *subscription)));
            }
            frames.sort_unstable();
            for (place, subscription) in &frames {
                let publication = &run.frame(*place).publication;
                match self.deliver(slot, *subscription as usize, publication, now) {
                    Delivered::Queued => queued += 1,
                    Delivered::Known => {}
                    Delivered::Skipped => skipped += 1,
                    Delivered::Behind(left) => {
                        fell += 1;
                        self.leave(left);
                    }
                    Delivered::TooSlow => {
                        self.due.push((slot, Due::TooSlow));
                        break;
                    }
                }
            }
            self.note(slot);
            self.note_behind(slot);
            self.forward(slot, now);
        }
        slow.clear();
        self.one_by_one = slow;
        counter!("matchwire_behind_total").increment(fell);
        counter!("matchwire_skipped_total").increment(skipped);
        queued
    }

    fn deliver(
        &mut self,
        slot: usize,
        key: usize,
        publication: &Publication,
        now: Micros,
    ) -> Delivered {
        let Self { members, topics, patterns, shares, .. } = self;
        let Member { outbox, session, .. } = &mut members[slot];
        let means = &mut means(outbox, topics, patterns, *shares, slot, now);
        session.deliver(key, publication, means)
    }

    /// A suspension goes before everything that waits for those who are behind on its channel.
    pub(super) fn hurry(&mut self, channel: u32, now: Micros) {
        self.behind.retain(|slot| {
            self.members.get(*slot as usize).is_some_and(|member| member.session.is_behind())
        });
        let slots: Vec<u32> = self.behind.iter().copied().collect();
        for slot in slots {
            let slot = slot as usize;
            let Self { members, topics, patterns, shares, .. } = self;
            let Member { outbox, session, .. } = &mut members[slot];
            let means = &mut means(outbox, topics, patterns, *shares, slot, now);
            let all_left = session.hurry(channel, means);
            self.leave(all_left);
            self.forward(slot, now);
        }
    }
}

/// Writes as much as the socket takes now, which may be nothing.
fn write(sink: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match sink.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
