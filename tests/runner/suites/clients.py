"""Our clients, and those of other people, against running hubs."""

import json
import re
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from runner.build import BUILD, MCP_FIXTURE, RUST_CLIENT, hub_binary
from runner.environment import ENVIRONMENT, LOGS, TOP
from runner.hubs import ANSWER_S_MAX, DEMO, SHARED_HUB, hub_with_past, running_hub, said_by, wait_for_predictions
from runner.install import node_22, npm_packages, python_with, tool
from runner.log import STEP_S_MAX, Failed
from runner.report import Counts, at_least_failed, pytest_counts, script_counts
from runner.suites.common import NODE_FILE_S_MAX, check, node_tests


def client_js(log):
    """The package clients/js: what is built from its sources, its types, its size and its tests, and the installed package
    against hubs of its own, over connections that are cut, stalled and slow."""
    return client_js_tests(log)


def client_js_long(log):
    """The same with 1,000 cuts."""
    return client_js_tests(log, file_s=LONG_S_MAX, TEST_CUTS="1000")


# Of a thousand cuts: what one takes on a busy machine.
LONG_S_MAX = 1000 * 5


def client_js_tests(log, file_s=NODE_FILE_S_MAX, **variables):
    folder = TOP / "clients" / "js"
    node = npm_packages(log, folder)
    counts = check(log, node, "build.js", "--check", cwd=folder)
    counts += check(log, node, "node_modules/typescript/bin/tsc", "-p", ".", "--noEmit", cwd=folder)
    env = variables | {"HUB_BIN": str(hub_binary(log))}
    return counts + node_tests(log, node, folder / "tests", folder / "tests" / "hub", file_s=file_s, cwd=folder, env=env)


def clients(log):
    """Python's `websockets` against a running hub."""
    folder = TOP / "tests" / "clients"
    python = python_with(log, folder / "requirements.txt")
    with SHARED_HUB.used(log) as (address, key, key_without_addon):
        url = f"ws://{address}/stream/v1"
        code, said = log.run(python, folder / "websockets_client.py", "--url", url, "--key", key, "--key-without-addon", key_without_addon)
    return script_counts(said, code)


PYTHON_CLIENT = TOP / "clients" / "python"


def python_client_tools(log):
    """A Python of the client's own: its tests run the built wheel there, without the packages of other suites."""
    return python_with(log, PYTHON_CLIENT / "requirements-dev.txt", "client-python")


def client_python(log):
    """The package of clients/python: its lints, types and generated documents, and its tests, which run the built wheel
    against a hub."""
    return client_python_tests(log)


def client_python_long(log):
    """The same with 1,000 cuts."""
    return client_python_tests(log, test_s=LONG_S_MAX, CHAOS_CUTS="1000")


# Far more than a test takes. It is shorter than a silence for which the suite would be ended, so that the report names the test.
PYTHON_TEST_S_MAX = 600


def client_python_tests(log, test_s=PYTHON_TEST_S_MAX, **variables):
    python = python_client_tools(log)
    counts = Counts()
    for command in (["ruff", "check"], ["ruff", "format", "--check"], ["mypy"], ["pyright", "--pythonpath", python]):
        counts += check(log, python.parent / command[0], *command[1:], cwd=PYTHON_CLIENT)
    counts += check(log, python, "tools/documents.py", "--check", cwd=PYTHON_CLIENT)
    with tempfile.TemporaryDirectory(prefix="matchwire-wheel-") as folder:
        log.must(python, "-m", "build", "--no-isolation", "--outdir", folder, cwd=PYTHON_CLIENT)
        (wheel,) = Path(folder).glob("matchwire-*-py3-none-any.whl")
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--force-reinstall", "--no-deps")
        log.must(*pip, wheel)
        env = variables | {"HUB_BIN": str(hub_binary(log)), "TEST_WHEEL": str(wheel)}
        bounds = ("-o", f"faulthandler_timeout={test_s}", "-o", "faulthandler_exit_on_timeout=true")
        limits = {"silent_s": 2 * test_s, "limit_s": max(STEP_S_MAX, 3 * test_s)}
        code, printed = log.run(python, "-m", "pytest", "--durations", "5", *bounds, cwd=PYTHON_CLIENT, env=env, **limits)
    return counts + pytest_counts(printed, code)


def conformance(log):
    """`matchwire conformance` grades our three clients and one of other people's parts, side by side."""
    code, _ = log.run(sys.executable, TOP / "tools" / "conformance" / "cases.py", "--check")
    counts = Counts(int(code == 0), int(code != 0), 0)
    folder = TOP / "tests" / "clients"
    python, own_python = python_with(log, folder / "requirements.txt"), python_client_tools(log)
    node = npm_packages(log, TOP / "clients" / "js")
    rust = next(it.path for it in BUILD.wait(log) if it.target == RUST_CLIENT)
    hub = hub_binary(log)
    clients = {
        "python": (own_python, PYTHON_CLIENT / "tests" / "conformance_client.py"),
        "javascript": (node, TOP / "clients" / "js" / "tests" / "conformance" / "client.js"),
        "rust": (rust,),
        "others": (python, folder / "stream_client.py"),
    }

    def grade(name):
        own = log.part(f"conformance-{name}")
        env = {"PYTHONPATH": str(PYTHON_CLIENT / "src")} if name == "python" else {}
        code, said = own.run(hub, "conformance", "--json", "--", *clients[name], env=env, captured=True)
        own.write(said)
        result = json.loads(said) if said else {"passed": 0, "failed": 0, "cases": []}
        for case in result["cases"]:
            if not case["passed"]:
                log.write(f"{name}: FAILED: {case['case']}: {case['why']}")
        return at_least_failed(Counts(result["passed"], result["failed"], 0), code)

    with ThreadPoolExecutor() as pool:
        return sum(pool.map(grade, clients), counts)


def strangers(log):
    """Third-party clients of the public interface, REST and the older sockets, written only from its
    description: one in Python, one in JavaScript. Side by side, each at a hub of its own."""
    folder = TOP / "tests" / "clients"
    python = python_with(log, folder / "requirements.txt")
    node = npm_packages(log, folder / "javascript")
    # Here, so that the wait counts for the suite and not for its clients.
    DEMO.path(log)

    def walk(name, *client):
        own = log.part(f"strangers-{name}")
        with running_hub(own) as (address, key, key_without_addon):
            code, said = own.run(*client, "--url", f"http://{address}", "--key", key, "--key-without-addon", key_without_addon)
        for line in re.findall(r"^FAILED.*$", said, re.MULTILINE):
            log.write(f"{name}: {line}")
        return script_counts(said, code)

    clients = [("python", python, folder / "public_interface"), ("javascript", node, folder / "javascript" / "walk.js")]
    with ThreadPoolExecutor() as pool:
        return sum(pool.map(lambda client: walk(*client), clients), Counts())


# So fast that a goal and a suspension come within seconds, and so few calls that each client can use them up. Clients
# that call as fast as they can are what is tested, so the other limits are off; and clients that are short of
# processor time notice late that the hub has closed an idle connection, so it keeps them.
MCP_SETTINGS = {
    "MATCHWIRE_DEMO_SPEED": "40", "MATCHWIRE_SERVER_HANDSHAKE_TIMEOUT_MS": "300000",
    "MATCHWIRE_SERVER_KEEP_ALIVE_MS": "300000", "MATCHWIRE_LIMITS_FOOTBALL_PER_DAY": "30",
    "MATCHWIRE_LIMITS_ADDRESS_PER_SECOND": "0", "MATCHWIRE_LIMITS_ACCOUNT_CPU_PERCENT": "0",
}


def mcp(log):
    """Third-party clients of the MCP servers, of both generations of the protocol, and the conformance suites of the
    protocol's authors. They share a hub, and each has accounts of its own."""
    folder = TOP / "tests" / "mcp"
    python = python_with(log, folder / "python" / "requirements.txt")
    node = node_22(log, folder / "javascript")
    clients = {
        "modern": (node, folder / "javascript" / "modern.js"),
        "older": (node, folder / "javascript" / "older.js"),
        "inspector": (node, folder / "javascript" / "inspector.js"),
        "python": (python, folder / "python" / "official.py", "--mode", "2026-07-28"),
        "python-legacy": (python, folder / "python" / "official.py", "--mode", "legacy"),
        "fastmcp": (python, folder / "python" / "fast.py"),
    }
    conformance = (node, folder / "javascript" / "conformance.js")

    def run(name, *command):
        own = log.part(f"mcp-{name}")
        code, said = own.run(*command)
        for line in re.findall(r"^(?:FAILED|skipped).*$", said, re.MULTILINE):
            log.write(line.replace(": ", f": {name}: ", 1))
        return script_counts(said, code)

    with hub_with_past(log.part("mcp-hub"), **MCP_SETTINGS) as (address, key, create_key), mcp_fixture(log) as fixture:
        wait_for_predictions(address, key)
        url = f"http://{address}"
        runs = {}
        for name, command in clients.items():
            paid, free = create_key("websocket", "sports", "odds"), create_key()
            runs[name] = (*command, "--url", url, "--key", paid, "--key-without-addon", free)
        runs["conformance"] = (*conformance, "--url", url, "--key", key, "--fixture", fixture)
        with ThreadPoolExecutor(len(runs)) as pool:
            return sum(pool.map(lambda item: run(item[0], *item[1]), runs.items()), Counts())


def mcp_fixture(log):
    """The URL of a server with the tools, prompts and resources that the conformance suites call, on the hub's mount."""
    return server_of(log, MCP_FIXTURE, r"(http://\S+)")


@contextmanager
def server_of(log, target, pattern, *arguments):
    """What a server that `BUILD` compiles says of its address."""
    program = next(it.path for it in BUILD.wait(log) if it.target == target)
    with log.path.open("ab") as errors:
        server = subprocess.Popen(
            [program, *arguments], env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True,
        )
    # Kills one that prints nothing, which ends the reading below.
    late = threading.Timer(ANSWER_S_MAX, server.kill)
    late.start()
    try:
        yield said_by(server, pattern)
    finally:
        late.cancel()
        server.kill()
        log.reap(server, ANSWER_S_MAX)


# For clients that call as fast as they can.
UNLIMITED = {f"MATCHWIRE_LIMITS_{name}": "0" for name in ("ADDRESS_PER_SECOND", "ACCOUNT_CPU_PERCENT", "WRONG_KEYS_PER_MINUTE", "FOOTBALL_PER_DAY")}


GENERATORS = TOP / "tests" / "generators"


def generators_python(log):
    """A Python of its own: the generators want other versions of what clients of other suites have."""
    return python_with(log, GENERATORS / "requirements.txt", "generators")


def generators(log):
    """Clients that openapi-python-client, openapi-generator and openapi-typescript make of the OpenAPI document, and a call of
    each operation through each of them. The generated clients are in `test-results/generators/`."""
    python, node = generators_python(log), npm_packages(log, GENERATORS)
    # A call creates a webhook, to where nobody listens.
    with running_hub(log, **UNLIMITED, MATCHWIRE_WEBHOOKS_ALLOW_PRIVATE="true") as (address, key, key_without_addon):
        code, said = log.run(
            python, GENERATORS, "--url", f"http://{address}", "--key", key, "--key-without-addon", key_without_addon,
            "--node", node, "--output", LOGS / "generators",
        )
    return script_counts(said, code)


def schemathesis(log):
    """Schemathesis over the OpenAPI document, with a key for everything and with one without add-ons. A
    test is one operation, and with the first key a second: that a row which there is was answered."""
    folder, counts = TOP / "tests" / "schema", Counts()
    python = python_with(log, folder / "requirements.txt")
    # Without add-ons most is refused at the gate, which knows neither methods nor values: one run is enough.
    runs = {"everything": [], "free": ["--phases", "examples,fuzzing", "--exclude-checks", "unsupported_method"]}
    with running_hub(log, **UNLIMITED) as (address, *keys):
        for (name, options), key in zip(runs.items(), keys):
            report, answered = LOGS / f"schemathesis-{name}.xml", LOGS / f"schemathesis-{name}.json"
            code, said = log.run(
                python.parent / "schemathesis", "--config-file", folder / "schemathesis.toml", "run", f"http://{address}/api/schema/",
                "--no-color", "--report-junit-path", report, *options,
                cwd=folder, env={"HUB_KEY": key, "ANSWERED": str(answered)}, silent_s=STEP_S_MAX,
            )
            if not (tests := re.search(r"<testsuites [^>]*>", report.read_text())):
                raise Failed(f"Schemathesis ended with {code} and without a report")
            count = {word: int(re.search(rf'{word}="(\d+)"', tests[0])[1]) for word in ("tests", "failures", "errors", "skipped")}
            failed = count["failures"] + count["errors"]
            counts += at_least_failed(Counts(count["tests"] - failed - count["skipped"], failed, count["skipped"]), code)
            if name == "everything":
                counts += really_answered(log, json.loads(answered.read_text()))
    return counts


def really_answered(log, answered):
    """Whether each operation for which the hub has a row was answered with one, and not only with 404."""
    counts = Counts()
    for operation, result in answered.items():
        if any(status.startswith("2") for status in result["statuses"]):
            counts.passed += 1
        elif result["has_row"]:
            counts.failed += 1
            log.write(f"FAILED: {operation} answered with {result['statuses']} only")
        else:
            counts.skipped += 1
            log.write(f"skipped: {operation}: the demo has no such row")
    return counts


def websocat(log):
    """websocat, with the key in each of the three places: the third frame is the image of `feeds`."""
    program = tool(log, "websocat")
    with SHARED_HUB.used(log) as (address, key, _):
        url = f"ws://{address}/stream/v1"
        transports = {
            "header": [f"-H=Authorization: Token {key}", url],
            "subprotocol": ["--protocol", f"matchwire.v1, token, {key}", url],
            "query": [f"{url}?token={key}"],
        }
        counts = Counts()
        for name, arguments in transports.items():
            _, said = log.run(
                "timeout", ANSWER_S_MAX, program, "-n", "--max-messages-rev", "3", *arguments,
                text='{"op":"subscribe","id":1,"ch":"feeds"}\n',
            )
            frames = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
            types = [frame["type"] for frame in frames]
            good = types == ["hello", "subscribed", "image"] and "simulator" in frames[2]["data"]["sources"]
            log.write(f"{'ok' if good else 'FAILED'}: key by {name}: {types}")
            counts += Counts(passed=int(good), failed=int(not good))
    return counts


def protocol(log):
    """WebSocket protocol cases against the fan-out's reader and writer of frames, without the large ones."""
    return protocol_cases(log, "--fast")


def protocol_all(log):
    """All cases of the Autobahn test suite but compression: messages of up to 16 MiB too."""
    return protocol_cases(log)


def protocol_cases(log, *options):
    with server_of(log, "matchwire-bare", r"listening on (\S+)", "--port", "0") as address:
        code, said = log.run(sys.executable, TOP / "tests" / "protocol" / "cases.py", *options, f"ws://{address}/echo")
    return script_counts(said, code)


def attack(log):
    """Attacks by one account or by strangers: what everyone else notices, beside a control."""
    env = {"HUB_BIN": str(hub_binary(log)), "TEST_DEMO_DB": str(DEMO.path(log))}
    code, said = log.run(sys.executable, TOP / "tests" / "attack", "--seconds", "3", "--minutes", "20", env=env)
    return script_counts(said, code)
