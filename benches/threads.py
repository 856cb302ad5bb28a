#!/usr/bin/env python3
"""The processor time of each thread of a hub under a steady load, per update.

Starts `serve --bench-rate` without subscribers and reads what each thread has used over some seconds. With several programs
it measures them in turns, so that figures are comparable. Also prints the bytes that the log has grown by, if there is one.
Standard library only, Linux only.

    benches/threads.py --program target/release/matchwire --rate 20000
    benches/threads.py --program before --program after --rounds 3
    benches/threads.py --program after --setting LOG_ENGINE=memory
"""

import argparse, os, re, statistics, subprocess, tempfile, time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def threads(pid):
    """Seconds on a core by the name of the thread; threads of one name are added up."""
    used = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
            ns = int((task / "schedstat").read_text().split()[0])
        except FileNotFoundError:
            continue
        name = re.sub(r"-?\d+$", "", name)
        used[name] = used.get(name, 0) + ns / 1e9
    return used


def size(folder):
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file() and "-log/" in str(path))


def run(program, options):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MATCHWIRE_")}
    environment |= {f"MATCHWIRE_{name}": value for name, value in (it.split("=", 1) for it in options.setting)}
    with tempfile.TemporaryDirectory() as folder:
        command = [os.path.abspath(program), "serve", "--listen", "127.0.0.1:0", "--db", f"{folder}/hub.db",
                   "--bench-rate", str(options.rate), "--bench-channels", str(options.channels)]
        hub = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            while "demo key" not in (line := hub.stdout.readline()):
                if not line:
                    raise SystemExit(f"{program} has ended")
            time.sleep(options.warm)
            before, bytes_before = threads(hub.pid), size(folder)
            began = time.monotonic()
            time.sleep(options.seconds)
            updates = options.rate * (time.monotonic() - began)
            used = {name: (after - before.get(name, 0)) * 1e6 / updates for name, after in threads(hub.pid).items()}
            return used, (size(folder) - bytes_before) / updates
        finally:
            hub.terminate()
            hub.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", action="append", required=True)
    parser.add_argument("--rate", type=int, default=20_000, help="updates a second")
    parser.add_argument("--channels", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warm", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--setting", action="append", default=[], help="such as LOG_ENGINE=memory")
    options = parser.parse_args()
    rounds = {program: [] for program in options.program}
    for _ in range(options.rounds):
        for program, runs in rounds.items():
            runs.append(run(program, options))
    for program, runs in rounds.items():
        print(f"{program}: microseconds of a core per update, median of {options.rounds} (least to greatest)")
        names = {name for used, _ in runs for name in used}
        figures = {name: sorted(used.get(name, 0) for used, _ in runs) for name in names}
        figures["all threads"] = sorted(sum(used.values()) for used, _ in runs)
        for name, values in sorted(figures.items(), key=lambda it: -statistics.median(it[1])):
            if statistics.median(values) >= 0.05:
                print(f"  {name:16}{statistics.median(values):8.2f}  ({values[0]:.2f} to {values[-1]:.2f})")
        print(f"  {'log on disk':16}{statistics.median(grown for _, grown in runs):8.1f} bytes per update")


if __name__ == "__main__":
    main()
