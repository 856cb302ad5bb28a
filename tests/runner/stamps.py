"""Remembers with which inputs a suite last passed, so that it need not run again with the same.

The stamp of a suite is a hash of its input files and of the compiler, in test-results/passed/. A fresh clone, as that of continuous
integration, has no stamps and runs everything: what the commit before had passed with is not known there, since a push can have
many commits and any of them may have failed."""

import hashlib
import subprocess

from runner.environment import ENVIRONMENT, LOGS, TOP, git

STAMPS = LOGS / "passed"


def fingerprint(patterns, top=TOP):
    """A hash of the files that git's patterns name; `None` outside of a repository."""
    paths = git("ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns, folder=top)
    if not paths:
        return None
    digest = hashlib.sha256(compiler().encode())
    for path in sorted(set(paths)):
        content = (top / path).read_bytes() if (top / path).is_file() else b""
        digest.update(f"{path} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def compiler():
    return subprocess.run(["rustc", "-vV"], cwd=TOP, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=True).stdout


def has_passed(name, patterns, stamps=STAMPS, top=TOP):
    """Whether the suite of this name has passed with what these patterns name now."""
    stamp = stamps / name
    return stamp.exists() and stamp.read_text() == fingerprint(patterns, top)


def forget(name, stamps=STAMPS):
    """To be called before the suite runs, as it may be interrupted."""
    (stamps / name).unlink(missing_ok=True)


def remember(name, patterns, stamps=STAMPS, top=TOP):
    """To be called when the suite has passed."""
    if now := fingerprint(patterns, top):
        stamps.mkdir(parents=True, exist_ok=True)
        (stamps / name).write_text(now)
