#!/usr/bin/env python3
"""Requests a second of get_match_detail over MCP, and of the same match over REST.

Starts a hub with its demo on a free port, then alternates rounds of both, each over four connections of one client
process. A round's figure is also given per second of the hub's processor time, which does not depend on the client.

    cargo build --profile dist --features full
    python3 benches/mcp.py target/dist/matchwire
"""

import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROUNDS = 7
SECONDS = 3.0
CONNECTIONS = 4
VERSION = "2026-07-28"
TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rest(connection, key, match):
    connection.request("GET", f"/api/v2/events/{match}/", headers={"Authorization": f"Token {key}"})
    return connection.getresponse()


def tool(connection, key, match):
    name = "get_match_detail"
    prefix = "io.modelcontextprotocol/"
    meta = {
        prefix + "protocolVersion": VERSION,
        prefix + "clientInfo": {"name": "bench", "version": "1"},
        prefix + "clientCapabilities": {},
    }
    params = {"name": name, "arguments": {"match_id": match}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": name,
    }
    connection.request("POST", "/mcp", body, headers)
    return connection.getresponse()


def measure(address, pid, key, match, ask):
    """Requests, seconds, and processor seconds of the hub."""
    counts = [0] * CONNECTIONS
    until = time.monotonic() + SECONDS

    def run(place):
        connection = http.client.HTTPConnection(*address)
        while time.monotonic() < until:
            answer = ask(connection, key, match)
            body = answer.read()
            assert answer.status == 200 and b"isError\":true" not in body, body[:300]
            counts[place] += 1

    before, began = processor_seconds(pid), time.monotonic()
    threads = [threading.Thread(target=run, args=(place,)) for place in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts), time.monotonic() - began, processor_seconds(pid) - before


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "MATCHWIRE_LIMITS_ADDRESS_PER_SECOND": "0",
            "MATCHWIRE_LIMITS_ACCOUNT_CPU_PERCENT": "0",
            "MATCHWIRE_DEMO_PAST": "false",
        }
        command = [os.path.abspath(program), "--listen", "127.0.0.1:0"]
        hub = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            key = address = None
            for line in hub.stdout:
                if found := re.search(r"listening on http://([\d.]+):(\d+)", line):
                    address = (found[1], int(found[2]))
                if found := re.search(r"mw_[0-9a-f]{48}", line):
                    key = found[0]
                    break
            time.sleep(5)
            connection = http.client.HTTPConnection(*address)
            connection.request("GET", "/api/v2/events/live/", headers={"Authorization": f"Token {key}"})
            match = json.load(connection.getresponse())["events"][0]["id"]
            rates = {rest: [], tool: []}
            for _ in range(ROUNDS):
                for ask, found in rates.items():
                    count, seconds, used = measure(address, hub.pid, key, match, ask)
                    found.append((count / seconds, count / used))
        finally:
            hub.terminate()
            hub.wait()
    medians = {ask: [statistics.median(column) for column in zip(*found)] for ask, found in rates.items()}
    for ask, (rate, per_cpu) in medians.items():
        print(f"{ask.__name__:5} {rate:8.0f} requests/s {per_cpu:8.0f} per second of the hub's processor time")
    print(f"ratio {medians[tool][0] / medians[rest][0]:8.2f} {medians[tool][1] / medians[rest][1]:19.2f}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "target/release/matchwire")
