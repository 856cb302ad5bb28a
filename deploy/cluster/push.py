#!/usr/bin/env python3
"""Pushes a recording to a hub or a cluster as if it happened now, so that there is something to follow.

    matchwire simulate --seed 1 --events --matches 12 --bookmakers 2 > day.ndjson
    push.py --url http://127.0.0.1:8080 --key-file feed.key day.ndjson

The recording has the form that docs/INGEST.md describes, and the matches of it are those of the source `simulator`. Its
times are moved: the first hour and ten minutes are over when the script starts, and are pushed at once. What gets no
answer is pushed again, to the next URL. The script ends with the recording.
"""

import argparse
import json
import re
import sys
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path

SOURCE = "simulator"
# What becomes due within this time is pushed together.
PAUSE_S = 0.2
# Far below ingest.body_bytes_max, so that a part of the past is soon answered.
BODY_BYTES_MAX = 1 << 20
# A node passes a push on for up to 5 s until another node leads, and waits as long for its turn.
ANSWER_S_MAX = 20

LINE = re.compile(r'\{"at":(\d+),')
START = re.compile(r'"start":(\d+)')
# The first part of a match's key is the seed of the day.
MATCH = re.compile(r'"match":"\d+/')


def moved(lines, now_us, head_start_us):
    """The lines, as if the recording had begun a head start ago: pairs of when a line is due, and the line. Matches and
    lines get ids that no earlier run has used."""
    run, offset_us = now_us // 1_000_000, None
    for number, line in enumerate(lines):
        at_us = int(LINE.match(line)[1])
        if offset_us is None:
            offset_us = now_us - head_start_us - at_us
        at_us += offset_us
        line = START.sub(lambda start: f'"start":{int(start[1]) + offset_us}', MATCH.sub(f'"match":"{run}/', line))
        yield at_us, LINE.sub(f'{{"id":"{run}-{number}","at":{at_us},', line, count=1)


def bodies(lines, now):
    """Lines that are due, together. Waits until there are any."""
    body, length = [], 0
    for at_us, line in lines:
        if body and (length + len(line) > BODY_BYTES_MAX or at_us > now()):
            yield "".join(body)
            body, length = [], 0
        if (early_us := at_us - now()) > 0:
            time.sleep(early_us / 1e6 + PAUSE_S)
        body.append(line)
        length += len(line)
    if body:
        yield "".join(body)


def push(body, urls, key):
    """Pushes a body until it is answered. `urls` begins with the one that answered last."""
    while True:
        request = urllib.request.Request(
            f"{urls[0]}/ingest/v1/{SOURCE}", data=body.encode(), headers={"Authorization": f"Token {key}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_S_MAX) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            problem = f"{error.code}: {error.read(300).decode(errors='replace').strip()}"
            # 409: an earlier push, whose answer was lost, still runs.
            if error.code < 500 and error.code not in (408, 409, 429):
                sys.exit(f"push: {urls[0]} refuses with {problem}")
        except (OSError, HTTPException, ValueError) as error:
            problem = f"{type(error).__name__}: {error}"
        print(f"push: {urls[0]}: {problem}; pushing it again", file=sys.stderr, flush=True)
        urls.append(urls.pop(0))
        time.sleep(PAUSE_S)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", action="append", required=True, help="of a node or a balancer; may be repeated")
    parser.add_argument("--key-file", type=Path, required=True, help=f"has the key of the source {SOURCE}")
    parser.add_argument(
        "--head-start", type=float, default=70, metavar="MINUTES", help="how much is pushed at once [default: 70]",
    )
    parser.add_argument("recording", type=Path, help="lines of matchwire-events")
    arguments = parser.parse_args()
    key, now_us = arguments.key_file.read_text().strip(), lambda: time.time_ns() // 1000
    with arguments.recording.open() as lines:
        for body in bodies(moved(lines, now_us(), int(arguments.head_start * 60e6)), now_us):
            answer = push(body, arguments.url, key)
            for refusal in answer["refusals"]:
                print(f"push: refused: {refusal}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
