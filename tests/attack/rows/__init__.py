"""The attacks. A row is a function that returns requests or frames, and who sends them."""

from . import findings  # noqa: F401
