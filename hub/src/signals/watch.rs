//! The active signals of one match, and their changes.

use std::collections::BTreeMap;

use borsh::{BorshDeserialize, BorshSerialize};
use fanout::Micros;
use ingest::event::{Ball, Side};

use super::{
    MarketKey, Quote, Signal, SignalKind, SignalSettings, Topic, market, momentum::MomentumTracker,
    steam::Steam,
};

/// The signals of one match.
#[derive(Debug, Default, BorshSerialize, BorshDeserialize)]
pub struct SignalTracker {
    active: BTreeMap<Topic, Active>,
    steam: BTreeMap<MarketKey, Steam>,
    momentum: MomentumTracker,
}

#[derive(Debug, BorshSerialize, BorshDeserialize)]
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
        self.replace(|topic| topic.market.as_ref() == Some(key), now, at)
    }

    /// Ends signals that expire by time alone.
    pub fn expire(&mut self, at: Micros, settings: &SignalSettings) -> Vec<SignalChange> {
        let mut changes = Vec::new();
        let moving: Vec<_> = self.steam.iter().filter(|(_, steam)| !steam.is_still()).collect();
        let moving: Vec<_> = moving.into_iter().map(|(key, _)| key.clone()).collect();
        for key in moving {
            let Some(steam) = self.steam.get_mut(&key) else { continue };
            let now = steam.moves(&key, at, settings);
            let is_steam = |topic: &Topic| {
                topic.kind == SignalKind::Steam && topic.market.as_ref() == Some(&key)
            };
            changes.extend(self.replace(is_steam, now, at));
        }
        changes
    }

    /// Evaluates a position of the ball.
    pub fn ball(&mut self, ball: Ball, at: Micros) -> Vec<SignalChange> {
        let now = self.momentum.ball(ball, at);
        self.replace(|topic| topic.kind == SignalKind::Momentum, now.into_iter().collect(), at)
    }

    /// Evaluates a point.
    pub fn point(&mut self, winner: Side, at: Micros) -> Vec<SignalChange> {
        let now = self.momentum.point(winner);
        self.replace(|topic| topic.kind == SignalKind::Momentum, now.into_iter().collect(), at)
    }

    /// Ends all signals: the match is over, or was removed.
    pub fn end(&mut self, at: Micros) -> Vec<SignalChange> {
        self.steam.clear();
        self.momentum = MomentumTracker::default();
        self.replace(|_| true, Vec::new(), at)
    }

    /// The active signals, with the moments at which they began.
    pub fn active(&self) -> impl Iterator<Item = (Micros, &Signal)> {
        self.active.values().map(|active| (active.began, &active.signal))
    }

    /// Replaces the active signals of the topics in `scope` by `now`.
    fn replace(
        &mut self,
        scope: impl Fn(&Topic) -> bool,
        now: Vec<Signal>,
        at: Micros,
    ) -> Vec<SignalChange> {
        let mut changes = Vec::new();
        let is_over = |topic: &Topic| scope(topic) && !now.iter().any(|it| it.topic == *topic);
        let over: Vec<_> = self.active.keys().filter(|topic| is_over(topic)).cloned().collect();
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
