"""Compiles the tests, and runs their programs."""

import re
import shutil
import threading
import time

from runner.cargo import compiled_programs
from runner.environment import FEATURES, TOP
from runner.log import STEP_S_MAX, Failed, Log
from runner.report import durations

# The example that serves what the conformance suites of MCP call.
MCP_FIXTURE = "mcp_fixture"
# The example that `matchwire conformance` grades.
RUST_CLIENT = "conformance_client"

# Crates with property tests in which one case takes a second. Each states its number of cases, which PROPTEST_CASES would
# override.
FEW_CASES = ("accounts", "simulator")


def linker_wrapper():
    """mold takes the place of any linker where it is installed. As flags of the compiler, it would make cargo compile everything
    again when cargo runs without this script. On x86_64 Rust links with its own lld anyway."""
    mold = shutil.which("mold")
    return (mold, "-run") if mold else ()


def compile_tests(log, *selection, low_priority=False):
    """Compiles the test programs of a selection of crates, and the programs that they start."""
    code, messages = log.cargo(
        "test", "--locked", "--no-run", "--message-format=json-render-diagnostics", *selection,
        low_priority=low_priority, captured=True, wrapper=linker_wrapper(),
    )
    if code != 0:
        raise Failed("the tests do not compile")
    return compiled_programs(messages)


class Build:
    """The one compile that every suite uses. Another selection of crates would have other features, and cargo
    would compile most of it again."""

    def __init__(self):
        self.lock, self.programs, self.error, self.took_s = threading.Lock(), None, None, None

    def wait(self, log):
        """The compiled programs. The first suite that asks compiles them, and the others wait."""
        with log.waiting(), self.lock:
            if self.programs is None and self.error is None:
                began = time.monotonic()
                try:
                    # Integration tests bring the programs along that they start.
                    self.programs = compile_tests(
                        Log("build"), "--workspace", *FEATURES, "--tests", "--example", MCP_FIXTURE, "--example", RUST_CLIENT,
                    )
                except Failed as error:
                    self.error = error
                self.took_s = time.monotonic() - began
        if self.error:
            raise Failed(f"{self.error}; see test-results/build.log")
        return self.programs


BUILD = Build()


def hub_binary(log):
    """The program under test."""
    return next(it.path for it in BUILD.wait(log) if it.target == "matchwire" and not it.is_test)


# Times of tests are unstable in libtest, and accepted from a stable toolchain with RUSTC_BOOTSTRAP. The variable
# is set for the test program alone: seen by cargo, it would make cargo compile everything again. cargo-nextest
# reports times too, but starts a process for each test, so that tests could not share a running hub.
TIMES = ("-Zunstable-options", "--report-time")


def run_program(log, program, *arguments, env=None, low_priority=False, limit_s=STEP_S_MAX):
    """Runs a test program as cargo does: in the folder of its package."""
    env = (env or {}) | {"CARGO_MANIFEST_DIR": str(program.folder), "RUSTC_BOOTSTRAP": "1"}
    if program.folder.name in FEW_CASES:
        env.pop("PROPTEST_CASES", None)
    # If a later toolchain refuses, the tests run without times.
    if log.run(program.path, "--list", "--format=terse", *TIMES, cwd=program.folder, env=env, captured=True)[0] == 0:
        arguments = (*arguments, *TIMES)
    code, printed = log.run(
        program.path, "--show-output", *arguments, cwd=program.folder, env=env, low_priority=low_priority, limit_s=limit_s,
    )
    log.durations += [(seconds, f"{program.name(TOP)} {test}") for seconds, test in durations(printed)]
    return code, printed


def listed_tests(log, program):
    """The paths of a program's tests, ignored ones too."""
    _, listed = log.run(program.path, "--list", "--format=terse", cwd=program.folder, captured=True)
    return re.findall(r"^(\S+): test$", listed, re.MULTILINE)
