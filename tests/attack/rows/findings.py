"""The findings of an attacker's trial."""

import itertools
import json

from attack import asks, attack, control_asks, holds, says
from generator import ANSWER
from wire import command, deflated, request, tool

# Nine segments: more words over {name, *} than a request may have patterns.
WORDS = ["/".join(word) + "/*" for word in itertools.product("a*", repeat=8)]
DEFLATE = {"Sec_WebSocket_Extensions": "permessage-deflate"}


@asks("1 sse: each pattern covers each position", 12)
def sse_product(hub):
    positions = ",".join(f"a/a/a/a/a/a/a/a/{n}=e.1" for n in range(2500))
    return [request("/stream/v1/sse/?" + "&".join(f"ch={word}" for word in WORDS[:195]), hub.paying, Last_Event_ID=positions)]


@asks("2 at_least: one request that waits", 1)
def at_least(hub):
    return [request("/stream/v1/channels/football?at_least=99999999999", hub.paying)]


@asks("2 at_least: 60 requests on 60 channels", 60)
def at_least_many(hub):
    return [request(f"/stream/v1/channels/football/{id}/odds?at_least=99999999999", hub.paying) for id in hub.matches[:60]]


def all_channels(_hub):
    return [command("subscribe", chs=["football/*", "*/*/odds", "*/*/odds/*"])]


@says("3a unsubscribe: 990 patterns of a full socket", 4, setup=all_channels, every_s=0.1)
def unsubscribe(_hub):
    chs = [f"*/*/odds/{n}" for n in range(990)]
    return [command("subscribe", chs=chs), command("unsubscribe", chs=chs)]


@says("3b set: a toggle on each channel of a pattern", 10, setup=all_channels)
def toggle_lag(_hub):
    return [command("set", ch="*/*/odds/*", lag=lag) for lag in (False, True)]


@says("3c commands that inflate to 16 KiB", 20, headers=DEFLATE)
def inflating(_hub):
    nested = ",".join(["[[]]"] * 3260)
    return [deflated('{"op":"x","v":[' + nested + "]}")]


@says("3d hash of the board, once a second", 90, setup=(command("subscribe", ch="football"),), every_s=1)
def hashes(_hub):
    return [command("hash", ch="football")]


@holds("4 bodies that never come: /mcp", 1100, hub="narrow")
def mcp_bodies(hub):
    return [request("/mcp", hub.free, "POST", Content_Type="application/json", Accept="application/json, text/event-stream", Content_Length=65000)]


@holds("4 bodies that never come: every route with a body", 1100, hub="narrow")
def bodies(hub):
    paths = ["/mcp", "/tennis/mcp", "/api/v2/webhooks/", "/api/v2/stream/ticket/", "/oauth/token/", "/oauth/revoke/", "/login/", "/register/",
             "/reset/", "/webhooks/stripe/", "/webhooks/paypal/", "/ingest/v1/bad", "/dashboard/settings/", "/healthz", "/api/v2/events/"]
    form = {"Content_Type": "application/x-www-form-urlencoded", "Origin": "http://127.0.0.1"}
    return [request(path, hub.bad_feed if "ingest" in path else hub.free, "POST", Content_Length=1000, **form) + b"a=" for path in paths]


@attack("5 webhooks that answer after 9.5 s", 40, control_asks, judges=("ping", "update", "rest", "health", "hook"))
def slow_webhooks(hub, number):
    key = hub.frees[number % len(hub.frees)]
    yield request("/api/v2/webhooks/", key, "POST", {"url": f"{hub.slow_hook}{number}", "events": ["goal"]})
    made = yield ANSWER
    if made.status == 201:
        id = json.loads(made.body)["id"]
        for _ in range(12):
            yield request(f"/api/v2/webhooks/{id}/test/", key, "POST")
            yield ANSWER
    yield 3600


@asks("6 strangers: /test/{epoch}/ with br", 60, strangers=True)
def test_epochs(hub):
    return [request(f"/test/{epoch}/", Accept_Encoding="br") for epoch in hub.epochs]


@asks("7 find: two long names", 60)
def find(hub):
    names = ["Selvan" + "aeio"[n % 4] * 89 for n in range(8)]
    return [tool(hub.free, "find", {"q": f"{a} v {b}"}) for a, b in itertools.permutations(names, 2)]


@asks("8 forged payments while the log stands still", 40, strangers=True, hub="stalled")
def forged(_hub):
    return [request("/webhooks/stripe/", None, "POST", b'{"id":"evt_1","type":"checkout.session.completed"}', Stripe_Signature="t=1,v1=00")]


@says("9 named keys: subscribe to everything, over and over", 20, who="named")
def subscribe_storm(hub):
    chs = [f"football/{id}/odds" for id in hub.matches[:200]]
    return [command("subscribe", chs=chs), command("unsubscribe", chs=chs)]


@says("9 named keys: resume from far back, over and over", 20, who="named")
def resume_storm(hub):
    return [command("subscribe", chs=hub.beginnings), command("unsubscribe", chs=[each["ch"] for each in hub.beginnings])]


@says("9 named keys: all replays", 20, who="named", every_s=0.05)
def replays(hub):
    return [command("subscribe", ch=match, replay={"from": "start", "speed": 100}) for match in hub.replayed]


@holds("10 strangers: heads that do not end", 1000, strangers=True, hub="descriptors")
def unfinished(_hub):
    return [b"GET / HTTP/1.1\r\nHost: a\r\n"]
