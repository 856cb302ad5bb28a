//! The events in updates. Several channels share a kind; the definition says of which channels it is.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use crate::{
    document::{Details, HomeAway, Particulars, PlayerPair, Signal},
    words::{
        CardKind, Decimal, FootballStatus, GoalType, HoldReason, MarketStatus, PlayerNumber,
        PointKind, RaceStatus, ScoreboardStatus, SelectionStatus, Side, Timestamp, VarDecision,
    },
};

/// Declares an event: its fields, and before them its kind and its id.
macro_rules! event {
    (
        $(#[doc = $doc:literal])+
        $name:ident = $kind:literal { $($fields:tt)* }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, JsonSchema)]
        pub struct $name {
            #[doc = concat!("Always `", $kind, "`.")]
            #[schemars(extend("const" = $kind))]
            pub kind: String,
            /// Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the
            /// document.
            pub eid: String,
            $($fields)*
        }
    };
}

/// An event, by `kind`. A kind that several channels share has a form for each.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Event {
    Football(FootballEvent),
    Tennis(TennisEvent),
    Scoreboard(ScoreboardEvent),
    Race(RaceEvent),
    Odds(OddsEvent),
    Consensus(ConsensusEvent),
    Signal(SignalEvent),
}

/// An event of a football match.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum FootballEvent {
    Goal(Goal),
    Card(Card),
    Substitution(Substitution),
    PenaltyMissed(PenaltyMissed),
    Var(Var),
    Period(Period),
    Shootout(Shootout),
    Retract(Retract),
    Correct(FootballCorrect),
}

event! {
    /// A goal of a football match.
    Goal = "goal" {
        #[serde(flatten)]
        pub particulars: Particulars,
        /// How it was scored.
        pub r#type: GoalType,
    }
}

event! {
    /// A card of a football match.
    Card = "card" {
        /// The colour.
        pub card: CardKind,
        #[serde(flatten)]
        pub particulars: Particulars,
    }
}

event! {
    /// A substitution of a football match: `player` goes off, `assist` comes on.
    Substitution = "substitution" {
        #[serde(flatten)]
        pub particulars: Particulars,
    }
}

event! {
    /// A penalty of a football match that was not scored.
    PenaltyMissed = "penalty_missed" {
        #[serde(flatten)]
        pub particulars: Particulars,
    }
}

event! {
    /// A check by the video assistant.
    Var = "var" {
        #[serde(flatten)]
        pub particulars: Particulars,
        /// The decision.
        pub decision: VarDecision,
    }
}

event! {
    /// A football match enters another status.
    Period = "period" {
        #[serde(flatten)]
        pub particulars: Particulars,
        /// The status that began.
        pub status: FootballStatus,
    }
}

event! {
    /// A kick of the shoot-out of a football match.
    Shootout = "shootout" {
        #[serde(flatten)]
        pub particulars: Particulars,
        /// Whether the kick was scored.
        pub scored: bool,
    }
}

event! {
    /// An earlier event of a football or tennis match is taken back. The patch of the same update has the score too.
    Retract = "retract" {
        /// The `eid` of the retracted event.
        pub of: String,
        /// Why, as one word: `offside`.
        pub why: String,
        /// Football: the current score.
        pub score: Option<HomeAway>,
    }
}

/// A correction, by the channel.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Correct {
    Football(FootballCorrect),
    Tennis(TennisCorrect),
    Scoreboard(ScoreboardCorrect),
    Race(RaceCorrect),
    Settlement(SettlementCorrect),
}

event! {
    /// An incident of a football match is corrected, and has these fields now; or, with `of` `"score"`, the score
    /// decreased without a retracted incident, and `score` is the current one.
    FootballCorrect = "correct" {
        /// The `eid` of the incident, or `score`.
        pub of: String,
        #[serde(flatten)]
        pub particulars: Option<Particulars>,
        #[serde(flatten)]
        pub details: Details,
    }
}

/// An event of a tennis match.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum TennisEvent {
    Point(Point),
    Game(GameWon),
    Set(SetWon),
    Match(MatchWon),
    Retract(Retract),
    Correct(TennisCorrect),
}

event! {
    /// A point of a tennis match.
    Point = "point" {
        /// The side that won it.
        pub winner: PlayerNumber,
        /// The side that served.
        pub server: PlayerNumber,
        /// How it was won, if the source reports it.
        pub how: Option<PointKind>,
        /// The number of the set, from 1.
        pub set: u8,
        /// The number of the point in the match.
        pub point: u32,
        /// When it happened, if the source says.
        pub at: Option<Timestamp>,
    }
}

/// What a point ended.
#[derive(Debug, JsonSchema)]
pub struct Ending {
    /// The side that won it.
    pub winner: PlayerNumber,
    /// The number of the set, from 1.
    pub set: u8,
    /// The games of that set.
    pub games: Option<PlayerPair>,
}

event! {
    /// A point ended a game. It follows the point in the same update.
    GameWon = "game" {
        #[serde(flatten)]
        pub ending: Ending,
    }
}

event! {
    /// A point ended a set. It follows the point and its game in the same update.
    SetWon = "set" {
        #[serde(flatten)]
        pub ending: Ending,
    }
}

event! {
    /// A point ended the match. It follows the point, its game and its set in the same update.
    MatchWon = "match" {
        #[serde(flatten)]
        pub ending: Ending,
    }
}

event! {
    /// The score of a tennis match decreased without a retracted point. The current score is in the patch.
    TennisCorrect = "correct" {
        /// Always `score`.
        #[schemars(extend("const" = "score"))]
        pub of: String,
    }
}

/// An event of a match that is followed by its scoreboard.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum ScoreboardEvent {
    Score(ScoreChange),
    Finish(Finish),
    Correct(ScoreboardCorrect),
}

event! {
    /// The score increased.
    ScoreChange = "score" {
        /// The score now.
        pub score: HomeAway,
        /// The part in progress, as the source names it.
        pub period: Option<String>,
        /// When it happened, if the source says.
        pub at: Option<Timestamp>,
    }
}

event! {
    /// The match has ended.
    Finish = "finish" {
        /// The status now.
        pub status: ScoreboardStatus,
        /// The final score.
        pub score: Option<HomeAway>,
        /// The winner.
        pub winner: Option<Side>,
        /// When it happened, if the source says.
        pub at: Option<Timestamp>,
    }
}

event! {
    /// A score decreased, or a match had not ended.
    ScoreboardCorrect = "correct" {
        /// The `eid` of the `score` or the `finish` that was wrong.
        pub of: String,
        /// The current status.
        pub status: ScoreboardStatus,
        /// The current score.
        pub score: Option<HomeAway>,
        /// When it happened, if the source says.
        pub at: Option<Timestamp>,
    }
}

/// An event of a race.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum RaceEvent {
    Off(Off),
    Finish(RaceFinish),
    Correct(RaceCorrect),
}

event! {
    /// A race has begun.
    Off = "off" {
        /// When it happened, if the source says.
        pub at: Option<Timestamp>,
    }
}

event! {
    /// A race has ended.
    RaceFinish = "finish" {
        /// The order of the runners, the winner first.
        pub order: Vec<Place>,
        /// When it happened, if the source says.
        pub at: Option<Timestamp>,
    }
}

event! {
    /// A race had not ended, or its order has changed.
    RaceCorrect = "correct" {
        /// The `eid` of the wrong `finish`.
        pub of: String,
        /// The current status.
        pub status: RaceStatus,
        /// The current order of the runners, the winner first.
        pub order: Vec<Place>,
        /// When it happened, if the source says.
        pub at: Option<Timestamp>,
    }
}

/// A runner's place in a race.
#[derive(Debug, JsonSchema)]
pub struct Place {
    /// The id of the runner, as in `runners`.
    pub id: u32,
    /// The place: 1 is first.
    #[schemars(range(min = 1))]
    pub position: u16,
}

/// An event of one bookmaker's book.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum OddsEvent {
    Open(MarketOpen),
    Suspend(MarketSuspend),
    Resume(MarketResume),
    Reopen(MarketReopen),
    InPlay(MarketInPlay),
    Settle(MarketSettle),
    Correct(SettlementCorrect),
    Hold(Hold),
    HoldEnd(HoldEnd),
}

/// An event of the consensus.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum ConsensusEvent {
    Open(MarketOpen),
    Suspend(MarketSuspend),
    Resume(MarketResume),
    Settle(MarketSettle),
    Correct(SettlementCorrect),
}

/// The fields of an event of a market.
#[derive(Debug, JsonSchema)]
pub struct MarketEvent {
    /// The id of the market.
    pub market: String,
    /// The status of the market now.
    pub status: MarketStatus,
    /// Of a book: whether the market takes bets while the match is played.
    pub in_play: Option<bool>,
    /// Of a book: when it happened.
    pub at: Option<Timestamp>,
}

event! {
    /// A market that was not known opens.
    MarketOpen = "open" {
        #[serde(flatten)]
        pub event: MarketEvent,
    }
}

event! {
    /// A market is suspended. Its prices no longer count.
    MarketSuspend = "suspend" {
        #[serde(flatten)]
        pub event: MarketEvent,
    }
}

event! {
    /// A market opens again.
    MarketResume = "resume" {
        #[serde(flatten)]
        pub event: MarketEvent,
    }
}

event! {
    /// A market that was settled is not any more: it takes bets, or it is suspended. Its next settlement is a `correct`.
    MarketReopen = "reopen" {
        #[serde(flatten)]
        pub event: MarketEvent,
    }
}

event! {
    /// A market of a book takes bets while the match is played from now on, or no longer does. Its status is as before.
    MarketInPlay = "in_play" {
        #[serde(flatten)]
        pub event: MarketEvent,
    }
}

event! {
    /// A market is closed and settled.
    MarketSettle = "settle" {
        #[serde(flatten)]
        pub event: MarketEvent,
        /// The selections that won at least half of the stake: ids in a book, outcomes in the consensus.
        pub winners: Vec<String>,
        /// Of a book: the result of each selection by its id, if one is `half_won`, `half_lost` or `push`.
        pub results: Option<BTreeMap<String, SelectionStatus>>,
        /// Of a book: the part of the stake that wins, by the id of the winner, in a dead heat.
        pub dead_heat_factors: Option<BTreeMap<String, Decimal>>,
    }
}

event! {
    /// A market is settled again.
    SettlementCorrect = "correct" {
        /// The `eid` of the earlier `settle`.
        pub of: Option<String>,
        /// The id of the market.
        pub market: String,
        /// Of the consensus: the status of the market.
        pub status: Option<MarketStatus>,
        /// The selections that have won at least half of the stake now: ids in a book, outcomes in the consensus.
        pub winners: Vec<String>,
        /// As in `settle`.
        pub results: Option<BTreeMap<String, SelectionStatus>>,
        /// As in `settle`.
        pub dead_heat_factors: Option<BTreeMap<String, Decimal>>,
    }
}

event! {
    /// The hub suspends a whole book.
    Hold = "suspend" {
        /// Why.
        pub why: HoldReason,
        /// The `eid` of the incident in the match, if one is the reason.
        pub of: Option<String>,
    }
}

event! {
    /// The hub no longer suspends a whole book.
    HoldEnd = "resume" {
        /// The `eid` of its `suspend`.
        pub of: String,
    }
}

/// An event of `signals`.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum SignalEvent {
    Start(SignalStart),
    End(SignalEnd),
}

event! {
    /// A signal begins.
    SignalStart = "signal" {
        /// The id of the signal, as in the document.
        pub id: String,
        /// The signal.
        pub signal: Signal,
    }
}

event! {
    /// A signal has ended.
    SignalEnd = "signal_end" {
        /// The id of the signal.
        pub of: String,
        /// When it ended.
        pub at: Timestamp,
    }
}
