"""This repository's client on a file of frames: a book after each change of the exchange."""

from meter import FILE, Meter

meter = Meter()
from matchwire.replay import replay

meter.imported()
meter.connecting()
for book, change in replay(FILE):
    meter.document()
    if change.kind == "update":
        price = book.price("match_winner", "p1")
        meter.count(price and str(price), change.merged.n if change.merged else 1)
meter.end()
