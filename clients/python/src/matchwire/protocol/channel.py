"""One document, the position that it is at, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .change import At, Health, RefusalInfo
from .subscription import EVERYTHING, Part, Subscription

__all__ = ["Channel"]

# For a document that does not say: two beats and a margin.
_STALE_AFTER_S = 15.0


class Channel:
    """A document and its position. Invariant: the document is what the hub had at (`epoch`, `seq`), or `health` says
    why it may not be."""

    __slots__ = (
        "at", "data", "delivered", "doubts", "epoch", "error", "health", "heard", "image_due", "name", "owed", "part", "seq",
        "subscriptions", "synced",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.data: Mapping[str, Any] | None = None
        # What the document has: what its subscription wanted when the image came.
        self.part: Part = EVERYTHING
        self.epoch: str | None = None
        self.seq = -1
        self.at: At | None = None
        # Local seconds of the last proof that the document is the newest: a frame or a beat.
        self.heard = 0.0
        # As of the last frame or deadline; `judge` says it for any moment.
        self.health: Health = "waiting"
        self.error: RefusalInfo | None = None
        # Whether this connection has confirmed the position, and why an image was announced.
        self.synced = False
        self.image_due: str | None = None
        # The highest sequence of this epoch whose events were handed out.
        self.delivered = -1
        # What an earlier beat showed to be on its way: the sequence, and by when it has to be here.
        self.owed: tuple[int, float] | None = None
        # Consecutive requests for what is missing without a result.
        self.doubts = 0
        self.subscriptions: list[Subscription] = []

    @property
    def stale_after(self) -> float:
        """Seconds without proof after which the document is stale."""
        value = self.data.get("stale_after_ms") if self.data else None
        return value / 1000 if isinstance(value, (int, float)) else _STALE_AFTER_S

    @property
    def subscription(self) -> Subscription:
        """The subscription that decides how it comes: the one by name, otherwise the first."""
        return min(self.subscriptions, key=lambda it: it.is_pattern)

    @property
    def sent_part(self) -> Part:
        """The part of it that the hub sends now: a subscription by name counts from its answer on."""
        names_first = sorted(self.subscriptions, key=lambda it: it.is_pattern)
        return next((it.part for it in names_first if it.part is not None), self.subscription.options.part)

    @property
    def is_complete(self) -> bool:
        """Whether the document has the part that its subscription wants."""
        return self.data is not None and self.part == self.subscription.options.part

    def position(self) -> dict[str, Any] | None:
        """Where it continues; None if the image has to come."""
        return {"epoch": self.epoch, "seq": self.seq} if self.epoch is not None and self.is_complete else None

    @property
    def may_return(self) -> bool:
        """Whether it may open again after its end: a book does when another source takes it over, unless it is settled."""
        return "odds" in self.name.split("/")[2:3] and (self.data or {}).get("life") != "ended"

    def judge(self, now: float, *, is_open: bool, hub_is_stale: bool = False) -> Health:
        """The health at the local moment `now`."""
        if self.error is not None:
            return "refused"
        if self.data is None:
            return "waiting"
        if not is_open:
            return "lost"
        if not self.synced:
            return "catching_up"
        if self.data.get("life") == "ended":
            return "ended"
        if hub_is_stale or now - self.heard >= self.stale_after:
            return "stale"
        return feed_health(self.data)


def feed_health(data: Mapping[str, Any]) -> Health:
    """The health that the hub reports of the document's source. A state that this version does not know is not trusted."""
    match data.get("feed", "live"):
        case "live":
            return "live"
        case "late":
            return "late"
        case "recovering":
            return "recovering"
        case _:
            return "down"


def integer(frame: Mapping[str, Any], name: str) -> int:
    """A number of a frame. Raises `TypeError` if it is none."""
    value = frame[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is no integer")
    return value


def at_of(value: Any) -> At | None:
    """The `at` of a frame."""
    if not isinstance(value, dict):
        return None
    return At(value.get("src"), value.get("in"), value.get("pub"))
