"""Between the session, which never waits, and one consumer, which may: a bounded buffer that merges."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from .protocol import RATES_MS, Change

__all__ = ["Pace", "Reader"]

# A change that waits for longer than this shows that the consumer is slow.
SLOW_AFTER_S = 0.25
# So long the consumer has to keep up before the rate goes back.
RETURN_AFTER_S = 5.0


class Pace:
    """Chooses the rate that one consumer can keep up with, as plain state: moments in, a rate out. A fixed one keeps the rate that
    was asked for."""

    def __init__(self, base_ms: int, *, is_fixed: bool = False) -> None:
        self.base_ms = base_ms
        self.rate_ms = base_ms
        self._is_fixed = is_fixed
        self._slow_at = 0.0

    def waited(self, seconds: float, now: float) -> bool:
        """A change has waited for so long, and another one came. Returns whether the rate changes."""
        if seconds < SLOW_AFTER_S:
            return False
        self._slow_at = now
        wanted = next((it for it in RATES_MS if it >= seconds * 1000), RATES_MS[-1])
        return self._move(max(wanted, self.rate_ms))

    def took(self, work: float, now: float) -> bool:
        """The consumer is back after so many seconds, and nothing waits for it. Returns whether the rate changes."""
        if work >= SLOW_AFTER_S:
            self._slow_at = now
        if now - self._slow_at < RETURN_AFTER_S:
            return False
        return self._move(self.base_ms)

    def rest(self) -> bool:
        """The consumer has stopped to consume. Returns whether the rate changes."""
        return self._move(self.base_ms)

    def _move(self, rate_ms: int) -> bool:
        if self._is_fixed:
            return False
        changes, self.rate_ms = rate_ms != self.rate_ms, rate_ms
        return changes


class Reader:
    """Holds the changes that one consumer has not taken yet.

    It keeps up to `depth` of them apart. Beyond, a change is merged into the newest one of its channel, so there are at
    most `depth` and one for each channel. Events are kept in order: `events_max` of them in total; beyond, the oldest of
    the channel are dropped, which `change.missed` reports.
    """

    def __init__(
        self, *, clock: Callable[[], float], depth: int = 0, events_max: int = 1000, pace: Pace | None = None,
        on_pace: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._clock = clock
        self._depth = depth
        self._events_max = events_max
        self._queue: deque[tuple[Change, float]] = deque()
        # The newest change of each channel in the queue.
        self._newest: dict[str, Change] = {}
        self._events = 0
        self._waiter: asyncio.Future[None] | None = None
        self._error: BaseException | None = None
        self._ended = False
        self._working_since: float | None = None
        self.pace = pace or Pace(0, is_fixed=True)
        self._on_pace = on_pace
        self.merges = 0
        self.dropped = 0
        """Events that were dropped."""

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, change: Change) -> None:
        """Adds a change. It is copied if other readers have it too, by the caller."""
        if self._ended:
            return
        newest = self._newest.get(change.channel)
        self._events += len(change.events)
        if newest is not None and len(self._queue) >= self._depth:
            room = self._events_max - (self._events - len(change.events) - len(newest.events))
            dropped = newest.absorb(change, max(room, 0))
            self.merges += 1
        else:
            self._queue.append((change, self._clock()))
            self._newest[change.channel] = change
            room = self._events_max - (self._events - len(change.events))
            dropped = change.limit_events(max(room, 0))
        if dropped:
            self._events -= dropped
            self.dropped += dropped
        if self._working_since is not None:
            now = self._clock()
            if self.pace.waited(now - self._queue[0][1], now):
                self._on_pace()
        self._wake()

    def end(self, error: BaseException | None = None) -> None:
        """Nothing more will come: what is there can be taken, then `get` raises `error`, or `StopAsyncIteration`."""
        if not self._ended:
            self._ended, self._error = True, error
            self._wake()

    def get_nowait(self) -> Change | None:
        """The oldest change; None if there is none."""
        if not self._queue:
            return None
        change, _ = self._queue.popleft()
        if self._newest.get(change.channel) is change:
            del self._newest[change.channel]
        self._events -= len(change.events)
        return change

    def skip(self, seq: int) -> None:
        """Drops the waiting changes of a document up to this number: the consumer has the document with them."""
        waiting = list(self._queue)
        self._queue.clear()
        self._newest.clear()
        self._events = 0
        for change, since in waiting:
            if change.kind == "health" or (change.seq is not None and change.seq > seq):
                self._queue.append((change, since))
                self._newest[change.channel] = change
                self._events += len(change.events)

    async def get_once(self) -> Change:
        """Waits for the next change. One consumer at a time."""
        while not self._queue:
            if self._ended:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            if self._waiter is not None:
                raise RuntimeError("two tasks wait for the changes of one subscription; follow it twice")
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        change = self.get_nowait()
        assert change is not None
        return change

    async def get(self) -> Change:
        """As `get_once`, for a loop: until the consumer comes back, or `rest` is called, it works on the change."""
        now = self._clock()
        began, self._working_since = self._working_since, None
        if began is not None and not self._queue and self.pace.took(now - began, now):
            self._on_pace()
        change = await self.get_once()
        self._working_since = self._clock()
        return change

    def rest(self) -> None:
        """The consumer has left its loop, so nobody is slow."""
        self._working_since = None
        if self.pace.rest():
            self._on_pace()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
