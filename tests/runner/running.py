"""Runs suites in their lanes, and reports them."""

import re
import resource
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from runner import stamps
from runner.build import BUILD
from runner.environment import CI, LOGS, TOP
from runner.hubs import DEMO, SHARED_HUB
from runner.lanes import run_lanes
from runner.log import Failed, Log, Missing
from runner.report import Counts, failures
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
        DEMO.path(Log("demo"))
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


def run_suite(name, always=True):
    """Runs one suite and reports it when it has ended; a failing one shows the end of its log. Unless it runs always, one that has
    passed with the same inputs does not run again."""
    suite, log, began, remark = ALL_SUITES[name], Log(name), time.monotonic(), None
    if suite.inputs and not always and stamps.has_passed(name, suite.inputs):
        line = f"  {name}: not run: inputs unchanged since they last passed"
        log.write(line.strip())
        report([line])
        return Result(Counts(), line, [], [])
    stamps.forget(name)
    try:
        counts = suite.run(log)
    except Missing as missing:
        counts = Counts(failed=1) if CI else Counts(skipped=1)
        remark = f"not run: {missing}"
    except Exception as error:
        counts, remark = Counts(failed=1), f"{type(error).__name__}: {error}"
    if remark:
        log.write(remark)
    if suite.inputs and not counts.failed and not counts.skipped:
        stamps.remember(name, suite.inputs)
    took_s, printed, lines = time.monotonic() - began - log.waited_s, log.text(), []
    if counts.failed:
        lines += [f"\n==== {log.path.relative_to(TOP)}, its last lines", *printed.splitlines()[-200:], "====\n"]
    elif remark:
        lines.append(f"  {remark}")
    lines += [f"  {reason}" for reason in sorted(set(re.findall(r"^skipped\b.*", printed, re.MULTILINE)))]
    lines += [f"  {note}" for note in log.notes]
    line = f"  {name}: passed {counts.passed}, failed {counts.failed}, skipped {counts.skipped}, {took_s:.0f} s"
    line += f", {Log.processor_s[name]:.0f} s of processor time"
    if log.waited_s >= 1:
        line += f", after {log.waited_s:.0f} s of waiting for compiles"
    report([*lines, line])
    return Result(counts, line, failures(printed, remark) if counts.failed else [], log.durations)


# What suites share, by the name of its log.
SHARED = {"build": "compiling all of these", "demo": "the demo's past", "hub": "the hub that suites share", "fetch": "what was installed"}


def run_all(chosen, serial, always):
    """Runs the chosen suites and prints what became of them; the exit code."""
    began = time.monotonic()
    SHARED_HUB.users = sum(ALL_SUITES[name].shares_hub for name in chosen)

    def run_step(name):
        if name == COMPILE:
            return compile_first()
        if name == PAST:
            return write_past_first()
        if name == FETCH:
            return fetch([name for name in chosen if ALL_SUITES[name].needs])
        return run_suite(name, always)

    try:
        results = run_lanes(lanes_of(chosen, serial), run_step, Log.stop_all)
    finally:
        SHARED_HUB.stop()
    results = [results[name] for name in ALL_SUITES if name in chosen]
    print()
    for result in results:
        print("\n".join([result.line] + [f"    failed: {test}" for test in result.failed]))
    for name, title in SHARED.items():
        if Log.processor_s[name] >= 1:
            took = f"{BUILD.took_s:.0f} s, " if name == "build" else ""
            print(f"  {title}: {took}{Log.processor_s[name]:.0f} s of processor time")
    slowest = sorted((it for result in results for it in result.durations), reverse=True)[:10]
    if slowest:
        print("the slowest Rust tests:")
    for seconds, test in slowest:
        print(f"  {seconds:6.1f} s  {test}")
    total = sum((result.counts for result in results), Counts())
    print(f"all of it took {time.monotonic() - began:.0f} s, and {processor_s():.0f} s of processor time")
    print(f"total: {total}", flush=True)
    return 1 if total.failed else 0


def processor_s():
    """Seconds of processor time of this process and of all that have ended below it, if somebody waited for their end."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
