"""A TCP proxy that misbehaves: it cuts, stalls and slows connections, at any byte."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Fault:
    """What happens to one connection: after `after` bytes of the hub it stalls for `seconds`, or passes only `rate` bytes a
    second from then on; after `cut` bytes it is cut. `rst` cuts without a goodbye."""

    kind: str = "none"
    after: int = 0
    cut: int | None = None
    seconds: float = 0.0
    rate: int = 0
    rst: bool = False


class Proxy:
    """Use it as `async with`. `plan` says what happens to the next connection."""

    def __init__(self, address: str, plan: Callable[[], Fault]) -> None:
        host, _, port = address.rpartition(":")
        self._target = (host, int(port))
        self.plan = plan
        self.connections = 0
        self.cuts = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut_all(self) -> None:
        """Cuts all connections now."""
        for task in self._tasks:
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            hub_reader, hub_writer = await asyncio.open_connection(*self._target)
            up = asyncio.create_task(self._pipe(reader, hub_writer, Fault()))
            down = asyncio.create_task(self._pipe(hub_reader, writer, self.plan()))
            try:
                await asyncio.wait([up, down], return_when=asyncio.FIRST_COMPLETED)
            finally:
                for pipe in (up, down):
                    pipe.cancel()
                for it in (writer, hub_writer):
                    it.transport.abort()
        except (OSError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._tasks.discard(task)

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, fault: Fault) -> None:
        passed = 0
        try:
            while data := await reader.read(1024 if fault.kind == "slow" else 65_536):
                if fault.cut is not None and passed + len(data) >= fault.cut:
                    writer.write(data[: fault.cut - passed])
                    if not fault.rst:
                        await writer.drain()
                    self.cuts += 1
                    return
                if fault.kind == "stall" and passed < fault.after <= passed + len(data):
                    await asyncio.sleep(fault.seconds)
                if fault.kind == "slow" and passed >= fault.after:
                    await asyncio.sleep(len(data) / fault.rate)
                passed += len(data)
                writer.write(data)
                await writer.drain()
        except OSError:
            pass


def chaos(seed: int) -> Callable[[], Fault]:
    """Cuts, soon; some of them after a stall or on a slow line."""
    rng = random.Random(seed)

    def plan() -> Fault:
        after = int(rng.choice([1, 100, 1000, 10_000]) * rng.uniform(0.5, 4))
        kind = rng.choices(["none", "stall", "slow"], [20, 1, 1])[0]
        cut = int(after * rng.uniform(1, 3))
        return Fault(kind, after, cut, seconds=rng.uniform(0.1, 0.5), rate=200_000, rst=rng.random() < 0.5)

    return plan
