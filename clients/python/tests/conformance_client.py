"""The client that `matchwire conformance` grades (docs/CONFORMANCE.md): it follows what its environment names until the hub closes for
good, and prints each change."""

import asyncio
import json
import os

from matchwire import Client, ConnectionClosed, Refused
from matchwire.protocol.proof import digest


async def follow(hub, name):
    try:
        async for _, change in hub.updates(name, lossless=True):
            line = {
                "ch": change.channel,
                "epoch": change.epoch,
                "seq": change.seq,
                "events": [event.eid for event in change.events],
            }
            print(json.dumps(line | {"sha256": None if change.data is None else digest(change.data)}), flush=True)
    except Refused:
        # As some cases do; the other channels go on.
        pass


async def main():
    os.environ["NO_PROXY"] = "127.0.0.1"
    names = os.environ["MATCHWIRE_CHANNELS"].split()
    try:
        async with Client(os.environ["MATCHWIRE_URL"], key=os.environ["MATCHWIRE_KEY"]) as hub:
            await asyncio.gather(*(follow(hub, name) for name in names))
    except ConnectionClosed as closed:
        if closed.code != 4410:
            raise


asyncio.run(main())
