"""Ids that a running hub has, for the parameters of its OpenAPI document.

Without them every path that names something is answered 404, and nothing but that is tested.
"""

import json
import re
import urllib.error
import urllib.parse
import urllib.request

# Far more than any list takes, and than a demo needs to load its past, after which it predicts.
ROWS_S_MAX = 120

# What no list has.
WORDS = {"stat": ["scorers", "redcards"], "type": ["team"], "channel": ["football", "feeds"], "bookmaker_slug": ["consensus"]}
# Lists that have another name than their parameter, as far as a path does not name them.
LISTS = {"match": "matches", "national_team": "teams", "tournament": "tournaments", "person": "players"}

# Their responses have no end.
ENDLESS = {"/stream/v1/sse/"}


def rows(base, key, path, **query):
    """The rows of a list; none where the key may not see them, or where they want more than this."""
    address = f"{base}{path}?{urllib.parse.urlencode(query)}"
    request = urllib.request.Request(address, headers={"Authorization": f"Token {key}"})
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

    def __init__(self, base, key, paths):
        self.base, self.key, self.paths, self.known = base, key, paths, {}

    def of(self, path):
        """One that is over, one that is to come, one in play; of lists that know no such thing the first."""
        if path not in self.known:
            found = [row for status in ("finished", "notstarted") for row in rows(self.base, self.key, path, status=status, limit=1)]
            found = found or rows(self.base, self.key, path, limit=1)
            if f"{path}live/" in self.paths:
                found += rows(self.base, self.key, f"{path}live/")[:1]
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
