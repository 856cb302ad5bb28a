"""This repository's client, with a task for each channel."""

from meter import CHANNELS, KEY, URL, Meter

meter = Meter()
import asyncio

from matchwire import Client

meter.imported()


async def follow(hub, ch):
    document = await hub.follow(ch, lossless=True)
    meter.document()
    async for change in document:
        if change.kind == "update":
            meter.update(change.data, change.merged.n if change.merged else 1)


async def main():
    meter.connecting()
    async with Client(URL, key=KEY, proxy=None) as hub:
        await asyncio.gather(*(follow(hub, ch) for ch in CHANNELS))


asyncio.run(main())
