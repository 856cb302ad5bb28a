#!/usr/bin/env python3
"""Starts a cluster on this machine, to try it out: three NATS servers, PostgreSQL, two nodes that may lead, edges, and
HAProxy or nginx in front of them if one is installed. A simulated day of sports is pushed to it.

    cargo build --release --features full
    deploy/cluster/local.py

Ctrl-C ends all of it, and removes its files unless `--dir` names a folder for them. A part that ends by itself, or that
you end, is started again. With `--check` the script checks instead that the cluster answers, also after its leader was
killed, prints one line, and ends with 0 if it does.
"""

import argparse
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from check import check
from cluster import Cluster
from parts import TOP, Failed, Node, Signals, Stopped


def describe(cluster):
    """What there is, and what to try."""
    leader, key = cluster.leader(), cluster.secrets["key"]
    tool = cluster.program.parent / "matchwire-loadtest"
    follow = [tool if tool.exists() else "cargo run --release -p matchwire-loadtest --", "follow", "--key", key]
    # A balancer twice: a socket that is closed continues at the next URL.
    urls = cluster.urls * 2 if cluster.proxy else cluster.urls
    urls = " ".join(f"--url ws://{address}/stream/v1" for address in urls)
    lines = ["", "process  part"]
    for part in cluster.parts:
        place = f"http://{part.address}" if isinstance(part, Node) else f"log in {part.log}"
        lines.append(f"{part.pid:7}  {part.name:9} {place}{', leads' if part is leader else ''}")
    lines += [
        "",
        f"clients   http://{cluster.address} ({cluster.balancer.name if cluster.proxy else 'there is no balancer'})",
        f"key       {key}",
        f"operator  http://{cluster.address}/admin/ as operator, with the password {cluster.secrets['operator']}",
        "",
        "Try:",
        f"  {shlex.quote(str(cluster.program))} cluster status --config {shlex.quote(str(cluster.nodes[0].config))}",
        f"  {' '.join(map(str, follow))} --channel 'football/*' --sockets 30 --seconds 30 {urls}",
        f"  kill -9 {(leader or cluster.nodes[0]).pid}    # the leader, while the second command runs",
        "",
        "Ctrl-C ends it.",
    ]
    print("\n".join(lines), flush=True)


def log_ends(cluster):
    """The last lines of what failed: of parts that have ended, otherwise of all."""
    ended = [part for part in cluster.parts if part.has_ended()] or cluster.parts
    for part in ended:
        if part.log.exists():
            yield f"---- the end of the log of {part.name}"
            yield from part.log.read_text(errors="replace").splitlines()[-15:]


def main():
    parser = argparse.ArgumentParser(description=" ".join(__doc__.split("\n\n")[0].split()))
    option = parser.add_argument
    option(
        "--program", type=Path, default=TOP / "target" / "release" / "matchwire", metavar="FILE",
        help="[default: target/release/matchwire]",
    )
    option(
        "--nats-server", type=Path, metavar="FILE",
        help="[default: that on the path; otherwise one is installed for this cluster]",
    )
    option("--edges", type=int, default=2, metavar="N", help="how many nodes only serve clients [default: 2]")
    option(
        "--balancer", choices=("auto", "haproxy", "nginx", "none"), default="auto",
        help="[default: the first that is installed]",
    )
    option("--matches", type=int, default=12, metavar="N", help="how many of the day are pushed [default: 12]")
    option(
        "--dir", type=Path, metavar="FOLDER",
        help="where all files are; they stay, and can be used again [default: a temporary folder]",
    )
    option("--port", type=int, default=0, help="the first of the ports, that of the balancer [default: free ones]")
    option("--check", action="store_true", help="check that the cluster serves, also after its leader was killed")
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
            print(f"ok: {check(cluster)}", flush=True)
            return 0
        describe(cluster)
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
