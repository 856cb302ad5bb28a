"""What a frame, or several of them, changed of a channel's document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..events import Event
from .patch import diff

__all__ = ["At", "Change", "Health", "Merged", "Missed", "RefusalInfo"]

Health = Literal["waiting", "catching_up", "live", "late", "down", "recovering", "stale", "lost", "ended", "refused", "replay"]
"""Whether a document can be trusted.

`live`: it is what the hub has, and its source is healthy. `ended`: it is final. `late`, `down`, `recovering`: its
source is not healthy, as the hub sees it. `stale`: nothing has confirmed it for `stale_after_ms`. `lost`: there is no
connection. `catching_up`: there is one, and the position is not confirmed yet. `waiting`: there is no document yet.
`refused`: the hub does not, or no longer, offer the channel; see `error`. `replay`: it is recorded.
"""


@dataclass(frozen=True, slots=True)
class At:
    """Three moments of a change, in microseconds since 1970 by the hub's clock: when the source says that it
    happened, when the hub received it, and when the hub published it. None if unknown."""

    src: int | None
    received: int | None
    published: int | None


@dataclass(frozen=True, slots=True)
class Missed:
    """Changes after sequence `from_seq` and up to `to_seq` were not delivered one by one: the document is correct, but
    events in between may be lost.

    `why` is `slow`, `window`, `epoch`, `gap`, `ahead` or `image` if the hub skipped them, and `reader` if this
    program did not read `events` events in time and they found no room in its buffer.
    """

    from_seq: int | None
    to_seq: int
    why: str
    events: int = 0


@dataclass(frozen=True, slots=True)
class Merged:
    """This change stands for `n` changes of the hub. `why` is `rate`, `slow` or `resume` if the hub merged them, and
    `reader` if they were merged while this program did something else. No event is lost by it."""

    n: int
    why: str


@dataclass(frozen=True, slots=True)
class RefusalInfo:
    """The hub's answer to a subscription that it refused or ended. `addons` are those that are missing."""

    code: str
    message: str
    retry: bool = False
    addons: tuple[Mapping[str, Any], ...] = ()


@dataclass(slots=True)
class Change:
    """A change of a channel's document or of its health.

    `data` is the document afterwards and `previous` the one before. Treat both as read-only: later documents share
    their unchanged branches.
    """

    channel: str
    kind: Literal["image", "update", "health"]
    data: Mapping[str, Any] | None = field(repr=False)
    previous: Mapping[str, Any] | None = field(repr=False)
    health: Health
    previous_health: Health
    epoch: str | None
    seq: int | None
    at: At | None = None
    events: list[Event] = field(default_factory=list)
    missed: Missed | None = None
    merged: Merged | None = None
    error: RefusalInfo | None = None
    # The patch of the one frame; None if it has to be computed.
    frame_patch: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def patch(self) -> Mapping[str, Any]:
        """The merge patch from `previous` to `data`, `{}` if nothing changed. It is the hub's own patch unless changes
        were merged by this program or an image came."""
        if self.frame_patch is not None:
            return self.frame_patch
        if self.data is None:
            return {}
        patch: Mapping[str, Any] = diff(self.previous or {}, self.data)
        return patch

    def changed(self, path: str) -> bool:
        """Whether the value at `path` changed, such as `score` or `stats/home/fouls`."""
        before: Any = self.previous
        after: Any = self.data
        for key in path.strip("/").split("/"):
            if before is after:
                return False
            before = before.get(key) if isinstance(before, Mapping) else None
            after = after.get(key) if isinstance(after, Mapping) else None
        return bool(before is not after and before != after)

    def absorb(self, later: Change, events_max: int) -> int:
        """Makes this change stand for itself and `later`; returns how many of the oldest events had no room."""
        if later.kind != "health":
            n = _count(self) + _count(later)
            self.merged = Merged(n, "reader") if n > 1 else later.merged
            self.kind = "image" if "image" in (self.kind, later.kind) else "update"
            self.frame_patch = later.frame_patch if self.data is self.previous and later.kind == "update" else None
        self.data, self.health = later.data, later.health
        self.epoch, self.seq, self.at = later.epoch, later.seq, later.at or self.at
        self.error = later.error
        self.events += later.events
        if later.missed is not None:
            earlier = self.missed
            lost = later.missed.events + (earlier.events if earlier else 0)
            first = earlier.from_seq if earlier else later.missed.from_seq
            self.missed = Missed(first, later.missed.to_seq, later.missed.why, lost)
        return self.limit_events(events_max)

    def limit_events(self, events_max: int) -> int:
        """Drops the oldest events beyond `events_max` and reports them in `missed`; returns how many."""
        dropped = len(self.events) - events_max
        if dropped <= 0:
            return 0
        del self.events[:dropped]
        known = self.missed or Missed(None, self.seq or 0, "reader")
        self.missed = Missed(known.from_seq, known.to_seq, known.why, known.events + dropped)
        return dropped

    def copy(self) -> Change:
        """A change that can absorb others without changing this one."""
        return replace(self, events=list(self.events))


def _count(change: Change) -> int:
    if change.kind == "health":
        return 0
    return change.merged.n if change.merged else 1
