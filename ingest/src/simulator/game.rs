//! One match as the hub hears of it: announced, played, and traded by every bookmaker.

use crate::event::{
    Batch, Event, Fact, FootballFact, FootballStatus, MarketChange, Micros, OddsFact, TennisFact,
    TennisStatus, Timed,
};

use super::{
    day::{Entry, GameKind},
    desk::Desk,
    dice::Dice,
    football::FootballPlay,
    market::{Bet, FOOTBALL, Market, TENNIS},
    play::Play,
    tennis::TennisPlay,
    truth::{MatchTruth, Settled},
};

#[derive(Debug)]
pub(super) struct Game {
    entry: Entry,
    play: Box<dyn Play>,
    /// Opens with the announcement.
    desk: Option<Desk>,
    trading_dice: Dice,
}

impl Game {
    /// Play and trading draw from streams of their own, so that the one can be had without the
    /// other.
    pub(super) fn new(entry: Entry, seed: u64) -> Self {
        let dice = Dice::new(seed, entry.number * 2);
        let play: Box<dyn Play> = match entry.game {
            GameKind::Football => Box::new(FootballPlay::new(&entry.sides, entry.start, dice)),
            GameKind::Tennis(format) => {
                Box::new(TennisPlay::new(&entry.sides, format, entry.start, dice))
            }
        };
        let trading_dice = Dice::new(seed, entry.number * 2 + 1);
        Self { entry, play, desk: None, trading_dice }
    }

    /// Plays the match to its end without any trading, and says what has come of it.
    pub(super) fn truth(mut self) -> MatchTruth {
        let mut end = self.entry.start;
        while let Some(now) = self.play.due() {
            self.play.step(now);
            end = now;
        }
        let markets = self.settled(end);
        let ending = self.play.ending();
        let Entry { id, competition, start, sides, .. } = self.entry;
        MatchTruth { id, competition, start, sides, ending, markets }
    }

    fn settled(&self, end: Micros) -> Vec<Settled> {
        let chances = self.play.chances(end);
        let settled = |(bet, chance): (&Bet, _)| Settled {
            market: bet.id().into(),
            winner: bet.winner(chance),
        };
        bets(self.entry.game).iter().zip(chances).map(settled).collect()
    }

    fn announce(&mut self) -> Timed {
        let now = self.entry.announced;
        let markets = bets(self.entry.game).iter().map(|bet| Market::new(*bet, &self.entry.sides));
        self.desk = Some(Desk::open(markets.collect(), self.trading_dice.clone(), now));
        let status = match self.entry.game {
            GameKind::Football => Fact::Football(FootballFact::Status(FootballStatus::NotStarted)),
            GameKind::Tennis(_) => Fact::Tennis(TennisFact::Status(TennisStatus::NotStarted)),
        };
        self.batch(now, vec![Fact::Fixture(self.entry.fixture()), status])
    }

    fn play_on(&mut self, now: Micros) -> Vec<Fact> {
        let step = self.play.step(now);
        let mut facts = step.facts;
        if let Some(desk) = &mut self.desk {
            facts.extend(desk.follow(step.trading, now).into_iter().map(Fact::Odds));
        }
        facts
    }

    fn batch(&self, now: Micros, facts: Vec<Fact>) -> Timed {
        let (sport, match_id) = (self.entry.sport(), self.entry.id);
        let price_changes = facts.iter().map(prices_told).sum();
        let events = facts.into_iter().map(|fact| Event { sport, match_id, fact }).collect();
        Timed { clock_us: now, batch: Batch { at: Some(now), price_changes, events } }
    }
}

/// Every batch of the match, in time order.
impl Iterator for Game {
    type Item = Timed;

    fn next(&mut self) -> Option<Timed> {
        loop {
            let Some(desk) = &mut self.desk else { return Some(self.announce()) };
            let play_due = self.play.due();
            let now = play_due.into_iter().chain(desk.due()).min()?;
            let facts = if play_due == Some(now) {
                self.play_on(now)
            } else {
                let told = desk.act(now, &self.play.chances(now));
                told.into_iter().map(Fact::Odds).collect()
            };
            // Most looks of a bookmaker at its prices change nothing.
            if !facts.is_empty() {
                return Some(self.batch(now, facts));
            }
        }
    }
}

fn bets(game: GameKind) -> &'static [Bet] {
    match game {
        GameKind::Football => &FOOTBALL,
        GameKind::Tennis(_) => &TENNIS,
    }
}

fn prices_told(fact: &Fact) -> u32 {
    match fact {
        Fact::Odds(OddsFact { change: MarketChange::Prices { selections, .. }, .. }) => {
            selections.len() as u32
        }
        _ => 0,
    }
}
