"""Reads what test programs print: how many tests passed, which failed, and how long each took."""

import re


class Counts:
    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped

    def __add__(self, other):
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __eq__(self, other):
        return str(self) == str(other)

    def __repr__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def at_least_failed(counts, code):
    """Counts a failure for a suite that ended with an error but reported none: it crashed, for example."""
    if code != 0 and counts.failed == 0:
        counts.failed = 1
    return counts


def script_counts(printed, code):
    """Reads the last line `N passed, N failed, N skipped` of one of our own scripts."""
    found = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", printed, re.MULTILINE)
    counts = Counts(*map(int, found[-1])) if found else Counts()
    return at_least_failed(counts, code)


def pytest_counts(printed, code):
    """Reads the last summary of pytest, such as `2 failed, 60 passed, 2 skipped in 33.63s`."""
    summaries = re.findall(r"^=*\s*((?:\d+ \w+(?:, )?)+) in [\d.]+s", printed, re.MULTILINE)
    found = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", summaries[-1])} if summaries else {}
    failed = sum(found.get(word, 0) for word in ("failed", "error", "errors"))
    return at_least_failed(Counts(found.get("passed", 0), failed, found.get("skipped", 0)), code)


# libtest appends ` <0.012s>` to the line of a test if times are requested.
TEST_LINE = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED)(?: <([\d.]+)s>)?$", re.MULTILINE)


def libtest_counts(printed):
    """Adds up the summaries of Rust test programs. A test that finds nothing to work on prints `skipped: ..`
    and passes; --show-output prints that, and here it counts as skipped. One with `#[ignore]` is not selected, and counts
    nowhere: its reason says who runs it."""
    counts = Counts()
    for numbers in re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed", printed, re.MULTILINE):
        counts += Counts(*map(int, numbers))
    outputs = re.split(r"^---- .+ stdout ----$", printed, flags=re.MULTILINE)[1:]
    skipped = sum(1 for output in outputs if re.search(r"^skipped\b", output, re.MULTILINE))
    return counts + Counts(passed=-skipped, skipped=skipped)


def failed_tests(printed):
    """A line for each Rust test that failed, its name and the beginning of its last output; those of clients' scripts, of pytest, of
    Node's and of Python's own runner. Of a test that runs with --nocapture, its last panic."""
    outputs = dict(re.findall(r"^thread '(\S+)' .*?panicked at .*?\n(.*?)(?=^stack backtrace:$|^note: |^test |\Z)", printed, re.MULTILINE | re.DOTALL))
    outputs |= dict(re.findall(r"^---- (\S+) stdout ----\n(.*?)(?=^---- |^failures:$|\Z)", printed, re.MULTILINE | re.DOTALL))
    names = dict.fromkeys(name for name, result, _ in TEST_LINE.findall(printed) if result == "FAILED")
    rust = [f"{name}: {' '.join(outputs.get(name, '').split())[:600]}" for name in names]
    scripts = re.findall(r"^(?:[\w-]+: )?FAILED: .*$|^FAILED \S+::.*$", printed, re.MULTILINE)
    return rust + [line[:600] for line in dict.fromkeys(scripts + failed_in_tap(printed) + failed_in_unittest(printed))]


def failed_in_tap(printed):
    """Names and errors of what failed in the output of `node --test`, without the suites and files that failed because of it."""
    found = re.findall(r"^( *)not ok \d+ - ([^\n]*)\n\1  ---\n(.*?)^\1  \.\.\.$", printed, re.MULTILINE | re.DOTALL)
    failed = []
    for _, name, details in found:
        error = re.search(r"^( *)error: (?:'(.*)'|\|-\n((?:\1  .*\n|\s*\n)*))", details, re.MULTILINE)
        if "failureType: 'subtestsFailed'" not in details and "# TODO" not in name:
            failed.append(f"{name}: {' '.join((error[2] or error[3] or '').split()) if error else ''}")
    return failed


def failed_in_unittest(printed):
    """Names and last lines of what failed in the output of `python3 -m unittest`."""
    found = re.findall(r"^={70}\n(?:FAIL|ERROR): ([^\n]*)\n(?:[^\n]*\n)?-{70}\n(.*?)(?=^[=-]{70}$)", printed, re.MULTILINE | re.DOTALL)
    return [f"{name}: {' '.join(text.split())[-500:]}" for name, text in found]


def failures(printed, remark):
    """What to say of a suite that failed: its tests that did, and why it ended before its end; else the last that it printed."""
    lines = failed_tests(printed) + ([remark] if remark else [])
    return lines or [" ".join(printed.split())[-600:]]


def durations(printed):
    """Pairs of seconds and name, one for each Rust test that reports a time."""
    return [(float(seconds), name) for name, _, seconds in TEST_LINE.findall(printed) if seconds]
