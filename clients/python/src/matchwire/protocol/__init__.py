"""The client's half of the stream protocol without I/O: frames and time in; commands, changes and a deadline out.

[`Session`] is for live channels, [`Player`] for recorded frames. `matchwire.Client` drives a session with asyncio; other
programs may drive one with whatever they have.
"""

from .change import At, Change, Health, Merged, Missed, RefusalInfo
from .channel import Channel
from .outputs import (
    FINAL_CODES,
    Changed,
    Connect,
    Counters,
    Disconnect,
    Hello,
    Output,
    Replied,
    Send,
    State,
    StateChanged,
)
from .patch import diff, merge_patch
from .proof import Proof, canonical, digest
from .replay import Player, Replay, ReplayOutput, Speed
from .session import Session
from .subscription import RATES_MS, Options, Subscription

__all__ = [
    "FINAL_CODES", "RATES_MS", "At", "Change", "Changed", "Channel", "Connect", "Counters", "Disconnect", "Health",
    "Hello", "Merged", "Missed", "Options", "Output", "Player", "Proof", "RefusalInfo", "Replay", "ReplayOutput",
    "Replied", "Send", "Session", "Speed", "State", "StateChanged", "Subscription", "canonical", "diff", "digest",
    "merge_patch",
]  # fmt: skip
