//! Our vocabulary: what a feed can tell the hub, in the field's own words.
//!
//! Every fact is **absolute** ("the score is 2-1"), never a difference, so that applying one twice
//! changes nothing. A [`Batch`] is all that one message of a source says; the hub applies it as one
//! piece. No provider's field name and no JSON appears here.

mod about;
mod analysis;
mod football;
mod ids;
mod line_up;
mod odds;
mod race;
mod scoreboard;
mod swap;
mod tennis;

use std::{fmt, sync::Arc};

use jiff::civil::Date;
use sha2::{Digest, Sha256};

pub use self::{
    about::{About, Venue, Weather},
    analysis::{
        Analysis, AveragePosition, BodyPart, ExpectedGoals, GoalMouth, Half, MatchMinute, Momentum,
        PitchPlace, PlayerRating, Shot, ShotOutcome, ShotSituation,
    },
    football::{
        Ball, FootballFact, FootballScore, FootballStatus, GoalKind, Incident, IncidentKind,
        Situation, Stat, VarDecision,
    },
    line_up::{LineUp, LineUpPlayer, PlayerPosition, PlayerStat},
    odds::{
        Level, MarketChange, MarketDefinition, MarketStatus, OddsFact, Outcome, SelectionChange,
        SelectionDefinition, SelectionStatus,
    },
    race::{Race, RaceRunner, RaceStatus, RunnerStatus},
    scoreboard::{MatchClock, Scoreboard, ScoreboardStatus},
    tennis::{GameScore, Point, PointKind, SetScore, TennisFact, TennisScore, TennisStatus},
};

/// Microseconds since the Unix epoch, UTC.
pub type Micros = i64;

/// All facts of one message of a source, to be applied as one piece.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// When the source says that it happened; `None` where the source does not say.
    pub at: Option<Micros>,
    /// How many price changes the message held: elements of ladders and last traded prices.
    pub price_changes: u32,
    pub events: Vec<Event>,
}

/// A batch with the moment at which its source had it: what a recording or the simulator plays.
#[derive(Debug, Clone, PartialEq)]
pub struct Timed {
    /// The source's own clock, by which it is paced.
    pub clock_us: Micros,
    pub batch: Batch,
}

/// One fact about one match.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub sport: Sport,
    pub match_id: Id,
    pub fact: Fact,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// Who plays whom, where and when. Comes first for each match; a later one corrects it.
    Fixture(Fixture),
    /// Particulars that not every feed has: round, ground, referee.
    About(Box<About>),
    Football(FootballFact),
    Tennis(TennisFact),
    /// How a match stands of a sport that is followed by its scoreboard alone.
    Scoreboard(Scoreboard),
    Race(Race),
    Odds(OddsFact),
}

/// A sport, named as in the first segment of our channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sport {
    Football,
    Tennis,
    Cs2,
    Darts,
    Hockey,
    Basketball,
    HorseRacing,
    Cricket,
    /// A sport that the feed knows and we have no name for; only its odds are carried.
    Other,
}

impl Sport {
    pub const ALL: [Self; 9] = [
        Self::Football,
        Self::Tennis,
        Self::Cs2,
        Self::Darts,
        Self::Hockey,
        Self::Basketball,
        Self::HorseRacing,
        Self::Cricket,
        Self::Other,
    ];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Football => "football",
            Self::Tennis => "tennis",
            Self::Cs2 => "csgo",
            Self::Darts => "darts",
            Self::Hockey => "hockey",
            Self::Basketball => "basketball",
            Self::HorseRacing => "horseracing",
            Self::Cricket => "cricket",
            Self::Other => "other",
        }
    }
}

/// An id of a match, a participant, a player, a competition or a venue.
///
/// In a source's events, ids are digests ([`Id::derive`]). A hub replaces each digest by a public
/// number of 31 bits when it receives the event, and only uses those numbers; see
/// [`Batch::each_id`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub u64);

impl Id {
    /// The digest of a provider's own key. It is the same after a restart, in another process and on
    /// another machine. 52 bits: a million of them collide with a probability of about one in nine
    /// thousand.
    ///
    /// `kind` is what the id names (`match`, `team`, `player`, `competition`).
    #[must_use]
    pub fn derive(provider: &str, kind: &str, key: &str) -> Self {
        let mut hash = Sha256::new();
        for part in [provider, kind, key] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        let digest = hash.finalize();
        let head = digest.iter().take(8).fold(0_u64, |id, byte| id << 8 | u64::from(*byte));
        Self((head >> 12).max(1))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which of the two: home and away in football, player 1 and player 2 in tennis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    First,
    Second,
}

impl Side {
    pub const BOTH: [Self; 2] = [Self::First, Self::Second];

    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    /// 0 for the first side, 1 for the second: an index into a pair.
    #[must_use]
    pub fn index(self) -> usize {
        match self {
            Self::First => 0,
            Self::Second => 1,
        }
    }
}

/// A value of each side: `[home, away]`, `[player 1, player 2]`.
pub type Pair<T> = [T; 2];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    pub id: Id,
    pub name: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Competition {
    pub id: Id,
    pub name: Arc<str>,
    pub season: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixture {
    /// The provider's slug and its own key of the match: `("wyscout", "2058017")`.
    pub provider: Arc<str>,
    pub provider_key: Arc<str>,
    pub competition: Option<Competition>,
    pub start: Option<Micros>,
    /// The day on which it is played, where the feed says no more than that.
    pub date: Option<Date>,
    /// Absent where the feed carries ids alone (live Betfair).
    pub sides: Option<Pair<Participant>>,
}

/// The stable name of something that happened, unique within its match: `"g1"`, `"263884274"`.
pub type Eid = Arc<str>;
