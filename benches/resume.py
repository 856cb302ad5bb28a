#!/usr/bin/env python3
"""The cost of sockets that resume repeatedly for a reader that keeps up.

Starts `matchwire serve` with a steady load, follows all its channels on one honest socket, and measures the
delay from the moment a change was intended (`at.src`) to its arrival: first alone, then beside each number of
resuming sockets given. A resuming socket sends `subscribe` with a `from` that lies `--back` changes behind its
channel, and again as soon as it is answered. They run in a process of their own. Standard library only.

    benches/resume.py --program target/release/matchwire 2 5 100
"""

import argparse, base64, contextlib, json, multiprocessing, os, re, selectors, shutil, socket, struct, subprocess, tempfile, time
import urllib.request

PATTERN = "football/*/odds/steady"


def connect(address, key):
    stream = socket.create_connection(address)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    nonce = base64.b64encode(os.urandom(16)).decode()
    head = (
        f"GET /stream/v1 HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {nonce}\r\nAuthorization: Token {key}\r\n\r\n"
    )
    stream.sendall(head.encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += stream.recv(1)
    if b" 101 " not in answer.split(b"\r\n")[0]:
        raise SystemExit(f"refused: {answer!r}")
    return stream


def masked(text):
    body = text.encode()
    size = bytes([0x80 | len(body)]) if len(body) < 126 else struct.pack(">BH", 0x80 | 126, len(body))
    return b"\x81" + size + bytes(4) + body


class Frames:
    """Messages of a stream of unmasked frames."""

    def __init__(self):
        self.bytes = bytearray()

    def take(self, data):
        self.bytes += data
        start = 0
        while len(self.bytes) - start >= 2:
            size, head = self.bytes[start + 1] & 127, 2
            if size >= 126:
                head = 4 if size == 126 else 10
                if len(self.bytes) - start < head:
                    break
                size = int.from_bytes(self.bytes[start + 2 : start + head], "big")
            if len(self.bytes) - start < head + size:
                break
            yield bytes(self.bytes[start + head : start + head + size])
            start += head + size
        del self.bytes[:start]


def attack(address, key, count, back, answers, stop):
    """Resumes on `count` sockets until stopped. Frames are scanned, not decoded."""
    choose = selectors.DefaultSelector()
    answered = re.compile(rb'"type":"subscribed"[^}]*?"ch":"([^"]+)"[^}]*?"epoch":"([^"]+)","seq":(\d+)')
    with contextlib.closing(connect(address, key)) as first:
        first.sendall(masked(json.dumps({"op": "subscribe", "id": 1, "ch": PATTERN})))
        channels, frames = [], Frames()
        while not channels or len(channels) < 20:
            for text in frames.take(first.recv(65536)):
                frame = json.loads(text)
                if frame["type"] == "image":
                    channels.append((frame["ch"], frame["epoch"], frame["seq"]))

    def ask(stream, channel, epoch, seq):
        position = {"epoch": epoch, "seq": max(0, seq - back)}
        stream.sendall(masked(json.dumps({"op": "subscribe", "id": 1, "ch": channel, "from": position})))

    streams = [connect(address, key) for _ in range(count)]
    for number, stream in enumerate(streams):
        choose.register(stream, selectors.EVENT_READ)
        ask(stream, *channels[number % len(channels)])
    while not stop.is_set():
        for ready, _ in choose.select(0.2):
            data = ready.fileobj.recv(1 << 18)
            found = answered.findall(data)
            if found:
                answers.value += len(found)
                channel, epoch, seq = found[-1]
                ask(ready.fileobj, channel.decode(), epoch.decode(), int(seq))


def follow(address, key, seconds):
    """Delays in milliseconds of all changes that came in so many seconds; fails where one is missing."""
    delays, seqs, frames = [], {}, Frames()
    with contextlib.closing(connect(address, key)) as stream:
        stream.sendall(masked(json.dumps({"op": "subscribe", "id": 1, "ch": PATTERN, "lag": True})))
        until = time.time() + seconds
        while time.time() < until:
            data = stream.recv(1 << 18)
            now = time.time() * 1e6
            for text in frames.take(data):
                frame = json.loads(text)
                if frame["type"] == "update":
                    if frame["prev"] > seqs[frame["ch"]]:
                        raise SystemExit(f"a change is missing before {frame}")
                    at = frame["at"]
                    delays.append([(now - at["src"]) / 1000, (at["pub"] - at["src"]) / 1000])
                if frame["type"] in ("image", "update"):
                    seqs[frame["ch"]] = frame["seq"]
    return [sorted(column) for column in zip(*delays)]


def ticks(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def running_hub(program, bench_rate, settings):
    """A hub that has printed its demo key: its process, its address, the key and its database."""
    folder = tempfile.mkdtemp()
    hub = subprocess.Popen(
        [os.path.abspath(program), "serve", "--listen", "127.0.0.1:0", "--db", f"{folder}/hub.db", "--bench-rate", str(bench_rate)],
        env=os.environ | settings, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    try:
        text = ""
        while "demo key" not in text:
            line = hub.stdout.readline()
            if not line:
                raise SystemExit("the hub has ended")
            text += line
        address = ("127.0.0.1", int(re.search(r"http://127\.0\.0\.1:(\d+)", text).group(1)))
        yield hub, address, re.search(r"mw_\w+", text).group(), f"{folder}/hub.db"
    finally:
        hub.terminate()
        hub.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("attackers", nargs="+", type=int, help="resuming sockets, one measurement for each number")
    parse.add_argument("--program", default="target/release/matchwire")
    parse.add_argument("--rate", type=int, default=2000, help="changes a second")
    parse.add_argument("--back", type=int, default=2000, help="changes of its channel that a socket lies behind")
    parse.add_argument("--warm", type=float, help="seconds before measuring; so long that `back` changes are there")
    parse.add_argument("--seconds", type=float, default=10)
    arguments = parse.parse_args()
    settings = {"MATCHWIRE_FANOUT_SOCKETS_MAX_PER_ACCOUNT": "1000"}
    with running_hub(arguments.program, arguments.rate, settings) as (hub, address, key, _):
        time.sleep(arguments.warm if arguments.warm is not None else 2 + 20 * arguments.back / arguments.rate)
        print("resuming  answered/s  p50 ms  p99 ms  max ms   to publication: p50, p99  changes/s  cores")
        for count in [0, *arguments.attackers]:
            stop, answers = multiprocessing.Event(), multiprocessing.Value("L", 0, lock=False)
            process = multiprocessing.Process(target=attack, args=(address, key, count, arguments.back, answers, stop))
            if count:
                process.start()
                time.sleep(1)
            before, began, start = ticks(hub.pid), answers.value, time.time()
            delays, published = follow(address, key, arguments.seconds)
            took = time.time() - start
            rank = lambda share, delays=delays: delays[min(len(delays) - 1, int(share * len(delays)))]
            print(
                f"{count:8}  {(answers.value - began) / took:10.0f}  {rank(0.5):6.1f}  {rank(0.99):6.1f}  {delays[-1]:6.1f}  {rank(0.5, published):6.1f}  {rank(0.99, published):6.1f}"
                f"  {len(delays) / took:9.0f}  {(ticks(hub.pid) - before) / took:5.2f}", flush=True,
            )
            if count:
                stop.set()
                process.join(10)
                process.kill()
            time.sleep(1)


if __name__ == "__main__":
    main()
