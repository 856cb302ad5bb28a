"""The types of openapi-typescript, called by openapi-fetch: `tsc --strict` checks them and every call, then Node makes the
calls and compares each answer with the document: with a key for everything, one without add-ons, and a wrong one."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from calls import file, operations
from report import Different, expect

NAME = "openapi-typescript"
FOLDER = Path(__file__).resolve().parent
MODULES = FOLDER / "node_modules"
HEAD = """import type { Client } from "openapi-fetch";
import type { paths } from "./schema";
type Answer = { data?: unknown; error?: unknown; response: Response };
export type Call = { path: string; method: string; call: (client: Client<paths>) => Promise<Answer> };
export const calls: Call[] = [
"""


def check(report, document, options):
    output = options.output / NAME
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir()
    # Where `tsc` looks for the types of openapi-fetch.
    (output / "node_modules").symlink_to(MODULES)
    with report.check(f"{NAME} takes the document without a warning"):
        said = run(options.node, MODULES / "openapi-typescript" / "bin" / "cli.js", file(options.output), "-o", output / "schema.d.ts")
        expect("⚠" not in said and "warn" not in said.lower(), "no warning", said)
    with report.check(f"{NAME}: tsc --strict accepts the types and a call of each operation"):
        (output / "calls.ts").write_text(HEAD + "".join(lines(document, options)) + "];\n")
        strict = ("--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler")
        run(options.node, MODULES / "typescript" / "bin" / "tsc", *strict, output / "calls.ts")
        (output / "package.json").write_text('{"type": "module"}')
    keys = {"": options.key, " without add-ons": options.key_without_addon, " with a wrong key": "wrong"}
    for kind, key in keys.items():
        command = [options.node, FOLDER / "answers.js", options.url, key, file(options.output), output / "calls.js"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        for verdict, name, why in re.findall(r"^(ok|FAILED): ([^:\n]+)(?:: (.*))?$", done.stdout, re.MULTILINE):
            with report.check(f"{NAME}{kind}: {name}"):
                expect(verdict == "ok", why)
        with report.check(f"{NAME}{kind}: all calls were made"):
            expect(done.returncode == 0, "exit code 0", done.returncode)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"NO_COLOR": "1"})
    if done.returncode != 0:
        raise Different((done.stdout + done.stderr)[-3000:])
    return done.stdout + done.stderr


def lines(document, options):
    """Each call as a line of TypeScript."""
    for operation in operations(document, options):
        places = {it["name"]: it["in"] for it in operation.definition.get("parameters", [])}
        answers = operation.definition["responses"].get("200", {}).get("content", {"application/json": {}})
        for values in operation.calls:
            given = {place: {name: value for name, value in values.items() if places[name] == place} for place in ("path", "query")}
            request = {"params": {place: named for place, named in given.items() if named}}
            if operation.body:
                request["body"] = operation.body[1]
            if "application/json" not in answers:
                request["parseAs"] = "stream"
            method, path = operation.method.upper(), json.dumps(operation.path)
            yield f'  {{ path: {path}, method: "{operation.method}", call: (client) => client.{method}({path}, {json.dumps(request)}) }},\n'
