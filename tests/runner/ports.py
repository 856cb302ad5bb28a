"""Ports for servers that tests start."""

import random
import socket


def free_ports(count):
    """Ports of loopback on which nothing listens. They are below the ports that Linux gives to sockets that ask for any: of
    those, another test could get one before the server listens on it."""
    held = []
    while len(held) < count:
        try:
            held.append(socket.create_server(("127.0.0.1", random.randrange(10_000, 32_000))))
        except OSError:
            continue
    found = [it.getsockname()[1] for it in held]
    for it in held:
        it.close()
    return found
