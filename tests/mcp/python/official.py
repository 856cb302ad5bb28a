"""PyPI's `mcp`, in both of its modes: `python official.py --mode MODE --url URL --key KEY --key-without-addon KEY`.

The modes are `legacy`, which begins with `initialize`, and `2026-07-28`.
"""

import sys
from contextlib import asynccontextmanager

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import PromptReference, ResourceTemplateReference
from scenario import main
from transport import Wire, connected

# No list has more pages; a cursor that never ends is a failure.
PAGES_MAX = 20


class Connection:
    def __init__(self, client, wire):
        self.client, self.wire, self.version = client, wire, client.protocol_version
        self.listens = client.protocol_version >= "2026-07-28"

    async def tools(self):
        return await all_pages(self.client.list_tools, "tools")

    async def resources(self):
        return await all_pages(self.client.list_resources, "resources")

    async def templates(self):
        return await all_pages(self.client.list_resource_templates, "resource_templates")

    async def prompts(self):
        return await all_pages(self.client.list_prompts, "prompts")

    async def call(self, name, arguments):
        return await self.client.call_tool(name, arguments, read_timeout_seconds=60)

    async def read(self, uri):
        return (await self.client.read_resource(uri, cache_mode="bypass")).contents

    async def prompt(self, name, arguments):
        return (await self.client.get_prompt(name, arguments)).messages

    async def complete(self, kind, name, argument, value):
        ref = PromptReference(name=name) if kind == "prompt" else ResourceTemplateReference(uri=name)
        return (await self.client.complete(ref, {"name": argument, "value": value})).completion.values

    def listen(self, uris):
        return self.client.listen(resource_subscriptions=uris)


async def all_pages(fetch, field):
    rows, cursor = [], None
    for _ in range(PAGES_MAX):
        page = await fetch(cursor=cursor, cache_mode="refresh")
        rows += getattr(page, field)
        cursor = page.next_cursor
        if not cursor:
            return rows
    raise RuntimeError(f"{field}: more than {PAGES_MAX} pages")


def opener(mode):
    @asynccontextmanager
    async def connect(url, key):
        wire = Wire(key)
        async with wire.client() as http:
            client = Client(streamable_http_client(url, http_client=http), mode=mode)
            async with connected(client, wire):
                yield Connection(client, wire)

    return connect


if __name__ == "__main__":
    versions = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
    sys.exit(main({mode: (version, opener(mode)) for mode, version in versions.items()}))
