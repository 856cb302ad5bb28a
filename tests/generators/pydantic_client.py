"""The client of openapi-generator for Python: strict classes of `pydantic`, requests by `urllib3`."""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

from calls import TIMEOUT_S, arguments, file, judge, operations
from report import expect

NAME = "openapi-generator"
PACKAGE = "pydantic_generated"
PARTS = "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"

# What it says of every document, and of members and parameters whose names are words of Python.
CHATTER = ("support is still in beta", "Failed to get the schema name: null", "(reserved word) cannot be used as model name")


def check(report, document, options):
    with report.check(f"{NAME} takes the document without a warning"):
        generate(options.output)
    sys.path.insert(0, str(options.output / NAME))
    package = importlib.import_module(PACKAGE)
    configuration = package.Configuration(host=options.url, api_key={"token": options.key}, api_key_prefix={"token": "Token"})
    client = package.ApiClient(configuration)
    apis = [kind(client) for name, kind in vars(package).items() if name.endswith("Api") and inspect.isclass(kind)]
    for operation in operations(document, options):
        with report.check(f"{NAME}: {operation.id}"):
            function = next(getattr(api, f"{operation.id}_with_http_info") for api in apis if hasattr(api, operation.id))
            parameters = inspect.signature(function).parameters
            body = operation.body and getattr(package, operation.body[0])
            for values in operation.calls:
                named = arguments(operation, values, parameters, body)
                try:
                    response = function(**named, _request_timeout=TIMEOUT_S)
                    judge(document, operation, response.status_code, response.data)
                except package.ApiException as error:
                    judge(document, operation, error.status, error.data)


def generate(output):
    command = [
        Path(sys.executable).parent / "openapi-generator-cli", "generate", "-g", "python", "-i", file(output), "-o", output / NAME,
        "--package-name", PACKAGE, "--global-property", PARTS,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    said = (done.stdout + done.stderr).splitlines()
    warnings = [line for line in said if " WARN " in line or " ERROR " in line]
    print(*warnings, sep="\n")
    unexpected = [line for line in warnings if not any(words in line for words in CHATTER)]
    expect(done.returncode == 0 and not unexpected, "no warning", "\n".join(unexpected or said[-20:]))
