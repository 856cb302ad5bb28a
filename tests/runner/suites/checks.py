"""Suites that check the code without running the hub."""

import re
import sys

from runner.budgets import compare as budgets_of_project
from runner.build import compile_tests, run_program
from runner.cargo import has_doc_test
from runner.environment import FEATURES, TOP, git
from runner.install import tool
from runner.report import Counts, at_least_failed, libtest_counts
from runner.suites.common import check, passed

CLIPPY = ("clippy", "--locked", "--workspace", *FEATURES, "--all-targets", "--", "-D", "warnings")
# With the default features, of the program alone. Clippy hands `-D warnings` to our crates only: as flags of the compiler, it would
# make cargo check everybody's crates again.
CLIPPY_OF_DEFAULT_FEATURES = ("clippy", "--locked", "--", "-D", "warnings")
CLIPPY_WITHOUT_FEATURES = ("clippy", "--locked", "--no-default-features", "--", "-D", "warnings")


def format_(log):
    return check(log, "cargo", "fmt", "--all", "--check")


def clippy(log):
    """Everything with its tests; and the program with the default features, if those are not all, and with none."""
    counts = passed(log.cargo(*CLIPPY, low_priority=True))
    if FEATURES:
        counts += passed(log.cargo(*CLIPPY_OF_DEFAULT_FEATURES, low_priority=True))
        counts += passed(log.cargo(*CLIPPY_WITHOUT_FEATURES, low_priority=True))
    return counts


def interleavings(log):
    """What threads share, in every order in which they can meet."""
    counts = Counts()
    selection = ("-p", "matchwire-fanout", "--features", "loom", "--lib")
    for program in filter(lambda it: it.is_test, compile_tests(log, *selection, low_priority=True)):
        code, printed = run_program(log, program, "interleaved", low_priority=True)
        counts += at_least_failed(libtest_counts(printed), code)
    return counts


def docs(log):
    """The documentation of the code, and the examples in it. Cargo compiles every crate again to find that none has
    an example, so it looks only if there is one."""
    selection = ("--locked", "--workspace", *FEATURES)
    counts = passed(log.cargo("doc", *selection, "--no-deps", env={"RUSTDOCFLAGS": "-D warnings"}, low_priority=True))
    sources = git("ls-files", "*.rs")
    if sources and not any(has_doc_test(TOP.joinpath(path).read_text()) for path in sources):
        return counts
    code, printed = log.cargo("test", *selection, "--doc", low_priority=True)
    return counts + at_least_failed(libtest_counts(printed), code)


def budgets(log):
    """What can be counted, beside its limits in budgets.toml."""
    found = budgets_of_project()
    for budget in found:
        log.write(str(budget))
        if budget.is_loose():
            log.note(f"{budget}: make lower-budgets does it")
    failed = sum(budget.is_exceeded() for budget in found)
    return Counts(passed=len(found) - failed, failed=failed)


def runner(log):
    """The tests of this script's own parts, and of the harness of attacks."""
    counts = Counts()
    for folder, top in (("tests/runner", "tests"), ("tests/attack", "tests/attack")):
        code, printed = log.run(sys.executable, "-m", "unittest", "discover", "-s", folder, "-t", top)
        ran = re.search(r"^Ran (\d+) tests? ", printed, re.MULTILINE)
        failed = sum(map(int, re.findall(r"(?:failures|errors)=(\d+)", printed)))
        counts += at_least_failed(Counts(int(ran[1]) - failed if ran else 0, failed), code)
    return counts


def deny(log):
    """Advisories need a database from the network; deny.toml says how to check those."""
    return check(log, tool(log, "cargo-deny"), "--locked", "check", "bans", "licenses", "sources")


def unused(log):
    """Dependencies that no code uses. cargo-shear parses the code, so a word in a string or in a comment does
    not count as a use. fuzz/ is a workspace of its own."""
    shear, workspaces = tool(log, "cargo-shear"), (TOP, TOP / "tools" / "fuzz")
    return sum((check(log, shear, "--locked", "--color=never", workspace) for workspace in workspaces), Counts())


def fuzz(log):
    """Every decoder for half a minute each."""
    return check(log, sys.executable, TOP / "tools" / "fuzz" / "run", "--seconds", "30")
