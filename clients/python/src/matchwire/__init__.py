"""Matchwire for Python: documents of live matches and odds that keep themselves current.

`Client` is for asyncio, `matchwire.sync.Client` for threads and notebooks, `matchwire.replay` for recordings, and
`matchwire.protocol` is the protocol without I/O.
"""

from ._version import __version__
from ._view import OddsView, View
from .client import Book, Client, LiveDocument, LiveReplay, Metrics, Updates
from .errors import (
    AddonRequired,
    AuthFailed,
    BadChannel,
    ClientClosed,
    CommandRejected,
    ConnectionClosed,
    ConnectTimeout,
    KeyRevoked,
    LimitReached,
    MatchwireError,
    NoSuchSocket,
    NotEntitled,
    NotTracked,
    RecordingError,
    Refused,
    ReplayEnded,
    Timeout,
    Unsupported,
)
from .events import (
    Card,
    Correct,
    Event,
    Finish,
    Game,
    Goal,
    InPlay,
    MarketOpen,
    MatchWon,
    Named,
    Off,
    PenaltyMissed,
    Period,
    Point,
    Reopen,
    Resume,
    Retract,
    Score,
    ScoreChange,
    Settle,
    SetWon,
    Shootout,
    Signal,
    SignalEnd,
    Substitution,
    Suspend,
    Var,
)
from .odds import LastPrice
from .protocol import At, Change, Health, Merged, Missed, Proof, State

__all__ = [
    "AddonRequired", "At", "AuthFailed", "BadChannel", "Book", "Card", "Change", "Client", "ClientClosed",
    "CommandRejected", "ConnectTimeout", "ConnectionClosed", "Correct", "Event", "Finish", "Game", "Goal", "Health",
    "InPlay", "KeyRevoked", "LastPrice", "LimitReached", "LiveDocument", "LiveReplay", "MarketOpen", "MatchWon",
    "MatchwireError", "Merged", "Metrics", "Missed", "Named", "NoSuchSocket", "NotEntitled", "NotTracked", "OddsView",
    "Off", "PenaltyMissed", "Period", "Point", "Proof", "RecordingError", "Refused", "Reopen", "ReplayEnded", "Resume",
    "Retract", "Score", "ScoreChange", "SetWon", "Settle", "Shootout", "Signal", "SignalEnd", "State", "Substitution", "Suspend",
    "Timeout", "Unsupported", "Updates", "Var", "View", "__version__",
]  # fmt: skip
