"""Runs suites in their lanes, and reports them."""

import re
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from runner.build import BUILD
from runner.environment import CI, LOGS, TOP
from runner.hubs import DEMO, SHARED_HUB
from runner.lanes import run_lanes
from runner.log import Failed, Log, Missing
from runner.report import Counts, failed_tests
from runner.suites import ALL_SUITES, LANES

# Steps of a lane that are no suites: they say nothing unless they fail, and suites that need them then fail.
COMPILE, PAST, FETCH = "(compile)", "(past)", "(fetch)"


def lanes_of(chosen, serial):
    """What each lane runs, in order. The compile that suites wait for comes before the compiles that none does."""
    lanes = {lane: [name for name in ALL_SUITES if name in chosen and ALL_SUITES[name].lane == lane] for lane in LANES}
    if serial:
        return [[name for lane in ("hubs", "build", "rust", "pages") for name in lanes[lane]]]
    if any(ALL_SUITES[name].uses_past for name in chosen):
        lanes["build"].insert(0, PAST)
    if any(ALL_SUITES[name].uses_build for name in chosen):
        lanes["build"].insert(0, COMPILE)
    if lanes["hubs"]:
        first = next((at for at, name in enumerate(lanes["hubs"]) if ALL_SUITES[name].uses_build), len(lanes["hubs"]))
        lanes["hubs"].insert(first, FETCH)
    return [names for names in lanes.values() if names]


def fetch(names):
    """Fetches what suites need, before they wait for the compile."""
    log = Log("fetch")
    for need in (need for name in names for need in ALL_SUITES[name].needs):
        try:
            need(log)
        except (Missing, Failed, OSError) as error:
            log.write(f"{type(error).__name__}: {error}")


def compile_first():
    try:
        BUILD.wait(Log("build"))
    except Failed as error:
        report([f"{error}; the last lines:", *Path(LOGS / "build.log").read_text(errors="replace").splitlines()[-200:]])


def write_past_first():
    """While suites run that do not need it. Those that do report why there is none."""
    try:
        DEMO.path(Log("past"))
    except Failed:
        pass


REPORTING = threading.Lock()


def report(lines):
    """Prints all of it together: other lanes print as well."""
    with REPORTING:
        print("\n".join(lines), flush=True)


@dataclass
class Result:
    counts: Counts
    line: str
    failed: list
    durations: list


def run_suite(name):
    """Runs one suite and reports it when it has ended; a failing one shows the end of its log."""
    log, began, remark = Log(name), time.monotonic(), None
    try:
        counts = ALL_SUITES[name].run(log)
    except Missing as missing:
        counts = Counts(failed=1) if CI else Counts(skipped=1)
        remark = f"not run: {missing}"
    except Exception as error:
        counts, remark = Counts(failed=1), f"{type(error).__name__}: {error}"
    if remark:
        log.write(remark)
    took_s, printed, lines = time.monotonic() - began - log.waited_s, log.text(), []
    if counts.failed:
        lines += [f"\n==== {log.path.relative_to(TOP)}, its last lines", *printed.splitlines()[-200:], "====\n"]
    elif remark:
        lines.append(f"  {remark}")
    lines += [f"  {reason}" for reason in sorted(set(re.findall(r"^skipped\b.*", printed, re.MULTILINE)))]
    waited = f", after {log.waited_s:.0f} s of waiting for compiles" if log.waited_s >= 1 else ""
    line = f"  {name}: passed {counts.passed}, failed {counts.failed}, skipped {counts.skipped}, {took_s:.0f} s{waited}"
    report([*lines, line])
    return Result(counts, line, failed_tests(printed), log.durations)


def run_step(name):
    if name == COMPILE:
        return compile_first()
    if name == PAST:
        return write_past_first()
    if name == FETCH:
        return fetch([name for name in CHOSEN if ALL_SUITES[name].needs])
    return run_suite(name)


CHOSEN = []


def run_all(names, serial):
    CHOSEN.extend(names)
    began = time.monotonic()
    SHARED_HUB.users = sum(ALL_SUITES[name].shares_hub for name in CHOSEN)
    try:
        results = run_lanes(lanes_of(CHOSEN, serial), run_step, Log.stop_all)
    finally:
        SHARED_HUB.stop()
        DEMO.remove()
    results = [results[name] for name in ALL_SUITES if name in CHOSEN]
    print()
    for result in results:
        print("\n".join([result.line] + [f"    failed: {test}" for test in result.failed]))
    if BUILD.took_s:
        print(f"  compiling all of these: {BUILD.took_s:.0f} s")
    slowest = sorted((it for result in results for it in result.durations), reverse=True)[:10]
    if slowest:
        print("the slowest Rust tests:")
    for seconds, test in slowest:
        print(f"  {seconds:6.1f} s  {test}")
    total = sum((result.counts for result in results), Counts())
    print(f"all of it took {time.monotonic() - began:.0f} s")
    print(f"total: {total}", flush=True)
    return 1 if total.failed else 0
