"""The base of the tests of the session: time moved by hand, and a hub that plays a script. No network, no real time."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from matchwire.protocol import (
    Change,
    Changed,
    Channel,
    Connect,
    Disconnect,
    Options,
    ReplayOutput,
    Replied,
    Send,
    Session,
    StateChanged,
    Subscription,
)


class Script:
    """One session against a scripted hub. Each wait is its ceiling, unless `rand` says otherwise."""

    def __init__(self, rand: Callable[[], float] = lambda: 1.0) -> None:
        self.now = 1000.0
        self.session = Session(rand=rand)
        # The commands sent on each connection.
        self.connections: list[list[dict[str, Any]]] = []
        self.disconnects: list[int] = []
        self.seen: list[tuple[str, Change]] = []
        self.states: list[str] = []
        self.replies: list[Replied] = []
        self.replayed: list[ReplayOutput] = []
        self.session.start(self.now)
        self.perform()

    def perform(self) -> None:
        for output in self.session.outputs():
            match output:
                case Connect():
                    self.connections.append([])
                case Disconnect(code):
                    self.disconnects.append(code)
                case Send(text):
                    self.connections[-1].append(json.loads(text))
                case Changed(channel, change):
                    self.seen.append((channel.name, change))
                case StateChanged(state):
                    self.states.append(state.phase)
                case Replied():
                    self.replies.append(output)
                case ReplayOutput():
                    self.replayed.append(output)

    def passes(self, seconds: float) -> Script:
        """Moves on, reaching each deadline at its own time."""
        end = self.now + seconds
        while (deadline := self.session.deadline()) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            self.session.tick(self.now)
            self.perform()
        self.now = end
        return self

    def say(self, *frames: Any) -> Script:
        """The hub sends frames: objects, or text as it is."""
        for frame in frames:
            self.session.receive(frame if isinstance(frame, str) else json.dumps(frame), self.now)
            self.perform()
        return self

    def hello(self, **more: Any) -> Script:
        limits = {"channels": 1000, "command_bytes": 16384}
        hello = {"type": "hello", "conn": "c1", "server": "s", "now": int(self.now * 1e6), "beat_ms": 5000, "limits": limits}
        return self.say(hello | more)

    def hang_up(self, code: int | None = 1006, why: str = "") -> Script:
        self.session.closed(code, self.now, why=why)
        self.perform()
        return self

    def again(self, **more: Any) -> Script:
        """The connection is cut, and the next one is open."""
        self.hang_up()
        return self.passes((self.session.state.retry_at or self.now) - self.now).hello(**more)

    def beats(self, seconds: float, heads: dict[str, int] | None = None) -> Script:
        """Lets time pass with a beat every five seconds, as a healthy hub sends them."""
        passed = 0.0
        while passed < seconds:
            step = min(5.0, seconds - passed)
            passed += step
            self.passes(step).say({"type": "beat", "now": int(self.now * 1e6), "heads": heads or {}})
        return self

    def follow(self, ch: str, **options: Any) -> Subscription:
        subscription = self.session.subscribe(ch, Options(**options), self.now)
        self.perform()
        return subscription

    def commands(self, op: str | None = None) -> list[dict[str, Any]]:
        """Commands of the current connection, without pings."""
        return [it for it in self.connections[-1] if (it["op"] == op if op else it["op"] != "ping")]

    def subscribed(self, **more: Any) -> Script:
        """Answers the last subscribe."""
        command = self.commands("subscribe")[-1]
        answer = {"type": "subscribed", "id": command["id"], "every_ms": command.get("every_ms", 0), "on_slow": "merge"}
        return self.say(answer | ({"ch": command["ch"]} if "ch" in command else {}) | more)

    def image(self, ch: str, seq: int, data: dict[str, Any] | None = None, epoch: str = "e1") -> Script:
        document = {"life": "live", "feed": "live", "stale_after_ms": 10_000} | (data or {})
        return self.say({"type": "image", "ch": ch, "epoch": epoch, "seq": seq, "at": {}, "data": document})

    def update(
        self, ch: str, prev: int, seq: int, patch: Any = None, events: list[dict[str, Any]] | None = None, **more: Any
    ) -> Script:
        frame = {"type": "update", "ch": ch, "prev": prev, "seq": seq, "at": {}, "patch": patch or {}} | more
        return self.say(frame | ({"events": events} if events else {}))

    def channel(self, name: str = "football/1") -> Channel | None:
        return self.session.channels.get(name)

    def data(self, name: str = "football/1") -> Any:
        channel = self.channel(name)
        return channel.data if channel else None

    def health(self, name: str = "football/1") -> Any:
        channel = self.session.channels[name]
        return self.session.health(channel, self.now)

    def eids(self) -> list[str]:
        return [event.eid for _, change in self.seen for event in change.events]

    @property
    def last(self) -> Change:
        return self.seen[-1][1]


def following(data: dict[str, Any] | None = None, **options: Any) -> Script:
    """A client that follows football/1 and is at sequence 10 of epoch e1."""
    script = Script()
    script.follow("football/1", **options)
    script.hello().subscribed(epoch="e1", seq=10, resumed=False)
    return script.image("football/1", 10, data)


def event(eid: str, kind: str = "goal", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "eid": eid} | more
