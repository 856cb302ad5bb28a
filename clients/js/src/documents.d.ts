// From tools/schema/documents.schema.json, by build.js. Do not edit.

export type DocumentOrEvent = (Document | Event)
/**
 * The document of a channel.
 */
export type Document = (FootballBoard | FootballMatch | TennisBoard | TennisMatch | Cs2Board | Cs2Match | DartsBoard | DartsMatch | HockeyBoard | HockeyMatch | BasketballBoard | BasketballMatch | HorseRacingBoard | HorseRace | ConsensusOdds | Odds | Feeds | Signals | OpeningDocument)
/**
 * The state of the source on which a document depends. `late`: silent for longer than its deadline, or it reports a lag itself. `down`: disconnected, or a recording has ended. `recovering`: connecting, or connected again and not complete yet.
 */
export type FeedState = ("live" | "late" | "down" | "recovering")
/**
 * The life cycle of a document. `suspended` is an interrupted match, a book without an open market or held by the hub, or a match in play whose source is unhealthy.
 */
export type Life = ("prematch" | "live" | "suspended" | "ended")
/**
 * The public id of a match, team, player or competition.
 */
export type Id = number
/**
 * A moment: microseconds since 1970-01-01T00:00:00Z.
 */
export type Timestamp = number
/**
 * The status of a football match. `extra_first` and `extra_second` are the halves of extra time, `extra_half` the break between them.
 */
export type FootballStatus = ("not_started" | "first_half" | "half_time" | "second_half" | "extra_first" | "extra_half" | "extra_second" | "penalties" | "finished" | "postponed" | "abandoned" | "cancelled" | "live" | "interrupted")
/**
 * The home or away side.
 */
export type Side = ("home" | "away")
/**
 * What happens on the pitch, from the point of view of the side that has the ball.
 */
export type Situation = ("possession" | "attack" | "dangerous" | "safe" | "corner" | "freekick" | "throwin" | "goalkick" | "penalty" | "shotontarget" | "shotofftarget" | "goal" | "offside" | "injury" | "substitution")
/**
 * The decision of the video assistant.
 */
export type VarDecision = ("checking" | "confirmed" | "overturned")
/**
 * The kind of an incident of a football match.
 */
export type IncidentKind = ("goal" | "yellow" | "second_yellow" | "red" | "substitution" | "penalty_missed" | "var" | "period" | "shootout")
/**
 * How a goal was scored.
 */
export type GoalType = ("regular" | "penalty" | "own_goal")
/**
 * One of the two players or pairs of a tennis match: 1 is `p1`, 2 is `p2`.
 */
export type PlayerNumber = (1 | 2)
/**
 * The status of a tennis match.
 */
export type TennisStatus = ("not_started" | "live" | "interrupted" | "finished" | "retired" | "walkover" | "cancelled")
/**
 * The status of a match that is followed by its scoreboard.
 */
export type ScoreboardStatus = ("not_started" | "live" | "interrupted" | "finished" | "postponed" | "abandoned" | "cancelled")
/**
 * The status of a race.
 */
export type RaceStatus = ("not_started" | "at_the_post" | "off" | "finished" | "abandoned")
/**
 * The status of a runner in a race.
 */
export type RunnerStatus = ("active" | "non_runner" | "fell" | "pulled_up" | "disqualified" | "finished")
/**
 * A price, stake, size or line: a decimal number as a string, with the digits of its source, such as `"2.10"`. Do not parse it as a binary float.
 */
export type Decimal = string
/**
 * The status of a selection. `winner` and `loser` are its settlement.
 */
export type SelectionStatus = ("active" | "winner" | "loser" | "removed" | "half_won" | "half_lost" | "push")
/**
 * The status of a market. Only an `open` market takes bets.
 */
export type MarketStatus = ("inactive" | "open" | "suspended" | "closed")
/**
 * The number of a change of a channel. It rises by one with each change.
 */
export type Seq = number
/**
 * The meaning of a selection, the same with every bookmaker.
 */
export type Outcome = ("home" | "draw" | "away" | "p1" | "p2" | "over" | "under" | "yes" | "no")
/**
 * A signal: a finding from odds and play. `kind` tells which.
 */
export type Signal = (ArbitrageSignal | PriceGapSignal | ValueSignal | SteamSignal | SuspendedSignal | MomentumSignal)
/**
 * Whether prices fall (`shortening`: the outcome has become likelier) or rise (`drifting`).
 */
export type Direction = ("shortening" | "drifting")
/**
 * The first or the second side.
 */
export type MomentumSide = ("first" | "second")
/**
 * An event, by `kind`. A kind that several channels share has a form for each.
 */
export type Event = (FootballEvent | TennisEvent | ScoreboardEvent | RaceEvent | OddsEvent | ConsensusEvent | SignalEvent)
/**
 * An event of a football match.
 */
export type FootballEvent = (Goal | Card | Substitution | PenaltyMissed | Var | Period | Shootout | Retract | FootballCorrect)
/**
 * The colour of a card; `second_yellow` is the second of a player, who is sent off.
 */
export type CardKind = ("yellow" | "second_yellow" | "red")
/**
 * An event of a tennis match.
 */
export type TennisEvent = (Point | GameWon | SetWon | MatchWon | Retract | TennisCorrect)
/**
 * How a point was won.
 */
export type PointKind = ("ace" | "double_fault")
/**
 * An event of a match that is followed by its scoreboard.
 */
export type ScoreboardEvent = (ScoreChange | Finish | ScoreboardCorrect)
/**
 * An event of a race.
 */
export type RaceEvent = (Off | RaceFinish | RaceCorrect)
/**
 * An event of one bookmaker's book.
 */
export type OddsEvent = (MarketOpen | MarketSuspend | MarketResume | MarketReopen | MarketInPlay | MarketSettle | SettlementCorrect | Hold | HoldEnd)
/**
 * Why the hub holds a book.
 */
export type HoldReason = ("feed" | "goal" | "red_card" | "var")
/**
 * An event of the consensus.
 */
export type ConsensusEvent = (MarketOpen | MarketSuspend | MarketResume | MarketSettle | SettlementCorrect)
/**
 * An event of `signals`.
 */
export type SignalEvent = (SignalStart | SignalEnd)

/**
 * The football board: the document of `football`.
 */
export interface FootballBoard {
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * The matches by id.
 */
matches: {
[k: string]: FootballRow
}
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
}
/**
 * A football match on the board. The fields are those of `FootballMatch`.
 */
export interface FootballRow {
/**
 * The away side; absent if no source names it.
 */
away?: Participant
/**
 * The match clock.
 */
clock?: Clock
/**
 * The competition; absent if no source names it.
 */
competition?: Competition
/**
 * The home side; absent if no source names it.
 */
home?: Participant
/**
 * The life cycle of the match.
 */
life: Life
/**
 * The score; absent before the match and while no source states one.
 */
score?: FootballScore
/**
 * The scheduled or actual start.
 */
start?: Timestamp
/**
 * The status; absent if the markets are in play but no source reports the play.
 */
status?: FootballStatus
}
/**
 * A team, a player, or a pair of players.
 */
export interface Participant {
/**
 * The public id.
 */
id: Id
/**
 * The name, as the source spells it.
 */
name: string
}
/**
 * A match clock. While it runs it shows `s` and the seconds since `at`, by the clock of the hub (`now` of `hello`, `beat`, `pong`).
 */
export interface Clock {
/**
 * The moment at which the clock showed `s`.
 */
at: Timestamp
/**
 * Whether the clock runs.
 */
running: boolean
/**
 * Seconds on the clock at the moment `at`. In football seconds of the match; in other sports elapsed or remaining, as is usual in the sport.
 */
s: number
}
/**
 * A competition: a league, a cup, a tournament.
 */
export interface Competition {
/**
 * The public id.
 */
id: Id
/**
 * The name, as the source spells it.
 */
name: string
/**
 * The season, as the source names it, such as `2026/27`.
 */
season?: string
}
/**
 * The score of a football match.
 */
export interface FootballScore {
/**
 * Goals of the away side on the scoreboard, without the shoot-out.
 */
away: number
/**
 * Goals of extra time alone.
 */
et?: HomeAway
/**
 * Goals of the home side on the scoreboard, without the shoot-out.
 */
home: number
/**
 * Goals at half time.
 */
ht?: HomeAway
/**
 * Kicks scored in the shoot-out.
 */
pens?: HomeAway
}
/**
 * A count of each side.
 */
export interface HomeAway {
/**
 * Of the away side.
 */
away: number
/**
 * Of the home side.
 */
home: number
}
/**
 * A football match: the document of `football/{id}`.
 */
export interface FootballMatch {
/**
 * The away side; absent if no source names it.
 */
away?: Participant
/**
 * Where the ball is.
 */
ball?: Ball
/**
 * The match clock.
 */
clock?: Clock
/**
 * The competition; absent if no source names it.
 */
competition?: Competition
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The home side; absent if no source names it.
 */
home?: Participant
/**
 * The public id, as in the name of the channel.
 */
id: Id
/**
 * The incidents by `eid`. An incident stays in the document, and can change until the match is over.
 */
incidents: {
[k: string]: Incident
}
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * When each period began; absent while no source has reported that of any.
 */
period_starts?: PeriodStarts
/**
 * Each provider that reports the match, with its own key of it: `{"wyscout": "2058017"}`.
 */
refs: {
[k: string]: string
}
/**
 * The score. It is absent before the match and while no source states one: that does not mean 0-0.
 */
score?: FootballScore
/**
 * Always `football`.
 */
sport: "football"
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
/**
 * The scheduled or actual start.
 */
start?: Timestamp
/**
 * Counts of each side.
 */
stats: Stats
/**
 * The status; absent if the markets are in play but no source reports the play.
 */
status?: FootballStatus
}
/**
 * Where the ball is, seen from the side that has it.
 */
export interface Ball {
/**
 * The side that has the ball.
 */
side: Side
/**
 * What happens.
 */
situation: Situation
/**
 * Percent of the length of the pitch: 0 is the own goal line of the side, 100 the other one.
 */
x: number
/**
 * Percent of the width of the pitch: 0 is the left touch line of the side.
 */
y: number
}
/**
 * An incident of a football match.
 */
export interface Incident {
/**
 * Minutes of stoppage time beyond `minute`; absent outside of stoppage time.
 */
added?: number
/**
 * The player who assisted, or who comes on.
 */
assist?: Participant
/**
 * Of a VAR check: the decision.
 */
decision?: VarDecision
/**
 * What it is.
 */
kind: IncidentKind
/**
 * Minutes: the minute in progress, so that 17:58 on the clock is 18. In stoppage time it is 45 or 90 (105, 120).
 */
minute: number
/**
 * Its position in the order in which incidents were first reported, from 1.
 */
n: number
/**
 * The scorer, the booked player, or the player who goes off.
 */
player?: Participant
/**
 * True if the incident was retracted; otherwise absent.
 */
retracted?: true
/**
 * After a goal, the score; of a kick of the shoot-out, the score in it. Other incidents have it if their source reports it.
 */
score?: HomeAway
/**
 * Of a kick of the shoot-out: whether it was scored.
 */
scored?: boolean
/**
 * The side; of a goal, also an own goal, the side that it counts for.
 */
side?: Side
/**
 * Of a period: the status that began.
 */
status?: FootballStatus
/**
 * Of a goal: how it was scored.
 */
type?: GoalType
/**
 * Why it was retracted, as one word: `offside`. Absent unless it was.
 */
why?: string
}
/**
 * When each period of a football match began, by the clock of the source that reports it. The schedule does not count.
 */
export interface PeriodStarts {
/**
 * The first half of extra time.
 */
extra_first?: Timestamp
/**
 * The second half of extra time.
 */
extra_second?: Timestamp
/**
 * The kick-off.
 */
first_half?: Timestamp
/**
 * The second half.
 */
second_half?: Timestamp
/**
 * The shoot-out.
 */
shootout?: Timestamp
}
/**
 * Counts of both sides of a football match.
 */
export interface Stats {
/**
 * Counts of the away side.
 */
away: SideStats
/**
 * Counts of the home side.
 */
home: SideStats
}
/**
 * Counts of a side by name. No source reports all of them.
 */
export interface SideStats {
/**
 * Number of accurate passes.
 */
accurate_passes?: number
/**
 * Number of attacks.
 */
attacks?: number
/**
 * Share of the possession of the ball, in percent.
 */
ball_possession?: number
/**
 * Number of blocked shots.
 */
blocked_shots?: number
/**
 * Number of corner kicks.
 */
corner_kicks?: number
/**
 * Number of dangerous attacks.
 */
dangerous_attacks?: number
/**
 * Number of fouls.
 */
fouls?: number
/**
 * Number of free kicks.
 */
free_kicks?: number
/**
 * Number of goal kicks.
 */
goal_kicks?: number
/**
 * Number of offsides.
 */
offsides?: number
/**
 * Number of passes.
 */
passes?: number
/**
 * Number of red cards.
 */
red_cards?: number
/**
 * Number of saves.
 */
saves?: number
/**
 * Number of shots off target.
 */
shots_off_target?: number
/**
 * Number of shots on target.
 */
shots_on_target?: number
/**
 * Number of throw ins.
 */
throw_ins?: number
/**
 * Number of total shots.
 */
total_shots?: number
/**
 * Number of yellow cards.
 */
yellow_cards?: number
}
/**
 * The tennis board: the document of `tennis`.
 */
export interface TennisBoard {
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * The matches by id.
 */
matches: {
[k: string]: TennisRow
}
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
}
/**
 * A tennis match on the board. The fields are those of `TennisMatch`.
 */
export interface TennisRow {
/**
 * The competition; absent if no source names it.
 */
competition?: Competition
/**
 * The current game. Absent if no source reports the play.
 */
game?: TennisGame
/**
 * The life cycle of the match.
 */
life: Life
/**
 * The first player or pair; absent if no source names it.
 */
p1?: Participant
/**
 * The second player or pair; absent if no source names it.
 */
p2?: Participant
/**
 * The side that serves the next point.
 */
server?: PlayerNumber
/**
 * Each set that has begun, by its number from `"1"`. Absent if no source reports the play.
 */
sets?: {
[k: string]: TennisSet
}
/**
 * The scheduled or actual start.
 */
start?: Timestamp
/**
 * The status.
 */
status: TennisStatus
}
/**
 * The points of a game: `"0"`, `"15"`, `"30"`, `"40"`, `"A"`, or the points of a tie-break.
 */
export interface TennisGame {
/**
 * Of the first side.
 */
p1: string
/**
 * Of the second side.
 */
p2: string
}
/**
 * The score of a set.
 */
export interface TennisSet {
/**
 * Games of the first side.
 */
p1: number
/**
 * Games of the second side.
 */
p2: number
/**
 * Points of the tie-break, if there is one.
 */
tb?: PlayerPair
}
/**
 * A count of each side of a tennis match.
 */
export interface PlayerPair {
/**
 * Of the first side.
 */
p1: number
/**
 * Of the second side.
 */
p2: number
}
/**
 * A tennis match: the document of `tennis/{id}`.
 */
export interface TennisMatch {
/**
 * The competition; absent if no source names it.
 */
competition?: Competition
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The current game. Absent if no source reports the play.
 */
game?: TennisGame
/**
 * The public id, as in the name of the channel.
 */
id: Id
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * The first player or pair; absent if no source names it.
 */
p1?: Participant
/**
 * The second player or pair; absent if no source names it.
 */
p2?: Participant
/**
 * Points played in the match. Absent if no source reports the play.
 */
points?: number
/**
 * Each provider that reports the match, with its own key of it: `{"wyscout": "2058017"}`.
 */
refs: {
[k: string]: string
}
/**
 * The side that serves the next point.
 */
server?: PlayerNumber
/**
 * Each set that has begun, by its number from `"1"`. Absent if no source reports the play.
 */
sets?: {
[k: string]: TennisSet
}
/**
 * Always `tennis`.
 */
sport: "tennis"
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
/**
 * The scheduled or actual start.
 */
start?: Timestamp
/**
 * The status.
 */
status: TennisStatus
/**
 * The winner of the match.
 */
winner?: PlayerNumber
}
/**
 * The board of a sport that is followed by its scoreboard. The document of `csgo`.
 */
export interface Cs2Board {
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * The matches by id.
 */
matches: {
[k: string]: ScoreboardRow
}
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
}
/**
 * A match on the board of a sport that is followed by its scoreboard. The fields are those of `ScoreboardMatch`.
 */
export interface ScoreboardRow {
/**
 * The away side; absent if no source names it.
 */
away?: Participant
/**
 * The clock of the match.
 */
clock?: Clock
/**
 * The competition; absent if no source names it.
 */
competition?: Competition
/**
 * The home side; absent if no source names it.
 */
home?: Participant
/**
 * The life cycle of the match.
 */
life: Life
/**
 * The part in progress, as the source names it: `map 2`, `p2`, `overtime`.
 */
period?: string
/**
 * The same by part, by its number from `"1"`: rounds of each map, legs of each set, periods, quarters. Absent if no source reports the play.
 */
periods?: {
[k: string]: HomeAway
}
/**
 * What decides the match: maps in CS2, sets in darts (or legs, if it is played in legs only), goals in hockey, points in basketball.
 */
score?: HomeAway
/**
 * The scheduled or actual start.
 */
start?: Timestamp
/**
 * The status.
 */
status: ScoreboardStatus
/**
 * The winner of the match.
 */
winner?: Side
}
/**
 * A match that is followed by its scoreboard. The document of `csgo/{id}`.
 */
export interface Cs2Match {
/**
 * The away side; absent if no source names it.
 */
away?: Participant
/**
 * The clock of the match.
 */
clock?: Clock
/**
 * The competition; absent if no source names it.
 */
competition?: Competition
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The home side; absent if no source names it.
 */
home?: Participant
/**
 * The public id, as in the name of the channel.
 */
id: Id
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * The part in progress, as the source names it: `map 2`, `p2`, `overtime`.
 */
period?: string
/**
 * The same by part, by its number from `"1"`: rounds of each map, legs of each set, periods, quarters. Absent if no source reports the play.
 */
periods?: {
[k: string]: HomeAway
}
/**
 * Each provider that reports the match, with its own key of it: `{"wyscout": "2058017"}`.
 */
refs: {
[k: string]: string
}
/**
 * What decides the match: maps in CS2, sets in darts (or legs, if it is played in legs only), goals in hockey, points in basketball.
 */
score?: HomeAway
/**
 * Always `csgo`.
 */
sport: "csgo"
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
/**
 * The scheduled or actual start.
 */
start?: Timestamp
/**
 * The status.
 */
status: ScoreboardStatus
/**
 * The winner of the match.
 */
winner?: Side
}
/**
 * The board of a sport that is followed by its scoreboard. The document of `darts`.
 */
export interface DartsBoard {
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * The matches by id.
 */
matches: {
[k: string]: ScoreboardRow
}
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
}
/**
 * A match that is followed by its scoreboard. The document of `darts/{id}`.
 */
export interface DartsMatch {
/**
 * The away side; absent if no source names it.
 */
away?: Participant
/**
 * The clock of the match.
 */
clock?: Clock
/**
 * The competition; absent if no source names it.
 */
competition?: Competition
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The home side; absent if no source names it.
 */
home?: Participant
/**
 * The public id, as in the name of the channel.
 */
id: Id
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * The part in progress, as the source names it: `map 2`, `p2`, `overtime`.
 */
period?: string
/**
 * The same by part, by its number from `"1"`: rounds of each map, legs of each set, periods, quarters. Absent if no source reports the play.
 */
periods?: {
[k: string]: HomeAway
}
/**
 * Each provider that reports the match, with its own key of it: `{"wyscout": "2058017"}`.
 */
refs: {
[k: string]: string
}
/**
 * What decides the match: maps in CS2, sets in darts (or legs, if it is played in legs only), goals in hockey, points in basketball.
 */
score?: HomeAway
/**
 * Always `darts`.
 */
sport: "darts"
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
/**
 * The scheduled or actual start.
 */
start?: Timestamp
/**
 * The status.
 */
status: ScoreboardStatus
/**
 * The winner of the match.
 */
winner?: Side
}
/**
 * The board of a sport that is followed by its scoreboard. The document of `hockey`.
 */
export interface HockeyBoard {
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * The matches by id.
 */
matches: {
[k: string]: ScoreboardRow
}
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
}
/**
 * A match that is followed by its scoreboard. The document of `hockey/{id}`.
 */
export interface HockeyMatch {
/**
 * The away side; absent if no source names it.
 */
away?: Participant
/**
 * The clock of the match.
 */
clock?: Clock
/**
 * The competition; absent if no source names it.
 */
competition?: Competition
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The home side; absent if no source names it.
 */
home?: Participant
/**
 * The public id, as in the name of the channel.
 */
id: Id
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * The part in progress, as the source names it: `map 2`, `p2`, `overtime`.
 */
period?: string
/**
 * The same by part, by its number from `"1"`: rounds of each map, legs of each set, periods, quarters. Absent if no source reports the play.
 */
periods?: {
[k: string]: HomeAway
}
/**
 * Each provider that reports the match, with its own key of it: `{"wyscout": "2058017"}`.
 */
refs: {
[k: string]: string
}
/**
 * What decides the match: maps in CS2, sets in darts (or legs, if it is played in legs only), goals in hockey, points in basketball.
 */
score?: HomeAway
/**
 * Always `hockey`.
 */
sport: "hockey"
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
/**
 * The scheduled or actual start.
 */
start?: Timestamp
/**
 * The status.
 */
status: ScoreboardStatus
/**
 * The winner of the match.
 */
winner?: Side
}
/**
 * The board of a sport that is followed by its scoreboard. The document of `basketball`.
 */
export interface BasketballBoard {
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * The matches by id.
 */
matches: {
[k: string]: ScoreboardRow
}
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
}
/**
 * A match that is followed by its scoreboard. The document of `basketball/{id}`.
 */
export interface BasketballMatch {
/**
 * The away side; absent if no source names it.
 */
away?: Participant
/**
 * The clock of the match.
 */
clock?: Clock
/**
 * The competition; absent if no source names it.
 */
competition?: Competition
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The home side; absent if no source names it.
 */
home?: Participant
/**
 * The public id, as in the name of the channel.
 */
id: Id
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * The part in progress, as the source names it: `map 2`, `p2`, `overtime`.
 */
period?: string
/**
 * The same by part, by its number from `"1"`: rounds of each map, legs of each set, periods, quarters. Absent if no source reports the play.
 */
periods?: {
[k: string]: HomeAway
}
/**
 * Each provider that reports the match, with its own key of it: `{"wyscout": "2058017"}`.
 */
refs: {
[k: string]: string
}
/**
 * What decides the match: maps in CS2, sets in darts (or legs, if it is played in legs only), goals in hockey, points in basketball.
 */
score?: HomeAway
/**
 * Always `basketball`.
 */
sport: "basketball"
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
/**
 * The scheduled or actual start.
 */
start?: Timestamp
/**
 * The status.
 */
status: ScoreboardStatus
/**
 * The winner of the match.
 */
winner?: Side
}
/**
 * The board of horse racing: the document of `horseracing`.
 */
export interface HorseRacingBoard {
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * The races by id.
 */
matches: {
[k: string]: HorseRacingRow
}
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
}
/**
 * A race on the board. The fields are those of `HorseRace`.
 */
export interface HorseRacingRow {
/**
 * The second side, if a source reports the race as one of two sides.
 */
away?: Participant
/**
 * The competition; absent if no source names it.
 */
competition?: Competition
/**
 * The country of the course: two letters of ISO 3166-1, or its name.
 */
country?: string
/**
 * The racecourse.
 */
course?: string
/**
 * The distance as the source writes it: `1m2f`, `1200m`.
 */
distance?: string
/**
 * The first side, if a source reports the race as one of two sides.
 */
home?: Participant
/**
 * The life cycle of the match.
 */
life: Life
/**
 * The name of the race.
 */
name?: string
/**
 * The scheduled or actual start.
 */
start?: Timestamp
/**
 * The status.
 */
status: RaceStatus
}
/**
 * A horse race: the document of `horseracing/{id}`.
 */
export interface HorseRace {
/**
 * The second side, if a source reports the race as one of two sides.
 */
away?: Participant
/**
 * The competition; absent if no source names it.
 */
competition?: Competition
/**
 * The country of the course: two letters of ISO 3166-1, or its name.
 */
country?: string
/**
 * The racecourse.
 */
course?: string
/**
 * The distance as the source writes it: `1m2f`, `1200m`.
 */
distance?: string
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The first side, if a source reports the race as one of two sides.
 */
home?: Participant
/**
 * The public id, as in the name of the channel.
 */
id: Id
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * The name of the race.
 */
name?: string
/**
 * Each provider that reports the match, with its own key of it: `{"wyscout": "2058017"}`.
 */
refs: {
[k: string]: string
}
/**
 * The runners by id. Absent if no source reports the race.
 */
runners?: {
[k: string]: Runner
}
/**
 * Always `horseracing`.
 */
sport: "horseracing"
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
/**
 * The scheduled or actual start.
 */
start?: Timestamp
/**
 * The status.
 */
status: RaceStatus
}
/**
 * A runner of a race.
 */
export interface Runner {
/**
 * The name of the jockey.
 */
jockey?: string
/**
 * The name of the horse.
 */
name: string
/**
 * The number on the saddlecloth.
 */
number?: number
/**
 * The place: 1 is first. In a dead heat several runners have the same.
 */
position?: number
/**
 * The status.
 */
status: RunnerStatus
}
/**
 * The consensus of all bookmakers on a match: the document of `{sport}/{id}/odds`. It has the markets that have the same meaning with every bookmaker.
 */
export interface ConsensusOdds {
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * The markets by the hub's own id: the kind, `:` and the period if it is not the whole match, `@` and the line if there is one (`over_under@2.5`).
 */
markets: {
[k: string]: ConsensusMarket
}
/**
 * The sequence of the match's channel when these prices were applied: a price with a smaller one than that of a goal is from before the goal. Absent if the match has no channel.
 */
match_seq?: Seq
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
/**
 * No market is open, but one may reopen; or the hub holds the whole book, whatever the status of its markets.
 */
suspended: boolean
}
/**
 * A market of the consensus.
 */
export interface ConsensusMarket {
/**
 * Whether the market takes bets while the match is played.
 */
in_play: boolean
/**
 * `match_winner`, `over_under`, `both_teams_to_score`, `asian_handicap` and others.
 */
kind: string
/**
 * The line, if the market has one.
 */
line?: Decimal
/**
 * How far the best prices exceed a fair book: the sum of 1/price, less 1, to four decimal places. `"0.0213"` is 2.13 %; below 0 it is an arbitrage. Absent unless every outcome has a price.
 */
overround?: Decimal
/**
 * The part of the match; absent for the whole match.
 */
period?: string
/**
 * The selections by `Outcome`.
 */
selections?: {
[k: string]: ConsensusSelection
}
/**
 * `open` while any bookmaker's is.
 */
status: MarketStatus
}
/**
 * A selection of the consensus. All fields but `status` are absent while no bookmaker offers a price.
 */
export interface ConsensusSelection {
/**
 * The bookmaker with the best price.
 */
best?: string
/**
 * The number of bookmakers with a price.
 */
bookmakers?: number
/**
 * The median price.
 */
median?: Decimal
/**
 * When the oldest price among them was reported.
 */
oldest?: Timestamp
/**
 * The best price among open markets: decimal odds.
 */
price?: Decimal
/**
 * The status.
 */
status: SelectionStatus
}
/**
 * The book of one bookmaker on a match: the document of `{sport}/{id}/odds/{bookmaker}`.
 */
export interface Odds {
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * The markets by the bookmaker's own id.
 */
markets: {
[k: string]: Market
}
/**
 * The sequence of the match's channel when these prices were applied: a price with a smaller one than that of a goal is from before the goal. Absent if the match has no channel.
 */
match_seq?: Seq
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
/**
 * No market is open, but one may reopen; or the hub holds the whole book, whatever the status of its markets.
 */
suspended: boolean
}
/**
 * A market of a bookmaker.
 */
export interface Market {
/**
 * How long a bet waits before it is accepted, in seconds.
 */
bet_delay?: number
/**
 * `PASSIVE`, `DYNAMIC`: the source's own words.
 */
bet_delay_models?: string[]
/**
 * The part of the odds that a place pays: `"4"` is a quarter.
 */
each_way_divisor?: Decimal
/**
 * Whether the market takes bets while the match is played.
 */
in_play: boolean
/**
 * `match_winner`, `over_under`, `both_teams_to_score`, `asian_handicap` and others, else the source's name of the kind in lower case.
 */
kind: string
/**
 * The line, if the market has one: `"2.5"` goals.
 */
line?: Decimal
/**
 * The commission on winnings, in percent.
 */
market_base_rate?: Decimal
/**
 * The source's name of the market.
 */
name?: string
/**
 * How many selections win; 0 if it depends on the result, as in handicaps.
 */
number_of_winners?: number
/**
 * The part of the match; absent for the whole match.
 */
period?: string
/**
 * The selections by id; one that exists once per handicap is `id@handicap`: `"56323@-1.5"`. Absent if there are none.
 */
selections?: {
[k: string]: Selection
}
/**
 * The bookmaker's status of the market.
 */
status: MarketStatus
/**
 * Why it is suspended, in the source's own words.
 */
suspend_reason?: string
/**
 * Each change of `status` or `in_play`, by its number from `"1"`; the last 64 are kept.
 */
transitions: {
[k: string]: Transition
}
/**
 * Amount matched so far, if the source reports it.
 */
volume?: Decimal
}
/**
 * A selection of a market: what one can bet on.
 */
export interface Selection {
/**
 * By how much the prices of the others are reduced if it is removed, in percent.
 */
adjustment_factor?: Decimal
/**
 * On an exchange, what is offered to back.
 */
back?: Ladder
/**
 * The starting price of the exchange, once it is settled.
 */
bsp?: Decimal
/**
 * The part of the stake that wins in a dead heat: `"0.5"` of two.
 */
dead_heat_factor?: Decimal
/**
 * On an exchange, the projected starting price of the bets at starting price alone.
 */
far_price?: Decimal
/**
 * On an exchange, the last traded price.
 */
last?: Decimal
/**
 * On an exchange, the best price to lay.
 */
lay?: Decimal
/**
 * On an exchange, what is offered to lay.
 */
lays?: Ladder
/**
 * The source's name.
 */
name?: string
/**
 * On an exchange, the projected starting price of all bets.
 */
near_price?: Decimal
/**
 * Its meaning, the same with every bookmaker; absent if the hub knows none.
 */
outcome?: Outcome
/**
 * The previous value of `price`.
 */
prev?: Decimal
/**
 * The best price to back: decimal odds.
 */
price?: Decimal
/**
 * When it was removed.
 */
removal_date?: Timestamp
/**
 * The status.
 */
status: SelectionStatus
/**
 * On an exchange, what was traded.
 */
traded?: Ladder
/**
 * Amount matched on the selection.
 */
volume?: Decimal
}
/**
 * A ladder of an exchange: the size by price. A rung whose size becomes 0 is deleted.
 */
export interface Ladder {
[k: string]: Decimal
}
/**
 * A change of the status of a market, or of its being in play.
 */
export interface Transition {
/**
 * When it changed.
 */
at: Timestamp
/**
 * Whether the market takes bets while the match is played, from then on.
 */
in_play: boolean
/**
 * The status from then on.
 */
status: MarketStatus
}
/**
 * The health of each source: the document of `feeds`.
 */
export interface Feeds {
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * The sources by name: `simulator`, a live or pushing source's own name, or the format and file of a recording.
 */
sources: {
[k: string]: Source
}
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
}
/**
 * The health of a source.
 */
export interface Source {
/**
 * Whether a recording has been played to its end.
 */
ended: boolean
/**
 * `simulator`, `steady`, `push`, or the format of a live source or a recording.
 */
kind: string
/**
 * When its last message was received.
 */
last?: Timestamp
/**
 * Applied messages.
 */
messages: number
/**
 * Price changes in them: rungs of ladders and last traded prices.
 */
price_changes: number
/**
 * Messages, or parts of them, that were rejected.
 */
quarantined: number
/**
 * When it entered this state.
 */
since?: Timestamp
/**
 * The state of the source.
 */
state: FeedState
/**
 * Why it is not `live`, for people.
 */
why?: string
}
/**
 * All active signals: the document of `signals`.
 */
export interface Signals {
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * The active signals by id. Signals that end are deleted.
 */
signals: {
[k: string]: Signal
}
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
}
/**
 * The best prices of all outcomes of a market form less than a fair book.
 */
export interface ArbitrageSignal {
/**
 * The name of the second side.
 */
away?: string
/**
 * When it began.
 */
began: Timestamp
/**
 * The name of the first side.
 */
home?: string
/**
 * Always `arbitrage`.
 */
kind: "arbitrage"
/**
 * One bet for each outcome.
 */
legs: ArbitrageLeg[]
/**
 * The id of the market, as on the consensus.
 */
market: string
/**
 * The id of the match.
 */
match: Id
/**
 * The profit after commission as a share of the total stake, for every outcome: `"0.0123"` is 1.23 %.
 */
profit: Decimal
/**
 * The sport of the match.
 */
sport: string
/**
 * How strong it is, from 0 to 100.
 */
strength: number
/**
 * When its numbers changed last.
 */
updated: Timestamp
}
/**
 * One bet of an arbitrage.
 */
export interface ArbitrageLeg {
/**
 * The bookmaker.
 */
bookmaker: string
/**
 * The share of winnings that the bookmaker takes as commission; absent if none.
 */
commission?: Decimal
/**
 * The outcome to bet on.
 */
outcome: Outcome
/**
 * The price: decimal odds.
 */
price: Decimal
/**
 * The share of all that is staked, from 0 to 1.
 */
stake: Decimal
}
/**
 * One bookmaker's price is well above the best of all others.
 */
export interface PriceGapSignal {
/**
 * The name of the second side.
 */
away?: string
/**
 * When it began.
 */
began: Timestamp
/**
 * The bookmaker that it is about.
 */
bookmaker: string
/**
 * The share of winnings that the bookmaker takes as commission; absent if none.
 */
commission?: Decimal
/**
 * `price` / `next_price` - 1, both after commission: `"0.0712"` is 7.12 %.
 */
gap: Decimal
/**
 * The name of the first side.
 */
home?: string
/**
 * Always `price_gap`.
 */
kind: "price_gap"
/**
 * The id of the market, as on the consensus.
 */
market: string
/**
 * The id of the match.
 */
match: Id
/**
 * The bookmaker with the best price of the others.
 */
next_bookmaker: string
/**
 * The same of the bookmaker with the best price of the others.
 */
next_commission?: Decimal
/**
 * The best price of the others.
 */
next_price: Decimal
/**
 * The outcome that it is about.
 */
outcome: Outcome
/**
 * The price: decimal odds.
 */
price: Decimal
/**
 * The sport of the match.
 */
sport: string
/**
 * How strong it is, from 0 to 100.
 */
strength: number
/**
 * When its numbers changed last.
 */
updated: Timestamp
}
/**
 * The best price is above the fair one.
 */
export interface ValueSignal {
/**
 * The name of the second side.
 */
away?: string
/**
 * When it began.
 */
began: Timestamp
/**
 * The bookmaker that it is about.
 */
bookmaker: string
/**
 * The number of bookmakers that quote the outcome.
 */
bookmakers: number
/**
 * The share of winnings that the bookmaker takes as commission; absent if none.
 */
commission?: Decimal
/**
 * The price implied by the medians, without their margin.
 */
fair_price: Decimal
/**
 * The name of the first side.
 */
home?: string
/**
 * Always `value`.
 */
kind: "value"
/**
 * The id of the market, as on the consensus.
 */
market: string
/**
 * The id of the match.
 */
match: Id
/**
 * The outcome that it is about.
 */
outcome: Outcome
/**
 * The price: decimal odds.
 */
price: Decimal
/**
 * The probability implied by the medians, without their margin: from 0 to 1.
 */
probability: Decimal
/**
 * The sport of the match.
 */
sport: string
/**
 * How strong it is, from 0 to 100.
 */
strength: number
/**
 * When its numbers changed last.
 */
updated: Timestamp
/**
 * `price` × `probability` - 1, the price after commission: `"0.0531"` is 5.31 %.
 */
value: Decimal
}
/**
 * Several bookmakers have moved a price in one direction within a short time.
 */
export interface SteamSignal {
/**
 * The name of the second side.
 */
away?: string
/**
 * When it began.
 */
began: Timestamp
/**
 * The mean of the moves: `"-0.0312"` if prices fell by 3.12 %.
 */
change: Decimal
/**
 * The direction.
 */
direction: Direction
/**
 * The name of the first side.
 */
home?: string
/**
 * Always `steam`.
 */
kind: "steam"
/**
 * The id of the market, as on the consensus.
 */
market: string
/**
 * The id of the match.
 */
match: Id
/**
 * The bookmakers that moved.
 */
moved: string[]
/**
 * The outcome that it is about.
 */
outcome: Outcome
/**
 * The sport of the match.
 */
sport: string
/**
 * How strong it is, from 0 to 100.
 */
strength: number
/**
 * When its numbers changed last.
 */
updated: Timestamp
}
/**
 * One bookmaker has suspended a market in which others trade.
 */
export interface SuspendedSignal {
/**
 * The name of the second side.
 */
away?: string
/**
 * When it began.
 */
began: Timestamp
/**
 * The bookmaker that it is about.
 */
bookmaker: string
/**
 * The name of the first side.
 */
home?: string
/**
 * Always `suspended`.
 */
kind: "suspended"
/**
 * The id of the market, as on the consensus.
 */
market: string
/**
 * The id of the match.
 */
match: Id
/**
 * The number of bookmakers that trade.
 */
open_bookmakers: number
/**
 * The sport of the match.
 */
sport: string
/**
 * How strong it is, from 0 to 100.
 */
strength: number
/**
 * The number of bookmakers that have suspended it.
 */
suspended_bookmakers: number
/**
 * When its numbers changed last.
 */
updated: Timestamp
}
/**
 * One side has most of the attacks of the last minutes, or of the last points.
 */
export interface MomentumSignal {
/**
 * The name of the second side.
 */
away?: string
/**
 * When it began.
 */
began: Timestamp
/**
 * The name of the first side.
 */
home?: string
/**
 * Always `momentum`.
 */
kind: "momentum"
/**
 * The id of the match.
 */
match: Id
/**
 * Its share of all attacks or points, from 0 to 1.
 */
share: Decimal
/**
 * The side.
 */
side: MomentumSide
/**
 * The sport of the match.
 */
sport: string
/**
 * How strong it is, from 0 to 100.
 */
strength: number
/**
 * When its numbers changed last.
 */
updated: Timestamp
}
/**
 * The document of a channel that has just opened, at sequence 0. Its first update, moments later, brings everything else.
 */
export interface OpeningDocument {
/**
 * The state of the source on which the document depends.
 */
feed: FeedState
/**
 * The life cycle of what the document describes.
 */
life: Life
/**
 * Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for this long.
 */
stale_after_ms: number
}
/**
 * A goal of a football match.
 */
export interface Goal {
/**
 * Minutes of stoppage time beyond `minute`; absent outside of stoppage time.
 */
added?: number
/**
 * The player who assisted, or who comes on.
 */
assist?: Participant
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `goal`.
 */
kind: "goal"
/**
 * Minutes: the minute in progress, so that 17:58 on the clock is 18. In stoppage time it is 45 or 90 (105, 120).
 */
minute: number
/**
 * The scorer, the booked player, or the player who goes off.
 */
player?: Participant
/**
 * After a goal, the score; of a kick of the shoot-out, the score in it. Other incidents have it if their source reports it.
 */
score?: HomeAway
/**
 * The side; of a goal, also an own goal, the side that it counts for.
 */
side?: Side
/**
 * How it was scored.
 */
type: GoalType
}
/**
 * A card of a football match.
 */
export interface Card {
/**
 * Minutes of stoppage time beyond `minute`; absent outside of stoppage time.
 */
added?: number
/**
 * The player who assisted, or who comes on.
 */
assist?: Participant
/**
 * The colour.
 */
card: CardKind
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `card`.
 */
kind: "card"
/**
 * Minutes: the minute in progress, so that 17:58 on the clock is 18. In stoppage time it is 45 or 90 (105, 120).
 */
minute: number
/**
 * The scorer, the booked player, or the player who goes off.
 */
player?: Participant
/**
 * After a goal, the score; of a kick of the shoot-out, the score in it. Other incidents have it if their source reports it.
 */
score?: HomeAway
/**
 * The side; of a goal, also an own goal, the side that it counts for.
 */
side?: Side
}
/**
 * A substitution of a football match: `player` goes off, `assist` comes on.
 */
export interface Substitution {
/**
 * Minutes of stoppage time beyond `minute`; absent outside of stoppage time.
 */
added?: number
/**
 * The player who assisted, or who comes on.
 */
assist?: Participant
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `substitution`.
 */
kind: "substitution"
/**
 * Minutes: the minute in progress, so that 17:58 on the clock is 18. In stoppage time it is 45 or 90 (105, 120).
 */
minute: number
/**
 * The scorer, the booked player, or the player who goes off.
 */
player?: Participant
/**
 * After a goal, the score; of a kick of the shoot-out, the score in it. Other incidents have it if their source reports it.
 */
score?: HomeAway
/**
 * The side; of a goal, also an own goal, the side that it counts for.
 */
side?: Side
}
/**
 * A penalty of a football match that was not scored.
 */
export interface PenaltyMissed {
/**
 * Minutes of stoppage time beyond `minute`; absent outside of stoppage time.
 */
added?: number
/**
 * The player who assisted, or who comes on.
 */
assist?: Participant
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `penalty_missed`.
 */
kind: "penalty_missed"
/**
 * Minutes: the minute in progress, so that 17:58 on the clock is 18. In stoppage time it is 45 or 90 (105, 120).
 */
minute: number
/**
 * The scorer, the booked player, or the player who goes off.
 */
player?: Participant
/**
 * After a goal, the score; of a kick of the shoot-out, the score in it. Other incidents have it if their source reports it.
 */
score?: HomeAway
/**
 * The side; of a goal, also an own goal, the side that it counts for.
 */
side?: Side
}
/**
 * A check by the video assistant.
 */
export interface Var {
/**
 * Minutes of stoppage time beyond `minute`; absent outside of stoppage time.
 */
added?: number
/**
 * The player who assisted, or who comes on.
 */
assist?: Participant
/**
 * The decision.
 */
decision: VarDecision
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `var`.
 */
kind: "var"
/**
 * Minutes: the minute in progress, so that 17:58 on the clock is 18. In stoppage time it is 45 or 90 (105, 120).
 */
minute: number
/**
 * The scorer, the booked player, or the player who goes off.
 */
player?: Participant
/**
 * After a goal, the score; of a kick of the shoot-out, the score in it. Other incidents have it if their source reports it.
 */
score?: HomeAway
/**
 * The side; of a goal, also an own goal, the side that it counts for.
 */
side?: Side
}
/**
 * A football match enters another status.
 */
export interface Period {
/**
 * Minutes of stoppage time beyond `minute`; absent outside of stoppage time.
 */
added?: number
/**
 * The player who assisted, or who comes on.
 */
assist?: Participant
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `period`.
 */
kind: "period"
/**
 * Minutes: the minute in progress, so that 17:58 on the clock is 18. In stoppage time it is 45 or 90 (105, 120).
 */
minute: number
/**
 * The scorer, the booked player, or the player who goes off.
 */
player?: Participant
/**
 * After a goal, the score; of a kick of the shoot-out, the score in it. Other incidents have it if their source reports it.
 */
score?: HomeAway
/**
 * The side; of a goal, also an own goal, the side that it counts for.
 */
side?: Side
/**
 * The status that began.
 */
status: FootballStatus
}
/**
 * A kick of the shoot-out of a football match.
 */
export interface Shootout {
/**
 * Minutes of stoppage time beyond `minute`; absent outside of stoppage time.
 */
added?: number
/**
 * The player who assisted, or who comes on.
 */
assist?: Participant
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `shootout`.
 */
kind: "shootout"
/**
 * Minutes: the minute in progress, so that 17:58 on the clock is 18. In stoppage time it is 45 or 90 (105, 120).
 */
minute: number
/**
 * The scorer, the booked player, or the player who goes off.
 */
player?: Participant
/**
 * After a goal, the score; of a kick of the shoot-out, the score in it. Other incidents have it if their source reports it.
 */
score?: HomeAway
/**
 * Whether the kick was scored.
 */
scored: boolean
/**
 * The side; of a goal, also an own goal, the side that it counts for.
 */
side?: Side
}
/**
 * An earlier event of a football or tennis match is taken back. The patch of the same update has the score too.
 */
export interface Retract {
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `retract`.
 */
kind: "retract"
/**
 * The `eid` of the retracted event.
 */
of: string
/**
 * Football: the current score.
 */
score?: HomeAway
/**
 * Why, as one word: `offside`.
 */
why: string
}
/**
 * An incident of a football match is corrected, and has these fields now; or, with `of` `"score"`, the score decreased without a retracted incident, and `score` is the current one.
 */
export interface FootballCorrect {
/**
 * Minutes of stoppage time beyond `minute`; absent outside of stoppage time.
 */
added?: number
/**
 * The player who assisted, or who comes on.
 */
assist?: Participant
/**
 * Of a VAR check: the decision.
 */
decision?: VarDecision
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `correct`.
 */
kind: "correct"
/**
 * Minutes: the minute in progress, so that 17:58 on the clock is 18. In stoppage time it is 45 or 90 (105, 120).
 */
minute?: number
/**
 * The `eid` of the incident, or `score`.
 */
of: string
/**
 * The scorer, the booked player, or the player who goes off.
 */
player?: Participant
/**
 * After a goal, the score; of a kick of the shoot-out, the score in it. Other incidents have it if their source reports it.
 */
score?: HomeAway
/**
 * Of a kick of the shoot-out: whether it was scored.
 */
scored?: boolean
/**
 * The side; of a goal, also an own goal, the side that it counts for.
 */
side?: Side
/**
 * Of a period: the status that began.
 */
status?: FootballStatus
/**
 * Of a goal: how it was scored.
 */
type?: GoalType
}
/**
 * A point of a tennis match.
 */
export interface Point {
/**
 * When it happened, if the source says.
 */
at?: Timestamp
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * How it was won, if the source reports it.
 */
how?: PointKind
/**
 * Always `point`.
 */
kind: "point"
/**
 * The number of the point in the match.
 */
point: number
/**
 * The side that served.
 */
server: PlayerNumber
/**
 * The number of the set, from 1.
 */
set: number
/**
 * The side that won it.
 */
winner: PlayerNumber
}
/**
 * A point ended a game. It follows the point in the same update.
 */
export interface GameWon {
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * The games of that set.
 */
games?: PlayerPair
/**
 * Always `game`.
 */
kind: "game"
/**
 * The number of the set, from 1.
 */
set: number
/**
 * The side that won it.
 */
winner: PlayerNumber
}
/**
 * A point ended a set. It follows the point and its game in the same update.
 */
export interface SetWon {
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * The games of that set.
 */
games?: PlayerPair
/**
 * Always `set`.
 */
kind: "set"
/**
 * The number of the set, from 1.
 */
set: number
/**
 * The side that won it.
 */
winner: PlayerNumber
}
/**
 * A point ended the match. It follows the point, its game and its set in the same update.
 */
export interface MatchWon {
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * The games of that set.
 */
games?: PlayerPair
/**
 * Always `match`.
 */
kind: "match"
/**
 * The number of the set, from 1.
 */
set: number
/**
 * The side that won it.
 */
winner: PlayerNumber
}
/**
 * The score of a tennis match decreased without a retracted point. The current score is in the patch.
 */
export interface TennisCorrect {
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `correct`.
 */
kind: "correct"
/**
 * Always `score`.
 */
of: "score"
}
/**
 * The score increased.
 */
export interface ScoreChange {
/**
 * When it happened, if the source says.
 */
at?: Timestamp
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `score`.
 */
kind: "score"
/**
 * The part in progress, as the source names it.
 */
period?: string
/**
 * The score now.
 */
score: HomeAway
}
/**
 * The match has ended.
 */
export interface Finish {
/**
 * When it happened, if the source says.
 */
at?: Timestamp
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `finish`.
 */
kind: "finish"
/**
 * The final score.
 */
score?: HomeAway
/**
 * The status now.
 */
status: ScoreboardStatus
/**
 * The winner.
 */
winner?: Side
}
/**
 * A score decreased, or a match had not ended.
 */
export interface ScoreboardCorrect {
/**
 * When it happened, if the source says.
 */
at?: Timestamp
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `correct`.
 */
kind: "correct"
/**
 * The `eid` of the `score` or the `finish` that was wrong.
 */
of: string
/**
 * The current score.
 */
score?: HomeAway
/**
 * The current status.
 */
status: ScoreboardStatus
}
/**
 * A race has begun.
 */
export interface Off {
/**
 * When it happened, if the source says.
 */
at?: Timestamp
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `off`.
 */
kind: "off"
}
/**
 * A race has ended.
 */
export interface RaceFinish {
/**
 * When it happened, if the source says.
 */
at?: Timestamp
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `finish`.
 */
kind: "finish"
/**
 * The order of the runners, the winner first.
 */
order: Place[]
}
/**
 * A runner's place in a race.
 */
export interface Place {
/**
 * The id of the runner, as in `runners`.
 */
id: number
/**
 * The place: 1 is first.
 */
position: number
}
/**
 * A race had not ended, or its order has changed.
 */
export interface RaceCorrect {
/**
 * When it happened, if the source says.
 */
at?: Timestamp
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `correct`.
 */
kind: "correct"
/**
 * The `eid` of the wrong `finish`.
 */
of: string
/**
 * The current order of the runners, the winner first.
 */
order: Place[]
/**
 * The current status.
 */
status: RaceStatus
}
/**
 * A market that was not known opens.
 */
export interface MarketOpen {
/**
 * Of a book: when it happened.
 */
at?: Timestamp
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Of a book: whether the market takes bets while the match is played.
 */
in_play?: boolean
/**
 * Always `open`.
 */
kind: "open"
/**
 * The id of the market.
 */
market: string
/**
 * The status of the market now.
 */
status: MarketStatus
}
/**
 * A market is suspended. Its prices no longer count.
 */
export interface MarketSuspend {
/**
 * Of a book: when it happened.
 */
at?: Timestamp
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Of a book: whether the market takes bets while the match is played.
 */
in_play?: boolean
/**
 * Always `suspend`.
 */
kind: "suspend"
/**
 * The id of the market.
 */
market: string
/**
 * The status of the market now.
 */
status: MarketStatus
}
/**
 * A market opens again.
 */
export interface MarketResume {
/**
 * Of a book: when it happened.
 */
at?: Timestamp
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Of a book: whether the market takes bets while the match is played.
 */
in_play?: boolean
/**
 * Always `resume`.
 */
kind: "resume"
/**
 * The id of the market.
 */
market: string
/**
 * The status of the market now.
 */
status: MarketStatus
}
/**
 * A market that was settled is not any more: it takes bets, or it is suspended. Its next settlement is a `correct`.
 */
export interface MarketReopen {
/**
 * Of a book: when it happened.
 */
at?: Timestamp
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Of a book: whether the market takes bets while the match is played.
 */
in_play?: boolean
/**
 * Always `reopen`.
 */
kind: "reopen"
/**
 * The id of the market.
 */
market: string
/**
 * The status of the market now.
 */
status: MarketStatus
}
/**
 * A market of a book takes bets while the match is played from now on, or no longer does. Its status is as before.
 */
export interface MarketInPlay {
/**
 * Of a book: when it happened.
 */
at?: Timestamp
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Of a book: whether the market takes bets while the match is played.
 */
in_play?: boolean
/**
 * Always `in_play`.
 */
kind: "in_play"
/**
 * The id of the market.
 */
market: string
/**
 * The status of the market now.
 */
status: MarketStatus
}
/**
 * A market is closed and settled.
 */
export interface MarketSettle {
/**
 * Of a book: when it happened.
 */
at?: Timestamp
/**
 * Of a book: the part of the stake that wins, by the id of the winner, in a dead heat.
 */
dead_heat_factors?: {
[k: string]: Decimal
}
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Of a book: whether the market takes bets while the match is played.
 */
in_play?: boolean
/**
 * Always `settle`.
 */
kind: "settle"
/**
 * The id of the market.
 */
market: string
/**
 * Of a book: the result of each selection by its id, if one is `half_won`, `half_lost` or `push`.
 */
results?: {
[k: string]: SelectionStatus
}
/**
 * The status of the market now.
 */
status: MarketStatus
/**
 * The selections that won at least half of the stake: ids in a book, outcomes in the consensus.
 */
winners: string[]
}
/**
 * A market is settled again.
 */
export interface SettlementCorrect {
/**
 * As in `settle`.
 */
dead_heat_factors?: {
[k: string]: Decimal
}
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `correct`.
 */
kind: "correct"
/**
 * The id of the market.
 */
market: string
/**
 * The `eid` of the earlier `settle`.
 */
of?: string
/**
 * As in `settle`.
 */
results?: {
[k: string]: SelectionStatus
}
/**
 * Of the consensus: the status of the market.
 */
status?: MarketStatus
/**
 * The selections that have won at least half of the stake now: ids in a book, outcomes in the consensus.
 */
winners: string[]
}
/**
 * The hub suspends a whole book.
 */
export interface Hold {
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `suspend`.
 */
kind: "suspend"
/**
 * The `eid` of the incident in the match, if one is the reason.
 */
of?: string
/**
 * Why.
 */
why: HoldReason
}
/**
 * The hub no longer suspends a whole book.
 */
export interface HoldEnd {
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `resume`.
 */
kind: "resume"
/**
 * The `eid` of its `suspend`.
 */
of: string
}
/**
 * A signal begins.
 */
export interface SignalStart {
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * The id of the signal, as in the document.
 */
id: string
/**
 * Always `signal`.
 */
kind: "signal"
/**
 * The signal.
 */
signal: Signal
}
/**
 * A signal has ended.
 */
export interface SignalEnd {
/**
 * When it ended.
 */
at: Timestamp
/**
 * Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the document.
 */
eid: string
/**
 * Always `signal_end`.
 */
kind: "signal_end"
/**
 * The id of the signal.
 */
of: string
}
export interface Matches {
basketball: BasketballMatch
csgo: Cs2Match
darts: DartsMatch
football: FootballMatch
hockey: HockeyMatch
horseracing: HorseRace
tennis: TennisMatch
}
export interface Boards {
basketball: BasketballBoard
csgo: Cs2Board
darts: DartsBoard
feeds: Feeds
football: FootballBoard
hockey: HockeyBoard
horseracing: HorseRacingBoard
signals: Signals
tennis: TennisBoard
}
