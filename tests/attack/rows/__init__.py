"""The attacks. A row is a function that returns requests or frames, and who sends them."""

from . import accounts, connections, findings, http, sockets  # noqa: F401
