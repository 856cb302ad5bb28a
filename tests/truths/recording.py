"""Functions that the scripts of this folder share: they read recordings and print truths."""

import bz2
import gzip
import json
import sys
from pathlib import Path


def folder():
    """The folder that the command line names."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: python3 {sys.argv[0]} FOLDER")
    return Path(sys.argv[1])


def files(where, *endings):
    """The files of a folder whose names have one of the endings, compressed or not, by name."""
    found = []
    for path in sorted(where.iterdir()):
        name = path.name.removesuffix(".gz").removesuffix(".bz2")
        if path.is_file() and name.endswith(endings):
            found.append(path)
    return found


def read_bytes(path):
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".bz2":
        return bz2.decompress(data)
    return data


def read_text(path):
    """The text of a file in UTF-8, without a byte order mark."""
    return read_bytes(path).decode("utf-8-sig")


def read_json(path):
    return json.loads(read_text(path))


def football_minute(period, seconds):
    """The minute in progress and the added minute, for seconds since the start of a period.

    The minute of 17:58 is 18. It stops at the end of the period: 46:10 of the first half is 45 and
    2 added. Periods are 1 to 4, and 5 for the shoot-out, which has no clock.
    """
    start = {1: 0, 2: 45, 3: 90, 4: 105, 5: 120}[period]
    length = {1: 45, 2: 45, 3: 15, 4: 15, 5: 0}[period]
    if period == 5:
        return {"minute": 120, "added": None}
    elapsed = int(seconds // 60) + 1
    if elapsed > length:
        return {"minute": start + length, "added": elapsed - length}
    return {"minute": start + elapsed, "added": None}


def print_truth(path, key, truth, contradictions=()):
    """Prints one line. `contradictions` are statements of the file that others of it exclude."""
    if contradictions:
        truth = {**truth, "contradictions": list(contradictions)}
    line = {"file": path.name, "key": str(key), "truth": truth}
    print(json.dumps(line, ensure_ascii=False))
