"""The interface of SERVICE.md, walked by a client that knows nothing else of this hub.

    pip install -r ../requirements.txt
    python tests/clients/public_interface --url http://127.0.0.1:8080 --key KEY --key-without-addon KEY2

One line a check: `ok: ..`, `skipped: .. why`, or `FAILED: ..: what was expected; what came`. The last
line is the sum; the exit code is 1 if anything failed.
"""

import argparse
import sys

from agreement import check_agreement
from client import Client
from errors import check_errors
from lists import check_filters, check_lists
from live import Live, check_observed, check_sockets
from meaning import check_meaning
from public_clients import check_public_clients
from report import Report
from walk import walk
from world import World, wait_for_the_first_results, wait_for_the_past


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="http://HOST:PORT")
    parser.add_argument("--key", required=True, help="a key with all add-ons")
    parser.add_argument("--key-without-addon", required=True, help="a key of a free account")
    arguments = parser.parse_args()
    report = Report()
    client = Client(arguments.url, arguments.key)
    with report.check("the hub has results"):
        wait_for_the_first_results(client)
    world = World(client)
    live = Live(arguments.url, arguments.key, arguments.key_without_addon, client, world)
    # They listen while everything else is checked; and the past comes while what needs none of it is.
    observers = live.observers()
    check_sockets(report, live)
    check_agreement(report, live)
    check_errors(report, client, Client(arguments.url, arguments.key_without_addon), world)
    wait_for_the_past(client)
    world = World(client)
    walk(report, client, world)
    check_public_clients(report, client, world)
    check_meaning(report, client, world)
    check_lists(report, client, world)
    check_filters(report, client, world)
    check_observed(report, live, observers)
    print(report.sum())
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
