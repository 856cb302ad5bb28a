"""The table of tools and arguments, which the clients in both languages share; and how its `$names` become ids."""

import json
from pathlib import Path

TABLE = json.loads(Path(__file__).parent.with_name("tools.json").read_text())


def bytes_max(tool):
    """The most bytes that a result of this tool may have."""
    return tool.get("bytes_max") or TABLE["bytes_max"]["list" if tool.get("list") else "result"]


class NoSuchId(Exception):
    """The hub under test has nothing of the kind now."""


def resolve(value, ids):
    """The arguments with each `$name` replaced."""
    if isinstance(value, str) and value.startswith("$"):
        if ids.get(value[1:]) is None:
            raise NoSuchId(value)
        return ids[value[1:]]
    if isinstance(value, list):
        return [resolve(part, ids) for part in value]
    if isinstance(value, dict):
        return {name: resolve(part, ids) for name, part in value.items()}
    return value


def parts(document):
    if isinstance(document, dict):
        return list(document.values())
    return document if isinstance(document, list) else []


def first_field(document, field):
    """The first value of this field anywhere in a document, nearest to its top first."""
    level = [document]
    while level:
        for part in level:
            if isinstance(part, dict) and part.get(field) is not None:
                return part[field]
        level = [inner for part in level for inner in parts(part)]
    return None


def all_fields(document, field):
    """All values of this field in a document."""
    own = [document[field]] if isinstance(document, dict) and document.get(field) is not None else []
    return own + [value for part in parts(document) for value in all_fields(part, field)]


def all_text(document):
    """All texts of a document."""
    return document if isinstance(document, str) else "\n".join(map(all_text, parts(document)))
