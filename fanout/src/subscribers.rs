//! Everyone whom a shard serves: who follows what, and how publications reach their sockets.
//!
//! Plain state: no thread, no clock, and any kind of socket that can be written to. A reader who keeps
//! up is written to directly, once for all that a run of publications holds for it. Whoever does not
//! keep up gets frame by frame what its outbox has room for, and falls behind when it has none.
//! Whatever else happens to a member stands behind the publications before it.

mod member;
mod walk;

use std::{
    collections::HashSet,
    io::{self, Write},
    mem,
    sync::Arc,
};

use bytes::Bytes;
use metrics::counter;
use rustc_hash::FxBuildHasher;
use slab::Slab;

pub use self::member::Member;
use self::walk::Slow;
use crate::{
    Micros,
    catch_up::{Answer, Question},
    channel::{Channel, Publication, Rate},
    live,
    outbox::{Budget, Outbox, Written},
    patterns::Patterns,
    protocol,
    run::{Run, Set},
    session::{Join, Means, Next, Session},
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
    patterns: Patterns,
    run: Run,
    shares: Shares,
    /// From `now` to the stamps that clients see.
    stamp_offset: Micros,
    /// Where the next walk over followers starts, so that nobody is always last.
    rotation: usize,
    /// Members with something to write that their socket may take.
    ready: Vec<u32>,
    /// Members with subscriptions behind; some may have caught up since they were noted.
    behind: HashSet<u32, FxBuildHasher>,
    /// Members whose sockets take nothing, or which were so when they were last looked at.
    slow: HashSet<u32, FxBuildHasher>,
    due: Vec<(usize, Due)>,
    /// When the oldest publication was published that has been written since this was last asked.
    oldest_written: Option<Micros>,
    // Kept for their allocations between two runs.
    met: Vec<u32>,
    one_by_one: Vec<Slow>,
}

/// What a client asks for, in the words of its dialect.
#[derive(Debug)]
pub enum Command {
    Stream(protocol::Command),
    Live(live::Command),
}

impl From<protocol::Command> for Command {
    fn from(command: protocol::Command) -> Self {
        Self::Stream(command)
    }
}

impl From<live::Command> for Command {
    fn from(command: live::Command) -> Self {
        Self::Live(command)
    }
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
            patterns: Patterns::default(),
            run: Run::default(),
            shares,
            stamp_offset: 0,
            rotation: 0,
            ready: Vec::new(),
            behind: HashSet::default(),
            due: Vec::new(),
            oldest_written: None,
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

    /// What is added to `now` for stamps that clients see. `now` itself is a monotonic clock.
    pub fn set_stamp_offset(&mut self, offset: Micros) {
        self.stamp_offset = offset;
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
        let session = &mut self.members[slot].session;
        for pattern in session.take_wildcards() {
            self.patterns.remove(narrow(slot), &pattern);
        }
        let all_left = session.end();
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

    /// When the oldest publication was published that has been written to a member who keeps up, since
    /// this was last asked.
    pub fn take_oldest_written(&mut self) -> Option<Micros> {
        self.oldest_written.take()
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
    pub fn command(&mut self, slot: usize, command: impl Into<Command>, now: Micros) {
        let Self { members, topics, patterns, shares, .. } = self;
        let Member { outbox, session, .. } = &mut members[slot];
        debug_assert!(self.run.is_empty() && !session.is_waiting(), "a command comes in its turn");
        let stamp = now + self.stamp_offset;
        let means = &mut means(outbox, topics, patterns, *shares, slot, now);
        let (all_left, next) = match command.into() {
            Command::Stream(command) => session.command(command, stamp, means),
            Command::Live(command) => session.live_command(command, means),
        };
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
        let Self { members, topics, patterns, shares, .. } = self;
        let Member { outbox, session, .. } = &mut members[slot];
        let means = &mut means(outbox, topics, patterns, *shares, slot, now);
        let (join, all_left) = session.answer(answer, means);
        self.leave(all_left);
        self.join(slot, join);
        self.note(slot);
        self.note_behind(slot);
        self.forward(slot, now);
    }

    /// Ends what a member may no longer follow, begins what its patterns may cover now, and tells it so by
    /// one frame; does nothing where nothing has changed. Permissions change by the time of day.
    pub fn renew_permission(&mut self, slot: usize, time_of_day: Micros, now: Micros) {
        let has_changed = |member: &Member<S>| member.session.permission_has_changed(time_of_day);
        if !self.members.get(slot).is_some_and(has_changed) {
            return;
        }
        self.perform(now);
        let Self { members, topics, patterns, shares, .. } = self;
        let Member { outbox, session, .. } = &mut members[slot];
        let means = &mut means(outbox, topics, patterns, *shares, slot, now);
        let all_left = session.renew_permission(time_of_day, means);
        self.leave(all_left);
        self.note(slot);
        self.forward(slot, now);
    }

    /// A channel has come to be.
    pub fn opened(&mut self, image: &Publication, now: Micros) {
        self.perform(now);
        for (slot, pattern) in self.patterns.covering(&image.channel.name) {
            let slot = slot as usize;
            let Self { members, topics, patterns, shares, .. } = self;
            let Some(Member { outbox, session, .. }) = members.get_mut(slot) else { continue };
            let mut means = means(outbox, topics, patterns, *shares, slot, now);
            let join = session.opened(image, &pattern, &mut means);
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
            let Self { members, topics, patterns, shares, .. } = self;
            let Some(Member { outbox, session, .. }) = members.get_mut(slot) else { continue };
            let means = &mut means(outbox, topics, patterns, *shares, slot, now);
            session.closed(channel.number, means);
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
        let Self { members, topics, patterns, shares, .. } = self;
        let Some(Member { outbox, session, .. }) = members.get_mut(slot) else { return };
        let question = session.forward(&means(outbox, topics, patterns, *shares, slot, now));
        if let Some(question) = question {
            self.due.push((slot, Due::Ask(question)));
        } else if session.settles()
            && let Some(beat) = session.beat(topics, now + self.stamp_offset)
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
        } else if let Some(beat) = session.beat(topics, now + self.stamp_offset) {
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
            Ok(Written::All) => {
                if let Some(beat) = member.session.next_beat(&self.topics, now) {
                    member.outbox.push_beat(beat, now);
                    self.note(slot);
                }
            }
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

/// What a member's session works with.
fn means<'a>(
    outbox: &'a mut Outbox,
    topics: &'a Topics,
    patterns: &'a mut Patterns,
    shares: Shares,
    slot: usize,
    now: Micros,
) -> Means<'a> {
    Means { outbox, topics, patterns, slot: narrow(slot), budget: shares.budget, now }
}

/// Slots are indices into memory, far fewer than 2^32.
fn narrow(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 of anything")
}
