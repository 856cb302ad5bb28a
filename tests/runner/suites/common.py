"""What suites have in common."""

import re
from dataclasses import dataclass

from runner.environment import TOP
from runner.install import npm_packages, python_with, tool
from runner.log import STEP_S_MAX
from runner.report import Counts, at_least_failed


def passed(result):
    code, _ = result
    return Counts(passed=int(code == 0), failed=int(code != 0))


def check(log, *command, **options):
    """A command that is one test: it succeeds or it does not."""
    return passed(log.run(*command, **options))


@dataclass(frozen=True)
class Suite:
    run: object
    lane: str
    # Whether it uses the programs that `BUILD` compiles, the past of `DEMO`, and the hub that suites share.
    uses_build: bool = False
    uses_past: bool = False
    shares_hub: bool = False
    # What it needs from elsewhere, which is fetched while others compile. The suite asks for the same again and
    # reports what is missing.
    needs: tuple = ()
    # Patterns of git's: if it has passed with these files and this compiler, it need not run again.
    inputs: tuple = ()


def needs_python(folder):
    return lambda log: python_with(log, TOP / "tests" / folder / "requirements.txt")


def needs_npm(folder):
    return lambda log: npm_packages(log, TOP / folder)


def needs_tool(name):
    return lambda log: tool(log, name)


# Far more than the tests of a file take.
NODE_FILE_S_MAX = 600


def node_tests(log, node, *folders, file_s=NODE_FILE_S_MAX, **options):
    """Node's tests in these folders. A file that takes longer than `file_s` fails, and the others go on."""
    tests = [path for folder in folders for path in sorted(folder.glob("*.test.js"))]
    command = (node, "--test", "--test-reporter=tap", f"--test-timeout={1000 * file_s}", *tests)
    # Nothing is printed while a file runs.
    code, said = log.run(*command, silent_s=2 * file_s, limit_s=max(STEP_S_MAX, 3 * file_s), **options)
    count = lambda word: sum(map(int, re.findall(rf"^# {word} (\d+)$", said, re.MULTILINE)))
    return at_least_failed(Counts(count("pass"), count("fail") + count("cancelled"), count("skipped") + count("todo")), code)
