"""Everything that this package raises by itself.

`ConnectionClosed` and its subclasses are terminal: the client has stopped and says why, in every call that waits and
in every iterator. Whatever another attempt may change is no error: the client tries again, and `health` shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .protocol.change import RefusalInfo

__all__ = [
    "AddonRequired", "AuthFailed", "BadChannel", "ClientClosed", "CommandRejected", "ConnectTimeout", "ConnectionClosed",
    "KeyRevoked", "LimitReached", "MatchwireError", "NoSuchSocket", "NotEntitled", "NotTracked", "RecordingError",
    "Refused", "ReplayEnded", "Timeout", "Unsupported",
]  # fmt: skip


class MatchwireError(Exception):
    """The base of all errors of this package."""


class ConnectionClosed(MatchwireError):
    """The hub closed the connection for a reason that another attempt cannot change. `code` is the close code."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class AuthFailed(ConnectionClosed):
    """4401: the key or the ticket is missing or invalid."""


class AddonRequired(ConnectionClosed):
    """4402: the account lacks the WebSocket add-on, or it has expired."""


class NoSuchSocket(ConnectionClosed):
    """4404: there is no socket at this address."""


class KeyRevoked(ConnectionClosed):
    """4410: the key was revoked or regenerated."""


class CommandRejected(ConnectionClosed):
    """4413: a command was too large, or there were too many."""


class ClientClosed(ConnectionClosed):
    """The program itself has closed the client."""


class Refused(MatchwireError):
    """The hub does not, or no longer, offer a channel. `code` is the hub's; `retry` says whether it may do so later."""

    def __init__(self, channel: str, info: RefusalInfo) -> None:
        super().__init__(f"{channel}: {info.message}")
        self.channel = channel
        self.code = info.code
        self.retry = info.retry
        self.addons: tuple[Mapping[str, Any], ...] = info.addons
        """The missing add-ons, each with its price."""


class NotTracked(Refused):
    """There is no such channel now, or it has ended."""


class NotEntitled(Refused):
    """The account lacks the add-ons in `addons`."""


class BadChannel(Refused):
    """The name is not one of a channel or a pattern."""


class LimitReached(Refused):
    """The socket or the account has as many channels as it may have."""


class Timeout(MatchwireError, TimeoutError):
    """Something that was waited for did not happen in time."""


class ConnectTimeout(Timeout):
    """The hub did not answer in time. The message has the reason of the last attempt."""


class Unsupported(MatchwireError):
    """The hub does not offer this feature."""


class ReplayEnded(MatchwireError):
    """A replay ended before its end: it was not read for too long, or its recording cannot be read on."""


class RecordingError(MatchwireError):
    """A file is not a recording of frames, or it is damaged."""


_BY_CODE: Mapping[int, type[ConnectionClosed]] = {
    4401: AuthFailed, 4402: AddonRequired, 4404: NoSuchSocket, 4410: KeyRevoked, 4413: CommandRejected,
}  # fmt: skip
_BY_REFUSAL: Mapping[str, type[Refused]] = {
    "not_tracked": NotTracked, "not_entitled": NotEntitled, "bad_channel": BadChannel, "limit": LimitReached,
}  # fmt: skip


def closed_error(code: int | None, message: str) -> ConnectionClosed:
    """The error of a close code."""
    return _BY_CODE.get(code or 0, ConnectionClosed)(message, code)


def refused_error(channel: str, info: RefusalInfo) -> Refused:
    """The error of a refused channel."""
    return _BY_REFUSAL.get(info.code, Refused)(channel, info)
