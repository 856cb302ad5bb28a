"""Finds the Rust tests that need a server of other people or the demo's past, or run on either database, by their source.

A test that needs one says so, and is run by the suite `rust-systems` alone:

    #[tokio::test]
    #[ignore = "needs PostgreSQL: make test-systems runs it"]

A test that calls `on_each`, or a function whose name begins like that, runs on SQLite, and a second time on PostgreSQL where
`TEST_POSTGRES_URL` names a server."""

import re
from dataclasses import dataclass
from pathlib import Path

from runner.environment import git

# From the attribute to the end of the function, as rustfmt indents it, or to the next attribute after one of a line.
TEST = re.compile(r"^( *)#\[(?:tokio::)?test\b.*?(?=\n\1\}$|^ *#\[(?:tokio::)?test\b|\Z)", re.MULTILINE | re.DOTALL)
NEEDS = re.compile(r'#\[ignore = "needs ([^":]+)')
ON_EACH = re.compile(r"\bon_each\w*\(")
# Only long runs do this on PostgreSQL too.
ON_SQLITE = re.compile(r"\bon_sqlite\w*\(")
# Root modules, which have files next to them.
ROOTS = ("lib.rs", "main.rs")


@dataclass(frozen=True)
class RustTest:
    file: Path
    name: str
    # Whose server it needs, or what else.
    server: str | None = None
    on_postgres: bool = False

    def is_in(self, program):
        """Whether the test's file is among the sources of a program."""
        if program.source.name in ROOTS:
            return self.file.is_relative_to(program.source.parent)
        return self.file == program.source

    def has_path(self, path, program):
        """Whether this is the test's path in a program: the module of the file, perhaps one inside, and the name."""
        words = list(self.file.relative_to(program.source.parent).with_suffix("").parts)
        if self.file == program.source or words[-1] == "mod":
            words.pop()
        found = path.split("::")
        return found[-1] == self.name and found[: len(words)] == words


def tests_of(file, source, long=False):
    """The tests of a file with this content that need a server or PostgreSQL."""
    found = []
    for test in TEST.finditer(source):
        text = test[0]
        name, needs = re.search(r"\bfn (\w+)", text), NEEDS.search(text)
        on_postgres = bool(ON_EACH.search(text) or long and ON_SQLITE.search(text))
        # One that is ignored for another reason is run by hand, or by another suite.
        if name and (needs or on_postgres and "#[ignore" not in text):
            found.append(RustTest(file, name[1], needs[1] if needs else None, on_postgres))
    return found


def tests_of_servers(top, long=False):
    """All of the repository, or of a folder that is none."""
    paths = [top / path for path in git("ls-files", "--cached", "--others", "--exclude-standard", "*.rs", folder=top)]
    paths = paths or [path for path in sorted(top.rglob("*.rs")) if "target" not in path.parts]
    return [test for path in paths if path.exists() for test in tests_of(path, path.read_text(), long)]


def selected(tests, program, paths):
    """Of the paths that a program lists, those of these tests, as pairs of path and test."""
    own = [test for test in tests if test.is_in(program)]
    return [(path, test) for path in paths for test in own if test.has_path(path, program)]
