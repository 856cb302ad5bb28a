"""The same objects from a recording as from a live hub.

    from matchwire.replay import replay

    for match, change in replay("match.frames.gz", speed="max"):
        strategy(match, change)
    for match, change in replay("wss://hub.example.org", "football/204849", speed=10, key="mw_…"):
        strategy(match, change)

A file has one frame a line, as `python -m matchwire record CHANNEL > FILE` writes it, plain or compressed with gzip. A
hub that keeps films plays them over the socket.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from . import client, sync
from ._followed import RecordedContext
from ._view import View, view_of
from .errors import RecordingError
from .protocol import Change, Channel, Options, Player, Speed, Subscription

__all__ = ["RECORDED_TYPES", "read_frames", "replay", "replay_async"]

RECORDED_TYPES = frozenset({"image", "update", "resync", "unsubscribed"})
"""The types of frames that make up a recording. Lines with others are skipped."""

_ADDRESSES = ("ws://", "wss://", "http://", "https://")
_GZIP_MAGIC = b"\x1f\x8b"


def replay(
    source: str | os.PathLike[str], chs: str | Iterable[str] | None = None, *, speed: Speed = "max",
    start: Literal["start"] | int = "start", **options: Any,
) -> Iterator[tuple[View[Any], Change]]:  # fmt: skip
    """Yields pairs of channel and change, as `matchwire.sync.Client.updates` does.

    `source` is a file or the address of a hub; `chs` the channels: required for a hub, and also patterns for a file, where
    all is the default. `speed` is how many times as fast as recorded, or `max`. `start` is a recorded time in microseconds.
    `options` are those of `matchwire.Client`, such as `key`.

    Raises `RecordingError` for a file that is damaged or something else, and what `Client.replay` raises.
    """
    _check_speed(speed)
    if _is_address(source):
        names = _names(chs)
        with sync.Client(str(source), **options) as hub:
            yield from hub.replay(names, start=start, speed=speed)
        return
    pacer = _Pacer(speed)
    for view, change in _play(source, chs, start):
        if (wait := pacer.wait(change, time.monotonic())) > 0:
            time.sleep(wait)
        yield view, change


async def replay_async(
    source: str | os.PathLike[str], chs: str | Iterable[str] | None = None, *, speed: Speed = "max",
    start: Literal["start"] | int = "start", **options: Any,
) -> AsyncIterator[tuple[View[Any], Change]]:  # fmt: skip
    """As `replay`, for an event loop."""
    _check_speed(speed)
    if _is_address(source):
        names = _names(chs)
        async with client.Client(str(source), **options) as hub:
            async for pair in hub.replay(names, start=start, speed=speed):
                yield pair
        return
    pacer = _Pacer(speed)
    for view, change in _play(source, chs, start):
        # Also without a pause: others have to run.
        await asyncio.sleep(max(0.0, pacer.wait(change, time.monotonic())))
        yield view, change


def read_frames(path: str | os.PathLike[str]) -> Iterator[Mapping[str, Any]]:
    """Yields the frames of a file, one a line. Raises `RecordingError` with the line that is none."""
    file = Path(path)
    with file.open("rb") as raw:
        is_gzip = raw.read(2) == _GZIP_MAGIC
    number = 0
    try:
        with gzip.open(file, "rb") if is_gzip else file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                frame = json.loads(line)
                if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
                    raise RecordingError(f"{file}, line {number}: not a frame of the stream protocol")
                if frame["type"] in RECORDED_TYPES:
                    yield frame
    except (ValueError, EOFError, OSError) as error:
        raise RecordingError(f"{file}, after line {number}: {error}") from error


def _play(
    source: str | os.PathLike[str], chs: str | Iterable[str] | None, start: Literal["start"] | int
) -> Iterator[tuple[View[Any], Change]]:
    wanted = None if chs is None else [Subscription(ch, Options()) for ch in _names(chs)]
    reached: int | None = None
    player, views = Player(), dict[Channel, View[Any]]()
    context = RecordedContext(lambda: reached)
    shown: set[Channel] = set()
    for frame in read_frames(source):
        name = frame.get("ch")
        if wanted is not None and not any(it.covers(str(name)) for it in wanted):
            continue
        try:
            played = player.play(frame)
        except (KeyError, TypeError, AttributeError) as error:
            raise RecordingError(f"{source}: a frame of {name} is malformed: {error!r}") from error
        if played is None:
            continue
        channel, change = played
        view = views.get(channel)
        if view is None:
            view = views[channel] = view_of(context, channel)
        if change.at is not None and change.at.published is not None:
            reached = change.at.published
        view._note(change, context.now())
        if start != "start" and (reached is None or reached < start):
            continue
        if start != "start" and channel not in shown and change.kind == "update":
            # The document as it is where the replay starts.
            change.kind, change.previous, change.frame_patch = "image", None, None
        shown.add(channel)
        yield view, change


class _Pacer:
    """How long to wait before a change, so that recorded time passes `speed` times as fast as real time."""

    def __init__(self, speed: Speed) -> None:
        self._speed = speed
        self._origin: tuple[int, float] | None = None

    def wait(self, change: Change, now: float) -> float:
        at = change.at.published if change.at else None
        if isinstance(self._speed, str) or at is None:
            return 0.0
        if self._origin is None:
            self._origin = (at, now)
        return self._origin[1] + (at - self._origin[0]) / 1e6 / self._speed - now


def _check_speed(speed: Speed) -> None:
    if speed != "max" and not 0.1 <= speed <= 100:
        raise ValueError('speed is a number from 0.1 to 100, or "max"')


def _is_address(source: str | os.PathLike[str]) -> bool:
    return isinstance(source, str) and source.startswith(_ADDRESSES)


def _names(chs: str | Iterable[str] | None) -> list[str]:
    if chs is None:
        raise ValueError("a hub plays the channels that are named")
    return [chs] if isinstance(chs, str) else list(chs)
