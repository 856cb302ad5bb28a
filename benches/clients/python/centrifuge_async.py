"""centrifuge-python with its default codec, JSON."""

from meter import CHANNELS, URL, Meter, merge

meter = Meter()
import asyncio

from centrifuge import Client, SubscriptionEventHandler

meter.imported()


class Document(SubscriptionEventHandler):
    document = None

    async def on_publication(self, ctx):
        if self.document is None:
            self.document = ctx.pub.data
            meter.document()
        else:
            meter.update(merge(self.document, ctx.pub.data["patch"]))


async def main():
    meter.connecting()
    client = Client(f"{URL}/centrifuge")
    await client.connect()
    for ch in CHANNELS:
        await client.new_subscription(ch, Document()).subscribe()
    await asyncio.Event().wait()


asyncio.run(main())
