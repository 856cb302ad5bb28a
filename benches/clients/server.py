"""A plain WebSocket server that replays frames to one client at a time, as fast as the client takes them.

It is no hub, and neither Centrifugo nor Ably: it knows just enough of each protocol, as its owner documents it, for a client to
connect and to subscribe. After the last subscription it sends a first document and all changes of each channel, the channels in turn:

/stream/v1    frames of a hub, as recorded, but for the names of the channels
/centrifuge   the JSON protocol of Centrifugo: the changes as `push` of a publication, one or several in a message
/             the JSON protocol of Ably: the changes as MESSAGE, with one message each
"""

import base64
import hashlib
import json
import socket
import threading

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

# Actions of Ably's protocol.
CONNECTED, ATTACH, ATTACHED, MESSAGE = 4, 10, 11, 15


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def message(payload, opcode=1):
    """A WebSocket frame of a server."""
    if len(payload) < 126:
        head = bytes([len(payload)])
    elif len(payload) < 1 << 16:
        head = b"\x7e" + len(payload).to_bytes(2, "big")
    else:
        head = b"\x7f" + len(payload).to_bytes(8, "big")
    return bytes([0x80 | opcode]) + head + payload


class Recording:
    """An image and its updates, as a hub has sent them: `frames`, of one channel."""

    def __init__(self, frames, channels):
        self.image, *self.updates = frames
        assert self.image["type"] == "image" and all(frame["type"] == "update" for frame in self.updates)
        self.channels = channels

    def payloads(self, render):
        """A payload for each channel and frame, the channels in turn."""
        for number, frame in enumerate([self.image, *self.updates]):
            for ch in self.channels:
                yield render(ch, number, frame)


def of_hub(ch, _, frame):
    # In the order of the hub's fields.
    return compact({"type": frame["type"], "ch": ch, **{name: it for name, it in frame.items() if name not in ("type", "ch")}})


def application_data(frame):
    """What a program would publish to get as much: the image, or the patch with its events."""
    if frame["type"] == "image":
        return frame["data"]
    return {"patch": frame.get("patch", {})} | ({"events": frame["events"]} if "events" in frame else {})


def of_centrifugo(ch, number, frame):
    return compact({"push": {"channel": ch, "pub": {"data": application_data(frame), "offset": number + 1}}})


def of_ably(ch, number, frame):
    data = {"name": frame["type"], "data": compact(application_data(frame)).decode(), "encoding": "json"}
    serial = f"bench@0-{number}"
    return compact({
        "action": MESSAGE, "id": f"bench:{number}", "channel": ch, "channelSerial": serial, "connectionId": "bench", "timestamp": 1788280000000 + number,
        "messages": [data],
    })


class Server:
    """Listens on a free port of loopback; `url` has it. `together`: publications in a message of Centrifugo."""

    def __init__(self, recording):
        self.recording, self.together = recording, 1
        self.rendered = {}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"ws://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            stream, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(stream,), daemon=True).start()

    def stream_of(self, protocol):
        """All messages of a protocol, made once."""
        known = (protocol, self.together)
        if known not in self.rendered:
            render = {"hub": of_hub, "centrifugo": of_centrifugo, "ably": of_ably}[protocol]
            payloads = list(self.recording.payloads(render))
            if protocol == "centrifugo":
                # The messages of this protocol are lines, and a server that has several sends them together.
                payloads = [b"\n".join(payloads[at : at + self.together]) for at in range(0, len(payloads), self.together)]
            self.rendered[known] = b"".join(map(message, payloads))
        return self.rendered[known]

    def serve(self, stream):
        with stream, stream.makefile("rb") as read:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                self.converse(stream, read)
            except (ConnectionError, EOFError):
                # A client that has enough just goes.
                pass

    def converse(self, stream, read):
        path = self.upgrade(stream, read)
        protocol = {"/stream/v1": "hub", "/centrifuge": "centrifugo"}.get(path, "ably")
        say = lambda value: stream.sendall(message(compact(value)))
        if protocol == "hub":
            say({"type": "hello", "conn": "0-1", "server": "replay", "now": 1788280000000000, "beat_ms": 60000, "features": []})
        if protocol == "ably":
            details = {"connectionKey": "bench", "clientId": "bench", "maxIdleInterval": 0, "connectionStateTtl": 120000, "maxMessageSize": 65536}
            say({"action": CONNECTED, "connectionId": "bench", "connectionDetails": details})
        wanted = set(self.recording.channels)
        while True:
            opcode, payload = receive(read)
            if opcode == 9:
                stream.sendall(message(payload, 10))
            if opcode == 8:
                raise EOFError
            if opcode != 1:
                continue
            # Centrifugo's clients send several commands as lines.
            for line in payload.splitlines():
                answer, ch = self.answer(protocol, json.loads(line))
                if answer:
                    say(answer)
                if ch in wanted:
                    wanted.remove(ch)
                    if not wanted:
                        stream.sendall(self.stream_of(protocol))

    def answer(self, protocol, command):
        """The answer to a command, and the channel if it subscribes to one."""
        number, ch = command.get("id"), None
        if protocol == "hub":
            if command["op"] == "subscribe":
                ch = command["ch"]
                return {"type": "subscribed", "id": number, "ch": ch, "every_ms": 0, "on_slow": "merge", "resumed": False}, ch
            return {"type": "pong", "id": number, "now": 1788280000000000}, None
        if protocol == "centrifugo":
            if "connect" in command:
                return {"id": number, "connect": {"client": "bench", "version": "replay", "ping": 60, "pong": True}}, None
            if "subscribe" in command:
                return {"id": number, "subscribe": {}}, command["subscribe"]["channel"]
            return None, None
        if command["action"] == ATTACH:
            ch = command["channel"]
            return {"action": ATTACHED, "channel": ch, "channelSerial": "bench@0-0", "flags": 0}, ch
        return None, None

    @staticmethod
    def upgrade(stream, read):
        """Answers the handshake, and returns the path. No extension is accepted."""
        request = read.readline().split()
        if not request:
            raise EOFError
        headers = {}
        while (line := read.readline().strip()):
            name, _, value = line.partition(b":")
            headers[name.lower()] = value.strip()
        accept = base64.b64encode(hashlib.sha1(headers[b"sec-websocket-key"] + GUID).digest())
        protocols = headers.get(b"sec-websocket-protocol")
        chosen = b"Sec-WebSocket-Protocol: %s\r\n" % protocols.split(b",")[0] if protocols else b""
        stream.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: %s\r\n%s\r\n" % (accept, chosen)
        )
        return request[1].decode().partition("?")[0]


def receive(read):
    """The opcode and payload of a client's message, which has one frame."""
    first, second = exactly(read, 2)
    size = second & 127
    if size >= 126:
        size = int.from_bytes(exactly(read, 2 if size == 126 else 8), "big")
    mask = exactly(read, 4)
    payload = exactly(read, size)
    return first & 15, bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


def exactly(read, size):
    data = read.read(size)
    if len(data) < size:
        raise EOFError
    return data
