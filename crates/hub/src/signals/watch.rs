//! The active signals of one match, and their changes.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::{Ball, Side};
use fanout::Micros;

use super::{
    MarketKey, Quote, Signal, SignalKind, SignalSettings, Topic, market, momentum::MomentumTracker,
    steam::Steam,
};

/// The signals of one match.
#[derive(Debug, Default, Clone, BorshSerialize, BorshDeserialize)]
#[borsh(init = find_moving)]
pub struct SignalTracker {
    active: BTreeMap<Topic, Active>,
    steam: BTreeMap<MarketKey, Steam>,
    momentum: MomentumTracker,
    /// The markets whose prices have moved within the window: steam in the others cannot expire.
    #[borsh(skip)]
    moving: BTreeSet<MarketKey>,
}

/// The topics whose signals an evaluation replaces.
#[derive(Clone, Copy)]
enum Scope<'a> {
    Market(&'a MarketKey),
    /// Of a market.
    Steam(&'a MarketKey),
    Momentum,
    All,
}

#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
struct Active {
    began: Micros,
    signal: Signal,
}

/// A change of a signal, with the moment at which the signal began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalChange {
    Began(Micros, Signal),
    /// Still active, with other numbers.
    Changed(Micros, Signal),
    /// No longer active, with its last state.
    Ended(Micros, Signal),
}

impl SignalTracker {
    /// Finds the moving markets again, after the rest was restored.
    fn find_moving(&mut self) {
        let moving = self.steam.iter().filter(|(_, steam)| !steam.is_still());
        self.moving = moving.map(|(key, _)| key.clone()).collect();
    }

    /// Evaluates all quotes of a market after a change. Empty if the market is gone.
    pub fn market(
        &mut self,
        key: &MarketKey,
        quotes: &[Quote],
        at: Micros,
        settings: &SignalSettings,
    ) -> Vec<SignalChange> {
        let mut now = market::evaluate(key, quotes, settings);
        let steam = match self.steam.get_mut(key) {
            Some(steam) => steam,
            None => self.steam.entry(key.clone()).or_default(),
        };
        now.extend(steam.update(key, quotes, at, settings));
        if steam.is_still() {
            self.moving.remove(key);
        } else if !self.moving.contains(key) {
            self.moving.insert(key.clone());
        }
        self.replace(Scope::Market(key), now, at)
    }

    /// Ends signals that expire by time alone.
    pub fn expire(&mut self, at: Micros, settings: &SignalSettings) -> Vec<SignalChange> {
        let mut changes = Vec::new();
        let mut moving = mem::take(&mut self.moving);
        moving.retain(|key| {
            let Some(steam) = self.steam.get_mut(key) else { return false };
            let now = steam.moves(key, at, settings);
            let is_moving = !steam.is_still();
            changes.extend(self.replace(Scope::Steam(key), now, at));
            is_moving
        });
        self.moving = moving;
        changes
    }

    /// Evaluates a position of the ball.
    pub fn ball(&mut self, ball: Ball, at: Micros) -> Vec<SignalChange> {
        let now = self.momentum.ball(ball, at);
        self.replace(Scope::Momentum, now.into_iter().collect(), at)
    }

    /// Evaluates a point.
    pub fn point(&mut self, winner: Side, at: Micros) -> Vec<SignalChange> {
        let now = self.momentum.point(winner);
        self.replace(Scope::Momentum, now.into_iter().collect(), at)
    }

    /// Ends all signals: the match is over, or was removed.
    pub fn end(&mut self, at: Micros) -> Vec<SignalChange> {
        self.steam.clear();
        self.moving.clear();
        self.momentum = MomentumTracker::default();
        self.replace(Scope::All, Vec::new(), at)
    }

    /// The active signals, with the moments at which they began.
    pub fn active(&self) -> impl Iterator<Item = (Micros, &Signal)> {
        self.active.values().map(|active| (active.began, &active.signal))
    }

    /// The active topics in a scope, in their order. A market has few of those of a match.
    fn topics_in(&self, scope: Scope<'_>) -> impl Iterator<Item = &Topic> {
        let (kinds, market): (&[SignalKind], _) = match scope {
            Scope::Market(market) => (&SignalKind::ALL, Some(market)),
            Scope::Steam(market) => (&[SignalKind::Steam], Some(market)),
            Scope::Momentum => (&[SignalKind::Momentum], None),
            Scope::All => (&SignalKind::ALL, None),
        };
        kinds.iter().flat_map(move |kind| {
            let first =
                Topic { kind: *kind, market: market.cloned(), outcome: None, bookmaker: None };
            let from_there = self.active.range(first..).map(|(topic, _)| topic);
            from_there.take_while(move |topic| {
                topic.kind == *kind && (market.is_none() || topic.market.as_ref() == market)
            })
        })
    }

    /// Replaces the active signals of the topics in `scope` by `now`.
    fn replace(&mut self, scope: Scope<'_>, now: Vec<Signal>, at: Micros) -> Vec<SignalChange> {
        let mut changes = Vec::new();
        let is_over = |topic: &&Topic| !now.iter().any(|it| it.topic == **topic);
        let over: Vec<_> = self.topics_in(scope).filter(is_over).cloned().collect();
        for topic in over {
            let Some(Active { began, signal }) = self.active.remove(&topic) else { continue };
            changes.push(SignalChange::Ended(began, signal));
        }
        for signal in now {
            match self.active.get_mut(&signal.topic) {
                Some(active) if active.signal == signal => {}
                // Momentum goes from one side to the other by an end and a begin.
                Some(active) if is_of_other_side(&active.signal, &signal) => {
                    changes.push(SignalChange::Ended(active.began, active.signal.clone()));
                    *active = Active { began: at, signal: signal.clone() };
                    changes.push(SignalChange::Began(at, signal));
                }
                Some(active) => {
                    active.signal = signal.clone();
                    changes.push(SignalChange::Changed(active.began, signal));
                }
                None => {
                    let active = Active { began: at, signal: signal.clone() };
                    self.active.insert(signal.topic.clone(), active);
                    changes.push(SignalChange::Began(at, signal));
                }
            }
        }
        changes
    }
}

fn is_of_other_side(before: &Signal, now: &Signal) -> bool {
    use super::Finding::{Momentum, Steam};
    match (&before.finding, &now.finding) {
        (Momentum { side: before, .. }, Momentum { side: now, .. }) => before != now,
        (Steam { direction: before, .. }, Steam { direction: now, .. }) => before != now,
        _ => false,
    }
}
