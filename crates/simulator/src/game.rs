//! One match as the hub receives it: announced, played, and traded by every bookmaker.

use facts::event::{
    Batch, Event, Fact, FootballFact, FootballStatus, MarketChange, Micros, OddsFact, Race,
    RaceStatus, TennisFact, TennisStatus, Timed,
};

use super::{
    board::Board,
    dice::Dice,
    football::FootballPlay,
    market::{Bet, FOOTBALL, Market, OF_PLAYERS},
    match_odds::MatchOdds,
    play::Play,
    programme::{Entry, GameKind},
    race::{self, RacePlay},
    tennis::TennisPlay,
    truth::{MatchTruth, SettledMarket},
};

#[derive(Debug)]
pub(super) struct Game {
    pub(super) entry: Entry,
    pub(super) play: Box<dyn Play>,
    /// Opens with the announcement.
    odds: Option<MatchOdds>,
    trading_dice: Dice,
}

impl Game {
    /// Play and trading draw from streams of their own, so that the one can be had without the
    /// other.
    pub(super) fn new(entry: Entry, seed: u64) -> Self {
        let analysis_dice = Dice::new(seed, ANALYSIS + entry.number);
        let play = play(&entry, Dice::new(seed, entry.number * 2), analysis_dice);
        let trading_dice = Dice::new(seed, entry.number * 2 + 1);
        Self { entry, play, odds: None, trading_dice }
    }

    /// Plays the match to its end without any trading, and says what has come of it.
    pub(super) fn truth(mut self) -> MatchTruth {
        let mut end = self.entry.start;
        while let Some(now) = self.play.due() {
            self.play.step(now);
            end = now;
        }
        let markets = self.settled(end);
        let (ending, sport) = (self.play.ending(), self.entry.sport());
        let Entry { id, competition, start, sides, .. } = self.entry;
        MatchTruth { sport, id, competition, start, sides, ending, markets }
    }

    fn settled(&self, end: Micros) -> Vec<SettledMarket> {
        let chances = self.play.chances(end);
        let settled = |(market, chance): (Market, _)| SettledMarket {
            market: (*market.id).into(),
            winners: market.winners(chance),
        };
        self.markets().into_iter().zip(chances).map(settled).collect()
    }

    fn markets(&self) -> Vec<Market> {
        if let GameKind::Race(card) = &self.entry.game {
            return vec![Market::of_race(card.runners.iter().map(|(horse, _)| horse))];
        }
        let Some(sides) = &self.entry.sides else { return Vec::new() };
        bets(&self.entry.game).iter().map(|bet| Market::new(*bet, sides)).collect()
    }

    /// Bookmakers for so many of the markets, as they take note of the match.
    pub(super) fn open_odds(&self, markets_max: usize) -> MatchOdds {
        let mut markets = self.markets();
        markets.truncate(markets_max);
        MatchOdds::open(markets, self.trading_dice.clone(), self.entry.announced)
    }

    /// The fixture, and the status before the start.
    pub(super) fn announcement(&self) -> Vec<Fact> {
        let status = match &self.entry.game {
            GameKind::Football => Fact::Football(FootballFact::Status(FootballStatus::NotStarted)),
            GameKind::Tennis(..) => Fact::Tennis(TennisFact::Status(TennisStatus::NotStarted)),
            GameKind::Scoreboard(_) => Board::new().fact(None),
            GameKind::Race(card) => {
                let runners = race::entered(card);
                Fact::Race(Race { status: RaceStatus::NotStarted, runners })
            }
        };
        let about = Fact::About(Box::new(self.entry.about()));
        vec![Fact::Fixture(self.entry.fixture()), about, status]
    }

    fn announce(&mut self) -> Timed {
        self.odds = Some(self.open_odds(usize::MAX));
        self.batch(self.entry.announced, self.announcement())
    }

    fn play_on(&mut self, now: Micros) -> Vec<Fact> {
        let step = self.play.step(now);
        let mut facts = step.facts;
        if let Some(odds) = &mut self.odds {
            facts.extend(odds.follow(step.trading, now).into_iter().map(Fact::Odds));
        }
        facts
    }

    pub(super) fn batch(&self, now: Micros, facts: Vec<Fact>) -> Timed {
        let (sport, match_id) = (self.entry.sport(), self.entry.id);
        let price_changes = facts.iter().map(price_count).sum();
        let events = facts.into_iter().map(|fact| Event { sport, match_id, fact }).collect();
        Timed { clock_us: now, batch: Batch { at: Some(now), price_changes, events } }
    }
}

/// Every batch of the match, in time order.
impl Iterator for Game {
    type Item = Timed;

    fn next(&mut self) -> Option<Timed> {
        loop {
            let Some(odds) = &mut self.odds else { return Some(self.announce()) };
            let play_due = self.play.due();
            let now = play_due.into_iter().chain(odds.due()).min()?;
            let facts = if play_due == Some(now) {
                self.play_on(now)
            } else {
                let changes = odds.act(now, &self.play.chances(now));
                changes.into_iter().map(Fact::Odds).collect()
            };
            // Most looks of a bookmaker at its prices change nothing.
            if !facts.is_empty() {
                return Some(self.batch(now, facts));
            }
        }
    }
}

/// Where the streams of chance begin that are for analysis alone: beyond those of play and trading.
const ANALYSIS: u64 = 1 << 40;

fn play(entry: &Entry, dice: Dice, analysis_dice: Dice) -> Box<dyn Play> {
    let Entry { announced, start, sides, game, .. } = entry;
    let sides = || sides.as_ref().expect("all but races have two sides");
    match game {
        GameKind::Football => {
            Box::new(FootballPlay::new(sides(), *announced, *start, dice, analysis_dice))
        }
        GameKind::Tennis(format, _) => Box::new(TennisPlay::new(sides(), *format, *start, dice)),
        GameKind::Scoreboard(game) => (game.play)(game, sides(), *start, dice),
        GameKind::Race(card) => Box::new(RacePlay::new(card, *announced, *start, dice)),
    }
}

fn bets(game: &GameKind) -> &'static [Bet] {
    match game {
        GameKind::Football => &FOOTBALL,
        GameKind::Tennis(..) => &OF_PLAYERS,
        GameKind::Scoreboard(game) => game.bets,
        GameKind::Race(_) => &[],
    }
}

fn price_count(fact: &Fact) -> u32 {
    match fact {
        Fact::Odds(OddsFact { change: MarketChange::Prices { selections, .. }, .. }) => {
            selections.len() as u32
        }
        _ => 0,
    }
}
