//! Matches of several providers that are one: facts go where their match is followed, and what was
//! followed apart is put together or taken apart when that turns out, or when the operator orders it.

use std::{borrow::Cow, mem};

use fanout::{Change, Micros};
use ingest::event::{Event, Fact, Fixture, Id};

use super::{
    ApplyError, Hub, Known,
    feeds::SourceNumber,
    sequence::Stamp,
    state::{Match, Moment, Touched},
};
use crate::{
    channels::Subject,
    identity::{Identity, Move, Numbered, Place},
};

impl Hub {
    /// Which matches are one, for who stores it.
    pub fn identity(&mut self) -> &mut Identity {
        &mut self.identity
    }

    /// Where a provider's match is followed.
    pub(super) fn place(&self, own: Id) -> Place {
        self.places.get(&own).copied().unwrap_or(Place { id: own, swapped: false })
    }

    /// A fact as its match tells it.
    pub(super) fn in_its_order(fact: &Fact, swapped: bool) -> Cow<'_, Fact> {
        if swapped { Cow::Owned(fact.swapped()) } else { Cow::Borrowed(fact) }
    }

    /// Finds out which match a fixture is of. Others may have told of it under another id.
    pub(super) fn recognise(
        &mut self,
        source: SourceNumber,
        event: &Event,
        moment: Moment,
        all_touched: &mut Vec<(Id, Touched)>,
        changes: &mut Vec<Change>,
    ) -> Result<(), ApplyError> {
        let (own, Fact::Fixture(fixture)) = (event.match_id, &event.fact) else { return Ok(()) };
        if !self.matches.contains_key(&self.place(own).id) {
            self.check_room(source, own)?;
        }
        let resolution = self.identity.resolve(event.sport, own, fixture);
        let (to, swapped) = (resolution.id, resolution.swapped);
        if let Some(from) = resolution.from {
            // What the batch has said so far is of the matches as they are still.
            self.publish_touched(mem::take(all_touched), moment, moment.received, changes);
            self.carry_out(Move { own, from, to, swapped }, moment, changes);
        }
        self.note_place(own, Place { id: to, swapped });
        Ok(())
    }

    /// Does what the operator orders about matches.
    pub fn order(&mut self, order: &Numbered, now: Micros, changes: &mut Vec<Change>) {
        let moment = Moment { source: None, received: now };
        for moved in self.identity.follow(order) {
            self.carry_out(moved, moment, changes);
            self.note_place(moved.own, Place { id: moved.to, swapped: moved.swapped });
        }
    }

    fn note_place(&mut self, own: Id, place: Place) {
        if place == (Place { id: own, swapped: false }) {
            self.places.remove(&own);
        } else {
            self.places.insert(own, place);
        }
    }

    /// What one provider has told of a match goes over to another, which may be new.
    fn carry_out(&mut self, moved: Move, moment: Moment, changes: &mut Vec<Change>) {
        let Move { own, from, to, swapped } = moved;
        let swapped = swapped != self.place(own).swapped;
        let now = moment.received;
        let stamp = Stamp { source: moment.source, received: now, published: now };
        let (told, others) = (self.fixture_in_place(own), self.other_member(from, own));
        let others = others.and_then(|other| self.fixture_in_place(other));
        let Some(known) = self.matches.get_mut(&from) else { return };
        let (sport, source) = (known.state.sport, known.source);
        let Some(mut part) = known.state.part(own) else { return };
        // What is told of the match now may be another member's.
        part.fixture = told.unwrap_or(part.fixture);
        known.state.fixture = others.unwrap_or_else(|| known.state.fixture.clone());
        let is_empty = known.state.is_empty();
        let mut left = Touched::default();
        if is_empty {
            self.drop_match(from, stamp, changes);
        } else {
            known.state.reconsider(moment, &self.sources, &mut left);
            for book in &part.books_left {
                self.close_book(from, *book, changes);
            }
            left.fixture = true;
            left.left = part.providers();
            self.publish_match(from, &left, moment, stamp, changes);
            self.refresh_headers(from, stamp, changes);
        }
        if !self.matches.contains_key(&to) {
            let state = Match::new(to, sport, own, part.fixture.clone(), source);
            self.put_match(to, Known { state, source });
        }
        let Some(known) = self.matches.get_mut(&to) else { return };
        let mut touched = Touched::default();
        known.state.take_in(part, swapped, moment, &self.sources, &mut touched);
        self.publish_match(to, &touched, moment, stamp, changes);
        self.refresh_headers(to, stamp, changes);
    }

    /// What a provider has told of its match, with the sides as the match has them.
    fn fixture_in_place(&self, own: Id) -> Option<Fixture> {
        let fixture = Fact::Fixture(self.identity.fixture(own)?.clone());
        let fixture = Self::in_its_order(&fixture, self.place(own).swapped);
        match self.identity.in_its_names(own, fixture).into_owned() {
            Fact::Fixture(fixture) => Some(fixture),
            _ => None,
        }
    }

    fn other_member(&self, id: Id, own: Id) -> Option<Id> {
        let members = &self.matches.get(&id)?.state.members;
        members.iter().map(|member| member.own).find(|other| *other != own)
    }

    fn drop_match(&mut self, id: Id, stamp: Stamp, changes: &mut Vec<Change>) {
        let Some(known) = self.take_match(id) else { return };
        self.close_channels(id, &known.state, stamp, changes);
    }

    /// Ends the channels of a match that is no longer there.
    pub(super) fn close_channels(
        &mut self,
        id: Id,
        state: &Match,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        self.epochs.matches.0 = self.epochs.matches.0.wrapping_add(1);
        let books = (0..state.books.len()).map(|book| Subject::Book(id, book));
        for subject in books.chain([Subject::Consensus(id), Subject::Match(id)]) {
            changes.extend(self.channels.close(subject).map(Change::Closed));
        }
        self.relay.forget(id, changes);
        self.leave_board(state, stamp, changes);
    }
}
