"""What a program follows, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from .change import RefusalInfo

__all__ = ["EVERYTHING", "RATES_MS", "Options", "Part", "Subscription"]

RATES_MS = (0, 100, 250, 500, 1000, 2000, 5000)
"""The values that `every_ms` can have."""

Part = tuple[tuple[str, ...] | None, bool | tuple[str, ...]]
"""The `pick` and `events` of a subscription."""

EVERYTHING: Part = (None, True)


@dataclass(frozen=True, slots=True)
class Options:
    """The parameters of a subscription: at most one update of values in `every_ms` (0: each change), what the hub does
    if this client is slow (`merge`, `resync`, `close`), and whether it reports `lag`. `pick` selects parts of the documents by
    JSON pointers, in which `*` stands for any one member, and `events` all events, none, or those of some kinds."""

    every_ms: int = 0
    on_slow: Literal["merge", "resync", "close"] = "merge"
    lag: bool = False
    pick: tuple[str, ...] | None = None
    events: bool | tuple[str, ...] = True

    @classmethod
    def of(
        cls, every_ms: int, on_slow: Literal["merge", "resync", "close"], lag: bool,
        pick: Sequence[str] | None, events: bool | Sequence[str],
    ) -> Options:  # fmt: skip
        """Options with any sequences of pointers and kinds."""
        if isinstance(pick, str) or isinstance(events, str):
            raise TypeError("pick and events are lists of strings")
        kinds = events if isinstance(events, bool) else tuple(events)
        return cls(every_ms, on_slow, lag, None if pick is None else tuple(pick), kinds)

    @property
    def part(self) -> Part:
        """What of the documents and the events is wanted."""
        return (self.pick, self.events)

    def widened(self, other: Options) -> Options:
        """These options, with all that `other` wants: everything, if the two want different parts. The rate and `on_slow` stay."""
        pick, events = self.part if self.part == other.part else EVERYTHING
        return replace(self, lag=self.lag or other.lag, pick=pick, events=events)

    def __post_init__(self) -> None:
        if self.every_ms not in RATES_MS:
            raise ValueError(f"every_ms is one of {', '.join(map(str, RATES_MS))}, not {self.every_ms}")
        if self.on_slow not in ("merge", "resync", "close"):
            raise ValueError(f"on_slow is merge, resync or close, not {self.on_slow}")

    def fields(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.every_ms:
            found["every_ms"] = self.every_ms
        if self.on_slow != "merge":
            found["on_slow"] = self.on_slow
        if self.lag:
            found["lag"] = True
        if self.pick is not None:
            found["pick"] = list(self.pick)
        if self.events is not True:
            found["events"] = self.events and list(self.events)
        return found

    def changes(self, before: Options) -> dict[str, Any]:
        """The fields of a `set` that changes `before` to these options."""
        found: dict[str, Any] = {}
        if self.every_ms != before.every_ms:
            found["every_ms"] = self.every_ms
        if self.on_slow != before.on_slow:
            found["on_slow"] = self.on_slow
        if self.lag != before.lag:
            found["lag"] = self.lag
        if self.part != before.part:
            found["pick"] = self.pick and list(self.pick)
            found["events"] = self.events if isinstance(self.events, bool) else list(self.events)
        return found


class Subscription:
    """A channel or a pattern that the program follows. `users` counts how often."""

    __slots__ = (
        "ch", "error", "left_out", "not_entitled", "options", "part", "pending", "refusals", "requested_at", "requested_ms",
        "segments", "users",
    )  # fmt: skip

    def __init__(self, ch: str, options: Options) -> None:
        self.ch = ch
        self.options = options
        self.segments = ch.split("/") if "*" in ch else None
        self.users = 0
        # The id of the command under way, when it was sent, and with which rate.
        self.pending: int | None = None
        self.requested_at = 0.0
        self.requested_ms = options.every_ms
        # What the hub sends, as of its last answer; None before it and after a refusal.
        self.part: Part | None = None
        self.error: RefusalInfo | None = None
        # Refusals in a row that may be temporary.
        self.refusals = 0
        # Of a pattern: channels without room on the socket, and those that need another add-on.
        self.left_out = 0
        self.not_entitled = 0

    @property
    def is_pattern(self) -> bool:
        return self.segments is not None

    def covers(self, name: str) -> bool:
        if self.segments is None:
            return self.ch == name
        parts = name.split("/")
        return len(parts) == len(self.segments) and all(
            want in ("*", part) for want, part in zip(self.segments, parts, strict=True)
        )
