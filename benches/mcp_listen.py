#!/usr/bin/env python3
"""What 1,000 MCP streams cost 10,000 sockets: p99 of the sockets without and with the streams.

The hub plays a steady load of 10 changes a second of one channel to 10,000 sockets, pinned to core 0; the load tool has
core 1. Rounds alternate. With the streams, each listens to the book that changes and gets a notification every second.

    cargo build --profile dist --workspace --features matchwire/full
    python3 benches/mcp_listen.py --programs target/dist
"""

import argparse
import json
import os
import re
import selectors
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

TOP = Path(__file__).resolve().parent.parent
PORT = 18080
VERSION = "2026-07-28"


def on_core(core):
    return lambda: os.sched_setaffinity(0, {core})


def start(programs, directory):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MATCHWIRE_")}
    environment["MATCHWIRE_FANOUT_SOCKETS_MAX_PER_ACCOUNT"] = "200000"
    environment["MATCHWIRE_MCP_LISTENS_MAX_PER_ACCOUNT"] = "10000"
    environment["MATCHWIRE_LIMITS_ADDRESS_PER_SECOND"] = "0"
    environment["MATCHWIRE_SERVER_CONNECTIONS_MAX_PER_ADDRESS"] = "20000"
    log = open(Path(directory) / "hub.log", "w+")
    command = [programs / "matchwire", "serve", "--listen", f"127.0.0.1:{PORT}", "--db", Path(directory) / "hub.db",
               "--bench-rate", "10", "--bench-channels", "1"]
    hub = subprocess.Popen(list(map(str, command)), stdout=log, stderr=subprocess.STDOUT, preexec_fn=on_core(0), env=environment)
    while not (key := re.search(r"demo key\s+(\S+)", Path(log.name).read_text())):
        assert hub.poll() is None, Path(log.name).read_text()
        time.sleep(0.05)
    return hub, key.group(1)


def request(key, uri):
    prefix = "io.modelcontextprotocol/"
    meta = {prefix + "protocolVersion": VERSION, prefix + "clientInfo": {"name": "bench", "version": "1"},
            prefix + "clientCapabilities": {}}
    params = {"notifications": {"resourceSubscriptions": [uri]}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params})
    head = ["POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{PORT}", f"Authorization: Bearer {key}",
            "Content-Type: application/json", "Accept: application/json, text/event-stream",
            f"MCP-Protocol-Version: {VERSION}", "Mcp-Method: subscriptions/listen", f"Content-Length: {len(body)}"]
    return ("\r\n".join(head) + "\r\n\r\n" + body).encode()


class Streams:
    """Listening streams, read by this process in the gaps of the load tool."""

    def __init__(self, count, key, uri):
        self.selector = selectors.DefaultSelector()
        self.notifications = 0
        for _ in range(count):
            stream = socket.create_connection(("127.0.0.1", PORT))
            stream.sendall(request(key, uri))
            stream.setblocking(False)
            self.selector.register(stream, selectors.EVENT_READ)

    def read_while(self, process):
        while process.poll() is None:
            for ready, _ in self.selector.select(timeout=0.2):
                data = ready.fileobj.recv(65536)
                assert data, "a stream ended"
                self.notifications += data.count(b"resources/updated")

    def close(self):
        for entry in list(self.selector.get_map().values()):
            entry.fileobj.close()


def run(programs, streams, seconds):
    with tempfile.TemporaryDirectory() as directory:
        hub, key = start(programs, directory)
        try:
            listening = None
            if streams:
                channel = subprocess.run(
                    ["curl", "-s", "-H", f"Authorization: Token {key}", f"http://127.0.0.1:{PORT}/stream/v1/channels/football"],
                    capture_output=True, text=True, check=True)
                match = next(iter(json.loads(channel.stdout)["data"]["matches"]))
                listening = Streams(streams, key, f"matchwire://football/{match}/odds/steady")
            report = Path(directory) / "report.json"
            command = [programs / "matchwire-loadtest", "fanout", "--url", f"ws://127.0.0.1:{PORT}/stream/v1", "--key", key,
                       "--pid", hub.pid, "--seconds", seconds, "--quiet", "--json", report, "--sockets", "10000"]
            load = subprocess.Popen(list(map(str, command)), preexec_fn=on_core(1), stdout=subprocess.DEVNULL)
            if listening:
                listening.read_while(load)
                listening.close()
            load.wait()
            figures = json.loads(report.read_text())["latency"]["corrected"]
            return figures["p50_us"] / 1000, figures["p99_us"] / 1000, listening.notifications if listening else 0
        finally:
            hub.terminate()
            hub.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--programs", type=Path, default=TOP / "target" / "dist")
    options = parser.parse_args()
    figures = {0: [], options.streams: []}
    for _ in range(options.rounds):
        for streams, own in figures.items():
            own.append(run(options.programs, streams, options.seconds))
            print(streams, "streams: p50 {:.2f} ms, p99 {:.2f} ms, {} notifications".format(*own[-1]), flush=True)
    without, with_streams = (median(p99 for _, p99, _ in own) for own in figures.values())
    print(f"p99 {without:.2f} ms without, {with_streams:.2f} ms with the streams: {with_streams / without:.2f}")


if __name__ == "__main__":
    main()
