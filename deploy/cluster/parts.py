"""The processes of a cluster on this machine, and the shared files with the addresses of these."""

import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(TOP / "tests"))

from runner import postgres  # noqa: E402
from runner.ports import free_ports  # noqa: E402

# Every MATCHWIRE_ variable would be a setting of every node.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("MATCHWIRE_")}
# Where servers are that a user's PATH may lack.
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin"])
# Far more than a start, a stop and an answer take.
START_S_MAX, STOP_S_MAX, ANSWER_S_MAX = 600, 30, 10


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
        self.process, self.ended_at, self.starts = None, None, 0
        self.stop_signal = signal.SIGTERM
        folder.mkdir(exist_ok=True)

    def start(self):
        self.ended_at, self.starts = None, self.starts + 1
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
        said = (done.stderr or done.stdout).strip()
        raise Failed(f"{' '.join(map(str, command[:3]))} ended with {done.returncode}: {said}")
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
    lines, lists, was_server = [], 0, False
    for line in text.splitlines():
        is_server = re.match(r"\s+server .*:8080\b", line)
        if not is_server:
            lines.append(line)
        elif not was_server:
            # The first of a list is the pattern for all.
            lists += 1
            for node in nodes:
                lines.append(re.sub(r"\ba\b", node.name, line.replace("node-a:8080", node.address)))
        was_server = is_server
    assert lists, "the balancer has servers"
    return "\n".join(lines) + "\n"


def ports(count, base):
    """Ports from this one on, or free ones."""
    if base:
        return list(range(base, base + count))
    return free_ports(count)


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


def ending(code):
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
