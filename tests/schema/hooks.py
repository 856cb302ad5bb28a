"""Gives Schemathesis the ids that the running hub has, and notes what each operation answered.

In the environment are the key (HUB_KEY) and the file for what was answered (ANSWERED).
"""

import atexit
import json
import os
import sys
import time
import urllib.parse
from datetime import UTC
from pathlib import Path

import requests
import schemathesis
from hypothesis import strategies

# Schemathesis loads this file alone.
sys.path.insert(0, str(Path(__file__).parent))
from rows import ENDLESS, ROWS_S_MAX, WORDS, Rows, rows  # noqa: E402

KEY = os.environ["HUB_KEY"]

# The format of filters by time: a day, or a timestamp.
TIMES = [strategies.dates().map(str), strategies.datetimes(timezones=strategies.just(UTC)).map(lambda at: at.isoformat())]
schemathesis.openapi.format("date-or-time", strategies.one_of(TIMES))
schemathesis.openapi.format("time-zone", strategies.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu"]))
SIDES = strategies.integers(min_value=1, max_value=2**31 - 1).map(str)
schemathesis.openapi.format("two-sides", strategies.lists(SIDES, min_size=2, max_size=2).map(",".join))

# Closed lists that only a running hub has: outside version 1, which ignores what is in none, another value is refused.
CLOSED = {"bookmaker": ["consensus"], "outcome": ["home", "draw", "away"]}
# What excludes each other: an outcome is one of its market, and `last` is a page by itself.
EXCLUDING = [{"market", "outcome"}, {"last", "next", "offset", "sort", "cursor"}]

# By operation: whether the hub has a row for it, and how often it answered with which status.
answered = {}


@schemathesis.hook
def before_load_schema(context, raw_schema):
    paths, base = raw_schema["paths"], raw_schema["servers"][0]["url"]
    late = time.monotonic() + ROWS_S_MAX
    while not rows(base, KEY, "/api/v2/predictions/", limit=1) and time.monotonic() < late:
        time.sleep(0.5)
    found = Rows(base, KEY, paths)
    for path, item in paths.items():
        if path in ENDLESS:
            continue
        for method, operation in item.items():
            entry = answered[f"{method.upper()} {path}"] = {"has_row": True, "statuses": {}}
            for parameter in operation.get("parameters", []):
                name, kind = parameter["name"], parameter["schema"].get("type")
                if name == "market" and path.startswith("/odds/"):
                    parameter["schema"] = {"type": "string", "enum": ["match_winner", "1x2", "over_under"]}
                if name in CLOSED and path.startswith(("/api/v2/", "/odds/")):
                    parameter["schema"] = {"type": "string", "enum": CLOSED[name]}
                if parameter["in"] != "path" and kind != "integer" and name not in WORDS:
                    continue
                if values := found.named(path, name):
                    parameter.pop("example", None)
                    parameter["examples"] = {f"row {value}": {"value": value} for value in values}
                elif parameter["in"] == "path":
                    entry["has_row"] = False


@schemathesis.hook
def filter_case(context, case):
    """A value that is blank is as if it were absent (docs/API.md), which a schema cannot express for numbers,
    flags, moments and words."""
    schemas = {it["name"]: it["schema"] for it in case.operation.definition.raw.get("parameters", [])}
    query = case.query or {}
    if any(len(names & query.keys()) > 1 for names in EXCLUDING):
        return False
    # An object comes as its keys, of which there may be none.
    if any(isinstance(value, dict) for value in query.values()):
        return False
    address = requests.Request("GET", "http://hub", params=query).prepare().url
    last = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(address).query, keep_blank_values=True))
    return all(value.strip() or schemas.get(name) == {"type": "string"} for name, value in last.items())


@schemathesis.hook
def after_call(context, case, response):
    statuses = answered[case.operation.label]["statuses"]
    statuses[response.status_code] = statuses.get(response.status_code, 0) + 1


@atexit.register
def write_answered():
    with open(os.environ["ANSWERED"], "w") as file:
        json.dump(answered, file, indent=1, sort_keys=True)
