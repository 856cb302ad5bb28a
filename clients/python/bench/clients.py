#!/usr/bin/env python3
"""Compares this client with a bare loop of `websockets` and `json`, on one hub and one steady load.

    python bench/clients.py --hub ../../target/release/matchwire [--rate 5000] [--channels 100] [--seconds 10]

Each client runs alone, in a process of its own, and follows all channels of the load. Printed are, for each: milliseconds
from its start of connecting to the first document and to all of them, updates a second, microseconds of processor time for each
update, and the resident memory that it adds to that of the imported modules.

- `bare`: receives and parses; no documents, no positions, no reconnecting.
- `merge`: the same, and applies each patch to a document: the least that a program needs.
- `matchwire`: `Client.updates`, each update as a change.
- `lossless`: the same with `lossless=True`.
- `sync`: `matchwire.sync.Client.updates`.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

KINDS = ("bare", "merge", "matchwire", "lossless", "sync")
PATTERN = "football/*/odds/steady"


def resident_kib():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


class Meter:
    """Counts updates between two moments, after all documents are here."""

    def __init__(self, channels, seconds):
        self.channels, self.seconds = channels, seconds
        self.memory = resident_kib()
        self.began = time.perf_counter()
        self.seen = set()
        self.first = self.all = self.cpu = None
        self.updates = 0

    def document(self, name):
        self.seen.add(name)
        if self.first is None:
            self.first = time.perf_counter() - self.began
        if len(self.seen) == self.channels and self.all is None:
            self.all = time.perf_counter() - self.began
            self.start, self.cpu, self.updates = time.perf_counter(), time.process_time(), 0

    def update(self, n=1):
        """Returns whether it is enough."""
        self.updates += n
        if self.all is None or time.perf_counter() - self.start < self.seconds:
            return False
        # Here, because closing takes as long as it takes.
        self.took, self.cpu = time.perf_counter() - self.start, time.process_time() - self.cpu
        self.memory = resident_kib() - self.memory
        return True

    def report(self):
        took, cpu = self.took, self.cpu
        print(
            json.dumps(
                {
                    "first_ms": round(self.first * 1000, 1),
                    "all_ms": round(self.all * 1000, 1),
                    "updates_s": round(self.updates / took),
                    "cpu_us": round(cpu / max(self.updates, 1) * 1e6, 1),
                    "cpu_percent": round(cpu / took * 100),
                    "memory_kib": self.memory,
                }
            )
        )


async def bare(url, key, meter, apply):
    from websockets.asyncio.client import connect

    documents = {}

    def merge(target, patch):
        for name, value in patch.items():
            if value is None:
                target.pop(name, None)
            elif isinstance(value, dict):
                merge(target.setdefault(name, {}), value)
            else:
                target[name] = value

    headers = {"Authorization": f"Token {key}"}
    async with connect(f"{url}/stream/v1", additional_headers=headers, proxy=None, compression=None, max_size=None) as socket:
        await socket.send(json.dumps({"op": "subscribe", "id": 1, "ch": PATTERN}))
        while True:
            frame = json.loads(await socket.recv(decode=False))
            if frame["type"] == "image":
                documents[frame["ch"]] = frame["data"] if apply else None
                meter.document(frame["ch"])
            elif frame["type"] == "update":
                if apply:
                    merge(documents[frame["ch"]], frame.get("patch", {}))
                if meter.update(frame.get("n", 1)):
                    return


async def with_client(url, key, meter, lossless):
    from matchwire import Client

    async with Client(url, key=key, proxy=None) as hub:
        async for _, change in hub.updates(PATTERN, lossless=lossless):
            if change.kind == "image":
                meter.document(change.channel)
            if meter.update(change.merged.n if change.merged else 1):
                return


def with_sync_client(url, key, meter):
    from matchwire.sync import Client

    with Client(url, key=key, proxy=None) as hub:
        for _, change in hub.updates(PATTERN):
            if change.kind == "image":
                meter.document(change.channel)
            if meter.update(change.merged.n if change.merged else 1):
                return


def one(options):

    meter = Meter(options.channels, options.seconds)
    url, key = os.environ["BENCH_URL"], os.environ["BENCH_KEY"]
    if options.kind == "sync":
        with_sync_client(url, key, meter)
    elif options.kind in ("bare", "merge"):
        asyncio.run(bare(url, key, meter, options.kind == "merge"))
    else:
        asyncio.run(with_client(url, key, meter, options.kind == "lossless"))
    meter.report()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hub", help="the program of the hub")
    parser.add_argument("--rate", type=int, default=5000, help="changes a second, of all channels")
    parser.add_argument("--channels", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--kind", choices=KINDS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.kind:
        return one(options)

    from hub import running_hub

    settings = {"MATCHWIRE_BENCH_RATE": str(options.rate), "MATCHWIRE_BENCH_CHANNELS": str(options.channels)}
    with running_hub(options.hub, **settings) as hub:
        print(f"{options.rate} changes/s in {options.channels} channels, {options.seconds} s each")
        for kind in KINDS:
            environment = os.environ | {"BENCH_URL": hub.url, "BENCH_KEY": hub.key}
            command = [
                sys.executable,
                __file__,
                "--kind",
                kind,
                "--channels",
                str(options.channels),
                "--seconds",
                str(options.seconds),
            ]
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            print(f"{kind:10}", done.stdout.strip(), flush=True)
    return None


if __name__ == "__main__":
    main()
