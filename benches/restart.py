#!/usr/bin/env python3
"""How long a hub takes until it is ready after `kill -9`, with many live matches and prices.

Pushes matches with the markets of six bookmakers, waits until a snapshot has them, then pushes changes of prices for some seconds, kills the hub, starts it again,
and waits until `/readyz` returns 200. Prints milliseconds from the start of the process, and checks that a match has the
same document at the same sequence and epoch as before. Standard library only, Linux only.

    benches/restart.py --program target/release/matchwire
    benches/restart.py --program target/release/matchwire --matches 1000 --updates 5000 --seconds 60
"""

import argparse, http.client, json, os, re, signal, statistics, subprocess, tempfile, time
from pathlib import Path

BOOKS = ("acme", "borealis", "cobalt", "delta", "ember", "fathom")
OUTCOMES = ("home", "draw", "away")
START_US = 1_788_280_000_000_000
# Bytes of a push.
PUSH_BYTES = 2_000_000


def line(match, second, fact):
    at = START_US + second * 1_000_000
    return json.dumps({"at": at, "sport": "football", "match": f"m{match}", "fact": fact}, separators=(",", ":"))


def introduction(match, markets, books=BOOKS):
    sides = [{"name": f"Home Town {match}"}, {"name": f"Away Town {match}"}]
    yield line(match, 0, {"fixture": {"sides": sides}})
    yield line(match, 0, {"football": {"status": "first_half"}})
    for book in books:
        for market in range(markets):
            selections = [{"id": it, "status": "active", "outcome": it} for it in OUTCOMES]
            define = {"kind": "match_winner" if market == 0 else "asian_handicap", "status": "open", "in_play": True,
                      "selections": selections} | ({"line": str(market / 2)} if market else {})
            yield line(match, 0, {"odds": {"book": book, "market": f"k{market}", "change": {"define": define}}})
            yield prices(match, book, market, 0)


def prices(match, book, market, number):
    """The prices of a bookmaker near those of the others: each change moves one of them by a hundredth, and the margins differ."""
    margin = 1.04 + 0.005 * BOOKS.index(book)
    moved = number // 7 % 5
    chances = (0.30 + (match * 7 + market) % 30 / 100, 0.20)
    chances = (*chances, 1 - sum(chances))
    selections = [{"id": it, "price": f"{1 / (chance * margin) + (0.01 * moved if place == number % 3 else 0):.2f}"}
                  for place, (it, chance) in enumerate(zip(OUTCOMES, chances))]
    change = {"prices": {"selections": selections}}
    return line(match, number, {"odds": {"book": book, "market": f"k{market}", "change": change}})


class Hub:
    def __init__(self, program, folder, settings, database=None):
        self.database = database or f"{folder}/hub.db"
        self.program, self.folder, self.log = os.path.abspath(program), folder, open(f"{folder}/log", "a")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MATCHWIRE_")}
        self.environment = environment | {"MATCHWIRE_DEMO_ENABLED": "false", "MATCHWIRE_LIMITS_ADDRESS_PER_SECOND": "0"} | settings
        self.process = self.address = None

    def command(self, *arguments):
        return subprocess.run([self.program, *arguments, "--db", self.database], capture_output=True, text=True, check=True).stdout.strip()

    def start(self):
        """Seconds until it is ready."""
        began = time.monotonic()
        self.process = subprocess.Popen(
            [self.program, "serve", "--listen", "127.0.0.1:0", "--db", self.database],
            cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=self.log, text=True,
        )
        self.address = re.search(r"http://([\d.]+:\d+)", self.process.stdout.readline()).group(1)
        while True:
            try:
                if self.get("/readyz", None)[0] == 200:
                    return time.monotonic() - began
            except OSError:
                pass
            time.sleep(0.002)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def get(self, path, key):
        connection = http.client.HTTPConnection(self.address, timeout=60)
        connection.request("GET", path, headers={"Authorization": f"Token {key}"} if key else {})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, body


class Feed:
    """Pushes lines, a request for each two megabytes."""

    def __init__(self, hub, key, source="acme"):
        self.path = f"/ingest/v1/{source}"
        self.connection = http.client.HTTPConnection(hub.address, timeout=120)
        self.key, self.lines, self.bytes, self.accepted = key, [], 0, 0

    def put(self, text):
        self.lines.append(text)
        self.bytes += len(text) + 1
        if self.bytes > PUSH_BYTES:
            self.flush()

    def flush(self):
        if not self.lines:
            return
        body = "\n".join(self.lines).encode()
        self.connection.request("POST", self.path, body, {"Authorization": f"Token {self.key}"})
        answer = json.loads(self.connection.getresponse().read())
        if answer.get("refused") != 0:
            raise SystemExit(f"a push was refused: {str(answer)[:500]}")
        self.accepted += answer["accepted"]
        self.lines, self.bytes = [], 0


def wait_for_snapshot(hub):
    """Waits until the state after the first prices is a snapshot, for which they must be in the archive."""
    def numbers(word):
        return [int(it) for it in re.findall(rf"^{word}\D*(\d+)", hub.command("log", "status"), re.M)]
    last, deadline = numbers("last record")[0], time.monotonic() + 600
    while max(numbers("snapshot"), default=0) < last:
        if time.monotonic() > deadline:
            raise SystemExit("no snapshot was written")
        time.sleep(1)


def run(options, settings):
    with tempfile.TemporaryDirectory() as folder:
        hub = Hub(options.program, folder, settings)
        empty = hub.start()
        feed_key = hub.command("feeds", "key", "create", "acme")
        key = hub.command("key", "create", "--addon", "websocket", "--addon", "odds")
        feed = Feed(hub, feed_key)
        for match in range(options.matches):
            for text in introduction(match, options.markets):
                feed.put(text)
        feed.flush()
        wait_for_snapshot(hub)
        # The hub has closed the idle connection.
        feed = Feed(hub, feed_key)
        number, end = 0, time.monotonic() + options.seconds
        began = time.monotonic()
        while time.monotonic() < end:
            for _ in range(max(1, options.updates // 20)):
                number += 1
                match, market = number % options.matches, number // options.matches % options.markets
                feed.put(prices(match, BOOKS[number % len(BOOKS)], market, number))
            feed.flush()
            time.sleep(max(0, began + number / options.updates - time.monotonic()))
        board = json.loads(hub.get("/stream/v1/channels/football", key)[1])
        channel = f"/stream/v1/channels/football/{next(iter(board['data']['matches']))}/odds/acme"
        before = hub.get(channel, key)
        logged = sum(path.stat().st_size for path in Path(folder).rglob("segment-*"))
        resident = int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{hub.process.pid}/status").read_text()).group(1)) // 1024
        hub.kill()
        ready = hub.start()
        after = hub.get(channel, key)
        if before != after or before[0] != 200:
            raise SystemExit(f"{channel} was {before[1][:300]}, and is {after[1][:300]}")
        hub.process.terminate()
        hub.process.wait()
        stopped = hub.start()
        if options.verbose:
            print(Path(f"{folder}/log").read_text())
        hub.kill()
        return empty * 1000, ready * 1000, stopped * 1000, logged, number, resident


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--matches", type=int, default=1_000)
    parser.add_argument("--markets", type=int, default=28, help="of each of six bookmakers, with three prices each")
    parser.add_argument("--updates", type=int, default=2_000, help="changes of prices a second before the kill")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--verbose", action="store_true", help="also print the hub's log messages")
    parser.add_argument("--setting", action="append", default=[])
    options = parser.parse_args()
    settings = {f"MATCHWIRE_{name}": value for name, value in (it.split("=", 1) for it in options.setting)}
    runs = []
    for _ in range(options.rounds):
        runs.append(run(options, settings))
        empty, ready, stopped, logged, number, resident = runs[-1]
        print(f"ready after {empty:.0f} ms (empty), {ready:.0f} ms (killed after {number} updates), {stopped:.0f} ms (stopped); "
              f"log {logged / 1e6:.0f} MB, {resident} MB resident", flush=True)
    prices_open = options.matches * len(BOOKS) * options.markets * 3
    print(f"{options.matches} matches, {prices_open} prices: ready {statistics.median(it[1] for it in runs):.0f} ms after a kill (median of {len(runs)})")


if __name__ == "__main__":
    main()
