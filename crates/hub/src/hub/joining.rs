//! Joins matches of several providers into one and splits them again: each fact goes to the match
//! that its provider's match is mapped to, and matches are joined or split when identity finds out,
//! or when the operator orders it.

use std::{borrow::Cow, mem};

use facts::event::{Event, Fact, Fixture, Id};
use fanout::{Change, Micros};

use super::{
    ApplyError, Hub, MatchEntry, MatchSlot,
    feeds::SourceNumber,
    sequence::Stamp,
    state::{Match, MatchDelta, Moment},
};
use crate::identity::{Identity, MatchMapping, Move, NumberedOrder};

impl Hub {
    /// The mapping of provider matches to matches.
    pub fn identity(&mut self) -> &mut Identity {
        &mut self.identity
    }

    /// The match that a provider's match is mapped to.
    pub(super) fn mapping(&self, id: Id) -> MatchMapping {
        self.mappings.get(&id).copied().unwrap_or(MatchMapping { id, swapped: false })
    }

    /// A fact with its sides in the order of its match.
    pub(super) fn orient_sides(fact: &Fact, swapped: bool) -> Cow<'_, Fact> {
        if swapped { Cow::Owned(fact.swapped()) } else { Cow::Borrowed(fact) }
    }

    /// Resolves the match of a fixture. Other providers may have introduced it under another id.
    pub(super) fn resolve_match(
        &mut self,
        source: SourceNumber,
        event: &Event,
        moment: Moment,
        deltas: &mut Vec<(MatchSlot, MatchDelta)>,
        changes: &mut Vec<Change>,
    ) -> Result<(), ApplyError> {
        let (local_id, Fact::Fixture(fixture)) = (event.match_id, &event.fact) else {
            return Ok(());
        };
        if !self.matches.contains(self.mapping(local_id).id) {
            self.check_capacity(source, local_id)?;
        }
        let resolution = self.identity.resolve(event.sport, local_id, fixture);
        let (to, swapped) = (resolution.id, resolution.swapped);
        if let Some(from) = resolution.from {
            // The facts so far apply to the matches before the move.
            self.publish_deltas(mem::take(deltas), moment, moment.received, changes);
            self.carry_out(Move { id: local_id, from, to, swapped }, moment, changes);
        }
        self.note_mapping(local_id, MatchMapping { id: to, swapped });
        Ok(())
    }

    /// Applies an operator's order about matches.
    pub fn apply_order(&mut self, order: &NumberedOrder, now: Micros, changes: &mut Vec<Change>) {
        let moment = Moment { source: None, received: now };
        for moved in self.identity.follow(order) {
            self.carry_out(moved, moment, changes);
            self.note_mapping(moved.id, MatchMapping { id: moved.to, swapped: moved.swapped });
        }
    }

    fn note_mapping(&mut self, local_id: Id, mapping: MatchMapping) {
        if mapping == (MatchMapping { id: local_id, swapped: false }) {
            self.mappings.remove(&local_id);
        } else {
            self.mappings.insert(local_id, mapping);
        }
    }

    /// Moves one provider's contribution from a match to another, which may be new.
    fn carry_out(&mut self, moved: Move, moment: Moment, changes: &mut Vec<Change>) {
        let Move { id, from, to, swapped } = moved;
        let swapped = swapped != self.mapping(id).swapped;
        let now = moment.received;
        let stamp = Stamp { source: moment.source, received: now, published: now };
        let (fixture, others) = (self.fixture_in_place(id), self.other_member(from, id));
        let others = others.and_then(|other| self.fixture_in_place(other));
        let Some(slot) = self.matches.slot(from) else { return };
        let entry = &mut self.matches[slot];
        let (sport, source) = (entry.state.sport, entry.source);
        let Some(mut contribution) = entry.state.take_contribution(id) else { return };
        // The fixture of the match may come from another member.
        contribution.fixture = fixture.unwrap_or(contribution.fixture);
        entry.state.fixture = others.unwrap_or_else(|| entry.state.fixture.clone());
        let is_empty = entry.state.is_empty();
        let mut left = MatchDelta::default();
        if is_empty {
            self.drop_match(from, stamp, changes);
        } else {
            entry.state.reconsider(moment, &self.sources, &mut left);
            for book in &contribution.books_left {
                self.close_book(from, *book, changes);
            }
            left.fixture = true;
            left.left = contribution.providers();
            self.publish_match(slot, &left, moment, stamp, changes);
            self.refresh_headers(from, stamp, changes);
        }
        let slot = self.matches.slot(to).unwrap_or_else(|| {
            let state = Match::new(to, sport, id, contribution.fixture.clone(), source);
            self.put_match(MatchEntry::new(state, source))
        });
        let mut delta = MatchDelta::default();
        let state = &mut self.matches[slot].state;
        state.merge_contribution(contribution, swapped, moment, &self.sources, &mut delta);
        self.publish_match(slot, &delta, moment, stamp, changes);
        self.refresh_headers(to, stamp, changes);
    }

    /// A provider's fixture of its match, with the sides in the order of the match.
    fn fixture_in_place(&self, local_id: Id) -> Option<Fixture> {
        let fixture = Fact::Fixture(self.identity.fixture(local_id)?.clone());
        let fixture = Self::orient_sides(&fixture, self.mapping(local_id).swapped);
        match self.identity.with_public_ids(local_id, fixture).into_owned() {
            Fact::Fixture(fixture) => Some(fixture),
            _ => None,
        }
    }

    fn other_member(&self, id: Id, local_id: Id) -> Option<Id> {
        let members = &self.matches.get(id)?.state.members;
        members.iter().map(|member| member.id).find(|other| *other != local_id)
    }

    /// Removes a match whose facts all belong to another match now.
    fn drop_match(&mut self, id: Id, stamp: Stamp, changes: &mut Vec<Change>) {
        self.end_signals(id, stamp, changes);
        self.export_dropped(id);
        let Some(entry) = self.take_match(id) else { return };
        self.close_channels(entry, stamp, changes);
    }

    /// Closes the channels of a removed match.
    pub(super) fn close_channels(
        &mut self,
        entry: MatchEntry,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        self.epochs.matches.0 = self.epochs.matches.0.wrapping_add(1);
        let closed = entry.channels.into_all();
        changes.extend(closed.map(|entry| Change::Closed(self.channels.unregister(entry))));
        self.relay.forget(entry.state.id, changes);
        self.leave_board(&entry.state, stamp, changes);
    }
}
