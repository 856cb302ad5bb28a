#!/usr/bin/env python3
"""Our clients beside those of others, on one core, on the same changes of prices.

    benches/clients/run.py --program target/release/matchwire                 # all of it: installs the pinned packages first
    benches/clients/run.py --program target/release/matchwire --rounds 1 javascript

size         each client as one minified module for browsers, and gzipped
javascript   clients in Node, and
python       clients in asyncio, against a plain WebSocket server (server.py) that replays the frames of a hub in each protocol
recording    our book and that of betfairlightweight from a file, on the same recording of an exchange
hub          our clients against the hub itself: time to the first document

The frames are those that a hub makes of a recording of Betfair's stream, `--feed`: a market with full ladders. Each client runs alone on
core 1, and the server on core 0. Medians of `--rounds`, in which the clients take turns; in parentheses the least and the greatest.
"""

import argparse
import contextlib
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))

from resume import Frames, connect, masked  # noqa: E402
from server import Recording, Server, compact  # noqa: E402

FEED = TOP.parent / "shared" / "feeds" / "betfair-stream" / "tennis-29788105.pro.jsonl.gz"
# Times the recorded speed. A hub that is late merges changes; then the next one is tried.
SPEEDS = ("1500", "500", "200")
PATTERN = "tennis/*/odds/betfair"
COLUMNS = {"import_ms": "import, ms", "import_kib": "import, KiB", "first_ms": "first document, ms",
           "updates_s": "updates/s", "cpu_us": "CPU per update, us", "run_kib": "memory of the run, KiB"}

# What a page would import of each.
MODULES = {
    "matchwire": 'export { connect } from "../../clients/js/src/index.js";',
    "matchwire/stream": 'export { Stream } from "../../clients/js/src/stream.js";',
    "centrifuge": 'export { Centrifuge } from "centrifuge";',
    "ably": 'export { Realtime } from "ably";',
    "ably/modular, the least": 'export { BaseRealtime, FetchRequest, WebSocketTransport } from "ably/modular";',
}
# Name, file, publications in a message of Centrifugo.
JAVASCRIPT = [("ws and JSON.parse", "bare", 1), ("matchwire", "matchwire", 1), ("matchwire/stream", "stream", 1),
              ("centrifuge", "centrifuge", 1), ("centrifuge, 16 together", "centrifuge", 16), ("ably", "ably", 1)]
PYTHON = [("websockets and json", "bare", 1), ("matchwire", "matchwire_async", 1),
          ("centrifuge-python", "centrifuge_async", 1), ("centrifuge-python, 16 together", "centrifuge_async", 16)]


def on_core(core):
    return lambda: os.sched_setaffinity(0, {core})


def installed(folder):
    """The pinned packages, in a folder that is kept: where Python's interpreter is."""
    interpreter = folder / "python" / "bin" / "python"
    if not (HERE / "node_modules").exists():
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=HERE, check=True)
    if not interpreter.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "python"], check=True)
        subprocess.run([interpreter, "-m", "pip", "install", "--quiet", "-r", HERE / "requirements.txt"], check=True)
    return interpreter


@contextlib.contextmanager
def hub(program, folder, *arguments):
    """A hub with its address and a key."""
    database = f"{folder}/hub.db"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MATCHWIRE_")}
    # Nothing is merged, even if this program is late.
    environment |= {"MATCHWIRE_FANOUT_OUTBOX_BYTES": str(64 << 20), "MATCHWIRE_FANOUT_OUTBOX_AGE_MS": "60000"}
    command = [program, *arguments, "--listen", "127.0.0.1:0", "--db", database]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          preexec_fn=on_core(0)) as process:
        try:
            line = ""
            while not (found := re.search(r"http://127\.0\.0\.1:(\d+)", line)):
                if not (line := process.stdout.readline()):
                    raise SystemExit("the hub has ended")
            create = [program, "key", "create", "--addon", "websocket", "--addon", "odds", "--db", database]
            key = subprocess.run(create, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
            yield int(found.group(1)), key
        finally:
            process.terminate()


def record(program, feed):
    """The frames of a hub that plays the feed: an image, and an update for each change of the book."""
    for speed in SPEEDS:
        with tempfile.TemporaryDirectory() as folder, hub(program, folder, "replay", "--hold", "--speed", speed, feed) as (port, key):
            frames = list(recorded(port, key))
        if not any("n" in frame for frame in frames):
            return frames
    raise SystemExit("the hub has merged changes at every speed: this machine is too busy")


def recorded(port, key):
    unread = Frames()
    with contextlib.closing(connect(("127.0.0.1", port), key)) as stream:
        stream.sendall(masked(json.dumps({"op": "subscribe", "id": 1, "ch": PATTERN})))
        while True:
            for text in unread.take(stream.recv(1 << 18)):
                frame = json.loads(text)
                if frame["type"] in ("image", "update"):
                    yield frame
                    if "ended" in (frame.get("patch", {}).get("life"), frame.get("data", {}).get("life")):
                        return


def size(_):
    print(f"\nsize\n{'':28}{'minified':>12}{'gzipped':>12}")
    for name, source in MODULES.items():
        command = ["node_modules/.bin/esbuild", "--bundle", "--minify", "--format=esm", "--target=es2022", "--legal-comments=none"]
        bundle = subprocess.run(command, cwd=HERE, input=source.encode(), capture_output=True)
        if bundle.returncode:
            raise SystemExit(bundle.stderr.decode())
        print(f"{name:28}{len(bundle.stdout):12,}{len(gzip.compress(bundle.stdout, 9)):12,}")


class Bench:
    def __init__(self, options):
        self.options = options
        self.interpreter = installed(options.folder)
        self.program = str(options.program.absolute())
        self.__frames = None

    @property
    def frames(self):
        if self.__frames is None:
            print(f"recording the frames of {self.options.feed.name}", flush=True)
            self.__frames = record(self.program, str(self.options.feed.absolute()))
        return self.__frames

    def watched(self):
        """A market and a selection whose price the programs look at."""
        for frame in self.frames[1:]:
            for market, it in frame.get("patch", {}).get("markets", {}).items():
                for selection, known in it.get("selections", {}).items():
                    if known.get("outcome") == "p1":
                        return market, selection
        raise SystemExit("no selection has an outcome")

    def run(self, command, **environment):
        path = f"{TOP / 'clients' / 'python' / 'src'}"
        environment = os.environ | {"PYTHONPATH": path} | environment
        done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, timeout=300, preexec_fn=on_core(1))
        if done.returncode or not done.stdout:
            raise SystemExit(f"{command} failed:\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def table(self, title, clients, check=True):
        """Runs clients in turns, each a pair of name and function, and prints medians."""
        print(f"\n{title}\n{'':28}" + "".join(f"{column:>24}" for column in COLUMNS.values()), flush=True)
        reports = {name: [] for name, _ in clients}
        for _ in range(self.options.rounds):
            for name, run in clients:
                reports[name].append(run())
        for name, own in reports.items():
            cells = []
            for column in COLUMNS:
                values = sorted(report[column] for report in own if column in report)
                digits = 1 if values and median(values) < 1000 else 0
                text = f"{median(values):,.{digits}f} ({values[0]:,.{digits}f}–{values[-1]:,.{digits}f})" if values else ""
                cells.append(f"{text:>24}")
            print(f"{name:28}" + "".join(cells), flush=True)
        prices = {str(report["price"]) for own in reports.values() for report in own}
        if check and len(prices) > 1:
            raise SystemExit(f"the clients do not end with the same price: {prices}")

    def against_server(self, title, clients, command):
        channels = [f"tennis/{10000 + number}/odds/betfair" for number in range(self.options.channels)]
        server = Server(Recording(self.frames, channels))
        market, selection = self.watched()
        updates = len(channels) * (len(self.frames) - 1)

        def runner(file, together):
            def run():
                server.together = together
                return self.run(command(file), BENCH_URL=server.url, BENCH_KEY="mw_bench", BENCH_CHANNELS=",".join(channels),
                                BENCH_UPDATES=str(updates), BENCH_MARKET=market, BENCH_SELECTION=selection)
            return run

        os.sched_setaffinity(0, {0})
        self.table(f"{title}: {updates:,} updates of {len(channels)} channels",
                   [(name, runner(file, together)) for name, file, together in clients])

    def javascript(self):
        self.against_server("JavaScript, Node", JAVASCRIPT, lambda file: ["node", "--expose-gc", HERE / "js" / f"{file}.js"])

    def python(self):
        self.against_server("Python", PYTHON, lambda file: [self.interpreter, HERE / "python" / f"{file}.py"])

    def recording(self):
        _, selection = self.watched()
        with tempfile.TemporaryDirectory() as folder:
            frames, feed = Path(folder) / "match.frames", Path(folder) / "market"
            frames.write_bytes(b"".join(compact(frame) + b"\n" for frame in self.frames))
            feed.write_bytes(gzip.open(self.options.feed).read())
            lines = [json.loads(line) for line in feed.read_bytes().splitlines()]
            books = sum(len(line.get("mc", [])) for line in lines)

            def runner(file, path, **more):
                command = [self.interpreter, HERE / "python" / f"recording_{file}.py"]
                return lambda: self.run(command, BENCH_FILE=str(path), BENCH_SELECTION=selection, **more)

            self.table(f"recording: {books:,} messages of the exchange, of which the hub makes {len(self.frames) - 1:,} updates", [
                ("matchwire", runner("matchwire", frames)),
                ("betfairlightweight", runner("betfairlightweight", feed)),
                ("betfairlightweight, light", runner("betfairlightweight", feed, BENCH_LIGHTWEIGHT="1")),
            ], check=False)

    def hub(self):
        with tempfile.TemporaryDirectory() as folder, hub(
            self.program, folder, "serve", "--bench-rate", "1000", "--bench-channels", "20"
        ) as (port, key):
            with contextlib.closing(connect(("127.0.0.1", port), key)) as stream:
                stream.sendall(masked(json.dumps({"op": "subscribe", "id": 1, "ch": "football/*/odds/steady"})))
                channels, frames = set(), Frames()
                while len(channels) < 20:
                    channels |= {frame["ch"] for frame in map(json.loads, frames.take(stream.recv(1 << 18))) if frame["type"] == "image"}

            def runner(*command):
                return lambda: self.run(command, BENCH_URL=f"ws://127.0.0.1:{port}", BENCH_KEY=key, BENCH_CHANNELS=",".join(sorted(channels)),
                                        BENCH_UPDATES="2000")

            js, python = HERE / "js", HERE / "python"
            self.table("the hub, 1,000 updates/s of 20 channels", [
                ("ws and JSON.parse", runner("node", "--expose-gc", js / "bare.js")),
                ("matchwire, JavaScript", runner("node", "--expose-gc", js / "matchwire.js")),
                ("websockets and json", runner(self.interpreter, python / "bare.py")),
                ("matchwire, Python", runner(self.interpreter, python / "matchwire_async.py")),
            ], check=False)


def main():
    parts = ("size", "javascript", "python", "recording", "hub")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--program", type=Path, default=TOP / "target" / "release" / "matchwire")
    parser.add_argument("--feed", type=Path, default=FEED)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--channels", type=int, default=10)
    parser.add_argument("--folder", type=Path, default=TOP / "target" / "bench-clients", help="where Python's packages are installed")
    options = parser.parse_args()
    bench = Bench(options)
    for part in options.parts or parts:
        if part == "size":
            size(bench)
        else:
            getattr(bench, part)()


if __name__ == "__main__":
    main()
