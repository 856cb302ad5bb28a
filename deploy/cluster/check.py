"""Checks that a cluster serves, also after its leader was killed."""

import json
import os
import signal
import threading

import push
from cluster import CHANNEL
from parts import Failed, get

# What the key is tried on.
REST = "/api/v2/events/?limit=1"
# What is pushed after the leader was killed.
NEW_SIDE = "Takeover United"
NEW_MATCH = json.dumps({
    "id": "takeover", "sport": "football", "match": "takeover",
    "fact": {"fixture": {"sides": [{"name": NEW_SIDE}, {"name": "Standby City"}]}},
})


def check(cluster):
    """Checks that the cluster serves, also after its leader was killed. Returns what it found."""
    key = cluster.secrets["key"]
    services = [node.address for node in cluster.nodes] + [cluster.address] * bool(cluster.proxy)
    for address in services:
        for path in (REST, CHANNEL):
            expect(address, path, key)
    leader = wait_for_leader(cluster, "a node leads")
    another = next(node for node in cluster.nodes if node is not leader)
    with Requests(cluster.address if cluster.proxy else another.address, key) as requests:
        os.kill(leader.pid, signal.SIGKILL)
        successor = wait_for_leader(cluster, "another node leads", but=leader)
        # Pushed to any node, and seen at every one, also at the one that is back.
        push.push(NEW_MATCH, [f"http://{requests.address}"], cluster.secrets["feed"])
        everywhere = lambda: all(has_new_match(node, key) for node in cluster.nodes)
        cluster.wait_until("every node has what was pushed", everywhere)
        cluster.wait_until("every node is ready", cluster.is_ready)
    if requests.problems:
        raise Failed(f"{len(requests.problems)} of {requests.count} requests failed, first {requests.problems[0]}")
    for address in services:
        expect(address, REST, key)
    # The documents of all nodes, of which one was started again.
    wait_for_leader(cluster, "a node leads")
    cluster.command("verify")
    name = cluster.balancer.name if cluster.proxy else "no balancer"
    return (
        f"{len(cluster.nodes)} nodes and {name} serve, their documents are equal, {successor.name} leads after {leader.name} was killed, "
        f"and {requests.count} of {requests.count} requests meanwhile were answered"
    )


def wait_for_leader(cluster, what, but=None):
    """The node that leads. On a busy machine none may be heard for a moment."""
    found = []

    def leads():
        found.append(cluster.leader())
        return found[-1] not in (None, but)

    cluster.wait_until(what, leads)
    return found[-1]


def has_new_match(node, key):
    return NEW_SIDE.encode() in get(node.address, CHANNEL, key)[1]


def expect(address, path, key):
    status, body = get(address, path, key)
    if status != 200:
        raise Failed(f"http://{address}{path}: {status} {body[:200].decode(errors='replace')}")


class Requests:
    """A client that polls, and notes what is not answered with 200."""

    # Far below limits.address_per_second.
    PAUSE_S = 0.1

    def __init__(self, address, key):
        self.address, self.key, self.count, self.problems = address, key, 0, []
        self.ended, self.thread = threading.Event(), threading.Thread(target=self.poll)

    def poll(self):
        while not self.ended.wait(self.PAUSE_S):
            status, body = get(self.address, REST, self.key)
            self.count += 1
            if status != 200:
                self.problems.append(f"{status} {body[:200].decode(errors='replace')}")

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
