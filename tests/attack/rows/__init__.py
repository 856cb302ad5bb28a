"""The attacks. A row is a function that returns requests or frames, and who sends them."""

# The findings come first, should the time be short.
from . import findings  # noqa: F401, I001
from . import accounts, connections, http, sockets  # noqa: F401
