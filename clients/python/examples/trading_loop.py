"""Quotes one outcome while it is safe to: python trading_loop.py football/204849 pinnacle"""

import asyncio
import os
import sys
from decimal import Decimal

from matchwire import Client, Goal, Retract, Suspend

MARGIN = Decimal("0.02")


async def trade(match_name: str, bookmaker: str) -> None:
    url = os.environ.get("MATCHWIRE_URL", "ws://127.0.0.1:8080")
    async with Client(url, key=os.environ["MATCHWIRE_KEY"]) as hub:
        match = await hub.follow(match_name)
        book = await hub.odds(match_name, bookmaker=bookmaker, lossless=True)
        quoted: Decimal | None = None
        async for change in book:
            for event in change.events:
                match event:
                    case Suspend(market=None, why=why):
                        print(f"the hub holds the book: {why}", flush=True)
                    case _:
                        pass
            for incident in (event for it in match.take() for event in it.events):
                if isinstance(incident, Goal | Retract):
                    print(f"score {match.data.get('score')}: {incident}", flush=True)
            price = book.price("1x2", "HOME")  # None while held, suspended, stale or lost.
            if price is not None and not book.has_seen(match):
                price = None  # From before the last goal.
            quote = None if price is None else (price * (1 - MARGIN)).quantize(Decimal("0.01"))
            if quote != quoted:
                quoted = quote
                print(f"quote {quote}" if quote else f"pull the quote: {book.health}", flush=True)


if __name__ == "__main__":
    asyncio.run(trade(*sys.argv[1:3]))
