"""What the checks of the packages share."""

import http.client
import os
import subprocess
import threading
import tomllib
from contextlib import contextmanager
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
DEPLOY = TOP / "deploy"
VERSION = tomllib.loads((TOP / "Cargo.toml").read_text())["workspace"]["package"]["version"]
# Far more than any step takes.
STEP_S_MAX = 600
# The hub reads every variable of this kind.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("MATCHWIRE_")}


class Failed(Exception):
    """What is wrong."""


class Missing(Exception):
    """What this machine lacks for a check."""


def expect(is_so, problem):
    if not is_so:
        raise Failed(problem)


def default(table, name):
    """The default of a setting, as matchwire.toml.example has it, which a test of the program compares with its own."""
    return tomllib.loads((TOP / "matchwire.toml.example").read_text())[table][name]


def stop_s():
    """Seconds within which a hub has stopped: `server.drain_ms`, and five more for what it still writes."""
    return default("server", "drain_ms") / 1000 + 5


def files_max():
    """File descriptors that the default limits of the hub can take, with room for its own files."""
    return default("fanout", "sockets_max") + default("server", "connections_max") + 1_000


def run(*command, code=0, env=None, **options):
    """What a command prints, which must end with this exit code."""
    done = subprocess.run(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
        errors="replace", timeout=STEP_S_MAX, env=ENVIRONMENT | (env or {}), **options,
    )
    if done.returncode != code:
        raise Failed(f"exit code {done.returncode}: {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


@contextmanager
def hub(program, *arguments, folder, env=None):
    """A running hub: the address that it prints."""
    with (folder / "hub.log").open("wb") as errors:
        process = subprocess.Popen(
            [program, "serve", *map(str, arguments)], cwd=folder, env=ENVIRONMENT | (env or {}), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=errors, text=True,
        )
    # Ends the reading below if the hub prints nothing.
    late = threading.Timer(STEP_S_MAX, process.kill)
    late.start()
    try:
        first = process.stdout.readline().strip()
        if not first.startswith("listening on http://"):
            raise Failed(f"the hub did not start: {(folder / 'hub.log').read_text()}")
        # The rest of what it prints must not block it.
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield first.removeprefix("listening on http://")
    finally:
        late.cancel()
        process.terminate()
        try:
            process.wait(STEP_S_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def get(address, path, host=None):
    """The status of an answer, and its body."""
    connection = http.client.HTTPConnection(address, timeout=STEP_S_MAX)
    try:
        connection.request("GET", path, headers={"Host": host} if host else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    finally:
        connection.close()
