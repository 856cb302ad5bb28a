"""The canonical form of a document (RFC 8785) and its hash, by which a client proves that it missed nothing."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Proof", "canonical", "digest", "pruned"]

# Beyond it, neighbouring integers are the same double, and RFC 8785 has doubles only.
_EXACT_MAX = 2**53


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of comparing a document with the hub's hash of it.

    `ok` is True if both are the same, False if they differ, in which case the client has requested the image, and
    None if the two were not at the same position, as while the channel is catching up.
    """

    channel: str
    ok: bool | None
    epoch: str | None
    seq: int | None
    expected: str
    actual: str | None


def canonical(value: Any) -> bytes:
    """Returns the JSON of `value` in the form of RFC 8785: sorted keys, no spaces, numbers as ECMAScript writes them.

    Raises `ValueError` for a number that JSON cannot represent.
    """
    parts: list[str] = []
    _write(value, parts)
    return "".join(parts).encode()


def digest(value: Any) -> str:
    """Returns the SHA-256 of the canonical form of `value`, in lower-case hexadecimal digits."""
    return hashlib.sha256(canonical(value)).hexdigest()


def pruned(value: Any) -> Any:
    """Returns `value` without members that are objects without members: what the hash of a picked document is made of."""
    if not isinstance(value, Mapping):
        return value
    members = {name: pruned(member) for name, member in value.items()}
    return {name: member for name, member in members.items() if not (isinstance(member, Mapping) and not member)}


def _write(value: Any, parts: list[str]) -> None:
    if isinstance(value, str):
        parts.append(json.dumps(value, ensure_ascii=False))
    elif isinstance(value, bool) or value is None:
        parts.append(json.dumps(value))
    elif isinstance(value, int):
        parts.append(str(value) if -_EXACT_MAX <= value <= _EXACT_MAX else _number(float(value)))
    elif isinstance(value, float):
        parts.append(_number(value))
    elif isinstance(value, Mapping):
        parts.append("{")
        # By UTF-16 code units, which differs from the order of code points beyond the basic plane.
        for index, key in enumerate(sorted(value, key=_utf16)):
            parts.append("," if index else "")
            parts.append(json.dumps(key, ensure_ascii=False))
            parts.append(":")
            _write(value[key], parts)
        parts.append("}")
    elif isinstance(value, (list, tuple)):
        parts.append("[")
        for index, item in enumerate(value):
            parts.append("," if index else "")
            _write(item, parts)
        parts.append("]")
    else:
        raise ValueError(f"{type(value).__name__} is not JSON")


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def _number(value: float) -> str:
    """The shortest decimal form, laid out as `Number.prototype.toString` of ECMAScript does."""
    if not math.isfinite(value):
        raise ValueError(f"{value} is not JSON")
    if value == 0:
        return "0"
    # Python and ECMAScript agree on the digits, the shortest that read back as the same double.
    mantissa, _, exponent = f"{value!r}e0".partition("e")
    exponent = exponent.removesuffix("e0") or "0"
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    power = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return f"{sign}{digits[0]}{'.' + digits[1:] if count > 1 else ''}{power}"
