"""What to run before each commit."""

import subprocess
import time

from runner.budgets import compare
from runner.build import compile_tests, run_program
from runner.cargo import changed_packages, member_features
from runner.cargo import packages as workspace_packages
from runner.environment import ENVIRONMENT, FEATURES, TOP, git
from runner.log import Failed, Log
from runner.report import Counts, at_least_failed, failed_tests, libtest_counts
from runner.suites.checks import CLIPPY

STEPS = {
    # The fuzz targets are a workspace of their own, whose lock names the crates of this one.
    "lock of tools/fuzz": ("metadata", "--locked", "--format-version", "1", "--manifest-path", "tools/fuzz/Cargo.toml"),
    "format": ("fmt", "--all", "--check"),
    "clippy": CLIPPY,
}


def changed_paths():
    """What differs from the main branch, committed or not."""
    base = git("merge-base", "HEAD", "origin/main") or git("merge-base", "HEAD", "main") or ["HEAD"]
    return git("diff", "--name-only", base[0]) + git("ls-files", "--others", "--exclude-standard")


def unit_tests(log):
    """The unit tests of the crates that changed, and the names of these."""
    metadata = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=TOP, env=ENVIRONMENT, stdout=subprocess.PIPE, check=True,
    ).stdout
    changed = changed_packages(changed_paths(), workspace_packages(metadata, TOP))
    if not changed:
        return Counts(), []
    # The package at the top is tested as `make test` compiles it, so that neither compiles what the other has.
    if any(not it.folder for it in changed):
        selection = ["--workspace", *FEATURES]
    else:
        features = member_features((TOP / "Cargo.toml").read_text())
        selection = [word for it in changed for word in ("-p", it.name)]
        selection += [word for it in changed for name in features.get(it.name, []) for word in ("--features", name)]
    selection += ["--lib"] * any(it.has_library for it in changed) + ["--bins"] * any(not it.has_library for it in changed)
    folders, counts = {TOP / it.folder for it in changed}, Counts()
    for program in compile_tests(log, *selection):
        if program.is_test and program.folder in folders:
            code, printed = run_program(log, program)
            counts += at_least_failed(libtest_counts(printed), code)
    return counts, [it.name for it in changed]


def check_before_commit():
    """Stops at the first step that fails, shows why, and prints one line below the budgets."""
    log, began, done = Log("check"), time.monotonic(), []
    failed = None
    budgets = compare()
    if any(budget.is_exceeded() for budget in budgets):
        failed = "budgets"
    for name, command in STEPS.items():
        if failed:
            break
        if log.cargo(*command)[0] != 0:
            failed = name
        else:
            done.append(name)
    if not failed:
        try:
            counts, names = unit_tests(log)
            failed = "unit tests" if counts.failed else None
            done += [f"{counts} in {', '.join(names)}" if names else "no crate changed"]
        except Failed as error:
            failed = str(error)
    if failed and failed != "budgets":
        print("\n".join(log.text().splitlines()[-100:]))
        print("\n".join(f"failed: {test}" for test in failed_tests(log.text())))
    print("\n".join(f"  {budget}" for budget in budgets))
    took = f"{time.monotonic() - began:.0f} s"
    print(f"check: {failed} FAILED, {took}; all of it is in test-results/check.log" if failed else f"check: ok, {', '.join(done)}, {took}")
    return 1 if failed else 0
