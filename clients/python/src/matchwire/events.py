"""The events of a channel as dataclasses, one for each kind, for `match` statements.

    match event:
        case Goal(side=side, player=player): ...
        case Retract(of=of): ...

A kind that this version does not know is an `Event` with its fields in `raw`. Fields that the hub does not send
are None: "not known", or "does not apply".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

__all__ = [
    "Card", "Correct", "Event", "Finish", "Game", "Goal", "InPlay", "MarketOpen", "MatchWon", "Named", "Off",
    "PenaltyMissed", "Period", "Point", "Reopen", "Resume", "Retract", "Score", "ScoreChange", "SetWon", "Settle", "Shootout",
    "Signal", "SignalEnd", "Substitution", "Suspend", "Var", "parse_event",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Named:
    """A player, by id and name."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Score:
    """Goals, points, sets or maps of the two sides."""

    home: int
    away: int


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. `eid` is unique within its channel and epoch; `raw` is the event as the hub sent it."""

    kind: str
    eid: str
    raw: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class _Incident(Event):
    """`minute` is the minute in progress; in stoppage time it stands still and `added` counts."""

    minute: int | None = None
    added: int | None = None
    side: str | None = None
    player: Named | None = None
    assist: Named | None = None
    score: Score | None = None


@dataclass(frozen=True, slots=True)
class Goal(_Incident):
    """`side` is the one that the goal counts for, also of an own goal; `type` is regular, penalty or own_goal."""

    type: str | None = None


@dataclass(frozen=True, slots=True)
class Card(_Incident):
    """`card` is yellow, second_yellow or red."""

    card: str | None = None


@dataclass(frozen=True, slots=True)
class Substitution(_Incident):
    """`player` goes off, `assist` comes on."""


@dataclass(frozen=True, slots=True)
class PenaltyMissed(_Incident):
    """A penalty during the match that was not scored."""


@dataclass(frozen=True, slots=True)
class Var(_Incident):
    """`decision` is checking, confirmed or overturned."""

    decision: str | None = None


@dataclass(frozen=True, slots=True)
class Period(_Incident):
    """A part of the match began or ended: `status` is the one that began."""

    status: str | None = None


@dataclass(frozen=True, slots=True)
class Shootout(_Incident):
    """A kick of the shoot-out; `score` is that of the shoot-out."""

    scored: bool | None = None


@dataclass(frozen=True, slots=True)
class Retract(Event):
    """The event `of` did not count. `score` is the current one."""

    of: str | None = None
    why: str | None = None
    score: Score | None = None


@dataclass(frozen=True, slots=True)
class Correct(Event):
    """The event `of` was reported wrongly; `raw` has the current fields. `of` is `score` if only the score fell."""

    of: str | None = None
    score: Score | None = None
    market: str | None = None
    winners: tuple[str, ...] | None = None
    results: Mapping[str, str] | None = None
    dead_heat_factors: Mapping[str, str] | None = None
    status: str | None = None
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Point(Event):
    """A point of a tennis match, won by side `winner` (1 or 2); `point` is its number in the match."""

    winner: int | None = None
    server: int | None = None
    how: str | None = None
    set: int | None = None
    point: int | None = None
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Game(Event):
    """A game of a tennis match; `games` are those of the set, `{"p1": .., "p2": ..}`."""

    winner: int | None = None
    set: int | None = None
    games: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class SetWon(Game):
    """A set of a tennis match."""


@dataclass(frozen=True, slots=True)
class MatchWon(Game):
    """The point that ended a tennis match was played."""


@dataclass(frozen=True, slots=True)
class ScoreChange(Event):
    """The scoreboard of CS2, darts, hockey or basketball changed."""

    score: Score | None = None
    period: str | None = None
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Off(Event):
    """A race began."""

    at: int | None = None


@dataclass(frozen=True, slots=True)
class Finish(Event):
    """A match or a race ended; `order` of a race is a list of `{"id": .., "position": ..}`."""

    status: str | None = None
    score: Score | None = None
    winner: str | None = None
    order: tuple[Mapping[str, Any], ...] | None = None
    at: int | None = None


@dataclass(frozen=True, slots=True)
class _Market(Event):
    """`market` is the market's id; None if the whole book is meant."""

    market: str | None = None
    status: str | None = None
    in_play: bool | None = None
    at: int | None = None


@dataclass(frozen=True, slots=True)
class MarketOpen(_Market):
    """A market opened."""


@dataclass(frozen=True, slots=True)
class Suspend(_Market):
    """A market was suspended; without `market`, the hub holds the whole book because of `why`."""

    why: str | None = None
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Resume(_Market):
    """A market is open again; without `market`, the hub's hold on the book has ended, and `of` is its `suspend`."""

    of: str | None = None


@dataclass(frozen=True, slots=True)
class Reopen(_Market):
    """A market that was settled is not any more; its next settlement is a `correct`."""


@dataclass(frozen=True, slots=True)
class InPlay(_Market):
    """A market went in play."""


@dataclass(frozen=True, slots=True)
class Settle(_Market):
    """A market was settled; `winners` are selections of a book, outcomes of the consensus; `results` has halves and pushes."""

    winners: tuple[str, ...] | None = None
    results: Mapping[str, str] | None = None
    dead_heat_factors: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Signal(Event):
    """A finding from odds or play began or changed; `signal` is the complete one."""

    id: str | None = None
    signal: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SignalEnd(Event):
    """The signal `of` ended."""

    of: str | None = None
    at: int | None = None


def _named(value: Any) -> Any:
    return Named(value.get("id", 0), value.get("name", "")) if isinstance(value, dict) else None


def _score(value: Any) -> Any:
    return Score(value["home"], value["away"]) if isinstance(value, dict) and {"home", "away"} <= value.keys() else None


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else None


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "player": _named,
    "assist": _named,
    "score": _score,
    "winners": _tuple,
    "order": _tuple,
}

_KINDS: dict[str, type[Event]] = {
    "goal": Goal,
    "card": Card,
    "substitution": Substitution,
    "penalty_missed": PenaltyMissed,
    "var": Var,
    "period": Period,
    "shootout": Shootout,
    "retract": Retract,
    "correct": Correct,
    "point": Point,
    "game": Game,
    "set": SetWon,
    "match": MatchWon,
    "score": ScoreChange,
    "off": Off,
    "finish": Finish,
    "open": MarketOpen,
    "suspend": Suspend,
    "resume": Resume,
    "reopen": Reopen,
    "in_play": InPlay,
    "settle": Settle,
    "signal": Signal,
    "signal_end": SignalEnd,
}
_FIELDS = {
    cls: [(it.name, _CONVERSIONS.get(it.name)) for it in fields(cls) if it.name not in ("kind", "eid", "raw")]
    for cls in _KINDS.values()
}


def parse_event(raw: Mapping[str, Any]) -> Event:
    """Returns the event of a frame as the dataclass of its kind."""
    kind = str(raw.get("kind", ""))
    cls = _KINDS.get(kind, Event)
    values: dict[str, Any] = {"kind": kind, "eid": str(raw.get("eid", "")), "raw": raw}
    for name, convert in _FIELDS.get(cls, ()):
        if name in raw:
            values[name] = convert(raw[name]) if convert else raw[name]
    return cls(**values)
