"""The commands that subscribe and resume, in as few as the hub allows and each within its limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .channel import Channel
from .outputs import DEFAULT_COMMAND_BYTES, Hello
from .subscription import Options, Subscription

__all__ = ["CommandWriter", "Request", "encode"]

# A position of a pattern's channel beyond this part of a command is resumed by name: the rest is room for the names.
PATTERN_PART = 0.75
# More than any `id` will have.
ID_MAX = 10**12


@dataclass(slots=True)
class Request:
    """A command without its id, the subscriptions that it asks for, and the names that it resumes for a pattern."""

    op: Literal["subscribe", "unsubscribe"]
    fields: dict[str, Any]
    asked: list[Subscription] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)


class CommandWriter:
    """Writes commands for a hub with these limits and features."""

    def __init__(
        self,
        hello: Hello,
        channels: Mapping[str, Channel],
        subscriptions: Mapping[str, Subscription],
        covered: Callable[[Subscription], list[Channel]],
    ) -> None:
        self._channels = channels
        self._subscriptions = subscriptions
        self._covered = covered
        self._has_batch = "batch" in hello.features
        self._bytes_max = hello.limits.get("from_bytes") or hello.limits.get("command_bytes") or DEFAULT_COMMAND_BYTES
        self._entries_max = max(1, hello.limits.get("channels", 1000))

    def subscribe(self, subscriptions: list[Subscription]) -> Iterator[Request]:
        """The commands that subscribe, from the positions that the channels have."""
        groups: dict[Options, list[Subscription]] = {}
        for subscription in subscriptions:
            groups.setdefault(subscription.options, []).append(subscription)
        # Names first: what they resume continues unchanged when a pattern covers it as well. A pattern before them would bring its
        # image, and the events since their position would be lost.
        if len(groups) == 1:
            ((options, group),) = groups.items()
            yield from self._group(options, sorted(group, key=lambda it: it.is_pattern))
            return
        for is_pattern in (False, True):
            for options, group in groups.items():
                yield from self._group(options, [it for it in group if it.is_pattern == is_pattern])

    def _group(self, options: Options, group: list[Subscription]) -> Iterator[Request]:
        """The commands for subscriptions with the same options."""
        # One name alone is answered in more detail.
        if self._has_batch and (len(group) > 1 or any(it.is_pattern for it in group)):
            yield from self._batch(options, group)
        else:
            for subscription in group:
                yield from self._single(options, subscription)

    def _single(self, options: Options, subscription: Subscription) -> Iterator[Request]:
        fields: dict[str, Any] = {"ch": subscription.ch, **options.fields()}
        start, rest = self._start(subscription, self._room({**fields, "from": {}}))
        # Those without room are resumed by name before the pattern, and given back to it afterwards, so that no event is
        # lost, however many there are.
        for channel in rest:
            by_name = {"ch": channel.name, **options.fields(), "from": channel.position()}
            yield Request("subscribe", by_name, resumed=[channel.name])
        yield Request("subscribe", fields | ({"from": start} if start else {}), asked=[subscription])
        for channel in rest:
            yield Request("unsubscribe", {"ch": channel.name})

    def _batch(self, options: Options, group: list[Subscription]) -> Iterator[Request]:
        room = self._room({"chs": [], **options.fields()})
        names: list[tuple[Subscription | str, Any]] = []
        patterns: list[tuple[Subscription | str, Any]] = []
        borrowed: dict[str, Channel] = {}
        for subscription in group:
            start, rest = self._start(subscription, int(room * PATTERN_PART))
            borrowed |= {channel.name: channel for channel in rest}
            entry = {"ch": subscription.ch, "from": start} if start else subscription.ch
            (patterns if subscription.is_pattern else names).append((subscription, entry))
        names += [(name, {"ch": name, "from": channel.position()}) for name, channel in borrowed.items()]
        for chunk in self._chunks(names + patterns, room):
            request = Request("subscribe", {"chs": [entry for _, entry in chunk], **options.fields()})
            for who, _ in chunk:
                if isinstance(who, str):
                    request.resumed.append(who)
                else:
                    request.asked.append(who)
            yield request
        for part in self._chunks([(name, name) for name in borrowed], room):
            yield Request("unsubscribe", {"chs": [name for name, _ in part]})

    def _start(self, subscription: Subscription, room: int) -> tuple[dict[str, Any] | None, list[Channel]]:
        """The `from` of a subscription, within so many bytes, and the channels of a pattern that find no room in it."""
        if not subscription.is_pattern:
            return _position(self._channels.get(subscription.ch)), []
        start: dict[str, Any] = {}
        rest: list[Channel] = []
        for channel in self._covered(subscription):
            position = _position(channel)
            # One that is followed by name as well resumes by its own command; one of two patterns by the first.
            if position is None or channel.name in self._subscriptions or channel.subscriptions[0] is not subscription:
                continue
            room -= len(encode({channel.name: position}))
            if room < 0:
                rest.append(channel)
            else:
                start[channel.name] = position
        return start, rest

    def _room(self, fields: Mapping[str, Any]) -> int:
        """The bytes that a command with these fields leaves."""
        return self._bytes_max - len(encode({"op": "subscribe", "id": ID_MAX, **fields}))

    def _chunks(self, entries: list[tuple[Any, Any]], room: int) -> list[list[tuple[Any, Any]]]:
        """The entries in groups that a command has room for."""
        chunks: list[list[tuple[Any, Any]]] = []
        used = 0
        for entry in entries:
            size = len(encode(entry[1])) + 1
            if not chunks or used + size > room or len(chunks[-1]) >= self._entries_max:
                chunks.append([])
                used = 0
            chunks[-1].append(entry)
            used += size
        return chunks


def _position(channel: Channel | None) -> dict[str, Any] | None:
    """Where a channel continues. None after two requests from there without a result: the image has to come."""
    return channel.position() if channel is not None and channel.doubts < 2 else None


def encode(command: Any) -> str:
    """Compact JSON, in ASCII, so that its characters are its bytes."""
    return json.dumps(command, separators=(",", ":"))
