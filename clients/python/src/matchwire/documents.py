"""placeholder until generated"""
from __future__ import annotations

from typing import Any, TypedDict


class Document(TypedDict, total=False):
    life: str
    feed: str
    stale_after_ms: int
class Odds(Document, total=False):
    suspended: bool
    match_seq: int
    markets: dict[str, Any]
