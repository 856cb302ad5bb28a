"""Prices of a book, with the permission to use them: a price is there only while it is open for bets and current."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from .protocol import Change

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["LastPrice", "find_market", "find_selection"]

# What the field calls it, and what documents call it.
_ALIASES = {"1x2": "match_winner", "moneyline": "match_winner", "btts": "both_teams_to_score"}
_PRICES = ("price", "prev", "lay", "last", "median", "volume")


@dataclass(frozen=True, slots=True)
class LastPrice:
    """The last known price of a selection, whether it can still be had or not.

    `age_ms` is the time since the last proof that it was the current one; `changed_at` is when the hub published it, in
    microseconds, if that is known. `why` says why it must not be used: `suspended`, `closed`, `inactive`, `withdrawn`,
    the selection's status, or the health of the book; None if it may.
    """

    price: Decimal
    age_ms: float
    changed_at: int | None
    why: str | None

    @property
    def is_open(self) -> bool:
        return self.why is None


def decimal(value: Any) -> Decimal | None:
    """The exact decimal of a string on the wire; None if it is not one."""
    if not isinstance(value, str):
        return None
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def find_market(data: Mapping[str, Any], market: str) -> tuple[str, Mapping[str, Any]] | None:
    """A market by its id; or by its kind, as in `match_winner`, `over_under@2.5`, `match_winner:first_half`.

    `1x2`, `moneyline` and `btts` are understood as well. If several markets of the book fit, none is returned: use the id.
    """
    markets: Mapping[str, Mapping[str, Any]] = data.get("markets") or {}
    if market in markets:
        return market, markets[market]
    rest, _, line = market.partition("@")
    kind, _, period = rest.partition(":")
    kind = _ALIASES.get(kind.lower(), kind.lower())
    found = [
        (id, it) for id, it in markets.items()
        if it.get("kind") == kind and (it.get("period") or "") == period and (it.get("line") or "") == line
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None


def find_selection(market: Mapping[str, Any], selection: str) -> tuple[str, Mapping[str, Any]] | None:
    """A selection by its id, or by its outcome in upper or lower case: `home`, `draw`, `away`, `over`, ..."""
    selections: Mapping[str, Mapping[str, Any]] = market.get("selections") or {}
    if selection in selections:
        return selection, selections[selection]
    wanted = selection.lower()
    found = [(id, it) for id, it in selections.items() if it.get("outcome") == wanted or id == wanted]
    return found[0] if len(found) == 1 else None


def reason(data: Mapping[str, Any], market: Mapping[str, Any], selection: Mapping[str, Any]) -> str | None:
    """Why the price of a selection must not be used; None if it may, as far as the document says."""
    # The hub's own hold leaves the markets of the bookmaker as they are.
    if data.get("suspended") is not False or data.get("life") == "ended":
        return "suspended" if data.get("life") != "ended" else "closed"
    if (status := market.get("status")) != "open":
        return str(status or "inactive")
    if (status := selection.get("status")) not in ("active", None):
        return str(status)
    return None if "price" in selection else "withdrawn"


@dataclass(slots=True)
class _Known:
    """The last price of a selection, and local seconds when it ceased to be in the document."""

    price: str
    changed_at: int | None
    withdrawn_at: float | None = None


class PriceHistory:
    """The last price of each selection that a document has, and when it changed. Its size is that of the document."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Known] = {}

    def note(self, change: Change, now: float) -> None:
        """Takes over what a change says of prices."""
        data = change.data or {}
        published = change.at.published if change.at else None
        if change.kind == "image":
            ids = {
                (market_id, id)
                for market_id, market in (data.get("markets") or {}).items()
                for id in market.get("selections") or ()
            }
            self._known = {key: it for key, it in self._known.items() if key in ids}
            patch: Mapping[str, Any] = data
        else:
            patch = change.frame_patch or {}
        for market_id, market in (patch.get("markets") or {}).items():
            if market is None:
                self._known = {key: it for key, it in self._known.items() if key[0] != market_id}
                continue
            for id, selection in (market.get("selections") or {}).items():
                key = (market_id, id)
                if selection is None:
                    self._known.pop(key, None)
                elif "price" in selection:
                    self._price(key, selection["price"], published, now)
                elif change.kind == "image":
                    self._price(key, None, published, now)

    def _price(self, key: tuple[str, str], price: str | None, published: int | None, now: float) -> None:
        known = self._known.get(key)
        if price is None:
            if known is not None and known.withdrawn_at is None:
                known.withdrawn_at = now
        elif known is None or known.price != price or known.withdrawn_at is not None:
            self._known[key] = _Known(price, published)

    def get(self, market_id: str, id: str) -> _Known | None:
        return self._known.get((market_id, id))


def rows(data: Mapping[str, Any], *, floats: bool) -> list[dict[str, Any]]:
    """One row for each selection."""
    found = []
    for market_id, market in (data.get("markets") or {}).items():
        for id, selection in (market.get("selections") or {}).items():
            row: dict[str, Any] = {
                "market": market_id, "kind": market.get("kind"), "line": market.get("line"), "period": market.get("period"),
                "market_status": market.get("status"), "in_play": market.get("in_play"), "selection": id,
                "outcome": selection.get("outcome"), "name": selection.get("name"), "status": selection.get("status"),
                "open": reason(data, market, selection) is None,
            }  # fmt: skip
            for name in _PRICES:
                value = decimal(selection.get(name))
                row[name] = float(value) if floats and value is not None else value
            found.append(row)
    return found


COLUMNS = [
    "market", "kind", "line", "period", "market_status", "in_play", "selection", "outcome", "name", "status", "open",
    *_PRICES,
]  # fmt: skip


def to_pandas(data: Mapping[str, Any], *, decimals: bool) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError:
        raise ImportError("to_frame needs pandas: pip install matchwire[pandas]") from None
    frame = pandas.DataFrame(rows(data, floats=not decimals), columns=COLUMNS)
    found: pandas.DataFrame = frame if decimals else frame.astype(dict.fromkeys(_PRICES, "float64"))
    return found


def to_polars(data: Mapping[str, Any]) -> polars.DataFrame:
    try:
        import polars
    except ImportError:
        raise ImportError("to_polars needs polars: pip install matchwire[polars]") from None
    types: dict[str, Any] = {name: polars.Float64() if name in _PRICES else polars.String() for name in COLUMNS}
    types |= {"in_play": polars.Boolean(), "open": polars.Boolean()}
    return polars.DataFrame(rows(data, floats=True), schema=types)
