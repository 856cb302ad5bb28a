//! Capacity for matches: the limits, and which match is evicted for a new one.
//!
//! Each source has its own limit below the total, so that one with too many matches leaves capacity
//! for the others. Only ended matches are evicted; without one, new matches are refused.

use facts::event::{Event, Fact, Id};
use fanout::{Change, Micros};

use super::{
    ApplyError, Hub, MatchEntry, MatchSlot,
    feeds::SourceNumber,
    sequence::Stamp,
    state::{Life, Match, MatchDelta, Moment},
};

impl Hub {
    /// Checks whether there may be capacity for one more match of this source.
    pub(super) fn check_capacity(&self, source: SourceNumber, id: Id) -> Result<(), ApplyError> {
        let entry = &self.sources[source.0];
        if entry.matches >= self.settings.matches_max_per_source && entry.over.is_empty() {
            return Err(ApplyError::TooManyOfSource(id, entry.matches));
        }
        let has_ended_match = || self.sources.iter().any(|source| !source.over.is_empty());
        if self.matches.len() >= self.settings.matches_max && !has_ended_match() {
            return Err(ApplyError::TooManyMatches(id, self.matches.len()));
        }
        Ok(())
    }

    pub(super) fn introduce(
        &mut self,
        source: SourceNumber,
        id: Id,
        event: &Event,
        moment: Moment,
        changes: &mut Vec<Change>,
        deltas: &mut Vec<(MatchSlot, MatchDelta)>,
    ) -> Result<MatchSlot, ApplyError> {
        let Fact::Fixture(fixture) = &event.fact else { return Err(ApplyError::UnknownMatch(id)) };
        while let Some(ended) = self.match_to_evict(source, id)? {
            let now = moment.received;
            let stamp = Stamp { source: moment.source, received: now, published: now };
            let slot = self.matches.slot(ended);
            self.remove(ended, stamp, changes);
            // Drops the changes of the same batch to the evicted match.
            deltas.retain(|(other, _)| Some(*other) != slot);
        }
        let state = Match::new(id, event.sport, event.match_id, fixture.clone(), source);
        Ok(self.put_match(MatchEntry::new(state, source)))
    }

    pub(super) fn put_match(&mut self, entry: MatchEntry) -> MatchSlot {
        self.sources[entry.source.0].matches += 1;
        self.matches.insert(entry)
    }

    pub(super) fn take_match(&mut self, id: Id) -> Option<MatchEntry> {
        let entry = self.matches.remove(id)?;
        self.sources[entry.source.0].matches -= 1;
        Some(entry)
    }

    /// The match to evict before this match of a source can be added; `None` if there is capacity.
    fn match_to_evict(&mut self, source: SourceNumber, id: Id) -> Result<Option<Id>, ApplyError> {
        let count = self.sources[source.0].matches;
        if count >= self.settings.matches_max_per_source {
            let ended = self.first_ended_of(source.0);
            return ended.map(Some).ok_or(ApplyError::TooManyOfSource(id, count));
        }
        if self.matches.len() >= self.settings.matches_max {
            let ended = self.first_ended();
            return ended.map(Some).ok_or(ApplyError::TooManyMatches(id, self.matches.len()));
        }
        Ok(None)
    }

    /// The earliest ended match of the source with the most matches that has one.
    fn first_ended(&mut self) -> Option<Id> {
        let mut indexes: Vec<usize> = (0..self.sources.len()).collect();
        // The sort is stable: among equals the first source.
        indexes.sort_by_key(|index| std::cmp::Reverse(self.sources[*index].matches));
        indexes.into_iter().find_map(|index| self.first_ended_of(index))
    }

    fn first_ended_of(&mut self, index: usize) -> Option<Id> {
        while let Some((ended, id)) = self.sources[index].over.pop_front() {
            if self.is_over_since(id, ended) {
                return Some(id);
            }
        }
        None
    }

    /// Records that a match has ended, or that it continues: a market may open after all others closed.
    pub(super) fn note_end(&mut self, slot: MatchSlot, moment: Moment) {
        let MatchEntry { state, source, .. } = &mut self.matches[slot];
        match (state.ended_at, state.life()) {
            (None, Life::Ended) => {
                state.ended_at = Some(moment.best());
                self.sources[source.0].over.push_back((moment.best(), state.id));
            }
            (Some(_), Life::Prematch | Life::Live | Life::Suspended) => state.ended_at = None,
            _ => {}
        }
    }

    /// Whether a match ended at this time and has not continued since.
    fn is_over_since(&self, id: Id, ended: Micros) -> bool {
        self.matches.get(id).is_some_and(|entry| entry.state.ended_at == Some(ended))
    }

    /// Evicts matches that a source ended long ago, by the source's clock, so that a replay evicts
    /// identically, regardless of other sources.
    pub(super) fn evict_ended(
        &mut self,
        source: SourceNumber,
        at: Micros,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        while let Some((ended, id)) = self.sources[source.0].over.front().copied()
            && at - ended > self.settings.ended_keep_us
        {
            self.sources[source.0].over.pop_front();
            if self.is_over_since(id, ended) {
                self.remove(id, stamp, changes);
            }
        }
    }
}
