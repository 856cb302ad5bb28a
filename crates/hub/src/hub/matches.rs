//! The matches of the hub, each with its channels.

use std::ops::{Index, IndexMut};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::Id;
use rustc_hash::FxHashMap;

use super::{Match, feeds::SourceNumber};
use crate::channels::MatchChannels;

/// A match, its channels, and the source that introduced it.
#[derive(Debug)]
pub(super) struct MatchEntry {
    pub state: Match,
    pub channels: MatchChannels,
    pub source: SourceNumber,
    /// Whether the match waits for the next export.
    pub is_changed: bool,
}

/// All matches. Each event finds its match by one look-up of its id, and from then on by its slot.
#[derive(Debug, Default, BorshSerialize, BorshDeserialize)]
#[borsh(init = reindex)]
pub(super) struct Matches {
    #[borsh(skip)]
    slots: FxHashMap<Id, MatchSlot>,
    entries: Vec<Option<MatchEntry>>,
    vacant: Vec<MatchSlot>,
}

/// The place of a match for as long as it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(super) struct MatchSlot(usize);

impl MatchEntry {
    fn without_readers(&self) -> Self {
        let Self { state, channels, source, is_changed } = self;
        let (state, channels) = (state.clone(), channels.without_readers());
        Self { state, channels, source: *source, is_changed: *is_changed }
    }

    pub(super) fn new(state: Match, source: SourceNumber) -> Self {
        Self { state, channels: MatchChannels::default(), source, is_changed: false }
    }
}

impl Matches {
    /// Copies whose channels no reader follows.
    pub(super) fn without_readers(&self) -> Self {
        let entries = self.entries.iter();
        let entries = entries.map(|entry| entry.as_ref().map(MatchEntry::without_readers));
        Self { slots: self.slots.clone(), entries: entries.collect(), vacant: self.vacant.clone() }
    }

    /// Finds the matches again, after they were restored in their slots.
    fn reindex(&mut self) {
        let slots = self.entries.iter().enumerate();
        let slots = slots.filter_map(|(slot, it)| Some((it.as_ref()?.state.id, MatchSlot(slot))));
        self.slots = slots.collect();
    }

    /// Whether each match has a slot of its own, and the vacant slots are those without a match.
    pub(super) fn is_consistent(&self) -> bool {
        let is_vacant = |slot: &MatchSlot| self.entries.get(slot.0).is_some_and(Option::is_none);
        self.slots.len() + self.vacant.len() == self.entries.len()
            && self.vacant.iter().all(is_vacant)
    }

    pub(super) fn slot(&self, id: Id) -> Option<MatchSlot> {
        self.slots.get(&id).copied()
    }

    pub(super) fn contains(&self, id: Id) -> bool {
        self.slots.contains_key(&id)
    }

    pub(super) fn get(&self, id: Id) -> Option<&MatchEntry> {
        Some(&self[self.slot(id)?])
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut MatchEntry> {
        let slot = self.slot(id)?;
        Some(&mut self[slot])
    }

    /// Adds a match that is not there yet.
    pub(super) fn insert(&mut self, entry: MatchEntry) -> MatchSlot {
        let id = entry.state.id;
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.entries.push(None);
            MatchSlot(self.entries.len() - 1)
        });
        self.entries[slot.0] = Some(entry);
        self.slots.insert(id, slot);
        slot
    }

    pub(super) fn remove(&mut self, id: Id) -> Option<MatchEntry> {
        let slot = self.slots.remove(&id)?;
        self.vacant.push(slot);
        self.entries[slot.0].take()
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &MatchEntry> {
        self.entries.iter().flatten()
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut MatchEntry> {
        self.entries.iter_mut().flatten()
    }
}

impl Index<MatchSlot> for Matches {
    type Output = MatchEntry;

    fn index(&self, slot: MatchSlot) -> &MatchEntry {
        self.entries[slot.0].as_ref().expect("a slot is used only while its match exists")
    }
}

impl IndexMut<MatchSlot> for Matches {
    fn index_mut(&mut self, slot: MatchSlot) -> &mut MatchEntry {
        self.entries[slot.0].as_mut().expect("a slot is used only while its match exists")
    }
}

impl Index<&Id> for Matches {
    type Output = MatchEntry;

    fn index(&self, id: &Id) -> &MatchEntry {
        self.get(*id).expect("the match exists")
    }
}
