"""The documents of channels, as types for type checkers: `hub.follow(ch, document=FootballMatch)`.

Written by tools/documents.py from tools/schema/documents.schema.json, with which the hub is tested. Do not edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

__all__ = [
    "ArbitrageLeg",
    "ArbitrageSignal",
    "Ball",
    "BasketballBoard",
    "BasketballMatch",
    "Clock",
    "Competition",
    "ConsensusMarket",
    "ConsensusOdds",
    "ConsensusSelection",
    "Cs2Board",
    "Cs2Match",
    "DartsBoard",
    "DartsMatch",
    "Decimal",
    "Direction",
    "Document",
    "FeedState",
    "Feeds",
    "FootballBoard",
    "FootballMatch",
    "FootballRow",
    "FootballScore",
    "FootballStatus",
    "GoalType",
    "HockeyBoard",
    "HockeyMatch",
    "HomeAway",
    "HorseRace",
    "HorseRacingBoard",
    "HorseRacingRow",
    "Id",
    "Incident",
    "IncidentKind",
    "Ladder",
    "Life",
    "Market",
    "MarketStatus",
    "MomentumSide",
    "MomentumSignal",
    "Odds",
    "OpeningDocument",
    "Outcome",
    "Participant",
    "PeriodStarts",
    "PlayerNumber",
    "PlayerPair",
    "PriceGapSignal",
    "RaceStatus",
    "Runner",
    "RunnerStatus",
    "ScoreboardRow",
    "ScoreboardStatus",
    "Selection",
    "SelectionStatus",
    "Seq",
    "Side",
    "SideStats",
    "Signal",
    "Signals",
    "Situation",
    "Source",
    "Stats",
    "SteamSignal",
    "SuspendedSignal",
    "TennisBoard",
    "TennisGame",
    "TennisMatch",
    "TennisRow",
    "TennisSet",
    "TennisStatus",
    "Timestamp",
    "Transition",
    "ValueSignal",
    "VarDecision",
]

if TYPE_CHECKING:
    from typing_extensions import NotRequired


Decimal: TypeAlias = str


Direction: TypeAlias = Literal["shortening", "drifting"]


FeedState: TypeAlias = Literal["live", "late", "down", "recovering"]


FootballStatus: TypeAlias = Literal[
    "not_started",
    "first_half",
    "half_time",
    "second_half",
    "extra_first",
    "extra_half",
    "extra_second",
    "penalties",
    "finished",
    "postponed",
    "abandoned",
    "cancelled",
    "live",
    "interrupted",
]


GoalType: TypeAlias = Literal["regular", "penalty", "own_goal"]


class HomeAway(TypedDict):
    """
    A count of each side.
    """

    away: int
    home: int


Id: TypeAlias = int


IncidentKind: TypeAlias = Literal[
    "goal", "yellow", "second_yellow", "red", "substitution", "penalty_missed", "var", "period", "shootout"
]


Ladder: TypeAlias = dict[str, Decimal]
"""
A ladder of an exchange: the size by price. A rung whose size becomes 0 is deleted.
"""


Life: TypeAlias = Literal["prematch", "live", "suspended", "ended"]


MarketStatus: TypeAlias = Literal["inactive", "open", "suspended", "closed"]


MomentumSide: TypeAlias = Literal["first", "second"]


class OpeningDocument(TypedDict):
    """
    The document of a channel that has just opened, at sequence 0. Its first update, moments later, brings everything else.
    """

    feed: FeedState
    life: Life
    stale_after_ms: int


Outcome: TypeAlias = Literal["home", "draw", "away", "p1", "p2", "over", "under", "yes", "no"]


class Participant(TypedDict):
    """
    A team, a player, or a pair of players.
    """

    id: Id
    name: str


PlayerNumber: TypeAlias = Literal[1, 2]


class PlayerPair(TypedDict):
    """
    A count of each side of a tennis match.
    """

    p1: int
    p2: int


RaceStatus: TypeAlias = Literal["not_started", "at_the_post", "off", "finished", "abandoned"]


RunnerStatus: TypeAlias = Literal["active", "non_runner", "fell", "pulled_up", "disqualified", "finished"]


ScoreboardStatus: TypeAlias = Literal["not_started", "live", "interrupted", "finished", "postponed", "abandoned", "cancelled"]


SelectionStatus: TypeAlias = Literal["active", "winner", "loser", "removed", "half_won", "half_lost", "push"]


Seq: TypeAlias = int


Side: TypeAlias = Literal["home", "away"]


class SideStats(TypedDict):
    """
    Counts of a side by name. No source reports all of them.
    """

    accurate_passes: NotRequired[int]
    attacks: NotRequired[int]
    ball_possession: NotRequired[int]
    blocked_shots: NotRequired[int]
    corner_kicks: NotRequired[int]
    dangerous_attacks: NotRequired[int]
    fouls: NotRequired[int]
    free_kicks: NotRequired[int]
    goal_kicks: NotRequired[int]
    offsides: NotRequired[int]
    passes: NotRequired[int]
    red_cards: NotRequired[int]
    saves: NotRequired[int]
    shots_off_target: NotRequired[int]
    shots_on_target: NotRequired[int]
    throw_ins: NotRequired[int]
    total_shots: NotRequired[int]
    yellow_cards: NotRequired[int]


Situation: TypeAlias = Literal[
    "possession",
    "attack",
    "dangerous",
    "safe",
    "corner",
    "freekick",
    "throwin",
    "goalkick",
    "penalty",
    "shotontarget",
    "shotofftarget",
    "goal",
    "offside",
    "injury",
    "substitution",
]


class Stats(TypedDict):
    """
    Counts of both sides of a football match.
    """

    away: SideStats
    home: SideStats


class TennisGame(TypedDict):
    """
    The points of a game: `"0"`, `"15"`, `"30"`, `"40"`, `"A"`, or the points of a tie-break.
    """

    p1: str
    p2: str


class TennisSet(TypedDict):
    """
    The score of a set.
    """

    p1: int
    p2: int
    tb: NotRequired[PlayerPair]


TennisStatus: TypeAlias = Literal["not_started", "live", "interrupted", "finished", "retired", "walkover", "cancelled"]


Timestamp: TypeAlias = int


class Transition(TypedDict):
    """
    A change of the status of a market, or of its being in play.
    """

    at: Timestamp
    in_play: bool
    status: MarketStatus


class ValueSignal(TypedDict):
    """
    The best price is above the fair one.
    """

    away: NotRequired[str]
    began: Timestamp
    bookmaker: str
    bookmakers: int
    commission: NotRequired[Decimal]
    fair_price: Decimal
    home: NotRequired[str]
    kind: Literal["value"]
    market: str
    match: Id
    outcome: Outcome
    price: Decimal
    probability: Decimal
    sport: str
    strength: int
    updated: Timestamp
    value: Decimal


VarDecision: TypeAlias = Literal["checking", "confirmed", "overturned"]


class ArbitrageLeg(TypedDict):
    """
    One bet of an arbitrage.
    """

    bookmaker: str
    commission: NotRequired[Decimal]
    outcome: Outcome
    price: Decimal
    stake: Decimal


class ArbitrageSignal(TypedDict):
    """
    The best prices of all outcomes of a market form less than a fair book.
    """

    away: NotRequired[str]
    began: Timestamp
    home: NotRequired[str]
    kind: Literal["arbitrage"]
    legs: list[ArbitrageLeg]
    market: str
    match: Id
    profit: Decimal
    sport: str
    strength: int
    updated: Timestamp


class Ball(TypedDict):
    """
    Where the ball is, seen from the side that has it.
    """

    side: Side
    situation: Situation
    x: float
    y: float


class Clock(TypedDict):
    """
    A match clock. While it runs it shows `s` and the seconds since `at`, by the clock of the hub (`now` of `hello`, `beat`, `pong`).
    """

    at: Timestamp
    running: bool
    s: int


class Competition(TypedDict):
    """
    A competition: a league, a cup, a tournament.
    """

    id: Id
    name: str
    season: NotRequired[str]


class ConsensusSelection(TypedDict):
    """
    A selection of the consensus. All fields but `status` are absent while no bookmaker offers a price.
    """

    best: NotRequired[str]
    bookmakers: NotRequired[int]
    median: NotRequired[Decimal]
    oldest: NotRequired[Timestamp]
    price: NotRequired[Decimal]
    status: SelectionStatus


class Cs2Match(TypedDict):
    """
    A match that is followed by its scoreboard. The document of `csgo/{id}`.
    """

    away: NotRequired[Participant]
    clock: NotRequired[Clock]
    competition: NotRequired[Competition]
    feed: FeedState
    home: NotRequired[Participant]
    id: Id
    life: Life
    period: NotRequired[str]
    periods: NotRequired[dict[str, HomeAway]]
    refs: dict[str, str]
    score: NotRequired[HomeAway]
    sport: Literal["csgo"]
    stale_after_ms: int
    start: NotRequired[Timestamp]
    status: ScoreboardStatus
    winner: NotRequired[Side]


class DartsMatch(TypedDict):
    """
    A match that is followed by its scoreboard. The document of `darts/{id}`.
    """

    away: NotRequired[Participant]
    clock: NotRequired[Clock]
    competition: NotRequired[Competition]
    feed: FeedState
    home: NotRequired[Participant]
    id: Id
    life: Life
    period: NotRequired[str]
    periods: NotRequired[dict[str, HomeAway]]
    refs: dict[str, str]
    score: NotRequired[HomeAway]
    sport: Literal["darts"]
    stale_after_ms: int
    start: NotRequired[Timestamp]
    status: ScoreboardStatus
    winner: NotRequired[Side]


class FootballScore(TypedDict):
    """
    The score of a football match.
    """

    away: int
    et: NotRequired[HomeAway]
    home: int
    ht: NotRequired[HomeAway]
    pens: NotRequired[HomeAway]


class HockeyMatch(TypedDict):
    """
    A match that is followed by its scoreboard. The document of `hockey/{id}`.
    """

    away: NotRequired[Participant]
    clock: NotRequired[Clock]
    competition: NotRequired[Competition]
    feed: FeedState
    home: NotRequired[Participant]
    id: Id
    life: Life
    period: NotRequired[str]
    periods: NotRequired[dict[str, HomeAway]]
    refs: dict[str, str]
    score: NotRequired[HomeAway]
    sport: Literal["hockey"]
    stale_after_ms: int
    start: NotRequired[Timestamp]
    status: ScoreboardStatus
    winner: NotRequired[Side]


class HorseRacingRow(TypedDict):
    """
    A race on the board. The fields are those of `HorseRace`.
    """

    away: NotRequired[Participant]
    competition: NotRequired[Competition]
    country: NotRequired[str]
    course: NotRequired[str]
    distance: NotRequired[str]
    home: NotRequired[Participant]
    life: Life
    name: NotRequired[str]
    start: NotRequired[Timestamp]
    status: RaceStatus


class Incident(TypedDict):
    """
    An incident of a football match.
    """

    added: NotRequired[int]
    assist: NotRequired[Participant]
    decision: NotRequired[VarDecision]
    kind: IncidentKind
    minute: int
    n: int
    player: NotRequired[Participant]
    retracted: NotRequired[Literal[True]]
    score: NotRequired[HomeAway]
    scored: NotRequired[bool]
    side: NotRequired[Side]
    status: NotRequired[FootballStatus]
    type: NotRequired[GoalType]
    why: NotRequired[str]


class MomentumSignal(TypedDict):
    """
    One side has most of the attacks of the last minutes, or of the last points.
    """

    away: NotRequired[str]
    began: Timestamp
    home: NotRequired[str]
    kind: Literal["momentum"]
    match: Id
    share: Decimal
    side: MomentumSide
    sport: str
    strength: int
    updated: Timestamp


class PeriodStarts(TypedDict):
    """
    When each period of a football match began, by the clock of the source that reports it. The schedule does not count.
    """

    extra_first: NotRequired[Timestamp]
    extra_second: NotRequired[Timestamp]
    first_half: NotRequired[Timestamp]
    second_half: NotRequired[Timestamp]
    shootout: NotRequired[Timestamp]


class PriceGapSignal(TypedDict):
    """
    One bookmaker's price is well above the best of all others.
    """

    away: NotRequired[str]
    began: Timestamp
    bookmaker: str
    commission: NotRequired[Decimal]
    gap: Decimal
    home: NotRequired[str]
    kind: Literal["price_gap"]
    market: str
    match: Id
    next_bookmaker: str
    next_commission: NotRequired[Decimal]
    next_price: Decimal
    outcome: Outcome
    price: Decimal
    sport: str
    strength: int
    updated: Timestamp


class Runner(TypedDict):
    """
    A runner of a race.
    """

    jockey: NotRequired[str]
    name: str
    number: NotRequired[int]
    position: NotRequired[int]
    status: RunnerStatus


class ScoreboardRow(TypedDict):
    """
    A match on the board of a sport that is followed by its scoreboard. The fields are those of `ScoreboardMatch`.
    """

    away: NotRequired[Participant]
    clock: NotRequired[Clock]
    competition: NotRequired[Competition]
    home: NotRequired[Participant]
    life: Life
    period: NotRequired[str]
    periods: NotRequired[dict[str, HomeAway]]
    score: NotRequired[HomeAway]
    start: NotRequired[Timestamp]
    status: ScoreboardStatus
    winner: NotRequired[Side]


class Selection(TypedDict):
    """
    A selection of a market: what one can bet on.
    """

    adjustment_factor: NotRequired[Decimal]
    back: NotRequired[Ladder]
    bsp: NotRequired[Decimal]
    dead_heat_factor: NotRequired[Decimal]
    far_price: NotRequired[Decimal]
    last: NotRequired[Decimal]
    lay: NotRequired[Decimal]
    lays: NotRequired[Ladder]
    name: NotRequired[str]
    near_price: NotRequired[Decimal]
    outcome: NotRequired[Outcome]
    prev: NotRequired[Decimal]
    price: NotRequired[Decimal]
    removal_date: NotRequired[Timestamp]
    status: SelectionStatus
    traded: NotRequired[Ladder]
    volume: NotRequired[Decimal]


class Source(TypedDict):
    """
    The health of a source.
    """

    ended: bool
    kind: str
    last: NotRequired[Timestamp]
    messages: int
    price_changes: int
    quarantined: int
    since: NotRequired[Timestamp]
    state: FeedState
    why: NotRequired[str]


class SteamSignal(TypedDict):
    """
    Several bookmakers have moved a price in one direction within a short time.
    """

    away: NotRequired[str]
    began: Timestamp
    change: Decimal
    direction: Direction
    home: NotRequired[str]
    kind: Literal["steam"]
    market: str
    match: Id
    moved: list[str]
    outcome: Outcome
    sport: str
    strength: int
    updated: Timestamp


class SuspendedSignal(TypedDict):
    """
    One bookmaker has suspended a market in which others trade.
    """

    away: NotRequired[str]
    began: Timestamp
    bookmaker: str
    home: NotRequired[str]
    kind: Literal["suspended"]
    market: str
    match: Id
    open_bookmakers: int
    sport: str
    strength: int
    suspended_bookmakers: int
    updated: Timestamp


class TennisMatch(TypedDict):
    """
    A tennis match: the document of `tennis/{id}`.
    """

    competition: NotRequired[Competition]
    feed: FeedState
    game: NotRequired[TennisGame]
    id: Id
    life: Life
    p1: NotRequired[Participant]
    p2: NotRequired[Participant]
    points: NotRequired[int]
    refs: dict[str, str]
    server: NotRequired[PlayerNumber]
    sets: NotRequired[dict[str, TennisSet]]
    sport: Literal["tennis"]
    stale_after_ms: int
    start: NotRequired[Timestamp]
    status: TennisStatus
    winner: NotRequired[PlayerNumber]


class TennisRow(TypedDict):
    """
    A tennis match on the board. The fields are those of `TennisMatch`.
    """

    competition: NotRequired[Competition]
    game: NotRequired[TennisGame]
    life: Life
    p1: NotRequired[Participant]
    p2: NotRequired[Participant]
    server: NotRequired[PlayerNumber]
    sets: NotRequired[dict[str, TennisSet]]
    start: NotRequired[Timestamp]
    status: TennisStatus


class BasketballBoard(TypedDict):
    """
    The board of a sport that is followed by its scoreboard. The document of `basketball`.
    """

    feed: FeedState
    life: Life
    matches: dict[str, ScoreboardRow]
    stale_after_ms: int


class BasketballMatch(TypedDict):
    """
    A match that is followed by its scoreboard. The document of `basketball/{id}`.
    """

    away: NotRequired[Participant]
    clock: NotRequired[Clock]
    competition: NotRequired[Competition]
    feed: FeedState
    home: NotRequired[Participant]
    id: Id
    life: Life
    period: NotRequired[str]
    periods: NotRequired[dict[str, HomeAway]]
    refs: dict[str, str]
    score: NotRequired[HomeAway]
    sport: Literal["basketball"]
    stale_after_ms: int
    start: NotRequired[Timestamp]
    status: ScoreboardStatus
    winner: NotRequired[Side]


class ConsensusMarket(TypedDict):
    """
    A market of the consensus.
    """

    in_play: bool
    kind: str
    line: NotRequired[Decimal]
    overround: NotRequired[Decimal]
    period: NotRequired[str]
    selections: NotRequired[dict[str, ConsensusSelection]]
    status: MarketStatus


class ConsensusOdds(TypedDict):
    """
    The consensus of all bookmakers on a match: the document of `{sport}/{id}/odds`. It has the markets that have the same meaning with every bookmaker.
    """

    feed: FeedState
    life: Life
    markets: dict[str, ConsensusMarket]
    match_seq: NotRequired[Seq]
    stale_after_ms: int
    suspended: bool


class Cs2Board(TypedDict):
    """
    The board of a sport that is followed by its scoreboard. The document of `csgo`.
    """

    feed: FeedState
    life: Life
    matches: dict[str, ScoreboardRow]
    stale_after_ms: int


class DartsBoard(TypedDict):
    """
    The board of a sport that is followed by its scoreboard. The document of `darts`.
    """

    feed: FeedState
    life: Life
    matches: dict[str, ScoreboardRow]
    stale_after_ms: int


class Feeds(TypedDict):
    """
    The health of each source: the document of `feeds`.
    """

    feed: FeedState
    life: Life
    sources: dict[str, Source]
    stale_after_ms: int


class FootballMatch(TypedDict):
    """
    A football match: the document of `football/{id}`.
    """

    away: NotRequired[Participant]
    ball: NotRequired[Ball]
    clock: NotRequired[Clock]
    competition: NotRequired[Competition]
    feed: FeedState
    home: NotRequired[Participant]
    id: Id
    incidents: dict[str, Incident]
    life: Life
    period_starts: NotRequired[PeriodStarts]
    refs: dict[str, str]
    score: NotRequired[FootballScore]
    sport: Literal["football"]
    stale_after_ms: int
    start: NotRequired[Timestamp]
    stats: Stats
    status: NotRequired[FootballStatus]


class FootballRow(TypedDict):
    """
    A football match on the board. The fields are those of `FootballMatch`.
    """

    away: NotRequired[Participant]
    clock: NotRequired[Clock]
    competition: NotRequired[Competition]
    home: NotRequired[Participant]
    life: Life
    score: NotRequired[FootballScore]
    start: NotRequired[Timestamp]
    status: NotRequired[FootballStatus]


class HockeyBoard(TypedDict):
    """
    The board of a sport that is followed by its scoreboard. The document of `hockey`.
    """

    feed: FeedState
    life: Life
    matches: dict[str, ScoreboardRow]
    stale_after_ms: int


class HorseRace(TypedDict):
    """
    A horse race: the document of `horseracing/{id}`.
    """

    away: NotRequired[Participant]
    competition: NotRequired[Competition]
    country: NotRequired[str]
    course: NotRequired[str]
    distance: NotRequired[str]
    feed: FeedState
    home: NotRequired[Participant]
    id: Id
    life: Life
    name: NotRequired[str]
    refs: dict[str, str]
    runners: NotRequired[dict[str, Runner]]
    sport: Literal["horseracing"]
    stale_after_ms: int
    start: NotRequired[Timestamp]
    status: RaceStatus


class HorseRacingBoard(TypedDict):
    """
    The board of horse racing: the document of `horseracing`.
    """

    feed: FeedState
    life: Life
    matches: dict[str, HorseRacingRow]
    stale_after_ms: int


class Market(TypedDict):
    """
    A market of a bookmaker.
    """

    bet_delay: NotRequired[int]
    bet_delay_models: NotRequired[list[str]]
    each_way_divisor: NotRequired[Decimal]
    in_play: bool
    kind: str
    line: NotRequired[Decimal]
    market_base_rate: NotRequired[Decimal]
    name: NotRequired[str]
    number_of_winners: NotRequired[int]
    period: NotRequired[str]
    selections: NotRequired[dict[str, Selection]]
    status: MarketStatus
    suspend_reason: NotRequired[str]
    transitions: dict[str, Transition]
    volume: NotRequired[Decimal]


class Odds(TypedDict):
    """
    The book of one bookmaker on a match: the document of `{sport}/{id}/odds/{bookmaker}`.
    """

    feed: FeedState
    life: Life
    markets: dict[str, Market]
    match_seq: NotRequired[Seq]
    stale_after_ms: int
    suspended: bool


Signal: TypeAlias = ArbitrageSignal | PriceGapSignal | ValueSignal | SteamSignal | SuspendedSignal | MomentumSignal


class Signals(TypedDict):
    """
    All active signals: the document of `signals`.
    """

    feed: FeedState
    life: Life
    signals: dict[str, Signal]
    stale_after_ms: int


class TennisBoard(TypedDict):
    """
    The tennis board: the document of `tennis`.
    """

    feed: FeedState
    life: Life
    matches: dict[str, TennisRow]
    stale_after_ms: int


class FootballBoard(TypedDict):
    """
    The football board: the document of `football`.
    """

    feed: FeedState
    life: Life
    matches: dict[str, FootballRow]
    stale_after_ms: int


Document: TypeAlias = (
    FootballBoard
    | FootballMatch
    | TennisBoard
    | TennisMatch
    | Cs2Board
    | Cs2Match
    | DartsBoard
    | DartsMatch
    | HockeyBoard
    | HockeyMatch
    | BasketballBoard
    | BasketballMatch
    | HorseRacingBoard
    | HorseRace
    | ConsensusOdds
    | Odds
    | Feeds
    | Signals
    | OpeningDocument
)
