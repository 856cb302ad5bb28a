"""The client of openapi-python-client: classes of `attrs`, requests by `httpx`."""

import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import httpx
from calls import TIMEOUT_S, arguments, file, judge, operations
from report import expect

NAME = "openapi-python-client"
PACKAGE = "attrs_generated"


def check(report, document, options):
    with report.check(f"{NAME} takes the document without a warning"):
        generate(options.output)
    sys.path.insert(0, str(options.output))
    package = importlib.import_module(PACKAGE)
    models = importlib.import_module(f"{PACKAGE}.models")
    timeout = httpx.Timeout(TIMEOUT_S)
    client = package.AuthenticatedClient(base_url=options.url, token=options.key, prefix="Token", timeout=timeout)
    for operation in operations(document, options):
        with report.check(f"{NAME}: {operation.id}"):
            (path,) = (options.output / PACKAGE / "api").glob(f"*/{operation.id}.py")
            module = importlib.import_module(f"{PACKAGE}.api.{path.parent.name}.{path.stem}")
            parameters = inspect.signature(module.sync_detailed, eval_str=True).parameters
            body = operation.body and getattr(models, operation.body[0])
            for values in operation.calls:
                response = module.sync_detailed(**arguments(operation, values, parameters, body), client=client)
                judge(document, operation, response.status_code.value, response.parsed)


def generate(output):
    bin = Path(sys.executable).parent
    command = [
        bin / "openapi-python-client", "generate", "--path", file(output), "--output-path", output / PACKAGE, "--meta", "none",
        "--overwrite", "--fail-on-warning", "--config", Path(__file__).with_name("python_client.yaml"),
    ]  # fmt: skip
    # It formats what it writes by `ruff`, which is installed beside it.
    path = f"{bin}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(command, env=os.environ | {"PATH": path}, capture_output=True, text=True)
    print(done.stdout, done.stderr)
    expect(done.returncode == 0 and "arning" not in done.stdout, "no warning", (done.stdout + done.stderr)[-2000:])
