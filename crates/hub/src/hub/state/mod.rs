//! The state of each match, and the rules by which facts change it.
//!
//! Every `apply` changes typed state and records which **parts** it changed and which **events**
//! happened; `wire` renders parts into patches and all parts into images. This module knows no
//! sequences, channels or JSON.

mod agreement;
mod analysis;
mod book;
mod consensus;
mod contribution;
mod coverage;
mod export_marks;
mod football;
mod goals;
mod guard;
mod holding;
mod market;
mod match_facts;
mod merge;
mod primary;
mod race;
mod scoreboard;
mod tennis;

use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::{
    About, Fact, Fixture, FootballFact, FootballStatus, Id, Participant, PlayKind, RaceStatus,
    ScoreboardStatus, Side, Sport, TennisFact, TennisStatus,
};
use fanout::Micros;

use self::merge::IncidentNames;
use super::feeds::{FactKind, SourceNumber};

pub use self::{
    analysis::MatchAnalysis,
    book::{Book, BookEvent, BookPart},
    consensus::{
        Consensus, ConsensusChange, ConsensusEntry, ConsensusKey, ConsensusMarket, ConsensusOffer,
        ConsensusPrice,
    },
    contribution::{MatchMember, ProviderContribution},
    export_marks::ExportMarks,
    football::{Football, FootballEvent, FootballPart, IncidentEntry, MatchClock, PlayerTally},
    guard::{Guard, GuardChange, HoldReason},
    market::{Ladder, LadderKind, Market, Selection, SelectionExtras, Transition},
    merge::Origin,
    primary::{PrimarySources, SourceView},
    race::{RaceEvent, RacePart, Racing},
    scoreboard::{ScoreboardEvent, ScoreboardPart, Scores},
    tennis::{PlayedPoint, PointEndings, Tennis, TennisEvent, TennisPart, number},
};

/// One match: its fixture, its state of play, and the bookmakers' books.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct Match {
    pub id: Id,
    pub sport: Sport,
    pub fixture: Fixture,
    /// Particulars such as venue, referee and round, as far as a feed reports them.
    pub about: About,
    /// The provider matches that it consists of.
    pub members: Vec<MatchMember>,
    pub play: Play,
    pub primaries: PrimarySources,
    /// Each source's view of the play; empty while only one source reports it.
    views: Vec<SourceView>,
    names: IncidentNames,
    pub books: Vec<Book>,
    /// Books of bookmakers whose primary source is another one, for when it fails.
    standby_books: Vec<Book>,
    pub consensus: Consensus,
    /// When it ended.
    pub ended_at: Option<Micros>,
    /// What has changed since the last export.
    pub touched: ExportMarks,
}

/// The state of play, by sport.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub enum Play {
    Football(Football),
    Tennis(Tennis),
    Scoreboard(Scores),
    Race(Racing),
    /// Only odds are carried.
    None,
}

base::words! {
    /// The life cycle of a document.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
    pub enum Life {
        Prematch = "prematch",
        Live = "live",
        Suspended = "suspended",
        Ended = "ended",
    }
}

/// When a batch was received, and when it happened by the source's clock.
#[derive(Debug, Clone, Copy, BorshSerialize, BorshDeserialize)]
pub struct Moment {
    pub source: Option<Micros>,
    pub received: Micros,
}

impl Moment {
    /// The source's time if it reports one, else the hub's.
    #[must_use]
    pub fn best(self) -> Micros {
        self.source.unwrap_or(self.received)
    }

    /// The moment from which a match clock ticks. A match of another day is a replay, so its clock
    /// starts now and not on that day.
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
pub struct MatchDelta {
    pub fixture: bool,
    /// Providers that are no longer part of the match.
    pub left: Vec<Arc<str>>,
    pub football: Vec<FootballPart>,
    pub football_events: Vec<FootballEvent>,
    /// Players whose shot count increased.
    pub shooters: Vec<(Side, Participant)>,
    pub tennis: Vec<TennisPart>,
    pub tennis_events: Vec<TennisEvent>,
    pub scoreboard: Vec<ScoreboardPart>,
    pub scoreboard_events: Vec<ScoreboardEvent>,
    pub race: Vec<RacePart>,
    pub race_events: Vec<RaceEvent>,
    /// By the book's place in [`Match::books`].
    pub books: Vec<BookDelta>,
    /// Indexes of books that another source has taken over, with entirely new content.
    pub replaced: Vec<usize>,
}

#[derive(Debug, Default)]
pub struct BookDelta {
    pub book: usize,
    pub parts: Vec<BookPart>,
    pub events: Vec<BookEvent>,
}

impl MatchDelta {
    /// Whether anything but books changed.
    #[must_use]
    pub fn changes_play(&self) -> bool {
        self.fixture
            || !self.football.is_empty()
            || !self.football_events.is_empty()
            || !self.tennis.is_empty()
            || !self.tennis_events.is_empty()
            || !self.scoreboard.is_empty()
            || !self.scoreboard_events.is_empty()
            || !self.race.is_empty()
            || !self.race_events.is_empty()
    }

    fn book(&mut self, book: usize) -> &mut BookDelta {
        let index = self.books.iter().position(|delta| delta.book == book);
        let index = index.unwrap_or_else(|| {
            self.books.push(BookDelta { book, ..BookDelta::default() });
            self.books.len() - 1
        });
        &mut self.books[index]
    }
}

impl Match {
    /// Whether all places that it names exist, with this many sources: true unless its bytes were wrong.
    pub(super) fn is_consistent(&self, sources: usize) -> bool {
        let books = self.books.iter().chain(&self.standby_books);
        let named = books.map(|book| book.source);
        let named = named.chain(self.members.iter().map(|member| member.source));
        let named = named.chain(self.views.iter().map(|view| view.source));
        let named = named.chain(FactKind::ALL.iter().filter_map(|kind| self.primaries.get(*kind)));
        let (mut named, mut touched) = (named, self.touched.markets.iter());
        let has = |(book, market): &(usize, usize)| {
            self.books.get(*book).is_some_and(|book| *market < book.markets.len())
        };
        named.all(|source| source.0 < sources)
            && self.consensus.is_of(&self.books)
            && (self.touched.all || touched.all(has))
    }

    #[must_use]
    pub fn new(id: Id, sport: Sport, local_id: Id, fixture: Fixture, source: SourceNumber) -> Self {
        let mut primaries = PrimarySources::default();
        primaries.set(FactKind::Fixture, source);
        Self {
            id,
            sport,
            members: vec![MatchMember::new(local_id, &fixture, source)],
            fixture,
            about: About::default(),
            play: Play::new(sport),
            primaries,
            views: Vec::new(),
            names: IncidentNames::default(),
            books: Vec::new(),
            standby_books: Vec::new(),
            consensus: Consensus::default(),
            ended_at: None,
            touched: ExportMarks::all(),
        }
    }

    /// The life cycle of the match, by its status, or by its markets if no feed reports the play.
    #[must_use]
    pub fn life(&self) -> Life {
        match &self.play {
            Play::Football(Football { status: Some(status), .. }) => football_life(*status),
            Play::Tennis(Tennis { status: Some(status), .. }) => tennis_life(*status),
            Play::Scoreboard(Scores { board: Some(board), .. }) => scoreboard::life(board.status),
            Play::Race(Racing { status: Some(status), .. }) => race::life(*status),
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

    /// The status of a football match; `None` if it is in play and no feed reports its phase.
    #[must_use]
    pub fn football_status(&self, football: &Football) -> Option<FootballStatus> {
        football.status.or_else(|| match self.odds_life() {
            Life::Prematch => Some(FootballStatus::NotStarted),
            Life::Ended => Some(FootballStatus::Finished),
            Life::Live | Life::Suspended => None,
        })
    }

    /// The status of a match with a scoreboard, by its markets if no feed reports the play.
    #[must_use]
    pub fn scoreboard_status(&self, scores: &Scores) -> ScoreboardStatus {
        scores.board.as_ref().map_or_else(
            || match self.odds_life() {
                Life::Prematch => ScoreboardStatus::NotStarted,
                Life::Ended => ScoreboardStatus::Finished,
                Life::Live | Life::Suspended => ScoreboardStatus::Live,
            },
            |board| board.status,
        )
    }

    /// The status of a race, by its markets if no feed reports the race.
    #[must_use]
    pub fn race_status(&self, racing: &Racing) -> RaceStatus {
        racing.status.unwrap_or_else(|| match self.odds_life() {
            Life::Prematch => RaceStatus::NotStarted,
            Life::Ended => RaceStatus::Finished,
            Life::Live | Life::Suspended => RaceStatus::Off,
        })
    }

    /// The status of a tennis match, by its markets if no feed reports the play.
    #[must_use]
    pub fn tennis_status(&self, tennis: &Tennis) -> TennisStatus {
        tennis.status.unwrap_or_else(|| match self.odds_life() {
            Life::Prematch => TennisStatus::NotStarted,
            Life::Ended => TennisStatus::Finished,
            Life::Live | Life::Suspended => TennisStatus::Live,
        })
    }
}

impl Play {
    fn new(sport: Sport) -> Self {
        match sport.play() {
            PlayKind::Football => Self::Football(Football::default()),
            PlayKind::Tennis => Self::Tennis(Tennis::default()),
            PlayKind::Scoreboard => Self::Scoreboard(Scores::default()),
            PlayKind::Race => Self::Race(Racing::default()),
            PlayKind::None => Self::None,
        }
    }

    /// `scores`: whether the score after a retraction is applied, too.
    fn apply(&mut self, fact: &Fact, scores: bool, moment: Moment, delta: &mut MatchDelta) {
        match (self, fact) {
            (Self::Football(football), Fact::Football(fact)) => {
                delta.shooters.extend(football.shooter(fact));
                football.apply(fact, scores, moment, delta);
            }
            (Self::Tennis(tennis), Fact::Tennis(fact)) => tennis.apply(fact, moment, delta),
            (Self::Scoreboard(scores), Fact::Scoreboard(board)) => {
                scores.apply(board, moment, delta);
            }
            (Self::Race(racing), Fact::Race(race)) => racing.apply(race, delta),
            _ => {}
        }
    }

    /// The current state of one kind of fact, as facts of this moment.
    fn facts(&self, kind: FactKind, moment: Moment) -> Vec<Fact> {
        match self {
            Self::Football(football) => {
                football.facts(kind, moment).into_iter().map(Fact::Football).collect()
            }
            Self::Tennis(tennis) if kind == FactKind::Score => {
                tennis.facts().into_iter().map(Fact::Tennis).collect()
            }
            Self::Scoreboard(Scores { board: Some(board), .. }) if kind == FactKind::Score => {
                vec![Fact::Scoreboard(board.clone())]
            }
            Self::Race(racing) if kind == FactKind::Score => {
                racing.fact().into_iter().map(Fact::Race).collect()
            }
            Self::Tennis(_) | Self::Scoreboard(_) | Self::Race(_) | Self::None => Vec::new(),
        }
    }

    /// Whether the score here is ahead of the one in the fact, or the start of its period is there, if the fact has one.
    fn is_ahead_of(&self, fact: &Fact) -> bool {
        match (self, fact) {
            (
                Self::Football(football),
                Fact::Football(FootballFact::PeriodStart { period, .. }),
            ) => football.period_starts.contains_key(period),
            (Self::Football(football), Fact::Football(FootballFact::Score(score))) => {
                football.reported_score().is_some_and(|reported| reported.is_ahead_of(score))
            }
            (Self::Tennis(tennis), Fact::Tennis(TennisFact::Score(score))) => {
                tennis.reported_score().is_some_and(|reported| reported.is_ahead_of(score))
            }
            (Self::Scoreboard(scores), Fact::Scoreboard(board)) => {
                let reported = scores.board.as_ref().and_then(|board| board.score);
                let more =
                    |(one, other): ([u32; 2], [u32; 2])| one[0] > other[0] || one[1] > other[1];
                reported.zip(board.score).is_some_and(more)
            }
            _ => false,
        }
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
        | FootballStatus::Penalties
        | FootballStatus::Live => Life::Live,
        FootballStatus::Interrupted => Life::Suspended,
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
    fn clock_of_a_replayed_match_is_anchored_to_now() {
        anchored(None, RECEIVED);
        for near in [RECEIVED - BEHIND_US_MAX, RECEIVED - 2, RECEIVED + 2, Micros::MAX] {
            anchored(Some(near), near);
        }
        for far in [RECEIVED - BEHIND_US_MAX - 1, 0, Micros::MIN] {
            anchored(Some(far), RECEIVED);
        }
    }
}
