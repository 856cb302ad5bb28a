#!/usr/bin/env python3
"""What each list of the REST interface costs the hub, in milliseconds of its processor time.

Starts the demo, which has played months of matches before it listens, and asks every list of the OpenAPI
document for so many rows, again and again over one connection. A line for each list: the processor time of one
request, the time until its last byte, rows and bytes. The dearest comes first; beneath, what the hub holds in
memory before, after and a while later. Standard library only.

    benches/lists.py --program target/release/matchwire
    benches/lists.py --only /api/events/ --only /odds/api/
"""

import argparse, http.client, json, os, re, shutil, statistics, subprocess, tempfile, time

TICKS = os.sysconf("SC_CLK_TCK")
# Parameters that set the number of rows of a list.
SIZES = ("limit", "page_size")


def processor_s(pid):
    """Processor time of a process. /proc/PID/stat counts in hundredths of a second, schedstat in nanoseconds."""
    return sum(
        int(open(f"/proc/{pid}/task/{task}/schedstat").read().split()[0]) for task in os.listdir(f"/proc/{pid}/task")
    ) / 1e9


def resident_mb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read()).group(1)) / 1024


class Hub:
    def __init__(self, program, folder):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MATCHWIRE_")}
        environment |= {f"MATCHWIRE_LIMITS_{name}": "0" for name in ("ACCOUNT_CPU_PERCENT", "ADDRESS_PER_SECOND", "FOOTBALL_PER_DAY")}
        self.process = subprocess.Popen(
            [os.path.abspath(program), "serve", "--listen", "127.0.0.1:0", "--db", f"{folder}/hub.db"],
            env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        said = ""
        while "demo key" not in said:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"the hub has ended: {said}")
            said += line
        self.address = re.search(r"http://([\d.]+:\d+)", said).group(1)
        self.key = re.search(r"mw_\w+", said).group()
        self.connection = http.client.HTTPConnection(self.address, timeout=60)

    def get(self, path):
        self.connection.request("GET", path, headers={"Authorization": f"Token {self.key}"})
        answer = self.connection.getresponse()
        return answer.status, answer.read()


def lists(hub, rows):
    """Paths of all lists that need no id, each with a number of rows."""
    document = json.loads(hub.get("/api/schema/?format=json")[1])
    for path, operations in sorted(document["paths"].items()):
        parameters = {parameter["name"] for parameter in operations.get("get", {}).get("parameters", [])}
        size = next((size for size in SIZES if size in parameters), None)
        if "{" not in path and size:
            yield f"{path}?{size}={rows}"
        elif "{" not in path and "get" in operations and path.startswith(("/api/", "/odds/")):
            yield path


def count(body):
    try:
        body = json.loads(body)
    except ValueError:
        return 0
    if isinstance(body, dict):
        body = max((value for value in body.values() if isinstance(value, list)), key=len, default=[])
    return len(body)


def measured(hub, path, times):
    status, body = hub.get(path)
    if status != 200:
        return None
    pid, took_ms, spent_ms = hub.process.pid, [], []
    for _ in range(times):
        spent, begun = processor_s(pid), time.monotonic()
        hub.get(path)
        took_ms.append((time.monotonic() - begun) * 1000)
        spent_ms.append((processor_s(pid) - spent) * 1000)
    return statistics.median(spent_ms), statistics.median(took_ms), count(body), len(body)


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--program", default="target/release/matchwire")
    parse.add_argument("--rows", type=int, default=200, help="rows of each list")
    parse.add_argument("--times", type=int, default=15, help="requests of each, of which the median counts")
    parse.add_argument("--warm", type=float, default=120, help="seconds after the start before measuring: the demo then has written its past")
    parse.add_argument("--settle", type=float, default=60, help="seconds after which memory is looked at again")
    parse.add_argument("--only", action="append", default=[], help="only paths that begin so")
    arguments = parse.parse_args()
    folder = tempfile.mkdtemp()
    hub = None
    try:
        hub = Hub(arguments.program, folder)
        time.sleep(arguments.warm)
        before = resident_mb(hub.process.pid)
        begun, spent = time.monotonic(), processor_s(hub.process.pid)
        time.sleep(5)
        idle = (processor_s(hub.process.pid) - spent) / (time.monotonic() - begun)
        figures = []
        for path in lists(hub, arguments.rows):
            if not arguments.only or path.startswith(tuple(arguments.only)):
                figure = measured(hub, path, arguments.times)
                if figure:
                    figures.append((*figure, path))
        after = resident_mb(hub.process.pid)
        print("cpu ms  ms      rows   bytes    path")
        for spent_ms, took_ms, rows, size, path in sorted(figures, reverse=True):
            print(f"{spent_ms:6.1f}  {took_ms:6.1f}  {rows:5}  {size:8}  {path}")
        print(f"the demo itself takes {idle * 100:.0f} % of a core, which is part of every figure")
        print(f"resident: {before:.0f} MB before, {after:.0f} MB after", end="", flush=True)
        time.sleep(arguments.settle)
        print(f", {resident_mb(hub.process.pid):.0f} MB {arguments.settle:.0f} s later")
    finally:
        if hub:
            hub.process.terminate()
            hub.process.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
