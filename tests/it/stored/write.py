#!/usr/bin/env python3
"""Writes what `stored.rs` opens: the database and the log of a hub of one version, after it has processed the lines of docs/INGEST.md, and its
answers. After a release: tests/it/stored/write.py target/release/matchwire tests/it/stored/v0.1.0
"""

import argparse
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from datetime import datetime, timezone
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "INGEST.md"
SPORTS = ("football", "tennis", "csgo", "darts", "hockey", "basketball", "horseracing")
SETTINGS = {"MATCHWIRE_DEMO_ENABLED": "false", "MATCHWIRE_ARCHIVE_WRITE_MS": "50"}
BYTES_MAX = 300_000
WAIT_S = 30


def example_lines():
    blocks = re.findall(r"^```json\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return "".join(block for block in blocks if '"fact"' in block)


class Hub:
    def __init__(self, program, folder):
        self.program, self.database = program, folder / "hub.db"
        self.process = subprocess.Popen(
            [program, "serve", "--listen", "127.0.0.1:0", "--db", self.database], env=os.environ | SETTINGS, stdout=subprocess.PIPE, text=True
        )
        self.url = self.process.stdout.readline().split()[-1]

    def command(self, *arguments):
        return subprocess.run([self.program, *arguments, "--db", self.database], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def ask(self, path, key, body=None):
        request = urllib.request.Request(self.url + path, body, {"Authorization": f"Token {key}"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.stdout.read()
        if code := self.process.wait():
            sys.exit(f"the hub ended with {code}")


def answers(hub, key):
    """Documents of the stream with their positions, and what the archive has."""
    found = {}
    for sport in SPORTS:
        board = found[f"/stream/v1/channels/{sport}"] = hub.ask(f"/stream/v1/channels/{sport}", key)
        for match in board["data"].get("matches", ()):
            found[f"/stream/v1/channels/{sport}/{match}"] = hub.ask(f"/stream/v1/channels/{sport}/{match}", key)
            if sport == "football":
                found[f"/odds/api/events/{match}/history/"] = prices = hub.ask(f"/odds/api/events/{match}/history/", key)
                if not prices["results"]:
                    return None
    for path in ("/api/v2/teams/", "/api/v2/players/", "/tennis/api/v2/players/"):
        found[path] = page = hub.ask(path, key)
        if not page["results"]:
            return None
    return found


def settled_answers(hub, key):
    """The answers once the archive has written all, and two of them are the same."""
    until, previous = time.monotonic() + WAIT_S, None
    while time.monotonic() < until:
        now = answers(hub, key)
        if now and now == previous:
            return now
        previous = now
        time.sleep(0.5)
    sys.exit("the archive does not have all of it")


def write(source, target):
    total = 0
    for path in sorted(source.rglob("*")):
        if path.is_file():
            packed = target / f"{path.relative_to(source)}.gz"
            packed.parent.mkdir(parents=True, exist_ok=True)
            packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
            total += packed.stat().st_size
    if total > BYTES_MAX:
        sys.exit(f"{total} bytes, more than {BYTES_MAX}")
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        hub = Hub(arguments.program.resolve(), Path(folder))
        try:
            key = hub.command("key", "create", "--email", "stored@example.org", "--addon", "websocket", "--addon", "sports", "--addon", "odds")
            feed_key = hub.command("feeds", "key", "create", "acme")
            counts = hub.ask("/ingest/v1/acme", feed_key, example_lines().encode())
            if counts["refused"]:
                sys.exit(f"lines were refused: {counts}")
            found = settled_answers(hub, key)
            stopped = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        finally:
            hub.stop()
        total = write(Path(folder), arguments.folder)
    expected = {"key": key, "feed_key": feed_key, "stopped": stopped, "answers": found}
    (arguments.folder / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")
    print(f"{arguments.folder}: {total} bytes, {len(found)} answers")


if __name__ == "__main__":
    main()
