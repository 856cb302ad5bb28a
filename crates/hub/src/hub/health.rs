//! The health of sources: counted, published on the `feeds` channel, and shown in every document
//! that depends on one.

use facts::event::{Id, Sport};
use fanout::{Change, Micros};

use super::{
    FEEDS_EVERY_US, Header, Hub, HubInput, MatchEntry, MatchSlot, PACKED_PER_TICK,
    feeds::{FeedState, Health, NOT_CONFIGURED, Source, SourceNumber, SourceTurn},
    sequence::Stamp,
    state::{Life, MatchDelta, Moment},
};
use crate::{
    channels::{ChannelEntry, Subject},
    document::Object,
    push::{self, PushDuty},
    wire,
};

/// Changes of the states of sources that wait for someone to take them. A hub that nobody asks forgets further ones.
const TURNS_MAX: usize = 256;

impl Hub {
    /// Takes the changes of the states of sources since the last time.
    pub fn take_turns(&mut self) -> Vec<SourceTurn> {
        std::mem::take(&mut self.turns)
    }

    /// The inputs that void what the other sources told: those of an earlier process that this one does not have.
    /// Pushing sources come back by themselves.
    #[must_use]
    pub fn retire_others(&self, ours: &[SourceNumber], now: Micros) -> Vec<HubInput> {
        let sources = self.sources.iter().enumerate();
        let others = sources.filter(|(number, source)| {
            let is_ours = ours.contains(&SourceNumber(*number));
            !is_ours && source.kind != push::KIND && !source.is_removed()
        });
        let inputs = others.flat_map(|(number, _)| {
            let source = SourceNumber(number);
            let health = Health { feed: FeedState::Down, why: Some(NOT_CONFIGURED.into()) };
            [HubInput::Restarted { source, now }, HubInput::Health { source, health, now }]
        });
        inputs.collect()
    }

    /// Counts a refused message of a source.
    pub fn count_refusal(&mut self, source: SourceNumber) {
        self.sources[source.0].quarantined += 1;
        self.sources[source.0].changed = true;
    }

    /// Marks a source as finished: a recording has been played to its end. Documents that depend on
    /// it show that, unless they have ended.
    pub fn end_source(&mut self, source: SourceNumber, now: Micros, changes: &mut Vec<Change>) {
        self.sources[source.0].ended = true;
        self.set_source_health(source, &Health { feed: FeedState::Down, why: None }, now, changes);
    }

    /// Sets the health of a source and updates everything that depends on it at once, ahead of
    /// pending updates: its books are suspended while it is not live, and other sources take over.
    pub fn set_source_health(
        &mut self,
        source: SourceNumber,
        health: &Health,
        now: Micros,
        changes: &mut Vec<Change>,
    ) {
        if self.sources[source.0].turn(health, now) {
            self.refresh_source(source, now, changes);
        }
    }

    /// Updates everything that depends on a source whose state has changed.
    fn refresh_source(&mut self, source: SourceNumber, now: Micros, changes: &mut Vec<Change>) {
        if self.turns.len() < TURNS_MAX {
            let Source { state: feed, why, .. } = &self.sources[source.0];
            let health = Health { feed: *feed, why: why.clone() };
            self.turns.push(SourceTurn { source, at: now, health });
        }
        for id in self.matches_of(source) {
            self.refresh_match(id, source, now, changes);
        }
        let stamp = Stamp { source: None, received: now, published: now };
        for board in self.channels.boards() {
            let after = self.board_header(board);
            self.refresh_header(Subject::Board(board), after, stamp, changes);
        }
        // A reader that sees the change on `feeds` has already received all its effects.
        self.flush_tiers_until(Micros::MAX, now, changes);
        self.feeds_due = 0;
        self.tick(now, changes);
    }

    /// The matches that a source reports, in the order of their ids.
    fn matches_of(&self, source: SourceNumber) -> Vec<Id> {
        let is_reported =
            |entry: &&MatchEntry| entry.source == source || entry.state.has_source(source);
        let mut ids: Vec<Id> =
            self.matches.values().filter(is_reported).map(|it| it.state.id).collect();
        ids.sort_unstable();
        ids
    }

    /// Records a sign of life of a source without facts.
    pub fn note_sign_of_life(
        &mut self,
        source: SourceNumber,
        at: Micros,
        now: Micros,
        changes: &mut Vec<Change>,
    ) {
        self.sources[source.0].mark_alive(at);
        self.recover_from_silence(source, now, changes);
    }

    /// What of the facts of each source somebody may rely on now, by its number.
    #[must_use]
    pub fn duties(&self) -> Vec<PushDuty> {
        let mut duties = vec![PushDuty::default(); self.sources.len()];
        for (source, duty) in self.matches.values().flat_map(|entry| entry.state.duties()) {
            duties[source.0] = duties[source.0].max(duty);
        }
        duties
    }

    /// What of a source's facts about one match somebody may rely on now. `id`: the source's own.
    #[must_use]
    pub fn duty_of(&self, source: SourceNumber, id: Id) -> PushDuty {
        let entry = self.matches.get(self.mapping(id).id);
        let duties = entry.into_iter().flat_map(|entry| entry.state.duties());
        duties.filter(|(it, _)| *it == source).map(|(_, duty)| duty).max().unwrap_or_default()
    }

    /// When [`Hub::check_feeds`] is due next, without a sign of life before.
    #[must_use]
    pub fn feeds_late_at(&self) -> Option<Micros> {
        self.sources.iter().filter_map(Source::late_at).min()
    }

    /// Moves the deadlines of sources along with a forward jump of the clock.
    pub fn clock_jumped(&mut self, by: Micros, now: Micros) {
        if by > 0 {
            self.sources.iter_mut().for_each(|source| source.clock_jumped(by, now));
        }
    }

    /// Marks sources as late that have been silent for longer than their deadline.
    pub fn check_feeds(&mut self, now: Micros, changes: &mut Vec<Change>) {
        for index in 0..self.sources.len() {
            let source = &mut self.sources[index];
            let is_late = source.late_at().is_some_and(|late| late <= now);
            if is_late && source.mark_silent(now) {
                self.refresh_source(SourceNumber(index), now, changes);
            }
        }
    }

    /// Makes a source live again that was late only because of its silence.
    pub(super) fn recover_from_silence(
        &mut self,
        source: SourceNumber,
        now: Micros,
        changes: &mut Vec<Change>,
    ) {
        if self.sources[source.0].is_silent() {
            self.set_source_health(
                source,
                &Health { feed: FeedState::Live, why: None },
                now,
                changes,
            );
        }
    }

    /// Updates everything of a match that depends on a source whose state has changed.
    fn refresh_match(
        &mut self,
        id: Id,
        source: SourceNumber,
        now: Micros,
        changes: &mut Vec<Change>,
    ) {
        let stamp = Stamp { source: None, received: now, published: now };
        let moment = Moment { source: None, received: now };
        let mut delta = MatchDelta::default();
        let Some(slot) = self.matches.slot(id) else { return };
        let entry = &mut self.matches[slot];
        entry.state.reconsider(moment, &self.sources, &mut delta);
        entry.state.hold_for_feed(source, self.sources[source.0].is_sick(), &mut delta);
        self.publish_match(slot, &delta, moment, stamp, changes);
        self.refresh_headers(id, stamp, changes);
    }

    /// Publishes header changes of channels without other changes.
    pub(super) fn refresh_headers(&mut self, id: Id, stamp: Stamp, changes: &mut Vec<Change>) {
        let Some(entry) = self.matches.get(id) else { return };
        let books = (0..entry.state.books.len()).map(|book| Subject::Book(id, book));
        let subjects: Vec<_> = [Subject::Match(id)].into_iter().chain(books).collect();
        for subject in subjects {
            if let Some(after) = self.header_now(subject) {
                self.refresh_header(subject, after, stamp, changes);
            }
        }
        if let Some(after) = self.header_now(Subject::Consensus(id)) {
            self.refresh_header(Subject::Consensus(id), after, stamp, changes);
        }
    }

    /// Publishes a header change. A channel that has ended stays as it is.
    fn refresh_header(
        &mut self,
        subject: Subject,
        after: Header,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        let Some(ChannelEntry { header: before, .. }) = self.channel(subject) else { return };
        let before = *before;
        if before.life != Life::Ended {
            let patch = wire::header_patch(before, after);
            self.publish(subject, after, patch, Vec::new(), stamp, changes);
        }
    }

    /// Suspends the books that are not suspended themselves after a goal, a red card or the start
    /// of a VAR check; later prices resume them.
    pub(super) fn guard(&mut self, slot: MatchSlot, moment: Moment, delta: &mut MatchDelta) {
        if self.settings.hold_us > 0 {
            self.matches[slot].state.guard(moment, self.settings.hold_us, delta);
        }
    }

    /// Restarts a source: its facts are dropped and its channels closed. Channels that reopen under
    /// the same names have another epoch.
    pub fn restart_source(&mut self, source: SourceNumber, now: Micros, changes: &mut Vec<Change>) {
        let stamp = Stamp { source: None, received: now, published: now };
        let moment = Moment { source: None, received: now };
        for id in self.matches_of(source) {
            let Some(slot) = self.matches.slot(id) else { continue };
            let state = &mut self.matches[slot].state;
            if state.has_other_source(source) {
                let replaced = state.forget_source(source);
                let delta = MatchDelta { replaced, ..MatchDelta::default() };
                self.publish_match(slot, &delta, moment, stamp, changes);
            } else {
                self.remove(id, stamp, changes);
            }
        }
        self.sources[source.0].over.clear();
    }

    /// Does the work that is due by time alone: publishes the counters of the `feeds` channel,
    /// trims tails, and closes rate tiers without followers. Pending updates of rate tiers are due
    /// more often: see [`Hub::flush_tiers`].
    pub fn tick(&mut self, now: Micros, changes: &mut Vec<Change>) {
        self.latest = now;
        self.relay_due(now, changes);
        if now < self.feeds_due {
            return;
        }
        self.feeds_due = now + FEEDS_EVERY_US;
        self.ensure(Subject::Feeds, Sport::Other, changes);
        let mut patch = Object::default();
        let header = Header { life: Life::Live, ..Header::EMPTY };
        let is_first = self.channel(Subject::Feeds).is_some_and(|e| e.header != header);
        if is_first {
            wire::set_header(&mut patch, header);
            patch.object(wire::feeds::Feeds::sources());
        }
        for source in self.sources.iter_mut().filter(|source| source.changed) {
            wire::feeds::source(patch.object(wire::feeds::Feeds::sources()), source, true);
            wire::feeds::source(&mut self.feeds_published, source, false);
            source.changed = false;
        }
        let stamp = Stamp { source: None, received: now, published: now };
        self.open_signals(stamp, changes);
        self.expire_signals(stamp, changes);
        self.publish(Subject::Feeds, header, patch, Vec::new(), stamp, changes);
        let window = self.settings.window;
        let mut pack_max = PACKED_PER_TICK;
        self.tiers_open = 0;
        let of_matches = self.matches.values_mut().flat_map(|entry| entry.channels.iter_mut());
        for entry in of_matches.chain(self.channels.all_shared_mut()) {
            pack_max -= entry.sequence.tick(now, window, pack_max);
            entry.tiers.close_unfollowed();
            self.tiers_open += entry.tiers.len();
        }
        self.trim_relay(now);
    }
}
