#!/usr/bin/env python3
"""Attacks its own hub with HTTP clients that request its largest file and never read, and reports the cost.

    benches/slow_readers.py target/release/matchwire
    benches/slow_readers.py target/release/matchwire --connections 3000 --seconds 60

It needs nothing but Python. Two programs are compared by running it with each. What is said, as one line of JSON each:
before, while they are held (each few seconds) and after: memory of the hub, connections of the attack that still
stand, the time of `/healthz`, and the delay from publication to arrival for a WebSocket client that follows the demo.
"""

import argparse
import base64
import json
import os
import re
import resource
import select
import socket
import struct
import subprocess
import tempfile
import threading
import time

LARGE = "/api/docs/swagger-ui-bundle.js"


def say(**facts):
    print(json.dumps(facts), flush=True)


class Follower(threading.Thread):
    """A WebSocket client that follows everything and records the delay of each update, in milliseconds."""

    def __init__(self, address, key):
        super().__init__(daemon=True)
        self.lock, self.delays = threading.Lock(), []
        self.stream = socket.create_connection(address)
        nonce = base64.b64encode(os.urandom(16)).decode()
        self.stream.sendall((
            f"GET /stream/v1?token={key} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {nonce}\r\n\r\n").encode())
        self.read = self.stream.makefile("rb")
        if b" 101 " not in self.read.readline():
            raise SystemExit("the follower was refused")
        while self.read.readline() not in (b"\r\n", b""):
            pass
        for number, pattern in enumerate(["football/*", "football/*/odds/*", "tennis/*", "tennis/*/odds/*"]):
            self.send(1, json.dumps({"op": "subscribe", "id": number, "ch": pattern}).encode())

    def send(self, kind, payload):
        length = struct.pack("!B", 0x80 | len(payload)) if len(payload) < 126 else struct.pack("!BH", 0xFE, len(payload))
        self.stream.sendall(bytes([0x80 | kind]) + length + b"\0\0\0\0" + payload)

    def run(self):
        while head := self.read.read(2):
            length = head[1] & 0x7F
            if length == 126:
                length, = struct.unpack("!H", self.read.read(2))
            elif length == 127:
                length, = struct.unpack("!Q", self.read.read(8))
            payload, now = self.read.read(length), time.time()
            if head[0] & 0x0F == 9:
                self.send(10, payload)
            elif head[0] & 0x0F == 1 and (frame := json.loads(payload)).get("type") == "update":
                with self.lock:
                    self.delays.append(now * 1000 - frame["at"]["pub"] / 1000)

    def taken(self):
        """The delays since the last look: how many, the median, the 99th percentile and the most."""
        with self.lock:
            delays, self.delays = sorted(self.delays), []
        if not delays:
            return {"updates": 0}
        at = lambda share: round(delays[min(len(delays) - 1, int(len(delays) * share))], 2)
        return {"updates": len(delays), "p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1)}


def memory(pid):
    with open(f"/proc/{pid}/status") as status:
        return round(int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024)


def health(address):
    """Milliseconds that `/healthz` takes, on a connection of its own."""
    begun = time.monotonic()
    try:
        with socket.create_connection(address, timeout=60) as stream:
            stream.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = stream.recv(64)
    except OSError as error:
        return str(error)
    took = round((time.monotonic() - begun) * 1000, 1)
    return took if b" 200 " in answer else answer.decode(errors="replace")


def still_open(attack):
    """How many have not been closed by the hub. What it has sent stays unread."""
    poll, count = select.poll(), len(attack)
    for stream in attack:
        poll.register(stream, select.POLLRDHUP)
    for _, event in poll.poll(0):
        count -= bool(event & (select.POLLRDHUP | select.POLLERR | select.POLLHUP))
    return count


def attack_with(address, connections):
    attack = []
    for _ in range(connections):
        stream = socket.socket()
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        stream.settimeout(10)
        try:
            stream.connect(address)
            stream.sendall(f"GET {LARGE} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        except OSError:
            continue
        attack.append(stream)
    return attack


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--connections", type=int, default=3000)
    parser.add_argument("--seconds", type=int, default=60, help="for which they are held")
    parser.add_argument("--every", type=int, default=10, help="seconds between two looks")
    options = parser.parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    with tempfile.TemporaryDirectory(prefix="matchwire-slow-readers-") as folder:
        hub = subprocess.Popen(
            [options.program, "serve", "--listen", "127.0.0.1:0", "--db", os.path.join(folder, "hub.db")],
            env=os.environ | {"MATCHWIRE_DEMO_PAST": "false", "MATCHWIRE_LOGGING_FILTER": "warn"},
            stdout=subprocess.PIPE, text=True,
        )
        try:
            measure(hub, options)
        finally:
            hub.terminate()
            hub.communicate(timeout=60)


def measure(hub, options):
    found = {}
    for line in hub.stdout:
        for name, pattern in (("address", r"listening on http://(\S+)"), ("key", r"demo key\s+(mw_\w+)")):
            if match := re.search(pattern, line):
                found[name] = match[1]
        if len(found) == 2:
            break
    host, port = found["address"].split(":")
    address = (host, int(port))
    follower = Follower(address, found["key"])
    follower.start()
    time.sleep(5)
    follower.taken()
    time.sleep(options.every)
    say(when="before", rss_mib=memory(hub.pid), healthz_ms=health(address), **follower.taken())
    begun = time.monotonic()
    attack = attack_with(address, options.connections)
    say(when="asked", after_s=round(time.monotonic() - begun, 1), rss_mib=memory(hub.pid), healthz_ms=health(address),
        open=still_open(attack), **follower.taken())
    while time.monotonic() - begun < options.seconds:
        time.sleep(options.every)
        say(when="held", after_s=round(time.monotonic() - begun, 1), rss_mib=memory(hub.pid),
            healthz_ms=health(address), open=still_open(attack), **follower.taken())
    for stream in attack:
        stream.close()
    time.sleep(options.every)
    say(when="gone", rss_mib=memory(hub.pid), healthz_ms=health(address), **follower.taken())


if __name__ == "__main__":
    main()
