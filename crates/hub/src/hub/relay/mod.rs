//! Matches in the dialect of the older sockets: which frame is due when, numbered per match.
//!
//! A [`LegacyChannel`] is one match with followers in that dialect. It is opened by the first
//! request for it, and exists while its lease is held and a little longer, so that a reader that
//! was cut off finds it again. A match without followers only costs the few [`RecentFrames`] of a
//! snapshot.
//!
//! Events are sent at once; periodic frames are found due at the hub's tick, by checking each
//! channel. There is no timer per match, and no state per socket.

mod catch_up;
mod legacy_channel;
mod recent;

use std::{collections::BTreeMap, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::{Id, Sport};
use fanout::{Change, ChannelId, Micros};
use rustc_hash::FxHashMap;

use self::{
    legacy_channel::{FrameKind, LegacyChannel},
    recent::RecentFrames,
};
use super::{
    ChannelName, Hub, MatchEntry, MatchSlot,
    sequence::Stamp,
    state::{Football, FootballEvent, FootballPart, Life, MatchDelta, Moment, Play, TennisPart},
};
use crate::{
    channels::Subject,
    dialect::live::{
        MatchScene,
        football::{self, MatchTime},
        odds, tennis,
    },
    document::Object,
    forward::LegacyUse,
};

/// The interval of `event` frames without changes.
const EVENT_EVERY_US: Micros = 30_000_000;
/// The interval of time frames of a match in play without ball positions.
const TIME_EVERY_US: Micros = 5_000_000;
/// The minimum interval of price frames, except when a market opens or is suspended.
const PRICES_EVERY_US: Micros = 1_000_000;
/// How long a channel outlives its last follower.
const LINGER_US: Micros = 60_000_000;

/// The channels of the older sockets.
#[derive(Debug, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Relay {
    channels: BTreeMap<Id, LegacyChannel>,
    recent: FxHashMap<Id, RecentFrames>,
}

impl Relay {
    /// A copy that no reader follows.
    pub(super) fn without_readers(&self) -> Self {
        let channels = self.channels.iter();
        let channels = channels.map(|(id, channel)| (*id, channel.without_readers()));
        Self { channels: channels.collect(), recent: self.recent.clone() }
    }

    /// Renders the events of a batch as frames. The latest are stored even without followers.
    fn happened(
        &mut self,
        scene: &MatchScene<'_>,
        delta: &MatchDelta,
        at: Micros,
    ) -> Vec<(FrameKind, Object)> {
        if !happens(delta) {
            return Vec::new();
        }
        let recent = self.recent.entry(scene.state.id).or_default();
        let mut frames = match &scene.state.play {
            Play::Football(state) => football_frames(recent, scene, state, delta, at),
            Play::Tennis(state) => {
                let frame = tennis::score_frame(scene.state, state, at);
                frame.into_iter().map(|frame| (FrameKind::Score, frame)).collect()
            }
            Play::Scoreboard(_) | Play::Race(_) | Play::None => Vec::new(),
        };
        for (kind, frame) in &frames {
            match kind {
                FrameKind::Action | FrameKind::Score => recent.note(frame),
                FrameKind::Event | FrameKind::Livedata | FrameKind::Odds => {}
            }
        }
        if !scene.state.is_full() {
            frames.retain(|(kind, _)| *kind != FrameKind::Action);
        }
        frames
    }

    /// Drops all channels, but not what happened in the matches.
    pub(super) fn drop_channels(&mut self) {
        self.channels.clear();
    }

    /// Drops a match and closes its channels.
    pub(super) fn forget(&mut self, id: Id, changes: &mut Vec<Change>) {
        self.recent.remove(&id);
        if let Some(legacy) = self.channels.remove(&id) {
            changes.extend(legacy.into_channels().map(Change::Closed));
        }
    }
}

impl Hub {
    /// The state of a match to render at a moment. If the feed is not live, the clock stands at the
    /// time when it last was.
    fn scene<'a>(&self, entry: &'a MatchEntry, now: Micros) -> MatchScene<'a> {
        let main_source = self.main_source(entry);
        let since = main_source.since.filter(|_| !main_source.is_live());
        let header = self.match_header(entry);
        MatchScene { state: &entry.state, header, until: since.map_or(now, |since| now.min(since)) }
    }

    /// Sends what a batch changed in one match.
    pub(super) fn relay(
        &mut self,
        slot: MatchSlot,
        delta: &MatchDelta,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        let entry = &self.matches[slot];
        let id = entry.state.id;
        let is_relayed = matches!(entry.state.sport, Sport::Football | Sport::Tennis);
        let followed = self.relay.channels.contains_key(&id);
        if !is_relayed || !followed && !happens(delta) {
            return;
        }
        let scene = self.scene(entry, stamp.published);
        let frames = self.relay.happened(&scene, delta, moment(stamp));
        let Some(legacy) = self.relay.channels.get_mut(&id) else { return };
        let now = stamp.published;
        for (kind, frame) in frames {
            legacy.push(kind, frame, false, now, changes);
        }
        if delta.fixture || changes_event(&scene, delta, legacy) {
            legacy.send_event(&scene, now, changes);
        }
        let priced = !delta.books.is_empty() || !delta.replaced.is_empty();
        if priced {
            let status_changed = delta.books.iter().any(|book| !book.events.is_empty());
            legacy.prices_changed(status_changed);
            self.relay_prices(id, now, changes);
        }
    }

    /// The matches that have had no follower for a while. Who follows is not part of the state, so they
    /// are closed by an input.
    pub fn idle_legacy(&mut self, now: Micros) -> Vec<Id> {
        let channels = self.relay.channels.iter_mut();
        let idle =
            channels.filter_map(|(id, legacy)| legacy.is_idle(now, LINGER_US).then_some(*id));
        idle.collect()
    }

    /// The channels with followers of this process, with each bookmaker that they follow too.
    pub(crate) fn legacy_in_use(&self) -> Vec<LegacyUse> {
        let used = self.relay.channels.values().filter(|legacy| legacy.is_followed());
        let uses = used.flat_map(|legacy| {
            let channel: ChannelName = legacy.channel.name.as_str().into();
            let books = legacy.followed_books().map(|slug| Some(Arc::clone(slug)));
            let uses = [None].into_iter().chain(books);
            uses.map(move |book| LegacyUse { channel: Arc::clone(&channel), book })
        });
        uses.collect()
    }

    /// The channel has followers on another node.
    pub(crate) fn keep_legacy(&mut self, channel: &ChannelId, now: Micros) {
        if let Some(id) = self.relayed_match(channel.as_str())
            && let Some(legacy) = self.relay.channels.get_mut(&id)
        {
            legacy.keep(now);
        }
    }

    /// Whether the channel has followers of this process; `None` if it is not open.
    pub(crate) fn legacy_is_followed(&self, channel: &ChannelId) -> Option<bool> {
        let legacy = self.relay.channels.get(&self.relayed_match(channel.as_str())?)?;
        Some(legacy.is_followed())
    }

    /// Nobody could tell this hub so far which channels have followers elsewhere.
    pub(crate) fn forget_idle_times(&mut self) {
        self.relay.channels.values_mut().for_each(LegacyChannel::forget_idle_time);
    }

    pub(super) fn close_legacy(&mut self, id: Id) {
        self.relay.channels.remove(&id);
    }

    /// Sends the periodic frames that are due, of every match with followers.
    pub(super) fn relay_due(&mut self, now: Micros, changes: &mut Vec<Change>) {
        let ids: Vec<Id> = self.relay.channels.keys().copied().collect();
        for id in ids {
            let Some(entry) = self.matches.get(id) else { continue };
            let scene = self.scene(entry, now);
            let Some(legacy) = self.relay.channels.get_mut(&id) else { continue };
            let status_changed = legacy.sent_header != Some(scene.header);
            if status_changed {
                legacy.prices_changed(true);
            }
            if status_changed || legacy.event_due <= now && scene.goes_on() {
                legacy.send_event(&scene, now, changes);
            }
            if legacy.time_due <= now {
                legacy.send_time(&scene, now, changes);
            }
            self.relay_prices(id, now, changes);
        }
    }

    /// Drops frames that are too old to resume from.
    pub(super) fn trim_relay(&mut self, now: Micros) {
        let age_us = self.settings.window.age_us;
        self.relay.channels.values_mut().for_each(|legacy| legacy.trim(now, age_us));
    }

    /// Sends the prices of a match that have changed or are due.
    fn relay_prices(&mut self, id: Id, now: Micros, changes: &mut Vec<Change>) {
        let Some(entry) = self.matches.get(id) else { return };
        let goes_on = self.match_header(entry).life != Life::Ended;
        if !self.relay.channels.get(&id).is_some_and(|legacy| legacy.has_prices_due(now, goes_on)) {
            return;
        }
        let header = self.consensus_header(entry);
        let state = &entry.state;
        let Some(legacy) = self.relay.channels.get_mut(&id) else { return };
        if legacy.prices.is_due(now, goes_on) {
            let prices = odds::consensus(state, header);
            if let Some(otherwise) = legacy.prices.due_reason(&prices, now, goes_on) {
                let reason = odds::reason(header, otherwise);
                let urgent = header.suspended == Some(true) && otherwise == CHANGED;
                let frame = odds::odds_frame(state, prices, reason, now);
                legacy.push(FrameKind::Odds, frame, urgent, now, changes);
            }
        }
        legacy.send_book_prices(now, goes_on, changes, |slug| {
            let index = state.books.iter().position(|book| book.slug == *slug)?;
            let header = entry.channels.get(Subject::Book(id, index))?.header;
            Some((state, &state.books[index], header))
        });
    }
}

/// The reason of a price frame after a change.
const CHANGED: &str = "change";

/// The moment of a change by its source's clock, where that is near ours.
fn moment(stamp: Stamp) -> Micros {
    Moment { source: stamp.source, received: stamp.received }.anchor()
}

/// Whether anything happened that is stored for later readers.
fn happens(delta: &MatchDelta) -> bool {
    !delta.football_events.is_empty()
        || delta.football.contains(&FootballPart::Ball)
        || delta.tennis.contains(&TennisPart::Score)
}

/// Whether an `event` frame is due at once: after a change of score or status.
fn changes_event(scene: &MatchScene<'_>, delta: &MatchDelta, legacy: &LegacyChannel) -> bool {
    let football = |part: &FootballPart| matches!(part, FootballPart::Status | FootballPart::Score);
    delta.football.iter().any(football)
        || delta.tennis.contains(&TennisPart::Status)
        || legacy.sent_header != Some(scene.header)
}

/// The frames of what happened in a football match.
fn football_frames(
    recent: &mut RecentFrames,
    scene: &MatchScene<'_>,
    state: &Football,
    delta: &MatchDelta,
    at: Micros,
) -> Vec<(FrameKind, Object)> {
    let mut frames = Vec::new();
    for event in &delta.football_events {
        let frame = match *event {
            FootballEvent::Happened(index) | FootballEvent::Corrected(index, _) => {
                football::incident_action(scene.state, state, index, at, scene.until)
            }
            FootballEvent::Retracted(index) => {
                football::deleted_action(scene.state, state, index, at, scene.until)
            }
            // Sent with the `event` frame.
            FootballEvent::ScoreCorrected(_) => None,
        };
        frames.extend(frame.map(|frame| (FrameKind::Action, frame)));
    }
    let touched_ball = delta.football.contains(&FootballPart::Ball);
    if let Some(ball) = state.ball.filter(|_| touched_ball) {
        let moved = recent.moved(at, MatchTime::new(state, scene.until), ball);
        let livedata = football::livedata(scene.state, at, moved.time, Some(&moved));
        frames.push((FrameKind::Livedata, livedata));
        // If two players' counts increased together, the shooter is ambiguous.
        let mut shooters = delta.shooters.iter().filter(|(side, _)| *side == ball.side);
        let shooter = shooters.next().filter(|_| shooters.next().is_none());
        let shooter = shooter.map(|(_, player)| player);
        let action = football::ball_action(scene.state, state, &moved, shooter);
        frames.extend(action.map(|frame| (FrameKind::Action, frame)));
    }
    frames
}
