//! A scheduled match: announced in advance, or reported at once with its result.

use std::collections::BTreeMap;

use facts::{
    event::{
        Analysis, Eid, Event, Fact, FootballFact, Half, Id, MatchMinute, Micros, Participant,
        PlayerRating, PlayerStat, Side, Sport, Stat, TennisFact, Timed,
    },
    football::Period,
};

use super::{
    bookmaker::BOOKMAKERS,
    dice::MINUTE,
    game::Game,
    match_odds::MatchOdds,
    play::{PlayStep, Trading},
    programme::Entry,
};

/// Bookmakers that offer prices long before a match, and of which those of a match long ago are known.
const FEW_BOOKMAKERS: usize = 3;

#[derive(Debug, Clone)]
pub struct ScheduledMatch {
    entry: Entry,
    seed: u64,
}

impl ScheduledMatch {
    pub(super) fn new(entry: Entry, seed: u64) -> Self {
        Self { entry, seed }
    }

    #[cfg(test)]
    pub(super) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The id of the match.
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

    /// Announces the match in advance, with `priced` including the first offers of some bookmakers.
    #[must_use]
    pub fn ahead(&self, now: Micros, priced: bool) -> Vec<Timed> {
        let mut entry = self.entry.clone();
        entry.announced = now;
        let game = Game::new(entry, self.seed);
        let mut batches = vec![game.batch(now, game.announcement())];
        if priced {
            let mut odds = game.open_odds(usize::MAX);
            batches.extend(all_open(&game, &mut odds));
        }
        only(batches, quoted_by(FEW_BOOKMAKERS))
    }

    /// The match as it is played, announced so long before its start, with the prices of the first so many
    /// bookmakers.
    pub fn played(&self, notice: Micros, bookmakers_max: usize) -> impl Iterator<Item = Timed> {
        let mut entry = self.entry.clone();
        entry.announced = entry.start - notice;
        let is_quoted = quoted_by(bookmakers_max);
        Game::new(entry, self.seed).filter_map(move |mut timed| {
            timed.batch.events.retain(&is_quoted);
            (!timed.batch.events.is_empty()).then_some(timed)
        })
    }

    /// The match with its result: announced, priced twice, played, settled. It is the same match
    /// that is played moment by moment; only its final state is reported, with all incidents. Unless it is `detailed`,
    /// what was counted of players and the prices of most bookmakers are left out.
    #[must_use]
    pub fn result(&self, detailed: bool) -> Vec<Timed> {
        let mut game = Game::new(self.entry.clone(), self.seed);
        let mut odds = game.open_odds(1);
        let mut batches = vec![game.batch(self.entry.announced, game.announcement())];
        batches.extend(all_open(&game, &mut odds));
        let (mut digest, mut begun, mut end) = (FactDigest::default(), false, self.entry.start);
        while let Some(now) = game.play.due() {
            end = now;
            // The chances until now; they are not needed once the match has begun.
            let before = if begun { Vec::new() } else { game.play.chances(now) };
            let PlayStep { facts, trading } = game.play.step(now);
            let mut at_once = digest.take(now, facts);
            match trading {
                Trading::Begin => {
                    begun = true;
                    at_once.extend(odds.look(&before).into_iter().map(Fact::Odds));
                    at_once.extend(odds.follow(trading, now).into_iter().map(Fact::Odds));
                }
                Trading::Halt | Trading::Resume if !begun => {
                    at_once.extend(odds.follow(trading, now).into_iter().map(Fact::Odds));
                }
                _ => {}
            }
            if !at_once.is_empty() {
                batches.push(game.batch(now, at_once));
            }
            if trading == Trading::Resume && !begun {
                batches.extend(all_open(&game, &mut odds));
            }
        }
        batches.push(game.batch(end, digest.into_facts()));
        let settled = odds.settle(&game.play.chances(end));
        if !settled.is_empty() {
            let facts = settled.into_iter().map(Fact::Odds).collect();
            batches.push(game.batch(end + MINUTE, facts));
        }
        let quoted = quoted_by(FEW_BOOKMAKERS);
        only(batches, |event| detailed || (!is_detail(&event.fact) && quoted(event)))
    }
}

/// The batches with these events alone.
fn only(mut batches: Vec<Timed>, wanted: impl Fn(&Event) -> bool) -> Vec<Timed> {
    batches.iter_mut().for_each(|timed| timed.batch.events.retain(&wanted));
    batches.retain(|timed| !timed.batch.events.is_empty());
    batches
}

/// What only some feeds report, and what makes a record large.
fn is_detail(fact: &Fact) -> bool {
    matches!(fact, Fact::Football(FootballFact::PlayerStats { .. }))
}

/// Whether a fact is of play, or a price of the first so many bookmakers.
pub(super) fn quoted_by(bookmakers_max: usize) -> impl Fn(&Event) -> bool {
    let books: Vec<_> = BOOKMAKERS.iter().take(bookmakers_max).map(|it| it.slug).collect();
    move |event| match &event.fact {
        Fact::Odds(odds) => books.contains(&&*odds.book),
        _ => true,
    }
}

/// Every bookmaker opens.
fn all_open(game: &Game, odds: &mut MatchOdds) -> Option<Timed> {
    let (mut facts, mut at) = (Vec::new(), None);
    for _ in &BOOKMAKERS {
        let Some(now) = odds.due() else { break };
        facts.extend(odds.act(now, &game.play.chances(now)).into_iter().map(Fact::Odds));
        at = Some(now);
    }
    at.filter(|_| !facts.is_empty()).map(|at| game.batch(at, facts))
}

/// What is true at the end of a play, without what was only true on the way.
#[derive(Debug, Default)]
struct FactDigest {
    /// Statuses, and of football scores and incidents.
    retained: Vec<Fact>,
    stats: BTreeMap<(Side, Stat), u32>,
    players: BTreeMap<(Side, Id), (Participant, BTreeMap<PlayerStat, u32>)>,
    /// The last report of each kind of analysis.
    analysis: BTreeMap<Key, Analysis>,
    halves: BTreeMap<(Half, Side), BTreeMap<Stat, u32>>,
    ratings: BTreeMap<(Side, Id), PlayerRating>,
    /// The whole scoreboard, race or score of a tennis match.
    last: Option<Fact>,
}

/// Which earlier report a new one replaces.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Shot(Eid),
    Momentum(MatchMinute),
    Positions(Side),
    ExpectedGoals(Side),
}

impl FactDigest {
    /// Collects facts of a moment, and returns those that must be reported at once.
    fn take(&mut self, now: Micros, facts: Vec<Fact>) -> Vec<Fact> {
        let mut at_once = Vec::new();
        for fact in facts {
            match fact {
                Fact::Football(FootballFact::LineUp { .. }) => at_once.push(fact),
                Fact::Football(FootballFact::Status(status)) => {
                    // All statuses are reported at the end, which is not when they began.
                    let start = Period::played_in(status)
                        .map(|period| FootballFact::PeriodStart { period, at: now });
                    self.retained.extend(start.map(Fact::Football));
                    self.retained.push(fact);
                }
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
                Fact::Football(FootballFact::Analysis(analysis)) => self.take_analysis(analysis),
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
                | Fact::Odds(_) => self.retained.push(fact),
            }
        }
        at_once
    }

    fn take_analysis(&mut self, analysis: Analysis) {
        let key = match &analysis {
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
        self.analysis.insert(key, analysis);
    }

    fn into_facts(self) -> Vec<Fact> {
        let mut facts: Vec<Fact> = self.last.into_iter().chain(self.retained).collect();
        for side in Side::BOTH {
            let of_side = self.stats.iter().filter(|((whose, _), _)| *whose == side);
            let values: Vec<_> = of_side.map(|((_, stat), n)| (*stat, *n)).collect();
            if !values.is_empty() {
                facts.push(Fact::Football(FootballFact::Stats { side, values }));
            }
        }
        facts.extend(self.players.into_iter().map(|((side, _), (player, values))| {
            let values = values.into_iter().collect();
            Fact::Football(FootballFact::PlayerStats { side, player, values })
        }));
        let analysis = |it| Fact::Football(FootballFact::Analysis(it));
        facts.extend(self.analysis.into_values().map(analysis));
        facts.extend(self.halves.into_iter().map(|((half, side), values)| {
            let values = values.into_iter().collect();
            analysis(Analysis::HalfStats { half, side, values })
        }));
        for side in Side::BOTH {
            let of_side = self.ratings.iter().filter(|((whose, _), _)| *whose == side);
            let players: Vec<_> = of_side.map(|(_, rating)| rating.clone()).collect();
            if !players.is_empty() {
                facts.push(analysis(Analysis::Ratings { side, players }));
            }
        }
        facts
    }
}
