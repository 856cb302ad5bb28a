#!/usr/bin/env python3
"""What picks and compression cost the fan-out, beside whole frames of the same round.

    cargo build --release --workspace
    benches/views.py                            # all loads, five rounds
    benches/views.py --rounds 3 large-few       # some of them

The hub has core 0 to itself, and the load tool core 1 with the feed. Each round runs all ways to read in turn; printed are medians of deliveries per
second of the hub's processor time, their ratio to whole frames, with the least and the greatest of a round, bytes per delivery, and p99.

small-few     50 updates a second of 260 bytes, of one price, to 1,000 sockets of one channel; too short to be compressed
small-many    2,000 a second, over 200 channels of 10 sockets
large-few     50 a second of 1.3 kB, of 24 prices at once, to 1,000 sockets of one channel
large-many    500 a second, over 50 channels of 20 sockets

whole                everything
pick                 all sockets have one pick: one price of each update
eight picks          each socket has one of eight picks: a different price of each update
eight whole picks    the same, but each pick is all prices: nothing is saved
deflate              everything, compressed
eight, deflated      eight whole picks, compressed
mixed                a quarter everything, the others one of three picks; half of each compressed
"""

import argparse, json, os, subprocess, tempfile, threading, time
from pathlib import Path
from statistics import median

from restart import Feed, Hub, line

TOP = Path(__file__).resolve().parent.parent
SELECTIONS = 24

# Updates a second, channels, sockets, prices in an update.
LOADS = {
    "small-few": (50, 1, 1000, 1),
    "small-many": (2000, 200, 2000, 1),
    "large-few": (50, 1, 1000, SELECTIONS),
    "large-many": (500, 50, 1000, SELECTIONS),
}


def picks(*pointers):
    return [word for pointer in pointers for word in ("--pick", pointer)]


def ways(prices):
    """The arguments of the load tool for each way to read. A steady update has one price, so all picks of it are whole."""
    whole = [f"/markets,/absent{number}" for number in range(8)]
    part = [f"/markets/*/selections/s{number}" for number in range(8)] if prices > 1 else whole
    found = {
        "whole": [],
        "pick": picks(part[0]),
        "eight picks": picks(*part),
        "eight whole picks": picks(*whole),
        "deflate": ["--deflate"],
        "eight, deflated": [*picks(*whole), "--deflate"],
        "mixed": ["--pick=", *picks(*part[:3]), "--deflate", "0.5"],
    }
    if prices == 1:
        del found["eight whole picks"]
    return found


class Source(threading.Thread):
    """Pushes changes of 24 prices each, at this rate in all, until it is stopped."""

    def __init__(self, hub, key, rate, channels):
        super().__init__(daemon=True)
        self.feed, self.rate, self.channels, self.stopped = Feed(hub, key), rate, channels, threading.Event()
        for match in range(channels):
            self.feed.put(line(match, 0, {"fixture": {"sides": [{"name": f"Home {match}"}, {"name": f"Away {match}"}]}}))
            selections = [{"id": f"s{number}", "status": "active"} for number in range(SELECTIONS)]
            define = {"kind": "correct_score", "status": "open", "in_play": True, "selections": selections}
            self.feed.put(line(match, 0, {"odds": {"book": "acme", "market": "k0", "change": {"define": define}}}))
        self.feed.flush()

    def change(self, number):
        selections = [{"id": f"s{at}", "price": f"{1.01 + (number * 7 + at * 13) % 900 / 100:.2f}"} for at in range(SELECTIONS)]
        fact = {"odds": {"book": "acme", "market": "k0", "change": {"prices": {"selections": selections}}}}
        at = time.time_ns() // 1000
        return json.dumps({"at": at, "sport": "football", "match": f"m{number % self.channels}", "fact": fact}, separators=(",", ":"))

    def run(self):
        began, number = time.monotonic(), 0
        while not self.stopped.wait(max(0.01, began + number / self.rate - time.monotonic())):
            while number < (time.monotonic() - began) * self.rate:
                self.feed.put(self.change(number))
                number += 1
            self.feed.flush()


def report(options, load, arguments):
    rate, channels, sockets, prices = LOADS[load]
    settings = {"MATCHWIRE_FANOUT_SOCKETS_MAX_PER_ACCOUNT": "100000"}
    if prices == 1:
        settings |= {"MATCHWIRE_BENCH_RATE": str(rate), "MATCHWIRE_BENCH_CHANNELS": str(channels)}
    with tempfile.TemporaryDirectory(prefix="matchwire-bench-") as folder:
        hub = Hub(options.programs / "matchwire", folder, settings)
        os.sched_setaffinity(0, {0})
        hub.start()
        os.sched_setaffinity(0, {1})
        source = None
        try:
            key = hub.command("key", "create", "--addon", "websocket", "--addon", "odds")
            if prices > 1:
                source = Source(hub, hub.command("feeds", "key", "create", "acme"), rate, channels)
                source.start()
            file = Path(folder) / "report.json"
            book = "steady" if prices == 1 else "acme"
            command = [
                options.programs / "matchwire-loadtest", "many" if channels > 1 else "fanout", "--url", f"ws://{hub.address}/stream/v1",
                "--channel", f"football/*/odds/{book}", "--sockets", sockets, "--seconds", options.seconds, "--pid", hub.process.pid, "--quiet",
                "--json", file, *arguments,
            ]
            done = subprocess.run(list(map(str, command)), env=os.environ | {"LOADTEST_KEY": key}, capture_output=True, text=True, timeout=600)
            if not file.exists():
                raise SystemExit(f"{load}: {done.stdout}{done.stderr}")
            return json.loads(file.read_text())
        finally:
            if source:
                source.stopped.set()
                source.join()
            hub.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loads", nargs="*", metavar="LOAD", help=", ".join(LOADS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--programs", type=Path, default=TOP / "target" / "release", help="the folder of the hub and the load tool")
    options = parser.parse_args()
    for load in options.loads or LOADS:
        rate, channels, sockets, prices = LOADS[load]
        print(f"\n{load}: {rate} updates/s, {channels} channels, {sockets} sockets", flush=True)
        print(f"{'':20}{'per CPU second':>16}{'ratio':>8}  {'range':14}{'bytes':>7}{'p99 ms':>9}", flush=True)
        found = ways(prices)
        reports = {way: [] for way in found}
        for _ in range(options.rounds):
            for way, arguments in found.items():
                reports[way].append(report(options, load, arguments))
        per_cpu = {way: [it["server"]["messages_per_cpu_s"] for it in own] for way, own in reports.items()}
        for way, own in reports.items():
            ratios = sorted(one / whole for one, whole in zip(per_cpu[way], per_cpu["whole"]))
            ratio = median(per_cpu[way]) / median(per_cpu["whole"])
            size = median(it["totals"]["bytes"] / it["totals"]["messages"] for it in own)
            p99 = median(it["latency"]["corrected"]["p99_us"] / 1000 for it in own)
            print(f"{way:20}{median(per_cpu[way]):16,.0f}{ratio:8.2f}  {ratios[0]:.2f} to {ratios[-1]:.2f}  {size:7,.0f}{p99:9.1f}", flush=True)
            faults = {reason for it in own for reason in it["verdict"]["reasons"]}
            if faults:
                print(f"  {'; '.join(sorted(faults))}")


if __name__ == "__main__":
    main()
