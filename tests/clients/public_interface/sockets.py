"""A client of the two sockets, `/live/football/` and `/ws/live/`: SERVICE 5."""

import json
import threading
import time

import websockets
from websockets.sync.client import connect

# How long to wait for the hub to end the connection once both have closed it.
CLOSE_S = 0.5
# Generous: a busy machine is no failure, and something that never comes is.
WAIT_S = 30
FOOTBALL = "/live/football/"
EVERY_SPORT = "/ws/live/"


class Socket:
    """One connection. `style` is how the key is sent: `query`, or `subprotocol` as browsers do."""

    def __init__(self, base_url, path, key=None, style="query", close_timeout=CLOSE_S):
        url = base_url.replace("http", "ws", 1).rstrip("/") + path
        options = {}
        if key is not None and style == "query":
            url += f"?token={key}"
        elif key is not None:
            options["subprotocols"] = ["token", key]
        # All frames are queued until they are read, so the hub does not have to queue them.
        self.connection = connect(url, proxy=None, max_queue=None, open_timeout=WAIT_S, close_timeout=close_timeout, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def send(self, action=None, **fields):
        self.connection.send(json.dumps({"action": action, **fields}))

    def say(self, text):
        """A message as it is, good or not."""
        self.connection.send(text)

    def frame(self, timeout=WAIT_S):
        """The next frame: a JSON object with a `type`, in a text message."""
        message = self.connection.recv(timeout=timeout)
        assert isinstance(message, str), "a binary message"
        frame = json.loads(message)
        assert isinstance(frame, dict) and isinstance(frame.get("type"), str), message
        return frame

    def until(self, kind, event_id=None):
        """The next frame of a type, about a match if one is named; others are passed over."""
        ends = time.monotonic() + WAIT_S
        while (left := ends - time.monotonic()) > 0:
            frame = self.frame(left)
            if frame["type"] == kind and event_id in (None, frame.get("event_id")):
                return frame
        raise TimeoutError(f"no {kind} frame within {WAIT_S} s")

    def subscribe(self, event_id, **fields):
        """Subscribes, and the answer: `subscribed`, or an error about this match."""
        self.send("subscribe", event_id=event_id, **fields)
        while True:
            frame = self.frame()
            if frame["type"] in ("subscribed", "error") and frame.get("event_id", event_id) == int(event_id):
                return frame

    def closed(self):
        """The frames before the hub closed, and the code it closed with."""
        frames = []
        try:
            while True:
                frames.append(self.frame())
        except websockets.ConnectionClosed as closed:
            return frames, closed.rcvd.code if closed.rcvd else None


class Observer:
    """Follows matches on its own socket, and stores every frame with its time of arrival."""

    def __init__(self, base_url, path, key, subscriptions):
        self.socket = Socket(base_url, path, key)
        self.subscriptions = subscriptions
        self.frames = []
        self.ended = None
        self.began = time.monotonic()
        for subscription in subscriptions:
            self.socket.send("subscribe", **subscription)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        try:
            while True:
                frame = self.socket.frame(timeout=None)
                self.frames.append((time.monotonic() - self.began, frame))
        except websockets.ConnectionClosed as closed:
            self.ended = closed.rcvd.code if closed.rcvd else None

    def seconds(self):
        return time.monotonic() - self.began

    def stop(self):
        """All that came. A hub that ended the connection itself is recognised by `ended`."""
        ended, seconds = self.ended, self.seconds()
        self.socket.connection.close()
        self.thread.join(WAIT_S)
        self.ended = ended
        return list(self.frames), seconds
