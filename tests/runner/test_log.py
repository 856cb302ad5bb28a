"""How commands are run, and their processor time is charged."""

import sys
import time
import unittest

from runner.log import Failed, Log

BUSY = "import os, time\nbegan = time.process_time()\nwhile time.process_time() - began < 0.3: pass\n"


class Commands(unittest.TestCase):
    def setUp(self):
        self.log = Log("runner-test", suite=self.id())

    def spent_s(self):
        return Log.processor_s[self.id()]

    def test_output_goes_to_the_log_and_is_returned(self):
        code, said = self.log.run(sys.executable, "-c", "print('said'); raise SystemExit(3)")
        self.assertEqual((code, said.splitlines()[1:]), (3, ["said"]))
        self.assertEqual(self.log.text(), said)

    def test_captured_output_is_only_returned(self):
        program = "import sys; print(sys.stdin.read() * 100_000); print('why', file=sys.stderr)"
        code, said = self.log.run(sys.executable, "-c", program, text="x", captured=True)
        self.assertEqual((code, len(said)), (0, 100_001))
        self.assertTrue(self.log.text().endswith("\nwhy\n"))

    def test_a_suite_is_charged_for_its_commands_and_for_what_they_start(self):
        self.log.run(sys.executable, "-c", BUSY)
        self.assertGreaterEqual(self.spent_s(), 0.3)
        child = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BUSY!r}])"
        self.log.part("runner-test-part").run(sys.executable, "-c", child)
        self.assertGreaterEqual(self.spent_s(), 0.6)

    def test_a_command_that_prints_nothing_is_stopped_and_one_that_prints_is_not(self):
        with self.assertRaisesRegex(Failed, r"^stopped after 0\.1 s without output: sleep 60$"):
            self.log.run("sleep", "60", silent_s=0.1)
        with self.assertRaisesRegex(Failed, r"^stopped after 0\.5 s in all: sh "):
            self.log.run("sh", "-c", "while echo said; do sleep 0.01; done", limit_s=0.5, silent_s=30)

    def test_what_a_failed_command_leaves_behind_is_killed(self):
        child = "import subprocess; print(subprocess.Popen(['sleep', '60']).pid); raise SystemExit(1)"
        _, said = self.log.run(sys.executable, "-c", child)
        with self.assertRaises(Failed):
            self.log.must("sh", "-c", 'while [ -d "/proc/$0" ] && ! grep -q "^State:.Z" "/proc/$0/status"; do :; done; exit 3', said.split()[-1])

    def test_a_command_that_hangs_is_stopped(self):
        began = time.monotonic()
        with self.assertRaises(Failed):
            self.log.run("sleep", "60", limit_s=0.1)
        self.assertLess(time.monotonic() - began, 30)
