#!/usr/bin/env python3
"""Writes src/matchwire/documents.py from tools/schema/documents.schema.json; with --check, fails if it differs.

pip install -r requirements-dev.txt
python tools/documents.py [--check] [--schema FILE]
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
SCHEMA = HERE.parent.parent / "tools" / "schema" / "documents.schema.json"
RESULT = HERE / "src" / "matchwire" / "documents.py"
# Everything that these refer to is written as well.
ROOT = "Document"
HEADER = '''"""The documents of channels, as types for type checkers: `hub.follow(ch, document=FootballMatch)`.

Written by tools/documents.py from tools/schema/documents.schema.json, with which the hub is tested. Do not edit.
"""
'''


def reachable(definitions: dict, root: str) -> dict:
    """The definitions that `root` refers to, and itself."""
    found, queue = {}, [root]
    while queue:
        name = queue.pop()
        if name not in found:
            found[name] = definitions[name]
            queue += re.findall(r'"#/\$defs/(\w+)"', json.dumps(definitions[name]))
    return {name: found[name] for name in sorted(found)}


def generate(schema: Path) -> str:
    definitions = json.loads(schema.read_text())["$defs"]
    part = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": reachable(definitions, ROOT)}
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "documents.schema.json"), Path(folder, "documents.py")
        source.write_text(json.dumps(part))
        # The programs next to this Python, whatever is on the path.
        programs = Path(sys.executable).parent
        subprocess.run(
            [
                programs / "datamodel-codegen", "--input", source, "--input-file-type", "jsonschema", "--output", result,
                "--output-model-type", "typing.TypedDict", "--target-python-version", "3.10", "--use-schema-description",
                "--use-standard-collections", "--use-union-operator", "--disable-timestamp", "--formatters", "builtin",
            ],
            check=True,
        )  # fmt: skip
        text = result.read_text()
        text = re.sub(r"\A(#.*\n)+", HEADER, text)
        # Type checkers bring typing_extensions along; at run time nothing evaluates the annotations.
        text = text.replace(
            "from typing_extensions import NotRequired\n",
            "if TYPE_CHECKING:\n    from typing_extensions import NotRequired\n",
        )
        text = re.sub(r"^from typing import ", "from typing import TYPE_CHECKING, ", text, count=1, flags=re.MULTILINE)
        text = text.replace("Model: TypeAlias = Any\n", "")
        names = sorted(re.findall(r"^class (\w+)|^(\w+): TypeAlias", text, re.MULTILINE))
        listed = "\n".join(f'    "{a or b}",' for a, b in sorted(names, key=lambda it: it[0] or it[1]))
        text = text.replace("\nif TYPE_CHECKING:\n", f"\n__all__ = [\n{listed}\n]\n\nif TYPE_CHECKING:\n", 1)
        result.write_text(text)
        config = HERE / "pyproject.toml"
        subprocess.run(
            [programs / "ruff", "check", "--quiet", "--fix", "--select", "F401,I,UP", "--config", config, result], check=True
        )
        subprocess.run([programs / "ruff", "format", "--quiet", "--config", config, result], check=True)
        return result.read_text()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--schema", type=Path, default=SCHEMA)
    options = parser.parse_args()
    text = generate(options.schema)
    if not options.check:
        RESULT.write_text(text)
        return 0
    if text != RESULT.read_text():
        print(f"{RESULT.relative_to(HERE)} differs from the schema: run tools/documents.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
