"""The Rust tests, and the crashes of hubs and clusters, which are Rust tests that take long."""

import os
import re

from runner.build import BUILD, MCP_FIXTURE, RUST_CLIENT, listed_tests, run_program
from runner.environment import TOP
from runner.hubs import DEMO
from runner.log import STEP_S_MAX
from runner.report import Counts, at_least_failed, libtest_counts
from runner.rust_tests import selected, tests_of_servers
from runner.servers import authority, broker, installed_postgres, mail_server, nats_servers, postgres, proxies


def rust(log):
    """The unit tests and integration tests of the workspace, on SQLite."""
    return rust_programs(log)


def rust_systems(log):
    """The tests that need servers of other people or the demo's past, and what runs on either database on PostgreSQL."""
    return rust_programs_with_servers(log)


def rust_long(log):
    """Both with PostgreSQL at the level of processes too, with more customers and with far more random cases."""
    variables = {"TEST_LONG": "true", "PROPTEST_CASES": "2048"}
    return rust_programs(log, **variables) + rust_programs_with_servers(log, **variables)


def test_programs(log):
    """The tests of running hubs last: some need the demo's past, which is being written meanwhile."""
    programs = [it for it in BUILD.wait(log) if it.is_test and it.target not in (MCP_FIXTURE, RUST_CLIENT)]
    return sorted(programs, key=has_running_hubs)


def has_running_hubs(program):
    return program.folder == TOP and program.target == "it"


# What a test says that needs the past which `DEMO` writes.
DEMO_PAST = "the demo's past"

# Most tests wait most of the time. With more threads some would be starved, as other suites run beside them.
THREADS = {"RUST_TEST_THREADS": str(2 * os.cpu_count())}


def rust_programs(log, **variables):
    mail_server(log)
    counts, left = Counts(), 0
    for program in test_programs(log):
        code, printed = run_program(log, program, env=THREADS | variables)
        counts += at_least_failed(libtest_counts(printed), code)
        left += len(re.findall(r"^test \S+ \.\.\. ignored, needs ", printed, re.MULTILINE))
    if left:
        log.note(f"{left} Rust tests need what only make test-systems has: its suite rust-systems runs them")
    return counts


def rust_programs_with_servers(log, **variables):
    for install in (broker, mail_server, authority, proxies):
        install(log)
    tests = tests_of_servers(TOP, long="TEST_LONG" in variables)
    counts, found = Counts(), set()
    with postgres(log) as server:
        if not server:
            # On SQLite they have been run already.
            left = [test for test in tests if not test.server]
            counts.skipped += len(left)
            log.write(f"skipped: {len(left)} tests on PostgreSQL, for want of it")
            tests = [test for test in tests if test.server]
        environment = THREADS | variables | server | nats_servers(log)
        for program in test_programs(log):
            chosen = selected(tests, program, listed_tests(log, program))
            found.update(test for _, test in chosen)
            if any(test.server == DEMO_PAST for _, test in chosen):
                environment |= {"TEST_DEMO_DATABASE": str(DEMO.path(log))}
            if chosen:
                paths = [path for path, _ in chosen]
                code, printed = run_program(log, program, "--include-ignored", "--exact", *paths, env=environment)
                counts += at_least_failed(libtest_counts(printed), code)
    for test in set(tests) - found:
        log.write(f"FAILED: no program has the test {test.name} of {test.file.relative_to(TOP)}")
        counts.failed += 1
    return counts


def crash(log):
    """A hub that is killed again and again in two rounds of 20 s, under load and with 300 clients, and the check of what each saw."""
    return crashes(log, CRASH_TEST)


def cluster(log):
    """A cluster whose parts are killed, suspended, cut off and slow for 20 s or longer, until all has happened,
    with each server of NATS, under load and with 80 clients, and the check of what each saw. Then the same with the current
    server, while the servers lose what they have stored."""
    return crashes(log, CLUSTER_TEST) + crashes(log, LOSS_TEST, **current_server(log))


def current_server(log):
    """The newest server of NATS alone."""
    servers = nats_servers(log)["TEST_NATS_SERVERS"].split(":")
    return {"TEST_NATS_SERVERS": servers[-1]}


def cluster_long(log):
    """The same for an hour, with the current server, more load and more clients, after an upgrade from TEST_OLD_PROGRAM, and the
    losses with each server."""
    load = {"TEST_CRASH_CLIENTS": "300", "TEST_CRASH_RATE": "500", **current_server(log)}
    counts = crashes(log, UPGRADE_TEST, **current_server(log)) + crashes(log, LOSS_TEST)
    return counts + crashes(log, CLUSTER_TEST, limit_s=CRASH_LONG_S_MAX, TEST_CLUSTER_SECONDS="3600", **load)


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
