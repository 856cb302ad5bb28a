#!/usr/bin/env python3
"""What a new price costs until the archive has it: bytes written to the disk and processor time of the hub.

Pushes matches with 45 prices each to a new hub, as fast as it accepts them, and waits until the archive has every price. With PostgreSQL
(`--db`, an empty database; needs psql) the bytes are those of the hub alone, without the server's. With `--random` each match comes in
three parts, one for each bookmaker, and the parts of all matches in random order. The pages that SQLite still has in its write-ahead log
at the end count as written, and films (`--setting LOG_FILMS_KEEP_MS=0` for none) as far as the hub has written them by then, which begins
after 10 s. Standard library only, Linux only.

    benches/archive_writes.py --program target/release/matchwire
    benches/archive_writes.py --program target/release/matchwire --matches 5000 --db postgres://me@localhost/empty
"""

import argparse, os, random, re, sqlite3, subprocess, tempfile, time
from contextlib import closing
from pathlib import Path

from restart import BOOKS, OUTCOMES, Feed, Hub, introduction

MARKETS = 5
PRICES = 3 * MARKETS * len(OUTCOMES)
WAIT_MAX = 600


def used(pid):
    """Bytes written to the disk, and seconds of processor time."""
    written = re.search(r"^write_bytes: (\d+)", Path(f"/proc/{pid}/io").read_text(), re.M)
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(written.group(1)), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def archived(database):
    """How many prices of bookmakers the archive has."""
    query = "SELECT coalesce(sum(total - consensus), 0) FROM archive_prices"
    if "://" in database:
        return int(subprocess.run(["psql", database, "-Atc", query], capture_output=True, text=True, check=True).stdout)
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as connection:
        return connection.execute(query).fetchone()[0]


def run(options, matches):
    with tempfile.TemporaryDirectory() as folder:
        hub = Hub(options.program, folder, dict(options.setting), options.db)
        hub.start()
        feed = Feed(hub, hub.command("feeds", "key", "create", "acme"))
        before = used(hub.process.pid)
        for match, books in parts(matches, options.random):
            for text in introduction(match, MARKETS, books):
                feed.put(text)
        feed.flush()
        pushed = time.monotonic()
        while archived(hub.database) < matches * PRICES:
            if time.monotonic() - pushed > WAIT_MAX:
                raise SystemExit(f"not all of {matches * PRICES} prices after {WAIT_MAX} s")
            time.sleep(1)
        after, waited = used(hub.process.pid), time.monotonic() - pushed
        log = sum(path.stat().st_size for path in Path(folder).rglob("segment-*"))
        hub.kill()
        written = after[0] - before[0] + left(hub.database)
        prices = matches * PRICES
        print(f"{matches:6} matches, {prices:7} prices: {written / prices / 1000:6.2f} KB and "
              f"{(after[1] - before[1]) / prices * 1000:6.3f} ms of processor time each; all archived {waited:5.1f} s after the last push "
              f"({log / prices:.0f} bytes of log each are included)", flush=True)


def parts(matches, is_random):
    """Matches and the bookmakers whose prices come with them."""
    if not is_random:
        return [(match, BOOKS[:3]) for match in range(matches)]
    all_parts = [(match, (book,)) for book in BOOKS[:3] for match in range(matches)]
    random.Random(matches).shuffle(all_parts)
    return all_parts


def left(database):
    """Writes what SQLite still has in its write-ahead log, and returns the bytes."""
    if "://" in database:
        return 0
    before = used(os.getpid())[0]
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return used(os.getpid())[0] - before


def setting(text):
    name, value = text.split("=", 1)
    return f"MATCHWIRE_{name}", value


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--matches", type=int, nargs="+", default=[200, 2_000, 5_000])
    parser.add_argument("--random", action="store_true", help="each match in three parts, all in random order")
    parser.add_argument("--db", help="the URL of a PostgreSQL database instead of a new SQLite file")
    parser.add_argument("--setting", type=setting, action="append", default=[], help="NAME=VALUE, without MATCHWIRE_")
    options = parser.parse_args()
    for matches in options.matches:
        run(options, matches)


if __name__ == "__main__":
    main()
