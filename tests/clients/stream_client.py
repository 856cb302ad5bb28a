"""A client of `/stream/v1` that `matchwire conformance` grades (docs/CONFORMANCE.md), made of other people's parts.

    matchwire conformance -- python3 tests/clients/stream_client.py

The socket is that of the client in public_interface/, which was written only from the public description and followed the older
sockets until now. Patches are applied and documents written in canonical form by packages of other authors. Between them is the
pseudo-code of docs/PROTOCOL.md, and nothing of our clients.
"""

import json
import os
import random
import sys
import time
from pathlib import Path

import rfc8785
import websockets
from json_merge_patch import merge

sys.path.insert(0, str(Path(__file__).resolve().parent / "public_interface"))
from hashlib import sha256

from sockets import Socket

# The codes of the table "Closing" after which no attempt to return can succeed.
FINAL = {4401, 4402, 4404, 4410, 4413}


class Follower:
    def __init__(self, names):
        self.names = names
        # By channel: epoch, seq, document.
        self.known = {}
        self.asked, self.later = {}, {}
        self.socket = self.hello = None
        self.number = 0
        self.reconnect_after = None

    def follow(self):
        """One connection after the other; returns when the hub has closed for good."""
        while True:
            try:
                code = self.connection()
            except (OSError, websockets.InvalidHandshake):
                code = None
            if code in FINAL:
                return
            time.sleep(random.uniform(0, 0.5) if self.reconnect_after is None else self.reconnect_after)

    def connection(self):
        self.reconnect_after, self.asked, self.later, self.hello = None, {}, {}, None
        base_url = os.environ["MATCHWIRE_URL"].replace("ws", "http", 1).removesuffix("/stream/v1")
        with Socket(base_url, "/stream/v1", os.environ["MATCHWIRE_KEY"]) as self.socket:
            try:
                while True:
                    beat_s = self.hello["beat_ms"] / 1000 if self.hello else 5
                    try:
                        self.receive(self.socket.frame(timeout=self.wait(2 * beat_s + min(beat_s, 1))))
                    except TimeoutError:
                        if not self.due():
                            return None
                        self.ask(self.due())
            except websockets.ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd else None

    def wait(self, silence_s):
        return max(0, min([silence_s, *(at - time.monotonic() for at in self.later.values())]))

    def due(self):
        return [name for name, at in self.later.items() if at <= time.monotonic()]

    def ask(self, names):
        for name in names:
            self.later.pop(name, None)
            self.number += 1
            self.asked[self.number] = name
            command = {"op": "subscribe", "id": self.number, "ch": name}
            if "*" in name:
                positions = {ch: {"epoch": epoch, "seq": seq} for ch, (epoch, seq, _) in self.known.items() if covers(name, ch)}
                command |= {"from": positions} if positions else {}
            elif name in self.known:
                epoch, seq, _ = self.known[name]
                command["from"] = {"epoch": epoch, "seq": seq}
            self.socket.say(json.dumps(command))

    def receive(self, frame):
        name = frame.get("ch")
        match frame["type"]:
            case "hello":
                self.hello = frame
                self.ask(self.names)
            case "subscribed":
                self.asked.pop(frame["id"], None)
            case "image":
                self.known[name] = frame["epoch"], frame["seq"], frame["data"]
                self.show(name, [])
            case "update" if name in self.known:
                epoch, seq, document = self.known[name]
                if frame["seq"] <= seq:
                    return
                if frame["prev"] > seq:
                    if name not in self.asked.values():
                        self.ask([name])
                    return
                self.known[name] = epoch, frame["seq"], merge(document, frame.get("patch", {}))
                self.show(name, frame.get("events", []))
            case "unsubscribed" if frame.get("id") is None:
                self.known.pop(name, None)
            case "entitlement":
                for ended in frame["ended"]:
                    self.known.pop(ended, None)
            case "error" if (asked := self.asked.pop(frame.get("id"), None)) and frame["retry"]:
                self.known.pop(asked, None)
                self.later[asked] = time.monotonic() + self.hello["beat_ms"] / 1000
            case "bye":
                self.reconnect_after = frame["reconnect_after_ms"] / 1000

    def show(self, name, events):
        epoch, seq, document = self.known[name]
        line = {"ch": name, "epoch": epoch, "seq": seq, "sha256": sha256(canonical(document)).hexdigest()}
        print(json.dumps(line | {"events": [event["eid"] for event in events]}), flush=True)


def canonical(document):
    """The package takes integers of 53 bits only; JSON has longer ones, which are doubles to RFC 8785."""
    return rfc8785.dumps(json.loads(json.dumps(document), parse_int=lambda text: int(text) if abs(int(text)) < 2**53 else float(text)))


def covers(pattern, name):
    parts, segments = pattern.split("/"), name.split("/")
    return len(parts) == len(segments) and all(part in ("*", segment) for part, segment in zip(parts, segments, strict=True))


if __name__ == "__main__":
    Follower(os.environ["MATCHWIRE_CHANNELS"].split()).follow()
