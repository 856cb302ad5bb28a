"""When a suite need not run again."""

import subprocess
import tempfile
import unittest
from pathlib import Path

from runner.stamps import fingerprint, forget, has_passed, remember


class Stamps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top, self.stamps = Path(folder.name, "top"), Path(folder.name, "passed")
        (self.top / "src").mkdir(parents=True)
        self.source = self.top / "src" / "lib.rs"
        self.source.write_text("fn f() {}\n")
        subprocess.run(["git", "init", "--quiet", self.top], check=True)

    def has_passed(self, *patterns):
        return has_passed("docs", patterns, self.stamps, self.top)

    def test_a_suite_that_passed_runs_again_when_an_input_changed(self):
        self.assertFalse(self.has_passed("*.rs"))
        remember("docs", ["*.rs"], self.stamps, self.top)
        self.assertTrue(self.has_passed("*.rs"))
        (self.top / "README.md").write_text("no input\n")
        self.assertTrue(self.has_passed("*.rs"))
        self.source.write_text("fn g() {}\n")
        self.assertFalse(self.has_passed("*.rs"))
        remember("docs", ["*.rs"], self.stamps, self.top)
        (self.top / "new.rs").write_text("")
        self.assertFalse(self.has_passed("*.rs"))

    def test_a_run_that_is_interrupted_has_not_passed(self):
        remember("docs", ["*.rs"], self.stamps, self.top)
        forget("docs", self.stamps)
        forget("docs", self.stamps)
        self.assertFalse(self.has_passed("*.rs"))

    def test_without_files_nothing_is_remembered(self):
        self.assertIsNone(fingerprint(["*.py"], self.top))
        remember("docs", ["*.py"], self.stamps, self.top)
        self.assertFalse(self.has_passed("*.py"))
