"""Whether a collector of OpenTelemetry that is not ours understands the traces of a hub."""

import re
import subprocess
import time
from contextlib import contextmanager

WAIT_S_MAX = 60
PAUSE_S = 0.1
STEPS = ("queue", "apply", "log", "deliver")
SPAN = re.compile(
    r"^Span #\d+\n\s+Trace ID\s+: (?P<trace>[0-9a-f]{32})\n\s+Parent ID\s+: (?P<parent>[0-9a-f]*)\n\s+ID\s+: (?P<id>[0-9a-f]{16})\n"
    r"\s+Name\s+: (?P<name>.+)\n.*\nStart time: (?P<start>\d+)\nEnd time: (?P<end>\d+)$",
    re.MULTILINE,
)


@contextmanager
def collector(program, address, grpc_address, log):
    """Rotel, which prints what it gets: the file that it prints to."""
    command = [
        program, "start", "--otlp-http-endpoint", address, "--otlp-grpc-endpoint", grpc_address,
        "--exporter", "blackhole", "--debug-log", "traces", "--debug-log-verbosity", "detailed",
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        yield log
    finally:
        process.terminate()
        process.wait()


def traces_in(text):
    """The traces that were printed, each a list of spans."""
    traces = {}
    for span in SPAN.finditer(text):
        traces.setdefault(span["trace"], []).append(span.groupdict())
    return list(traces.values())


def problems_of(spans):
    """What is wrong with a trace."""
    roots = [span for span in spans if not span["parent"]]
    if [span["name"] for span in roots] != ["feed message"]:
        return [f"its roots are {[span['name'] for span in roots]}"]
    root, problems = roots[0], []
    for span in spans:
        if span is not root and span["parent"] != root["id"]:
            problems.append(f"{span['name']} is not part of the message")
        if not int(root["start"]) <= int(span["start"]) <= int(span["end"]) <= int(root["end"]):
            problems.append(f"{span['name']} is not within the message: {span}, {root}")
    names = [span["name"] for span in spans if span is not root]
    if unknown := set(names) - set(STEPS):
        problems.append(f"unknown steps {sorted(unknown)}")
    # What changed nothing is not delivered.
    if tuple(name for name in names if name != "deliver") != STEPS[:3]:
        problems.append(f"its steps are {names}")
    return problems


def check(checks, program, address, grpc_address, folder):
    with collector(program, address, grpc_address, folder / "collector.log") as log:
        deadline = time.monotonic() + WAIT_S_MAX
        delivered = []
        while not delivered and time.monotonic() < deadline:
            traces = traces_in(log.read_text(errors="replace"))
            # The last one may not be complete yet.
            delivered = [spans for spans in traces[:-1] if any(span["name"] == "deliver" for span in spans)]
            time.sleep(PAUSE_S)
        checks.check("a collector gets traces up to the sockets", [] if delivered else [log.read_text(errors="replace")[-2000:]])
        problems = [problem for spans in traces[:-1] for problem in problems_of(spans)]
        checks.check(f"{len(traces[:-1])} traces have their parts", problems[:5])
