"""A client without a network, for tests that are its hub and move its clock."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from matchwire import Client


class Offline(Client):
    """Each connection begins with a `hello`; what follows is up to the test."""

    def __init__(self, url: str = "ws://hub.invalid", **options: Any) -> None:
        super().__init__(url, **options)
        self.time = 1000.0

    def now(self) -> float:
        return self.time

    async def _connect(self) -> None:
        limits = {"channels": 1000, "command_bytes": 16_384}
        hello = {"conn": "c", "server": "s", "now": 0, "beat_ms": 5000, "limits": limits, "features": ["replay"]}
        self.say({"type": "hello"} | hello)
        await asyncio.Event().wait()

    def say(self, *frames: dict[str, Any]) -> None:
        for frame in frames:
            self._session.receive(json.dumps(frame), self.now())
            self._pump()

    def commands(self, op: str) -> list[dict[str, Any]]:
        """Commands of the current connection."""
        return [it for it in map(json.loads, self._outgoing) if it["op"] == op]

    def subscribed(self, **more: Any) -> None:
        """Answers the last subscribe."""
        command = self.commands("subscribe")[-1]
        self.say({"type": "subscribed", "id": command["id"], "ch": command.get("ch"), "every_ms": 0, "on_slow": "merge"} | more)

    def image(self, ch: str, seq: int, data: dict[str, Any] | None = None, epoch: str = "e") -> None:
        document = {"life": "live", "feed": "live", "stale_after_ms": 15_000} | (data or {})
        self.say({"type": "image", "ch": ch, "epoch": epoch, "seq": seq, "at": {}, "data": document})

    def update(self, ch: str, seq: int, patch: dict[str, Any] | None = None, events: list[dict[str, Any]] | None = None) -> None:
        frame = {"type": "update", "ch": ch, "prev": seq - 1, "seq": seq, "at": {}, "patch": patch or {}}
        self.say(frame | ({"events": events} if events else {}))

    async def following(self, ch: str, **options: Any) -> Any:
        """Follows a channel that has not been followed before, at sequence 1."""
        task = asyncio.ensure_future(self.follow(ch, **options))
        await asyncio.sleep(0)
        self.subscribed(epoch="e", seq=1, resumed=False)
        self.image(ch, 1)
        return await task

    async def cut(self) -> None:
        """Loses the connection; returns on the next one."""
        self._session.closed(1006, self.now())
        self._pump()
        self.wake()
        await asyncio.sleep(0)
