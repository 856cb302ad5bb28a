"""What programs see of a channel: the document, and whether it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from . import odds
from .documents import Odds
from .odds import LastPrice
from .protocol import At, Change, Channel, Health, RefusalInfo

if TYPE_CHECKING:
    import pandas
    import polars


__all__ = ["OddsView", "View"]

D = TypeVar("D")


class Context(Protocol):
    """The client, as views need it."""

    def now(self) -> float: ...
    def server_now(self) -> int: ...
    def health_of(self, channel: Channel) -> Health: ...


# The fields of a match that are its score, in any sport, and the kinds of events that change it: a pick may leave out either.
_SCORE_FIELDS = ("score/home", "score/away", "score/pens", "periods", "sets", "game", "points")
_SCORE_EVENTS = frozenset({"goal", "retract", "correct", "shootout", "score", "point", "game", "set", "match"})


class Notes:
    """What all views of one channel know from its changes."""

    __slots__ = ("epoch", "history", "score_seq")

    def __init__(self) -> None:
        # The sequence of the last change of the score that came as a change, in its epoch.
        self.score_seq = 0
        self.epoch: str | None = None
        self.history: odds.PriceHistory | None = None


class View(Generic[D]):
    """A channel as it is now. All properties can be read from any thread; the document is replaced, never changed."""

    def __init__(self, context: Context, channel: Channel, notes: Notes | None = None) -> None:
        self._context = context
        self._channel = channel
        self._notes = notes if notes is not None else Notes()

    @property
    def name(self) -> str:
        return self._channel.name

    @property
    def data(self) -> D:
        """The document. Treat it as read-only. It is `{}` before the first image."""
        return cast("D", self._channel.data if self._channel.data is not None else {})

    @property
    def health(self) -> Health:
        """Whether `data` can be trusted at this moment: see `matchwire.Health`."""
        return self._context.health_of(self._channel)

    @property
    def is_live(self) -> bool:
        return self.health == "live"

    @property
    def age_ms(self) -> float | None:
        """Milliseconds since the last proof, by a frame or a beat, that the document is the newest one. A quiet channel of
        a healthy connection gets a beat every five seconds. None before the first image."""
        if self._channel.data is None:
            return None
        return (self._context.now() - self._channel.heard) * 1000

    @property
    def epoch(self) -> str | None:
        return self._channel.epoch

    @property
    def seq(self) -> int | None:
        return self._channel.seq if self._channel.epoch is not None else None

    @property
    def at(self) -> At | None:
        """When the newest change happened, was received and was published."""
        return self._channel.at

    @property
    def error(self) -> RefusalInfo | None:
        """Why the hub refused or ended the channel."""
        return self._channel.error

    def clock_s(self) -> float | None:
        """The second that the match clock shows now, by the hub's clock; None if the document has no clock."""
        clock = (self._channel.data or {}).get("clock")
        if not isinstance(clock, dict) or "s" not in clock:
            return None
        if not clock.get("running"):
            return float(clock["s"])
        return float(clock["s"] + max(0, self._context.server_now() - clock["at"]) / 1e6)

    def _note(self, change: Change, now: float) -> None:
        notes = self._notes
        if change.epoch != notes.epoch or change.previous is None:
            notes.epoch, notes.score_seq = change.epoch, 0
        is_scored = any(event.kind in _SCORE_EVENTS for event in change.events) or any(map(change.changed, _SCORE_FIELDS))
        if change.previous is not None and change.kind != "health" and is_scored:
            notes.score_seq = change.seq or 0
        if notes.history is not None:
            notes.history.note(change, now)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} {self.health} at {self.epoch}/{self.seq}>"


class OddsView(View[Odds]):
    """A book, or the consensus of all: `.../odds/{bookmaker}` or `.../odds`."""

    def __init__(self, context: Context, channel: Channel, notes: Notes | None = None) -> None:
        super().__init__(context, channel, notes)
        if self._notes.history is None:
            self._notes.history = odds.PriceHistory()
            if channel.data is not None:
                image = Change(channel.name, "image", channel.data, None, "live", "live", channel.epoch, channel.seq, channel.at)
                self._notes.history.note(image, context.now())

    def price(self, market: str, selection: str) -> Decimal | None:
        """The price to back a selection, if it can be had now: the channel is `live`, neither the book nor the market is
        suspended, and the selection is active. Otherwise None.

        `market` is an id or a kind (`1x2`, `over_under@2.5`), `selection` an id or an outcome (`HOME`); see
        `matchwire.odds.find_market`.
        """
        found = self._find(market, selection)
        if found is None or self.health != "live":
            return None
        data, _, market_data, _, selection_data = found
        if odds.reason(data, market_data, selection_data) is not None:
            return None
        return odds.decimal(selection_data.get("price"))

    def last_price(self, market: str, selection: str) -> LastPrice | None:
        """The last known price of a selection with its age, also while it must not be used. None if there never was one."""
        found = self._find(market, selection)
        if found is None:
            return None
        data, market_id, market_data, id, selection_data = found
        known = self._notes.history.get(market_id, id) if self._notes.history else None
        value = odds.decimal(selection_data.get("price")) or odds.decimal(known.price if known else None)
        if value is None:
            return None
        health = self.health
        why = odds.reason(data, market_data, selection_data) or (None if health == "live" else health)
        since = self._channel.heard
        if known is not None and known.withdrawn_at is not None:
            since = known.withdrawn_at
        return LastPrice(value, (self._context.now() - since) * 1000, known.changed_at if known else None, why)

    def has_seen(self, match: View[Any]) -> bool:
        """Whether these prices were published after the last change of that match's score (of tennis also a game or a point) that
        came while this client followed the match. Until then they may be from before the goal. False while the match's own
        health is not `live`, `ended` or `replay`, because the score may be another one by now."""
        if match.health not in ("live", "ended", "replay"):
            return False
        seen = (self._channel.data or {}).get("match_seq")
        return isinstance(seen, int) and seen >= match._notes.score_seq

    def to_frame(self, *, decimals: bool = False) -> pandas.DataFrame:
        """All selections as a pandas DataFrame, one row each, with prices as floats, or as `Decimal` objects."""
        return odds.to_pandas(self._channel.data or {}, decimals=decimals)

    def to_polars(self) -> polars.DataFrame:
        """All selections as a polars DataFrame, one row each, with prices as floats."""
        return odds.to_polars(self._channel.data or {})

    def _find(self, market: str, selection: str) -> tuple[Mapping[str, Any], str, Mapping[str, Any], str, Mapping[str, Any]] | None:
        # Taken once: another thread may replace the document meanwhile.
        data = self._channel.data
        if data is None:
            return None
        found = odds.find_market(data, market)
        chosen = odds.find_selection(found[1], selection) if found else None
        return (data, *found, *chosen) if found and chosen else None


def view_of(context: Context, channel: Channel) -> View[Any]:
    """The view that fits a channel's name."""
    parts = channel.name.split("/")
    is_odds = len(parts) in (3, 4) and parts[2] == "odds"
    return OddsView(context, channel) if is_odds else View(context, channel)
