"""A real hub for the tests: the program, its demo feed, a free port, a key."""

from __future__ import annotations

import json
import os
import random
import re
import socket
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Generous: a test waits for something to happen, and a busy machine is no failure.
START_S = 600


@dataclass
class Hub:
    """A running hub: `address` is host and port."""

    address: str
    key: str
    binary: str
    database: Path
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        return f"ws://{self.address}"

    def get(self, path: str) -> Any:
        request = urllib.request.Request(f"http://{self.address}{path}", headers={"Authorization": f"Token {self.key}"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
            return json.load(answer)

    def post(self, path: str) -> Any:
        request = urllib.request.Request(
            f"http://{self.address}{path}", data=b"", headers={"Authorization": f"Token {self.key}"}, method="POST"
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
            return json.load(answer)

    def image(self, ch: str) -> Any:
        return self.get(f"/stream/v1/channels/{ch}")

    def create_key(self, *addons: str) -> str:
        options = [word for addon in addons for word in ("--addon", addon)]
        return self._run("key", "create", *options).strip()

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            [self.binary, *command, "--db", str(self.database)], env=environment(), capture_output=True, text=True, check=True
        )
        return done.stdout


def environment(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("MATCHWIRE_")} | more


def free_address() -> str:
    """An address at which nothing listens. Its port is below those that Linux gives to sockets that ask for any: of those,
    another program could get one while the hub is down."""
    while True:
        try:
            with socket.create_server(("127.0.0.1", random.randrange(10_000, 32_000))) as free:
                return f"127.0.0.1:{free.getsockname()[1]}"
        except OSError:
            continue


@contextmanager
def running_hub(binary: str, *, folder: Path | None = None, listen: str = "127.0.0.1:0", **settings: str) -> Iterator[Hub]:
    """A demo hub, in a folder of its own or in this one."""
    with tempfile.TemporaryDirectory(prefix="matchwire-python-") as own:
        folder = folder or Path(own)
        database = folder / "hub.db"
        with (folder / "hub.log").open("a") as log:
            process = subprocess.Popen(
                [binary, "serve", "--listen", listen, "--db", str(database)],
                env=environment(**settings), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        late = threading.Timer(START_S, process.kill)
        late.start()
        hub = Hub("", "", binary, database, process)
        try:
            hub.address = _said(process, r"^listening on http://(\S+)")
            hub.key = _said(process, r"^\s*demo key\s+(mw_\w+)")
            late.cancel()
            yield hub
        finally:
            late.cancel()
            hub.stop()


def _said(process: subprocess.Popen[str], pattern: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(pattern, line):
            return found[1]
    raise AssertionError("the hub ended before it said where it listens")
