"""Commands and frames on sockets."""

import json
import os

from attack import attack, control_says, key, says
from generator import HEAD_END, Until
from wire import CONTINUATION, PING, PONG, TEXT, command, deflated, frame, upgrade

from .findings import DEFLATE, all_channels


@says("socket: ping commands", 20)
def ping_commands(_hub):
    return [command("ping") * 50]


@says("socket: pings of the protocol, 125 bytes", 20)
def pings(_hub):
    return [frame(b"x" * 125, PING) * 50]


@says("socket: pongs that nobody asked for", 20)
def pongs(_hub):
    return [frame(b"", PONG) * 100]


@says("socket: a command in 1,000 fragments", 20)
def fragments(_hub):
    text = json.dumps({"op": "ping", "id": 1, "t": "x" * 980}).encode()
    parts = [bytes([byte]) for byte in text]
    return [b"".join(frame(part, CONTINUATION if at else TEXT, fin=at == len(parts) - 1) for at, part in enumerate(parts))]


@says("socket: empty fragments without end", 20)
def empty_fragments(_hub):
    return [frame(b"", TEXT, fin=False) + frame(b"", CONTINUATION, fin=False) * 500]


@says("socket: deep JSON", 20)
def deep(_hub):
    return [frame(b'{"op":' + b"[" * 16000), frame(b'{"op":"ping","id":1,"x":' + b"[" * 8000 + b"]" * 8000 + b"}")]


@says("socket: no JSON, over and over", 20)
def no_json(_hub):
    return [frame(b"x" * 1000) * 20]


@says("socket: many small members", 20)
def members(_hub):
    return [frame(json.dumps({"op": "ping", "id": 1} | {f"m{n}": n for n in range(1200)}).encode())]


@says("socket: commands at the limit of their size", 20)
def large(_hub):
    return [command("subscribe", chs=[f"football/{n}/odds/somebookmaker" for n in range(7000)])]


@says("socket: compressed bombs", 20, headers=DEFLATE)
def bombs(_hub):
    return [deflated('{"op":"ping","id":1,"t":"' + "x" * 16_000_000 + '"}')]


@says("socket: compressed noise", 20, headers=DEFLATE)
def noise(_hub):
    return [frame(os.urandom(16000), compressed=True)]


@says("socket: subscribe and unsubscribe by wildcards", 20)
def churn(_hub):
    return [command("subscribe", ch="*/*/odds/*"), command("unsubscribe", ch="*/*/odds/*")]


@says("socket: 1,000 patterns of which none matches", 20)
def patterns(_hub):
    chs = [f"*/nothing/*/{n}" for n in range(500)]
    return [command("subscribe", chs=chs), command("unsubscribe", chs=chs)]


@says("socket: images of the board, over and over", 20)
def board_images(_hub):
    return [command("subscribe", ch="football"), command("unsubscribe", ch="football")]


@says("socket: resume from positions that do not exist", 20)
def resumes(hub):
    return [command("subscribe", ch="football/*", **{"from": {f"football/{id}": {"epoch": "x", "seq": 1} for id in hub.matches[:250]}})]


@says("socket: cursors", 20)
def cursors(_hub):
    return [command("cursor") * 50]


@says("socket: a cursor as position, over and over", 20, setup=all_channels)
def from_cursor(_hub):
    return [command("subscribe", ch="football/*", **{"from": "AAAAAAAAAAAAAAAAAAAAAA"})]


@says("socket: picks of the board", 20)
def picks(_hub):
    paths = [f"/matches/*/{name}" for name in ("home", "away", "score", "clock", "status", "start", "competition", "life")]
    return [command("subscribe", ch="football", pick=[*paths[: n % 8], "/matches/*"]) for n in range(8)]


@says("socket: a pick of its own for each subscription", 20)
def picks_apart(hub):
    return [command("subscribe", ch="football", pick=[f"/matches/{id}/score"]) for id in hub.matches]


@says("socket: hash without pause", 20, setup=(command("subscribe", ch="football"),))
def hash_storm(_hub):
    return [command("hash", ch="football")]


@says("socket: hash of each of many channels", 20, setup=all_channels)
def hash_many(hub):
    return [command("hash", ch=f"football/{id}/odds") for id in hub.matches]


@says("socket: rates changed on 10,000 channels", 20, setup=all_channels)
def rates(_hub):
    return [command("set", ch="*/*/odds/*", every_ms=every_ms) for every_ms in (100, 250, 500)]


@says("socket: replays that seek", 4, setup=lambda hub: [command("subscribe", ch=hub.replayed[0], replay={"from": "start"})])
def seeks(_hub):
    return [command("replay", replay="r1", seek={"seq": seq}) for seq in (500, 1)]


@says("socket: replays at full speed, over and over", 10, every_s=0.02)
def fast_replays(hub):
    return [command("subscribe", ch=match, replay={"from": "start", "speed": "max"}) for match in hub.replayed]


@says("socket: everything, read by nobody", 100, setup=(), reads=False, receive_buffer=2048, every_s=0.5)
def unread(_hub):
    return [command("subscribe", chs=["*", "*/*", "*/*/odds", "*/*/odds/*"], on_slow="merge")]


@says("socket: everything on 100 sockets", 100, every_s=3600)
def everything(_hub):
    return [command("subscribe", chs=["*", "*/*", "*/*/odds", "*/*/odds/*"])]


@says("socket: lag reports of readers that do not read", 100, reads=False, receive_buffer=2048, every_s=0.1)
def lag(_hub):
    return [command("subscribe", chs=["football", "football/*"], lag=True, on_slow="resync"), command("cursor")]


@says("socket: the older sockets' commands", 20, path="/ws/live/")
def older(_hub):
    return [frame(json.dumps({"action": "subscribe", "event_id": n, "events": list(range(500))}).encode()) for n in range(20)]


@attack("socket: opened and closed", 60, control_says)
def opened(hub, number):
    yield upgrade(key=key(hub, "paying", number))
    yield Until(HEAD_END)


@attack("socket: opened without a key", 60, control_says, strangers=True)
def no_key(_hub, number):
    yield upgrade(key=f"mw_{number:048x}")
    yield Until(HEAD_END)


@says("ingest: refused lines that fill the quarantine", 16, who="bad_feed", path="/ingest/v1/bad")
def quarantine(_hub):
    return [frame(b"\n".join(json.dumps({"sport": "football", "match": f"{n}", "fact": {"nothing": "x" * 500}}).encode() for n in range(100)))]
