"""Checks deploy/monitoring/ against a running hub and a Prometheus of its own that scrapes it.

`check.py --hub ADDRESS --key KEY --prometheus PROGRAM --promtool PROGRAM --collector ADDRESS` prints a line for each check, and the numbers of them last. The key
must be one for everything. The hub must send its traces to ADDRESS, where nothing listens yet.
"""

import argparse
import http.client
import json
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import dashboards
import rules
import traces

TOP = Path(__file__).resolve().parent.parent.parent
MONITORING = TOP / "deploy" / "monitoring"
sys.path[:0] = [str(MONITORING), str(TOP / "tests")]
import generate  # noqa: E402  (its folder is not a package)
from runner.ports import free_ports  # noqa: E402

SCRAPE_MS, EVALUATE_MS = 500, 500
# In place of the one that Grafana takes from the scrape interval.
RATE_INTERVAL = "10s"
# Far more than anything here takes, on a busy machine too.
WAIT_S_MAX = 60
PAUSE_S = 0.1

# Where the program declares each kind.
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? \S+$", re.MULTILINE)


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, problems):
        """One check, and what is wrong: nothing, a text, or a list of texts."""
        problems = [problems] if isinstance(problems, str) else list(problems)
        for problem in problems:
            print(f"FAILED: {name}: {problem}", flush=True)
        if not problems:
            print(f"ok: {name}", flush=True)
        self.passed += not problems
        self.failed += bool(problems)


def get(url):
    with urllib.request.urlopen(url, timeout=WAIT_S_MAX) as answer:
        return answer.read().decode()


def wait_for(what, look):
    """Waits until `look` returns nothing that is missing; returns what still is after the longest time."""
    deadline = time.monotonic() + WAIT_S_MAX
    while (missing := look()) and time.monotonic() < deadline:
        time.sleep(PAUSE_S)
    return [f"{what}: {missing}"] if missing else []


# ------------------------------------------------------------------------------------- the hub


class Hub:
    def __init__(self, address, key):
        self.address, self.key = address, key

    def exposed(self):
        """What `/metrics` has: the kind of each metric, and the names of its labels."""
        text = get(f"http://{self.address}/metrics")
        kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
        labels = {}
        for name, inside in SAMPLE.findall(text):
            base = next((name.removesuffix(part) for part in generate.PARTS if name.removesuffix(part) in kinds), name)
            labels.setdefault(base, set()).update(set(re.findall(r'(\w+)="', inside)) - {"le"})
        return kinds, labels

    @contextmanager
    def follower(self):
        """A client that reads what the hub publishes, so that it has something to deliver."""
        connection = http.client.HTTPConnection(self.address, timeout=WAIT_S_MAX)
        connection.request("GET", "/stream/v1/sse/?ch=football/*", headers={"Authorization": f"Token {self.key}"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise SystemExit(f"the hub answered {answer.status} to a follower")
        # It is closed while it reads, which is no error.
        reader = threading.Thread(target=read_all, args=(answer,), daemon=True)
        reader.start()
        try:
            yield
        finally:
            connection.sock.shutdown(socket.SHUT_RDWR)
            reader.join()
            connection.close()

    def refuse_once(self):
        """A request without a key, which the hub counts."""
        try:
            get(f"http://{self.address}/api/v2/events/")
        except urllib.error.HTTPError as error:
            error.close()


def read_all(answer):
    try:
        while answer.read1(65536):
            pass
    except (OSError, ValueError, http.client.HTTPException):
        pass


# --------------------------------------------------------------------------------- Prometheus


class Prometheus:
    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}"

    def get(self, path, **parameters):
        """The data of an answer. Raises `ValueError` with what Prometheus says is wrong."""
        query = urllib.parse.urlencode(parameters)
        try:
            return json.loads(get(f"{self.url}/api/v1/{path}?{query}"))["data"]
        except urllib.error.HTTPError as error:
            raise ValueError(error.read().decode(errors="replace")) from None

    def is_ready(self):
        try:
            return bool(get(f"{self.url}/-/ready"))
        except OSError:
            return False

    def query(self, expr):
        return self.get("query", query=expr)["result"]


@contextmanager
def prometheus(program, hub, folder):
    """A Prometheus that scrapes this hub and evaluates the rules."""
    config = folder / "prometheus.yml"
    # JSON is YAML.
    config.write_text(json.dumps({
        "global": {"scrape_interval": f"{SCRAPE_MS}ms", "scrape_timeout": f"{SCRAPE_MS}ms", "evaluation_interval": f"{EVALUATE_MS}ms"},
        "rule_files": [str(MONITORING / "alerts.yml")],
        "scrape_configs": [{"job_name": "matchwire", "static_configs": [{"targets": [hub.address]}]}],
    }))
    (port,) = free_ports(1)
    command = [
        program, f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        it = Prometheus(port)
        deadline = time.monotonic() + WAIT_S_MAX
        while not it.is_ready():
            if server.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("Prometheus did not start")
            time.sleep(PAUSE_S)
        yield it
    finally:
        server.terminate()
        server.wait()


# ------------------------------------------------------------------------------------- checks


def check_files(checks, table):
    """Whether the files are current, name what exists, and have the form that Grafana reads."""
    done = subprocess.run([sys.executable, MONITORING / "generate.py", "--check"], stderr=subprocess.PIPE, text=True)
    checks.check("the files are those of metrics.toml", [done.stderr.strip()] if done.returncode else [])
    for path in sorted((MONITORING / "grafana").glob("*.json")):
        checks.check(f"form of {path.name}", dashboards.problems(path.read_text()))


def test_rules(checks, table, promtool, folder):
    """Whether promtool takes the rules, and each alert fires when it should, and only then."""
    done = subprocess.run([promtool, "check", "rules", MONITORING / "alerts.yml"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    checks.check("promtool takes the rules", [done.stdout] if done.returncode else [])
    problems, printed = rules.run(promtool, MONITORING / "alerts.yml", table, generate.annotations, generate.metrics_in, folder)
    if problems:
        print(printed)
    for name in dict.fromkeys([*(alert["name"] for alert in table["alert"]), *problems]):
        checks.check(f"Matchwire{name} fires and is silent", [problems[name]] if name in problems else [])


def check_exposed(checks, table, hub):
    """Whether the hub has what the table says, and nothing else."""
    always = {name for name, it in table["metric"].items() if "appears" not in it} | set(table["standard"]["names"]) - {"up", "ALERTS"}
    checks.check("the hub has what is always there", wait_for("missing", lambda: ", ".join(sorted(always - hub.exposed()[0].keys()))))
    kinds, labels = hub.exposed()
    own = {name for name in kinds if name.startswith("matchwire_")}
    checks.check("everything that the hub has is in metrics.toml", sorted(own - set(table["metric"])))
    wrong = [
        f"{name}: {kinds[name]} with {sorted(labels[name])}" for name in sorted(own & set(table["metric"]))
        if kinds[name] != table["metric"][name]["kind"] or labels[name] != set(table["metric"][name].get("labels", ()))
    ]
    checks.check("kinds and labels are those of metrics.toml", wrong)
    return set(kinds) | {"up", "ALERTS"}


def as_queried(expr):
    expr = expr.replace("$__rate_interval", RATE_INTERVAL)
    return re.sub(r"\$\w+", ".*", expr)


def check_panels(checks, table, exposed, it):
    """Whether Prometheus evaluates each panel, and has data for those of which the hub has the metrics."""
    for path in sorted((MONITORING / "grafana").glob("*.json")):
        board = json.loads(path.read_text())
        is_overview = path.stem == "overview"
        for panel in board["panels"]:
            problems = []
            for target in panel.get("targets", ()):
                expr = as_queried(target["expr"])
                has_data = is_overview or set(generate.metrics_in(table, target["expr"])) <= exposed
                try:
                    # A rate needs two samples.
                    problems += wait_for("no data", lambda: "" if it.query(expr) or not has_data else expr)
                except ValueError as error:
                    problems.append(f"{expr}: {error}")
            if panel["type"] != "row":
                checks.check(f"{path.stem}: {panel['title']}", problems)
    for name, query in generate.VARIABLES.items():
        metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", query).groups()
        values = it.get(f"label/{label}/values", **{"match[]": metric})
        checks.check(f"values of the variable {name}", [] if values else [f"none: {query}"])


def check_traces(checks, hub, address, folder):
    """Whether the hub drops traces while there is no collector, and a collector then gets those that follow."""
    counted = lambda name: name in hub.exposed()[0]
    checks.check("traces are dropped without a collector", wait_for("counted", lambda: "" if counted("matchwire_traces_dropped_total") else "none"))
    traces.check(checks, rotel_program(), address, f"127.0.0.1:{free_ports(1)[0]}", folder)
    checks.check("traces are counted", wait_for("counted", lambda: "" if counted("matchwire_traces_sent_total") else "none"))


def rotel_program():
    import rotel

    return Path(rotel.__file__).parent / "rotel-agent"


def unscraped(it):
    targets = it.get("targets")["activeTargets"]
    return "none" if not targets else "".join(target["lastError"] or "not yet" for target in targets if target["health"] != "up")


def check_rules(checks, it):
    """Whether Prometheus has evaluated each rule, and nothing fires at a healthy hub."""
    loaded = lambda: [rule for group in it.get("rules")["groups"] for rule in group["rules"]]
    unknown = lambda: ", ".join(rule["name"] for rule in loaded() if rule["health"] == "unknown")
    problems = [] if loaded() else ["no rules"]
    problems += wait_for("not evaluated", unknown)
    problems += [f"{rule['name']}: {rule.get('lastError')}" for rule in loaded() if rule["health"] == "err"]
    checks.check("Prometheus evaluates the rules", problems)
    checks.check("no alert fires", [rule["name"] for rule in loaded() if rule["state"] == "firing"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hub", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--prometheus", help="the program; without it nothing is evaluated")
    parser.add_argument("--collector", help="where the hub sends its traces to; without it they are not looked at")
    parser.add_argument("--promtool", help="the program; without it the rules are not tested")
    arguments = parser.parse_args()
    checks, hub, skipped = Checks(), Hub(arguments.hub, arguments.key), 0
    table, _ = generate.read()
    check_files(checks, table)
    with tempfile.TemporaryDirectory(prefix="matchwire-monitoring-") as folder, hub.follower():
        folder = Path(folder)
        hub.refuse_once()
        if arguments.prometheus:
            with prometheus(arguments.prometheus, hub, folder) as it:
                exposed = check_exposed(checks, table, hub)
                checks.check("Prometheus scrapes the hub", wait_for("target", lambda: unscraped(it)))
                check_panels(checks, table, exposed, it)
                check_rules(checks, it)
        else:
            check_exposed(checks, table, hub)
            skipped += 1
        if arguments.collector:
            check_traces(checks, hub, arguments.collector, folder)
        else:
            skipped += 1
        if arguments.promtool:
            test_rules(checks, table, arguments.promtool, folder)
        else:
            skipped += 1
    print(f"{checks.passed} passed, {checks.failed} failed, {skipped} skipped")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
