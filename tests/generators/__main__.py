"""Clients that generators of other people make of the OpenAPI document of a running hub.

    pip install -r requirements.txt && npm ci
    python tests/generators --url http://127.0.0.1:8080 --key KEY --key-without-addon KEY2 --node node --output FOLDER

Each generator has to take the document without a warning. Then every operation is called through its client, with ids
from the hub's own lists: it succeeds or gives an error that the document has, and the client makes its types of the
answer. One line a check; the last one is the sum, and the exit code is 1 if anything failed.
"""

import argparse
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path += [str(TESTS / "clients" / "public_interface"), str(TESTS / "schema")]

import attrs_client  # noqa: E402
import pydantic_client  # noqa: E402
import typescript_client  # noqa: E402
from calls import fetch  # noqa: E402
from report import Report  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="http://HOST:PORT")
    parser.add_argument("--key", required=True, help="a key with all add-ons")
    parser.add_argument("--key-without-addon", required=True, help="a key of a free account")
    parser.add_argument("--node", required=True, help="the program of Node")
    parser.add_argument("--output", required=True, type=Path, help="the folder for the clients")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    document, report = fetch(options.url, options.output), Report()
    for client in (attrs_client, pydantic_client, typescript_client):
        client.check(report, document, options)
    print(report.sum())
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
