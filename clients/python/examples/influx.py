"""Prices as InfluxDB lines, for Telegraf and the dashboards of Grafana: python influx.py "football/*/odds/pinnacle"

    [[inputs.execd]]
      command = ["python", "influx.py", "football/*/odds/pinnacle"]
      environment = ["MATCHWIRE_KEY=mw_…"]
      signal = "none"
      data_format = "influx"

A line for each price that changes. A price that may not be used now has open=false.
"""

import asyncio
import os
import sys

from matchwire import Client
from matchwire.odds import rows


def tag(value: object) -> str:
    return str(value).translate({ord(character): f"\\{character}" for character in ", ="})


async def print_lines(pattern: str) -> None:
    url = os.environ.get("MATCHWIRE_URL", "ws://127.0.0.1:8080")
    printed: dict[tuple[str, ...], object] = {}
    async with Client(url, key=os.environ["MATCHWIRE_KEY"]) as hub:
        async for book, change in hub.books(pattern, every_ms=1000):
            sport, match, *_, bookmaker = book.name.split("/")
            stamp = change.at.published if change.at and change.at.published else hub.server_now()
            for row in rows(book.data, floats=True):
                key = (book.name, row["market"], row["selection"])
                value = (row["price"], row["open"] and book.health == "live")
                if row["price"] is None or printed.get(key) == value:
                    continue
                printed[key] = value
                tags = {
                    "sport": sport,
                    "match": match,
                    "bookmaker": bookmaker,
                    "market": row["market"],
                    "selection": row["selection"],
                }
                names = ",".join(f"{name}={tag(it)}" for name, it in tags.items())
                print(f"price,{names} value={value[0]},open={str(value[1]).lower()} {stamp * 1000}", flush=True)


if __name__ == "__main__":
    asyncio.run(print_lines(sys.argv[1]))
