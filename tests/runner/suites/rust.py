"""The Rust tests, and the crashes of hubs and clusters, which are Rust tests that take long."""

import os

from runner.build import BUILD, MCP_FIXTURE, RUST_CLIENT, run_program
from runner.environment import TOP
from runner.hubs import DEMO
from runner.log import STEP_S_MAX
from runner.report import Counts, at_least_failed, libtest_counts
from runner.servers import authority, broker, installed_postgres, mail_server, nats_servers, postgres, proxies


def rust(log):
    """The unit tests and integration tests of the workspace."""
    return rust_programs(log)


def rust_long(log):
    """The same with all databases at the level of processes too, with more customers and with far more random cases."""
    return rust_programs(log, TEST_LONG="true", PROPTEST_CASES="2048")


def rust_programs(log, **variables):
    broker(log)
    mail_server(log)
    authority(log)
    proxies(log)
    programs = [it for it in BUILD.wait(log) if it.is_test and it.target not in (MCP_FIXTURE, RUST_CLIENT)]
    counts = Counts()
    with postgres(log) as environment:
        # Most tests wait most of the time. With more threads some would be starved, as other suites run beside them.
        environment = environment | variables | nats_servers(log) | {"RUST_TEST_THREADS": str(2 * os.cpu_count())}
        # The integration tests last: they need the demo's database, which is being written meanwhile.
        for program in sorted(programs, key=lambda it: it.target == "it"):
            if program.target == "it":
                environment["TEST_DEMO_DATABASE"] = str(DEMO.path(log))
            code, printed = run_program(log, program, env=environment)
            counts += at_least_failed(libtest_counts(printed), code)
    return counts


def crash(log):
    """A hub that is killed again and again for a minute, under load and with 300 clients, and the check of what each saw."""
    return crashes(log, CRASH_TEST)


def cluster(log):
    """A cluster whose parts are killed, suspended, cut off and slow for half a minute or longer, until all has happened,
    with each server of NATS, under load and with 300 clients, and the check of what each saw. Then the same while the
    servers lose what they have stored."""
    return crashes(log, CLUSTER_TEST) + crashes(log, LOSS_TEST)


def cluster_long(log):
    """The same for an hour, with the current server, after an upgrade from TEST_OLD_PROGRAM."""
    servers = nats_servers(log)["TEST_NATS_SERVERS"].split(":")[-1]
    counts = crashes(log, UPGRADE_TEST, TEST_NATS_SERVERS=servers)
    return counts + crashes(log, CLUSTER_TEST, limit_s=CRASH_LONG_S_MAX, TEST_CLUSTER_SECONDS="3600", TEST_NATS_SERVERS=servers)


def crash_long(log):
    """The same until the hub was killed 1,000 times, in longer rounds, so that the checks take a smaller part of the time."""
    variables = {"TEST_CRASH_KILLS": "1000", "TEST_CRASH_SECONDS": "120", "TEST_CRASH_ROUND_KILLS": "100"}
    return crashes(log, CRASH_TEST, limit_s=CRASH_LONG_S_MAX, **variables)


# A kill and the start after it take about 3 s, and a round's checks a minute.
CRASH_LONG_S_MAX = 3 * 3600


CRASH_TEST = "hub_that_is_killed_at_any_moment_loses_nothing"
CLUSTER_TEST = "cluster_whose_parts_fail_loses_nothing"
LOSS_TEST = "cluster_whose_servers_lose_records_tells_its_clients"
UPGRADE_TEST = "cluster_that_is_upgraded_loses_nothing"


def crashes(log, test, limit_s=STEP_S_MAX, **variables):
    program = next(it for it in BUILD.wait(log) if it.is_test and it.target == "crash" and it.folder == TOP)
    if test in (CLUSTER_TEST, LOSS_TEST, UPGRADE_TEST):
        installed_postgres(log)
        variables = nats_servers(log) | variables
    code, printed = run_program(
        log, program, "--exact", test, "--ignored", "--nocapture", env=variables, limit_s=limit_s
    )
    return at_least_failed(libtest_counts(printed), code)
