"""Gives Schemathesis the ids that the running hub has, and notes what each operation answered.

Without them every path that names something is answered 404, and nothing but that is tested. In the
environment are the key (HUB_KEY) and the file for what was answered (ANSWERED).
"""

import atexit
import json
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request

import requests
import schemathesis

KEY = os.environ["HUB_KEY"]
# Far more than any list takes, and than a demo needs to load its past, after which it predicts.
ROWS_S_MAX = 120

# What no list has.
WORDS = {"stat": ["scorers", "redcards"], "type": ["team"], "channel": ["football", "feeds"], "bookmaker_slug": ["consensus"]}
# Lists that have another name than their parameter, as far as a path does not name them.
LISTS = {"match": "matches", "national_team": "teams", "tournament": "tournaments", "person": "players"}

# Their responses have no end, so schemathesis.toml leaves them out.
ENDLESS = {"/stream/v1/sse/"}

# By operation: whether the hub has a row for it, and how often it answered with which status.
answered = {}


def rows(base, path, **query):
    """The rows of a list; none where the key may not see them, or where they want more than this."""
    address = f"{base}{path}?{urllib.parse.urlencode(query)}"
    request = urllib.request.Request(address, headers={"Authorization": f"Token {KEY}"})
    try:
        with urllib.request.urlopen(request, timeout=ROWS_S_MAX) as answer:
            said = json.load(answer)
    except urllib.error.HTTPError as refused:
        refused.close()
        return []
    if isinstance(said, dict):
        said = next((value for value in said.values() if isinstance(value, list)), [])
    return [row for row in said if isinstance(row, dict)]


class Rows:
    """Ids by the list in which they are."""

    def __init__(self, base, paths):
        self.base, self.paths, self.known = base, paths, {}

    def of(self, path):
        """One that is over, one that is to come, one in play; of lists that know no such thing the first."""
        if path not in self.known:
            found = [row for status in ("finished", "notstarted") for row in rows(self.base, path, status=status, limit=1)]
            found = found or rows(self.base, path, limit=1)
            if f"{path}live/" in self.paths:
                found += rows(self.base, f"{path}live/")[:1]
            ids = [row.get("id", row.get("event_id")) for row in found]
            self.known[path] = list(dict.fromkeys(id for id in ids if id is not None))
        return self.known[path]

    def named(self, path, name):
        """Values of a parameter: those of the list in front of it, else of the list of its name."""
        if name in WORDS:
            return WORDS[name]
        before = path.partition(f"{{{name}}}")[0]
        if name == "season_id" and "{id}" in before:
            return [id for league in self.of("/api/v2/leagues/") for id in self.of(before.replace("{id}", str(league)))]
        if before != path and before in self.paths and (found := self.of(before)):
            return found
        stem = name.removesuffix("_id")
        if "/standings/" in path:
            stem = "league"
        elif path.startswith("/img/"):
            stem = "team"
        root = re.match(r"/\w+/api/v2/", path)
        for folder in ([root[0]] if root else ["/api/v2/", "/api/"]):
            if (list_ := f"{folder}{LISTS.get(stem, stem + 's')}/") in self.paths:
                return self.of(list_)
        return []


@schemathesis.hook
def before_load_schema(context, raw_schema):
    paths, base = raw_schema["paths"], raw_schema["servers"][0]["url"]
    late = time.monotonic() + ROWS_S_MAX
    while not rows(base, "/api/v2/predictions/", limit=1) and time.monotonic() < late:
        time.sleep(0.5)
    found = Rows(base, paths)
    for path, item in paths.items():
        if path in ENDLESS:
            continue
        for method, operation in item.items():
            entry = answered[f"{method.upper()} {path}"] = {"has_row": True, "statuses": {}}
            for parameter in operation.get("parameters", []):
                name, kind = parameter["name"], parameter["schema"].get("type")
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
