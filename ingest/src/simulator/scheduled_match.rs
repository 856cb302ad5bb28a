//! A match on a programme: told ahead, or at once with all that has come of it.

use std::collections::BTreeMap;

use crate::event::{
    Analysis, Eid, Fact, FootballFact, Half, Id, MatchMinute, Micros, Participant, PlayerRating,
    PlayerStat, Side, Sport, Stat, TennisFact, Timed,
};

use super::{
    bookmaker::BOOKMAKERS,
    day::Entry,
    desk::Desk,
    dice::MINUTE,
    game::Game,
    play::{Step, Trading},
};

#[derive(Debug, Clone)]
pub struct Planned {
    entry: Entry,
    seed: u64,
}

impl Planned {
    pub(super) fn new(entry: Entry, seed: u64) -> Self {
        Self { entry, seed }
    }

    #[cfg(test)]
    pub(super) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The id with which it is played.
    #[must_use]
    pub fn id(&self) -> Id {
        self.entry.id
    }

    #[must_use]
    pub fn sport(&self) -> Sport {
        self.entry.sport()
    }

    #[must_use]
    pub fn start(&self) -> Micros {
        self.entry.start
    }

    /// Tells of the match ahead of its time, and with `priced` what bookmakers offer first.
    #[must_use]
    pub fn ahead(&self, now: Micros, priced: bool) -> Vec<Timed> {
        let mut entry = self.entry.clone();
        entry.announced = now;
        let game = Game::new(entry, self.seed);
        let mut told = vec![game.batch(now, game.announcement())];
        if priced {
            let mut desk = game.open_desk(usize::MAX);
            told.extend(all_open(&game, &mut desk));
        }
        told
    }

    /// The match with its result: announced, priced twice, played, settled. It is the same that is
    /// played moment by moment; of that what stands at the end is told, with all incidents.
    #[must_use]
    pub fn result(&self) -> Vec<Timed> {
        let mut game = Game::new(self.entry.clone(), self.seed);
        let mut desk = game.open_desk(1);
        let mut told = vec![game.batch(self.entry.announced, game.announcement())];
        told.extend(all_open(&game, &mut desk));
        let (mut digest, mut begun, mut end) = (Digest::default(), false, self.entry.start);
        while let Some(now) = game.play.due() {
            end = now;
            // What was true of the match until now; once it has begun nobody asks.
            let before = if begun { Vec::new() } else { game.play.chances(now) };
            let Step { facts, trading } = game.play.step(now);
            let mut at_once = digest.take(facts);
            match trading {
                Trading::Begin => {
                    begun = true;
                    at_once.extend(desk.look(&before).into_iter().map(Fact::Odds));
                    at_once.extend(desk.follow(trading, now).into_iter().map(Fact::Odds));
                }
                Trading::Halt | Trading::Resume if !begun => {
                    at_once.extend(desk.follow(trading, now).into_iter().map(Fact::Odds));
                }
                _ => {}
            }
            if !at_once.is_empty() {
                told.push(game.batch(now, at_once));
            }
            if trading == Trading::Resume && !begun {
                told.extend(all_open(&game, &mut desk));
            }
        }
        told.push(game.batch(end, digest.into_facts()));
        let settled = desk.settle(&game.play.chances(end));
        if !settled.is_empty() {
            let facts = settled.into_iter().map(Fact::Odds).collect();
            told.push(game.batch(end + MINUTE, facts));
        }
        told
    }
}

/// Every bookmaker opens.
fn all_open(game: &Game, desk: &mut Desk) -> Option<Timed> {
    let (mut facts, mut at) = (Vec::new(), None);
    for _ in &BOOKMAKERS {
        let Some(now) = desk.due() else { break };
        facts.extend(desk.act(now, &game.play.chances(now)).into_iter().map(Fact::Odds));
        at = Some(now);
    }
    at.filter(|_| !facts.is_empty()).map(|at| game.batch(at, facts))
}

/// What stands at the end of a play, without what was only true on the way.
#[derive(Debug, Default)]
struct Digest {
    /// Statuses, and of football scores and incidents.
    kept: Vec<Fact>,
    stats: BTreeMap<(Side, Stat), u32>,
    players: BTreeMap<(Side, Id), (Participant, BTreeMap<PlayerStat, u32>)>,
    /// Of each kind of analysis what was told last.
    analysis: BTreeMap<Key, Analysis>,
    halves: BTreeMap<(Half, Side), BTreeMap<Stat, u32>>,
    ratings: BTreeMap<(Side, Id), PlayerRating>,
    /// The whole scoreboard, race or score of a tennis match.
    last: Option<Fact>,
}

/// What replaces what was told before.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Shot(Eid),
    Momentum(MatchMinute),
    Positions(Side),
    ExpectedGoals(Side),
}

impl Digest {
    /// Takes facts in; those that are to be told at once come back.
    fn take(&mut self, facts: Vec<Fact>) -> Vec<Fact> {
        let mut at_once = Vec::new();
        for fact in facts {
            match fact {
                Fact::Football(FootballFact::LineUp { .. }) => at_once.push(fact),
                Fact::Football(FootballFact::Ball(_) | FootballFact::Clock { .. }) => {}
                Fact::Football(FootballFact::Stats { side, values }) => {
                    self.stats.extend(values.into_iter().map(|(stat, n)| ((side, stat), n)));
                }
                Fact::Football(FootballFact::PlayerStats { side, player, values }) => {
                    let player = self
                        .players
                        .entry((side, player.id))
                        .or_insert_with(|| (player, BTreeMap::new()));
                    player.1.extend(values);
                }
                Fact::Football(FootballFact::Analysis(told)) => self.take_analysis(told),
                Fact::Tennis(TennisFact::Point(point)) => {
                    self.last = Some(Fact::Tennis(TennisFact::Score(point.score)));
                }
                Fact::Tennis(TennisFact::Score(score) | TennisFact::Retract { score, .. }) => {
                    self.last = Some(Fact::Tennis(TennisFact::Score(score)));
                }
                Fact::Scoreboard(_) | Fact::Race(_) => self.last = Some(fact),
                Fact::Fixture(_)
                | Fact::About(_)
                | Fact::Football(_)
                | Fact::Tennis(_)
                | Fact::Odds(_) => self.kept.push(fact),
            }
        }
        at_once
    }

    fn take_analysis(&mut self, told: Analysis) {
        let key = match &told {
            Analysis::Shot(shot) => Key::Shot(shot.eid.clone()),
            Analysis::Momentum(momentum) => Key::Momentum(momentum.minute),
            Analysis::AveragePositions { side, .. } => Key::Positions(*side),
            Analysis::ExpectedGoals { side, .. } => Key::ExpectedGoals(*side),
            Analysis::HalfStats { half, side, values } => {
                self.halves.entry((*half, *side)).or_default().extend(values.iter().copied());
                return;
            }
            Analysis::Ratings { side, players } => {
                let rated = players.iter().map(|it| ((*side, it.player.id), it.clone()));
                self.ratings.extend(rated);
                return;
            }
        };
        self.analysis.insert(key, told);
    }

    fn into_facts(self) -> Vec<Fact> {
        let mut facts: Vec<Fact> = self.last.into_iter().chain(self.kept).collect();
        for side in Side::BOTH {
            let own = self.stats.iter().filter(|((whose, _), _)| *whose == side);
            let values: Vec<_> = own.map(|((_, stat), n)| (*stat, *n)).collect();
            if !values.is_empty() {
                facts.push(Fact::Football(FootballFact::Stats { side, values }));
            }
        }
        facts.extend(self.players.into_iter().map(|((side, _), (player, values))| {
            let values = values.into_iter().collect();
            Fact::Football(FootballFact::PlayerStats { side, player, values })
        }));
        let analysis = |told| Fact::Football(FootballFact::Analysis(told));
        facts.extend(self.analysis.into_values().map(analysis));
        facts.extend(self.halves.into_iter().map(|((half, side), values)| {
            let values = values.into_iter().collect();
            analysis(Analysis::HalfStats { half, side, values })
        }));
        for side in Side::BOTH {
            let own = self.ratings.iter().filter(|((whose, _), _)| *whose == side);
            let players: Vec<_> = own.map(|(_, rating)| rating.clone()).collect();
            if !players.is_empty() {
                facts.push(analysis(Analysis::Ratings { side, players }));
            }
        }
        facts
    }
}
