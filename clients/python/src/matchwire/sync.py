"""The client for threads, scripts and notebooks: no event loop in sight, and none in the way.

    with Client("wss://hub.example.org", key="mw_…") as hub:
        match = hub.follow("football/204849")
        for change in match.changes(timeout=60):
            print(change.events, match.data.get("score"))

It runs in a thread with a loop of its own, so it works while another loop is running, as in a notebook, and goes on
receiving while the program works or sleeps. All methods can be called from any thread.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar, cast, overload

from ._followed import LiveDocument as AsyncDocument
from ._followed import LiveReplay as AsyncReplay
from ._followed import Updates as AsyncUpdates
from ._reader import Reader
from ._view import OddsView, View
from .client import Client as AsyncClient
from .client import Metrics, OnSlow
from .documents import Odds
from .errors import ClientClosed, MatchwireError, Timeout
from .protocol import Change, Proof, Speed, State

__all__ = ["Book", "Client", "LiveDocument", "Replay", "Updates"]

logger = logging.getLogger("matchwire")
D = TypeVar("D")
T = TypeVar("T")
V = TypeVar("V", bound="View[Any]")


class Client:
    """A connection to a hub, in a thread of its own. The arguments are those of `matchwire.Client`.

    `on_state` and `on_frame` are called in that thread and must not wait.
    """

    def __init__(self, url: str, **options: Any) -> None:
        self._client = AsyncClient(url, **options)
        # Made when it is entered, so that a client that never is leaves nothing open.
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=self._run, name="matchwire", daemon=True)
        # One thread for all callbacks, so that none has to be safe against another.
        self._callbacks = ThreadPoolExecutor(1, thread_name_prefix="matchwire callbacks")
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def __repr__(self) -> str:
        return repr(self._client).replace("matchwire.", "matchwire.sync.")

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def _call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError("this callback runs in the client's own thread, which cannot wait for itself")
        if self._closed or not self._thread.is_alive():
            coroutine.close()
            if self._closed:
                raise ClientClosed("the client is closed")
            raise RuntimeError("enter the client first: with Client(...) as hub")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            # Such as KeyboardInterrupt: nobody waits for it any more.
            future.cancel()
            raise

    def _do(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """Calls a function in the loop."""

        async def call() -> T:
            return function(*arguments, **options)

        return self._call(call())

    def __enter__(self) -> Client:
        return self.open()

    def open(self) -> Client:
        """Connects, as `with` does; for notebooks. Call `close` afterwards. Raises as entering `matchwire.Client` does."""
        if self._closed or self._thread.is_alive():
            raise RuntimeError("a client is entered once")
        self._loop = asyncio.new_event_loop()
        self._thread.start()
        try:
            self._call(self._client.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection and ends the thread. Iterators end."""
        if self._closed or not self._thread.is_alive():
            return
        try:
            self._call(self._close())
        finally:
            self._stop()

    async def _close(self) -> None:
        await self._client.close()
        if self._tasks:
            # A callback that is running is not waited for longer than this.
            await asyncio.wait(self._tasks, timeout=2)

    def _stop(self) -> None:
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._callbacks.shutdown(wait=False, cancel_futures=True)

    # -------------------------------------------------------------------------------------- follow

    @overload
    def follow(
        self,
        ch: str,
        *,
        document: type[D],
        every_ms: int = 0,
        on_slow: OnSlow = "merge",
        lag: bool = False,
        pick: Sequence[str] | None = None,
        events: bool | Sequence[str] = True,
        lossless: bool = False,
        timeout: float | None = 30,
        wait: bool = False,
        on_change: Callable[[Change], object] | None = None,
        on_end: Callable[[MatchwireError], object] | None = None,
    ) -> LiveDocument[D]: ...
    @overload
    def follow(
        self,
        ch: str,
        *,
        every_ms: int = 0,
        on_slow: OnSlow = "merge",
        lag: bool = False,
        pick: Sequence[str] | None = None,
        events: bool | Sequence[str] = True,
        lossless: bool = False,
        timeout: float | None = 30,
        wait: bool = False,
        on_change: Callable[[Change], object] | None = None,
        on_end: Callable[[MatchwireError], object] | None = None,
    ) -> LiveDocument[dict[str, Any]]: ...
    def follow(
        self,
        ch: str,
        *,
        document: Any = None,
        every_ms: int = 0,
        on_slow: OnSlow = "merge",
        lag: bool = False,
        pick: Sequence[str] | None = None,
        events: bool | Sequence[str] = True,
        lossless: bool = False,
        timeout: float | None = 30,
        wait: bool = False,
        on_change: Callable[[Change], object] | None = None,
        on_end: Callable[[MatchwireError], object] | None = None,
    ) -> LiveDocument[Any]:
        """Follows a channel; returns when its document is here. As `matchwire.Client.follow`.

        `on_change` is called with each change, in one thread for all callbacks of this client; changes that come while it runs
        are merged, as for a loop. What it raises is logged and costs nothing else. `on_end` is called if the channel or the
        connection ends for good; without it, that is logged as an error.
        """
        followed = self._call(
            self._client.follow(
                ch,
                every_ms=every_ms,
                on_slow=on_slow,
                lag=lag,
                pick=pick,
                events=events,
                lossless=lossless,
                timeout=timeout,
                wait=wait,
            )
        )
        found: LiveDocument[Any] = LiveDocument(self, cast("AsyncDocument[Any]", followed))
        if on_change is not None:
            self._do(self._start_callbacks, followed, on_change, on_end)
        return found

    def odds(
        self, ch: str, *, bookmaker: str | None = None, every_ms: int = 0, lossless: bool = False,
        timeout: float | None = 30, wait: bool = False, on_change: Callable[[Change], object] | None = None,
        on_end: Callable[[MatchwireError], object] | None = None,
    ) -> Book:  # fmt: skip
        """Follows a book or the consensus: as `matchwire.Client.odds`, with the callbacks of `follow`."""
        followed = self._call(
            self._client.odds(ch, bookmaker=bookmaker, every_ms=every_ms, lossless=lossless, timeout=timeout, wait=wait)
        )
        if on_change is not None:
            self._do(self._start_callbacks, followed, on_change, on_end)
        return Book(self, followed)

    def updates(
        self, pattern: str, *, every_ms: int = 0, on_slow: OnSlow = "merge", lag: bool = False,
        pick: Sequence[str] | None = None, events: bool | Sequence[str] = True, lossless: bool = False,
    ) -> Updates[View[Any]]:  # fmt: skip
        """The changes of all channels that match a pattern: as `matchwire.Client.updates`."""
        return Updates(
            self,
            self._do(
                self._client.updates,
                pattern,
                every_ms=every_ms,
                on_slow=on_slow,
                lag=lag,
                pick=pick,
                events=events,
                lossless=lossless,
            ),
        )

    def books(self, pattern: str, *, every_ms: int = 0, lossless: bool = False) -> Updates[OddsView]:
        """As `updates`, for odds channels."""
        return Updates(self, self._do(self._client.books, pattern, every_ms=every_ms, lossless=lossless))

    def snap(self, sport: str = "football", *, timeout: float | None = 30) -> dict[int, Mapping[str, Any]]:
        """The board of a sport now: a line for each match by its id."""
        return self._call(self._client.snap(sport, timeout=timeout))

    def replay(self, chs: str | Iterable[str], *, start: Literal["start"] | int = "start", speed: Speed = 1) -> Replay:
        """Plays recorded channels: as `matchwire.Client.replay`."""
        return Replay(self, self._do(self._client.replay, chs, start=start, speed=speed))

    # --------------------------------------------------------------------------------------- facts

    @property
    def state(self) -> State:
        return self._client.state

    @property
    def features(self) -> frozenset[str]:
        return self._client.features

    def server_now(self) -> int:
        """The hub's clock, in microseconds since 1970."""
        return self._client.server_now()

    def metrics(self) -> Metrics:
        return self._do(self._client.metrics)

    def ping(self, *, timeout: float = 10) -> float:
        """Measures a round trip to the hub; returns milliseconds."""
        return self._call(self._client.ping(timeout=timeout))

    def verify(self, ch: str, *, timeout: float = 10) -> Proof:
        """Compares the hash of a followed document with the hub's."""
        return self._call(self._client.verify(ch, timeout=timeout))

    # ----------------------------------------------------------------------------------- callbacks

    def _start_callbacks(
        self, followed: AsyncDocument[Any], on_change: Callable[[Change], object],
        on_end: Callable[[MatchwireError], object] | None,
    ) -> None:  # fmt: skip
        task = self._loop.create_task(self._call_back(followed, on_change, on_end))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _call_back(
        self, followed: AsyncDocument[Any], on_change: Callable[[Change], object],
        on_end: Callable[[MatchwireError], object] | None,
    ) -> None:  # fmt: skip
        async def run(callback: Callable[[Any], object], argument: object) -> None:
            try:
                await self._loop.run_in_executor(self._callbacks, callback, argument)
            except Exception:
                self._client._callback_errors += 1
                logger.exception("a callback of %s failed", followed.name)

        try:
            async for change in followed:
                await run(on_change, change)
        except MatchwireError as error:
            if on_end is None:
                logger.error("%s has ended: %s", followed.name, error)
            else:
                await run(on_end, error)


def _loop(
    client: Client, reader: Reader, take: Callable[[], Coroutine[Any, Any, T]], what: str, timeout: float | None
) -> Iterator[T]:
    """One loop over the changes of a reader."""
    try:
        yield from _Pull(client, take, what, timeout)
    finally:
        if not client._closed:
            client._loop.call_soon_threadsafe(reader.rest)


class _Pull(Generic[T]):
    """Takes items out of an asynchronous source, in the thread of the program."""

    def __init__(self, client: Client, take: Callable[[], Coroutine[Any, Any, T]], what: str, timeout: float | None) -> None:
        self._client, self._take, self._what, self._timeout = client, take, what, timeout

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        try:
            ended, item = self._client._call(self._next())
        except ClientClosed:
            # The program itself has closed it.
            raise StopIteration from None
        if ended:
            raise StopIteration
        return cast("T", item)

    async def _next(self) -> tuple[bool, T | None]:
        # A coroutine cannot raise StopIteration, and a future cannot carry it.
        try:
            return False, await asyncio.wait_for(self._take(), self._timeout)
        except StopAsyncIteration:
            return True, None
        except asyncio.TimeoutError as error:
            if isinstance(error, MatchwireError):
                raise
            raise Timeout(f"{self._what}: no change within {self._timeout} s") from None


class LiveDocument(View[D], Generic[D]):
    """A followed channel: see `matchwire.LiveDocument`."""

    def __init__(self, client: Client, followed: AsyncDocument[D]) -> None:
        super().__init__(followed._context, followed._channel, followed._notes)
        self._client = client
        self._followed = followed

    @property
    def every_ms(self) -> int:
        """The rate that holds now: see `matchwire.LiveDocument`."""
        return self._followed.every_ms

    def changes(self, *, timeout: float | None = None) -> Iterator[Change]:
        """Iterates over the changes, merged while the program works. Ends when the channel or the client is closed by the
        program. Raises `Timeout` if no change comes within `timeout` seconds, and what iterating `matchwire.LiveDocument`
        raises."""
        reader = self._followed._reader
        return _loop(self._client, reader, reader.get, self.name, timeout)

    def __iter__(self) -> Iterator[Change]:
        return self.changes()

    def verify(self, *, timeout: float = 10) -> Proof:
        """Compares this document with the hub's, by hash."""
        return self._client.verify(self.name, timeout=timeout)

    def close(self) -> None:
        """Stops to follow."""
        if not self._client._closed:
            self._client._do(self._followed.close)

    def __enter__(self: V) -> V:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Book(LiveDocument[Odds], OddsView):
    """A followed book: a `LiveDocument` with `price`, `last_price`, `to_frame`, `to_polars`."""


class Updates(Generic[V]):
    """The changes of all channels of a pattern: see `matchwire.Updates`."""

    def __init__(self, client: Client, updates: AsyncUpdates[V]) -> None:
        self._client = client
        self._updates = updates

    def changes(self, *, timeout: float | None = None) -> Iterator[tuple[V, Change]]:
        """Iterates over pairs of channel and change. As `LiveDocument.changes`."""
        updates = self._updates
        return _loop(self._client, updates._reader, updates._get, updates._subscription.ch, timeout)

    def __iter__(self) -> Iterator[tuple[V, Change]]:
        return self.changes()

    def close(self) -> None:
        """Stops to follow."""
        if not self._client._closed:
            self._client._do(self._updates.close)

    def __enter__(self) -> Updates[V]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Replay:
    """A recording that the hub plays: see `matchwire.LiveReplay`."""

    def __init__(self, client: Client, replay: AsyncReplay) -> None:
        self._client = client
        self._replay = replay

    @property
    def span(self) -> tuple[int, int] | None:
        return self._replay.span

    @property
    def at(self) -> int | None:
        return self._replay.at

    def pause(self) -> None:
        self._client._do(self._replay.pause)

    def resume(self) -> None:
        self._client._do(self._replay.resume)

    def set_speed(self, speed: Speed) -> None:
        self._client._do(self._replay.set_speed, speed)

    def seek(self, at: int) -> None:
        """Moves to a recorded time in microseconds."""
        self._client._do(self._replay.seek, at)

    def __iter__(self) -> Iterator[tuple[View[Any], Change]]:
        return iter(_Pull(self._client, self._replay.__anext__, "the replay", None))

    def close(self) -> None:
        if not self._client._closed:
            self._client._do(self._replay.close)

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
