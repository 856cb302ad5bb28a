"""What both libraries' HTTP clients share: the key in the header, and the status of the last answer, which the
libraries hide in errors of their own."""

from contextlib import asynccontextmanager

import anyio
import httpx2


class Wire:
    def __init__(self, key):
        self.headers, self.status, self.body = {"Authorization": f"Bearer {key}"}, 0, ""

    async def watch(self, response):
        self.status = response.status_code
        if response.status_code >= 400:
            self.body = (await response.aread()).decode(errors="replace")

    def client(self, headers=None, auth=None, timeout=None, **options):
        return httpx2.AsyncClient(
            headers=(headers or {}) | self.headers, auth=auth, timeout=timeout or httpx2.Timeout(30, read=300),
            event_hooks={"response": [self.watch]}, **options,
        )


class Refused(Exception):
    """A connection that was not made: the status and the body of the last answer."""

    def __init__(self, wire, error):
        super().__init__(f"{wire.status} {wire.body[:400]} {error!r}")
        self.status, self.body = wire.status, wire.body


@asynccontextmanager
async def connected(client, wire):
    """The client while it is connected. If it cannot connect, `Refused` says what the hub answered."""
    accepted = ended = False
    try:
        async with client:
            # Where there is no handshake, the first request shows whether the hub accepts the key.
            await client.list_prompts()
            accepted = True
            yield client
            ended = True
    except Exception as error:
        # The libraries wrap what happens in their task groups.
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        # An answer to a cancelled call may arrive when the library has closed its own streams.
        if ended and isinstance(error, (anyio.BrokenResourceError, anyio.ClosedResourceError)):
            return
        raise (error if accepted else Refused(wire, error)) from error
