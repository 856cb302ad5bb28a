#!/usr/bin/env python3
"""What a football match costs in bytes on the wire: whole, in part, and compressed.

Plays a recording on a hub and follows the match on several sockets at the same time. Bytes are those of WebSocket frames with
images and updates, without beats and replies.

    benches/bytes.py --program target/release/matchwire ../shared/feeds/wyscout/2058017.events.json.gz

whole       every change, as the hub renders it
states      what it would cost to send the whole document at each of these changes instead
score       `pick` of the score and the status, and goals as the only events
deflate     every change, compressed
merged      compressed, and merged within one second of the match: at ten times its speed, `every_ms` is 100

Standard library only.
"""

import argparse, base64, json, os, re, selectors, socket, subprocess, tempfile, time, zlib
from pathlib import Path

SPEED, EVERY_MS = 10, 100
PATTERN = "football/*"

FOLLOWERS = {
    "whole": (False, {}),
    "score": (False, {"pick": ["/score", "/status"], "events": ["goal"]}),
    "deflate": (True, {}),
    "merged": (True, {"every_ms": EVERY_MS}),
}


def merge(target, patch):
    if not isinstance(patch, dict):
        return patch
    target = target if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        else:
            target[name] = merge(target.get(name), value)
    return target


class Follower:
    def __init__(self, address, key, deflate, options):
        self.stream = socket.create_connection(address)
        nonce = base64.b64encode(os.urandom(16)).decode()
        extension = "Sec-WebSocket-Extensions: permessage-deflate\r\n" if deflate else ""
        self.stream.sendall(
            f"GET /stream/v1 HTTP/1.1\r\nHost: {address[0]}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{extension}"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {nonce}\r\nAuthorization: Token {key}\r\n\r\n".encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.stream.recv(1)
        if b" 101 " not in head or (deflate and b"permessage-deflate" not in head):
            raise SystemExit(f"refused: {head!r}")
        self.unread, self.bytes, self.updates, self.states, self.documents, self.ended = bytearray(), 0, 0, 0, {}, False
        command = json.dumps({"op": "subscribe", "id": 1, "ch": PATTERN, **options}).encode()
        size = bytes([0x80 | len(command)]) if len(command) < 126 else b"\xfe" + len(command).to_bytes(2, "big")
        self.stream.sendall(b"\x81" + size + bytes(4) + command)

    def receive(self):
        data = self.stream.recv(1 << 18)
        if not data:
            raise SystemExit("the hub has closed a socket")
        self.unread += data
        while len(self.unread) >= 2:
            size, head = self.unread[1] & 127, 2
            if size >= 126:
                head = 4 if size == 126 else 10
                size = int.from_bytes(self.unread[2:head], "big")
            if len(self.unread) < head + size:
                return
            payload = bytes(self.unread[head : head + size])
            first = self.unread[0]
            del self.unread[: head + size]
            if first & 0x0F != 1:
                # The hub asks whether we are still here.
                self.stream.sendall(b"\x8a\x80" + bytes(4))
                continue
            if first & 0x40:
                payload = zlib.decompressobj(-15).decompress(payload + b"\0\0\xff\xff")
            self.take(json.loads(payload), head + size)

    def take(self, frame, size):
        kind = frame["type"]
        if kind == "image":
            self.documents[frame["ch"]] = frame["data"]
        elif kind == "update":
            self.updates += 1
            document = self.documents[frame["ch"]] = merge(self.documents[frame["ch"]], frame.get("patch", {}))
            self.states += len(json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode())
            self.ended = self.ended or document.get("life") == "ended"
        else:
            return
        self.bytes += size


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    arguments.add_argument("--program", type=Path, default=Path("target/release/matchwire"))
    arguments.add_argument("--seconds", type=float, default=900, help="at most, a tenth of the match's time")
    arguments.add_argument("recording", type=Path)
    options = arguments.parse_args()
    program = str(options.program.absolute())
    with tempfile.TemporaryDirectory(prefix="matchwire-bytes-") as folder:
        database = f"{folder}/hub.db"
        command = [program, "replay", "--hold", "--speed", str(SPEED), "--listen", "127.0.0.1:0", "--db", database]
        hub = subprocess.Popen(
            [*command, str(options.recording.absolute())], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            line = ""
            while not (found := re.search(r"http://127\.0\.0\.1:(\d+)", line)):
                line = hub.stdout.readline()
                if not line:
                    raise SystemExit("the hub has ended")
            create = [program, "key", "create", "--addon", "websocket", "--db", database]
            key = subprocess.run(create, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
            address = ("127.0.0.1", int(found.group(1)))
            followers = {name: Follower(address, key, *what) for name, what in FOLLOWERS.items()}
            choose = selectors.DefaultSelector()
            for follower in followers.values():
                choose.register(follower.stream, selectors.EVENT_READ, follower)
            until = time.monotonic() + options.seconds
            while time.monotonic() < until and not all(it.ended for it in followers.values()):
                for ready, _ in choose.select(1):
                    ready.data.receive()
        finally:
            hub.terminate()
            hub.wait(60)
    whole = followers["whole"]
    print(f"{options.recording.name}: {whole.updates} changes, {whole.states:,} bytes as whole states")
    for name, follower in followers.items():
        of_whole, of_states = 100 * follower.bytes / whole.bytes, 100 * follower.bytes / whole.states
        print(f"{name:8} {follower.updates:7} updates {follower.bytes:11,} bytes {of_whole:7.2f} % of whole {of_states:6.2f} % of states")


if __name__ == "__main__":
    main()
