"""betfairlightweight on the recording of the exchange: a `MarketBook` after each message, by its `StreamListener`."""

from meter import FILE, SELECTION, Meter

meter = Meter()
import os

import betfairlightweight

meter.imported()
LIGHTWEIGHT = os.environ.get("BENCH_LIGHTWEIGHT") == "1"


def best(book):
    if LIGHTWEIGHT:
        runner = next(it for it in book["runners"] if it["selectionId"] == int(SELECTION))
        available = runner["ex"]["availableToBack"]
        return available and available[0]["price"]
    runner = next(it for it in book.runners if it.selection_id == int(SELECTION))
    available = runner.ex.available_to_back
    return available and available[0].price


trading = betfairlightweight.APIClient("bench", "bench", "bench", lightweight=LIGHTWEIGHT)
meter.connecting()
listener = betfairlightweight.StreamListener(max_latency=None, lightweight=LIGHTWEIGHT)
stream = trading.streaming.create_historical_generator_stream(file_path=FILE, listener=listener)
for books in stream.get_generator()():
    meter.document()
    for book in books:
        meter.count(best(book))
meter.end()
