"""PyPI's `fastmcp`, common among agents: `python fast.py --url URL --key KEY --key-without-addon KEY`."""

import sys
from contextlib import asynccontextmanager

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from mcp.client.subscriptions import listen
from mcp_types import PromptReference, ResourceTemplateReference
from scenario import main
from transport import Wire, connected


class Connection:
    listens = True

    def __init__(self, client, wire):
        self.client, self.wire, self.version = client, wire, client.protocol_version

    async def tools(self):
        return await self.client.list_tools()

    async def resources(self):
        return await self.client.list_resources()

    async def templates(self):
        return await self.client.list_resource_templates()

    async def prompts(self):
        return await self.client.list_prompts()

    async def call(self, name, arguments):
        return await self.client.call_tool_mcp(name, arguments, timeout=60)

    async def read(self, uri):
        return await self.client.read_resource(uri)

    async def prompt(self, name, arguments):
        return (await self.client.get_prompt(name, arguments)).messages

    async def complete(self, kind, name, argument, value):
        ref = PromptReference(name=name) if kind == "prompt" else ResourceTemplateReference(uri=name)
        return (await self.client.complete(ref, {"name": argument, "value": value})).values

    def listen(self, uris):
        # fastmcp has no word for it; its session is that of `mcp`.
        return listen(self.client.session, resource_subscriptions=uris)


@asynccontextmanager
async def connect(url, key):
    wire = Wire(key)
    client = Client(StreamableHttpTransport(url, httpx_client_factory=wire.client), mode="auto", cache=False)
    async with connected(client, wire):
        yield Connection(client, wire)


if __name__ == "__main__":
    sys.exit(main({"auto": ("2026-07-28", connect)}))
