"""Keys that do not show up in logs, representations and errors."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, MutableMapping
from typing import TYPE_CHECKING, Any

__all__ = ["RedactingLogger", "Secret", "redact"]

if TYPE_CHECKING:
    _Adapter = logging.LoggerAdapter[logging.Logger]
else:
    # Python 3.10 has no subscript for it.
    _Adapter = logging.LoggerAdapter

_IN_TEXT = re.compile(r"mw_\w+|(?<=[?&]token=)[^&\s'\"]+|(?<=[?&]ticket=)[^&\s'\"]+")
_HIDDEN = "[redacted]"


class Secret:
    """A string that is shown only by `reveal`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return f"Secret({_HIDDEN!r})"

    __str__ = __repr__

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a secret is not pickled")


def redact(text: str, secrets: Iterable[Secret] = ()) -> str:
    """Hides these secrets, and whatever looks like a key or stands where one stands in an address."""
    for secret in secrets:
        if value := secret.reveal():
            text = text.replace(value, _HIDDEN)
    return _IN_TEXT.sub(_HIDDEN, text)


class RedactingLogger(_Adapter):
    """For the WebSocket library, whose debug output has the headers of the request."""

    def __init__(self, logger: logging.Logger) -> None:
        super().__init__(logger, {})
        self.secrets: list[Secret] = []

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        return redact(str(msg), self.secrets), kwargs

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        if self.isEnabledFor(level):
            text = str(msg) % args if args else str(msg)
            super().log(level, "%s", redact(text, self.secrets), **kwargs)
