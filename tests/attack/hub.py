"""A hub of the harness: its process, the accounts, and the matches that its feeds push."""

import atexit
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

START_S_MAX, STOP_S_MAX = 300, 60
PAID = [option for addon in ("websocket", "sports", "odds") for option in ("--addon", addon)]
SCOPES = [option for scope in ("football", "sports", "odds", "stream") for option in ("--scope", scope)]
FREE, NAMED_KEYS, VICTIMS = 4, 20, 4
# Matches on the board, and how many of them have prices.
BOARD_MATCHES, PRICED_MATCHES = 2000, 800
BOOKS = tuple(f"book{n}" for n in range(6))
# The match that the harness itself changes.
OWN = "watched"
SETTINGS = {
    # A proxy may name any address; all other loopback addresses are strangers.
    "MATCHWIRE_SERVER_FORWARDED_HEADER": "x-forwarded-for",
    "MATCHWIRE_SERVER_TRUSTED_PROXIES": "127.3.0.0/16",
    "MATCHWIRE_WEBHOOKS_ALLOW_PRIVATE": "true",
    "MATCHWIRE_OAUTH_ALLOW_PRIVATE_CLIENTS": "true",
}


class Hub:
    """A running hub. `free`, `paying` and `other` are keys of accounts that attack, `frees` of several free ones, `named` further keys
    of the account of `paying`; `victims` are those of everyone else."""

    def __init__(self, folder, settings):
        self.program, self.folder, self.settings = os.environ["HUB_BIN"], Path(folder), SETTINGS | settings
        self.db = str(self.folder / "hub.db")

    def start(self, descriptors, stalled):
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))) if descriptors else None
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MATCHWIRE_")} | self.settings
        errors = subprocess.PIPE if stalled else (self.folder / "log").open("wb")
        self.process = subprocess.Popen(
            [self.program, "serve", "--listen", "127.0.0.1:0", "--db", self.db],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True, preexec_fn=limit, cwd=self.folder,
        )
        late = threading.Timer(START_S_MAX, self.process.kill)
        late.daemon = True
        late.start()
        self.port = int(self.printed(r"^listening on http://\S+:(\d+)"))
        self.demo_key = self.printed(r"^\s*demo key\s+(mw_\w+)")
        late.cancel()
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def printed(self, pattern):
        for line in self.process.stdout:
            if found := re.search(pattern, line):
                return found[1]
        raise SystemExit(f"the hub ended before it printed {pattern}:\n" + (self.folder / "log").read_text()[-2000:])

    def prepare(self):
        self.generation = 0
        self.victims = [self.key("--email", f"victim{n}@example.org", *PAID) for n in range(VICTIMS)]
        self.renew(named=False)
        self.feed, self.bad_feed, self.own_feed = (self.command("feeds", "key", "create", name) for name in ("board", "bad", OWN))
        self.push_board()
        self.push(OWN, self.own_feed, fixture(OWN, 0) + market(OWN, BOOKS[0]))
        self.push(OWN, self.own_feed, [fact(OWN, football={"status": "first_half"}), fact(OWN, football={"score": {"goals": [0, 0]}})])
        board = self.get("/stream/v1/channels/football")["data"]["matches"]
        self.match = next(id for id, match in board.items() if match["home"]["name"] == f"Home {OWN}")
        self.matches = [id for id in board if id != self.match]
        replays = self.get("/stream/v1/replays/?sport=football")["replays"]
        self.replayed = [replay["match"] for replay in replays]
        # Where each channel of these matches began.
        self.beginnings = [{"ch": each["ch"], "from": {"epoch": each["epoch"], "seq": 1}} for replay in replays for each in replay["channels"]]
        self.epochs = [made["epoch"] for made in self.get("/test/")["rounds"]]

    def renew(self, named):
        """Makes new accounts for an attack: what one has used up must not hold the next one back."""
        self.generation += 1
        paying = f"paying{self.generation}@example.org"
        with ThreadPoolExecutor(4) as pool:
            made = [pool.submit(self.key) for _ in range(FREE)]
            made += [pool.submit(self.key, "--email", email, *PAID) for email in (paying, f"other{self.generation}@example.org")]
            *self.frees, self.paying, self.other = (each.result() for each in made)
            self.free = self.frees[0]
            keys = lambda n: self.key("--email", paying, "--name", f"key {n}", *SCOPES)
            self.named = list(pool.map(keys, range(NAMED_KEYS if named else 0)))
        # They are known within accounts.watch_ms.
        time.sleep(0.15)

    def push_board(self):
        for first in range(0, BOARD_MATCHES, 100):
            names = [f"m{n}" for n in range(first, first + 100)]
            books = BOOKS if first < PRICED_MATCHES else ()
            lines = [line for name in names for line in fixture(name, first) + [line for book in books for line in market(name, book)]]
            self.push("board", self.feed, lines)

    def push(self, source, key, lines):
        answer = self.ask(f"/ingest/v1/{source}", key, "\n".join(map(json.dumps, lines)).encode())
        if answer["refused"]:
            raise SystemExit(f"the hub refused lines of the board: {answer['refusals'][:3]}")

    def get(self, path):
        return self.ask(path, self.victims[0])

    def ask(self, path, key, body=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, {"Authorization": f"Token {key}"})
        for attempt in range(5):
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                # A new key is known within accounts.watch_ms.
                if attempt == 4 or error.code not in (401, 402, 503):
                    raise SystemExit(f"{path}: {error.code} {error.read()[:300]!r}") from error
                time.sleep(0.3)

    def key(self, *options):
        return self.command("key", "create", *options)

    def command(self, *arguments):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MATCHWIRE_")}
        said = subprocess.run([self.program, *arguments, "--db", self.db], env=environment, stdout=subprocess.PIPE, text=True, check=True)
        return said.stdout.strip().splitlines()[-1]

    def memory_mib(self):
        """The memory in use, or none when the process has ended."""
        try:
            found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        except OSError:
            found = None
        return int(found[1]) / 1024 if found else None

    def cpu_s(self):
        """The processor time that the process has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.kill()
        self.process.wait()


@contextmanager
def running_hub(descriptors=None, stalled=False, past=False, **settings):
    with tempfile.TemporaryDirectory(prefix="matchwire-attack-", ignore_cleanup_errors=True) as folder:
        hub = Hub(folder, settings)
        if past:
            shutil.copy(database_with_past(), hub.db)
        hub.start(descriptors, stalled)
        try:
            hub.prepare()
            yield hub
        finally:
            hub.stop()


@cache
def database_with_past():
    """The database of a demo that has written its past, which hubs copy: that of TEST_DEMO_DB, or one that a hub writes now."""
    if made := os.environ.get("TEST_DEMO_DB"):
        return made
    folder = tempfile.TemporaryDirectory(prefix="matchwire-attack-past-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    hub = Hub(folder.name, {})
    hub.start(descriptors=None, stalled=False)
    deadline = time.monotonic() + START_S_MAX
    while "past and programme are in the archive" not in (hub.folder / "log").read_text():
        if hub.process.poll() is not None or time.monotonic() > deadline:
            hub.process.kill()
            raise SystemExit("the demo wrote no past")
        time.sleep(0.2)
    hub.process.terminate()
    hub.process.wait(STOP_S_MAX)
    return hub.db


def fact(name, **facts):
    return {"at": time.time_ns() // 1000, "sport": "football", "match": name, "fact": facts}


def fixture(name, hour):
    start = (time.time_ns() // 1000) + (hour % 20) * 3_600_000_000
    sides = [{"name": f"{side} {name}", "key": f"{side}{name}"} for side in ("Home", "Away")]
    return [fact(name, fixture={"competition": {"name": "Attacked League", "key": "al", "season": "2026/27"}, "start": start, "sides": sides})]


def market(name, book):
    outcomes = {"1": "home", "x": "draw", "2": "away"}
    selections = [{"id": id, "status": "active", "outcome": outcome} for id, outcome in outcomes.items()]
    define = {"kind": "match_winner", "status": "open", "in_play": True, "selections": selections}
    return [fact(name, odds={"book": book, "market": "m1", "change": {"define": define}}), prices(name, book, "2.10")]


def prices(name, book, home):
    selections = [{"id": "1", "price": home}, {"id": "x", "price": "3.40"}, {"id": "2", "price": "3.55"}]
    return fact(name, odds={"book": book, "market": "m1", "change": {"prices": {"selections": selections}}})
