"""Runs a PostgreSQL server of our own on loopback. Everything of it lies in one folder."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

# Far more than it takes to start and to stop.
ANSWER_S_MAX = 180


class NotStarted(Exception):
    """The server did not start. The text is its output."""


def programs():
    """Where the newest version's programs are, as Debian lays them out, or those on the path; `None` without any."""
    found = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max((path.parent for path in found), key=lambda path: float(path.parent.name), default=None)
    on_path = shutil.which("initdb")
    return newest or (Path(on_path).resolve().parent if on_path else None)


def initialise(run, programs, folder, password):
    """Creates the server's data in the folder, with a password for its user `postgres`. `run` runs a command in a
    folder, and raises if it fails."""
    user, secret = unprivileged(), folder / "password"
    secret.touch(0o600)
    secret.write_text(password)
    if user:
        shutil.chown(folder, "postgres", "postgres")
        shutil.chown(secret, "postgres", "postgres")
    run(
        *user, programs / "initdb", "--no-sync", "--username=postgres", "--auth=scram-sha-256",
        f"--pwfile={secret}", "--encoding=UTF8", "--locale=C", "-D", folder / "data", cwd=folder,
    )
    secret.unlink()


def start(programs, folder, port):
    """Starts the server, which runs at once. `wait_until_ready` says when it takes connections."""
    # Its content need not survive a power failure. Who ends a process by force ends the hub.
    with log(folder).open("wb") as errors:
        return subprocess.Popen(
            [*unprivileged(), programs / "postgres", "-D", folder / "data", "-p", str(port),
             "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
             "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "autovacuum=off", "-c", "max_connections=300"],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, start_new_session=True,
        )


def log(folder):
    return folder / "log"


def wait_until_ready(server, folder):
    answers = time.monotonic() + ANSWER_S_MAX
    while "ready to accept connections" not in (said := log(folder).read_text(errors="replace")):
        if server.poll() is not None or time.monotonic() > answers:
            raise NotStarted(said)
        time.sleep(0.05)


def stop(server, reap=subprocess.Popen.wait):
    """SIGINT ends its sessions and stops it in order; setpriv has become the server itself, so it is the
    server's pid. What does not obey is ended by force, with its children, which are of one session."""
    server.send_signal(signal.SIGINT)
    try:
        reap(server, ANSWER_S_MAX)
    except subprocess.TimeoutExpired:
        os.killpg(server.pid, signal.SIGKILL)
        reap(server, ANSWER_S_MAX)


def unprivileged():
    """What to put before a command that refuses to run as root: the user that the package makes."""
    if os.geteuid() != 0:
        return []
    # Should this script be killed, the server goes as well.
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=INT", "--"]
