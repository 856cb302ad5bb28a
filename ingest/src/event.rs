//! Our vocabulary: what a feed can tell the hub, in the field's own words.
//!
//! Every fact is **absolute** ("the score is 2-1"), never a difference, so that applying one twice
//! changes nothing. A [`Batch`] is all that one message of a source says; the hub applies it as one
//! piece. No provider's field name and no JSON appears here.

use std::{fmt, sync::Arc};

use rust_decimal::Decimal;
use sha2::{Digest, Sha256};

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
    Football(FootballFact),
    Tennis(TennisFact),
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

/// A stable id of ours, for a match, a participant, a player or a competition.
///
/// It is computed from the provider's own key and nothing else, so it is the same after a restart,
/// in another process and on another machine, without a registry. 52 bits: exact in every JSON
/// reader, and a million ids collide with a probability of about one in nine thousand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub u64);

impl Id {
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
    pub provider: &'static str,
    pub provider_key: Arc<str>,
    pub competition: Option<Competition>,
    pub start: Option<Micros>,
    /// Absent where the feed carries ids alone (live Betfair).
    pub sides: Option<Pair<Participant>>,
}

// ---------------------------------------------------------------------------------- football

#[derive(Debug, Clone, PartialEq)]
pub enum FootballFact {
    Status(FootballStatus),
    /// The match clock at the moment of the batch. The hub decides whether its anchor must move.
    Clock {
        second: u32,
        running: bool,
    },
    Score(FootballScore),
    /// Something new that happened. One known by its `eid` is a repetition and changes nothing.
    Incident(Incident),
    /// An incident is taken back (a goal overturned); `score` is what stands now.
    Retract {
        of: Eid,
        why: Arc<str>,
        score: FootballScore,
    },
    /// An incident is told anew with other particulars (another scorer, another minute).
    Correct(Incident),
    /// Counts of one side: absolute, and only those that changed.
    Stats {
        side: Side,
        values: Vec<(Stat, u32)>,
    },
    Ball(Ball),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FootballStatus {
    NotStarted,
    FirstHalf,
    HalfTime,
    SecondHalf,
    ExtraFirst,
    ExtraHalf,
    ExtraSecond,
    Penalties,
    Finished,
    Postponed,
    Abandoned,
    Cancelled,
}

impl FootballStatus {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::FirstHalf => "first_half",
            Self::HalfTime => "half_time",
            Self::SecondHalf => "second_half",
            Self::ExtraFirst => "extra_first",
            Self::ExtraHalf => "extra_half",
            Self::ExtraSecond => "extra_second",
            Self::Penalties => "penalties",
            Self::Finished => "finished",
            Self::Postponed => "postponed",
            Self::Abandoned => "abandoned",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FootballScore {
    /// What the scoreboard shows: all goals in play, without the shoot-out.
    pub goals: Pair<u16>,
    /// At half time.
    pub half_time: Option<Pair<u16>>,
    /// Goals of extra time alone, from its start on.
    pub extra_time: Option<Pair<u16>>,
    /// Kicks scored in the shoot-out.
    pub penalties: Option<Pair<u16>>,
}

/// The stable name of something that happened, unique within its match: `"g1"`, `"263884274"`.
pub type Eid = Arc<str>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    pub eid: Eid,
    pub kind: IncidentKind,
    /// The minute in progress, as scoreboards count: 17:58 is minute 18; 45 or 90 with `added`
    /// in stoppage time.
    pub minute: u16,
    pub added: Option<u16>,
    /// For a goal the side that profits of it.
    pub side: Option<Side>,
    /// The scorer, the one booked, the player who goes off.
    pub player: Option<Participant>,
    /// The one who gave the pass; for a substitution the player who comes on.
    pub assist: Option<Participant>,
    /// The score after it, for a goal and for a kick of the shoot-out.
    pub score: Option<Pair<u16>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IncidentKind {
    Goal(GoalKind),
    Yellow,
    SecondYellow,
    Red,
    Substitution,
    PenaltyMissed,
    /// A check by the video assistant has begun or ended.
    Var(VarDecision),
    Period(FootballStatus),
    /// A kick of the shoot-out, scored or not.
    Shootout {
        scored: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GoalKind {
    Regular,
    Penalty,
    OwnGoal,
}

impl GoalKind {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Regular => "regular",
            Self::Penalty => "penalty",
            Self::OwnGoal => "own_goal",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VarDecision {
    Checking,
    Confirmed,
    Overturned,
}

/// A counter of a side. Possession is in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stat {
    BallPossession,
    TotalShots,
    ShotsOnTarget,
    ShotsOffTarget,
    BlockedShots,
    CornerKicks,
    Fouls,
    Offsides,
    YellowCards,
    RedCards,
    Saves,
    Passes,
    AccuratePasses,
    ThrowIns,
    GoalKicks,
    FreeKicks,
    Attacks,
    DangerousAttacks,
}

impl Stat {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BallPossession => "ball_possession",
            Self::TotalShots => "total_shots",
            Self::ShotsOnTarget => "shots_on_target",
            Self::ShotsOffTarget => "shots_off_target",
            Self::BlockedShots => "blocked_shots",
            Self::CornerKicks => "corner_kicks",
            Self::Fouls => "fouls",
            Self::Offsides => "offsides",
            Self::YellowCards => "yellow_cards",
            Self::RedCards => "red_cards",
            Self::Saves => "saves",
            Self::Passes => "passes",
            Self::AccuratePasses => "accurate_passes",
            Self::ThrowIns => "throw_ins",
            Self::GoalKicks => "goal_kicks",
            Self::FreeKicks => "free_kicks",
            Self::Attacks => "attacks",
            Self::DangerousAttacks => "dangerous_attacks",
        }
    }
}

/// Where the ball is, in tenths of a percent of the pitch, seen from the side that has it: `x` 0 is
/// its own goal line, 1000 the other; `y` 0 its left touch line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ball {
    pub x: u16,
    pub y: u16,
    pub side: Side,
    pub situation: Situation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Situation {
    Possession,
    Attack,
    Dangerous,
    Safe,
    Corner,
    FreeKick,
    ThrowIn,
    GoalKick,
    Penalty,
    ShotOnTarget,
    ShotOffTarget,
    Goal,
    Offside,
    Injury,
    Substitution,
}

impl Situation {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Possession => "possession",
            Self::Attack => "attack",
            Self::Dangerous => "dangerous",
            Self::Safe => "safe",
            Self::Corner => "corner",
            Self::FreeKick => "freekick",
            Self::ThrowIn => "throwin",
            Self::GoalKick => "goalkick",
            Self::Penalty => "penalty",
            Self::ShotOnTarget => "shotontarget",
            Self::ShotOffTarget => "shotofftarget",
            Self::Goal => "goal",
            Self::Offside => "offside",
            Self::Injury => "injury",
            Self::Substitution => "substitution",
        }
    }
}

// ------------------------------------------------------------------------------------ tennis

#[derive(Debug, Clone, PartialEq)]
pub enum TennisFact {
    Status(TennisStatus),
    /// A point was played; `score` is what stands after it.
    Point(Point),
    /// The score without a point: at the start, or put right by the source.
    Score(TennisScore),
    /// A point is taken back; `score` is what stands now.
    Retract {
        of: Eid,
        why: Arc<str>,
        score: TennisScore,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TennisStatus {
    NotStarted,
    Live,
    Interrupted,
    Finished,
    Retired,
    Walkover,
    Cancelled,
}

impl TennisStatus {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::Live => "live",
            Self::Interrupted => "interrupted",
            Self::Finished => "finished",
            Self::Retired => "retired",
            Self::Walkover => "walkover",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    pub eid: Eid,
    pub winner: Side,
    pub server: Side,
    pub how: Option<PointKind>,
    pub score: TennisScore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PointKind {
    Ace,
    DoubleFault,
}

/// The whole score of a tennis match. See [`crate::tennis`] for the rules that move it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TennisScore {
    /// Who serves the next point; absent before the first point, when the feed does not say.
    pub server: Option<Side>,
    /// Every set begun, the current one last.
    pub sets: Vec<SetScore>,
    pub game: GameScore,
    /// Points played in the match.
    pub points: u32,
    pub winner: Option<Side>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SetScore {
    pub games: Pair<u8>,
    /// The points of its tie-break, while it is played and for ever after.
    pub tie_break: Option<Pair<u16>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GameScore {
    /// Points won in an ordinary game: 0, 1, 2, 3 are love, 15, 30, 40; `[4, 3]` is advantage
    /// (kept between 3 and 4 from deuce on).
    Points(Pair<u8>),
    /// Points won in a tie-break.
    TieBreak(Pair<u16>),
}

impl Default for GameScore {
    fn default() -> Self {
        Self::Points([0, 0])
    }
}

// -------------------------------------------------------------------------------------- odds

/// What one bookmaker says of one market of the match.
#[derive(Debug, Clone, PartialEq)]
pub struct OddsFact {
    /// The bookmaker's slug: `betfair`, `pinnacle`.
    pub book: Arc<str>,
    /// The bookmaker's own id of the market, opaque.
    pub market: Arc<str>,
    pub change: MarketChange,
}

#[derive(Debug, Clone, PartialEq)]
pub enum MarketChange {
    /// The whole definition; it replaces the one before. Prices stay.
    Define(MarketDefinition),
    /// Forget every price, ladder and volume of the market: an image follows.
    Clear,
    Prices {
        selections: Vec<SelectionChange>,
        /// Matched on the whole market so far.
        volume: Option<Decimal>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct MarketDefinition {
    /// Our name for the kind of market where we know it (`match_winner`, `over_under`,
    /// `both_teams_to_score`, `asian_handicap`), else the provider's own in lower case.
    pub kind: Arc<str>,
    pub name: Option<Arc<str>>,
    /// The line of a market that has one: 2.5 goals.
    pub line: Option<Decimal>,
    /// The part of the match that it is about; absent means the whole.
    pub period: Option<Arc<str>>,
    pub status: MarketStatus,
    pub in_play: bool,
    pub selections: Vec<SelectionDefinition>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MarketStatus {
    Inactive,
    Open,
    Suspended,
    Closed,
}

impl MarketStatus {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inactive => "inactive",
            Self::Open => "open",
            Self::Suspended => "suspended",
            Self::Closed => "closed",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectionDefinition {
    /// The provider's id; `id@handicap` where it exists once for each handicap.
    pub id: Arc<str>,
    pub name: Option<Arc<str>>,
    pub status: SelectionStatus,
    /// What it stands for, where all bookmakers have the same: then it is part of the consensus.
    pub outcome: Option<Outcome>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SelectionStatus {
    Active,
    Winner,
    Loser,
    Removed,
}

impl SelectionStatus {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Winner => "winner",
            Self::Loser => "loser",
            Self::Removed => "removed",
        }
    }
}

/// A selection that means the same with every bookmaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    Home,
    Draw,
    Away,
    Player1,
    Player2,
    Over,
    Under,
    Yes,
    No,
}

impl Outcome {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Draw => "draw",
            Self::Away => "away",
            Self::Player1 => "p1",
            Self::Player2 => "p2",
            Self::Over => "over",
            Self::Under => "under",
            Self::Yes => "yes",
            Self::No => "no",
        }
    }
}

/// What changed on one selection; what is `None` or empty did not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SelectionChange {
    pub id: Arc<str>,
    /// A bookmaker's one price. Exchanges have ladders instead, and the best of them is the price.
    pub price: Option<Decimal>,
    /// Last traded price.
    pub last: Option<Decimal>,
    /// Matched on this selection so far.
    pub volume: Option<Decimal>,
    pub back: Vec<Level>,
    pub lay: Vec<Level>,
    pub traded: Vec<Level>,
}

/// One rung of a ladder: the whole size at a price. Size 0 takes the rung away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    pub price: Decimal,
    pub size: Decimal,
}
