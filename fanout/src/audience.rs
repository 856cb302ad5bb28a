//! Everyone whom a shard serves: who follows what, and how publications reach their sockets.
//!
//! Plain state: no thread, no clock, and any kind of socket that can be written to. A reader who keeps
//! up is written to directly, once for all that a run of publications holds for it. Whoever does not
//! keep up gets frame by frame what its outbox has room for, and falls behind when it has none.
//! Whatever else happens to a member stands behind the publications before it.

use std::{
    collections::HashSet,
    io::{self, Write},
    mem,
    sync::Arc,
};

use bytes::{Buf, Bytes};
use metrics::counter;
use rustc_hash::FxBuildHasher;
use slab::Slab;

use crate::{
    Micros,
    catch_up::{Answer, Question},
    channel::{Channel, Publication, Rate},
    outbox::{Budget, Of, Outbox, Written},
    protocol::Command,
    run::{Run, Set},
    session::{Delivered, Join, Means, Next, Session},
    topics::{Place, Topic, Topics},
};

/// A reader whose socket has taken nothing for so long holds up nobody, in microseconds.
const STUCK_US: Micros = 200_000;

/// What one reader may use.
#[derive(Debug, Clone, Copy)]
pub struct Shares {
    /// What may wait for it.
    pub budget: Budget,
    /// Bytes written to it at a time, for fairness to the others.
    pub write_bytes: usize,
}

#[derive(Debug)]
pub struct Audience<S> {
    members: Slab<Member<S>>,
    /// One more than the last slot that was ever in use.
    slots: usize,
    topics: Topics,
    run: Run,
    shares: Shares,
    /// Where the next walk over followers starts, so that nobody is always last.
    rotation: usize,
    /// Members with something to write that their socket may take.
    ready: Vec<u32>,
    /// Members with subscriptions behind; some may have caught up since they were noted.
    behind: HashSet<u32, FxBuildHasher>,
    /// Members whose sockets take nothing, or which were so when they were last looked at.
    slow: HashSet<u32, FxBuildHasher>,
    due: Vec<(usize, Due)>,
    // Kept for their allocations between two runs.
    met: Vec<u32>,
    one_by_one: Vec<Slow>,
}

/// One connection, as far as publications are concerned.
#[derive(Debug)]
pub struct Member<S> {
    /// The topics of the run that it has been found to follow.
    set: Set,
    /// The socket took no more when it was last written to, and has not said since that it would.
    blocked: bool,
    /// Noted as ready.
    noted: bool,
    /// No command is taken until its outbox has room again.
    held: bool,
    pub outbox: Outbox,
    pub session: Session,
    pub sink: S,
    /// When the socket last took a part of what waited for it.
    progressed: Micros,
}

/// Somebody who gets a topic's frames one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Slow {
    slot: u32,
    touched: usize,
    subscription: u32,
}

/// What the shard has to do about a member.
#[derive(Debug)]
pub enum Due {
    /// Put this question to the host.
    Ask(Question),
    /// It is too slow, and asked to be closed then.
    TooSlow,
    /// It takes commands again.
    Resume,
    /// Its socket has failed.
    Failed,
}

impl<S: Write> Audience<S> {
    #[must_use]
    pub fn new(shares: Shares) -> Self {
        Self {
            members: Slab::new(),
            slots: 0,
            topics: Topics::default(),
            run: Run::default(),
            shares,
            rotation: 0,
            ready: Vec::new(),
            behind: HashSet::default(),
            due: Vec::new(),
            slow: HashSet::default(),
            met: Vec::new(),
            one_by_one: Vec::new(),
        }
    }

    // ---------------------------------------------------------------------------- members

    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// One more than the last slot that was ever in use: for walks in parts.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The slot that the next member gets.
    #[must_use]
    pub fn next_slot(&self) -> usize {
        self.members.vacant_key()
    }

    #[must_use]
    pub fn get(&self, slot: usize) -> Option<&Member<S>> {
        self.members.get(slot)
    }

    #[must_use]
    pub fn get_mut(&mut self, slot: usize) -> Option<&mut Member<S>> {
        self.members.get_mut(slot)
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, &Member<S>)> {
        self.members.iter()
    }

    pub fn admit(&mut self, session: Session, sink: S) -> usize {
        let outbox = Outbox::default();
        let member = Member {
            set: Set::EMPTY,
            blocked: false,
            noted: false,
            held: false,
            outbox,
            session,
            sink,
            progressed: 0,
        };
        let slot = self.members.insert(member);
        self.slots = self.slots.max(slot + 1);
        slot
    }

    /// Ends all that a member follows.
    pub fn end(&mut self, slot: usize, now: Micros) {
        self.perform(now);
        let all_left = self.members[slot].session.end();
        self.leave(all_left);
    }

    pub fn remove(&mut self, slot: usize, now: Micros) -> S {
        self.end(slot, now);
        self.members.remove(slot).sink
    }

    /// What time and the socket make due, since it was last asked.
    pub fn take_due(&mut self) -> Vec<(usize, Due)> {
        mem::take(&mut self.due)
    }

    // ----------------------------------------------------------------------- conversation

    /// Queues an answer to a member, whatever its budget.
    pub fn reply(&mut self, slot: usize, frame: Bytes, now: Micros) {
        self.members[slot].outbox.push_reply(frame, now);
        self.note(slot);
    }

    /// Tells a member how far it is behind, before all that waits for it.
    pub fn tell_lag(&mut self, slot: usize, frame: Bytes, now: Micros) {
        self.members[slot].outbox.add_lag(frame, now);
        self.note(slot);
    }

    /// Whether a member's next command has to wait: while one is being answered, and while the client
    /// does not read its answers.
    pub fn holds(&mut self, slot: usize) -> bool {
        let Some(member) = self.members.get_mut(slot) else { return true };
        member.held = member.outbox.is_over(self.shares.budget);
        member.held || member.session.is_waiting()
    }

    /// Carries out a command. The run has been performed, and the session waits for no answer.
    pub fn command(&mut self, slot: usize, command: Command, now: Micros) {
        let Self { members, topics, shares, .. } = self;
        let Member { outbox, session, .. } = &mut members[slot];
        debug_assert!(self.run.is_empty() && !session.is_waiting(), "a command comes in its turn");
        let budget = shares.budget;
        let (all_left, next) = session.command(command, &mut Means { outbox, topics, budget, now });
        self.leave(all_left);
        if let Next::Ask(question) = next {
            self.due.push((slot, Due::Ask(question)));
        }
        self.note(slot);
        self.note_behind(slot);
        self.forward(slot, now);
    }

    pub fn answer(&mut self, slot: usize, answer: Answer, now: Micros) {
        self.perform(now);
        let Self { members, topics, shares, .. } = self;
        let Member { outbox, session, .. } = &mut members[slot];
        let budget = shares.budget;
        let (join, all_left) = session.answer(answer, &mut Means { outbox, topics, budget, now });
        self.leave(all_left);
        self.join(slot, join);
        self.note(slot);
        self.note_behind(slot);
        self.forward(slot, now);
    }

    /// A channel has come to be.
    pub fn opened(&mut self, image: &Publication, now: Micros) {
        self.perform(now);
        let following = self.members.iter().filter(|(_, member)| member.session.has_wildcards());
        let following: Vec<usize> = following.map(|(slot, _)| slot).collect();
        for slot in following {
            let Self { members, topics, shares, .. } = self;
            let Member { outbox, session, .. } = &mut members[slot];
            let budget = shares.budget;
            let join = session.opened(image, &mut Means { outbox, topics, budget, now });
            self.join(slot, join);
            self.note(slot);
            self.note_behind(slot);
            self.forward(slot, now);
        }
    }

    /// A channel is gone.
    pub fn closed(&mut self, channel: &Channel, now: Micros) {
        self.perform(now);
        let live = self.topics.close(channel.number).into_iter().map(|follower| follower.slot);
        let slots: Vec<u32> = live.chain(self.behind.iter().copied()).collect();
        for slot in slots {
            let slot = slot as usize;
            let Self { members, topics, shares, .. } = self;
            let Some(Member { outbox, session, .. }) = members.get_mut(slot) else { continue };
            let budget = shares.budget;
            session.closed(channel.number, &mut Means { outbox, topics, budget, now });
            self.note(slot);
        }
    }

    /// Publications were lost on the way here: everybody has to be brought forward by the host.
    pub fn lost(&mut self, now: Micros) {
        self.perform(now);
        let slots: Vec<usize> = self.members.iter().map(|(slot, _)| slot).collect();
        for slot in &slots {
            self.members[*slot].session.all_behind(&self.topics);
        }
        self.topics.clear();
        for slot in slots {
            // Nobody can bring a bare channel forward: what was lost is lost.
            let bare = self.members[slot].session.bare_join();
            self.join(slot, bare);
            self.note_behind(slot);
            self.forward(slot, now);
        }
    }

    /// Puts a subscription into the index. What is still to be performed is not for it.
    pub fn join(&mut self, slot: usize, join: Option<Join>) {
        let Some(Join { key, topic, head }) = join else { return };
        let place = self.topics.join(topic, head, narrow(slot), narrow(key));
        self.members[slot].session.placed(key, place);
    }

    fn leave(&mut self, all_left: Vec<Place>) {
        // The last place first, so that whoever moves into a freed place is never one of them and no
        // noted place becomes wrong.
        let mut all_left = all_left;
        all_left.sort_unstable_by_key(|left| std::cmp::Reverse(left.place));
        for left in all_left {
            if let Some(moved) = self.topics.leave(left) {
                let session = &mut self.members[moved.slot as usize].session;
                session.placed(moved.subscription as usize, left);
            }
        }
    }

    /// Brings forward the next of a member's subscriptions that is behind, or tells it that all are
    /// where they should be.
    pub fn forward(&mut self, slot: usize, now: Micros) {
        let Self { members, topics, shares, .. } = self;
        let Some(Member { outbox, session, .. }) = members.get_mut(slot) else { return };
        let question = session.forward(&Means { outbox, topics, budget: shares.budget, now });
        if let Some(question) = question {
            self.due.push((slot, Due::Ask(question)));
        } else if session.settles()
            && let Some(beat) = session.beat(topics, now)
        {
            outbox.push_beat(beat, now);
            self.note(slot);
        }
    }

    /// Tells a member where its channels are. Without room this is left out: it only says where the
    /// frames before it lead to.
    pub fn beat(&mut self, slot: usize, now: Micros) {
        let Self { members, topics, shares, .. } = self;
        let Some(Member { outbox, session, .. }) = members.get_mut(slot) else { return };
        if !outbox.has_room(shares.budget) {
            counter!("matchwire_beats_skipped_total").increment(1);
        } else if let Some(beat) = session.beat(topics, now) {
            outbox.push_beat(beat, now);
            self.note(slot);
        }
    }

    // ----------------------------------------------------------------------- publications

    /// Takes a publication for the followers of a channel at a rate. They have it, or fall behind,
    /// after [`Audience::perform`].
    pub fn publish(&mut self, rate: Rate, publication: Arc<Publication>, now: Micros) {
        let channel = publication.channel.number;
        let hurries = publication.urgent && rate == Rate::Each && !publication.channel.trails;
        if hurries && !self.behind.is_empty() {
            self.perform(now);
            self.hurry(channel, now);
        }
        let topic = Topic { channel, rate };
        let Some(mut number) = self.topics.number(topic) else { return };
        let bytes = publication.frame().len();
        if !self.run.is_empty() && self.run.bytes() + bytes > self.shares.write_bytes {
            self.perform(now);
            // The last of its followers may have fallen behind.
            let Some(same) = self.topics.number(topic) else { return };
            number = same;
        }
        self.run.add(number, publication);
    }

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
                let key = member.session.in_topic(run.topics()[touched].topic);
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
                Ok(written) if written == whole.bytes.len() => {}
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
        let Self { members, topics, shares, .. } = self;
        let Member { outbox, session, .. } = &mut members[slot];
        let budget = shares.budget;
        session.deliver(key, publication, &mut Means { outbox, topics, budget, now })
    }

    /// A suspension goes before everything that waits for those who are behind on its channel.
    fn hurry(&mut self, channel: u32, now: Micros) {
        self.behind.retain(|slot| {
            self.members.get(*slot as usize).is_some_and(|member| member.session.is_behind())
        });
        let slots: Vec<u32> = self.behind.iter().copied().collect();
        for slot in slots {
            let slot = slot as usize;
            let Self { members, topics, shares, .. } = self;
            let Member { outbox, session, .. } = &mut members[slot];
            let budget = shares.budget;
            let all_left = session.hurry(channel, &mut Means { outbox, topics, budget, now });
            self.leave(all_left);
            self.forward(slot, now);
        }
    }

    // ----------------------------------------------------------------------------- writing

    /// Notes that there may be something to write to a member.
    pub fn note(&mut self, slot: usize) {
        let member = &mut self.members[slot];
        if !member.noted && !member.blocked && !member.outbox.is_empty() {
            member.noted = true;
            self.ready.push(narrow(slot));
        }
    }

    fn note_behind(&mut self, slot: usize) {
        if self.members[slot].session.is_behind() {
            self.behind.insert(narrow(slot));
        }
    }

    /// The socket takes bytes again.
    pub fn writable(&mut self, slot: usize) {
        let Some(member) = self.members.get_mut(slot) else { return };
        member.blocked = false;
        match member.sink.flush() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                self.due.push((slot, Due::Failed));
            }
            _ => self.note(slot),
        }
    }

    /// Members whose sockets take nothing now, and those that have begun to again since this was last
    /// asked.
    pub fn slow(&mut self) -> Vec<usize> {
        let slow: Vec<usize> = self.slow.iter().map(|slot| *slot as usize).collect();
        let members = &self.members;
        self.slow.retain(|slot| members.get(*slot as usize).is_some_and(Member::is_slow));
        slow
    }

    /// Whether bare channels should get no more for now: somebody who follows one, and takes what it
    /// gets, has half of its budget waiting.
    #[must_use]
    pub fn is_crowded(&self, now: Micros) -> bool {
        self.slow.iter().filter_map(|slot| self.members.get(*slot as usize)).any(|member| {
            member.session.is_bare()
                && !member.outbox.has_room(self.shares.budget)
                && member.stalled(now) < STUCK_US
        })
    }

    /// Whether there is more to write at once.
    #[must_use]
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Writes its share to each member that is noted, once.
    pub fn flush(&mut self, now: Micros) {
        for slot in mem::take(&mut self.ready) {
            self.flush_one(slot as usize, now);
        }
    }

    fn flush_one(&mut self, slot: usize, now: Micros) {
        let Some(member) = self.members.get_mut(slot) else { return };
        member.noted = false;
        let Member { outbox, sink, .. } = member;
        let written = outbox.write(self.shares.write_bytes, |slices| sink.write_vectored(slices));
        match written {
            Ok(Written::All) => {}
            Ok(Written::Cap) => self.note(slot),
            Ok(Written::Blocked { progress }) => {
                if progress {
                    member.progressed = now;
                }
                member.blocked = true;
                self.slow.insert(narrow(slot));
            }
            Err(_) => return self.due.push((slot, Due::Failed)),
        }
        let member = &mut self.members[slot];
        if member.held && member.outbox.has_room(self.shares.budget) {
            member.held = false;
            self.due.push((slot, Due::Resume));
        }
        self.forward(slot, now);
    }
}

impl<S> Member<S> {
    /// Whether it can be written to directly.
    fn keeps_up(&self) -> bool {
        self.outbox.is_empty() && !self.session.is_behind()
    }

    /// Queues what the socket did not take of a run's frames.
    fn keep_rest(&mut self, run: &Run, frames: &[usize], mut written: usize, now: Micros) {
        for place in frames {
            let frame = run.frame(*place);
            let mut bytes = frame.bytes.clone();
            if written >= bytes.len() {
                written -= bytes.len();
                continue;
            }
            if written > 0 {
                bytes.advance(mem::take(&mut written));
                self.outbox.begin(bytes, now);
            } else {
                let publication = &frame.publication;
                let of = Of { channel: publication.channel.number, before: Some(publication.prev) };
                self.outbox.add(bytes, Some(of), now);
            }
        }
    }

    /// For how long the socket has taken nothing of what waits for it, in microseconds.
    #[must_use]
    pub fn stalled(&self, now: Micros) -> Micros {
        if self.blocked { (now - self.progressed).min(self.outbox.age(now)) } else { 0 }
    }

    /// Whether it does not get things as they come.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        !self.keeps_up()
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

/// Slots are indices into memory, far fewer than 2^32.
fn narrow(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 of anything")
}
