//! The hub: facts go in, numbered changes of channels come out.
//!
//! It owns the state of every match and the sequence of every channel. It is plain synchronous
//! state without sockets, clocks (time is passed in) or threads. `wire` renders the public
//! documents.

mod agreement;
pub mod blocks;
mod capacity;
mod export;
pub mod feeds;
mod headers;
mod health;
mod images;
mod input;
mod joining;
mod matches;
mod publishing;
pub mod rate_tiers;
#[cfg_attr(not(feature = "legacy-sockets"), path = "no_relay.rs")]
mod relay;
pub mod saved;
pub mod sequence;
mod signals;
mod source_facts;
pub mod state;

use std::{io, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::codec;
use facts::event::{Batch, Event, Id};
use fanout::{Change, Epoch, Micros};
use rustc_hash::FxHashMap;

pub use self::{
    agreement::Agreement,
    export::{Export, Unwritten},
    input::{ChannelName, HubInput},
    saved::{RestoreError, STATE_FORMAT},
    source_facts::SourceFacts,
};
use self::{
    feeds::{FeedState, Source, SourceNumber, SourcePolicy, SourceTurn},
    matches::{MatchEntry, MatchSlot, Matches},
    rate_tiers::TierTimers,
    relay::Relay,
    sequence::{Stamp, TailWindow},
    signals::SignalEngine,
    state::{LadderKind, Life, Match, MatchDelta, Moment, Origin},
};
use crate::{
    channels::{ChannelEntry, Channels, Subject},
    document::Object,
    identity::{Identity, MatchMapping, StoredDecisions},
    ids::PublicIds,
    signals::SignalSettings,
    wire,
};
use record::MatchChange;

/// Limits on what the hub holds, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct HubSettings {
    pub window: TailWindow,
    /// Maximum number of matches. Beyond it, the earliest ended match of the source with the most
    /// matches is evicted; without an ended match, new ones are refused.
    pub matches_max: usize,
    /// Maximum number of matches per source. Beyond it, the source's earliest ended match is
    /// evicted; without one, its new matches are refused.
    pub matches_max_per_source: usize,
    /// How long an ended match stays in memory, in microseconds.
    pub ended_keep_us: Micros,
    /// Silence after which clients should treat a document as stale, in milliseconds.
    pub stale_after_ms: u32,
    /// How long prices may still predate a goal, a red card or the start of a VAR check, in
    /// microseconds. Books that are not suspended themselves are suspended by the hub for this
    /// time. 0 disables it.
    pub hold_us: Micros,
}

/// The epochs in which channels begin: those of matches and boards, and `feeds` and `signals`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epochs {
    pub matches: Epoch,
    pub feeds: Epoch,
}

impl BorshSerialize for Epochs {
    fn serialize<W: io::Write>(&self, writer: &mut W) -> io::Result<()> {
        (self.matches.0, self.feeds.0).serialize(writer)
    }
}

impl BorshDeserialize for Epochs {
    fn deserialize_reader<R: io::Read>(reader: &mut R) -> io::Result<Self> {
        let (matches, feeds) = BorshDeserialize::deserialize_reader(reader)?;
        Ok(Self { matches: Epoch(matches), feeds: Epoch(feeds) })
    }
}

#[derive(Debug)]
pub struct Hub {
    settings: HubSettings,
    epochs: Epochs,
    matches: Matches,
    identity: Identity,
    ids: PublicIds,
    /// Provider matches that are mapped to another id than their own, or with swapped sides.
    mappings: FxHashMap<Id, MatchMapping>,
    sources: Vec<Source>,
    pub(crate) channels: Channels,
    /// The sources as last published; their counters advance in between.
    feeds_published: Object,
    feeds_due: Micros,
    /// The due times of rate tiers.
    tier_timers: TierTimers,
    /// Open rate tiers at the last count.
    tiers_open: usize,
    relay: Relay,
    /// The last time that was passed in.
    latest: Micros,
    /// Whether changes are noted for exports.
    makes_exports: bool,
    /// Matches that have changed since the last export, and perhaps were removed.
    changed: Vec<Id>,
    /// Matches that were removed since the last export, and their last changes.
    removed: Vec<MatchChange>,
    signals: SignalEngine,
    /// Changes of sources that nobody has taken yet. They are no part of the state.
    turns: Vec<SourceTurn>,
}

/// The fields that every document has, and some that several have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Header {
    pub life: Life,
    pub feed: FeedState,
    #[borsh(
        serialize_with = "codec::optional_word::write",
        deserialize_with = "codec::optional_word::read"
    )]
    pub status: Option<&'static str>,
    pub suspended: Option<bool>,
    pub match_seq: Option<u64>,
}

/// Why a fact of a batch was not applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    #[error("match {0} is unknown")]
    UnknownMatch(Id),
    #[error("match {0} belongs to another sport")]
    OtherSport(Id),
    #[error("match {0} exceeds the limit: {1} matches have not ended")]
    TooManyMatches(Id, usize),
    #[error("match {0} exceeds the limit of its source: {1} of its matches have not ended")]
    TooManyOfSource(Id, usize),
}

/// How often the counts of the `feeds` channel are published, in microseconds.
const FEEDS_EVERY_US: Micros = 1_000_000;

/// Values in tails of quiet channels that are replaced by their frames each time. They take the writer a millisecond at most.
const PACKED_PER_TICK: usize = 2_048;

impl Header {
    /// The header of an empty document.
    const EMPTY: Self = Self {
        life: Life::Prematch,
        feed: FeedState::Live,
        status: None,
        suspended: None,
        match_seq: None,
    };
}

impl Hub {
    #[must_use]
    pub fn new(settings: HubSettings, epochs: Epochs, identity: Identity) -> Self {
        Self {
            settings,
            epochs,
            matches: Matches::default(),
            identity,
            ids: PublicIds::default(),
            mappings: FxHashMap::default(),
            sources: Vec::new(),
            channels: Channels::default(),
            feeds_published: Object::default(),
            feeds_due: 0,
            tier_timers: TierTimers::default(),
            tiers_open: 0,
            relay: Relay::default(),
            latest: 0,
            makes_exports: true,
            changed: Vec::new(),
            removed: Vec::new(),
            signals: SignalEngine::default(),
            turns: Vec::new(),
        }
    }

    /// Uses these public ids. All facts must carry ids from it.
    #[must_use]
    pub fn with_ids(mut self, ids: PublicIds) -> Self {
        self.identity.use_ids(ids.clone());
        self.ids = ids;
        self
    }

    /// A hub of test channels, whose numbers begin after this one.
    #[must_use]
    pub(crate) fn of_tests(settings: HubSettings, epoch: Epoch, numbers: u32) -> Self {
        let epochs = Epochs { matches: epoch, feeds: epoch };
        let mut hub = Self::new(settings, epochs, Identity::new(StoredDecisions::default()));
        hub.channels = Channels::of_tests(numbers);
        hub.stop_exports();
        hub
    }

    /// The public ids that facts must carry.
    #[must_use]
    pub fn ids(&self) -> &PublicIds {
        &self.ids
    }

    /// Registers a source and returns its number, which its facts must carry.
    pub fn source(
        &mut self,
        name: Arc<str>,
        kind: &'static str,
        policy: SourcePolicy,
    ) -> SourceNumber {
        self.sources.push(Source::new(name, kind, policy));
        SourceNumber(self.sources.len() - 1)
    }

    /// How much of each channel is kept for resuming. It is no part of the state.
    pub fn set_tail_window(&mut self, window: TailWindow) {
        self.settings.window = window;
    }

    /// The epoch in which channels of matches open now.
    pub(crate) fn epoch_of_matches(&self) -> Epoch {
        self.epochs.matches
    }

    #[must_use]
    pub fn settings(&self) -> HubSettings {
        self.settings
    }

    #[must_use]
    pub fn signal_settings(&self) -> SignalSettings {
        self.signals.settings.clone()
    }

    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// All sources with their numbers, those first that the settings no longer have: a source of another kind may have
    /// the name of one of them.
    pub fn sources_by_presence(&self) -> impl Iterator<Item = (SourceNumber, &Source)> {
        let numbered =
            || self.sources.iter().enumerate().map(|(number, it)| (SourceNumber(number), it));
        let removed = numbered().filter(|(_, source)| source.is_removed());
        removed.chain(numbered().filter(|(_, source)| !source.is_removed()))
    }

    /// All matches as facts of this moment, one batch each.
    pub fn facts(&self, now: Micros) -> impl Iterator<Item = Batch> {
        let moment = Moment { source: None, received: now };
        self.matches.values().map(move |entry| {
            let state = &entry.state;
            let (sport, match_id) = (state.sport, state.id);
            let facts = state.facts(moment).into_iter();
            let events = facts.map(|fact| Event { sport, match_id, fact }).collect();
            Batch { at: Some(now), price_changes: 0, events }
        })
    }

    #[must_use]
    pub fn matches(&self) -> usize {
        self.matches.len()
    }

    /// The number of ladder levels in all books, which take most of the memory.
    #[must_use]
    pub fn rungs(&self) -> usize {
        let books = self.matches.values().flat_map(|entry| &entry.state.books);
        let selections = books.flat_map(|book| &book.markets).flat_map(|market| &market.selections);
        let ladders = selections.flat_map(|it| LadderKind::ALL.map(|kind| it.ladder(kind)));
        ladders.map(|ladder| ladder.levels().len()).sum()
    }

    /// The number of open rate tiers at the last tick.
    #[must_use]
    pub fn tiers(&self) -> usize {
        self.tiers_open
    }

    /// When [`Hub::flush_tiers`] is due next.
    #[must_use]
    pub fn tiers_due(&self) -> Option<Micros> {
        self.tier_timers.next()
    }

    /// Publishes all pending updates of rate tiers that are due.
    pub fn flush_tiers(&mut self, now: Micros, changes: &mut Vec<Change>) {
        self.flush_tiers_until(now, now, changes);
    }

    fn flush_tiers_until(&mut self, until: Micros, now: Micros, changes: &mut Vec<Change>) {
        while let Some(timer) = self.tier_timers.pop(until) {
            let (_, subject, _) = timer;
            if let Some(entry) = channel_mut(&mut self.matches, &mut self.channels, subject) {
                entry.tiers.fire(timer, until, now, &mut self.tier_timers, changes);
            }
        }
    }

    /// A channel, if it is open.
    pub(crate) fn channel(&self, subject: Subject) -> Option<&ChannelEntry> {
        match subject.match_id() {
            Some(id) => self.matches.get(id)?.channels.get(subject),
            None => self.channels.shared(subject),
        }
    }

    pub(crate) fn channel_mut(&mut self, subject: Subject) -> Option<&mut ChannelEntry> {
        channel_mut(&mut self.matches, &mut self.channels, subject)
    }

    /// The open channels of a match.
    pub(crate) fn channels_of_match(&self, id: Id) -> impl Iterator<Item = &ChannelEntry> {
        self.matches.get(id).into_iter().flat_map(|entry| entry.channels.iter())
    }

    /// All open channels.
    pub(crate) fn all_channels(&self) -> impl Iterator<Item = &ChannelEntry> {
        let of_matches = self.matches.values().flat_map(|entry| entry.channels.iter());
        of_matches.chain(self.channels.all_shared())
    }

    /// Applies all facts of one message. Returns the errors of those that could not be applied.
    pub fn apply(
        &mut self,
        source: SourceNumber,
        batch: &Batch,
        received: Micros,
        now: Micros,
        changes: &mut Vec<Change>,
    ) -> Vec<ApplyError> {
        self.latest = now;
        self.sources[source.0].message(batch.price_changes, received);
        self.recover_from_silence(source, now, changes);
        let moment = Moment { source: batch.at, received };
        // Nearly always one match. The usual first room for four is a large allocation, which makes
        // the allocator tidy up for every message.
        let mut deltas: Vec<(MatchSlot, MatchDelta)> = Vec::with_capacity(1);
        let mut errors = Vec::new();
        for event in &batch.events {
            match self.apply_event(source, event, moment, changes, &mut deltas) {
                Ok(()) => {}
                Err(error) if errors.last() == Some(&error) => {}
                Err(error) => errors.push(error),
            }
        }
        self.publish_deltas(deltas, moment, now, changes);
        let stamp = Stamp { source: batch.at, received, published: now };
        self.evict_ended(source, moment.best(), stamp, changes);
        errors
    }

    fn publish_deltas(
        &mut self,
        deltas: Vec<(MatchSlot, MatchDelta)>,
        moment: Moment,
        now: Micros,
        changes: &mut Vec<Change>,
    ) {
        let Moment { source, received } = moment;
        let stamp = Stamp { source, received, published: now };
        for (slot, mut delta) in deltas {
            self.guard(slot, moment, &mut delta);
            self.publish_match(slot, &delta, moment, stamp, changes);
        }
    }

    fn apply_event(
        &mut self,
        source: SourceNumber,
        event: &Event,
        moment: Moment,
        changes: &mut Vec<Change>,
        deltas: &mut Vec<(MatchSlot, MatchDelta)>,
    ) -> Result<(), ApplyError> {
        self.resolve_match(source, event, moment, deltas, changes)?;
        let MatchMapping { id, swapped } = self.mapping(event.match_id);
        let slot = match self.matches.slot(id) {
            Some(slot) => slot,
            None => self.introduce(source, id, event, moment, changes, deltas)?,
        };
        let index = deltas.iter().position(|(other, _)| *other == slot).unwrap_or_else(|| {
            deltas.push((slot, MatchDelta::default()));
            deltas.len() - 1
        });
        let entry = &mut self.matches[slot];
        let origin = Origin { source, local_id: event.match_id, moment, sources: &self.sources };
        let fact = Self::orient_sides(&event.fact, swapped);
        let fact = self.identity.with_public_ids(event.match_id, fact);
        if entry.state.apply(&fact, origin, &mut deltas[index].1) {
            Ok(())
        } else {
            Err(ApplyError::OtherSport(id))
        }
    }

    /// Removes a match. Its channels may be reopened under the same names and then count from 0, so
    /// channels opened from now on have another epoch.
    fn remove(&mut self, id: Id, stamp: Stamp, changes: &mut Vec<Change>) {
        self.end_signals(id, stamp, changes);
        self.export_removal(id, stamp.received);
        let Some(entry) = self.take_match(id) else { return };
        self.identity.forget(id);
        self.mappings.retain(|_, mapping| mapping.id != id);
        self.close_channels(entry, stamp, changes);
    }

    fn leave_board(&mut self, state: &Match, stamp: Stamp, changes: &mut Vec<Change>) {
        let board = Subject::Board(state.sport);
        if let Some(header) = self.channels.shared(board).map(|entry| entry.header) {
            let mut patch = Object::default();
            wire::board::gone(&mut patch, state);
            self.publish(board, header, patch, Vec::new(), stamp, changes);
        }
    }
}

/// A channel, while other parts of the hub are in use.
fn channel_mut<'a>(
    matches: &'a mut Matches,
    channels: &'a mut Channels,
    subject: Subject,
) -> Option<&'a mut ChannelEntry> {
    match subject.match_id() {
        Some(id) => matches.get_mut(id)?.channels.get_mut(subject),
        None => channels.shared_mut(subject),
    }
}
