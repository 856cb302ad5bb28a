"""What `deploy/` installs, and how a hub is watched."""

import re
import shutil
import sys
import tempfile
from pathlib import Path

from runner.build import hub_binary
from runner.environment import FEATURES, TOP, target_directory
from runner.hubs import hub_on
from runner.install import python_with, tool, wanted
from runner.log import Failed, Missing
from runner.ports import free_ports
from runner.report import script_counts
from runner.servers import installed_postgres, nats_servers, prometheus, proxies
from runner.suites.common import check


def monitoring_python(log):
    return python_with(log, TOP / "tests" / "monitoring" / "requirements.txt")


def monitoring(log):
    """The dashboards and alert rules of deploy/monitoring/: their form, and a Prometheus that scrapes a demo hub and evaluates them;
    and a collector of OpenTelemetry that gets the hub's traces."""
    options = prometheus(log)
    python = monitoring_python(log)
    hub_binary(log)
    collector = f"127.0.0.1:{free_ports(1)[0]}"
    with tempfile.TemporaryDirectory(prefix="matchwire-test-") as folder:
        settings = {
            "MATCHWIRE_DEMO_PAST": "false", "MATCHWIRE_DEMO_HEAD_START_MINUTES": "20",
            "MATCHWIRE_TRACES_URL": f"http://{collector}", "MATCHWIRE_TRACES_EVERY": "10",
        }
        with hub_on(log.part("monitoring-hub"), Path(folder, "hub.db"), **settings) as (address, key):
            options += ["--collector", collector]
            code, said = log.run(python, TOP / "tests" / "monitoring" / "check.py", "--hub", address, "--key", key, *options)
    return script_counts(said, code)


def deploy(log):
    """The cluster of deploy/cluster/ on this machine, behind a balancer: it serves, also after its leader was killed."""
    proxies(log)
    if not installed_postgres(log):
        raise Missing("PostgreSQL")
    servers = nats_servers(log)["TEST_NATS_SERVERS"]
    if not servers:
        raise Missing("nats-server")
    script, newest = TOP / "deploy" / "cluster" / "local.py", servers.split(":")[-1]
    return check(log, sys.executable, script, "--check", "--program", hub_binary(log), "--nats-server", newest)


PACKAGES = TOP / "tests" / "packages"


def packages_python(log):
    """A Python of its own, with tools that are large."""
    return python_with(log, PACKAGES / "requirements.txt", "packages")


def installs(log):
    """What deploy/ and compose.yaml install: systemd's units, the Debian package, the image, the compose files, the Helm
    chart. What the machine lacks, they name and skip."""
    return check_packages(log, hub_binary(log))


def image(log):
    """The image with the static program that its Dockerfile builds."""
    host = re.search(r"^host: (\S+)$", log.must("rustc", "-vV"), re.MULTILINE)[1]
    build = ("build", "--locked", *FEATURES, "--bin", "matchwire", "--profile", "release", "--target", host)
    if log.cargo(*build, env={"RUSTFLAGS": "-C target-feature=+crt-static"}, low_priority=True)[0] != 0:
        raise Failed("the static program does not compile")
    return check_packages(log, target_directory() / host / "release" / "matchwire", "--static", "image")


def package(log):
    """The Debian package on a machine of its own, a Debian in a folder whose systemd runs in namespaces."""
    if not shutil.which("mmdebstrap"):
        wanted(log, "mmdebstrap", "what runs on a machine of its own")
    return check_packages(log, hub_binary(log), "machine")


def check_packages(log, hub, *options):
    python = packages_python(log)
    proxies(log)
    prometheus(log)
    if "image" not in options:
        options = ("--cargo-deb", tool(log, "cargo-deb"), *options)
    code, said = log.run(python, PACKAGES, "--program", hub, *options)
    return script_counts(said, code)
