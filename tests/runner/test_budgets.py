"""What is counted, and its limits."""

import tempfile
import unittest
from pathlib import Path

from runner.budgets import FILE, Budget, budgets, code_lines, crates, hand_written_words, integration_tests, is_of_tests, limits, lowered, process_tests, production_lines
from runner.environment import TOP
from runner.measure import record

SOURCE = """//! A header.

use std::fmt;

/// A comment.
fn f() {
    // Another.
    g(); // not this line
}

#[cfg(test)]
fn helper() {}

#[cfg(test)]
#[expect(dead_code)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn t() {
        f();
    }
}

const LAST: u8 = 1;
"""

TEXT = """# Why.

[limits]
packages = 100
gone = 3

[limits.lines]
all = 1000
"a/b" = 5

[measured]
commit = "abc"
"""


class Counts(unittest.TestCase):
    def test_lines_are_neither_empty_nor_comments_nor_of_tests(self):
        self.assertEqual(code_lines(SOURCE), 7)

    def test_words_that_scripts_write_do_not_count(self):
        page = "one\n<!-- a b: made by x.py -->\n| two |\n<!-- end of a b -->\nthree\n<!-- c: made by y.py -->\n<!-- end of c -->\n"
        self.assertEqual(hand_written_words(page), 2)

    def test_files_of_tests_are_known_by_their_name(self):
        of_tests = ("src/a/tests.rs", "src/tests/b.rs", "src/life_tests/mod.rs")
        self.assertEqual([is_of_tests(Path(path)) for path in of_tests], [True] * 3)
        self.assertEqual([is_of_tests(Path(path)) for path in ("src/testing.rs", "src/contests.rs")], [False] * 2)
        with tempfile.TemporaryDirectory() as folder:
            crate = Path(folder)
            (crate / "src" / "tests").mkdir(parents=True)
            (crate / "src" / "lib.rs").write_text(SOURCE)
            (crate / "src" / "tests" / "a.rs").write_text(SOURCE)
            self.assertEqual(production_lines(crate), 7)

    def test_modules_that_start_processes_are_counted_with_all_their_tests(self):
        with tempfile.TemporaryDirectory() as folder:
            top = Path(folder)
            (top / "Cargo.toml").write_text('[workspace]\nmembers = ["a"]\n')
            (top / "tests" / "it" / "support").mkdir(parents=True)
            (top / "a" / "tests").mkdir(parents=True)
            (top / "tests" / "it" / "main.rs").write_text("mod support;\n#[test]\nfn a() {}\n\n#[tokio::test]\nasync fn b() {}\n")
            (top / "tests" / "it" / "support" / "mod.rs").write_text('fn hub() { Command::new("hub"); }\n')
            (top / "tests" / "ports").mkdir()
            (top / "tests" / "ports" / "mod.rs").write_text("")
            (top / "a" / "tests" / "plain.rs").write_text("#[test]\nfn a() {}\n")
            (top / "a" / "tests" / "it" / "live").mkdir(parents=True)
            (top / "a" / "tests" / "it" / "main.rs").write_text("mod decode;\nmod live;\n")
            (top / "a" / "tests" / "it" / "decode.rs").write_text("#[test]\nfn a() {}\n")
            (top / "a" / "tests" / "it" / "live" / "mod.rs").write_text("mod broker;\n#[test]\nfn a() {}\n")
            (top / "a" / "tests" / "it" / "live" / "broker.rs").write_text('fn start() { Command::new("broker"); }\n')
            shared, modules, plain = [(2, True), (0, True)], [(1, False), (1, True), (0, False)], [(1, False)]
            self.assertEqual(list(integration_tests(top)), shared + modules + plain)
            self.assertEqual(process_tests(top), 3)


class Limits(unittest.TestCase):
    def test_a_count_is_compared_with_its_limit(self):
        found = budgets({"packages": 101, "new": 1, "lines.all": 960}, limits(TEXT))
        texts = [str(budget) for budget in found]
        self.assertEqual(texts[0], "packages: 101 of 100, FAILED: above the limit")
        self.assertEqual(texts[1], "new: 1, FAILED: no limit in budgets.toml")
        self.assertEqual(texts[2], "lines.all: 960 of 1,000, lower the limit")
        self.assertEqual([budget.is_exceeded() for budget in found[:3]], [True, True, False])
        self.assertEqual(str(Budget("lines.all", 975, 1000)), "lines.all: 975 of 1,000")

    def test_limits_are_lowered_and_never_raised(self):
        text = lowered(TEXT, {"packages": 101, "new": 1, "lines.all": 500, "lines.a/b": 5})
        self.assertEqual(limits(text), {"packages": 100, "new": 2, "lines.all": 511, "lines.a/b": 5})
        self.assertTrue(text.startswith("# Why.\n\n[limits]\npackages = 100\nnew = 2\n\n[limits.lines]\n"), text)
        self.assertTrue(text.endswith('\n\n[measured]\ncommit = "abc"\n'), text)

    def test_each_crate_has_a_limit(self):
        named = {name.removeprefix("lines.") for name in limits(FILE.read_text()) if name.startswith("lines.")}
        self.assertEqual(named, {"all", *crates(TOP)})


class Measured(unittest.TestCase):
    def test_figures_replace_those_of_another_commit(self):
        text, exceeded = record(TEXT, {"commit": "def", "reference_s": 20.5, "build_default": 31.25})
        self.assertTrue(text.endswith('\n[measured]\ncommit = "def"\nreference_s = 20.5\nbuild_default = 31.25\n'), text)
        self.assertEqual(exceeded, [])

    def test_a_ratio_has_a_limit_where_there_is_one(self):
        text = TEXT + "\n[limits.ratios]\nbuild_default = 30\ntest_cold = 90\n"
        self.assertEqual(record(text, {"build_default": 31.25})[1], ["build_default: 31.25 FAILED, the limit is 30"])
        self.assertEqual(limits(text), limits(TEXT))
