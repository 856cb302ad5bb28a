#!/usr/bin/env python3
"""A third-party WebSocket client (Python `websockets`), against a running hub.

    pip install -r requirements.txt
    python3 websockets_client.py --url ws://127.0.0.1:8080/stream/v1 --key KEY \
        --key-without-addon KEY2

Every transport of the key, the order of the first frames, images and continuous updates, and the error of a
refused client. The last line is `N passed, N failed, N skipped`; the exit code is 1 if
anything failed.
"""

import argparse
import asyncio
import json
import sys
from urllib.parse import urlsplit, urlunsplit

import websockets
from websockets.asyncio.client import connect

# Generous: a test waits for something to happen, and a busy machine is no failure.
WAIT_S = 30
# Enough to show that `prev` continues. A match in play sends something every few seconds, the health
# of the sources now and then, the board of the day only when a score or a status changes.
UPDATES = {"match": 5, "feeds": 1, "football": 0}


class Hub:
    """Where the hub is, and the keys to try."""

    def __init__(self, arguments):
        self.url = arguments.url
        self.key = arguments.key
        self.key_without_addon = arguments.key_without_addon

    def with_query(self, query):
        return urlunsplit(urlsplit(self.url)._replace(query=query))

    def at(self, path):
        return urlunsplit(urlsplit(self.url)._replace(path=path))


async def frame(socket):
    """The next frame. Everything the hub sends is a JSON object in a text message."""
    message = await asyncio.wait_for(socket.recv(), WAIT_S)
    assert isinstance(message, str), "a binary message"
    parsed = json.loads(message)
    assert isinstance(parsed, dict) and isinstance(parsed.get("type"), str), message
    return parsed


async def reply(socket):
    """The next frame that is not a beat; a beat may come at any moment."""
    while (said := await frame(socket))["type"] == "beat":
        pass
    return said


async def hello(socket):
    first = await frame(socket)
    assert first["type"] == "hello", f"the first frame is {first['type']}"
    for field, kind in {"conn": str, "server": str, "now": int, "beat_ms": int, "limits": dict}.items():
        assert isinstance(first.get(field), kind), f"hello has {field}={first.get(field)!r}"
    return first


async def accepted(hub, url=None, selected=None, **options):
    async with connect(url or hub.url, proxy=None, **options) as socket:
        assert socket.subprotocol == selected, f"selected {socket.subprotocol!r}"
        # The library would refuse an answer we did not offer; an echo of the key we did offer it
        # would not, so that is looked for in the raw answer.
        assert hub.key not in str(socket.response.headers), "the key is in the answer"
        await hello(socket)


async def refused(url, code, error, **options):
    """The upgrade succeeds, one error frame gives the reason, and the close code repeats it."""
    async with connect(url, proxy=None, **options) as socket:
        said = await frame(socket)
        assert said["type"] == "error", f"the first frame is {said['type']}"
        assert error is None or said["code"] == error, f"the code is {said['code']}"
        assert said["retry"] is False, "it invites to try again"
        try:
            more = await frame(socket)
            raise AssertionError(f"a second frame: {more}")
        except websockets.ConnectionClosed as closed:
            assert closed.rcvd is not None, "closed without a close frame"
            assert closed.rcvd.code == code, f"closed with {closed.rcvd.code}"


# ------------------------------------------------------------------------------------- the tests


async def header_token(hub):
    await accepted(hub, additional_headers={"Authorization": f"Token {hub.key}"})


async def header_bearer(hub):
    await accepted(hub, additional_headers={"Authorization": f"Bearer {hub.key}"})


async def long_frames_are_compressed(hub):
    """The library offers compression by itself; what it inflates is what an uncompressed connection gets."""
    images = {}
    for compression in ("deflate", None):
        authorised = {"additional_headers": {"Authorization": f"Token {hub.key}"}}
        async with connect(hub.url, proxy=None, compression=compression, **authorised) as socket:
            agreed = socket.response.headers.get("Sec-WebSocket-Extensions", "")
            assert agreed.startswith("permessage-deflate") == (compression is not None), f"agreed to {agreed!r}"
            said = await hello(socket)
            assert ("deflate" in said["features"]) == (compression is not None), f"features are {said['features']}"
            # Long enough for the library to compress it, and for the hub to inflate it.
            command = {"op": "subscribe", "id": 1, "ch": "football", "unknown": "x" * 2000}
            await socket.send(json.dumps(command))
            while (said := await frame(socket))["type"] != "image":
                assert said["type"] == "subscribed", said
            images[compression] = said["data"]
    matches = [set(image["matches"]) for image in images.values()]
    assert matches[0] == matches[1] and len(json.dumps(images[None])) > 512, "the images differ"


async def subprotocol_list(hub):
    await accepted(hub, subprotocols=["matchwire.v1", "token", hub.key], selected="matchwire.v1")


async def subprotocol_token_alone(hub):
    await accepted(hub, subprotocols=["token", hub.key], selected="token")


async def query_token(hub):
    await accepted(hub, url=hub.with_query(f"token={hub.key}"))


async def query_token_with_our_subprotocol(hub):
    await accepted(hub, url=hub.with_query(f"token={hub.key}"), subprotocols=["matchwire.v1"], selected="matchwire.v1")


async def wrong_key_is_4401(hub):
    for options in (
        {"additional_headers": {"Authorization": "Token wrong-key"}},
        {"additional_headers": {"Authorization": "Bearer wrong-key"}},
        {"subprotocols": ["matchwire.v1", "token", "wrong-key"]},
    ):
        await refused(hub.url, 4401, "auth_failed", **options)
    await refused(hub.with_query("token=wrong-key"), 4401, "auth_failed")


async def no_key_is_4401(hub):
    await refused(hub.url, 4401, "auth_failed")
    await refused(hub.url, 4401, "auth_failed", subprotocols=["matchwire.v1"])


async def a_refusal_does_not_repeat_the_key(hub):
    key = "a-key-that-is-wrong-and-easy-to-find"
    async with connect(hub.url, proxy=None, subprotocols=["matchwire.v1", "token", key]) as socket:
        assert socket.subprotocol == "matchwire.v1", f"selected {socket.subprotocol!r}"
        assert key not in str(socket.response.headers), "in the headers"
        said = await asyncio.wait_for(socket.recv(), WAIT_S)
        assert key not in said, "in the error"
        try:
            await frame(socket)
        except websockets.ConnectionClosed as closed:
            assert key not in closed.rcvd.reason, "in the reason of the close"


async def key_without_addon_is_4402(hub):
    if hub.key_without_addon is None:
        return "no --key-without-addon was given"
    await refused(hub.url, 4402, "addon_required", additional_headers={"Authorization": f"Token {hub.key_without_addon}"})
    return None


async def unknown_path_is_4404(hub):
    for path in ("/stream/v9", "/stream/nothing"):
        await refused(hub.at(path), 4404, None, additional_headers={"Authorization": f"Token {hub.key}"})


async def subscribed(socket, number, name, **more):
    """Subscribes on a socket that follows nothing else yet; the hub's answer."""
    await socket.send(json.dumps({"op": "subscribe", "id": number, "ch": name, **more}))
    answer = await reply(socket)
    assert answer["type"] == "subscribed", answer
    assert (answer["id"], answer["ch"]) == (number, name), answer
    return answer


async def match_in_play(hub):
    """The channel of a football match that is being played, from the board: the one that has most of
    its half before it, since at half time nothing happens for a quarter of an hour."""
    async with connect(hub.url, proxy=None, additional_headers={"Authorization": f"Token {hub.key}"}) as socket:
        now = (await hello(socket))["now"]
        await subscribed(socket, 1, "football")
        image = await reply(socket)
        assert image["type"] == "image", image

    def left(match):
        clock, ends = match["clock"], {"first_half": 45 * 60, "second_half": 90 * 60}
        return ends[match["status"]] - clock["s"] - (now - clock["at"]) / 1e6

    in_play = {n: m for n, m in image["data"]["matches"].items() if m.get("status") in ("first_half", "second_half")}
    assert in_play, "no football match is being played"
    return f"football/{max(in_play, key=lambda number: left(in_play[number]))}"


async def image_then_continuous_updates(hub):
    match = await match_in_play(hub)
    async with connect(hub.url, proxy=None, additional_headers={"Authorization": f"Token {hub.key}"}) as socket:
        await hello(socket)
        channels = {1: "feeds", 2: "football", 3: match}
        wanted = {"feeds": UPDATES["feeds"], "football": UPDATES["football"], match: UPDATES["match"]}
        for number, name in channels.items():
            await socket.send(json.dumps({"op": "subscribe", "id": number, "ch": name}))
        confirmed, position, updates = set(), {}, dict.fromkeys(wanted, 0)
        async with asyncio.timeout(4 * WAIT_S):
            while len(position) < len(wanted) or any(updates[name] < wanted[name] for name in wanted):
                said = await frame(socket)
                name = said.get("ch")
                if said["type"] == "subscribed":
                    assert channels[said["id"]] == name, f"{name} confirmed under id {said['id']}"
                    assert isinstance(said["epoch"], str) and isinstance(said["seq"], int), said
                    confirmed.add(name)
                elif said["type"] == "image":
                    assert name in confirmed, f"an image of {name} before it was confirmed"
                    assert isinstance(said["data"], dict), "an image without a document"
                    for field in ("life", "feed", "stale_after_ms"):
                        assert field in said["data"], f"{name} has no {field}"
                    position[name] = said["seq"]
                elif said["type"] == "update":
                    assert name in position, f"an update of {name} before its image"
                    assert "patch" in said or "events" in said, "an update that says nothing"
                    # The first may reach back before the image; none may leave a hole, or come twice.
                    assert said["prev"] <= position[name] < said["seq"], (
                        f"{name} stands at {position[name]}; an update from {said['prev']} to {said['seq']}"
                    )
                    if updates[name] > 0:
                        assert said["prev"] == position[name], f"{name}: prev {said['prev']} after {position[name]}"
                    position[name] = said["seq"]
                    updates[name] += 1
                else:
                    assert said["type"] == "beat", said


async def resume_continues_where_it_was_cut(hub):
    match = await match_in_play(hub)
    headers = {"Authorization": f"Token {hub.key}"}
    async with connect(hub.url, proxy=None, additional_headers=headers) as socket:
        await hello(socket)
        await subscribed(socket, 1, match)
        image = await reply(socket)
        assert image["type"] == "image", image
        update = await reply(socket)
        assert update["type"] == "update", update
    position = {"epoch": image["epoch"], "seq": update["seq"]}
    async with connect(hub.url, proxy=None, additional_headers=headers) as socket:
        await hello(socket)
        answer = await subscribed(socket, 7, match, **{"from": position})
        assert answer["resumed"] is True, answer
        following = await reply(socket)
        assert following["type"] == "update", following
        assert following["prev"] <= position["seq"] < following["seq"], following


async def a_bad_command_is_answered_and_the_socket_stays(hub):
    async with connect(hub.url, proxy=None, additional_headers={"Authorization": f"Token {hub.key}"}) as socket:
        await hello(socket)
        for command, code in (
            ("this is not JSON", "bad_command"),
            ('{"op":"dance","id":1}', "bad_command"),
            ('{"op":"subscribe","id":2,"ch":"no//such"}', "bad_channel"),
            ('{"op":"subscribe","id":3,"ch":"football/1"}', "not_tracked"),
        ):
            await socket.send(command)
            said = await reply(socket)
            assert said["type"] == "error" and said["code"] == code, f"{command}: {said}"
        await socket.send('{"op":"ping","id":9,"t":42}')
        said = await reply(socket)
        assert (said["type"], said["id"], said["t"]) == ("pong", 9, 42), said


TESTS = [
    header_token,
    header_bearer,
    long_frames_are_compressed,
    subprotocol_list,
    subprotocol_token_alone,
    query_token,
    query_token_with_our_subprotocol,
    wrong_key_is_4401,
    no_key_is_4401,
    a_refusal_does_not_repeat_the_key,
    key_without_addon_is_4402,
    unknown_path_is_4404,
    image_then_continuous_updates,
    resume_continues_where_it_was_cut,
    a_bad_command_is_answered_and_the_socket_stays,
]


async def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="ws://HOST:PORT/stream/v1")
    parser.add_argument("--key", required=True, help="a key with the WebSocket add-on")
    parser.add_argument("--key-without-addon", help="a key without it; left out, that test is skipped")
    hub = Hub(parser.parse_args())

    passed = failed = skipped = 0
    for test in TESTS:
        name = test.__name__.replace("_", " ")
        try:
            skip = await test(hub)
        except Exception as error:  # noqa: BLE001 - each test reports any error, and the next runs
            failed += 1
            print(f"FAILED  {name}\n        {type(error).__name__}: {error}")
            continue
        if skip:
            skipped += 1
            print(f"skipped {name}: {skip}")
        else:
            passed += 1
            print(f"ok      {name}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
