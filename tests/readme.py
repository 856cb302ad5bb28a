#!/usr/bin/env python3
"""Runs the commands and snippets of README.md as they stand there, against the built program.

    tests/readme.py --matchwire PATH [--websocat PATH]

A `console` block is a list of commands behind `$ `, each with what it prints. A command must print
something within a bound, and what it prints first must begin like the sample below it. A block of
Python is written to the file that the text above it names. What a test cannot run is listed in
NOT_RUN, with the reason. The program listens on a free port in place of 8080.

The last line is `N passed, N failed, N skipped`.
"""

import argparse
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
# A reader gives up after a few seconds; the rest is for a machine that does other things as well.
PRINTS_WITHIN_S = 180

NOT_RUN = {
    "cargo run --release": "the program is built already, and started by this script",
    "make test": "it runs this script",
    "export KEY=": "the script knows the key",
}


def blocks(text):
    """Each fenced block: its first line's number, language, lines, and the paragraph before it."""
    lines, found, before = text.splitlines(), [], ""
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.startswith("```"):
            end = next(at for at in range(number + 1, len(lines)) if lines[at].startswith("```"))
            found.append((number + 1, line[3:].strip(), lines[number + 1:end], before))
            number, before = end, ""
        elif line.strip():
            before += line + " "
        number += 1
    return found


def commands(lines):
    """Pairs of a command and the first line of its sample."""
    pairs = []
    for line in lines:
        if line.startswith("$ "):
            pairs.append([line[2:], None])
        elif pairs and pairs[-1][1] is None and line.strip():
            pairs[-1][1] = line
    return pairs


def begins_alike(sample, printed):
    """Whether both begin with the same letters, up to what differs from run to run."""
    start = re.match(r"[^\d…]{0,14}", sample)[0].rstrip()
    return printed.startswith(start)


class Runner:
    def __init__(self, folder, environment, address):
        self.folder, self.environment, self.address = folder, environment, address
        self.passed = self.failed = self.skipped = 0

    def said(self, good, where, text):
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        print(f"{'ok' if good else 'FAILED'}: README.md:{where}: {text}", flush=True)

    def skip(self, where, command, why):
        print(f"not run: README.md:{where}: {command}: {why}", flush=True)

    def localised(self, text):
        return text.replace("0.0.0.0:8080", "127.0.0.1:0").replace("127.0.0.1:8080", self.address)

    def command(self, where, command, sample):
        for beginning, why in NOT_RUN.items():
            if command.startswith(beginning):
                return self.skip(where, command, why)
        assigned = re.fullmatch(r"([A-Z]+)=\$\((.*)\)", command)
        code, printed = self.run(self.localised(assigned[2] if assigned else command))
        if assigned:
            self.environment[assigned[1]] = printed.strip()
        first = printed.splitlines()[0] if printed.strip() else ""
        if not first:
            return self.said(False, where, f"{command}: printed nothing (exit code {code})")
        if sample and not begins_alike(sample, first):
            return self.said(False, where, f"{command}: printed {first[:200]!r}, and not {sample[:60]!r}")
        if code not in (None, 0):
            return self.said(False, where, f"{command}: exit code {code}: {printed[-500:]}")
        self.said(True, where, command)

    def run(self, command):
        """What the command prints until it ends, or until shortly after its first line; and its exit
        code, if it ended by itself."""
        # curl writes its progress there; what a failed command writes there is part of the report.
        complaints = open(self.folder / ".stderr", "w+b")
        process = subprocess.Popen(
            ["bash", "-c", command], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=complaints, start_new_session=True,
        )
        printed, until = b"", time.monotonic() + PRINTS_WITHIN_S
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while (left := until - time.monotonic()) > 0 and selector.select(left):
                part = os.read(process.stdout.fileno(), 65536)
                if not part:
                    code = process.wait()
                    if code != 0:
                        complaints.seek(0)
                        printed += complaints.read()
                    return code, printed.decode(errors="replace")
                if b"\n" in part and b"\n" not in printed:
                    # Long enough to fail after its first line, if it is going to.
                    until = min(until, time.monotonic() + 2)
                printed += part
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.communicate(timeout=PRINTS_WITHIN_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        return None, printed.decode(errors="replace")

    def block(self, where, language, lines, before):
        if language == "console":
            for command, sample in commands(lines):
                self.command(where, command, sample)
        elif language == "python":
            name = re.search(r"`(\w+\.py)`", before)
            if not name:
                return self.said(False, where, "the text does not say under which name to save the program")
            (self.folder / name[1]).write_text(self.localised("\n".join(lines)))
        elif language == "toml":
            try:
                tomllib.loads("\n".join(lines))
                self.said(True, where, "settings")
            except tomllib.TOMLDecodeError as error:
                self.said(False, where, f"settings: {error}")
        elif language == "js":
            self.skip(where, "the browser's snippet", "tests/browser/ runs what it does")


def started(program, folder, environment):
    hub = subprocess.Popen(
        [program, "serve", "--listen", "127.0.0.1:0", "--db", "matchwire.db"], cwd=folder, env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    )
    address = key = None
    for line in hub.stdout:
        address = address or (re.match(r"listening on http://(\S+)", line) or [None, None])[1]
        key = key or (re.match(r"\s*demo key\s+(mw_\w+)", line) or [None, None])[1]
        if address and key:
            return hub, address, key
    raise SystemExit("the hub ended before it said where it listens")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--matchwire", required=True, type=Path)
    parser.add_argument("--websocat", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="matchwire-readme-") as name:
        folder = Path(name)
        programs = folder / ".programs"
        programs.mkdir()
        (programs / "matchwire").symlink_to(arguments.matchwire.resolve())
        if arguments.websocat:
            (programs / "websocat").symlink_to(arguments.websocat.resolve())
        # The Python that runs this has the packages that the examples need.
        (programs / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (programs / "python3").chmod(0o755)
        (folder / "examples").symlink_to(TOP / "examples")
        environment = {key: value for key, value in os.environ.items() if not key.startswith("MATCHWIRE_")}
        environment["PATH"] = f"{programs}:{environment['PATH']}"
        hub, address, key = started(arguments.matchwire.resolve(), folder, environment)
        # Commands that start a hub of their own must not want the port of this one.
        runner = Runner(folder, environment | {"KEY": key, "MATCHWIRE_SERVER_LISTEN": "127.0.0.1:0", "MATCHWIRE_LOG_FOLDER": "log"}, address)
        try:
            for block in blocks((TOP / "README.md").read_text()):
                runner.block(*block)
        finally:
            hub.terminate()
            hub.communicate()
    print(f"{runner.passed} passed, {runner.failed} failed, {runner.skipped} skipped")
    return 1 if runner.failed else 0


if __name__ == "__main__":
    sys.exit(main())
