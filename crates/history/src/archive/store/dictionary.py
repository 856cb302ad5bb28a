#!/usr/bin/env python3
"""Makes a dictionary for the archive's documents from the database of a demo: dictionary.py DATABASE NUMBER FILE. It needs zstd.

Names, keys and bookmakers are replaced, so that it has the structure of documents and not the demo's world. A dictionary that
has compressed anything must stay: another one gets another file and number, and `pack.rs` reads both.
"""
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

BYTES = 16_384
# What has compressed the documents of the database.
DICTIONARY = Path(__file__).with_name("documents.dict")
SAMPLE_BYTES_MAX = 40_000
# Samples of each kind of document, shared among the sports and the states of their matches.
SAMPLES = {"summary": 500, "outline": 900, "detail": 300, "signal": 600, "prices": 300, "ticks": 300}
BOOKMAKERS = {
    "amberline": "bet365", "cobaltbet": "pinnacle", "fernwager": "williamhill",
    "larkodds": "unibet", "quillbook": "betfair", "stonetick": "bwin",
}
NAMES = re.compile(r'("(?:name|city|round_name|jockey|trainer)":)"([^"]*)"')
LETTERS = "abcdefghijklmnoprstuvw"


def word(length):
    return "".join(random.choice(LETTERS) for _ in range(length))


def name(found):
    return found[1] + '"' + re.sub("[A-Za-z]{2,}", lambda it: word(len(it[0])).capitalize(), found[2]) + '"'


def scrambled(text):
    text = NAMES.sub(name, text)
    text = re.sub('"simulator":"[^"]*"', lambda _: f'"{random.choice(["sportradar", "betfair", "opta"])}":"{random.randrange(10**7, 10**8)}"', text)
    for made_up, real in BOOKMAKERS.items():
        text = text.replace(made_up, real)
    return text


def expanded(packed):
    return subprocess.run(["zstd", "-dcq", "-D", DICTIONARY], input=packed, capture_output=True, check=True).stdout.decode()


def documents(database):
    """Kind, group, and the compressed document."""
    rows = database.execute("SELECT sport, status, packed_summary, packed_outline, packed_detail FROM archive_matches")
    for sport, status, summary, outline, detail in rows:
        yield "summary", (sport, status), summary
        yield "outline", (sport, status), outline
        yield "detail", (sport, status), detail
    for kind, packed in database.execute("SELECT kind, packed FROM archive_signals"):
        yield "signal", kind, packed
    for table, column in (("archive_prices", "prices"), ("archive_trails", "ticks")):
        for (packed,) in database.execute(f"SELECT {column} FROM {table}"):
            yield column, None, packed


def main(database, number, file):
    random.seed(7)
    groups = {}
    for kind, group, packed in documents(sqlite3.connect(database)):
        groups.setdefault(kind, {}).setdefault(group, []).append(packed)
    with tempfile.TemporaryDirectory() as folder:
        for kind, by_group in groups.items():
            share = max(1, SAMPLES[kind] // len(by_group))
            for group, documents_of_group in by_group.items():
                for index, packed in enumerate(random.sample(documents_of_group, min(share, len(documents_of_group)))):
                    Path(folder, f"{kind} {group} {index}").write_text(scrambled(expanded(packed))[:SAMPLE_BYTES_MAX])
        subprocess.run(["zstd", "--train", "-r", folder, "-o", file, f"--maxdict={BYTES}", f"--dictID={number}"], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
