"""The requests of public clients, of `public_clients.toml`: each is answered, and has what the client reads of it."""

import re
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

from report import NotServed
from shapes import fields, missable, nullable
from walk import ABSENT, look

TABLE = Path(__file__).with_suffix(".toml")
# How far back and ahead they ask: the demo's past and programme have matches of every team in it.
DAYS = 60


def check_public_clients(report, client, world):
    today = datetime.now(UTC).date()
    days = {"today": today, "before": today - timedelta(days=DAYS), "after": today + timedelta(days=DAYS)}
    values = world.ids | days | {"live_league": world.live["league_id"]}
    for name, requests in tomllib.loads(TABLE.read_text()).items():
        for template, reads in requests.items():
            with report.check(f"{name}: GET {template}"):
                ask(client, template, reads, values)


def ask(client, template, reads, values):
    wanted = re.findall(r"{(\w+)}", template)
    if unknown := [word for word in wanted if values.get(word) is None]:
        raise NotServed(f"the hub names no {unknown[0].replace('_', ' ')}")
    shape = shape_of(reads)
    answer = look(client, template.format(**values), shape, ABSENT.search(template))
    if empty := [name for name, items in shape.items() if isinstance(items, list) and not answer[name]]:
        raise NotServed(f"the hub has no {empty[0]} of it")


def shape_of(reads):
    """The shape in which the members of a line of the table are."""
    return members(iter(re.findall(r"}[?~]*|[^\s{}]+{?", reads)))[0]


def members(words):
    """The members up to the next closing brace, and what follows that."""
    shape = {}
    for word in words:
        if word.startswith("}"):
            return shape, word[1:]
        if not word.endswith("{"):
            shape |= fields(word)
            continue
        name = word.removesuffix("{")
        inner, after = members(words)
        bare = re.match(r"[\w-]+", name)[0]
        inner = [inner] if "[]" in name else inner
        inner = nullable(inner) if "?" in after else inner
        shape[bare] = missable(inner) if "~" in name + after else inner
    return shape, ""
