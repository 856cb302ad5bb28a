"""What a client hands out: followed channels, patterns and replays."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ._reader import Reader
from ._view import OddsView, View, view_of
from .documents import Odds
from .errors import ClientClosed, MatchwireError, ReplayEnded, Timeout, refused_error
from .protocol import Change, Channel, Health, Proof, Replay, ReplayOutput, Speed, Subscription

if TYPE_CHECKING:
    from .client import Client

__all__ = ["Book", "LiveDocument", "LiveReplay", "RecordedContext", "Updates"]

D = TypeVar("D")
T = TypeVar("T")
V = TypeVar("V", bound="View[Any]")


class LiveDocument(View[D], Generic[D]):
    """A followed channel. Iterate over it for its changes; read `data` and `health` at any moment.

    It has one buffer: two loops over it share its changes. Follow the channel again for another one; both use one
    subscription, at the rate of the faster one.
    """

    def __init__(self, client: Client, subscription: Subscription, reader: Reader, view: View[D]) -> None:
        super().__init__(client, view._channel, view._notes)
        self._client = client
        self._subscription = subscription
        self._reader = reader

    @property
    def every_ms(self) -> int:
        """The interval that holds now: the shortest that a follower of this channel needs. It is longer than the one asked for
        while the program does not keep up."""
        return self._subscription.options.every_ms

    def __aiter__(self) -> AsyncIterator[Change]:
        return _Loop(self._reader, self._reader.get)

    async def next_change(self, *, timeout: float | None = None) -> Change:
        """The next change. Raises `Timeout`, and what iterating raises.

        After `close()` come the changes that waited then, and after them `ClientClosed`.
        """
        return await next_change(self._reader, timeout, self.name)

    def take(self) -> list[Change]:
        """The changes that wait, oldest first, without waiting for more."""
        found: list[Change] = []
        while (change := self._reader.get_nowait()) is not None:
            found.append(change)
        return found

    async def verify(self, *, timeout: float = 10) -> Proof:
        """Compares this document with the hub's, by hash: see `Client.verify`."""
        return await self._client.verify(self.name, timeout=timeout)

    def close(self) -> None:
        """Stops to follow. The document stays as it is, and its health tells that it ages."""
        self._client._drop(self._subscription, self._reader)

    async def __aenter__(self: V) -> V:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


class Book(LiveDocument[Odds], OddsView):
    """A followed book: a `LiveDocument` with `price`, `last_price`, `to_frame`, `to_polars`."""


async def next_change(reader: Reader, timeout: float | None, what: str) -> Change:
    try:
        return await asyncio.wait_for(reader.get_once(), timeout)
    except asyncio.TimeoutError:
        raise Timeout(f"{what}: no change within {timeout} s") from None
    except StopAsyncIteration:
        raise ClientClosed("it is no longer followed") from None


class _Loop(Generic[T]):
    """One loop over the changes of a reader."""

    def __init__(self, reader: Reader, take: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._reader = reader
        self._take = take
        self._loop = asyncio.get_running_loop()

    def __aiter__(self) -> _Loop[T]:
        return self

    async def __anext__(self) -> T:
        return await self._take()

    def __del__(self) -> None:
        # The loop was left, so that nobody is slow any more. Objects may be deleted in any thread, and after their loop.
        try:
            self._loop.call_soon_threadsafe(self._reader.rest)
        except RuntimeError:
            pass


class Updates(Generic[V]):
    """The changes of all channels of a pattern, as pairs of channel and change."""

    def __init__(self, client: Client, subscription: Subscription, reader: Reader) -> None:
        self._client = client
        self._subscription = subscription
        self._reader = reader

    @property
    def left_out(self) -> int:
        """Channels that the pattern covers and for which the socket had no room when it was subscribed to."""
        return self._subscription.left_out

    @property
    def not_entitled(self) -> int:
        """Channels that the pattern covers and that need an add-on that the account lacks."""
        return self._subscription.not_entitled

    def __aiter__(self) -> AsyncIterator[tuple[V, Change]]:
        return _Loop(self._reader, self._get)

    async def __anext__(self) -> tuple[V, Change]:
        return self._pair(await self._reader.get_once())

    async def _get(self) -> tuple[V, Change]:
        return self._pair(await self._reader.get())

    async def next_change(self, *, timeout: float | None = None) -> tuple[V, Change]:
        """The next pair. Raises as `LiveDocument.next_change`."""
        return self._pair(await next_change(self._reader, timeout, self._subscription.ch))

    def _pair(self, change: Change) -> tuple[V, Change]:
        client = self._client
        channel = client._session.channels.get(change.channel)
        if channel is None:
            # It has ended meanwhile: the last that was known of it.
            channel = Channel(change.channel)
            channel.data, channel.epoch, channel.error = change.data, change.epoch, change.error
            channel.seq = change.seq if change.seq is not None else -1
            return cast("V", view_of(client, channel)), change
        return cast("V", client._view(channel)), change

    def close(self) -> None:
        """Stops to follow; iterators end."""
        self._client._drop(self._subscription, self._reader)

    async def __aenter__(self) -> Updates[V]:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


class LiveReplay:
    """A recording that the hub plays: pairs of channel and change, until its end.

    At most 1,000 changes wait for the program, and what was on its way when the hub was told to pause. Iterating raises
    `Refused` if there is no such recording, `ReplayEnded` if the hub gave it up, and `ConnectionClosed`.
    """

    HIGH, LOW = 1000, 250

    def __init__(self, client: Client, replay: Replay) -> None:
        self._client = client
        self._replay = replay
        self._views: dict[Channel, View[Any]] = {}
        self._queue: deque[tuple[View[Any], Change]] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False
        self._error: MatchwireError | None = None

    @property
    def span(self) -> tuple[int, int] | None:
        """The recorded times of the first and the last frame, in microseconds; None before the hub has answered."""
        return self._replay.span

    @property
    def at(self) -> int | None:
        """The recorded time that has arrived here, in microseconds."""
        return self._replay.at

    @property
    def phase(self) -> str:
        return self._replay.phase

    def pause(self) -> None:
        """Stops the clock of the replay. What is on its way still arrives."""
        self._change(pause=True)

    def resume(self) -> None:
        """Lets the clock go on."""
        self._change(pause=False)

    def set_speed(self, speed: Speed) -> None:
        """Changes the speed: from 0.1 to 100, or `max`."""
        self._change(speed=speed)

    def seek(self, at: int) -> None:
        """Moves to a recorded time in microseconds: images follow. Changes that wait here are dropped. A replay that has come to
        its end plays again from there."""
        self._queue.clear()
        self._hold(False)
        if self._replay.phase == "ended":
            self._client._check()
            self._ended, self._error = False, None
            self._client._replays[self._replay] = self
        self._change(seek={"at": int(at)})

    def close(self) -> None:
        """Ends the replay; iterators end."""
        self._client._session.stop_replay(self._replay)
        self._client._replays.pop(self._replay, None)
        self._end(None)
        self._client._pump()

    def __aiter__(self) -> LiveReplay:
        return self

    async def __anext__(self) -> tuple[View[Any], Change]:
        while not self._queue:
            if self._ended:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            if self._waiter is not None:
                raise RuntimeError("two tasks wait for the changes of one replay")
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        pair = self._queue.popleft()
        if self._replay.held and len(self._queue) <= self.LOW:
            self._hold(False)
        return pair

    async def __aenter__(self) -> LiveReplay:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def _change(self, **change: Any) -> None:
        self._client._session.change_replay(self._replay, self._client.now(), **change)
        self._client._pump()

    def _hold(self, held: bool) -> None:
        self._client._session.hold_replay(self._replay, held)
        self._client._pump()

    def _put(self, output: ReplayOutput) -> None:
        replay = self._replay
        if output.channel is not None and output.change is not None:
            view = self._views.get(output.channel)
            if view is None:
                view = self._views[output.channel] = view_of(RecordedContext(lambda: replay.at), output.channel)
            view._note(output.change, self._client.now())
            self._queue.append((view, output.change))
            if len(self._queue) == self.HIGH:
                self._hold(True)
        if replay.phase in ("ended", "refused"):
            self._client._replays.pop(replay, None)
            self._end(replay_error(replay))
        self._wake()

    def _end(self, error: MatchwireError | None) -> None:
        if not self._ended:
            self._ended, self._error = True, error
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def replay_error(replay: Replay) -> MatchwireError | None:
    if replay.error is not None:
        return refused_error(", ".join(replay.chs), replay.error)
    return None if replay.why == "end" else ReplayEnded(f"the replay ended before its end: {replay.why}")


class RecordedContext:
    """The clock of recorded channels: the recorded time. Nothing recorded grows stale."""

    def __init__(self, at: Callable[[], int | None]) -> None:
        self._at = at

    def now(self) -> float:
        return (self._at() or 0) / 1e6

    def server_now(self) -> int:
        return self._at() or 0

    def health_of(self, channel: Channel) -> Health:
        return channel.health
