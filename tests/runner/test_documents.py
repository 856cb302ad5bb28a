"""The pages: what scripts write into them is current, and their links lead somewhere."""

import re
import subprocess
import sys
import unittest

from runner.environment import TOP, git

LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    titles = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in HEADING.findall(re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def dead_links(path):
    for link in LINK.findall(CODE.sub("", path.read_text())):
        if re.match(r"\w+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target.read_text())):
            yield link


class Documents(unittest.TestCase):
    def test_generated_parts_are_current(self):
        for script in ("docs/generate.py", "deploy/monitoring/generate.py"):
            done = subprocess.run([sys.executable, TOP / script, "--check"], stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_links_lead_somewhere(self):
        dead = {path: links for path in git("ls-files", "*.md") if (links := list(dead_links(TOP / path)))}
        self.assertEqual(dead, {})
