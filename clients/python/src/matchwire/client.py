"""The asyncio client."""

from __future__ import annotations

import asyncio
import inspect
import logging
import ssl as ssl_module
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, TypeVar, cast, overload
from urllib.parse import urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed as SocketClosed

from ._followed import Book, LiveDocument, LiveReplay, Updates
from ._reader import Pace, Reader
from ._secret import RedactingLogger, Secret, redact
from ._version import __version__
from ._view import OddsView, View, view_of
from .errors import (
    ClientClosed,
    ConnectionClosed,
    ConnectTimeout,
    Timeout,
    Unsupported,
    closed_error,
    refused_error,
)
from .protocol import (
    Change,
    Changed,
    Channel,
    Connect,
    Disconnect,
    Health,
    Options,
    Proof,
    RefusalInfo,
    Replay,
    ReplayOutput,
    Replied,
    Send,
    Session,
    Speed,
    State,
    StateChanged,
    Subscription,
)

__all__ = ["Book", "Client", "LiveDocument", "LiveReplay", "Metrics", "Updates"]

logger = logging.getLogger("matchwire")
D = TypeVar("D")
T = TypeVar("T")
V = TypeVar("V", bound="View[Any]")
OnSlow = Literal["merge", "resync", "close"]

# How long the end of a connection may take: its close frames are a courtesy.
CLOSE_TIMEOUT_S = 2.0
# The loop's timers stand still while the machine sleeps, so that no single one waits longer than this.
TIMER_MAX_S = 1.0
# A ticket can expire on its way, so that a refused one is no proof that the next one will be.
TICKET_ATTEMPTS = 3


def local_clock() -> float:
    """Seconds of a clock that does not step, and goes on while the machine sleeps."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    if sys.platform == "darwin":
        # Unlike time.monotonic(), which stands still.
        return time.clock_gettime(time.CLOCK_MONOTONIC)
    return time.monotonic()


@dataclass(frozen=True, slots=True)
class Metrics:
    """What the client has done so far. Times are in milliseconds, `clock_offset_ms` is the hub's clock minus the local one."""

    phase: str
    connections: int
    frames: int
    bytes: int
    images: int
    updates: int
    events: int
    merged_by_hub: int
    merged_by_reader: int
    events_dropped: int
    resyncs: int
    missed: int
    channels: int
    pending: int
    callback_errors: int
    round_trip_ms: float | None
    clock_offset_ms: float | None
    lag_bytes: int
    lag_ms: int


class _Socket(ClientConnection):
    """Reports bytes as they arrive, so that a long message on a slow line is not taken for silence."""

    on_bytes: Callable[[], None] | None = None

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.on_bytes is not None:
            self.on_bytes()


class Client:
    """A connection to a hub that keeps documents current: it reconnects, resumes, and says how fresh they are.

        async with Client("wss://hub.example.org", key="mw_…") as hub:
            match = await hub.follow("football/204849")
            async for change in match:
                print(change.events, match.data.get("score"), match.health)

    `url` is that of the hub, with or without `/stream/v1`. `key` is an API key; `ticket` instead is a function, plain or
    async, that buys a ticket for each connection. `open_timeout` limits how long entering the client waits for the first
    connection (None: for ever); later losses are never an error, and the client tries again until it is closed.
    `proxy` (True: the system's), `ssl` and `compression` are those of `websockets.connect`, and `connect_options` are
    more of its parameters. `max_frame_bytes` is the largest message accepted. `on_state` is called with each new `State`,
    `on_frame` with each message of the hub.

    Its methods and objects belong to the event loop that entered it. For threads and notebooks: `matchwire.sync.Client`.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        ticket: Callable[[], str | Awaitable[str]] | None = None,
        open_timeout: float | None = 30,
        proxy: str | Literal[True] | None = True,
        ssl: ssl_module.SSLContext | None = None,
        compression: str | None = None,
        max_frame_bytes: int = 16 * 1024 * 1024,
        on_state: Callable[[State], None] | None = None,
        on_frame: Callable[[bytes], None] | None = None,
        connect_options: Mapping[str, Any] | None = None,
    ) -> None:
        if key is not None and ticket is not None:
            raise ValueError("use key or ticket, not both")
        self._url = stream_url(url)
        self._key = Secret(key) if key is not None else None
        self._ticket = ticket
        self._open_timeout = open_timeout
        self._connect_options: dict[str, Any] = {
            "proxy": proxy, "compression": compression, "max_size": max_frame_bytes, "max_queue": 16,
            "close_timeout": CLOSE_TIMEOUT_S, "ping_interval": None, "open_timeout": None, "create_connection": _Socket,
            "user_agent_header": f"matchwire-python/{__version__}",
        }  # fmt: skip
        if ssl is not None:
            self._connect_options["ssl"] = ssl
        self._connect_options |= connect_options or {}
        self._on_state = on_state
        self._on_frame = on_frame
        self._wire_logger = RedactingLogger(logging.getLogger("matchwire.socket"))

        self._session = Session()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connection: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        # Commands that the socket has not accepted yet. There are at most a few for each subscription.
        self._outgoing: deque[str] = deque()
        self._has_outgoing = asyncio.Event()
        self._pumping = False
        self._readers: dict[Subscription, list[tuple[Reader, Callable[[], bool]]]] = {}
        self._views: dict[Channel, View[Any]] = {}
        # Woken by whatever may end a wait; those who wait look for themselves.
        self._waiters: set[asyncio.Future[None]] = set()
        self._replies: dict[int, asyncio.Future[Replied]] = {}
        self._replays: dict[Replay, LiveReplay] = {}
        self._error: ConnectionClosed | None = None
        self._refused_tickets = 0
        self._callback_errors = 0
        self._past_merges = 0
        self._past_drops = 0

    def __repr__(self) -> str:
        return f"<matchwire.Client {redact(self._url)} {self._session.state.phase}>"

    # ------------------------------------------------------------------------------ open and close

    async def __aenter__(self) -> Client:
        if self._loop is not None:
            raise RuntimeError("a client is entered once")
        self._loop = asyncio.get_running_loop()
        self._session.start(self.now())
        self._pump()
        try:
            await self._until(lambda: self._session.is_open, self._open_timeout)
        except Timeout:
            state = self._session.state
            await self.close()
            reason = state.message or state.why or "no answer"
            raise ConnectTimeout(f"no connection to the hub within {self._open_timeout} s: {reason}") from None
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connection. Iterators end."""
        if self._loop is not None and self._session.state.phase != "closed":
            self._session.stop(self.now())
            self._pump()
        if self._timer is not None:
            self._timer.cancel()
        if self._closing:
            await asyncio.wait(self._closing, timeout=2 * CLOSE_TIMEOUT_S)

    @property
    def state(self) -> State:
        """The connection now; see `State`."""
        return self._session.state

    @property
    def features(self) -> frozenset[str]:
        """What this hub offers beyond the basics, such as `replay`, `batch`, `hash`."""
        return self._session.hello.features

    @property
    def server(self) -> str:
        """The hub's name and version."""
        return self._session.hello.server

    def wake(self) -> None:
        """Tries to connect at once, because the network is back."""
        self._session.wake(self.now())
        self._pump()

    # ------------------------------------------------------------------------------------- follow

    @overload
    async def follow(
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
    ) -> LiveDocument[D]: ...
    @overload
    async def follow(
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
    ) -> LiveDocument[dict[str, Any]]: ...
    async def follow(
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
    ) -> LiveDocument[Any]:
        """Follows a channel; returns when its document is here.

        `document` is the type of the document, for type checkers only. With `every_ms` the hub merges changes within that
        time. By default changes that come while the program works on one are merged, and a slow program makes the client
        ask for a lower rate; `lossless` keeps 1,000 changes apart and never lowers it. With `lag`, `metrics` has what the hub
        says of this connection's delay. `pick` selects parts of the document by JSON pointers, in which `*` stands for any one
        member (`/score`), and `events` none or some kinds of events. `wait` waits for a channel that does not
        exist yet instead of raising `NotTracked`.

        If the channel is followed several times, the fastest rate holds for all, and all get everything if they want
        different parts.

        Raises `Refused` (`NotTracked`, `NotEntitled`, ...), `Timeout`, or `ConnectionClosed`.
        """
        if "*" in ch:
            raise ValueError("a pattern has many documents: use updates(pattern)")
        found: LiveDocument[Any] = await self._follow(
            LiveDocument, ch, Options.of(every_ms, on_slow, lag, pick, events), lossless, timeout, wait
        )
        return found

    async def odds(
        self, ch: str, *, bookmaker: str | None = None, every_ms: int = 0, lossless: bool = False,
        timeout: float | None = 30, wait: bool = False,
    ) -> Book:  # fmt: skip
        """Follows the book of a bookmaker on a match (`football/204849`), or the consensus of all. As `follow`."""
        name = ch if "/odds" in ch else f"{ch}/odds"
        if bookmaker is not None:
            name = f"{name}/{bookmaker}"
        found: Book = await self._follow(Book, name, Options(every_ms), lossless, timeout, wait)
        return found

    async def _follow(self, cls: type[Any], ch: str, options: Options, lossless: bool, timeout: float | None, wait: bool) -> Any:
        self._check()
        subscription = self._session.subscribe(ch, options, self.now())
        reader = self._reader(subscription, options, lossless)
        handle = None
        try:
            self._pump()
            channel = self._session.channels[ch]

            def is_here() -> bool:
                error = channel.error or subscription.error
                if error is not None and not (wait and error.retry):
                    raise refused_error(ch, error)
                return channel.is_complete and channel.synced

            await self._until(is_here, timeout, what=ch)
            # More may have come before this task was continued.
            reader.skip(channel.seq)
            handle = cls(self, subscription, reader, self._view(channel))
            return handle
        finally:
            if handle is None:
                self._drop(subscription, reader)

    def updates(
        self, pattern: str, *, every_ms: int = 0, on_slow: OnSlow = "merge", lag: bool = False,
        pick: Sequence[str] | None = None, events: bool | Sequence[str] = True, lossless: bool = False,
    ) -> Updates[View[Any]]:  # fmt: skip
        """Follows all channels that match a pattern, now and later: `football/*`, `*/*/odds/betfair`.

            async for channel, change in hub.updates("football/*"): ...

        Each channel begins with a change of kind `image`. For each channel at most one merged change waits (`lossless`: up to
        1,000 changes of all channels are kept apart).
        """
        return self._updates(pattern, Options.of(every_ms, on_slow, lag, pick, events), lossless)

    def books(self, pattern: str, *, every_ms: int = 0, lossless: bool = False) -> Updates[OddsView]:
        """As `updates`, for patterns of odds channels: `football/*/odds/pinnacle`. Each channel has `price`."""
        if "odds" not in pattern.split("/")[2:3]:
            raise ValueError("the pattern of books is {sport}/{id}/odds or {sport}/{id}/odds/{bookmaker}")
        return self._updates(pattern, Options(every_ms), lossless)

    def _updates(self, pattern: str, options: Options, lossless: bool) -> Updates[Any]:
        self._check()
        subscription = self._session.subscribe(pattern, options, self.now())
        reader = self._reader(subscription, options, lossless, from_image=False)
        for channel in self._session.covered(subscription):
            if channel.is_complete:
                reader.put(_image_change(channel))
        self._pump()
        return Updates(self, subscription, reader)

    async def snap(self, sport: str = "football", *, timeout: float | None = 30) -> dict[int, Mapping[str, Any]]:
        """The board of a sport now: a line for each match by its id. Raises as `follow`."""
        board = await self.follow(sport, timeout=timeout)
        try:
            matches = cast("Mapping[str, Any]", board.data).get("matches") or {}
            return {int(id): line for id, line in matches.items()}
        finally:
            board.close()

    def replay(self, chs: str | Iterable[str], *, start: Literal["start"] | int = "start", speed: Speed = 1) -> LiveReplay:
        """Plays recorded channels from the hub's films, on one clock, from a recorded time in microseconds.

            async for channel, change in hub.replay(["football/204849", "football/204849/odds"], speed="max"): ...

        No change is merged or left out: the hub waits for the program.
        """
        self._check()
        if "replay" not in self.features:
            raise Unsupported("this hub does not offer replays")
        names = [chs] if isinstance(chs, str) else list(chs)
        at = start if start == "start" else {"at": int(start)}
        replay = self._session.replay(names, start=at, speed=speed, now=self.now())
        found = self._replays[replay] = LiveReplay(self, replay)
        self._pump()
        return found

    # -------------------------------------------------------------------------------------- facts

    def now(self) -> float:
        """The local clock of this client, in seconds."""
        return local_clock()

    def server_now(self) -> int:
        """The hub's clock, in microseconds since 1970, by the quickest of the last pings."""
        return self._session.server_now(self.now())

    def health_of(self, channel: Channel) -> Health:
        """The health of a channel of the protocol core at this moment."""
        return self._session.health(channel, self.now())

    async def ping(self, *, timeout: float = 10) -> float:
        """Measures a round trip to the hub; returns milliseconds."""
        began = self.now()
        await self._request(self._session.request_ping(began), timeout)
        return (self.now() - began) * 1000

    async def verify(self, ch: str, *, timeout: float = 10) -> Proof:
        """Compares the hash of a followed document with the hub's. At most once a second for each channel.

        If they differ, `proof.ok` is False and the client has requested the image. Raises `Unsupported` if the hub does not
        offer it, and `Timeout`.
        """
        self._check()
        if "hash" not in self.features:
            raise Unsupported("this hub does not offer hashes")
        replied = await self._request(self._session.request_hash(ch), timeout)
        if replied.proof is None:
            frame = replied.frame or {}
            raise refused_error(ch, RefusalInfo(str(frame.get("code", "")), str(frame.get("message", "no answer"))))
        return replied.proof

    def metrics(self) -> Metrics:
        """Counters and measurements of this client."""
        session, counters = self._session, self._session.counters
        readers = [reader for readers in self._readers.values() for reader, _ in readers]
        trip, lag = session.round_trip(), session.lag or {}
        offset = session.server_now(self.now()) / 1000 - time.time() * 1000 if session.hello.conn else None
        return Metrics(
            session.state.phase, counters.connections, counters.frames, counters.bytes, counters.images, counters.updates,
            counters.events, counters.merged, self._past_merges + sum(it.merges for it in readers),
            self._past_drops + sum(it.dropped for it in readers), counters.resyncs, counters.missed, len(session.channels),
            sum(map(len, readers)), self._callback_errors, None if trip is None else trip * 1000, offset,
            lag.get("queued_bytes", 0), lag.get("oldest_ms", 0),
        )  # fmt: skip

    # ------------------------------------------------------------------------------------ waiting

    def _check(self) -> None:
        if self._loop is None:
            raise RuntimeError("enter the client first: async with Client(...) as hub")
        if self._error is not None:
            raise self._error

    async def _until(self, holds: Callable[[], bool], timeout: float | None, what: str = "the hub") -> None:
        """Waits until `holds`, or raises what it raises."""
        deadline = None if timeout is None else self.now() + timeout
        while True:
            if self._error is not None:
                raise self._error
            if holds():
                return
            left = None if deadline is None else deadline - self.now()
            if left is not None and left <= 0:
                raise Timeout(f"{what}: nothing within {timeout} s")
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.add(waiter)
            try:
                await asyncio.wait_for(waiter, left)
            except asyncio.TimeoutError:
                pass
            finally:
                self._waiters.discard(waiter)

    async def _request(self, id: int, timeout: float) -> Replied:
        self._check()
        future: asyncio.Future[Replied] = asyncio.get_running_loop().create_future()
        self._replies[id] = future
        self._pump()
        try:
            replied = await asyncio.wait_for(future, timeout)
        except asyncio.TimeoutError:
            raise Timeout(f"the hub did not answer within {timeout} s") from None
        finally:
            self._replies.pop(id, None)
        if replied.frame is None:
            raise Timeout("the connection was lost before the hub answered")
        return replied

    # ------------------------------------------------------------------------------------- readers

    def _reader(self, subscription: Subscription, options: Options, lossless: bool, *, from_image: bool = True) -> Reader:
        pace = Pace(options.every_ms, is_fixed=lossless)
        reader = Reader(clock=self.now, depth=1000 if lossless else 0, pace=pace, on_pace=lambda: self._set_rate(subscription))

        def is_here() -> bool:
            return any(it.is_complete and it.synced for it in self._session.covered(subscription))

        # What led to the first document is no change for someone who gets the document itself.
        started = not from_image or is_here()

        def accepts() -> bool:
            nonlocal started
            if started:
                return True
            started = is_here()
            return False

        self._readers.setdefault(subscription, []).append((reader, accepts))
        self._set_rate(subscription)
        return reader

    def _set_rate(self, subscription: Subscription) -> None:
        """The quickest of the readers decides."""
        rate_ms = min((it.pace.rate_ms for it, _ in self._readers.get(subscription, ())), default=subscription.options.every_ms)
        if rate_ms != subscription.options.every_ms:
            logger.debug("%s: at most one update in %d ms, as fast as they are read", subscription.ch, rate_ms)
            self._session.set_rate(subscription, rate_ms)
            self._pump()

    def _drop(self, subscription: Subscription, reader: Reader) -> None:
        readers = self._readers.get(subscription, [])
        kept = [it for it in readers if it[0] is not reader]
        if len(kept) == len(readers):
            return
        self._past_merges += reader.merges
        self._past_drops += reader.dropped
        if kept:
            self._readers[subscription] = kept
            self._set_rate(subscription)
        else:
            del self._readers[subscription]
        reader.end()
        self._session.unsubscribe(subscription)
        self._views = {channel: it for channel, it in self._views.items() if channel.subscriptions}
        if self._session.state.phase != "closed":
            self._pump()

    def _view(self, channel: Channel) -> View[Any]:
        view = self._views.get(channel)
        if view is None:
            view = self._views[channel] = view_of(self, channel)
        return view

    # ------------------------------------------------------------------------------------- driving

    def _pump(self) -> None:
        """Performs what the session asks for."""
        # A callback may call the client, which ends up here again.
        if self._pumping:
            return
        self._pumping = True
        try:
            while outputs := self._session.outputs():
                for output in outputs:
                    self._perform(output)
        finally:
            self._pumping = False
        self._arm_timer()

    def _perform(self, output: Any) -> None:
        if isinstance(output, Changed):
            self._changed(output)
        elif isinstance(output, Send):
            self._outgoing.append(output.text)
            self._has_outgoing.set()
        elif isinstance(output, ReplayOutput):
            if found := self._replays.get(output.replay):
                found._put(output)
        elif isinstance(output, Replied):
            future = self._replies.get(output.id)
            if future is not None and not future.done():
                future.set_result(output)
        elif isinstance(output, Connect):
            self._outgoing.clear()
            assert self._loop is not None
            self._connection = self._loop.create_task(self._connect(), name="matchwire connection")
        elif isinstance(output, Disconnect):
            self._disconnect()
        else:
            self._state_changed(output)

    def _changed(self, output: Changed) -> None:
        channel, change = output.channel, output.change
        view = self._views.get(channel)
        if view is not None:
            view._note(change, self.now())
        takers = [
            reader for subscription in output.subscriptions for reader, accepts in self._readers.get(subscription, ()) if accepts()
        ]
        for reader in takers:
            # A reader may shorten its change, and merges later ones into it.
            reader.put(change.copy() if len(takers) > 1 else change)
        if change.health == "refused" and change.error is not None and not change.error.retry:
            for subscription in output.subscriptions:
                if not subscription.is_pattern:
                    for reader, _ in self._readers.get(subscription, ()):
                        reader.end(refused_error(channel.name, change.error))
        if not channel.subscriptions or self._session.channels.get(channel.name) is not channel:
            self._views.pop(channel, None)
        self._wake_waiters()

    def _state_changed(self, output: StateChanged) -> None:
        state = output.state
        if state.phase == "open":
            logger.info("connected to %s as %s", self._session.hello.server, self._session.hello.conn)
            self._refused_tickets = 0
        elif state.phase == "waiting":
            assert state.retry_at is not None
            reason = state.message or state.why or (f"code {state.code}" if state.code else "connection lost")
            logger.warning("%s; next attempt in %.1f s", redact(reason, self._wire_logger.secrets), state.retry_at - self.now())
        elif state.phase == "closed" and self._error is None:
            self._terminate(state)
        for subscription, readers in list(self._readers.items()):
            if subscription.is_pattern and subscription.error is not None and not subscription.error.retry:
                for reader, _ in list(readers):
                    reader.end(refused_error(subscription.ch, subscription.error))
                    self._drop(subscription, reader)
        if self._on_state is not None:
            self._call_back("on_state", self._on_state, state)
        self._wake_waiters()

    def _call_back(self, name: str, callback: Callable[[T], None], argument: T) -> None:
        try:
            callback(argument)
        except Exception:
            self._callback_errors += 1
            logger.exception("%s failed", name)

    def _terminate(self, state: State) -> None:
        if state.code is None:
            self._error = ClientClosed("the client is closed")
        else:
            self._error = closed_error(state.code, redact(state.message or "", self._wire_logger.secrets))
            logger.error("closed for good: %s", self._error)
        end: ConnectionClosed | None = None if state.code is None else self._error
        for readers in self._readers.values():
            for reader, _ in readers:
                reader.end(end)
        for replay in self._replays.values():
            replay._end(end)

    def _wake_waiters(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _arm_timer(self) -> None:
        deadline = self._session.deadline()
        if self._timer is not None:
            # Frames only move the deadline later, so that a timer that comes too early is cheaper than a new one for each.
            if deadline is not None and self._timer_at <= deadline:
                return
            self._timer.cancel()
            self._timer = None
        if deadline is not None and self._loop is not None:
            now = self.now()
            self._timer_at = min(max(now, deadline), now + TIMER_MAX_S)
            self._timer = self._loop.call_later(self._timer_at - now, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._session.tick(self.now())
        self._pump()

    def _disconnect(self) -> None:
        task, self._connection = self._connection, None
        if task is not None and not task.done():
            task.cancel()
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _connect(self) -> None:
        """One connection, from the first attempt to its end."""
        me = asyncio.current_task()
        code: int | None = None
        why = message = None
        try:
            headers, protocols = await self._credentials()
            socket = await connect(
                self._url, additional_headers=headers, subprotocols=protocols, logger=self._wire_logger,
                **self._connect_options,
            )  # fmt: skip
            try:
                code, why = await self._serve(cast("_Socket", socket), me)
            finally:
                await _close(socket)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            message = redact(f"{type(error).__name__}: {error}", self._wire_logger.secrets)
        if self._connection is me:
            self._connection = None
            if code == 4401 and self._ticket is not None and self._refused_tickets < TICKET_ATTEMPTS:
                self._refused_tickets += 1
                code, message = None, "the ticket was refused"
            self._session.closed(code, self.now(), why=why or None, message=message)
            self._pump()

    async def _serve(self, socket: _Socket, me: asyncio.Task[None] | None) -> tuple[int | None, str | None]:
        session = self._session

        def on_bytes() -> None:
            if self._connection is me:
                session.touch(local_clock())

        socket.on_bytes = on_bytes
        writer = asyncio.create_task(self._write(socket), name="matchwire writer")
        receive, on_frame = socket.recv, self._on_frame
        try:
            while True:
                message = await receive(decode=False)
                if self._connection is not me:
                    return None, None
                if on_frame is not None:
                    self._call_back("on_frame", on_frame, message)
                session.receive(message, local_clock())
                self._pump()
        except SocketClosed:
            return socket.close_code, socket.close_reason
        finally:
            writer.cancel()

    async def _write(self, socket: _Socket) -> None:
        try:
            while True:
                while self._outgoing:
                    await socket.send(self._outgoing.popleft())
                self._has_outgoing.clear()
                await self._has_outgoing.wait()
        except SocketClosed:
            # The reader reports it.
            pass

    async def _credentials(self) -> tuple[dict[str, str], list[Any]]:
        protocols: list[Any] = ["matchwire.v1"]
        if self._key is not None:
            self._wire_logger.secrets = [self._key]
            return {"Authorization": f"Token {self._key.reveal()}"}, protocols
        if self._ticket is not None:
            # In a thread, because a plain function may wait for an answer over HTTP.
            found = await asyncio.to_thread(self._ticket)
            ticket = await found if inspect.isawaitable(found) else found
            self._wire_logger.secrets = [Secret(ticket)]
            return {}, [*protocols, "ticket", ticket]
        return {}, protocols


async def _close(socket: ClientConnection) -> None:
    try:
        await socket.close()
    except asyncio.CancelledError:
        socket.transport.abort()
        raise
    except Exception as error:  # The connection is being given up; what is wrong with it no longer matters.
        logger.debug("closing: %s", type(error).__name__)


def _image_change(channel: Channel) -> Change:
    return Change(channel.name, "image", channel.data, None, channel.health, "waiting", channel.epoch, channel.seq, channel.at)


def stream_url(url: str) -> str:
    """The address of the stream: `https://hub`, `wss://hub` and `wss://hub/stream/v1` are the same."""
    parts = urlsplit(url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    if scheme not in ("ws", "wss") or not parts.hostname:
        raise ValueError("the address of a hub begins with wss://, ws://, https:// or http://")
    path = parts.path if parts.path.strip("/") else "/stream/v1"
    return urlunsplit((scheme, parts.netloc, path, parts.query, ""))
