"""Follows a hub in a terminal, and records it.

    python -m matchwire watch football/204849
    python -m matchwire record football/204849 'football/204849/odds/*' > match.frames
    python -m matchwire replay match.frames --speed 20

The hub and the key are MATCHWIRE_URL and MATCHWIRE_KEY, or --url and --key; a key on the command line can be seen by
others on the same machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import IO, Any

from . import Change, Client, Event, MatchwireError, OddsView, View
from .odds import reason
from .protocol import Speed
from .replay import RECORDED_TYPES, replay_async

DEFAULT_URL = "ws://127.0.0.1:8080"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit code."""
    options = _parser().parse_args(arguments)
    try:
        asyncio.run(_until_stopped(options))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read the output has enough. Python would complain again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (MatchwireError, OSError, ValueError) as error:
        print(f"matchwire: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m matchwire", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    hub = argparse.ArgumentParser(add_help=False)
    hub.add_argument("--url", default=os.environ.get("MATCHWIRE_URL", DEFAULT_URL), help="the hub (MATCHWIRE_URL)")
    hub.add_argument("--key", default=os.environ.get("MATCHWIRE_KEY"), help="an API key (MATCHWIRE_KEY)")
    hub.add_argument("--seconds", type=float, help="stop after so many seconds")
    watch = commands.add_parser("watch", parents=[hub], help="show channels as they change")
    watch.add_argument("channels", nargs="+", metavar="CHANNEL", help="a channel or a pattern: football/204849, tennis/*")
    record = commands.add_parser("record", parents=[hub], help="write the frames of channels to stdout, one a line")
    record.add_argument("channels", nargs="+", metavar="CHANNEL")
    play = commands.add_parser("replay", help="show a recording")
    play.add_argument("file")
    play.add_argument("channels", nargs="*", metavar="CHANNEL")
    play.add_argument("--speed", type=_speed, default="max", help="from 0.1 to 100, or max")
    return parser


def _speed(text: str) -> Speed:
    return "max" if text == "max" else float(text)


async def _until_stopped(options: argparse.Namespace) -> None:
    """Runs the command until it ends, or until SIGINT or SIGTERM, which are no errors."""
    run = {"watch": _watch, "record": _record, "replay": _replay}[options.command]
    task = asyncio.ensure_future(run(options))
    loop = asyncio.get_running_loop()
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # Windows: Ctrl-C is a KeyboardInterrupt.
            pass
    try:
        await asyncio.wait_for(task, getattr(options, "seconds", None))
    except asyncio.TimeoutError as error:
        if isinstance(error, MatchwireError):
            raise
    except asyncio.CancelledError:
        if not stopped:
            raise


async def _watch(options: argparse.Namespace) -> None:
    async with Client(options.url, key=options.key) as hub:
        await _all(options.channels, lambda ch: _show_all(hub, ch))


async def _show_all(hub: Client, ch: str) -> None:
    if "*" in ch:
        async for view, change in hub.updates(ch):
            _show(view, change)
        return
    view = await hub.follow(ch)
    print(headline(view), flush=True)
    async for change in view:
        _show(view, change)


async def _record(options: argparse.Namespace) -> None:
    output: IO[bytes] = sys.stdout.buffer
    loop = asyncio.get_running_loop()
    failed: asyncio.Future[None] = loop.create_future()

    def write(message: bytes) -> None:
        try:
            # Looked at before parsing: most frames are of interest.
            if json.loads(message).get("type") in RECORDED_TYPES:
                output.write(message + b"\n")
                output.flush()
        except OSError as error:
            if not failed.done():
                failed.set_exception(error)

    async with Client(options.url, key=options.key, on_frame=write) as hub:
        following = asyncio.ensure_future(_all(options.channels, lambda ch: _drain(hub, ch)))
        done, _ = await asyncio.wait([following, failed], return_when=asyncio.FIRST_COMPLETED)
        following.cancel()
        for it in done:
            it.result()


async def _drain(hub: Client, ch: str) -> None:
    async for _ in hub.updates(ch) if "*" in ch else await hub.follow(ch):
        pass


async def _replay(options: argparse.Namespace) -> None:
    async for view, change in replay_async(options.file, options.channels or None, speed=options.speed):
        _show(view, change)


async def _all(channels: Sequence[str], run: Callable[[str], Coroutine[Any, Any, None]]) -> None:
    tasks = [asyncio.ensure_future(run(ch)) for ch in channels]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _show(view: View[Any], change: Change) -> None:
    if change.missed is not None:
        missed = change.missed
        print(f"{view.name}  missed {missed.from_seq}..{missed.to_seq}: {missed.why}", flush=True)
    for event in change.events:
        print(f"{view.name}  {describe(event)}", flush=True)
    if change.kind == "image" or change.health != change.previous_health or _is_news(change):
        print(headline(view), flush=True)


def _is_news(change: Change) -> bool:
    return any(change.changed(path) for path in ("score", "status", "sets", "game", "markets", "matches", "suspended"))


def headline(view: View[Any]) -> str:
    """A document in one line."""
    data: Mapping[str, Any] = view.data
    parts = [view.name, f"[{view.health}]"]
    sides = [(data.get(it) or {}).get("name") for it in ("home", "away", "p1", "p2") if data.get(it)]
    if len(sides) == 2:
        parts.append(" v ".join(map(str, sides)))
    if score := data.get("score"):
        parts.append(f"{score.get('home')}-{score.get('away')}")
    parts += [f"{it.get('p1')}-{it.get('p2')}" for it in (data.get("sets") or {}).values()]
    if (second := view.clock_s()) is not None:
        parts.append(f"{int(second) // 60}:{int(second) % 60:02d}")
    if status := data.get("status"):
        parts.append(str(status))
    if isinstance(view, OddsView):
        parts += list(_prices(view))
    if "matches" in data:
        live = sum(it.get("life") == "live" for it in data["matches"].values())
        parts.append(f"{len(data['matches'])} matches, {live} live")
    return "  ".join(parts)


def _prices(view: OddsView) -> Iterator[str]:
    data: Mapping[str, Any] = view.data
    for market in (data.get("markets") or {}).values():
        if market.get("kind") != "match_winner":
            continue
        for id, selection in (market.get("selections") or {}).items():
            why = reason(data, market, selection)
            yield f"{selection.get('outcome') or id} {selection.get('price') if why is None else why}"


def describe(event: Event) -> str:
    """An event in one line."""
    fields = ", ".join(f"{name}={value}" for name, value in event.raw.items() if name not in ("kind", "eid", "signal"))
    return f"{event.kind} {event.eid}" + (f": {fields}" if fields else "")


if __name__ == "__main__":
    sys.exit(main())
