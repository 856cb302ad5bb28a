#!/usr/bin/env python3
"""Starts a cluster on this machine, to try it out: three NATS servers, PostgreSQL, two nodes that may lead, edges, and
HAProxy or nginx in front of them if one is installed. A simulated day of sports is pushed to it.

    cargo build --release
    deploy/cluster/local.py

Ctrl-C ends all of it, and removes its files unless `--dir` names a folder for them. A part that ends by itself, or that
you end, is started again. With `--check` the script checks instead that the cluster answers, also after its leader was
killed, prints one line, and ends with 0 if it does.
"""

import argparse
import http.client
import json
import os
import re
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(TOP / "tests"))

import push  # noqa: E402
from runner import postgres  # noqa: E402

# Every MATCHWIRE_ variable would be a setting of every node.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("MATCHWIRE_")}
# Where servers are that a user's PATH may lack.
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin"])
# Far more than a start, a stop and a takeover take.
START_S_MAX, STOP_S_MAX, ANSWER_S_MAX = 180, 30, 10
# How long a part that has ended stays away, so that one can see what the others do meanwhile.
RESTART_S = 5
ADDONS = ("websocket", "sports", "odds")
# What the key is tried on.
REST, CHANNEL = "/api/v2/events/?limit=1", "/stream/v1/channels/football"
# What is pushed after the leader was killed.
NEW_SIDE = "Takeover United"
NEW_MATCH = json.dumps({
    "id": "takeover", "sport": "football", "match": "takeover",
    "fact": {"fixture": {"sides": [{"name": NEW_SIDE}, {"name": "Standby City"}]}},
})


class Failed(Exception):
    """The cluster does not do what it should. The text says what."""


class Stopped(Exception):
    """A signal asks the script to end."""


class Signals:
    """Whether a signal has come. It only sets a flag: an exception at any place could leave a process behind."""

    came = False

    @classmethod
    def catch(cls):
        def note(*_):
            cls.came = True

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, note)

    @classmethod
    def check(cls):
        if cls.came:
            raise Stopped


def find(name):
    return shutil.which(name, path=PATH)


def tied(number):
    """What to put before a command, so that it gets this signal should this script be killed."""
    setpriv = find("setpriv")
    return [setpriv, f"--pdeathsig={signal.Signals(number).name[3:]}", "--"] if setpriv else []


class Part:
    """A process of the cluster, with a folder and a log of its own."""

    def __init__(self, name, folder, command, env=None):
        self.name, self.folder, self.command, self.env = name, folder, command, env or {}
        self.process, self.ended_at = None, None
        self.stop_signal = signal.SIGTERM
        folder.mkdir(exist_ok=True)

    def start(self):
        self.ended_at = None
        with self.log.open("ab") as log:
            # A session, so that Ctrl-C reaches this script alone, which then ends the parts in order.
            self.process = subprocess.Popen(
                [*tied(signal.SIGTERM), *map(str, self.command)], cwd=self.folder, env=ENVIRONMENT | self.env,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )

    @property
    def log(self):
        return self.folder / "log"

    @property
    def pid(self):
        return self.process.pid

    def has_ended(self):
        return self.process is not None and self.process.poll() is not None

    def ask_to_stop(self):
        if self.process and not self.has_ended():
            self.process.send_signal(self.stop_signal)
            # One that somebody has suspended would not see it.
            self.process.send_signal(signal.SIGCONT)

    def wait_until_stopped(self):
        if not self.process:
            return
        try:
            self.process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            self.process.wait()


class PostgresPart(Part):
    """The database. It is started and stopped as the tests do."""

    def __init__(self, folder, port, password):
        super().__init__("postgres", folder, [])
        self.programs, self.port, self.password = postgres.programs(), port, password
        # Ends its sessions too.
        self.stop_signal = signal.SIGINT

    def start(self):
        self.ended_at = None
        if not (self.folder / "data").exists():
            postgres.initialise(run, self.programs, self.folder, self.password)
        self.process = postgres.start(self.programs, self.folder, self.port)


class Node(Part):
    """A hub of the cluster."""

    def __init__(self, name, role, folder, port, program, settings):
        self.role, self.port, self.config = role, port, folder / "node.toml"
        super().__init__(name, folder, [program, "serve", "--config", self.config])
        settings = {"listen": self.address, "node": name, "role": role} | settings
        self.config.touch(0o600)
        self.config.write_text(with_settings((HERE / "node.toml").read_text(), settings))

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"


def run(*command, cwd=None, text=None):
    """Runs a command to its end, and returns what it prints."""
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=ENVIRONMENT, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, timeout=START_S_MAX, start_new_session=True,
    )
    if done.returncode:
        raise Failed(f"{' '.join(map(str, command[:3]))} ended with {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout.strip()


def with_settings(text, settings):
    """The settings of the shared file, with other values."""
    for name, value in settings.items():
        text, times = re.subn(rf"^{name} = .*$", f'{name} = "{value}"', text, flags=re.MULTILINE)
        assert times == 1, f"node.toml has {name} {times} times"
    return text


def with_nodes(text, nodes, listen):
    """The configuration of a balancer, with these nodes instead of those of compose.yaml, and another address."""
    text, times = re.subn(r"^(\s+(?:bind|listen) )\*?:?8080\b", rf"\g<1>{listen}", text, flags=re.MULTILINE)
    assert times == 1, "the balancer listens once"
    lines, written = [], False
    for line in text.splitlines():
        if not re.match(r"\s+server .*:8080\b", line):
            lines.append(line)
        elif not written:
            # The first is the pattern for all.
            written = True
            for node in nodes:
                lines.append(re.sub(r"\ba\b", node.name, line.replace("node-a:8080", node.address)))
    assert written, "the balancer has servers"
    return "\n".join(lines) + "\n"


def ports(count, base):
    """Ports from this one on, or free ones."""
    if base:
        return list(range(base, base + count))
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [it.getsockname()[1] for it in held]
    for it in held:
        it.close()
    return found


def get(address, path, key=None):
    """The status and the body of an answer. An address that does not answer has the status 0."""
    connection = http.client.HTTPConnection(address, timeout=ANSWER_S_MAX)
    try:
        connection.request("GET", path, headers={"Authorization": f"Token {key}"} if key else {})
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error).encode()
    finally:
        connection.close()


class Cluster:
    """All parts, and what clients and operators need to know."""

    def __init__(self, arguments, folder):
        self.folder, self.program, self.parts = folder, arguments.program.resolve(), []
        self.quiet, self.has_started, self.problem = arguments.check, False, None
        self.balancer = None
        self.secrets = self.kept_secrets()
        edges = [f"edge-{number}" for number in range(1, arguments.edges + 1)]
        balancer_port, self.postgres_port, *rest = ports(2 + 6 + 2 + len(edges), arguments.port)
        self.nats_ports, self.route_ports, node_ports = rest[:3], rest[3:6], rest[6:]
        self.balancer_address = f"127.0.0.1:{balancer_port}"
        self.proxy = self.chosen_balancer(arguments.balancer)
        # The service that clients are given: without a balancer, that of a node.
        self.address = self.balancer_address if self.proxy else f"127.0.0.1:{node_ports[0]}"
        self.database = f"postgres://postgres:{self.secrets['postgres']}@127.0.0.1:{self.postgres_port}/postgres"
        settings = {
            "db": self.database, "public_url": f"http://{self.address}", "trusted_proxies": "127.0.0.1",
            "nats": ",".join(f"nats://127.0.0.1:{port}" for port in self.nats_ports),
        }
        roles = {"a": "all", "b": "all"} | dict.fromkeys(edges, "edge")
        self.nodes = [
            Node(name, role, folder / name, port, self.program, settings)
            for (name, role), port in zip(roles.items(), node_ports)
        ]
        self.matches, self.nats_server = arguments.matches, arguments.nats_server

    def kept_secrets(self):
        """The password of the database, and later the keys: a folder that is used again has those of its first use."""
        path = self.folder / "secrets.json"
        if path.exists():
            return json.loads(path.read_text())
        return {"postgres": secrets.token_hex(16), "operator": secrets.token_urlsafe(12)}

    def keep_secrets(self):
        path = self.folder / "secrets.json"
        path.touch(0o600)
        path.write_text(json.dumps(self.secrets, indent=2))

    @staticmethod
    def chosen_balancer(wanted):
        if wanted == "none":
            return None
        names = ("haproxy", "nginx") if wanted == "auto" else (wanted,)
        found = next((path for path in map(find, names) if path), None)
        if not found and wanted != "auto":
            raise Failed(f"{wanted} is not installed")
        return found

    # ------------------------------------------------------------------------------------------ start

    def start(self):
        if not self.program.exists():
            raise Failed(f"there is no {self.program}: cargo build --release makes it, or --program names another")
        if not postgres.programs():
            raise Failed("PostgreSQL is not installed; on Debian: apt-get install postgresql")
        self.start_nats()
        self.say("three NATS servers run")
        database = self.begin(PostgresPart(self.folder / "postgres", self.postgres_port, self.secrets["postgres"]))
        try:
            postgres.wait_until_ready(database.process, database.folder)
        except postgres.NotStarted:
            raise Failed("PostgreSQL did not start") from None
        self.say("PostgreSQL runs")
        # Refused until the NATS servers have elected a leader.
        self.wait_until("the stream of the log is there", self.init)
        self.create_accounts()
        for node in self.nodes:
            self.begin(node)
        self.wait_until("every node is ready", self.is_ready)
        # A node leads, and another could take over.
        self.wait_until("the cluster is whole", lambda: self.status()[0] == 0)
        if self.proxy:
            self.start_balancer()
            self.wait_until("the balancer serves", lambda: get(self.address, "/readyz")[0] == 200)
        self.start_pushing()
        self.wait_until("every node has the first matches", lambda: all(map(self.has_matches, self.nodes)))
        self.has_started = True

    def begin(self, part):
        """Starts a part, which is stopped with the others from now on."""
        Signals.check()
        self.parts.append(part)
        part.start()
        return part

    def start_nats(self):
        program = self.nats_server or find("nats-server") or self.installed_nats()
        routes = ", ".join(f"nats://127.0.0.1:{port}" for port in self.route_ports)
        for number, (port, route) in enumerate(zip(self.nats_ports, self.route_ports), start=1):
            name = f"nats-{number}"
            self.begin(Part(name, self.folder / name, [program, "-c", HERE / "nats.conf"], {
                "NATS_NAME": name, "NATS_LISTEN": f"127.0.0.1:{port}", "NATS_STORE": str(self.folder / name),
                "NATS_ROUTE_LISTEN": f"127.0.0.1:{route}", "NATS_ROUTES": f"[{routes}]",
            }))

    def installed_nats(self):
        """The server that the tests use, in a virtual environment of its own."""
        venv = self.folder / "nats-server"
        program = venv / "bin" / "nats-server"
        if not program.exists():
            self.say("nats-server is not on the path: installing one for this cluster")
            run(sys.executable, "-m", "venv", "--clear", venv)
            requirements = TOP / "tests" / "tools" / "nats-server.txt"
            run(venv / "bin" / "python", "-m", "pip", "install", "--quiet", "--require-hashes", "-r", requirements)
        return program

    def init(self):
        try:
            self.command("cluster", "init")
            return True
        except Failed as problem:
            self.problem = problem
            return False

    def command(self, *words):
        return run(self.program, *words, "--config", self.nodes[0].config, cwd=self.folder)

    def create_accounts(self):
        """An operator, a client's key with all add-ons, and the key of the source that pushes."""
        database = ("--db", self.database)
        if "key" not in self.secrets:
            run(self.program, "admin", "create", *database, "operator", text=self.secrets["operator"] + "\n", cwd=self.folder)
            addons = [option for addon in ADDONS for option in ("--addon", addon)]
            feed = run(self.program, "feeds", "key", "create", *database, "simulator", cwd=self.folder)
            key = run(self.program, "key", "create", *database, *addons, cwd=self.folder)
            self.secrets |= {"feed": feed, "key": key}
        self.keep_secrets()

    def start_balancer(self):
        name = Path(self.proxy).name
        config, folder = HERE / f"{name}.{'cfg' if name == 'haproxy' else 'conf'}", self.folder / name
        options = {
            "haproxy": ["-db", "-f", folder / config.name],
            "nginx": ["-p", f"{folder}/", "-c", folder / config.name, "-e", "stderr", "-g", "daemon off;"],
        }
        self.balancer = Part(name, folder, [self.proxy, *options[name]])
        (folder / config.name).write_text(with_nodes(config.read_text(), self.nodes, self.address))
        self.begin(self.balancer)

    def start_pushing(self):
        folder = self.folder / "push"
        folder.mkdir(exist_ok=True)
        key, day = folder / "key", folder / "day.ndjson"
        key.touch(0o600)
        key.write_text(self.secrets["feed"])
        if not day.exists():
            options = ("--seed", "1", "--events", "--bookmakers", "2", "--matches", self.matches)
            day.write_text(run(self.program, "simulate", *options) + "\n")
        urls = [self.address] if self.proxy else [it.address for it in self.nodes]
        urls = [option for address in urls for option in ("--url", f"http://{address}")]
        self.begin(Part("push", folder, [sys.executable, HERE / "push.py", *urls, "--key-file", key, day]))

    # ----------------------------------------------------------------------------------------- run

    def wait_until(self, what, is_so):
        """Waits until something is so, and keeps the parts running meanwhile."""
        deadline = time.monotonic() + START_S_MAX
        while not is_so():
            self.keep_running()
            if time.monotonic() > deadline:
                raise Failed(f"not within {START_S_MAX} s: {what}" + (f"; {self.problem}" if self.problem else ""))
            time.sleep(0.1)
        self.problem = None
        self.say(what)

    def keep_running(self):
        """Starts parts again that ended a while ago."""
        Signals.check()
        for part in self.parts:
            # The day that is pushed is over.
            if not part.has_ended() or part.name == "push" and part.process.returncode == 0:
                continue
            if not self.has_started:
                raise Failed(f"{part.name} has ended ({ending(part.process.returncode)})")
            if part.ended_at is None:
                part.ended_at = time.monotonic()
                self.say(f"{part.name} has ended ({ending(part.process.returncode)}) and starts again in {RESTART_S} s")
            elif time.monotonic() > part.ended_at + RESTART_S:
                part.start()
                self.say(f"{part.name} runs again, as process {part.pid}")

    def status(self):
        """The exit code of `matchwire cluster status`, and what it says. Asks for a second."""
        command = [str(self.program), "cluster", "status", "--json", "--config", str(self.nodes[0].config)]
        done = subprocess.run(
            command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=START_S_MAX,
            start_new_session=True,
        )
        return done.returncode, json.loads(done.stdout) if done.stdout.startswith("{") else {"leader": None, "nodes": []}

    def leader(self):
        name = self.status()[1]["leader"]
        return next((node for node in self.nodes if node.name == name), None)

    def is_ready(self):
        return all(get(node.address, "/readyz")[0] == 200 for node in self.nodes)

    def has_matches(self, node):
        return get(node.address, CHANNEL, self.secrets["key"])[0] == 200

    def has_new_match(self, node):
        return NEW_SIDE.encode() in get(node.address, CHANNEL, self.secrets["key"])[1]

    def stop(self):
        """Ends all parts, those first that need others."""
        order = {"push": 0, "haproxy": 1, "nginx": 1} | {node.name: 2 for node in self.nodes}
        for step in range(4):
            parts = [part for part in self.parts if order.get(part.name, 3) == step]
            for part in parts:
                part.ask_to_stop()
            for part in parts:
                part.wait_until_stopped()

    def say(self, text):
        if not self.quiet:
            print(text, flush=True)

    def describe(self):
        """What there is, and what to try."""
        leader, key = self.leader(), self.secrets["key"]
        tool = self.program.parent / "matchwire-loadtest"
        follow = [tool if tool.exists() else "cargo run --release -p matchwire-loadtest --", "follow", "--key", key]
        urls = [self.address] if self.proxy else [it.address for it in self.nodes]
        # A balancer twice: a socket that is closed continues at the next URL.
        urls = " ".join(f"--url ws://{address}/stream/v1" for address in (urls * 2 if self.proxy else urls))
        lines = ["", "process  part"]
        for part in self.parts:
            place = f"http://{part.address}" if isinstance(part, Node) else f"log in {part.log}"
            lines.append(f"{part.pid:7}  {part.name:9} {place}{', leads' if part is leader else ''}")
        lines += [
            "",
            f"clients   http://{self.address}" + (f" ({self.balancer.name})" if self.proxy else " (there is no balancer)"),
            f"key       {key}",
            f"operator  http://{self.address}/admin/ as operator, with the password {self.secrets['operator']}",
            "",
            "Try:",
            f"  {shlex.quote(str(self.program))} cluster status --config {shlex.quote(str(self.nodes[0].config))}",
            f"  {' '.join(map(str, follow))} --channel 'football/*' --sockets 30 --seconds 30 {urls}",
            f"  kill -9 {leader.pid if leader else self.nodes[0].pid}    # the leader, while the second command runs; ask for the status then",
            "",
            "Ctrl-C ends it.",
        ]
        print("\n".join(lines), flush=True)

    # ---------------------------------------------------------------------------------------- check

    def check(self):
        """Checks that the cluster serves, also after its leader was killed. Returns what it found."""
        key = self.secrets["key"]
        services = [node.address for node in self.nodes] + [self.address] * bool(self.proxy)
        for address in services:
            for path in (REST, CHANNEL):
                expect(address, path, key)
        leader = self.leader()
        if not leader:
            raise Failed("no node leads")
        with Requests(self.address if self.proxy else self.other_than(leader).address, key) as requests:
            os.kill(leader.pid, signal.SIGKILL)
            self.wait_until("another node leads", lambda: self.leader() not in (None, leader))
            successor = self.leader()
            # Pushed to any node, and seen at every one, also at the one that is back.
            push.push(NEW_MATCH, [f"http://{requests.address}"], self.secrets["feed"])
            self.wait_until("every node has what was pushed", lambda: all(map(self.has_new_match, self.nodes)))
            self.wait_until("every node is ready", self.is_ready)
        if requests.problems:
            raise Failed(f"{len(requests.problems)} of {requests.count} requests failed, first {requests.problems[0]}")
        for address in services:
            expect(address, REST, key)
        name = self.balancer.name if self.proxy else "no balancer"
        return (
            f"{len(self.nodes)} nodes and {name} serve, {successor.name} leads after {leader.name} was killed, "
            f"and {requests.count} of {requests.count} requests meanwhile were answered"
        )

    def other_than(self, leader):
        return next(node for node in self.nodes if node is not leader)


def expect(address, path, key):
    status, body = get(address, path, key)
    if status != 200:
        raise Failed(f"http://{address}{path}: {status} {body[:200].decode(errors='replace')}")


class Requests:
    """A client that polls, and notes what is not answered with 200."""

    # Far below limits.address_per_second.
    PAUSE_S = 0.1

    def __init__(self, address, key):
        self.address, self.key, self.count, self.problems = address, key, 0, []
        self.ended, self.thread = threading.Event(), threading.Thread(target=self.poll)

    def poll(self):
        while not self.ended.wait(self.PAUSE_S):
            status, body = get(self.address, REST, self.key)
            self.count += 1
            if status != 200:
                self.problems.append(f"{status} {body[:200].decode(errors='replace')}")

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


def ending(code):
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def log_ends(cluster):
    """The last lines of what failed: of parts that have ended, otherwise of all."""
    ended = [part for part in cluster.parts if part.has_ended()] or cluster.parts
    for part in ended:
        if part.log.exists():
            yield f"---- the end of the log of {part.name}"
            yield from part.log.read_text(errors="replace").splitlines()[-15:]


def main():
    parser = argparse.ArgumentParser(description=" ".join(__doc__.split("\n\n")[0].split()))
    parser.add_argument("--program", type=Path, default=TOP / "target" / "release" / "matchwire", help="[default: target/release/matchwire]")
    parser.add_argument("--nats-server", type=Path, help="[default: that on the path; otherwise one is installed for this cluster]")
    parser.add_argument("--edges", type=int, default=2, metavar="N", help="how many nodes only serve clients [default: 2]")
    parser.add_argument("--balancer", choices=("auto", "haproxy", "nginx", "none"), default="auto", help="[default: the first that is installed]")
    parser.add_argument("--matches", type=int, default=12, metavar="N", help="of the day that is pushed [default: 12]")
    parser.add_argument("--dir", type=Path, help="where all files are; they stay, and can be used again [default: a temporary folder]")
    parser.add_argument("--port", type=int, default=0, help="the first of the ports, that of the balancer [default: free ones]")
    parser.add_argument("--check", action="store_true", help="check that the cluster serves, also after its leader was killed")
    arguments = parser.parse_args()
    Signals.catch()
    if arguments.dir:
        arguments.dir.mkdir(parents=True, exist_ok=True)
    folder = (arguments.dir or Path(tempfile.mkdtemp(prefix="matchwire-cluster-"))).resolve()
    # PostgreSQL runs as another user if this script runs as root.
    folder.chmod(0o711)
    try:
        return serve(arguments, folder)
    finally:
        if not arguments.dir:
            shutil.rmtree(folder, ignore_errors=True)


def serve(arguments, folder):
    cluster = None
    try:
        cluster = Cluster(arguments, folder)
        cluster.start()
        if arguments.check:
            print(f"ok: {cluster.check()}", flush=True)
            return 0
        cluster.describe()
        while True:
            cluster.keep_running()
            time.sleep(0.2)
    except Stopped:
        if arguments.check:
            print("FAILED: interrupted", flush=True)
            return 1
        return 0
    except (Failed, OSError, subprocess.SubprocessError) as problem:
        if cluster:
            print("\n".join(log_ends(cluster)), file=sys.stderr)
        print(f"FAILED: {problem}", flush=True)
        return 1
    finally:
        if cluster:
            cluster.stop()


if __name__ == "__main__":
    sys.exit(main())
