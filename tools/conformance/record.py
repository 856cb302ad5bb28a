#!/usr/bin/env python3
"""Records a script from a running hub: scripts/recorded-match.jsonl, in the format of README.md.

    pip install websockets
    python3 tools/conformance/record.py target/release/matchwire

It starts the hub on its simulated day, follows a football match, a book of it, a tennis match and the board of football, is cut,
comes back, and lives through a restart of the hub. Each expected hash is the hub's own answer to `hash`; each frame is as it came. What is
recorded differs each time, because the day is played by the clock.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

FILE = Path(__file__).resolve().parent / "scripts" / "recorded-match.jsonl"
SETTINGS = {"MATCHWIRE_DEMO_PAST": "false", "MATCHWIRE_DEMO_SPEED": "30", "MATCHWIRE_DEMO_HEAD_START_MINUTES": "20", "MATCHWIRE_LOGGING_FILTER": "warn"}
# Frames of each connection. The books change most; half a second merges their changes.
FRAMES = 90
ODDS_MS = 1000
AWAY_S = 3


class Hub:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def start(self):
        command = [self.program, "serve", "--listen", "127.0.0.1:0", "--db", "hub.db"]
        env = os.environ | SETTINGS | {"MATCHWIRE_LOG_FOLDER": str(Path(self.folder, "log"))}
        self.process = subprocess.Popen(command, cwd=self.folder, env=env, stdout=subprocess.PIPE, text=True)
        address = key = None
        for line in self.process.stdout:
            address = address or (found := re.search(r"listening on http://(\S+)", line)) and found[1]
            key = key or (found := re.search(r"demo key\s+(mw_\w+)", line)) and found[1]
            if address and key:
                self.url, self.key = f"ws://{address}/stream/v1", key
                return
        sys.exit("the hub does not start")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)

    def ended(self):
        self.process.wait(60)


class Recorder:
    def __init__(self, hub):
        self.hub, self.steps, self.frames, self.number = hub, [], 0, 0
        # Epoch and sequence of each channel, its events since the last expectation, and the documents' `life` and `feed`.
        self.positions, self.events, self.states = {}, {}, {}

    def open(self, names):
        self.socket = connect(self.hub.url, proxy=None, max_size=None, max_queue=None, additional_headers={"Authorization": f"Token {self.hub.key}"})
        hello = self.next()
        # What is played from the script is offered, and no more.
        self.steps.append({"open": hello | {"features": ["batch"]}})
        wanted = {}
        for name in names:
            # A copy: the position goes on.
            origin = dict(self.positions[name]) if name in self.positions else None
            command = {"ch": name} | ({"from": origin} if origin else {}) | ({"every_ms": ODDS_MS} if "odds" in name else {})
            self.send("subscribe", **command)
            answer = self.until("subscribed")
            wanted[name] = {"from": origin, "answer": {field: answer[field] for field in ("epoch", "seq", "resumed", "why") if field in answer}}
        # Images and updates that came between the answers belong behind all of them: the script has one step for all.
        at = next(index for index in reversed(range(len(self.steps))) if "open" in self.steps[index])
        self.steps.insert(at + 1, {"subscribe": wanted})

    def send(self, op, **fields):
        self.number += 1
        self.socket.send(json.dumps({"op": op, "id": self.number, **fields}))

    def next(self):
        return json.loads(self.socket.recv(timeout=30))

    def until(self, kind):
        while (frame := self.next())["type"] != kind:
            self.take(frame)
        return frame

    def take(self, frame):
        """Records a frame, and what a client knows from it."""
        if frame["type"] not in ("image", "update", "beat", "resync"):
            sys.exit(f"not expected here: {frame}")
        self.steps.append({"send": frame})
        self.frames += 1
        name = frame.get("ch")
        if frame["type"] == "image":
            self.positions[name] = {"epoch": frame["epoch"], "seq": frame["seq"]}
            self.states[name] = {field: frame["data"][field] for field in ("life", "feed")}
        elif frame["type"] == "update" and frame["seq"] > self.positions[name]["seq"]:
            self.positions[name]["seq"] = frame["seq"]
            self.events.setdefault(name, []).extend(event["eid"] for event in frame.get("events", ()))
            self.states[name] |= {field: frame["patch"][field] for field in ("life", "feed") if field in frame.get("patch", {})}

    def follow(self, frames):
        until = self.frames + frames
        while self.frames < until:
            self.take(self.next())

    def prove(self, names):
        """Expects what the hub has by its own hashes. Whatever comes of a channel after its hash is left out."""
        left = set(names)
        for name in names:
            self.send("hash", ch=name)
        while left:
            frame = self.next()
            name = frame.get("ch")
            if frame["type"] == "hash" and (frame["epoch"], frame["seq"]) == tuple(self.positions[name].values()):
                left.remove(name)
                state = self.states[name]
                health = "ended" if state["life"] == "ended" else state["feed"]
                expected = {field: frame[field] for field in ("ch", "epoch", "seq", "sha256")}
                self.steps.append({"expect": expected | {"events": self.events.pop(name, []), "health": health}})
            elif frame["type"] in ("hash", "error"):
                time.sleep(1)
                self.send("hash", ch=name)
            elif name in left:
                self.take(frame)

    def cut(self):
        self.socket.close()
        self.steps.append({"cut": True})

    def drain(self, hub):
        """The hub stops. Frames that still come are left out: the last expectations hold."""
        hub.stop()
        bye = None
        try:
            while True:
                frame = self.next()
                bye = frame if frame["type"] == "bye" else bye
        except ConnectionClosed as closed:
            self.steps += [{"send": bye}, {"close": {"code": closed.rcvd.code, "reason": closed.rcvd.reason}}]
        hub.ended()


def board(hub, sport):
    with connect(f"{hub.url}?token={hub.key}", proxy=None, max_size=None) as socket:
        socket.send(json.dumps({"op": "subscribe", "id": 1, "ch": sport}))
        while (frame := json.loads(socket.recv(timeout=30)))["type"] != "image":
            pass
    return frame["data"]["matches"]


def in_play(hub, sport):
    """The match that has been in play for the shortest time."""
    while not (live := [(it["start"], number) for number, it in board(hub, sport).items() if it.get("life") == "live"]):
        time.sleep(1)
    return f"{sport}/{max(live)[1]}"


def main():
    with tempfile.TemporaryDirectory(prefix="matchwire-record-") as folder:
        hub = Hub(Path(sys.argv[1]).resolve(), folder)
        hub.start()
        try:
            football, tennis = in_play(hub, "football"), in_play(hub, "tennis")
            names = [football, f"{football}/odds/amberline", tennis, "football"]
            recorder = Recorder(hub)
            for _ in range(3):
                recorder.open(names)
                recorder.follow(FRAMES)
                recorder.prove(names)
                recorder.cut()
                time.sleep(AWAY_S)
            recorder.open(names)
            recorder.follow(FRAMES // 2)
            recorder.prove(names)
            recorder.drain(hub)
            hub.start()
            recorder.open(names)
            recorder.follow(FRAMES)
            recorder.prove(names)
            recorder.socket.close()
        finally:
            hub.process.kill()
    about = (
        f"{recorder.frames} frames of a hub on its simulated day: a football match with a book, a tennis match and the board. "
        "The connection is cut three times, and the hub restarts. The hashes are the hub's own."
    )
    steps = [{"case": FILE.stem, "about": about, "follow": names}, *recorder.steps]
    FILE.write_text("".join(json.dumps(step, ensure_ascii=False, separators=(",", ":")) + "\n" for step in steps))
    print(f"{FILE.name}: {recorder.frames} frames, {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
