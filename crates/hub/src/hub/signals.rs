//! Publishes what [`crate::signals`] finds in the latest facts on the `signals` channel.

mod number;

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::{Id, MarketStatus, SelectionStatus, Sport};
use fanout::{Change, Micros};
use rustc_hash::FxHashMap;

use self::number::SignalNumbers;
use super::{
    Header, Hub, Match, MatchSlot,
    sequence::Stamp,
    state::{Book, ConsensusKey, FootballPart, Life, MatchDelta, Moment, Play, TennisEvent},
};
use crate::{
    channels::Subject,
    document::{Node, Object},
    signals::{
        MarketKey, Quote, QuoteState, SignalChange, SignalRecord, SignalSettings, SignalTracker,
    },
    wire,
};
use record::{EntityRef, Key};

/// The signals of all matches.
#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct SignalEngine {
    #[borsh(skip)]
    pub(super) settings: SignalSettings,
    trackers: FxHashMap<Id, TrackedMatch>,
    /// Active signals by id.
    active: BTreeMap<Key, Arc<SignalRecord>>,
    numbers: SignalNumbers,
    /// Events published so far.
    events: u64,
    /// Signals that have changed since they were last taken, in their latest state. While they are
    /// not taken, as when a demo replays its past, this is bounded by the number of signals, not of
    /// their changes.
    pub(super) changed: BTreeMap<Key, Arc<SignalRecord>>,
}

#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
struct TrackedMatch {
    tracker: SignalTracker,
    /// The lag of the source's clock behind the hub's: years for a recording.
    behind_us: Micros,
}

/// Constant, since signals only use data that can be relied on.
const HEADER: Header = Header { life: Life::Live, ..Header::EMPTY };

impl Hub {
    /// Uses these settings for signals.
    #[must_use]
    pub fn with_signals(mut self, settings: SignalSettings) -> Self {
        self.signals.settings = settings;
        self
    }

    /// Restores the ids of signals from before this run, so that recurring signals keep them.
    pub fn remember_signals(&mut self, records: &[Arc<SignalRecord>]) {
        // The newest come first.
        for record in records.iter().rev() {
            self.signals.numbers.insert(record.digest(), record.id);
        }
    }

    /// The ids of the signals that are active.
    #[must_use]
    pub fn active_signals(&self) -> BTreeSet<Key> {
        self.signals.active.keys().copied().collect()
    }

    /// Takes the signals that have begun, changed or ended since the last call, in their latest state.
    pub fn take_signals(&mut self) -> Vec<Arc<SignalRecord>> {
        mem::take(&mut self.signals.changed).into_values().collect()
    }

    /// Opens the channel before there are signals, so that clients can follow it.
    pub(super) fn open_signals(&mut self, stamp: Stamp, changes: &mut Vec<Change>) {
        if self.ensure(Subject::Signals, Sport::Other, changes) {
            let mut patch = Object::default();
            wire::set_header(&mut patch, HEADER);
            patch.object(wire::signals::Signals::signals());
            self.publish(Subject::Signals, HEADER, patch, Vec::new(), stamp, changes);
        }
    }

    /// Evaluates what a batch changed in one match.
    pub(super) fn publish_signals(
        &mut self,
        slot: MatchSlot,
        delta: &MatchDelta,
        markets: &BTreeSet<ConsensusKey>,
        moment: Moment,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        let state = &self.matches[slot].state;
        let id = state.id;
        let SignalEngine { settings, trackers, .. } = &mut self.signals;
        let at = moment.best();
        let signal_changes = if state.life() == Life::Ended {
            trackers.remove(&id).map(|mut it| it.tracker.end(at)).unwrap_or_default()
        } else {
            let tracked = trackers.entry(id).or_default();
            tracked.behind_us = moment.received - at;
            evaluate(&mut tracked.tracker, state, delta, markets, at, settings)
        };
        self.publish_signal_changes(id, signal_changes, at, stamp, changes);
    }

    /// Ends signals that expire by time alone.
    pub(super) fn expire_signals(&mut self, stamp: Stamp, changes: &mut Vec<Change>) {
        let SignalEngine { settings, trackers, .. } = &mut self.signals;
        let expired = trackers.iter_mut().map(|(id, tracked)| {
            let at = stamp.received - tracked.behind_us;
            (*id, at, tracked.tracker.expire(at, settings))
        });
        let mut expired: Vec<_> =
            expired.filter(|(.., signal_changes)| !signal_changes.is_empty()).collect();
        // The order of a hash map depends on its past, and must not reach the channel.
        expired.sort_unstable_by_key(|(id, ..)| *id);
        for (id, at, signal_changes) in expired {
            self.publish_signal_changes(id, signal_changes, at, stamp, changes);
        }
    }

    /// Ends the signals of a removed match.
    pub(super) fn end_signals(&mut self, id: Id, stamp: Stamp, changes: &mut Vec<Change>) {
        let Some(mut tracked) = self.signals.trackers.remove(&id) else { return };
        let at = stamp.received - tracked.behind_us;
        let signal_changes = tracked.tracker.end(at);
        self.publish_signal_changes(id, signal_changes, at, stamp, changes);
    }

    fn publish_signal_changes(
        &mut self,
        id: Id,
        signal_changes: Vec<SignalChange>,
        at: Micros,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        if signal_changes.is_empty() {
            return;
        }
        let state = self.matches.get(id).map(|entry| &entry.state);
        let sport = state.map_or(Sport::Other, |state| state.sport);
        let sides = state.and_then(|state| state.fixture.sides.as_ref()).map(|sides| {
            sides.each_ref().map(|it| EntityRef { id: it.id.0, name: Arc::clone(&it.name) })
        });
        self.open_signals(stamp, changes);
        let mut patch = Object::default();
        let mut events: Vec<Node> = Vec::new();
        for change in signal_changes {
            // Changed numbers alone are not an event.
            let (began, ended, signal, is_event) = match change {
                SignalChange::Began(began, signal) => (began, None, signal, true),
                SignalChange::Changed(began, signal) => (began, None, signal, false),
                SignalChange::Ended(began, signal) => (began, Some(at), signal, true),
            };
            let record = SignalRecord::new(id, sport, sides.clone(), began, signal);
            let id = self.signals.numbers.number(record.digest());
            let record = Arc::new(SignalRecord { id, updated: at, ended, ..(*record).clone() });
            wire::signals::patch(patch.object(wire::signals::Signals::signals()), &record);
            if is_event {
                self.signals.events += 1;
                events.push(wire::signals::event(&record, self.signals.events));
            }
            if ended.is_some() {
                self.signals.active.remove(&record.id);
            } else {
                self.signals.active.insert(record.id, Arc::clone(&record));
            }
            if self.makes_exports {
                self.signals.changed.insert(record.id, record);
            }
        }
        self.publish(Subject::Signals, HEADER, patch, events, stamp, changes);
    }

    /// The document of the channel: all active signals.
    pub(super) fn signals(&self, header: Header) -> Object {
        let mut image = Object::default();
        wire::set_header(&mut image, header);
        image.put(wire::DocumentHeader::stale_after_ms(), self.settings.stale_after_ms);
        let out = image.object(wire::signals::Signals::signals());
        for record in self.signals.active.values() {
            wire::signals::patch(out, record);
        }
        image
    }
}

fn evaluate(
    tracker: &mut SignalTracker,
    state: &Match,
    delta: &MatchDelta,
    markets: &BTreeSet<ConsensusKey>,
    at: Micros,
    settings: &SignalSettings,
) -> Vec<SignalChange> {
    let mut signal_changes = Vec::new();
    for key in markets {
        let ConsensusKey { kind, period, line } = key.clone();
        let quotes = quotes(state, key, settings);
        signal_changes.extend(tracker.market(
            &MarketKey { kind, period, line },
            &quotes,
            at,
            settings,
        ));
    }
    if let Play::Football(football) = &state.play
        && delta.football.contains(&FootballPart::Ball)
    {
        signal_changes.extend(football.ball.map(|ball| tracker.ball(ball, at)).unwrap_or_default());
    }
    for event in &delta.tennis_events {
        if let TennisEvent::Point { point, .. } = event {
            signal_changes.extend(tracker.point(point.winner, at));
        }
    }
    signal_changes
}

/// The quotes of all bookmakers in a market.
fn quotes(state: &Match, key: &ConsensusKey, settings: &SignalSettings) -> Vec<Quote> {
    let members = state.consensus.members(key).iter();
    let markets = members.map(|(book, market)| {
        let book = &state.books[*book];
        (book, &book.markets[*market])
    });
    let quotes = markets.flat_map(|(book, market)| {
        let market_state = market_state(book, market.status);
        let market_base_rate = market.terms.as_ref().and_then(|terms| terms.market_base_rate);
        let commission = settings.commission(&book.slug, market_base_rate);
        market.selections.iter().filter_map(move |selection| {
            let active = selection.status == SelectionStatus::Active;
            Some(Quote {
                bookmaker: Arc::clone(&book.slug),
                outcome: selection.outcome?,
                price: selection.price,
                commission,
                state: if active { market_state } else { QuoteState::Unknown },
            })
        })
    });
    quotes.collect()
}

fn market_state(book: &Book, status: MarketStatus) -> QuoteState {
    match status {
        // A suspension by the hub says nothing about the bookmaker.
        _ if book.guard.holds() => QuoteState::Unknown,
        MarketStatus::Open => QuoteState::Open,
        MarketStatus::Suspended => QuoteState::Suspended,
        MarketStatus::Inactive | MarketStatus::Closed => QuoteState::Unknown,
    }
}

#[cfg(test)]
mod tests;
