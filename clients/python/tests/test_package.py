"""What is in the package: the wheel, the types, and the agreement with the schema of the protocol."""

import ast
import dataclasses
import json
import os
import subprocess
import sys
import typing
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import matchwire
from matchwire import documents, events
from matchwire.protocol.channel import feed_health

HERE = Path(__file__).resolve().parent
SCHEMA = HERE.parents[2] / "tools" / "schema" / "documents.schema.json"


@pytest.fixture
def wheel():
    path = os.environ.get("TEST_WHEEL")
    if not path:
        pytest.skip("TEST_WHEEL does not name the wheel")
    return zipfile.ZipFile(path)


@pytest.fixture
def definitions():
    if not SCHEMA.exists():
        pytest.skip(f"there is no {SCHEMA.name}")
    return json.loads(SCHEMA.read_text())["$defs"]


class TestWheel:
    def test_tests_run_what_was_built(self, wheel):
        assert "site-packages" in matchwire.__file__
        for name in wheel.namelist():
            if name.startswith("matchwire/"):
                assert (Path(matchwire.__file__).parent.parent / name).read_bytes() == wheel.read(name)

    def test_it_is_complete_and_has_nothing_else(self, wheel):
        sources = {
            f"matchwire/{path.relative_to(HERE.parent / 'src' / 'matchwire')}" for path in (HERE.parent / "src").rglob("*.py")
        }
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        assert names == sources | {"matchwire/py.typed"}
        licences = {name.rpartition("/")[2] for name in wheel.namelist() if "/licenses/" in name}
        assert licences == {"LICENSE-MIT", "LICENSE-APACHE"}

    def test_it_needs_websockets_alone(self, wheel):
        name = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
        metadata = Parser().parsestr(wheel.read(name).decode())
        required = [it for it in metadata.get_all("Requires-Dist") if "extra ==" not in it]
        assert required == ["websockets>=15"]
        assert metadata["Requires-Python"] == ">=3.10"
        assert metadata["License-Expression"] == "MIT OR Apache-2.0"
        assert "# matchwire" in metadata.get_payload().lower()

    def test_importing_it_imports_neither_pandas_nor_polars(self):
        code = "import sys, matchwire, matchwire.sync, matchwire.replay; print([it for it in ('pandas', 'polars', 'numpy') if it in sys.modules])"
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


class TestSchema:
    def test_every_event_has_its_class_with_every_field(self, definitions):
        found = 0
        for name, definition in definitions.items():
            properties = definition.get("properties", {})
            if "eid" not in properties or name.endswith("Patch"):
                continue
            kinds = properties["kind"].get("enum") or [properties["kind"]["const"]]
            for kind in kinds:
                cls = events._KINDS[kind]
                known = {it.name for it in dataclasses.fields(cls)}
                # A correction repeats the current fields of what it corrects: they are in `raw`.
                missing = set(properties) - known if cls is not events.Correct else set()
                assert missing == set(), f"{name}: {cls.__name__} lacks {missing}"
                found += 1
        assert found > 20

    def test_every_state_of_a_feed_is_a_health(self, definitions):
        def words(definition):
            return definition.get("enum") or [it["const"] for it in definition["oneOf"]]

        for state in words(definitions["FeedState"]):
            assert feed_health({"feed": state}) == state

    def test_documents_are_those_of_the_schema(self, definitions):
        for name in ("FootballMatch", "TennisMatch", "Odds", "FootballBoard"):
            annotations = getattr(documents, name).__annotations__
            assert set(annotations) == set(definitions[name]["properties"])


def test_events_parse_whatever_comes():
    for raw in ({}, {"kind": "aurora", "eid": "x"}, {"kind": 7}, {"kind": "goal", "player": "P", "score": [1], "minute": None}):
        event = events.parse_event(raw)
        assert event.raw is raw
    unknown = events.parse_event({"kind": "aurora", "eid": "x", "colour": "green"})
    assert (type(unknown), unknown.kind, unknown.raw["colour"]) == (events.Event, "aurora", "green")


def test_names_that_are_exported_exist():
    for module in (matchwire, matchwire.protocol, matchwire.errors, matchwire.events, documents):
        for name in module.__all__:
            assert hasattr(module, name), name
    assert all(issubclass(getattr(matchwire.errors, it), Exception) for it in matchwire.errors.__all__)


def test_protocol_has_no_io():
    """The core imports neither a socket, nor a clock, nor a thread."""
    allowed = {"collections", "dataclasses", "hashlib", "json", "logging", "math", "random", "typing", "__future__"}
    for path in Path(matchwire.protocol.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert {it.name.partition(".")[0] for it in node.names} <= allowed, path
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                assert node.module.partition(".")[0] in allowed, path


def test_every_public_item_has_documentation():
    for name in matchwire.__all__:
        item = getattr(matchwire, name)
        if isinstance(item, type):
            assert item.__doc__, name
            assert not item.__doc__.startswith(f"{name}("), f"{name} has only the signature that dataclasses write"
            for attribute, value in vars(item).items():
                if not attribute.startswith("_") and callable(value) and not isinstance(value, type):
                    assert value.__doc__, f"{name}.{attribute}"
    assert typing.get_args(matchwire.Health)
