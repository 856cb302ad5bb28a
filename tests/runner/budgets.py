"""What the project costs that can be counted, and the limits in budgets.toml."""

import json
import re
import subprocess
import tomllib
from dataclasses import dataclass

from runner.environment import ENVIRONMENT, FEATURES, TOP

FILE = TOP / "budgets.toml"
# The package at the top, whose folder has no name.
ROOT = "matchwire"
# A limit this far above what is counted no longer limits.
SLACK = 0.03
# Where `lower` puts it.
ROOM = 0.02
# What the packages are counted for, on any machine.
PLATFORM = "x86_64-unknown-linux-gnu"


@dataclass(frozen=True)
class Budget:
    name: str
    counted: int
    limit: int | None

    def is_exceeded(self):
        return self.limit is None or self.counted > self.limit

    def is_loose(self):
        return self.limit is not None and self.counted < self.limit * (1 - SLACK)

    def __str__(self):
        if self.limit is None:
            return f"{self.name}: {self.counted:,}, FAILED: no limit in budgets.toml"
        remark = ", FAILED: above the limit" if self.is_exceeded() else ", lower the limit" if self.is_loose() else ""
        return f"{self.name}: {self.counted:,} of {self.limit:,}{remark}"


def budgets(counted, limits):
    """Every count beside its limit, and every limit of something that is gone as a limit of nothing."""
    return [Budget(name, counted.get(name, 0), limits.get(name)) for name in counted | limits]


def limits(text):
    """The limits of budgets.toml by name, those of crates as `lines.NAME`."""
    tables = tomllib.loads(text)["limits"]
    tables.pop("ratios", None)
    lines = {f"lines.{name}": limit for name, limit in tables.pop("lines").items()}
    return tables | lines


def count(top=TOP):
    """All that budgets.toml limits, by name."""
    lines = {crate: production_lines(top / folder) for crate, folder in crates(top).items()}
    counts = {
        "packages_default": len(packages()),
        "packages_full": len(packages(*FEATURES)),
        "process_tests": process_tests(top),
        "docs_words": sum(hand_written_words(path.read_text()) for path in (top / "README.md", *(top / "docs").rglob("*.md"))),
        "cargo_toml_lines": len((top / "Cargo.toml").read_text().splitlines()),
        "lines.all": sum(lines.values()),
    }
    return counts | {f"lines.{crate}": number for crate, number in lines.items()}


def crates(top):
    """The folders of the workspace's crates by name: the folder's own without `crates/` and `tools/`."""
    members = tomllib.loads((top / "Cargo.toml").read_text())["workspace"]["members"]
    return {ROOT: "."} | {re.sub("^(crates|tools)/", "", member): member for member in sorted(members)}


# ---------------------------------------------------------------------------------------- words

# What a script writes into a page.
GENERATED = re.compile(r"<!-- (.+): made by .+ -->\n(?:.*\n)*?<!-- end of \1 -->")


def hand_written_words(page):
    return len(GENERATED.sub("", page).split())


# ---------------------------------------------------------------------------------- lines of Rust

# `#[cfg(test)] mod tests {` .. `}`, as rustfmt writes it.
TEST_MODULE = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[.*\n)*(?:pub(?:\(.*?\))? )?mod \w+ \{\n(?:.*\n)*?\}\n", re.MULTILINE)


def production_lines(crate):
    """Lines of Rust in the crate's folder src/ that are neither empty, nor a comment, nor of tests."""
    files = (path for path in (crate / "src").rglob("*.rs") if not is_of_tests(path.relative_to(crate)))
    return sum(code_lines(path.read_text()) for path in files)


def is_of_tests(path):
    """By its name: `tests.rs`, and what is in a folder `tests`, and likewise with `_tests` at the end."""
    return any(re.fullmatch(r"(?:\w+_)?tests", part) for part in path.with_suffix("").parts)


def code_lines(source):
    lines = (line.strip() for line in TEST_MODULE.sub("", source + "\n").splitlines())
    return sum(1 for line in lines if line and not line.startswith("//"))


# -------------------------------------------------------------------------------------- the others

TEST = re.compile(r"^[ \t]*#\[(?:tokio::)?test\b", re.MULTILINE)
# A script that computes what is right, as those of tests/truths/, is no process under test.
PROCESS = re.compile(r'Command::new\((?!"python3"\))')


def process_tests(top):
    """The tests in folders tests/, such as tests/it/, of modules that start a process, by themselves or by what their program shares."""
    return sum(tests for tests, starts in integration_tests(top) if starts)


# Modules from which the others of a program have what they share.
SHARED = ("main", "support")


def integration_tests(top):
    """For each module of each test program: how many tests it has, and whether its sources, or shared ones, start a process."""
    for folder in crates(top).values():
        for program in sorted((top / folder / "tests").glob("*")):
            if program.suffix == ".rs":
                modules = {program.stem: program.read_text()}
            elif (program / "main.rs").exists():
                modules = modules_of(program)
            else:
                continue
            starts = {name for name, text in modules.items() if PROCESS.search(text)}
            is_shared = any(name in starts for name in SHARED)
            for name, text in modules.items():
                yield len(TEST.findall(text)), is_shared or name in starts


def modules_of(program):
    """The text of each module of a program's root, with the modules inside."""
    modules = {}
    for path in sorted(program.rglob("*.rs")):
        name = path.relative_to(program).with_suffix("").parts[0]
        modules[name] = modules.get(name, "") + path.read_text() + "\n"
    return modules


def packages(*features):
    """The packages that a release build of the program compiles, each version once."""
    command = ["cargo", "tree", "--locked", "-p", ROOT, *features, "-e", "normal,build", "--prefix", "none", "--target", PLATFORM]
    said = subprocess.run(command, cwd=TOP, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {tuple(line.split()[:2]) for line in said.splitlines() if line}


# ------------------------------------------------------------------------------------ the file


def lowered(text, counted):
    """The file with limits of what is counted now: no limit is raised, those of what is gone are left out, and what has none gets one."""
    present = limits(text)

    def limit(name):
        suggested = with_room(counted[name])
        if name not in present or Budget(name, counted[name], present[name]).is_loose():
            return suggested
        return present[name]

    return with_limits(text, {name: limit(name) for name in counted})


def with_room(number):
    return int(number * (1 + ROOM)) + 1


def with_limits(text, values):
    """The file with these limits and everything else as it is."""
    lines = {name.removeprefix("lines."): value for name, value in values.items() if name.startswith("lines.")}
    others = {name: value for name, value in values.items() if not name.startswith("lines.")}
    text = with_table(text, "limits", others)
    return with_table(text, "limits.lines", lines)


def with_table(text, name, values):
    """The file with a table of these values, in the place of the one that there is or at the end."""
    table = f"[{name}]\n" + "".join(f"{key(word)} = {json.dumps(value)}\n" for word, value in values.items())
    header = re.compile(rf"^\[{re.escape(name)}\]\n(?:(?!\[).*\n)*", re.MULTILINE)
    if not header.search(text):
        return f"{text.rstrip()}\n\n{table}"
    return header.sub(lambda found: table + "\n" * found[0].endswith("\n\n"), text)


def key(word):
    return word if re.fullmatch(r"[\w-]+", word) else f'"{word}"'


def compare():
    """All budgets."""
    return budgets(count(), limits(FILE.read_text()))


def lower():
    """Writes limits of what is counted now, where they are looser; and prints all."""
    FILE.write_text(lowered(FILE.read_text(), count()))
    print("\n".join(map(str, compare())))
    return 0
