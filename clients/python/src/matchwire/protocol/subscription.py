"""What a program follows, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .change import RefusalInfo

__all__ = ["RATES_MS", "Options", "Subscription"]

RATES_MS = (0, 100, 250, 500, 1000, 2000, 5000)
"""The values that `every_ms` can have."""


@dataclass(frozen=True, slots=True)
class Options:
    """The parameters of a subscription: at most one update of values in `every_ms` (0: each change), what the hub does
    if this client is slow (`merge`, `resync`, `close`), and whether it reports `lag`."""

    every_ms: int = 0
    on_slow: Literal["merge", "resync", "close"] = "merge"
    lag: bool = False

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
        return found


class Subscription:
    """A channel or a pattern that the program follows. `users` counts how often."""

    __slots__ = (
        "ch", "error", "left_out", "not_entitled", "options", "pending", "requested_at", "requested_ms", "segments", "users",
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
        self.error: RefusalInfo | None = None
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
