"""When to connect again, and what the hub's clock shows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

__all__ = ["Backoff", "HubClock"]

# The ceiling of the first wait is low because most losses are short; that of the last is high because a hub that was
# away for a minute does not need all clients back in the same second.
BACKOFF_FIRST_S = 0.5
BACKOFF_MAX_S = 30.0
# A connection that opens and ends at once must not reset the waits, otherwise clients flood a hub that crashes.
HEALTHY_AFTER_S = 60.0
OFFSET_SAMPLES = 8


class Backoff:
    """Waits at random moments below a ceiling that doubles, so that clients that were lost together do not return together."""

    def __init__(self, rand: Callable[[], float]) -> None:
        self._random = rand
        self.attempt = 0

    def next(self) -> float:
        """The seconds to wait before the next attempt."""
        ceiling = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2 ** min(self.attempt, 16))
        self.attempt += 1
        wait: float = ceiling * self._random()
        return wait

    def ended(self, lasted: float) -> None:
        """A connection has ended after so many seconds."""
        if lasted >= HEALTHY_AFTER_S:
            self.attempt = 0


class HubClock:
    """The offset of the hub's clock from the local one, from the sample with the shortest round trip."""

    def __init__(self) -> None:
        # The offset in microseconds, and the round trip in seconds.
        self._samples: deque[tuple[float, float]] = deque(maxlen=OFFSET_SAMPLES)

    def start(self, hub_now: int, now: float) -> None:
        """A new connection. Samples of an earlier one may come from before a sleep or a step of the clock."""
        self._samples.clear()
        self._samples.append((hub_now - now * 1e6, float("inf")))

    def sample(self, hub_now: int, sent: float, now: float) -> None:
        """An answer. The hub read its clock somewhere in between; the middle errs by half the round trip at most."""
        self._samples.append((hub_now - (sent + now) / 2 * 1e6, now - sent))

    def at(self, now: float) -> int:
        """The hub's clock in microseconds at a local moment; 0 before the first sample."""
        best = self._best()
        return round(now * 1e6 + best[0]) if best else 0

    def round_trip(self) -> float | None:
        """The shortest recent round trip in seconds; None before the first answer."""
        best = self._best()
        return best[1] if best and best[1] != float("inf") else None

    def _best(self) -> tuple[float, float] | None:
        # The newest of equally quick ones.
        return min(reversed(self._samples), key=lambda it: it[1], default=None)
