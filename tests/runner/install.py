"""Installs what suites need: tools in .tools/, packages of Python and npm, and Debian's packages if this is root.

What cannot be installed raises `Missing`, and its suite is skipped; under CI it fails."""

import os
import platform
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

from runner.environment import CI, TOOLS, TOP, target_directory
from runner.lanes import once
from runner.log import Missing

# Debian's package manager refuses to run twice at the same time.
INSTALLING = threading.RLock()

# Compiling these takes minutes, so tests/tools/NAME.txt names a published binary of each. Where there is none
# for the platform, this version is compiled.
TOOL_VERSIONS = {"cargo-deb": "3.8.0", "cargo-deny": "0.20.2", "cargo-shear": "1.14.0", "websocat": "1.14.1"}

# How npm calls the processors for which it has Node.
MACHINES = {"x86_64": "x64", "aarch64": "arm64"}


@once
def package_lists(log):
    if log.run("apt-get", "update", env={"DEBIAN_FRONTEND": "noninteractive"})[0] != 0:
        log.write("the package lists could not be updated; using those that are here")


def packages(log, *names):
    """Installs Debian packages, or says how to."""
    if not shutil.which("apt-get") or os.geteuid() != 0:
        raise Missing(f"install first: {' '.join(names)} (on Debian, as root: apt-get install {' '.join(names)})")
    with INSTALLING:
        package_lists(log)
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        # An installation that was ended in the middle, by a machine that stopped or a user, must be finished before any other.
        log.run("dpkg", "--configure", "-a", env=quiet)
        if log.run("apt-get", "install", "-y", "--no-install-recommends", *names, env=quiet)[0] != 0:
            raise Missing(f"apt-get could not install {' '.join(names)}")


def wanted(log, package, tests):
    """Installs a package that tests can do without; whether it is here now. Under CI they cannot."""
    try:
        with INSTALLING, no_services():
            packages(log, package)
        return True
    except Missing as missing:
        if CI:
            raise
        log.write(f"skipped: {tests}, for want of {package}: {missing}")
        return False


def not_left_running(log, *services):
    if shutil.which("systemctl"):
        log.run("systemctl", "disable", "--now", *services)


@contextmanager
def no_services():
    """Packages that are installed meanwhile start nothing. Where the system has a rule for that, which
    is so in most containers, that rule holds."""
    rule = Path("/usr/sbin/policy-rc.d")
    if rule.exists() or os.geteuid() != 0:
        yield
        return
    rule.write_text("#!/bin/sh\nexit 101\n")
    rule.chmod(0o755)
    try:
        yield
    finally:
        rule.unlink()


def python_with(log, requirements, environment="venv"):
    """The Python in this folder of .tools/, with these packages."""
    # One lock for all requirements: they share the folder.
    with INSTALLING:
        return installed_python(log, requirements, environment)


@once
def installed_python(log, requirements, environment):
    python = TOOLS / environment / "bin" / "python"
    if not python.exists():
        if log.run(sys.executable, "-c", "import ensurepip, venv")[0] != 0:
            packages(log, "python3-venv")
        log.must(sys.executable, "-m", "venv", "--clear", TOOLS / environment)
    code, _ = log.run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements)
    if code != 0:
        raise Missing(f"pip could not install the packages of {requirements.relative_to(TOP)}")
    return python


@once
def npm_packages(log, folder):
    """Node, with the packages of this folder."""
    node, npm = program(log, "node", "nodejs"), program(log, "npm", "npm")
    if log.run(npm, "ci", cwd=folder)[0] != 0:
        raise Missing(f"npm ci failed in {folder.relative_to(TOP)}")
    return node


def node_22(log, folder):
    """Node 22, which the newest clients need, from the packages of this folder; elsewhere than on Linux the system's."""
    own = folder / "node_modules" / f"node-linux-{MACHINES.get(platform.machine())}" / "bin" / "node"
    found = npm_packages(log, folder)
    node = own if own.exists() else Path(found)
    version = subprocess.run([node, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    if int(version.strip("v").split(".")[0]) < 22:
        raise Missing(f"Node 22 or newer; {node} is {version.strip()}")
    return node


def program(log, name, *debian):
    """The path of a program, which the named Debian packages bring if it is not here."""
    if not shutil.which(name):
        packages(log, *debian)
    found = shutil.which(name)
    if not found:
        raise Missing(f"{name} is not on the path")
    return found


@once
def tool(log, name):
    """The path of a tool that is written in Rust: the installed one, else a published binary, else compiled
    into .tools/bin."""
    own = TOOLS / "bin" / name
    if found := shutil.which(name) or (own.exists() and own):
        return found
    try:
        return python_with(log, TOP / "tests" / "tools" / f"{name}.txt").parent / name
    except Missing as missing:
        log.write(f"{missing}; compiling it")
    # Not optimised: each runs for a second, and takes twice as long to compile otherwise.
    version, target = TOOL_VERSIONS[name], target_directory() / "tools"
    code, _ = log.cargo(
        "install", "--locked", "--debug", "--version", version, "--root", TOOLS, "--target-dir", target, name,
    )
    if code != 0:
        raise Missing(f"cargo install {name} failed")
    return own
