//! Matches as the older sockets tell them: which frame is due when, numbered for each match.
//!
//! A **line** is one match that somebody follows in that dialect. It is opened by the first question for
//! it, and there for as long as its lease is held and a little longer, so that who is cut off finds it
//! again. A match that nobody follows costs nothing but the few [`Recent`] things that a snapshot tells.
//!
//! What happens makes frames at once; what is told from time to time is found due at the hub's own tick,
//! by a look at each line. There is no timer for a match, and nothing at all for a socket.

mod catch_up;
mod legacy_channel;
mod recent;

use std::collections::BTreeMap;

use fanout::{Change, Micros};
use ingest::event::{Id, Sport};
use rustc_hash::FxHashMap;

use self::{
    legacy_channel::{Kind, Line},
    recent::Recent,
};
use super::{
    Hub, Known,
    sequence::Stamp,
    state::{Football, FootballEvent, FootballPart, Life, Moment, Play, TennisPart, Touched},
};
use crate::{
    channels::Subject,
    dialect::live::{
        Scene,
        football::{self, Time},
        odds, tennis,
    },
    document::Object,
};

/// How often it is told how a match stands, though nothing has changed.
const EVENT_EVERY_US: Micros = 30_000_000;
/// How often the time is told of a match in play of whose ball nobody tells.
const TIME_EVERY_US: Micros = 5_000_000;
/// How often at most prices are told that have changed, but for a market that opens or is suspended.
const PRICES_EVERY_US: Micros = 1_000_000;
/// For how long a match is told on when nobody follows it any more.
const LINGER_US: Micros = 60_000_000;

/// All that the older sockets are told.
#[derive(Debug, Default)]
pub(super) struct Relay {
    lines: BTreeMap<Id, Line>,
    recent: FxHashMap<Id, Recent>,
}

impl Relay {
    /// The frames of what a batch says that happened. The last of them are kept, even while nobody
    /// follows the match.
    fn happened(
        &mut self,
        scene: &Scene<'_>,
        touched: &Touched,
        at: Micros,
    ) -> Vec<(Kind, Object)> {
        if !happens(touched) {
            return Vec::new();
        }
        let recent = self.recent.entry(scene.state.id).or_default();
        let mut frames = match &scene.state.play {
            Play::Football(state) => football_frames(recent, scene, state, touched, at),
            Play::Tennis(state) => {
                let frame = tennis::score_frame(scene.state, state, at);
                frame.into_iter().map(|frame| (Kind::Score, frame)).collect()
            }
            Play::Scoreboard(_) | Play::Race(_) | Play::None => Vec::new(),
        };
        for (kind, frame) in &frames {
            match kind {
                Kind::Action | Kind::Score => recent.note(frame),
                Kind::Event | Kind::Livedata | Kind::Odds => {}
            }
        }
        if !scene.state.is_full() {
            frames.retain(|(kind, _)| *kind != Kind::Action);
        }
        frames
    }

    /// Forgets a match, and ends what is followed of it.
    pub(super) fn forget(&mut self, id: Id, changes: &mut Vec<Change>) {
        self.recent.remove(&id);
        if let Some(line) = self.lines.remove(&id) {
            changes.extend(line.into_channels().map(Change::Closed));
        }
    }
}

impl Hub {
    /// How a match is to be told at a moment. A clock whose feed is not live stands where that was so
    /// last.
    fn scene<'a>(&self, known: &'a Known, now: Micros) -> Scene<'a> {
        let teller = self.teller(known);
        let since = teller.since.filter(|_| !teller.is_live());
        let header = self.match_header(known);
        Scene { state: &known.state, header, until: since.map_or(now, |since| now.min(since)) }
    }

    /// Tells what a batch changed in one match.
    pub(super) fn relay(
        &mut self,
        id: Id,
        touched: &Touched,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        let Some(known) = self.matches.get(&id) else { return };
        let told = matches!(known.state.sport, Sport::Football | Sport::Tennis);
        let followed = self.relay.lines.contains_key(&id);
        if !told || !followed && !happens(touched) {
            return;
        }
        let scene = self.scene(known, stamp.published);
        let frames = self.relay.happened(&scene, touched, moment(stamp));
        let Some(line) = self.relay.lines.get_mut(&id) else { return };
        let now = stamp.published;
        for (kind, frame) in frames {
            line.push(kind, frame, false, now, changes);
        }
        if touched.fixture || changes_event(&scene, touched, line) {
            line.tell_event(&scene, now, changes);
        }
        let priced = !touched.books.is_empty() || !touched.replaced.is_empty();
        if priced {
            let turned = touched.books.iter().any(|book| !book.events.is_empty());
            line.prices_changed(turned);
            self.relay_prices(id, now, changes);
        }
    }

    /// Tells what time alone makes due, of every match that is followed.
    pub(super) fn relay_due(&mut self, now: Micros, changes: &mut Vec<Change>) {
        let ids: Vec<Id> = self.relay.lines.keys().copied().collect();
        for id in ids {
            let Some(known) = self.matches.get(&id) else { continue };
            let scene = self.scene(known, now);
            let Some(line) = self.relay.lines.get_mut(&id) else { continue };
            if line.is_forsaken(now, LINGER_US) {
                self.relay.lines.remove(&id);
                continue;
            }
            let turned = line.told_header != Some(scene.header);
            if turned {
                line.prices_changed(true);
            }
            if turned || line.event_due <= now && scene.goes_on() {
                line.tell_event(&scene, now, changes);
            }
            if line.time_due <= now {
                line.tell_time(&scene, now, changes);
            }
            self.relay_prices(id, now, changes);
        }
    }

    /// Lets go of frames that are older than can be resumed from.
    pub(super) fn trim_relay(&mut self, now: Micros) {
        let age_us = self.settings.window.age_us;
        self.relay.lines.values_mut().for_each(|line| line.trim(now, age_us));
    }

    /// Tells the prices of a match that have changed or are due.
    fn relay_prices(&mut self, id: Id, now: Micros, changes: &mut Vec<Change>) {
        let Some(known) = self.matches.get(&id) else { return };
        let goes_on = self.match_header(known).life != Life::Ended;
        if !self.relay.lines.get(&id).is_some_and(|line| line.has_prices_due(now, goes_on)) {
            return;
        }
        let header = self.consensus_header(known);
        let state = &known.state;
        let Some(line) = self.relay.lines.get_mut(&id) else { return };
        if line.prices.is_due(now, goes_on) {
            let told = odds::consensus(state, header);
            if let Some(otherwise) = line.prices.tell(&told, now, goes_on) {
                let reason = odds::reason(header, otherwise);
                let urgent = header.suspended == Some(true) && otherwise == CHANGED;
                let frame = odds::odds_frame(state, told, reason, now);
                line.push(Kind::Odds, frame, urgent, now, changes);
            }
        }
        line.tell_books(now, goes_on, changes, |slug| {
            let place = state.books.iter().position(|book| book.slug == *slug)?;
            let header = self.channels.get(Subject::Book(id, place))?.header;
            Some((state, &state.books[place], header))
        });
    }
}

/// Prices are told since they have changed.
const CHANGED: &str = "change";

/// The moment of a change by its source's clock, where that is near ours.
fn moment(stamp: Stamp) -> Micros {
    Moment { source: stamp.source, received: stamp.received }.anchor()
}

/// Whether anything happened that is kept for who joins later.
fn happens(touched: &Touched) -> bool {
    !touched.football_events.is_empty()
        || touched.football.contains(&FootballPart::Ball)
        || touched.tennis.contains(&TennisPart::Score)
}

/// Whether the `event` frame is to tell of it at once: of a score or a status.
fn changes_event(scene: &Scene<'_>, touched: &Touched, line: &Line) -> bool {
    let football = |part: &FootballPart| matches!(part, FootballPart::Status | FootballPart::Score);
    touched.football.iter().any(football)
        || touched.tennis.contains(&TennisPart::Status)
        || line.told_header != Some(scene.header)
}

/// The frames of what happened in a football match.
fn football_frames(
    recent: &mut Recent,
    scene: &Scene<'_>,
    state: &Football,
    touched: &Touched,
    at: Micros,
) -> Vec<(Kind, Object)> {
    let mut frames = Vec::new();
    for event in &touched.football_events {
        let frame = match *event {
            FootballEvent::Happened(place) | FootballEvent::Corrected(place, _) => {
                football::incident_action(scene.state, state, place, at, scene.until)
            }
            FootballEvent::Retracted(place) => {
                football::deleted_action(scene.state, state, place, at, scene.until)
            }
            // The `event` frame tells it.
            FootballEvent::ScoreCorrected(_) => None,
        };
        frames.extend(frame.map(|frame| (Kind::Action, frame)));
    }
    let touched_ball = touched.football.contains(&FootballPart::Ball);
    if let Some(ball) = state.ball.filter(|_| touched_ball) {
        let moved = recent.moved(at, Time::of(state, scene.until), ball);
        let livedata = football::livedata(scene.state, at, moved.time, Some(&moved));
        frames.push((Kind::Livedata, livedata));
        // Two who were counted together cannot be told apart.
        let mut shooters = touched.shooters.iter().filter(|(side, _)| *side == ball.side);
        let shooter = shooters.next().filter(|_| shooters.next().is_none());
        let shooter = shooter.map(|(_, player)| player);
        let action = football::ball_action(scene.state, state, &moved, shooter);
        frames.extend(action.map(|frame| (Kind::Action, frame)));
    }
    frames
}
