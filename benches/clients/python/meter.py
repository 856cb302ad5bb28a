"""What every client of this bench does with its updates, and what is measured of it."""

import gc
import json
import os
import time
from pathlib import Path

URL = os.environ.get("BENCH_URL", "")
KEY = os.environ.get("BENCH_KEY", "")
CHANNELS = os.environ.get("BENCH_CHANNELS", "").split(",")
UPDATES = int(os.environ.get("BENCH_UPDATES", "0"))
MARKET, SELECTION = os.environ.get("BENCH_MARKET", ""), os.environ.get("BENCH_SELECTION", "")
FILE = os.environ.get("BENCH_FILE", "")


def resident_kib():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def merge(target, patch):
    """The least that a program does to keep a document: applies a merge patch to it."""
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        elif isinstance(value, dict):
            merge(target.setdefault(name, {}), value)
        else:
            target[name] = value
    return target


class Meter:
    """A program that follows all channels, and looks at one price after each update."""

    def __init__(self):
        self.report = {}
        self.seen, self.price = 0, None
        self.before, self.began = resident_kib(), time.perf_counter()

    def imported(self):
        self.report["import_ms"] = (time.perf_counter() - self.began) * 1000
        self.report["import_kib"] = resident_kib() - self.before

    def connecting(self):
        gc.collect()
        self.before, self.began = resident_kib(), time.perf_counter()

    def document(self):
        """A channel's first document has come."""
        if "first_ms" not in self.report:
            self.report["first_ms"] = (time.perf_counter() - self.began) * 1000
            self.start, self.cpu = time.perf_counter(), time.process_time()

    def update(self, document, changes=1):
        """A document has changed, by so many changes."""
        market = document.get("markets", {}).get(MARKET)
        self.count(market and market["selections"].get(SELECTION, {}).get("price"), changes)

    def count(self, price, changes=1):
        self.price = price
        self.seen += changes
        if self.seen == UPDATES:
            self.end()

    def end(self):
        seconds, cpu = time.perf_counter() - self.start, time.process_time() - self.cpu
        gc.collect()
        self.report |= {"updates_s": self.seen / seconds, "cpu_us": cpu / self.seen * 1e6, "run_kib": resident_kib() - self.before}
        print(json.dumps(self.report | {"price": self.price}), flush=True)
        # Closing takes as long as it takes.
        os._exit(0)
