#!/usr/bin/env python3
"""The memory of a demo: after its past is filled, under REST requests of many clients, and afterwards.

Starts the demo, waits until its past is in the archive, and requests every path of the OpenAPI document with ids that its
lists contain, and images and pages, from many connections. Each connection has its own address in 127.0.0.0/8, is closed
after some requests, and asks for one of the content codings. Prints a line of memory at each step, with requests a second
and the processor time of one request. With several programs, it measures them in turns, so that figures are comparable.
Standard library only, Linux only.

    benches/rest_memory.py --program target/release/matchwire
    benches/rest_memory.py --program before --program after --rounds 3 --seconds 120
    benches/rest_memory.py --seconds 600 --resident-mb-max 80     # fails if the filled demo takes more
"""

import argparse, http.client, json, multiprocessing, os, random, re, shutil, socket, statistics, subprocess, sys, tempfile, threading, time

FILLED = "the demo's past and programme are in the archive"
CODINGS = ("identity", "gzip", "br", "zstd")
# Pages and files outside the OpenAPI document.
PAGES = ("/", "/pricing/", "/docs/", "/api/docs/", "/api/docs/swagger-ui-bundle.js", "/api/schema/?format=json", "/metrics")
# Requests of a connection before it is closed.
PER_CONNECTION = 200


def rollup(pid):
    """Sums of /proc/PID/smaps_rollup in MB, and the number of threads."""
    fields = dict(re.findall(r"^(\w+):\s+(\d+) kB", open(f"/proc/{pid}/smaps_rollup").read(), re.M))
    megabytes = {name: int(value) / 1024 for name, value in fields.items()}
    return megabytes["Rss"], megabytes["Anonymous"], len(os.listdir(f"/proc/{pid}/task"))


def cpu_s(pid):
    user, system = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Hub:
    def __init__(self, program, folder):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MATCHWIRE_")}
        unlimited = ("ACCOUNT_CPU_PERCENT", "ADDRESS_PER_SECOND", "FOOTBALL_PER_DAY")
        environment |= {f"MATCHWIRE_LIMITS_{name}": "0" for name in unlimited}
        self.log = open(f"{folder}/log", "w+")
        self.process = subprocess.Popen(
            [os.path.abspath(program), "serve", "--listen", "127.0.0.1:0", "--db", f"{folder}/hub.db"],
            env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=self.log, text=True,
        )
        said = ""
        while "demo key" not in said:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"the hub has ended: {said}{open(self.log.name).read()}")
            said += line
        self.address = re.search(r"http://([\d.]+:\d+)", said).group(1)
        self.key = re.search(r"mw_\w+", said).group()
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def wait_until_filled(self):
        peak = 0
        while FILLED not in open(self.log.name).read():
            if self.process.poll() is not None:
                raise SystemExit("the hub has ended")
            peak = max(peak, rollup(self.process.pid)[0])
            time.sleep(0.5)
        return peak

    def get(self, path):
        connection = http.client.HTTPConnection(self.address, timeout=60)
        connection.request("GET", path, headers={"Authorization": f"Token {self.key}"})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, body

    def close(self):
        self.process.terminate()
        self.process.wait()


def ids_in(body):
    """The ids of the rows of a list."""
    try:
        body = json.loads(body)
    except ValueError:
        return []
    rows = [body] if isinstance(body, list) else [it for it in body.values() if isinstance(it, list)] if isinstance(body, dict) else []
    rows = [row for list_of in rows for row in list_of if isinstance(row, dict)]
    return [row[name] for row in rows for name in ("id", "event_id", "match_id", "slug") if isinstance(row.get(name), (int, str))][:300]


def paths_of(hub):
    """Every path that answers 200, some with many ids."""
    document = json.loads(hub.get("/api/schema/?format=json")[1])
    ids, found = {}, []
    operations = sorted((path, it["get"]) for path, it in document["paths"].items() if "get" in it)
    # Streams do not end.
    operations = [(path, it) for path, it in operations if "text/event-stream" not in json.dumps(it)]
    for path, it in operations:
        if "{" in path:
            continue
        names = {parameter["name"] for parameter in it.get("parameters", [])}
        sizes = [f"?{size}={rows}" for size in ("limit", "page_size") if size in names for rows in (10, 200)]
        status, body = hub.get(path + (sizes[-1] if sizes else ""))
        ids[path] = ids_in(body) if status == 200 else []
        found += [path + size for size in sizes or [""]]
    for path, it in operations:
        if "{" not in path:
            continue
        examples = {parameter["name"]: parameter.get("example") for parameter in it.get("parameters", [])}
        parents = [known for known in ids if path.startswith(known) and ids[known]]
        values = ids[max(parents, key=len)] if parents else []
        for value in values[:40] or [None]:
            filled = re.sub(r"\{(\w+)\}", lambda name: str(value if value is not None else examples.get(name[1]) or 1), path)
            found.append(filled)
    for kind, known in (("team", "/api/teams/"), ("player", "/api/players/"), ("league", "/api/leagues/")):
        found += [f"/img/{kind}/{value}/" for value in ids.get(known, [])[:100]]
    # So that each endpoint takes part as often as others, whatever its number of ids.
    groups = {}
    for path in list(dict.fromkeys([*found, *PAGES])):
        try:
            if hub.get(path)[0] == 200:
                groups.setdefault(re.sub(r"\d+", "0", path), []).append(path)
        except OSError:
            pass
    return list(groups.values())


def client(address, key, groups, number, until, done, failed):
    """Requests paths in an order of its own until this moment."""
    host, port = address.split(":")
    choice, connection, count, bad = random.Random(number), None, 0, 0
    source = f"127.{1 + number // 250}.0.{1 + number % 250}"
    while time.monotonic() < until:
        try:
            if connection is None:
                connection = http.client.HTTPConnection(host, int(port), timeout=60, source_address=(source, 0))
            headers = {"Authorization": f"Token {key}", "Accept-Encoding": choice.choice(CODINGS)}
            connection.request("GET", choice.choice(choice.choice(groups)), headers=headers)
            response = connection.getresponse()
            response.read()
            bad += response.status >= 400
            count += 1
        except (OSError, http.client.HTTPException):
            bad += 1
            connection = None
            continue
        if count % PER_CONNECTION == 0:
            connection.close()
            connection = None
    with done.get_lock():
        done.value += count
        failed.value += bad


def clients(address, key, groups, numbers, until, done, failed):
    threads = [threading.Thread(target=client, args=(address, key, groups, it, until, done, failed)) for it in numbers]
    [it.start() for it in threads]
    [it.join() for it in threads]


def report(name, step, pid, more=""):
    resident, anonymous, threads = rollup(pid)
    print(f"{name}: {step:<18} {resident:6.1f} MB resident, {anonymous:6.1f} MB anonymous, {threads} threads{more}", flush=True)
    return resident


def measure(program, arguments):
    name, folder = os.path.basename(program), tempfile.mkdtemp()
    hub = Hub(program, folder)
    try:
        pid = hub.process.pid
        peak = hub.wait_until_filled()
        report(name, "past filled", pid, f", {peak:.0f} MB while it was filled")
        time.sleep(arguments.settle)
        filled = report(name, f"{arguments.settle:.0f} s later", pid)
        if not arguments.seconds:
            return filled, filled, 0, 0
        groups = paths_of(hub)
        report(name, "each path once", pid, f", {len(groups)} kinds of paths")
        done, failed = multiprocessing.Value("q", 0), multiprocessing.Value("q", 0)
        begun, spent = time.monotonic(), cpu_s(pid)
        until = begun + arguments.seconds
        processes = []
        for it in range(arguments.processes):
            numbers = range(it, arguments.clients, arguments.processes)
            processes.append(multiprocessing.Process(target=clients, args=(hub.address, hub.key, groups, numbers, until, done, failed)))
        [it.start() for it in processes]
        while time.monotonic() + arguments.every < until:
            time.sleep(arguments.every)
            report(name, f"after {time.monotonic() - begun:.0f} s", pid)
        [it.join() for it in processes]
        rate = done.value / (time.monotonic() - begun)
        cost_ms = (cpu_s(pid) - spent) * 1000 / max(done.value, 1)
        report(name, "under load", pid, f"; {rate:.0f} requests/s, {cost_ms:.2f} ms of its processor each, {failed.value} failed")
        time.sleep(arguments.settle)
        after = report(name, f"{arguments.settle:.0f} s later", pid)
        return filled, after, rate, cost_ms
    finally:
        hub.close()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--program", action="append", default=[])
    parse.add_argument("--rounds", type=int, default=1, help="how often each program is measured")
    parse.add_argument("--seconds", type=float, default=180, help="duration of the requests; 0 for none")
    parse.add_argument("--clients", type=int, default=64, help="connections at a time")
    parse.add_argument("--processes", type=int, default=2, help="processes that share them")
    parse.add_argument("--settle", type=float, default=30, help="seconds of rest before each figure")
    parse.add_argument("--every", type=float, default=30, help="seconds between figures under load")
    parse.add_argument("--resident-mb-max", type=float, help="exit with 1 if the filled demo takes more")
    arguments = parse.parse_args()
    programs = arguments.program or ["target/release/matchwire"]
    figures = {program: [] for program in programs}
    for _ in range(arguments.rounds):
        for program in programs:
            figures[program].append(measure(program, arguments))
    for program, rounds in figures.items():
        filled, after, rate, cost_ms = (statistics.median(column) for column in zip(*rounds))
        print(f"{program}: {filled:.1f} MB filled, {after:.1f} MB after the requests, {rate:.0f} requests/s, {cost_ms:.2f} ms each")
    limit = arguments.resident_mb_max
    if limit and any(filled > limit for rounds in figures.values() for filled, *_ in rounds):
        sys.exit(1)


if __name__ == "__main__":
    main()
