//! The inputs of the hub: all that its state and its changes depend on.
//!
//! The hub is a function of its inputs. The log stores them. The same inputs, applied to the same state, give
//! the same changes, byte for byte. Requests of readers are not inputs: they change no
//! sequence, except that they open channels of the older sockets ([`HubInput::OpenLegacy`]).

use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use facts::{
    codec,
    event::{Batch, Id},
};
use fanout::{Change, ChannelId, Micros};

use super::{
    ApplyError, Epochs, Hub, HubSettings,
    feeds::{Health, SourceNumber, SourcePolicy},
};
use crate::{identity::NumberedOrder, signals::SignalSettings};

/// An input of the hub, with the time at which it is applied. Sources send it with the time at that moment, which the writer
/// replaces.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub enum HubInput {
    /// All facts of one message of a source.
    Batch { source: SourceNumber, batch: Batch, received: Micros, now: Micros },
    /// A message of a source was refused.
    Refused { source: SourceNumber },
    /// A source has this name and kind. It gets the next number, unless it has one.
    Source {
        name: Arc<str>,
        #[borsh(serialize_with = "codec::word::write", deserialize_with = "codec::word::read")]
        kind: &'static str,
        policy: SourcePolicy,
    },
    /// The health of a source.
    Health { source: SourceNumber, health: Health, now: Micros },
    /// A source is connected and has no news.
    Alive { source: SourceNumber, received: Micros, now: Micros },
    /// A source has ended: a recording is over.
    Ended { source: SourceNumber, now: Micros },
    /// A source restarts from its beginning. Its earlier facts are void.
    Restarted { source: SourceNumber, now: Micros },
    /// An operator's order about matches.
    Order { order: NumberedOrder, now: Micros },
    /// Work that is due by time alone.
    Tick { now: Micros },
    /// Sources are late that were silent for longer than their deadlines.
    CheckFeeds { now: Micros },
    /// The clock jumped forward, in microseconds.
    ClockJumped { by: Micros, now: Micros },
    /// A match has its first follower on the older sockets, or on those the first for a bookmaker.
    OpenLegacy { channel: ChannelName, book: Option<Arc<str>>, now: Micros },
    /// A match has had no follower on the older sockets for a while.
    CloseLegacy { id: Id },
    /// The settings from now on.
    Settings { settings: HubSettings, signals: SignalSettings },
    /// All channels go on in other epochs: continuity with what was published before is not proven.
    BeginEpochs { epochs: Epochs },
}

/// The name of a channel.
pub type ChannelName = Arc<str>;

impl HubInput {
    /// The same input, applied at this time.
    pub(crate) fn at(mut self, time: Micros) -> Self {
        match &mut self {
            Self::Batch { now, .. }
            | Self::Health { now, .. }
            | Self::Alive { now, .. }
            | Self::Ended { now, .. }
            | Self::Restarted { now, .. }
            | Self::Order { now, .. }
            | Self::Tick { now }
            | Self::CheckFeeds { now }
            | Self::ClockJumped { now, .. }
            | Self::OpenLegacy { now, .. } => *now = time,
            Self::Refused { .. }
            | Self::Source { .. }
            | Self::CloseLegacy { .. }
            | Self::Settings { .. }
            | Self::BeginEpochs { .. } => {}
        }
        self
    }
}

impl Hub {
    /// Applies an input. Appends what changed, and returns the errors of facts that could not be applied.
    pub fn take(&mut self, input: &HubInput, changes: &mut Vec<Change>) -> Vec<ApplyError> {
        match input {
            HubInput::Batch { source, batch, received, now } => {
                return self.apply(*source, batch, *received, *now, changes);
            }
            HubInput::Refused { source } => self.count_refusal(*source),
            HubInput::Source { name, kind, policy } => {
                self.announce(name, kind, *policy);
            }
            HubInput::Health { source, health, now } => {
                self.set_source_health(*source, health, *now, changes);
            }
            HubInput::Alive { source, received, now } => {
                self.note_sign_of_life(*source, *received, *now, changes);
            }
            HubInput::Ended { source, now } => self.end_source(*source, *now, changes),
            HubInput::Restarted { source, now } => self.restart_source(*source, *now, changes),
            HubInput::Order { order, now } => self.apply_order(order, *now, changes),
            HubInput::Tick { now } => self.tick(*now, changes),
            HubInput::CheckFeeds { now } => self.check_feeds(*now, changes),
            HubInput::ClockJumped { by, now } => self.clock_jumped(*by, *now),
            HubInput::OpenLegacy { channel, book, now } => {
                let channel = ChannelId::new(Arc::clone(channel));
                self.open_legacy(&channel, book.as_ref(), *now);
            }
            HubInput::CloseLegacy { id } => self.close_legacy(*id),
            HubInput::Settings { settings, signals } => {
                self.set_settings(*settings, signals.clone());
            }
            HubInput::BeginEpochs { epochs } => self.begin_epochs(*epochs, changes),
        }
        Vec::new()
    }

    /// The number of the source of this name and kind, which is new or has one already.
    fn announce(&mut self, name: &Arc<str>, kind: &'static str, policy: SourcePolicy) {
        match self.source_number(name, kind) {
            Some(number) => self.sources[number.0].policy = policy,
            None => drop(self.source(Arc::clone(name), kind, policy)),
        }
    }

    /// The number of a source by its name and kind.
    #[must_use]
    pub fn source_number(&self, name: &str, kind: &str) -> Option<SourceNumber> {
        let index = self.sources.iter().position(|it| *it.name == *name && *it.kind == *kind);
        index.map(SourceNumber)
    }

    /// Applies other settings.
    pub fn set_settings(&mut self, settings: HubSettings, signals: SignalSettings) {
        // Tails are no part of the state.
        self.settings = HubSettings { window: self.settings.window, ..settings };
        self.signals.settings = signals;
    }
}
