"""What a session asks its driver to do, and what it tells of the connection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .change import Change
from .channel import Channel
from .proof import Proof
from .replay import ReplayOutput
from .subscription import Subscription

__all__ = [
    "FINAL_CODES", "Changed", "Connect", "Counters", "Disconnect", "Hello", "Output", "Replied", "Send", "State",
    "StateChanged",
]  # fmt: skip

FINAL_CODES: Mapping[int, str] = {
    4401: "the key is missing or wrong",
    4402: "the WebSocket add-on is missing",
    4404: "there is no such socket",
    4410: "the key was regenerated or revoked",
    4413: "a command was too large, or there were too many",
}
"""Close codes for reasons that another attempt cannot change. After every other code the session tries again."""

# Until `hello` brings the real ones.
DEFAULT_BEAT_S = 5.0
DEFAULT_COMMAND_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class Hello:
    """What the hub says of itself and of this socket."""

    conn: str = ""
    server: str = ""
    beat_s: float = DEFAULT_BEAT_S
    limits: Mapping[str, int] = field(default_factory=dict)
    features: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class State:
    """The connection. `phase` is `connecting`, `open`, `waiting` (until the local moment `retry_at`; `is_fixed` if the
    hub named it) or `closed` for good. `code`, `why` and `message` say how the last connection ended; `attempt` counts
    the attempts since the last healthy one."""

    phase: Literal["connecting", "open", "waiting", "closed"] = "closed"
    attempt: int = 0
    code: int | None = None
    why: str | None = None
    message: str | None = None
    retry_at: float | None = None
    is_fixed: bool = False


@dataclass(frozen=True, slots=True)
class Connect:
    """Open a connection."""


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Close the connection, without waiting for it. Nothing more from it may be passed to the session."""

    code: int = 1000


@dataclass(frozen=True, slots=True)
class Send:
    """Send this text message on the connection."""

    text: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A channel changed: tell the users of `subscriptions`."""

    channel: Channel
    change: Change
    subscriptions: tuple[Subscription, ...]


@dataclass(frozen=True, slots=True)
class Replied:
    """The answer to the command with this id. `frame` is None if the connection was lost before."""

    id: int
    frame: Mapping[str, Any] | None
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class StateChanged:
    state: State


Output = Connect | Disconnect | Send | Changed | Replied | StateChanged | ReplayOutput


@dataclass(slots=True)
class Counters:
    """Totals over all connections."""

    connections: int = 0
    frames: int = 0
    bytes: int = 0
    images: int = 0
    updates: int = 0
    events: int = 0
    merged: int = 0
    resyncs: int = 0
    missed: int = 0
    skipped: int = 0
