#!/usr/bin/env python3
"""What new channels cost beside sockets that follow many patterns which match nothing.

Starts `matchwire serve`, lets each socket follow its patterns, pushes matches that are new, and says what
processor time the hub took for both, and how long a ping of another socket was under way. Standard library only.

    benches/patterns.py --program target/release/matchwire --sockets 100 --patterns 10000 --matches 300
"""

import argparse, contextlib, json, re, subprocess, threading, time
import urllib.request

from resume import Frames, connect, masked, running_hub, ticks


def read_until(stream, frames, condition):
    while True:
        for text in frames.take(stream.recv(1 << 18)):
            if condition(json.loads(text)):
                return


def follow_patterns(address, key, number, patterns):
    """A socket that follows so many patterns, each of another match that there never is."""
    stream, frames, answered = connect(address, key), Frames(), 0
    for start in range(0, patterns, 500):
        names = [f"*/none-{number}-{place}/odds/*" for place in range(start, min(start + 500, patterns))]
        stream.sendall(b"".join(masked(json.dumps({"op": "subscribe", "ch": name})) for name in names))
        left = len(names)
        while left:
            for text in frames.take(stream.recv(1 << 18)):
                left -= b'"type":"subscribed"' in text or b'"type":"error"' in text
                answered += b'"type":"subscribed"' in text
    return stream, answered


def ping(stream, stop, delays):
    frames, number = Frames(), 0
    while not stop.is_set():
        number += 1
        start = time.time()
        stream.sendall(masked(json.dumps({"op": "ping", "id": number})))
        read_until(stream, frames, lambda frame: frame["type"] == "pong" and frame["id"] == number)
        delays.append((time.time() - start) * 1000)
        time.sleep(0.01)


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--program", default="target/release/matchwire")
    parse.add_argument("--sockets", type=int, default=100)
    parse.add_argument("--patterns", type=int, default=10_000, help="of each socket")
    parse.add_argument("--matches", type=int, default=300)
    parse.add_argument("--unlimited", action="store_true", help="the program is one that knows no limit of patterns")
    arguments = parse.parse_args()
    settings = {} if arguments.unlimited else {"MATCHWIRE_FANOUT_PATTERNS_MAX": str(arguments.patterns)}
    with running_hub(arguments.program, 1, settings) as (hub, address, key, database):
        made = subprocess.run([arguments.program, "feeds", "key", "create", "acme", "--db", database], capture_output=True, text=True)
        feed_key = re.search(r"mw\w*_\w{20,}", made.stdout).group()
        began, start = ticks(hub.pid), time.time()
        streams = [follow_patterns(address, key, number, arguments.patterns) for number in range(arguments.sockets)]
        followed = sum(answered for _, answered in streams)
        print(f"{followed} patterns on {len(streams)} sockets: {ticks(hub.pid) - began:.2f} s of processor time, {time.time() - start:.1f} s", flush=True)
        rss = int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{hub.pid}/status").read()).group(1)) // 1024
        delays, stop, other = [], threading.Event(), connect(address, key)
        pinging = threading.Thread(target=ping, args=(other, stop, delays))
        pinging.start()
        lines = []
        for number in range(arguments.matches):
            event = {"at": 1_788_280_000_000_000 + number, "sport": "hockey", "match": f"m{number}"}
            lines.append(json.dumps({**event, "fact": {"fixture": {"sides": [{"name": f"H{number}"}, {"name": f"A{number}"}]}}}))
            lines.append(json.dumps({**event, "fact": {"scoreboard": {"status": "live", "score": [1, 0]}}}))
        began, start = ticks(hub.pid), time.time()
        request = urllib.request.Request(
            f"http://127.0.0.1:{address[1]}/ingest/v1/acme", data="\n".join(lines).encode(), headers={"Authorization": f"Token {feed_key}"}
        )
        with contextlib.closing(urllib.request.urlopen(request)) as answer:
            accepted = json.loads(answer.read())["accepted"]
        # Until a ping sent behind it all has been answered.
        before = len(delays)
        while len(delays) < before + 5:
            time.sleep(0.05)
        took = time.time() - start
        stop.set()
        pinging.join()
        print(f"{accepted} lines, {arguments.matches} new channels: {ticks(hub.pid) - began:.2f} s of processor time, {took:.2f} s; longest ping {max(delays):.0f} ms; resident {rss} MiB")


if __name__ == "__main__":
    main()
