#!/usr/bin/env python3
"""Attacks by one account or by strangers, and what everyone else notices of them.

    HUB_BIN=target/release/matchwire python3 tests/attack             what five minutes suffice for, the findings first
    python3 tests/attack --minutes 20 --seconds 3                     all of them
    python3 tests/attack --row find --row sse --seconds 10            those whose names contain this, ten seconds each
    python3 tests/attack --list

In the control the same number of connections of the same generator, which takes at most half a core, sends harmless requests. A row
holds if the 99th percentile of everyone else's waits stays within three times that of the control, and the memory of the hub within
64 MiB more. Rows with the same connections share a control; a row that seems not to hold is measured once more for a longer time
with a control of its own, and that counts. Exits with 1 if a row is broken.
"""

import argparse
import math
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter, deque
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import rows  # noqa: F401, registers all attacks
from attack import ATTACKS, MEASURES
from generator import Load
from hub import running_hub
from verdict import Result, Window, percentiles
from watch import Watch

CONTROL_S, ATTACK_S, AFTER_S = 2, 1.2, 0.4
# From the beginning of a control until it counts: its connections are there.
BEGIN_S = 0.4
# How long the second measurement of a row takes, at least, for its control and for the attack each.
AGAIN_S = 5
# The networks of attacks, 127.11.0.0/16 and on: what an address has used up must not hold the next attack back.
FIRST_NETWORK, NETWORKS = 10, 200
# How long the stop of a hub may take.
STOP_S = 2
# How long the effects of an attack may take to end before the next one begins with a new hub; what waits count as usual, or as much
# as in a control, but no more than the last.
CALM_S_MAX, CALM_MS, USUAL_MS_MAX = 5, 60, 500
# Hubs by their names: small ones for what concerns the whole process, and the usual one with the demo's past.
HUBS = {
    "narrow": {"MATCHWIRE_DEMO_PAST": "false", "MATCHWIRE_SERVER_CONNECTIONS_MAX": "1000"},
    "stalled": {"MATCHWIRE_DEMO_PAST": "false", "stalled": True},
    "descriptors": {"MATCHWIRE_DEMO_PAST": "false", "MATCHWIRE_LOG_SEGMENT_BYTES": "65536", "descriptors": 512},
    "usual": {"past": True},
}


class Dead(Exception):
    """The hub has ended."""


class Spoiled(Exception):
    """The hub still suffers from the attack before."""


class Bench:
    """A hub and everyone else, on which rows are run one after another."""

    def __init__(self, hub, watch):
        self.hub, self.watch, self.controls, self.is_fresh = hub, watch, {}, True
        hub.slow_hook, self.network = watch.slow_hook, 0

    def run(self, attack, seconds, is_again=False):
        control_s, attack_s = (max(AGAIN_S, seconds),) * 2 if is_again else (max(CONTROL_S, seconds), seconds)
        family = (attack.control, attack.connections, attack.addresses)
        self.calm()
        if is_again or family not in self.controls:
            self.controls[family] = self.control(attack, control_s)
        measured, ended = self.measure(attack, attack.script, attack_s, 0)
        time.sleep(AFTER_S)
        after = percentiles(self.watch.waits_ms(ended, ended + AFTER_S))
        return Result(self.controls[family], measured, after, attack.judges, confirmed=is_again)

    def control(self, attack, seconds):
        """What everyone else waits for beside harmless requests. A moment at which the machine did something else would let an attack
        pass, so a slow control is measured once more, and the shorter waits count."""
        control, _ = self.measure(attack, attack.control, seconds, BEGIN_S)
        if max(control.p99[kind] for kind in MEASURES) > CALM_MS:
            again, _ = self.measure(attack, attack.control, seconds, BEGIN_S)
            control.p99 = {kind: min(ms, again.p99[kind]) for kind, ms in control.p99.items()}
        return control

    def calm(self):
        """Waits until everyone else is served as usual. A hub that has just started has nothing to recover from."""
        deadline = time.monotonic() + CALM_S_MAX
        usual_ms = max([CALM_MS, *(ms for control in self.controls.values() for ms in control.p99.values() if ms < USUAL_MS_MAX)])
        while time.monotonic() < deadline:
            now = time.monotonic()
            waits = self.watch.waits_ms(now - 0.5, now - 0.1)
            if max(max(waits[kind], default=math.inf) for kind in MEASURES) <= usual_ms:
                break
            time.sleep(0.2)
        else:
            if not self.is_fresh:
                raise Spoiled
        self.is_fresh = False

    def measure(self, attack, script, seconds, begin_s):
        if script is attack.script:
            self.hub.renew(attack.named)
        self.network = self.network % NETWORKS + 1
        attack = replace(attack, script=script, network=attack.network or FIRST_NETWORK + self.network)
        before, cpu = self.memory(), self.hub.cpu_s()
        context = multiprocessing.get_context("fork")
        pipe, theirs = context.Pipe()
        load = Load(attack, self.hub, ("127.0.0.1", self.hub.port))
        process = context.Process(target=lambda: theirs.send(load.run(begin_s + seconds)), daemon=True)
        process.start()
        theirs.close()
        time.sleep(begin_s)
        begin, most = time.monotonic(), before
        while time.monotonic() < begin + seconds:
            time.sleep(0.05)
            most = max(most, self.memory())
        end = time.monotonic()
        waits = self.watch.waits_ms(begin, end)
        load.poll.close()
        try:
            counted = pipe.recv() if pipe.poll(5) else {}
        except EOFError:
            raise SystemExit(f"{attack.name}: the generator failed") from None
        process.terminate()
        process.join()
        return Window(percentiles(waits), most - before, (self.hub.cpu_s() - cpu) / (begin_s + seconds), **counted), end

    def memory(self):
        memory = self.hub.memory_mib()
        if memory is None or self.hub.process.poll() is not None:
            raise Dead
        return memory


def run_rows(attacks, seconds, deadline):
    """The results by name; rows for which no time was left have none."""
    results = {}
    for name, settings in HUBS.items():
        # Rows that seem broken come once more, after all others.
        queue = deque((attack, False) for attack in attacks if attack.hub == name)
        while queue and time.monotonic() < deadline:
            with ExitStack() as stack:
                hub = stack.enter_context(running_hub(**settings))
                watch = Watch(hub)
                stack.callback(watch.stop)
                time.sleep(1)
                run_queue(Bench(hub, watch), queue, results, seconds, deadline)
    return results


def run_queue(bench, queue, results, seconds, deadline):
    """Runs rows until none is left or the hub is no longer fit for others."""
    while queue and time.monotonic() < deadline:
        attack, is_again = queue[0]
        try:
            result = bench.run(attack, seconds, is_again)
        except Spoiled:
            return
        except Dead:
            result = Result(is_dead=True)
        queue.popleft()
        results[attack.name] = result
        print_row(attack, result)
        if result.is_dead:
            return
        if not result.holds and not is_again:
            queue.append((attack, True))


def print_head():
    print(f"{'attack':<50} {'sent':>7}  {'control: ping update rest health':>32}  {'attack: ping update rest health':>32}  {'ratio':>6} {'MiB':>5} {'core':>5}")


def print_row(attack, result):
    if result.is_dead:
        print(f"{attack.name:<50} {result.verdict}", flush=True)
        return
    shown = lambda p99: " ".join(f"{number(p99[kind]):>7}" for kind in (*MEASURES, *(kind for kind in attack.judges if kind not in MEASURES)))
    outcomes = " ".join(f"{status}:{count}" for status, count in sorted(result.attack.outcomes.items(), key=str))
    print(
        f"{attack.name:<50} {result.attack.sent:>7}  {shown(result.control.p99):>32}  {shown(result.attack.p99):>32}  "
        f"{number(result.ratio):>6} {result.memory_mib:>5.0f} {result.attack.cpu:>5.2f}  {result.verdict}"
        f"  after {shown(result.after)}  [{outcomes}]",
        flush=True,
    )


def number(value):
    return "never" if math.isinf(value) else f"{value:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", action="append", help="rows whose names contain this")
    parser.add_argument("--seconds", type=float, default=ATTACK_S, help="how long an attack takes")
    parser.add_argument("--minutes", type=float, default=5, help="how long all of them take at most")
    parser.add_argument("--list", action="store_true", help="only list the rows")
    options = parser.parse_args()
    attacks = [attack for attack in ATTACKS.values() if not options.row or any(text in attack.name for text in options.row)]
    if options.list:
        print("\n".join(attack.name for attack in attacks))
        return 0
    # The findings first, should the time be short, and rows with the same control one after another.
    families = {}
    for attack in attacks:
        families.setdefault((not attack.name[0].isdigit(), attack.control, attack.connections, attack.addresses), []).append(attack)
    families = dict(sorted(families.items(), key=lambda family: family[0][0]))
    attacks = [attack for family in families.values() for attack in family]
    # What ends the harness ends its hub too.
    process = os.getpid()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143) if os.getpid() == process else os._exit(143))
    print_head()
    # The last row and the stop of its hub take their time too.
    results = run_rows(attacks, options.seconds, time.monotonic() + options.minutes * 60 - 2 * max(AGAIN_S, options.seconds) - STOP_S)
    missing = [attack.name for attack in attacks if attack.name not in results]
    counts = Counter(result.holds for result in results.values())
    for name, result in results.items():
        if not result.holds:
            print(f"FAILED: {name}: {result.verdict}")
    for name in missing:
        print(f"skipped: {name}: no time was left")
    print(f"{counts[True]} passed, {counts[False]} failed, {len(missing)} skipped")
    return int(counts[False] > 0)


if __name__ == "__main__":
    sys.exit(main())
