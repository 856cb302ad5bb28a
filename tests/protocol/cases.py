#!/usr/bin/env python3
"""The cases of the Autobahn test suite, sections 1 to 7, 9 and 10, against an echo server.

    matchwire-bare --port 7700 &                 the fan-out's echo
    cases.py ws://127.0.0.1:7700/echo            all of them
    cases.py --fast ws://127.0.0.1:7700/echo     without messages of a MiB and more

Each case writes its own frames, reads what comes back frame by frame, and knows which close code
must follow. Sections 12 and 13 test compression, which the hub does not offer. Beyond Autobahn's
list, section 7 has the close codes 1012 to 1014, registered since, as valid, and 1015 as invalid.

Nothing waits for a time: a case ends with what it expects, or with the end of the connection.
"""

import argparse
import base64
import os
import socket
import struct
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

# Far more than any case takes.
CASE_S_MAX = 120

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
MASK = bytes.fromhex("37fa213d")
KIB, MIB = 1 << 10, 1 << 20


def frame(opcode, payload=b"", fin=True, rsv=0):
    head = bytes([fin << 7 | rsv << 4 | opcode])
    if len(payload) < 126:
        head += bytes([0x80 | len(payload)])
    elif len(payload) < 1 << 16:
        head += struct.pack("!BH", 0x80 | 126, len(payload))
    else:
        head += struct.pack("!BQ", 0x80 | 127, len(payload))
    return head + MASK + masked(payload)


def masked(payload):
    mask = (MASK * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(mask, "big")).to_bytes(len(payload), "big")


def fragments(opcode, parts):
    """A message in these fragments, a frame each."""
    last = len(parts) - 1
    return [frame(opcode if at == 0 else CONTINUATION, part, fin=at == last) for at, part in enumerate(parts)]


def cut(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


def close_frame(code, reason=b""):
    return frame(CLOSE, struct.pack("!H", code) + reason)


class Expect:
    """A step of a case: frames that must have come before the next bytes are sent."""

    def __init__(self, *frames):
        self.frames = frames


class Case:
    """Bytes to send, each piece in a packet of its own, and `Expect`s between them; the frames that
    come back after the last of them; and the close code that follows. With `close` 1000 the client
    closes, unless it has already; with any other code the server must."""

    def __init__(self, name, steps, expected=(), close=1000, closes=True):
        self.name, self.steps, self.expected, self.close, self.closes = name, steps, list(expected), close, closes

    @property
    def section(self):
        return int(self.name.split(".")[0])


class Socket:
    def __init__(self, url):
        address = urlsplit(url)
        self.tcp = socket.create_connection((address.hostname, address.port), timeout=CASE_S_MAX)
        self.tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = self.tcp.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        self.send(
            f"GET {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        status = self.reader.readline()
        assert status.startswith(b"HTTP/1.1 101 "), f"no upgrade: {status!r}"
        while self.reader.readline() != b"\r\n":
            pass

    def send(self, data):
        self.tcp.sendall(data)

    def read(self):
        """The next frame, or `None` at the end of the connection."""
        head = self.reader.read(2)
        if len(head) < 2:
            return None
        assert head[0] & 0xF0 == 0x80, f"a frame begins with {head[0]:#x}"
        assert head[1] & 0x80 == 0, "a masked frame"
        length = head[1]
        if length == 126:
            (length,) = struct.unpack("!H", self.reader.read(2))
            assert length >= 126, "a length that is not in its shortest form"
        elif length == 127:
            (length,) = struct.unpack("!Q", self.reader.read(8))
            assert length >= 1 << 16, "a length that is not in its shortest form"
        return head[0] & 0xF, self.reader.read(length)


def run(url, case):
    """Why the case failed, or `None`."""
    try:
        ours = Socket(url)
        with ours.tcp, ours.reader:
            return talk(ours, case)
    except (AssertionError, OSError) as error:
        return f"{type(error).__name__}: {error}"


def talk(ours, case):
    for step in case.steps:
        if isinstance(step, Expect):
            read_all(ours, step.frames)
            continue
        try:
            ours.send(step)
        except ConnectionError:
            # The server may close before all is sent.
            break
    read_all(ours, case.expected)
    if case.close == 1000 and case.closes:
        ours.send(close_frame(1000))
    last = ours.read()
    assert last is not None, f"the connection ended without a close frame of {case.close}"
    opcode, payload = last
    assert opcode == CLOSE, f"opcode {opcode:#x} and {shown(payload)} in place of the close frame"
    code = struct.unpack("!H", payload[:2])[0] if payload else None
    assert code == case.close, f"close code {code}, not {case.close}"
    payload[2:].decode()
    try:
        after = ours.read()
    except ConnectionError:
        after = None
    assert after is None, f"{shown(after)} after the close frame"


def read_all(ours, frames):
    for expected in frames:
        came = ours.read()
        assert came == expected, f"came {shown(came)}, expected {shown(expected)}"


def shown(value):
    text = repr(value)
    return text if len(text) < 80 else f"{text[:77]}..."


# -------------------------------------------------------------------------------------- the cases


def framing():
    for opcode, section, byte in ((TEXT, "1.1", b"*"), (BINARY, "1.2", b"\xfe")):
        for number, length in enumerate((0, 125, 126, 127, 128, 65_535, 65_536, 65_536), 1):
            payload = byte * length
            sent = frame(opcode, payload)
            yield Case(f"{section}.{number}", cut(sent, 997) if number == 8 else [sent], [(opcode, payload)])


def pings():
    payloads = [b"", b"Hello, world!", b"\x00\xff\xfe\xfd\xfc\xfb\x00\xff", b"\xfe" * 125]
    for number, payload in enumerate(payloads, 1):
        yield Case(f"2.{number}", [frame(PING, payload)], [(PONG, payload)])
    yield Case("2.5", [frame(PING, b"\xfe" * 126)], close=1002)
    yield Case("2.6", cut(frame(PING, b"\xfe" * 125), 1), [(PONG, b"\xfe" * 125)])
    yield Case("2.7", [frame(PONG)])
    yield Case("2.8", [frame(PONG, b"unsolicited pong payload")])
    yield Case("2.9", [frame(PONG, b"unsolicited pong payload"), frame(PING, b"ping payload")], [(PONG, b"ping payload")])
    ten = [b"payload-%d" % number for number in range(10)]
    sent = [frame(PING, payload) for payload in ten]
    yield Case("2.10", sent, [(PONG, payload) for payload in ten])
    yield Case("2.11", cut(b"".join(sent), 1), [(PONG, payload) for payload in ten])


def reserved_bits():
    hello = b"Hello, world!"
    second = [frame(TEXT, hello), frame(TEXT, hello, rsv=2), frame(PING)]
    yield Case("3.1", [frame(TEXT, hello, rsv=1)], close=1002)
    yield Case("3.2", [b"".join(second)], [(TEXT, hello)], close=1002)
    yield Case("3.3", second, [(TEXT, hello)], close=1002)
    yield Case("3.4", cut(b"".join([second[0], frame(TEXT, hello, rsv=4), frame(PING)]), 1), [(TEXT, hello)], close=1002)
    yield Case("3.5", [frame(BINARY, b"\x00\xff\xfe\xfd\xfc\xfb\x00\xff", rsv=5)], close=1002)
    yield Case("3.6", [frame(PING, hello, rsv=6)], close=1002)
    yield Case("3.7", [frame(CLOSE, rsv=7)], close=1002)


def opcodes():
    hello = b"Hello, world!"
    for group, (a, b, c, d, e) in ((1, range(3, 8)), (2, range(11, 16))):
        yield Case(f"4.{group}.1", [frame(a)], close=1002)
        yield Case(f"4.{group}.2", [frame(b, b"reserved opcode payload")], close=1002)
        whole = [frame(TEXT, hello), frame(c), frame(PING)]
        yield Case(f"4.{group}.3", whole, [(TEXT, hello)], close=1002)
        whole = [frame(TEXT, hello), frame(d, hello), frame(PING)]
        yield Case(f"4.{group}.4", whole, [(TEXT, hello)], close=1002)
        whole = [frame(TEXT, hello), frame(e, hello), frame(PING)]
        yield Case(f"4.{group}.5", cut(b"".join(whole), 1), [(TEXT, hello)], close=1002)


def fragmentation():
    two = [b"fragment1", b"fragment2"]
    yield Case("5.1", [frame(PING, two[0], fin=False), frame(CONTINUATION, two[1])], close=1002)
    yield Case("5.2", [frame(PONG, two[0], fin=False), frame(CONTINUATION, two[1])], close=1002)
    ways = [lambda sent: [b"".join(sent)], lambda sent: sent, lambda sent: cut(b"".join(sent), 1)]
    whole = fragments(TEXT, two)
    between = [whole[0], frame(PING, b"ping payload"), whole[1]]
    echoed = [(TEXT, b"fragment1fragment2")]
    for way, send in enumerate(ways):
        yield Case(f"5.{3 + way}", send(whole), echoed)
        yield Case(f"5.{6 + way}", send(between), [(PONG, b"ping payload"), *echoed])
        for start, fin in ((9, True), (12, False)):
            nothing = [frame(CONTINUATION, b"non-continuation payload", fin=fin), frame(TEXT, b"Hello, world!")]
            yield Case(f"5.{start + way}", send(nothing), close=1002)
    after = [*whole, frame(CONTINUATION, b"fragment3", fin=False), frame(TEXT, b"fragment4")]
    yield Case("5.15", [b"".join(after)], echoed, close=1002)
    for number, fin in ((16, False), (17, True)):
        repeated = [frame(CONTINUATION, b"fragment1", fin=fin), *fragments(TEXT, [b"fragment2", b"fragment3"])] * 2
        yield Case(f"5.{number}", repeated, close=1002)
    yield Case("5.18", [frame(TEXT, two[0], fin=False), frame(TEXT, two[1])], close=1002)
    five = [b"fragment%d" % number for number in range(1, 6)]
    sent = fragments(TEXT, five)
    steps = [[*sent[:2], frame(PING, b"pongme 1!")], [*sent[2:4], frame(PING, b"pongme 2!"), sent[4]]]
    expected = [(PONG, b"pongme 2!"), (TEXT, b"".join(five))]
    first = Expect((PONG, b"pongme 1!"))
    yield Case("5.19", [b"".join(steps[0]), first, b"".join(steps[1])], expected)
    yield Case("5.20", [*steps[0], first, *steps[1]], expected)


KOSME = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5"

# As in Markus Kuhn's stress test for decoders, in the order of Autobahn's sections 6.5 to 6.23.
INCOMPLETE = [
    b"\xc0", b"\xe0\x80", b"\xf0\x80\x80", b"\xf8\x80\x80\x80", b"\xfc\x80\x80\x80\x80",
    b"\xdf", b"\xef\xbf", b"\xf7\xbf\xbf", b"\xfb\xbf\xbf\xbf", b"\xfd\xbf\xbf\xbf\xbf",
]
NON_CHARACTERS = [chr(plane << 16 | low).encode() for plane in range(17) for low in (0xFFFE, 0xFFFF)]
SEQUENCES = [
    [b"hello\x24world", b"hello\xc2\xa2world", b"hello\xe2\x82\xacworld", b"hello\xf0\xa4\xad\xa2world", KOSME],
    [KOSME[:length] for length in range(1, len(KOSME) + 1)],
    [b"\x00", b"\xc2\x80", b"\xe0\xa0\x80", b"\xf0\x90\x80\x80"],
    [b"\xf8\x88\x80\x80\x80", b"\xfc\x84\x80\x80\x80\x80"],
    [b"\x7f", b"\xdf\xbf", b"\xef\xbf\xbf", b"\xf4\x8f\xbf\xbf"],
    [b"\xf7\xbf\xbf\xbf", b"\xfb\xbf\xbf\xbf\xbf", b"\xfd\xbf\xbf\xbf\xbf\xbf"],
    [b"\xed\x9f\xbf", b"\xee\x80\x80", b"\xef\xbf\xbd", b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80"],
    [b"\x80", b"\xbf", *[(b"\x80\xbf" * 3)[:length] for length in range(2, 7)], bytes(range(0x80, 0xBF))],
    [b"".join(bytes([byte, 0x20]) for byte in range(*span)) for span in ((0xC0, 0xDF), (0xE0, 0xEF), (0xF0, 0xF7), (0xF8, 0xFB), (0xFC, 0xFD))],
    INCOMPLETE,
    [b"".join(INCOMPLETE)],
    [b"\xfe", b"\xff", b"\xfe\xfe\xff\xff"],
    [b"\xc0\xaf", b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf", b"\xf8\x80\x80\x80\xaf", b"\xfc\x80\x80\x80\x80\xaf"],
    [b"\xc1\xbf", b"\xe0\x9f\xbf", b"\xf0\x8f\xbf\xbf", b"\xf8\x87\xbf\xbf\xbf", b"\xfc\x83\xbf\xbf\xbf\xbf"],
    [b"\xc0\x80", b"\xe0\x80\x80", b"\xf0\x80\x80\x80", b"\xf8\x80\x80\x80\x80", b"\xfc\x80\x80\x80\x80\x80"],
    [b"\xed\xa0\x80", b"\xed\xad\xbf", b"\xed\xae\x80", b"\xed\xaf\xbf", b"\xed\xb0\x80", b"\xed\xbe\x80", b"\xed\xbf\xbf"],
    [high + low for high in (b"\xed\xa0\x80", b"\xed\xad\xbf", b"\xed\xae\x80", b"\xed\xaf\xbf") for low in (b"\xed\xb0\x80", b"\xed\xbf\xbf")],
    NON_CHARACTERS,
    [chr(code).encode() for code in range(0xFFF9, 0x10000)],
]


def utf8():
    def case(name, sent, payload):
        try:
            payload.decode()
            return Case(name, [*sent], [(TEXT, payload)])
        except UnicodeDecodeError:
            return Case(name, [*sent], close=1007)

    yield Case("6.1.1", [frame(TEXT)], [(TEXT, b"")])
    yield Case("6.1.2", fragments(TEXT, [b"", b"", b""]), [(TEXT, b"")])
    middle = b"middle frame payload"
    yield Case("6.1.3", fragments(TEXT, [b"", middle, b""]), [(TEXT, middle)])
    umlauts = "Hello-µ@ßöäüàá-UTF-8!!".encode()
    yield case("6.2.1", [frame(TEXT, umlauts)], umlauts)
    yield case("6.2.2", fragments(TEXT, [umlauts[:12], umlauts[12:]]), umlauts)
    yield case("6.2.3", fragments(TEXT, cut(umlauts, 1)), umlauts)
    yield case("6.2.4", fragments(TEXT, cut(KOSME, 1)), KOSME)
    surrogate = KOSME + b"\xed\xa0\x80" + b"edited"
    yield case("6.3.1", [frame(TEXT, surrogate)], surrogate)
    yield case("6.3.2", fragments(TEXT, cut(surrogate, 1)), surrogate)
    # Fail-fast: the rest of the message is never sent.
    beyond = [KOSME, b"\xf4\x90\x80\x80", b"edited"]
    yield Case("6.4.1", fragments(TEXT, beyond)[:2], close=1007)
    yield Case("6.4.2", fragments(TEXT, [KOSME + b"\xf4", b"\x90", b"\x80\x80edited"])[:2], close=1007)
    whole = frame(TEXT, b"".join(beyond))
    yield Case("6.4.3", [whole[: -len(b"edited")]], close=1007)
    yield Case("6.4.4", [whole[: -len(b"\x90\x80\x80edited")], whole[-len(b"\x90\x80\x80edited") : -len(b"\x80\x80edited")]], close=1007)
    for group, sequences in enumerate(SEQUENCES, 5):
        for number, payload in enumerate(sequences, 1):
            yield case(f"6.{group}.{number}", [frame(TEXT, payload)], payload)


def closing():
    hello = b"Hello World!"
    normal = close_frame(1000)
    big = b"BAsd7&jh23" * (256 * KIB // 10)

    def closed(name, steps, expected=(), close=1000):
        return Case(name, steps, expected, close, closes=False)

    yield Case("7.1.1", [frame(TEXT, hello)], [(TEXT, hello)])
    yield closed("7.1.2", [normal + normal])
    yield closed("7.1.3", [normal + frame(PING)])
    yield closed("7.1.4", [normal + frame(TEXT, hello)])
    yield closed("7.1.5", [frame(TEXT, b"fragment1", fin=False) + normal + frame(CONTINUATION, b"fragment2")])
    yield closed("7.1.6", [frame(TEXT, big) + normal + frame(PING)], [(TEXT, big)])
    yield closed("7.3.1", [frame(CLOSE)])
    yield closed("7.3.2", [frame(CLOSE, b"a")], close=1002)
    yield closed("7.3.3", [normal])
    yield closed("7.3.4", [close_frame(1000, hello)])
    yield closed("7.3.5", [close_frame(1000, b"*" * 123)])
    yield closed("7.3.6", [close_frame(1000, b"*" * 124)], close=1002)
    yield closed("7.5.1", [close_frame(1000, KOSME + b"\xed\xa0\x80edited")], close=1007)
    valid = (1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999)
    for number, code in enumerate(valid, 1):
        yield closed(f"7.7.{number}", [close_frame(code)], close=code)
    for number, code in enumerate((0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999), 1):
        yield closed(f"7.9.{number}", [close_frame(code)], close=1002)
    for number, code in enumerate((5000, 65_535), 1):
        yield closed(f"7.13.{number}", [close_frame(code)], close=1002)


def large(is_fast):
    def filled(length):
        return (b"BAsd7&jh23" * (length // 10 + 1))[:length]

    for opcode, one, parts, chops, many in ((TEXT, 1, 3, 5, 7), (BINARY, 2, 4, 6, 8)):
        for number, length in enumerate((64 * KIB, 256 * KIB, MIB, 4 * MIB, 8 * MIB, 16 * MIB), 1):
            if not is_fast or length < MIB:
                payload = filled(length)
                yield Case(f"9.{one}.{number}", [frame(opcode, payload)], [(opcode, payload)])
        if not is_fast:
            payload = filled(4 * MIB)
            for number in range(9):
                sent = b"".join(fragments(opcode, cut(payload, 64 << 2 * number)))
                yield Case(f"9.{parts}.{number + 1}", [sent], [(opcode, payload)])
            payload = filled(MIB)
            for number in range(6):
                yield Case(f"9.{chops}.{number + 1}", cut(frame(opcode, payload), 64 << number), [(opcode, payload)])
        for number, length in enumerate((0, 16, 64, 256, KIB, 4 * KIB), 1):
            payload = filled(length)
            trip = [frame(opcode, payload), Expect((opcode, payload))]
            yield Case(f"9.{many}.{number}", trip * (100 if is_fast else 1000))


def automatic_fragments():
    payload = b"*" * 65_536
    yield Case("10.1.1", fragments(TEXT, cut(payload, 1300)), [(TEXT, payload)])


def all_cases(is_fast):
    for cases in (framing, pings, reserved_bits, opcodes, fragmentation, utf8, closing):
        yield from cases()
    yield from large(is_fast)
    yield from automatic_fragments()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", help="an echo server, as in ws://127.0.0.1:7700/echo")
    parser.add_argument("--fast", action="store_true", help="without messages of a MiB and more")
    parser.add_argument("--case", help="this case alone, as in 7.9.1")
    arguments = parser.parse_args()
    began = time.monotonic()
    cases = [case for case in all_cases(arguments.fast) if arguments.case in (None, case.name)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda case: (case, run(arguments.url, case)), cases))
    passed, failed = Counter(), Counter()
    for case, problem in results:
        (failed if problem else passed)[case.section] += 1
        if problem:
            print(f"FAILED: {case.name}: {problem}")
    for section in sorted(passed | failed):
        print(f"section {section}: {passed[section]} passed, {failed[section]} failed")
    print(f"sections 12 and 13 (compression) are not offered; {time.monotonic() - began:.1f} s")
    print(f"{passed.total()} passed, {failed.total()} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
