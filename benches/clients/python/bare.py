"""No client: `websockets` and `json`, and the frames of this repository's protocol."""

from meter import CHANNELS, KEY, URL, Meter, merge

meter = Meter()
import asyncio
import json

from websockets.asyncio.client import connect

meter.imported()


async def main():
    meter.connecting()
    documents = {}
    headers = {"Authorization": f"Token {KEY}"}
    async with connect(f"{URL}/stream/v1", additional_headers=headers, proxy=None, compression=None, max_size=None) as socket:
        for number, ch in enumerate(CHANNELS):
            await socket.send(json.dumps({"op": "subscribe", "id": number, "ch": ch}))
        while True:
            frame = json.loads(await socket.recv(decode=False))
            if frame["type"] == "image":
                documents[frame["ch"]] = frame["data"]
                meter.document()
            elif frame["type"] == "update":
                meter.update(merge(documents[frame["ch"]], frame.get("patch", {})), frame.get("n", 1))


asyncio.run(main())
