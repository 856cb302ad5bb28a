"""`make budgets`: measures what compiling and testing costs, and writes it into budgets.toml.

Processor time and not wall time, so that other work on the machine matters little; and divided by that of compiling one fixed crate, so
that the machine matters little. What is measured is the last commit, in a clone."""

import statistics
import tempfile
import tomllib
from pathlib import Path

from runner.budgets import FILE, with_table
from runner.environment import FEATURES, TOP, git
from runner.log import Failed, Log

REFERENCE = TOP / "tests" / "runner" / "reference"
STEPS = ("build_default", "build_full", "test_cold", "test_warm")
# Far more than any step takes on a slow machine.
MEASURED_S_MAX = 4 * 3600


class Measurement:
    """A clone of the last commit, and what was measured there: processor seconds by step."""

    def __init__(self, folder):
        self.log, self.folder, self.clone = Log("budgets"), folder, folder / "clone"
        self.references, self.measured = [], {}

    def prepare(self):
        self.log.must("git", "clone", "--quiet", "--no-hardlinks", TOP, self.clone)
        # What is downloaded is no compiling.
        for project in (self.clone, REFERENCE):
            self.log.must("cargo", "fetch", "--locked", cwd=project)

    def processor_s(self, *command, target=None, **options):
        """Seconds of processor time of a command that must succeed, with those of everything that it starts and waits for."""
        before = Log.processor_s[self.log.suite]
        # As continuous integration: nothing is skipped, and nothing is prepared for a second compile.
        env = {"CI": "true", "CARGO_INCREMENTAL": "0"} | ({"CARGO_TARGET_DIR": str(self.folder / target)} if target else {})
        self.log.must(*command, env=env, limit_s=MEASURED_S_MAX, **options)
        return Log.processor_s[self.log.suite] - before

    def compile_reference(self):
        target = f"reference-{len(self.references)}"
        self.references.append(self.processor_s("cargo", "build", "--release", "--locked", cwd=REFERENCE, target=target))

    def step(self, name):
        if name.startswith("build"):
            features = FEATURES if name == "build_full" else ()
            command, target = ("cargo", "build", "--release", "--locked", *features), name
        else:
            if name == "test_warm":
                touch(self.clone)
            command, target = ("make", "test"), "test"
        self.measured[name] = self.processor_s(*command, cwd=self.clone, target=target)

    def ratios(self):
        """The median of the reference, and the steps divided by it."""
        reference_s = statistics.median(self.references)
        return {"reference_s": round(reference_s, 1)} | {name: round(taken / reference_s, 2) for name, taken in self.measured.items()}


def touch(folder):
    """Makes cargo compile all of our crates again."""
    for path in git("ls-files", "*.rs", folder=folder):
        (folder / path).touch()


def measure(steps):
    """Measures these steps, or all; the exit code is 1 if one is above its limit."""
    if git("status", "--porcelain", "--untracked-files=no"):
        raise SystemExit("commit first: what is measured is the last commit, and its name is written beside the figures")
    with tempfile.TemporaryDirectory(prefix="matchwire-budgets-") as folder:
        measurement = Measurement(Path(folder))
        try:
            measurement.prepare()
            measurement.compile_reference()
            # The warm one needs what the cold one leaves.
            for name in [name for name in STEPS if not steps or name in steps or name == "test_cold" and "test_warm" in steps]:
                print(f"{name} ..", flush=True)
                measurement.step(name)
                measurement.compile_reference()
        except Failed as failed:
            raise SystemExit(f"{failed}; see {measurement.log.path.relative_to(TOP)}") from None
    (commit,) = git("rev-parse", "--short", "HEAD")
    text, exceeded = record(FILE.read_text(), {"commit": commit} | measurement.ratios())
    FILE.write_text(text)
    print("\n".join(exceeded) or "no ratio is above its limit")
    return 1 if exceeded else 0


def record(text, figures):
    """The file with these figures, which leave others of an earlier measurement out, and a line for each that is above its limit."""
    limits = tomllib.loads(text)["limits"].get("ratios", {})
    exceeded = [f"{name}: {figures[name]} FAILED, the limit is {limit}" for name, limit in limits.items() if figures.get(name, 0) > limit]
    return with_table(text, "measured", figures), exceeded
