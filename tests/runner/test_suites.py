"""The lists of suites."""

import re
import unittest

from runner.environment import TOP
from runner.running import COMPILE, FETCH, PAST, lanes_of
from runner.suites import ALL_SUITES, LANES, LONG_SUITES, SYSTEM_SUITES, TEST_SUITES


class Suites(unittest.TestCase):
    def test_each_suite_is_in_one_list_and_has_a_lane(self):
        self.assertEqual(len(ALL_SUITES), len(TEST_SUITES) + len(SYSTEM_SUITES) + len(LONG_SUITES))
        self.assertLessEqual({suite.lane for suite in ALL_SUITES.values()}, set(LANES))

    def test_the_table_of_suites_names_each_and_its_command(self):
        table = (TOP / "tests" / "README.md").read_text().split("\n## Suites\n")[1].split("\n## ")[0]
        rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
        named = {name: command.strip() for names, command in rows for name in re.findall(r"`([\w-]+)`", names)}
        lists = {"`make test`": TEST_SUITES, "`make test-systems`": SYSTEM_SUITES, "`make test-long`": LONG_SUITES}
        self.assertEqual(named, {name: command for command, suites in lists.items() for name in suites})

    def test_what_suites_share_comes_first(self):
        lanes = lanes_of(list(SYSTEM_SUITES), serial=False)
        self.assertEqual(lanes[0][:2], [COMPILE, PAST])
        self.assertIn(FETCH, sum(lanes, []))
        self.assertNotIn(PAST, sum(lanes_of(list(TEST_SUITES), serial=False), []))
        self.assertEqual(lanes_of(["format", "clippy"], serial=True), [["format", "clippy"]])
        self.assertEqual(lanes_of(["browser-smoke"], serial=False), [[COMPILE], ["browser-smoke"]])
