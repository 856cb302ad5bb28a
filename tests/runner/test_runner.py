"""The runner's own tests: `python3 -m unittest discover -s tests/runner -t tests`."""

import json
import threading
import unittest
from pathlib import Path

from runner.cargo import Package, changed_packages, compiled_programs, has_doc_test, member_features, packages
from runner.lanes import once, run_lanes
from runner.report import Counts, durations, failed_tests, failures, libtest_counts, pytest_counts, script_counts

LIBTEST = """
running 5 tests
test ignored ... ignored
test a::fails ... FAILED <0.084s>
test a::panics - should panic ... ok <0.080s>
test a::slow ... ok <12.300s>
test a::untimed ... ok

successes:

---- a::slow stdout ----
skipped: nothing to work on


successes:
    a::slow

failures:

---- a::fails stdout ----
hello

thread 'a::fails' (1) panicked at a.rs:4:41:
assertion `left == right` failed


failures:
    a::fails

test result: FAILED. 3 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 12.38s
"""

TAP = """TAP version 13
# Subtest: follow
    # Subtest: an event: once
    not ok 1 - an event: once
      ---
      duration_ms: 6.83336
      failureType: 'testCodeFailure'
      error: |-
        Expected values to be strictly deep-equal:
        + actual - expected

          [
        +   1
      code: 'ERR_ASSERTION'
      ...
    # Subtest: is woken
    not ok 2 - is woken
      ---
      failureType: 'testCodeFailure'
      error: 'not within 60 s: it follows'
      ...
    not ok 3 - later # TODO
      ---
      failureType: 'testCodeFailure'
      ...
    ok 4 - works
      ---
      duration_ms: 3.2
      ...
    1..4
not ok 1 - follow
  ---
  failureType: 'subtestsFailed'
  error: '2 subtests failed'
  ...
not ok 2 - /tests/hub/cuts.test.js
  ---
  failureType: 'testTimeoutFailure'
  error: 'test timed out after 3000ms'
  ...
1..2
"""

UNITTEST = f"""{"=" * 70}
FAIL: test_a (runner.test_log.Commands.test_a)
What it shows.
{"-" * 70}
Traceback (most recent call last):
AssertionError: 1 != 2

{"=" * 70}
ERROR: test_b (runner.test_log.Commands.test_b)
{"-" * 70}
KeyError: 'x'

{"-" * 70}
Ran 8 tests in 2.5s

FAILED (failures=1, errors=1)
"""


class Report(unittest.TestCase):
    def test_failed_tests_of_node_are_named_with_their_error(self):
        self.assertEqual(failed_tests(TAP), [
            "an event: once: Expected values to be strictly deep-equal: + actual - expected [ + 1",
            "is woken: not within 60 s: it follows",
            "/tests/hub/cuts.test.js: test timed out after 3000ms",
        ])

    def test_failed_tests_of_unittest_are_named_with_their_last_lines(self):
        self.assertEqual(failed_tests(UNITTEST), [
            "test_a (runner.test_log.Commands.test_a): Traceback (most recent call last): AssertionError: 1 != 2",
            "test_b (runner.test_log.Commands.test_b): KeyError: 'x'",
        ])

    def test_a_suite_that_names_no_failed_test_says_why_it_failed(self):
        stopped = "Failed: stopped after 720 s without output: x"
        self.assertEqual(failures("ok: a\n", stopped), [stopped])
        self.assertEqual(failures("FAILED: goal: none\n", stopped), ["FAILED: goal: none", stopped])
        self.assertEqual(failures("$ ruff check\nE501 too long\n", None), ["$ ruff check E501 too long"])

    def test_libtest_summaries_are_added_and_skipped_tests_recognised(self):
        self.assertEqual(libtest_counts(LIBTEST), Counts(passed=2, failed=1, skipped=1))
        self.assertEqual(libtest_counts(LIBTEST + LIBTEST), Counts(passed=4, failed=2, skipped=2))

    def test_failed_tests_are_named_with_their_output(self):
        expected = "a::fails: hello thread 'a::fails' (1) panicked at a.rs:4:41: assertion `left == right` failed"
        self.assertEqual(failed_tests(LIBTEST), [expected])

    def test_failed_tests_without_captured_output_are_named_with_their_panic(self):
        printed = (
            "round 1\n\nthread 'a::fails' (7) panicked at a.rs:4:41:\nfindings from seed 7:\nan update is missing\n"
            "stack backtrace:\n   0: begin\ntest a::fails ... FAILED\n"
        )
        self.assertEqual(failed_tests(printed), ["a::fails: findings from seed 7: an update is missing"])

    def test_failed_checks_of_scripts_are_named(self):
        printed = "ok: a\nFAILED: goal: a goal: none\npython: FAILED: sockets: closed with 4401\nFAILED: goal: a goal: none\n"
        self.assertEqual(failed_tests(printed), ["FAILED: goal: a goal: none", "python: FAILED: sockets: closed with 4401"])

    def test_durations_are_read_where_there_are_any(self):
        self.assertEqual(sorted(durations(LIBTEST)), [(0.080, "a::panics"), (0.084, "a::fails"), (12.3, "a::slow")])

    def test_a_script_that_crashes_has_a_failure(self):
        self.assertEqual(script_counts("3 passed, 0 failed, 1 skipped\n", 0), Counts(3, 0, 1))
        self.assertEqual(script_counts("3 passed, 0 failed, 1 skipped\n", 1), Counts(3, 1, 1))
        self.assertEqual(script_counts("Traceback\n", 1), Counts(0, 1, 0))

    def test_pytest_is_counted_by_its_summary(self):
        printed = "FAILED tests/test_x.py::TestY::test_z - assert 1 == 2\n=== 2 failed, 60 passed, 2 skipped, 1 error in 33.63s ===\n"
        self.assertEqual(pytest_counts(printed, 1), Counts(60, 3, 2))
        self.assertEqual(failed_tests(printed), ["FAILED tests/test_x.py::TestY::test_z - assert 1 == 2"])
        self.assertEqual(pytest_counts("93 passed in 1.14s\n", 0), Counts(93, 0, 0))
        self.assertEqual(pytest_counts("93 passed in 74.14s (0:01:14)\n", 0), Counts(93, 0, 0))
        self.assertEqual(pytest_counts("no tests ran in 0.01s\n", 5), Counts(0, 1, 0))


class Cargo(unittest.TestCase):
    PACKAGES = [Package("hub", "", True), Package("hub-ingest", "ingest", True), Package("hub-floor", "benches/floor", False)]

    def changed(self, *paths):
        return [package.name for package in changed_packages(paths, self.PACKAGES)]

    def test_programs_are_found_among_the_messages(self):
        def artifact(target, executable, test):
            return json.dumps({
                "reason": "compiler-artifact", "manifest_path": "/top/ingest/Cargo.toml", "target": {"name": target, "src_path": f"/top/{target}.rs"},
                "profile": {"test": test}, "executable": executable,
            })

        messages = [artifact("ingest", None, False), artifact("live", "/t/live-1", True), artifact("peer", "/t/peer", False)]
        found = compiled_programs("\n".join(messages + ['{"reason":"build-finished","success":true}']))
        self.assertEqual([(it.name(Path("/top")), it.is_test) for it in found], [("ingest/live", True), ("ingest/peer", False)])
        self.assertEqual(found[0].name(Path("/top/ingest")), "live")

    def test_packages_have_their_folder_and_whether_they_are_libraries(self):
        def package(name, folder, kind):
            return {"name": name, "manifest_path": f"/top/{folder}Cargo.toml", "targets": [{"kind": [kind]}]}

        metadata = json.dumps({"packages": [package("hub", "", "lib"), package("hub-floor", "benches/floor/", "bin")]})
        self.assertEqual(packages(metadata, Path("/top")), [self.PACKAGES[0], self.PACKAGES[2]])

    def test_a_path_belongs_to_the_innermost_package(self):
        self.assertEqual(self.changed("src/lib.rs"), ["hub"])
        self.assertEqual(self.changed("ingest/src/lib.rs", "benches/floor/src/main.rs"), ["hub-ingest", "hub-floor"])
        self.assertEqual(self.changed("crates/database/migrations/0001_initial/sqlite.sql"), ["hub"])

    def test_documents_and_integration_tests_have_no_unit_tests(self):
        paths = ("README.md", "docs/API.md", "tests/it/main.rs", "ingest/tests/it/main.rs", "benches/rest.rs", "tools/fuzz/run")
        self.assertEqual(self.changed(*paths, "deploy/cluster/local.py"), [])

    def test_features_of_the_top_turn_on_those_of_members(self):
        manifest = """
            [workspace.dependencies]
            hub = { path = "hub", package = "matchwire-hub" }
            sqlx = "1"
            [features]
            full = ["amqp", "all-of-hub"]
            amqp = ["hub/amqp", "dep:lapin"]
            all-of-hub = ["amqp", "hub/more", "sqlx/postgres"]
        """
        expected = {"matchwire-hub": ["matchwire-hub/amqp", "matchwire-hub/more"], "sqlx": ["sqlx/postgres"]}
        self.assertEqual(member_features(manifest), expected)

    def test_a_new_dependency_affects_every_package(self):
        self.assertEqual(self.changed("Cargo.lock"), ["hub", "hub-ingest", "hub-floor"])


    def test_code_blocks_of_rust_are_doc_tests(self):
        self.assertTrue(has_doc_test("/// ```\n/// let x = 1;\n/// ```\n"))
        self.assertTrue(has_doc_test("//! ```json\n//! {}\n//! ```\n    /// ```rust,no_run\n    /// f();\n    /// ```\n"))
        self.assertFalse(has_doc_test("//! ```json\n//! {}\n//! ```\n"))
        self.assertFalse(has_doc_test("/// ```ignore\n/// f();\n/// ```\n"))
        self.assertFalse(has_doc_test('let fence = "```";\n'))


class Lanes(unittest.TestCase):
    def test_lanes_run_at_the_same_time_and_each_in_order(self):
        met, order = threading.Barrier(2, timeout=10), []

        def run(name):
            if name in ("a1", "b1"):
                met.wait()
            order.append(name)
            return name.upper()

        results = run_lanes([["a1", "a2"], ["b1"]], run, stop=lambda: None)
        self.assertEqual(results, {"a1": "A1", "a2": "A2", "b1": "B1"})
        self.assertLess(order.index("a1"), order.index("a2"))

    def test_an_interruption_stops_what_runs_and_what_would_follow(self):
        stop, ran = threading.Event(), []

        def run(name):
            ran.append(name)
            if name == "interrupted":
                raise KeyboardInterrupt
            stop.wait(10)

        with self.assertRaises(KeyboardInterrupt):
            run_lanes([["interrupted"], ["long", "next"]], run, stop=stop.set)
        self.assertNotIn("next", ran)

    def test_once_remembers_results_and_not_failures(self):
        calls = []

        @once
        def install(log, name):
            calls.append(name)
            if len(calls) == 1:
                raise OSError
            return name

        with self.assertRaises(OSError):
            install(None, "x")
        self.assertEqual([install(None, "x"), install(None, "x"), install(None, "y")], ["x", "x", "y"])
        self.assertEqual(calls, ["x", "x", "y"])


if __name__ == "__main__":
    unittest.main()
