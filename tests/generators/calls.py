"""What is called: every operation of the document, with ids that the hub has."""

import itertools
import json
import shutil
import urllib.request
from dataclasses import dataclass
from enum import Enum

from report import expect
from rows import ENDLESS, Rows

# Where nobody listens, and an event that the demo does not have: so nothing is sent.
WEBHOOK = {"url": "http://127.0.0.1:9/hook", "events": ["feed_down"], "channels": ["feeds"]}
BODIES = {
    ("post", "/api/v2/webhooks/"): WEBHOOK,
    ("post", "/api/v2/webhooks/{id}/"): {"enabled": False},
}
# So many combinations of ids are called: of matches one that is over, one to come and one in play.
COMBINATIONS_MAX = 4
TIMEOUT_S = 60


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    definition: dict
    # By parameter.
    calls: list
    # The name of its schema and its content.
    body: tuple | None

    @property
    def id(self):
        return self.definition["operationId"]


def fetch(url, output):
    """The hub's document, which is also put into the folder."""
    with urllib.request.urlopen(f"{url}/api/schema/", timeout=TIMEOUT_S) as answer, file(output).open("wb") as copy:
        shutil.copyfileobj(answer, copy)
    return json.loads(file(output).read_text())


def file(output):
    return output / "openapi.json"


def operations(document, options):
    """All operations of the document, those that delete something last. For them there is a webhook."""
    request = urllib.request.Request(
        f"{options.url}/api/v2/webhooks/", json.dumps(WEBHOOK).encode(),
        {"Authorization": f"Token {options.key}", "Content-Type": "application/json"},
    )  # fmt: skip
    urllib.request.urlopen(request, timeout=TIMEOUT_S).close()
    rows = Rows(options.url, options.key, document["paths"])
    found = [
        Operation(method, path, definition, values_of(path, definition, rows), body_of(method, path, definition))
        for path, item in document["paths"].items() if path not in ENDLESS
        for method, definition in item.items()
    ]  # fmt: skip
    return sorted(found, key=lambda it: it.method == "delete")


def values_of(path, definition, rows):
    """The values of the parameters that a call has to have, for some calls."""
    choices = {}
    for parameter in definition.get("parameters", []):
        if parameter.get("required"):
            # What the hub has no row of is not found, which is documented as well.
            unknown = 1 if parameter["schema"].get("type") == "integer" else parameter.get("example", "none")
            choices[parameter["name"]] = rows.named(path, parameter["name"]) or [unknown]
    combinations = itertools.product(*choices.values())
    return [dict(zip(choices, values)) for values in itertools.islice(combinations, COMBINATIONS_MAX)]


def body_of(method, path, definition):
    if "requestBody" not in definition:
        return None
    schema = definition["requestBody"]["content"]["application/json"]["schema"]
    # An operation that is missing there is refused.
    return schema["$ref"].rpartition("/")[2], BODIES.get((method, path), {})


def arguments(operation, values, parameters, body):
    """The values by the names of a Python function's parameters, which differ where a name is Python's own."""
    named = {}
    for name, value in values.items():
        own = next(it for it in (name, f"{name}_", f"var_{name}") if it in parameters)
        kind = parameters[own].annotation
        named[own] = kind(value) if isinstance(kind, type) and issubclass(kind, Enum) else value
    if operation.body:
        own = "body" if "body" in parameters else next(it for it in parameters if it not in named)
        named[own] = body.from_dict(operation.body[1])
    return named


def judge(document, operation, status, answer):
    """The status is documented, and so the client knows the answer's type."""
    documented = operation.definition["responses"]
    expect(str(status) in documented, f"a status of {sorted(documented)}", status)
    response = documented[str(status)]
    if reference := response.get("$ref"):
        response = document["components"]["responses"][reference.rpartition("/")[2]]
    expect("content" not in response or answer is not None, f"a typed answer of status {status}", answer)
