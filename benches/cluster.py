#!/usr/bin/env python3
"""What a cluster costs and how long its faults take, beside a single hub, with all processes on this machine.

Starts a cluster as `deploy/cluster/local.py` does, with a steady load. Each measurement runs alone; without names all run.

    benches/cluster.py --program target/release/matchwire
    benches/cluster.py --program target/release/matchwire latency takeover

latency     from the hub's stamp of an update to a socket, at an edge and at a single hub, at the same time
takeover    the longest pause of a socket at an edge while the leader is killed, hangs, stops, or hands over
edges       updates that an edge sends per second of processor time, with 1, 2 and 3 edges; and what it costs without sockets
revocation  from the end of `matchwire key revoke` until sockets at all nodes are closed
sockets     `--many` sockets over six edges that all get each of some updates: how many arrive, and the memory of processes and kernel
late        how long a new edge takes until it is ready, with `--matches` live matches

`fanout` of the load tool, which must be beside the program, measures latency and the cost of edges. Python's standard library.
"""

import argparse, contextlib, json, os, re, signal, statistics, subprocess, sys, tempfile, threading, time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "deploy" / "cluster"))

import parts  # noqa: E402
from cluster import Cluster as LocalCluster  # noqa: E402
from restart import BOOKS, Feed, introduction  # noqa: E402
from resume import PATTERN, Frames, connect, masked, running_hub, ticks  # noqa: E402


class Cluster(LocalCluster):
    """A cluster whose leader changes this many books a second; or one that is pushed to, with a rate of 0."""

    def __init__(self, options, folder, edges, rate, channels):
        arguments = argparse.Namespace(
            program=options.program, check=True, edges=edges, port=0, balancer="none", matches=0, nats_server=options.nats_server
        )
        super().__init__(arguments, folder)
        self.rate = rate
        for node in self.nodes:
            node.command += ["--bench-rate", str(rate), "--bench-channels", str(channels)] * bool(rate)

    def start_pushing(self):
        pass

    def has_matches(self, node):
        return not self.rate or super().has_matches(node)

    @property
    def edges(self):
        return [node for node in self.nodes if node.role == "edge"]


@contextlib.contextmanager
def cluster(options, edges, rate, channels=20):
    with tempfile.TemporaryDirectory(prefix="matchwire-bench-") as folder:
        os.chmod(folder, 0o711)
        started = Cluster(options, Path(folder), edges, rate, channels)
        try:
            started.start()
            yield started
        finally:
            started.stop()


def address(node):
    return ("127.0.0.1", node.port)


def load_tool(options, url, key, sockets, *more):
    """Starts it. Its results are in the file with which it is paired."""
    results = Path(tempfile.mkstemp(suffix=".json")[1])
    command = [options.program.parent / "matchwire-loadtest", "fanout", "--url", f"ws://{url}/stream/v1", "--sockets", str(sockets),
               "--seconds", str(options.seconds), "--json", results, "--quiet", *more]
    process = subprocess.Popen(command, env=os.environ | {"LOADTEST_KEY": key}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return process, results


def result(started):
    process, results = started
    process.wait(600)
    text = results.read_text()
    results.unlink()
    return json.loads(text)


def milliseconds(durations, name):
    return durations[f"{name}_us"] / 1000


def latency(options):
    with cluster(options, 1, options.rate) as nodes, running_hub(options.program, options.rate, {}) as (_, single, key, _):
        places = {"single hub": ("%s:%d" % single, key), "edge": (nodes.edges[0].address, nodes.secrets["key"])}
        rounds = {name: [] for name in places}
        for _ in range(options.rounds):
            started = {name: load_tool(options, url, its_key, 10) for name, (url, its_key) in places.items()}
            for name in places:
                rounds[name].append(result(started[name])["latency"]["uncorrected"])
    for name, measured in rounds.items():
        values = [statistics.median(milliseconds(it, part) for it in measured) for part in ("p50", "p90", "p99")]
        print(f"latency at {options.rate} updates a second, {name}: p50 {values[0]:.2f} ms, p90 {values[1]:.2f} ms, p99 {values[2]:.2f} ms"
              f" (median of {options.rounds} rounds of {options.seconds} s)")


class Follower(threading.Thread):
    """A socket that follows the load, and notes when each update came and whether one is missing."""

    def __init__(self, node, key):
        super().__init__(daemon=True)
        self.times, self.faults, self.places, self.closed = [], 0, {}, None
        self.stream = connect(address(node), key)
        self.stream.sendall(masked(json.dumps({"op": "subscribe", "id": 1, "ch": PATTERN})))

    def run(self):
        frames = Frames()
        while data := self.stream.recv(65536):
            now = time.monotonic()
            for text in frames.take(data):
                if not text.startswith(b"{"):
                    self.closed = text
                    return
                frame = json.loads(text)
                kind, channel = frame.get("type"), frame.get("ch")
                if kind == "update":
                    self.times.append(now)
                    self.faults += frame["seq"] - frame.get("n", 1) != self.places.get(channel)
                if kind in ("update", "image"):
                    self.places[channel] = frame["seq"]
                self.faults += kind == "resync"

    def pause(self, since):
        """The longest time without an update that ends after this moment."""
        times = list(self.times)
        return max((b - a for a, b in zip(times, times[1:]) if b >= since), default=float("inf"))

    def wait_for_more(self, nodes, seconds):
        """Lets updates come for so long."""
        # A client that sends nothing for long is closed.
        self.stream.sendall(masked(json.dumps({"op": "ping"})))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            nodes.keep_running()
            time.sleep(0.1)


def takeover(options):
    with cluster(options, 1, 200) as nodes:
        follower = Follower(nodes.edges[0], nodes.secrets["key"])
        follower.start()
        follower.wait_for_more(nodes, 2)

        def kill(leader):
            os.kill(leader.pid, signal.SIGKILL)

        def hang(leader):
            os.kill(leader.pid, signal.SIGSTOP)

        def stop(leader):
            os.kill(leader.pid, signal.SIGTERM)

        def hand_over(_):
            nodes.command("hand-over")

        for name, fault in {"killed": kill, "hung": hang, "stopped": stop, "handed over": hand_over}.items():
            pauses = []
            for _ in range(options.faults):
                nodes.wait_until("the cluster is whole", lambda: nodes.status()[0] == 0)
                follower.wait_for_more(nodes, 1)
                leader = nodes.leader()
                since = time.monotonic()
                fault(leader)
                follower.wait_for_more(nodes, 3)
                if follower.closed:
                    raise SystemExit(f"the socket was closed after the leader was {name}: {follower.closed}")
                pauses.append(follower.pause(since) * 1000)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(leader.pid, signal.SIGCONT)
            pauses.sort()
            print(f"leader {name}: pause {statistics.median(pauses):.0f} ms in the median of {len(pauses)}, {pauses[0]:.0f} to {pauses[-1]:.0f} ms")
        print(f"updates that the socket missed: {follower.faults}")


def edges(options):
    for count in (1, 2, 3):
        with cluster(options, count, options.rate) as nodes:
            time.sleep(2)
            before = [ticks(node.pid) for node in nodes.edges]
            time.sleep(options.seconds)
            idle = [(ticks(node.pid) - was) / options.seconds for node, was in zip(nodes.edges, before)]
            started = [load_tool(options, node.address, nodes.secrets["key"], options.sockets // count) for node in nodes.edges]
            results = [result(it) for it in started]
        sent = [it["server"]["messages_per_cpu_s"] for it in results]
        print(f"{count} edges, {options.rate} updates a second, {options.sockets} sockets: {statistics.mean(sent):,.0f} deliveries for each second of an "
              f"edge's processor time, {sum(it['throughput']['messages_per_s'] for it in results):,.0f} a second; without sockets an edge takes "
              f"{statistics.mean(idle) * 100:.1f} % of a core; reach {min(it['reach'] for it in results):.3f}")


def kernel_bytes():
    """Memory of the kernel's objects, and of the data in its sockets."""
    slab = re.search(r"^Slab:\s+(\d+)", Path("/proc/meminfo").read_text(), re.M).group(1)
    pages = re.search(r"^TCP:.* mem (\d+)", Path("/proc/net/sockstat").read_text(), re.M).group(1)
    return int(slab) * 1024, int(pages) * os.sysconf("SC_PAGE_SIZE")


def own_bytes(pid):
    """What a process has in memory beside the pages of its program."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^RssAnon:\s+(\d+)", text, re.M).group(1)) * 1024


def sockets(options):
    each = options.many // 6
    with cluster(options, 6, 1, channels=1) as nodes:
        # The limits of a process and of an account.
        for node in nodes.edges:
            node.env["MATCHWIRE_FANOUT_SOCKETS_MAX"] = str(each + 100)
            os.kill(node.pid, signal.SIGTERM)
        nodes.wait_until("the edges are ready again", lambda: not any(it.has_ended() for it in nodes.edges) and nodes.is_ready())
        addons = ("--addon", "websocket", "--addon", "odds")
        keys = [parts.run(nodes.program, "key", "create", "--db", nodes.database, *addons) for _ in nodes.edges]
        time.sleep(3)
        kernel = kernel_bytes()
        begun = time.monotonic()
        tools = [load_tool(options, node.address, key, each, "--warmup", str(options.warmup), "--connect-rate", "400", "--documents", "0")
                 for node, key in zip(nodes.edges, keys)]
        most = [0, 0, 0]
        while any(tool.poll() is None for tool, _ in tools):
            time.sleep(1)
            with contextlib.suppress(OSError):
                used = [sum(own_bytes(node.pid) for node in nodes.edges)]
                used += [now - was for now, was in zip(kernel_bytes(), kernel)]
                most = [max(pair) for pair in zip(most, used)]
        results = [result(it) for it in tools]
    problems = [problem for it in results for problem in it["verdict"]["reasons"]]
    count = sum(it["connections"]["joined"] for it in results)
    print(f"{count:,} sockets over six edges: reach {min(it['reach'] for it in results):.3f}, "
          f"{sum(it['throughput']['messages_per_s'] for it in results):,.0f} deliveries a second, {len(problems)} problems {problems[:3]}; "
          f"memory of the edges {most[0] / 1e6:,.0f} MB in all, of the kernel's objects {most[1] / count:,.0f} bytes for both ends of a socket, "
          f"of data in them at most {most[2] / 1e6:,.0f} MB ({time.monotonic() - begun:.0f} s)")


def revocation(options):
    with cluster(options, 2, 200) as nodes:
        delays = []
        for _ in range(options.faults):
            key = parts.run(options.program, "key", "create", "--db", nodes.database, "--addon", "websocket")
            streams = [connect(address(node), key) for node in nodes.nodes for _ in range(7)]
            closed = []

            def until_closed(stream):
                with contextlib.suppress(OSError):
                    while stream.recv(65536):
                        pass
                closed.append(time.monotonic())

            readers = [threading.Thread(target=until_closed, args=(stream,)) for stream in streams]
            for reader in readers:
                reader.start()
            parts.run(options.program, "key", "revoke", "--db", nodes.database, key[:11])
            ended = time.monotonic()
            for reader in readers:
                reader.join(30)
            delays.append(max(closed) - ended if len(closed) == len(streams) else float("inf"))
    print(f"28 sockets at four nodes: the last one closed {statistics.median(delays) * 1000:.0f} ms after the command that revoked their key had ended, "
          f"at most {max(delays) * 1000:.0f} ms ({len(delays)} times)")


def late(options):
    with cluster(options, 1, 0) as nodes:
        leader = nodes.leader()
        feed = Feed(leader, nodes.secrets["feed"], "simulator")
        for match in range(options.matches):
            for text in introduction(match, options.markets):
                feed.put(text)
        feed.flush()
        nodes.wait_until("the first edge has it", lambda: nodes.status()[0] == 0 and nodes.is_ready())
        edge = parts.Node("late", "edge", nodes.folder / "late", parts.ports(1, 0)[0], nodes.program, nodes.settings)
        began = time.monotonic()
        nodes.begin(edge)
        while parts.get(edge.address, "/readyz")[0] != 200:
            time.sleep(0.01)
        ready = time.monotonic() - began
    prices = options.matches * options.markets * len(BOOKS) * 3
    print(f"a new edge, {options.matches} matches with {prices} prices: ready after {ready:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = [latency, takeover, edges, revocation, sockets, late]
    parser.add_argument("names", nargs="*", choices=[it.__name__ for it in every] + [[]], metavar="NAME")
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--nats-server", type=Path)
    parser.add_argument("--rate", type=int, default=2_000, help="updates a second [default: 2000]")
    parser.add_argument("--seconds", type=int, default=10, help="of a round [default: 10]")
    parser.add_argument("--rounds", type=int, default=3, help="[default: 3]")
    parser.add_argument("--faults", type=int, default=10, help="of each kind [default: 10]")
    parser.add_argument("--sockets", type=int, default=600, help="of all edges [default: 600]")
    parser.add_argument("--many", type=int, default=100_000, help="sockets of `sockets` [default: 100000]")
    parser.add_argument("--warmup", type=int, default=20, help="seconds before `sockets` measures [default: 20]")
    parser.add_argument("--matches", type=int, default=1_000, help="[default: 1000]")
    parser.add_argument("--markets", type=int, default=28, help="of each of six bookmakers, with three prices each [default: 28]")
    options = parser.parse_args()
    options.program = options.program.resolve()
    parts.Signals.catch()
    for measure in every:
        if not options.names or measure.__name__ in options.names:
            measure(options)


if __name__ == "__main__":
    main()
