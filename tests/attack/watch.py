"""Everyone else: customers and a feed in a process of their own, whose waits are what an attack must not change.

    ping    from a command on a socket to its `pong`
    update  from a push of a price to its arrival on a socket
    rest    from a request to its whole response, every other one on a new connection
    health  from opening a connection to the response of /healthz
    hook    from a push of a card to the webhook

Every wait counts from when it was due, so that what is late delays nothing that follows; what never comes counts as long as it was
waited for.
"""

import asyncio
import json
import math
import multiprocessing
import os
import re
import time
from collections import deque
from dataclasses import dataclass

from hub import OWN, fact, fixture, prices
from wire import command, request, upgrade

EVERY_S = {"ping": 0.04, "update": 0.016, "rest": 0.04, "health": 0.04, "hook": 0.25}
UPDATE_SOCKETS = 2
# Waits in flight of one kind beyond which a further one is a failure.
WAITING_MAX = 100
# How long the endpoint of attackers' webhooks takes.
SLOW_HOOK_S = 9.5
KEEP_S = 120
FIRST_PRICE_CENTS = 200


@dataclass
class Wait:
    kind: str
    due: float
    done: float | None = None

    def ms(self, now):
        return ((now if self.done is None else self.done) - self.due) * 1000


class Watch:
    """In the process of the harness: starts the other one, and asks it for what it measured."""

    def __init__(self, hub):
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=lambda: asyncio.run(Everyone(hub, theirs).run()), daemon=True)
        self.process.start()
        if not self.pipe.poll(60):
            raise SystemExit("everyone else got no answers within a minute")
        self.slow_hook = self.pipe.recv()

    def waits_ms(self, begin, end):
        """The waits that were due in this time, by kind, in milliseconds."""
        self.pipe.send((begin, end))
        return self.pipe.recv()

    def stop(self):
        self.process.terminate()
        self.process.join()


class Everyone:
    def __init__(self, hub, pipe):
        self.hub, self.pipe = hub, pipe
        self.waits = deque()
        self.open = {kind: {} for kind in EVERY_S}
        self.price, self.card, self.asked, self.free = FIRST_PRICE_CENTS, 0, 0, []
        self.lines, self.cards, self.has_lines = [], [], asyncio.Event()
        # The board is long, and compressed anew after each change.
        self.paths = [f"/api/v2/events/{hub.match}/", "/api/v2/events/?limit=20", "/stream/v1/channels/football"]

    async def run(self):
        os.nice(-5) if os.geteuid() == 0 else None
        hook, slow = await self.endpoint(self.on_hook), await self.endpoint(self.on_slow_hook)
        await self.follow_hooks(hook)
        jobs = [self.pings(key) for key in self.hub.victims] + [self.updates(key) for key in self.hub.victims[:UPDATE_SOCKETS]]
        jobs += [self.make_prices(), self.make_cards(), self.push_all(), self.each("rest", self.rest), self.each("health", self.health)]
        tasks = [asyncio.create_task(job) for job in jobs]
        asyncio.get_running_loop().add_reader(self.pipe.fileno(), self.on_question)
        self.pipe.send(slow)
        await asyncio.gather(*tasks)

    def on_question(self):
        try:
            begin, end = self.pipe.recv()
        except EOFError:
            raise SystemExit from None
        now, result = time.monotonic(), {kind: [] for kind in EVERY_S}
        while self.waits and self.waits[0].due < now - KEEP_S:
            self.waits.popleft()
        for wait in self.waits:
            if begin <= wait.due < end:
                result[wait.kind].append(wait.ms(now))
        self.pipe.send(result)

    # -------------------------------------------------------------------------------- counting

    def begin(self, kind, due):
        wait = Wait(kind, due)
        self.waits.append(wait)
        return wait

    def end(self, wait, good=True):
        if wait.done is None:
            wait.done = time.monotonic() if good else math.inf

    async def ticks(self, kind):
        """When the waits of a kind are due."""
        due = time.monotonic()
        while True:
            await asyncio.sleep(max(0, due - time.monotonic()))
            yield due
            due += EVERY_S[kind]

    async def each(self, kind, ask):
        tasks = set()
        async for due in self.ticks(kind):
            wait = self.begin(kind, due)
            if len(tasks) >= WAITING_MAX:
                self.end(wait, good=False)
                continue
            task = asyncio.create_task(self.one(wait, ask))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    async def one(self, wait, ask):
        try:
            self.end(wait, await ask() == 200)
        except (OSError, EOFError, ValueError):
            self.end(wait, good=False)

    # -------------------------------------------------------------------------------- HTTP

    async def connect(self, address="127.0.0.1"):
        return await asyncio.open_connection("127.0.0.1", self.hub.port, local_addr=(address, 0), limit=1 << 24)

    async def respond(self, connection, data):
        """Sends a request and reads the response: its status and its body."""
        reader, writer = connection
        writer.write(data)
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        if length:
            return int(head[9:12]), await reader.readexactly(int(length[1]))
        return int(head[9:12]), await reader.readuntil(b"0\r\n\r\n")

    async def rest(self):
        self.asked += 1
        stays, n = self.asked % 2 == 0, self.asked % len(self.hub.victims)
        connection = self.free.pop(0) if self.free and stays else await self.connect(f"127.0.0.{1 + n}")
        path = self.paths[self.asked % len(self.paths)]
        try:
            status, _ = await self.respond(connection, request(path, self.hub.victims[n], Accept_Encoding="br"))
        except BaseException:
            connection[1].close()
            raise
        if stays:
            self.free.append(connection)
        else:
            connection[1].close()
        return status

    async def health(self):
        connection = await self.connect()
        try:
            return (await self.respond(connection, request("/healthz", Connection="close")))[0]
        finally:
            connection[1].close()

    # -------------------------------------------------------------------------------- sockets

    async def frames(self, key, *commands):
        """The messages of a socket that is opened again whenever it ends; first its writer."""
        while True:
            writer = None
            try:
                reader, writer = await self.connect()
                writer.write(upgrade(key=key))
                await reader.readuntil(b"\r\n\r\n")
                writer.writelines(commands)
                yield writer, b""
                while True:
                    head = await reader.readexactly(2)
                    size = head[1] & 127
                    if size > 125:
                        size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8), "big")
                    yield writer, await reader.readexactly(size)
            except (OSError, EOFError):
                await asyncio.sleep(0.1)
            finally:
                if writer:
                    writer.close()

    async def pings(self, key):
        waiting, task, number = {}, None, 0

        async def ask(writer):
            nonlocal number
            async for due in self.ticks("ping"):
                number += 1
                waiting[number] = self.begin("ping", due)
                writer.write(command("ping", id=number))

        try:
            async for writer, message in self.frames(key):
                if not message:
                    if task:
                        task.cancel()
                    for wait in waiting.values():
                        self.end(wait, good=False)
                    waiting.clear()
                    task = asyncio.create_task(ask(writer))
                elif message.startswith(b'{"type":"pong"') and (wait := waiting.pop(json.loads(message)["id"], None)):
                    self.end(wait)
        finally:
            if task:
                task.cancel()

    async def updates(self, key):
        waiting = deque()
        self.open["update"][id(waiting)] = waiting
        async for _, message in self.frames(key, command("subscribe", ch=f"football/{self.hub.match}/odds/book0")):
            if found := re.search(rb'"1":\{[^{}]*"price":"([0-9.]+)"', message):
                arrived = round(float(found[1]) * 100)
                while waiting and waiting[0][0] <= arrived:
                    self.end(waiting.popleft()[1])

    async def push(self, connection, lines):
        if connection is None:
            connection = await self.connect()
        body = "\n".join(map(json.dumps, lines)).encode()
        status, _ = await self.respond(connection, request(f"/ingest/v1/{OWN}", self.hub.own_feed, "POST", body))
        if status != 200:
            raise ValueError(f"a push got {status}")
        return connection

    async def make_prices(self):
        """Each price is above the one before, so an update shows which pushes it includes."""
        async for due in self.ticks("update"):
            self.price += 1
            for waiting in self.open["update"].values():
                waiting.append((self.price, self.begin("update", due)))
            self.lines = [prices(OWN, "book0", f"{self.price / 100:.2f}")]
            self.has_lines.set()

    async def make_cards(self):
        async for due in self.ticks("hook"):
            self.card += 1
            eid = f"c{self.card}"
            self.open["hook"][eid] = self.begin("hook", due)
            incident = {"eid": eid, "kind": "yellow", "minute": 1, "side": "home", "player": {"name": "B. Booked", "key": "b"}}
            # The clock changes the board too.
            facts = ({"incident": incident}, {"clock": {"second": self.card, "running": False}})
            self.cards += [fact(f"{OWN} hooks", football=each) for each in facts]
            self.has_lines.set()

    async def push_all(self):
        """One push after another, each with what came meanwhile."""
        connection = None
        while True:
            await self.has_lines.wait()
            self.has_lines.clear()
            lines, self.lines, self.cards = self.lines + self.cards, [], []
            try:
                connection = await self.push(connection, lines)
            except (OSError, EOFError, ValueError):
                connection = None

    # -------------------------------------------------------------------------------- webhooks

    async def endpoint(self, answer):
        async def serve(reader, writer):
            try:
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    body = await reader.readexactly(int(re.search(rb"content-length: (\d+)", head.lower())[1]))
                    await answer(body)
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            except (OSError, EOFError):
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"

    async def on_hook(self, body):
        if (found := re.search(rb'"eid":"(c\d+)"', body)) and (wait := self.open["hook"].pop(found[1].decode(), None)):
            self.end(wait)

    async def on_slow_hook(self, _body):
        await asyncio.sleep(SLOW_HOOK_S)

    async def follow_hooks(self, url):
        name = f"{OWN} hooks"
        connection = await self.push(None, [*fixture(name, 0), fact(name, football={"status": "first_half"})])
        body = {"url": url, "events": ["card"], "channels": ["football/*"]}
        status, said = await self.respond(connection, request("/api/v2/webhooks/", self.hub.victims[0], "POST", body))
        if status != 201:
            raise SystemExit(f"no webhook: {status} {said!r}")
        connection[1].close()
