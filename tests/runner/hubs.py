"""Running hubs: demos with the past that one hub writes for all."""

import json
import re
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from runner.build import hub_binary
from runner.environment import ENVIRONMENT, LOGS
from runner.log import Failed, Log

# How long the hub may take to say where it listens, and a client to be answered.
ANSWER_S_MAX = 600
# How long a hub may take to log what a suite waits for: on a busy machine the demo writes its past for minutes.
LOGGED_S_MAX = 900
# How old the demo's past may be when a run begins: a demo goes on where its past ends.
PAST_S_MAX = 3600
# How long suites wait for a hub's predictions, without which they test less.
PREDICTS_S_MAX = 60


@contextmanager
def hub_on(log, db, **settings):
    """A demo hub on a free port, with this database: its address, and a key for everything."""
    with log.path.open("ab") as errors:
        hub = subprocess.Popen(
            [hub_binary(log), "serve", "--listen", "127.0.0.1:0", "--db", db],
            env=ENVIRONMENT | settings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True,
        )
    # Kills a hub that prints nothing, which ends the reading below.
    late = threading.Timer(ANSWER_S_MAX, hub.kill)
    late.start()
    try:
        address = said_by(hub, r"^listening on http://(\S+)")
        key = said_by(hub, r"^\s*demo key\s+(mw_\w+)")
        late.cancel()
        yield address, key
        if hub.poll() is not None:
            raise Failed(f"the hub ended by itself, with {hub.returncode}")
    finally:
        late.cancel()
        hub.terminate()
        # What it still prints must not block it.
        threading.Thread(target=hub.stdout.read, daemon=True).start()
        try:
            log.reap(hub, ANSWER_S_MAX)
        except subprocess.TimeoutExpired:
            hub.kill()
            log.reap(hub, ANSWER_S_MAX)


class DemoDatabase:
    """The database of a demo that has written its past: two weeks of matches. One hub writes it, and every hub that needs a past starts with a copy. It stays for a while."""

    def __init__(self, folder=LOGS / "demo"):
        self.lock, self.folder, self.error, self.is_ready = threading.Lock(), folder, None, False

    def path(self, log):
        """The file. The first suite that asks starts the hub that writes it, and the others wait."""
        program = hub_binary(log)
        with log.waiting(), self.lock:
            if not self.is_ready and not self.error and not self.is_current(program):
                try:
                    self.write(Log("demo"), program)
                except Failed as error:
                    self.error = error
            self.is_ready = not self.error
        if self.error:
            raise Failed(f"{self.error}; see test-results/demo.log")
        return self.file()

    def write(self, log, program):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        with hub_on(log, self.file()):
            wait_until_logged(log, "the demo's past and programme are in the archive")
        self.stamp().write_text(identity(program))

    def is_current(self, program):
        """Whether this program wrote it, not long ago."""
        stamp = self.stamp()
        return stamp.exists() and stamp.read_text() == identity(program) and time.time() - stamp.stat().st_mtime < PAST_S_MAX

    def file(self):
        return self.folder / "hub.db"

    def stamp(self):
        return self.folder / "written-by"


def identity(program):
    status = Path(program).stat()
    return f"{program} {status.st_size} {status.st_mtime_ns}"


DEMO = DemoDatabase()


def wait_for_predictions(address, key):
    """Waits until the hub predicts, which it does seconds after it has started on results of the past. Early in
    a season there are too few of them."""
    request = urllib.request.Request(f"http://{address}/api/v2/predictions/?limit=1", headers={"Authorization": f"Token {key}"})
    deadline = time.monotonic() + PREDICTS_S_MAX
    while time.monotonic() < deadline:
        with urllib.request.urlopen(request, timeout=ANSWER_S_MAX) as answer:
            if json.load(answer)["count"] > 0:
                return
        time.sleep(0.5)


@contextmanager
def hub_with_past(log, **settings):
    """A demo hub with its past: its address, a key for everything, and what creates a key with some add-ons."""
    with tempfile.TemporaryDirectory(prefix="matchwire-test-") as folder:
        db = shutil.copy(DEMO.path(log), folder)

        def create_key(*addons):
            options = [option for addon in addons for option in ("--addon", addon)]
            command = [hub_binary(log), "key", "create", "--db", db, *options]
            return subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()

        with hub_on(log, db, **settings) as (address, key):
            yield address, key, create_key


@contextmanager
def running_hub(log, **settings):
    """A demo hub with its past: its address, a key for everything, and a key without add-ons."""
    with hub_with_past(log, **settings) as (address, key, create_key):
        other = create_key()
        wait_for_predictions(address, key)
        yield address, key, other


def wait_until_logged(log, text):
    """Waits until a hub whose log goes to `log` has logged this text."""
    deadline = time.monotonic() + LOGGED_S_MAX
    while text not in log.text():
        if Log.stopped:
            raise Failed("interrupted")
        if time.monotonic() > deadline:
            raise Failed(f"the hub did not log: {text}")
        time.sleep(0.2)


class SharedHub:
    """One demo hub for the suites that only follow what it publishes. They run in one lane, one after another;
    the last of them stops it. Suites that set limits or use them up have hubs of their own."""

    def __init__(self):
        self.users, self.running = 0, None

    @contextmanager
    def used(self, log):
        """As `running_hub`."""
        if not self.running:
            # Here, so that the suite and not the hub is seen to wait for the compile and for the database.
            DEMO.path(log)
            self.running = running_hub(Log("hub"))
            self.answer = self.running.__enter__()
        log.write("the hub's log is test-results/hub.log")
        try:
            yield self.answer
        finally:
            self.users -= 1
            if self.users <= 0:
                self.stop()

    def stop(self):
        running, self.running = self.running, None
        if running:
            running.__exit__(None, None, None)


SHARED_HUB = SharedHub()


def said_by(hub, pattern):
    for line in hub.stdout:
        if found := re.search(pattern, line):
            return found[1]
    raise Failed("the hub ended before it said where it listens")


# ------------------------------------------------------------------------------------ the suites
