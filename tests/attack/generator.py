"""The generator: one process with one loop that plays scripts on many connections, and takes at most half a core.

A script is a Python generator for one connection. It yields what the connection does next:

    bytes        sends them
    ANSWER       waits for a whole HTTP response, which the `yield` returns
    Until(text)  waits until these bytes have come
    a number     waits so many seconds

When a script ends or its connection is closed, another connection begins with a new script.
"""

import errno
import heapq
import resource
import select
import socket
import time
from collections import Counter
from dataclasses import dataclass

from wire import HEAD_END

# The part of a core that the generator takes.
CORE_SHARE = 0.5
# How soon a connection that was closed is opened again.
AGAIN_S = 0.02
# Steps of a script in one turn, so that all connections get turns.
STEPS_MAX = 8
CONNECTS_PER_TURN = 32

ANSWER = object()
# For responses to HEAD, which have no body.
HEAD_ANSWER = object()


@dataclass
class Until:
    text: bytes


@dataclass
class Answer:
    status: int
    head: bytes
    body: bytes


class Pace:
    """Sleeps whenever this process has taken more than its share of a core."""

    def __init__(self):
        self.wall, self.cpu = time.monotonic(), time.process_time()

    def wait(self):
        ahead = (time.process_time() - self.cpu) / CORE_SHARE - (time.monotonic() - self.wall)
        if ahead > 0.002:
            time.sleep(min(ahead, 0.1))
        elif ahead < -0.1:
            # What was not used before cannot be saved up.
            self.wall, self.cpu = time.monotonic(), time.process_time()


class Connection:
    def __init__(self, load, number):
        self.load, self.number = load, number
        self.socket = None

    def open(self):
        load = self.load
        try:
            self.socket = socket.socket()
            self.socket.setblocking(False)
            if load.attack.receive_buffer:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, load.attack.receive_buffer)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket.bind((load.address(self.number), 0))
            error = self.socket.connect_ex(load.target)
            if error not in (0, errno.EINPROGRESS):
                raise OSError(error, "connect")
        except OSError:
            load.outcomes["not connected"] += 1
            return self.end()
        self.out, self.received, self.waits, self.sleeps, self.events = b"", b"", None, False, 0
        self.script = load.attack.script(load.world, self.number)
        load.connections[self.socket.fileno()] = self
        load.poll.register(self.socket.fileno(), 0)
        self.want()

    def want(self):
        """Tells the poll what this connection waits for."""
        reads = self.load.attack.reads or isinstance(self.waits, Until) or self.waits in (ANSWER, HEAD_ANSWER)
        events = (select.EPOLLIN if reads else 0) | (select.EPOLLOUT if not self.waits and not self.sleeps else 0)
        if events != self.events:
            self.events = events
            self.load.poll.modify(self.socket.fileno(), events)

    def end(self):
        if self.socket:
            self.load.connections.pop(self.socket.fileno(), None)
            self.socket.close()
            self.socket = None
        self.load.later(AGAIN_S, self)

    def on_time(self):
        if not self.socket:
            return self.open()
        self.sleeps = False
        self.want()

    def on_write(self):
        for _ in range(STEPS_MAX):
            if self.out:
                try:
                    sent = self.socket.send(self.out)
                except BlockingIOError:
                    return
                self.load.bytes += sent
                self.out = self.out[sent:]
                if self.out:
                    return
            if self.waits or self.sleeps:
                break
            self.step(None)
            if not self.socket:
                return
        self.want()

    def step(self, result):
        try:
            action = self.script.send(result)
        except StopIteration:
            return self.end()
        if isinstance(action, bytes):
            self.out = memoryview(action)
            self.load.sent += 1
        elif isinstance(action, int | float):
            self.sleeps = True
            self.load.later(action, self)
        else:
            self.waits = action

    def on_read(self):
        data = self.socket.recv(1 << 18)
        if not data:
            self.load.outcomes["closed"] += 1
            return self.end()
        if not self.waits:
            return
        self.received += data
        if isinstance(self.waits, Until):
            if self.waits.text in self.received:
                self.resume(None)
        elif answer := self.answer():
            self.load.outcomes[answer.status] += 1
            self.resume(answer)

    def resume(self, result):
        self.received, self.waits = b"", None
        self.step(result)
        if self.socket:
            self.want()
            self.on_write()

    def answer(self):
        """The response, when it is complete."""
        at = self.received.find(HEAD_END)
        if at < 0:
            return None
        head = self.received[:at].lower()
        status, body = int(head[9:12]), self.received[at + 4 :]
        if self.waits is HEAD_ANSWER or status in (204, 304):
            return Answer(status, head, b"")
        if (found := head.find(b"\r\ncontent-length:")) >= 0:
            whole = len(body) >= int(head[found + 17 :].split(b"\r\n", 1)[0])
        else:
            whole = b"chunked" in head and body.endswith(b"0\r\n\r\n")
        return Answer(status, head, body) if whole else None


class Load:
    """One attack, or its control, until the time is over."""

    def __init__(self, attack, world, target):
        self.attack, self.world, self.target = attack, world, target
        self.connections, self.timers, self.poll = {}, [], select.epoll()
        self.sent, self.bytes, self.outcomes, self.timed = 0, 0, Counter(), 0

    def address(self, number):
        """Where a connection comes from: the addresses of the attack in turn, all of loopback."""
        at = number % self.attack.addresses
        return f"127.{self.attack.network}.{at // 250}.{1 + at % 250}"

    def later(self, seconds, connection):
        self.timed += 1
        heapq.heappush(self.timers, (time.monotonic() + seconds, self.timed, connection))

    def run(self, seconds):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        pace, end = Pace(), time.monotonic() + seconds
        for number in range(self.attack.connections):
            self.later(0, Connection(self, number))
        while (now := time.monotonic()) < end:
            for _ in range(CONNECTS_PER_TURN):
                if not self.timers or self.timers[0][0] > now:
                    break
                heapq.heappop(self.timers)[2].on_time()
            wait = max(0, min(self.timers[0][0] if self.timers else end, end) - time.monotonic())
            for descriptor, events in self.poll.poll(wait, 256):
                if connection := self.connections.get(descriptor):
                    self.handle(connection, events)
            pace.wait()
        for connection in list(self.connections.values()):
            connection.socket.close()
        return {"sent": self.sent, "bytes": self.bytes, "outcomes": dict(self.outcomes)}

    def handle(self, connection, events):
        try:
            if events & (select.EPOLLIN | select.EPOLLERR | select.EPOLLHUP):
                connection.on_read()
            if connection.socket and events & select.EPOLLOUT:
                connection.on_write()
        except BlockingIOError:
            pass
        except OSError as error:
            self.outcomes[errno.errorcode.get(error.errno, "error")] += 1
            if connection.socket:
                connection.end()
