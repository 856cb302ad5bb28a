"""Through a proxy that cuts, stalls and slows: no gap, no duplicate, and in the end the hub's documents.

CHAOS_CUTS sets how often connections are cut, 100 by default; CHAOS_SEED another course of events.
"""

import asyncio
import os
from collections import defaultdict

from hub import running_hub
from proxy import Fault, Proxy, chaos

from matchwire import Client

CUTS = int(os.environ.get("CHAOS_CUTS", "100"))
SEED = int(os.environ.get("CHAOS_SEED", "1"))
PATTERNS = ("*/*", "football/*/odds", "tennis/*/odds/*")
# Documents of a channel that are kept to be compared with the hub's.
KEPT = 200


class Witness:
    """Follows patterns with one client, and notes events and documents."""

    def __init__(self, hub: Client) -> None:
        self.hub = hub
        self.events = defaultdict(list)
        self.documents = defaultdict(dict)
        self.start = {}
        self.missed = []
        self.errors = []
        self.tasks = [asyncio.ensure_future(self._follow(pattern)) for pattern in PATTERNS]

    async def _follow(self, pattern):
        async for channel, change in self.hub.updates(pattern, lossless=True):
            key = (change.channel, change.epoch)
            if change.kind == "health":
                continue
            if change.kind == "image" and change.previous is None:
                self.start[key] = change.seq
            if change.missed is not None:
                self.missed.append((change.channel, change.missed))
            before = max(self.documents[key], default=-1)
            if change.seq < before:
                self.errors.append(f"{change.channel} went back from {before} to {change.seq}")
            self.events[key] += [(change.seq, event.eid) for event in change.events]
            documents = self.documents[key]
            documents[change.seq] = change.data
            if len(documents) > KEPT:
                del documents[next(iter(documents))]

    def reached(self, key):
        return max(self.documents[key], default=-1)


async def wait_for(condition, seconds, what):
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, what()
        await asyncio.sleep(0.05)


async def run(hub):
    loop = asyncio.get_running_loop()
    async with Proxy(hub.address, chaos(SEED)) as proxy, Client(hub.url, key=hub.key) as direct:

        def on_state(state):
            # The waits are tested with a clock moved by hand; here they would take hours.
            if state.phase == "waiting":
                loop.call_soon(client.wake)

        client = Client(proxy.url, key=hub.key, on_state=on_state, open_timeout=120)
        truth = Witness(direct)
        await wait_for(lambda: len(truth.documents) > 50, 60, lambda: "the direct client gets no documents")
        async with client:
            tried = Witness(client)
            await wait_for(lambda: proxy.cuts >= CUTS, 180 + 3 * CUTS, lambda: f"{proxy.cuts} cuts of {CUTS}: {client.metrics()}")
            proxy.plan = Fault
            await wait_for(lambda: sum(map(len, tried.events.values())) > 50, 60, lambda: "hardly anything happens")
            compared = await compare(hub, client, tried)
            await check_events(truth, tried)
            for task in truth.tasks + tried.tasks:
                assert not task.done(), task
                task.cancel()
            metrics = client.metrics()
            print(
                f"\n{proxy.cuts} cuts, {metrics.connections} connections, {metrics.updates} updates, {metrics.events} events, {compared} documents compared, seed {SEED}"
            )
            assert metrics.connections > CUTS / 4
            assert tried.errors == []
            # All cuts are shorter than the hub's tail, so nothing may be missed.
            assert tried.missed == []
            if "hash" in client.features:
                proof = await client.verify(next(iter(tried.documents))[0])
                assert proof.ok is not False, proof


async def compare(hub, client, tried):
    """Each channel's document at a sequence is the one that the hub answers over HTTP for it."""
    names = sorted({name for name, _ in tried.documents})
    compared = 0
    for name in names:
        for _ in range(10):
            try:
                image = await asyncio.to_thread(hub.image, name)
            except OSError:
                break  # It has ended meanwhile.
            key = (name, image["epoch"])
            await wait_for(
                lambda: tried.reached(key) >= image["seq"],
                20,
                lambda: f"{name} stays at {tried.reached(key)}, the hub is at {image['seq']}",
            )
            mine = tried.documents[key].get(image["seq"])
            if mine is not None:
                assert mine == image["data"], f"{name} at {image['seq']}"
                compared += 1
                break
        else:
            raise AssertionError(f"{name}: no sequence of the hub's was seen")
    assert compared > len(names) / 2
    return compared


async def check_events(truth, tried):
    """Between the first image of the tried client and a common end, both saw the same events in the same order."""
    ends = {key: truth.reached(key) for key in truth.documents if key in tried.documents}
    for key, end in ends.items():
        await wait_for(
            lambda key=key, end=end: tried.reached(key) >= end or key[0] not in tried.hub._session.channels,
            20,
            lambda key=key: f"{key} does not catch up",
        )
    total = 0
    for key, end in ends.items():
        start = max(tried.start[key], truth.start[key])
        expected = [eid for seq, eid in truth.events[key] if start < seq <= end]
        got = [eid for seq, eid in tried.events[key] if start < seq <= end]
        assert got == expected, f"events of {key[0]} from {start} to {end}"
        total += len(expected)
    assert total > 20, "too little happened to show anything"


def test_no_gap_no_duplicate_and_the_hubs_documents_in_the_end(hub):
    asyncio.run(run(hub))


async def resume_many(hub, count):
    """One pattern covers more channels than a command has room for positions."""
    async with Proxy(hub.address, Fault) as proxy:
        client = Client(proxy.url, key=hub.key)
        async with client:
            channels = client._session.channels

            def has_all(connections):
                # The client may be back before anyone sees it without a line, so connections are counted.
                client.wake()
                metrics = client.metrics()
                return metrics.connections == connections and len(channels) >= count and all(it.synced for it in channels.values())

            client.updates("football/*/odds/*")
            await wait_for(lambda: has_all(1), 60, lambda: f"{len(channels)} channels")
            images = client.metrics().images
            for connections in (2, 3):
                proxy.cut_all()
                await wait_for(
                    lambda: has_all(connections), 60, lambda: f"{sum(it.synced for it in channels.values())} channels have resumed"
                )
            metrics = client.metrics()
            assert (metrics.connections, metrics.images, metrics.missed) == (3, images, 0)


def test_2000_channels_of_one_pattern_resume_without_an_image(hub_binary):
    """The limit has room for some 800 positions."""
    settings = {"MATCHWIRE_BENCH_RATE": "500", "MATCHWIRE_BENCH_CHANNELS": "2000", "MATCHWIRE_FANOUT_FROM_BYTES_MAX": "65536"}
    with running_hub(hub_binary, **settings) as hub:
        asyncio.run(resume_many(hub, 2000))
