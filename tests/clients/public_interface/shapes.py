"""A small language for the shapes of JSON, and the check of a value against one.

    EVENT = fields("id:int home_team:str venue_id:int? stage:str?~", highlights=[HIGHLIGHT])

`?` after a type: the value may be null. `~`: the field may be missing. A field that is not named here
may be there: clients ignore what they do not know. A shape is the name of a type, a `dict` of fields,
a list of one shape, `nullable(shape)`, `one_of(..)` of values, or `any_of(..)` of shapes.
"""

from datetime import datetime


class Nullable:
    def __init__(self, shape):
        self.shape = shape


class Missable:
    def __init__(self, shape):
        self.shape = shape


class OneOf:
    def __init__(self, values):
        self.values = values


class AnyOf:
    def __init__(self, shapes):
        self.shapes = shapes


class MapOf:
    """An object whose keys are data, as slugs and markets are."""

    def __init__(self, shape):
        self.shape = shape


nullable, missable, map_of = Nullable, Missable, MapOf


def one_of(*values):
    return OneOf(values)


def any_of(*shapes):
    return AnyOf(shapes)


def fields(text="", /, **nested):
    """The shape of an object: `name:type` words, and fields with shapes of their own."""
    shape = {}
    for word in text.split():
        name, kind = word.rsplit(":", 1)
        may_miss, kind = kind.endswith("~"), kind.removesuffix("~")
        field = Nullable(kind[:-1]) if kind.endswith("?") else kind
        shape[name] = Missable(field) if may_miss else field
    return shape | nested


def named(names, shape):
    """Many fields of one shape."""
    return dict.fromkeys(names.split(), shape)


def page(row):
    """The envelope of a list (SERVICE 1.2)."""
    return fields("count:int next:url? previous:url?", results=[row])


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_time(value):
    """ISO 8601 with its offset."""
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except (TypeError, ValueError):
        return False


def is_day(value):
    try:
        return len(value) == 10 and bool(datetime.strptime(value, "%Y-%m-%d"))
    except (TypeError, ValueError):
        return False


KINDS = {
    "any": lambda value: True,
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "num": is_number,
    "zero": lambda value: value == 0,
    # SERVICE 1.9 and 9: no fractions.
    "pct": lambda value: is_number(value) and 0 <= value <= 100,
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "obj": lambda value: isinstance(value, dict),
    "list": lambda value: isinstance(value, list),
    "url": lambda value: isinstance(value, str) and value.startswith(("http://", "https://")),
    "day": is_day,
    # Dates of football matches: UTC, with the offset written out.
    "utc": lambda value: is_time(value) and value.endswith("+00:00"),
    # Times of odds and predictions: UTC, with Z.
    "zulu": lambda value: is_time(value) and value.endswith("Z"),
    "time": is_time,
}


def complaints(shape, value, at="answer"):
    """What is wrong with the value, a line each; nothing if it is as described."""
    if isinstance(shape, Nullable):
        return [] if value is None else complaints(shape.shape, value, at)
    if isinstance(shape, str):
        return [] if KINDS[shape](value) else [f"{at}: expected {shape}, came {brief(value)}"]
    if isinstance(shape, OneOf):
        return [] if value in shape.values else [f"{at}: expected one of {shape.values}, came {brief(value)}"]
    if isinstance(shape, AnyOf):
        found = [complaints(other, value, at) for other in shape.shapes]
        return [] if [] in found else min(found, key=len)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{at}: expected a list, came {brief(value)}"]
        return [line for number, item in enumerate(value) for line in complaints(shape[0], item, f"{at}[{number}]")]
    if not isinstance(value, dict):
        return [f"{at}: expected an object, came {brief(value)}"]
    if isinstance(shape, MapOf):
        return [line for name, item in value.items() for line in complaints(shape.shape, item, f"{at}.{name}")]
    found = []
    for name, field in shape.items():
        if name in value:
            inner = field.shape if isinstance(field, Missable) else field
            found += complaints(inner, value[name], f"{at}.{name}")
        elif not isinstance(field, Missable):
            found.append(f"{at}.{name}: is missing")
    return found


def brief(value):
    text = repr(value)
    return text if len(text) <= 160 else text[:157] + "..."
