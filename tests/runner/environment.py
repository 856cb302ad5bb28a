"""Where things are, and the environment in which commands run."""

import json
import os
import shutil
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
TOOLS = TOP / ".tools"
LOGS = TOP / "test-results"
CI = bool(os.environ.get("CI"))

# What our scripts hand on must not change what is tested: the hub reads every MATCHWIRE_ variable.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("MATCHWIRE_")}
# Which database unit tests run on is the choice of their suite.
ENVIRONMENT.pop("TEST_POSTGRES_URL", None)
ENVIRONMENT["CARGO_TERM_COLOR"] = "never"
# A log has what a script printed before it hangs.
ENVIRONMENT["PYTHONUNBUFFERED"] = "1"
# A clean checkout is compiled once: what would speed up the next time takes time and space.
if CI:
    ENVIRONMENT["CARGO_INCREMENTAL"] = "0"
# A snapshot that differs is a failure, and nothing is written next to it.
ENVIRONMENT["INSTA_UPDATE"] = "no"
ENVIRONMENT["INSTA_WORKSPACE_ROOT"] = str(TOP)

# What tests and lints are compiled with: everything. In the default features is what one machine needs, and they are only checked.
FEATURES = ("--features", "matchwire/full")


def target_directory():
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    said = subprocess.run(command, cwd=TOP, env=ENVIRONMENT, stdout=subprocess.PIPE, check=True).stdout
    return Path(json.loads(said)["target_directory"])


def git(*arguments, folder=TOP):
    """The lines that git prints; none if it fails or is not here."""
    if not shutil.which("git"):
        return []
    said = subprocess.run(["git", *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return said.stdout.splitlines() if said.returncode == 0 else []
