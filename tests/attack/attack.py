"""What an attack is, and how the rows state theirs."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from generator import ANSWER, HEAD_END, Until
from wire import command, request, upgrade

MEASURES = ("ping", "update", "rest", "health")
ATTACKS = {}
# Connections and addresses of an attack by strangers.
STRANGERS = 1000
# The options of an attack through the proxy, whose requests name their addresses.
PROXIED = {"addresses": 1, "network": 3}


@dataclass(frozen=True)
class Attack:
    name: str
    # Makes the script of a connection from the hub and the number of the connection: see generator.py.
    script: Callable
    # What the same connections do in the control.
    control: Callable
    connections: int
    # How many addresses they come from. Each attack has a network of its own, unless it says which.
    addresses: int = 16
    network: int = 0
    # Whether the connections read when they wait for nothing, and the size of their receive buffer.
    reads: bool = True
    receive_buffer: int = 0
    # Whose waits count.
    judges: tuple = MEASURES
    # Whether it uses the named keys of an account.
    named: bool = False
    # The hub that it needs: see `HUBS` in __main__.py.
    hub: str = "usual"


def register(name, script, control, connections, strangers=False, **options):
    if strangers:
        options = {"addresses": STRANGERS} | options
    assert name not in ATTACKS, name
    ATTACKS[name] = Attack(name, script, control, connections, **options)


def attack(name, connections, control=None, **options):
    """A script in full."""
    return lambda script: register(name, script, control or control_asks, connections, **options)


def asks(name, connections, **options):
    """Requests on connections that stay open, each as soon as the one before is answered. The function returns the
    requests, which the connections send in turn."""

    def add(make):
        made = []

        def script(hub, number):
            if not made:
                made.extend(make(hub))
            for at in itertools.count(number):
                yield made[at % len(made)]
                yield ANSWER

        register(name, script, control_asks, connections, **options)

    return add


def holds(name, connections, **options):
    """Requests whose responses nobody reads, or that never end: the function returns the bytes, of which each connection sends one
    and then waits for ever."""

    def add(make):
        made = []

        def script(hub, number):
            if not made:
                made.extend(make(hub))
            yield made[number % len(made)]
            yield 3600

        register(name, script, control_opens, connections, **options)

    return add


def says(name, sockets, who="paying", setup=(), path="/stream/v1", every_s=0, **options):
    """Commands on sockets, as fast as the hub reads them or every so many seconds. The function returns the frames; `setup` are those
    that are sent first, or a function of the hub that returns them."""
    headers = options.pop("headers", {})

    def add(make):
        made = []

        def script(hub, number):
            if not made:
                made.extend(make(hub))
            yield upgrade(path, key(hub, who, number), **headers)
            yield Until(HEAD_END)
            for frame in setup(hub) if callable(setup) else setup:
                yield frame
                yield Until(b'"subscribed"')
            for at in itertools.count(number):
                yield made[at % len(made)]
                if every_s:
                    yield every_s

        register(name, script, control_says, sockets, named=who == "named", **options)

    return add


def key(hub, who, number):
    keys = getattr(hub, who)
    return keys if isinstance(keys, str) else keys[number % len(keys)]


# ------------------------------------------------------------------------------------ controls


def control_asks(_hub, _number):
    while True:
        yield request("/healthz")
        yield ANSWER


def control_opens(_hub, _number):
    yield request("/healthz", Connection="close")
    yield ANSWER


def control_says(hub, _number):
    yield upgrade(key=hub.paying)
    yield Until(HEAD_END)
    while True:
        yield command("ping")
        yield Until(b'"pong"')
