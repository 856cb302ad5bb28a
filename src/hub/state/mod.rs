//! What is known of each match, and the rules by which facts change it.
//!
//! Every `apply` changes typed state and notes which **parts** it touched and what **happened**;
//! `wire` renders parts into patches and all parts into images. No sequence, no channel, no JSON.

mod book;
mod consensus;
mod football;
mod tennis;

use std::sync::Arc;

use fanout::Micros;
use ingest::event::{
    Fact, Fixture, FootballStatus, Id, MarketChange, OddsFact, Sport, TennisStatus,
};

pub use self::{
    book::{Book, BookEvent, BookPart, Ladder, Market, Rung, Selection, Transition},
    consensus::{
        Changed, Consensus, ConsensusKey, ConsensusMarket, ConsensusPrice, Members, Offer,
    },
    football::{Clock, Entry, Football, FootballEvent, FootballPart},
    tennis::{Ended, Tennis, TennisEvent, TennisPart, number},
};

/// One match: who plays, how it stands, and what the bookmakers say.
#[derive(Debug)]
pub struct Match {
    pub id: Id,
    pub sport: Sport,
    pub fixture: Fixture,
    pub play: Play,
    pub books: Vec<Book>,
    pub consensus: Consensus,
    /// When it was first seen to have ended.
    pub ended_at: Option<Micros>,
}

/// How the match stands, for the sports that we follow ball by ball.
#[derive(Debug)]
pub enum Play {
    Football(Football),
    Tennis(Tennis),
    /// Only odds are carried.
    None,
}

/// Where a document is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    Prematch,
    Live,
    Suspended,
    Ended,
}

impl Life {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prematch => "prematch",
            Self::Live => "live",
            Self::Suspended => "suspended",
            Self::Ended => "ended",
        }
    }
}

/// When a batch was received and when its source says that it happened.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub source: Option<Micros>,
    pub received: Micros,
}

impl Moment {
    /// The source's time where it has one, else ours.
    #[must_use]
    pub fn best(self) -> Micros {
        self.source.unwrap_or(self.received)
    }

    /// From when on a match clock is to tick. A match of another day is one that is played again:
    /// its clock ticks now, and not since that day.
    #[must_use]
    pub fn anchor(self) -> Micros {
        let recent = |at: &Micros| self.received.saturating_sub(*at) <= BEHIND_US_MAX;
        self.source.filter(recent).unwrap_or(self.received)
    }
}

/// No live source lags by a day.
const BEHIND_US_MAX: Micros = 24 * 3600 * 1_000_000;

/// What one batch changed in one match.
#[derive(Debug, Default)]
pub struct Touched {
    pub fixture: bool,
    pub football: Vec<FootballPart>,
    pub football_events: Vec<FootballEvent>,
    pub tennis: Vec<TennisPart>,
    pub tennis_events: Vec<TennisEvent>,
    /// By the book's place in [`Match::books`].
    pub books: Vec<TouchedBook>,
}

#[derive(Debug, Default)]
pub struct TouchedBook {
    pub book: usize,
    pub parts: Vec<BookPart>,
    pub events: Vec<BookEvent>,
}

impl Touched {
    fn book(&mut self, book: usize) -> &mut TouchedBook {
        let place = self.books.iter().position(|touched| touched.book == book);
        let place = place.unwrap_or_else(|| {
            self.books.push(TouchedBook { book, ..TouchedBook::default() });
            self.books.len() - 1
        });
        &mut self.books[place]
    }
}

impl Match {
    #[must_use]
    pub fn new(id: Id, sport: Sport, fixture: Fixture) -> Self {
        let play = match sport {
            Sport::Football => Play::Football(Football::default()),
            Sport::Tennis => Play::Tennis(Tennis::default()),
            _ => Play::None,
        };
        Self {
            id,
            sport,
            fixture,
            play,
            books: Vec::new(),
            consensus: Consensus::default(),
            ended_at: None,
        }
    }

    /// Applies one fact. A fact of another sport than the match's is not applied.
    pub fn apply(&mut self, fact: &Fact, moment: Moment, touched: &mut Touched) -> bool {
        match (fact, &mut self.play) {
            (Fact::Fixture(fixture), _) => {
                if self.fixture != *fixture {
                    self.fixture = fixture.clone();
                    touched.fixture = true;
                }
                true
            }
            (Fact::Football(fact), Play::Football(football)) => {
                football.apply(fact, moment, &mut touched.football, &mut touched.football_events);
                true
            }
            (Fact::Tennis(fact), Play::Tennis(tennis)) => {
                tennis.apply(fact, &mut touched.tennis, &mut touched.tennis_events);
                true
            }
            (Fact::Odds(fact), _) => {
                self.apply_odds(fact, moment, touched);
                true
            }
            (Fact::Football(_) | Fact::Tennis(_) | Fact::Scoreboard(_) | Fact::Race(_), _) => false,
        }
    }

    fn apply_odds(&mut self, fact: &OddsFact, moment: Moment, touched: &mut Touched) {
        let book = self.book(&fact.book);
        let touched = touched.book(book);
        let own = &mut self.books[book];
        let market = own.apply(fact, moment, &mut touched.parts, &mut touched.events);
        if let (Some(market), MarketChange::Define(_)) = (market, &fact.change) {
            self.consensus.note(&own.markets[market], book, market);
        }
    }

    fn book(&mut self, slug: &Arc<str>) -> usize {
        self.books.iter().position(|book| book.slug == *slug).unwrap_or_else(|| {
            self.books.push(Book::new(Arc::clone(slug)));
            self.books.len() - 1
        })
    }

    /// Where the match is in its life: told by its status, or by its markets where no feed tells
    /// the play.
    #[must_use]
    pub fn life(&self) -> Life {
        match &self.play {
            Play::Football(Football { status: Some(status), .. }) => football_life(*status),
            Play::Tennis(Tennis { status: Some(status), .. }) => tennis_life(*status),
            _ => self.odds_life(),
        }
    }

    fn odds_life(&self) -> Life {
        let lives = || self.books.iter().map(Book::life);
        if !self.books.is_empty() && lives().all(|life| life == Life::Ended) {
            Life::Ended
        } else if self.books.iter().any(Book::is_in_play) {
            Life::Live
        } else {
            Life::Prematch
        }
    }

    /// The status of a football match; `None` when it is in play and no feed tells its phase.
    #[must_use]
    pub fn football_status(&self, football: &Football) -> Option<FootballStatus> {
        football.status.or_else(|| match self.odds_life() {
            Life::Prematch => Some(FootballStatus::NotStarted),
            Life::Ended => Some(FootballStatus::Finished),
            Life::Live | Life::Suspended => None,
        })
    }

    /// The status of a tennis match, told by its markets where no feed tells the play.
    #[must_use]
    pub fn tennis_status(&self, tennis: &Tennis) -> TennisStatus {
        tennis.status.unwrap_or_else(|| match self.odds_life() {
            Life::Prematch => TennisStatus::NotStarted,
            Life::Ended => TennisStatus::Finished,
            Life::Live | Life::Suspended => TennisStatus::Live,
        })
    }
}

fn football_life(status: FootballStatus) -> Life {
    match status {
        FootballStatus::NotStarted | FootballStatus::Postponed => Life::Prematch,
        FootballStatus::FirstHalf
        | FootballStatus::HalfTime
        | FootballStatus::SecondHalf
        | FootballStatus::ExtraFirst
        | FootballStatus::ExtraHalf
        | FootballStatus::ExtraSecond
        | FootballStatus::Penalties => Life::Live,
        FootballStatus::Finished | FootballStatus::Abandoned | FootballStatus::Cancelled => {
            Life::Ended
        }
    }
}

fn tennis_life(status: TennisStatus) -> Life {
    match status {
        TennisStatus::NotStarted => Life::Prematch,
        TennisStatus::Live => Life::Live,
        TennisStatus::Interrupted => Life::Suspended,
        TennisStatus::Finished
        | TennisStatus::Retired
        | TennisStatus::Walkover
        | TennisStatus::Cancelled => Life::Ended,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECEIVED: Micros = 1_788_220_800_000_000;

    #[track_caller]
    fn anchored(source: Option<Micros>, expected: Micros) {
        assert_eq!(Moment { source, received: RECEIVED }.anchor(), expected);
    }

    #[test]
    fn clock_of_a_match_that_is_played_again_ticks_now() {
        anchored(None, RECEIVED);
        for near in [RECEIVED - BEHIND_US_MAX, RECEIVED - 2, RECEIVED + 2, Micros::MAX] {
            anchored(Some(near), near);
        }
        for far in [RECEIVED - BEHIND_US_MAX - 1, 0, Micros::MIN] {
            anchored(Some(far), RECEIVED);
        }
    }
}
