"""Reads what cargo reports as JSON: the programs that it compiled, and the packages of a workspace."""

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Program:
    """A compiled program: the folder of its package, the name of its target and the root of its sources, and whether it is a
    test program."""

    folder: Path
    target: str
    source: Path
    path: Path
    is_test: bool

    def name(self, top):
        """The folder of the package, unless that is the top, and the target."""
        return (self.folder.relative_to(top) / self.target).as_posix()


def compiled_programs(messages):
    """The programs among the messages of `cargo --message-format=json`."""
    programs = []
    for line in messages.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("reason") == "compiler-artifact" and message["executable"]:
            folder, target = Path(message["manifest_path"]).parent, message["target"]
            executable = Path(message["executable"])
            programs.append(Program(folder, target["name"], Path(target["src_path"]), executable, message["profile"]["test"]))
    return programs


@dataclass(frozen=True)
class Package:
    name: str
    # Relative to the top of the workspace; empty for the package there.
    folder: str
    has_library: bool


def packages(metadata, top):
    """The packages of `cargo metadata --no-deps`."""
    found = []
    for package in json.loads(metadata)["packages"]:
        folder = Path(package["manifest_path"]).parent.relative_to(top).as_posix()
        library = any("lib" in target["kind"] for target in package["targets"])
        found.append(Package(package["name"], "" if folder == "." else folder, library))
    return found


def member_features(manifest, feature="full"):
    """The features of other packages that a feature of the package at the top turns on: for each package, as cargo takes them if
    only that package is selected."""
    manifest = tomllib.loads(manifest)
    features, dependencies = manifest.get("features", {}), manifest["workspace"]["dependencies"]
    found, open_ = {}, [feature]
    while open_:
        name = open_.pop()
        if "/" not in name:
            open_ += features.get(name, [])
            continue
        dependency, wanted = name.split("/")
        specification = dependencies.get(dependency, {})
        package = specification.get("package", dependency) if isinstance(specification, dict) else dependency
        found.setdefault(package, set()).add(f"{package}/{wanted}")
    return {package: sorted(names) for package, names in found.items()}


# Everything depends on these, and no unit test on those below.
SHARED = ("Cargo.toml", "Cargo.lock", "rust-toolchain.toml")
NO_UNIT_TESTS = ("benches/", "deploy/", "docs/", "tests/", "tools/fuzz/", ".ci/", "Makefile")


def changed_packages(paths, packages):
    """The packages whose unit tests these paths can affect: each path belongs to the innermost package."""
    changed = set()
    for path in paths:
        if path in SHARED:
            return list(packages)
        owners = [package for package in packages if package.folder == "" or path.startswith(f"{package.folder}/")]
        owner = max(owners, key=lambda package: len(package.folder))
        inside = path[len(owner.folder) :].lstrip("/")
        if not inside.endswith(".md") and not inside.startswith(NO_UNIT_TESTS):
            changed.add(owner)
    return [package for package in packages if package in changed]


# Words behind the fence of a code block that rustdoc takes for Rust; not `ignore`, with which it compiles nothing.
RUST_WORDS = re.compile(r"|rust|should_panic|no_run|compile_fail|test_harness|edition\d+|E\d{4}")


def has_doc_test(source):
    """Whether a comment of this Rust source has a code block that rustdoc would compile."""
    fences = re.findall(r"^\s*//[/!]\s*(?:```|~~~)(.*)$", source, re.MULTILINE)
    # Every second fence ends a block.
    return any(all(RUST_WORDS.fullmatch(word.strip()) for word in fence.split(",")) for fence in fences[::2])
