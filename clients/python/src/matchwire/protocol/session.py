"""The protocol as a state machine: frames and the time in; commands, changes and a deadline out.

It has no socket, no clock and no thread. The program that drives it

1. performs `outputs()` after each call, in order: `Connect`, `Disconnect`, `Send`, `Changed`, `Replied`,
   `StateChanged`, `ReplayOutput`;
2. calls `receive` for each message, `closed` when the connection has ended or could not be opened, and `tick` when
   `deadline()` has passed.

Times are seconds of one local clock, which should not stand still while the machine sleeps.
"""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from ..events import parse_event
from .change import Change, Health, Merged, Missed, RefusalInfo
from .channel import Channel, at_of, integer
from .commands import CommandWriter, encode
from .outputs import (
    DEFAULT_BEAT_S,
    FINAL_CODES,
    Changed,
    Connect,
    Counters,
    Disconnect,
    Hello,
    Output,
    Replied,
    Send,
    State,
    StateChanged,
)
from .patch import merge_patch
from .proof import Proof, digest, pruned
from .replay import Replay
from .subscription import EVERYTHING, Options, Part, Subscription
from .timing import Backoff, HubClock

__all__ = ["Session"]

logger = logging.getLogger("matchwire")

# From opening the socket to `hello`.
CONNECT_TIMEOUT_S = 15.0
# A shorter interval of beats would be no measure of silence.
BEAT_MIN_S = 0.1
# Measures the offset of the clocks again: they drift by milliseconds a minute.
PING_EVERY_S = 30.0
# The longest wait before a refused channel is asked for again.
RETRY_MAX_S = 60.0
# More than it takes from the shortest beat to that wait; without a limit the number would grow for ever.
RETRY_DOUBLINGS = 10


class Session:
    """The client's half of the stream protocol. See the module."""

    def __init__(self, *, rand: Callable[[], float] = random.random) -> None:
        self._backoff = Backoff(rand)
        self._clock = HubClock()
        self._outputs: list[Output] = []
        self._state = State()
        self._started = False
        self._opened_at: float | None = None
        self._last_frame_at = 0.0
        self._last_ping_at = 0.0
        self._bye: Mapping[str, Any] | None = None
        self._refusal: str | None = None
        self._review_at: float | None = None
        self._next_id = 1
        self._subscriptions: dict[str, Subscription] = {}
        self._patterns: list[Subscription] = []
        self._channels: dict[str, Channel] = {}
        self._pings: dict[int, float] = {}
        # Subscriptions that a command under way asks for, and which part, by its id.
        self._asked: dict[int, list[tuple[Subscription, Part]]] = {}
        # Names that a command under way resumes for a pattern, by its id.
        self._resuming: dict[int, list[str]] = {}
        # Commands whose answer the program waits for, and the channel of those that ask for a hash.
        self._expected: dict[int, str | None] = {}
        # When refused subscriptions are asked for again.
        self._retries: dict[Subscription, float] = {}
        self._replays: list[Replay] = []
        self._replay_commands: dict[int, Replay] = {}
        self._hub_stale = False
        self.hello = Hello()
        self.counters = Counters()
        self.lag: Mapping[str, Any] | None = None
        """The newest `lag` frame; None while this connection has no delay."""
        self.limited: RefusalInfo | None = None
        """Set while channels of a pattern are left out, because there are too many for one socket."""

    # ------------------------------------------------------------------------------------ outputs

    def outputs(self) -> list[Output]:
        """Returns what has to be performed, in order, and forgets it."""
        found, self._outputs = self._outputs, []
        return found

    def deadline(self) -> float | None:
        """The local moment by which `tick` has to be called; None if there is none."""
        return self._review_at

    @property
    def state(self) -> State:
        return self._state

    @property
    def is_open(self) -> bool:
        return self._state.phase == "open"

    @property
    def channels(self) -> Mapping[str, Channel]:
        return self._channels

    @property
    def subscriptions(self) -> Mapping[str, Subscription]:
        return self._subscriptions

    def health(self, channel: Channel, now: float) -> Health:
        """The health of a channel at the local moment `now`."""
        return channel.judge(now, is_open=self.is_open, hub_is_stale=self._hub_stale)

    def server_now(self, now: float) -> int:
        """The hub's clock at the local moment `now`, in microseconds since 1970; 0 before the first `hello`."""
        return self._clock.at(now)

    def round_trip(self) -> float | None:
        """The shortest recent round trip in seconds; None before the first pong."""
        return self._clock.round_trip()

    # -------------------------------------------------------------------------------------- inputs

    def start(self, now: float) -> None:
        """Begins to connect."""
        self._started = True
        self._connect(now)

    def stop(self, now: float) -> None:
        """Closes for good."""
        if self._state.phase in ("connecting", "open"):
            self._outputs.append(Disconnect(1000))
        self._enter(State("closed", why="closed by the program"), now)

    def wake(self, now: float) -> None:
        """Tries at once instead of at the end of the wait, because the network is back. Not if the hub named the time: its
        delays are spread so that clients do not return together."""
        if self._state.phase == "waiting" and not self._state.is_fixed:
            self._connect(now)

    def closed(self, code: int | None, now: float, *, why: str | None = None, message: str | None = None) -> None:
        """The connection has ended, or could not be opened."""
        if self._state.phase in ("connecting", "open"):
            self._lost(now, code=code, why=why, message=message)

    def touch(self, now: float) -> None:
        """Bytes arrived that are not a whole message yet, so that a long message is not taken for silence."""
        self._last_frame_at = now

    def tick(self, now: float) -> None:
        """Handles what depends on time: the end of a wait, a silent socket, a stale document."""
        phase = self._state.phase
        if self._review_at is None or now < self._review_at:
            return
        self._review_at = None
        if phase == "waiting":
            if now >= (self._state.retry_at or 0):
                return self._connect(now)
            self._review_by(self._state.retry_at or now)
        elif phase == "connecting":
            if now - self._last_frame_at >= CONNECT_TIMEOUT_S:
                return self._lost(now, message="no answer", disconnect=True)
            self._review_by(self._last_frame_at + CONNECT_TIMEOUT_S)
        elif phase == "open":
            # A half-open connection never closes by itself: ask after two beats, give up after three.
            beat = self.hello.beat_s
            silent = now - self._last_frame_at
            if silent >= 3 * beat:
                return self._lost(now, message="the connection fell silent", disconnect=True)
            if (silent >= 2 * beat and not self._pings) or now - self._last_ping_at >= PING_EVERY_S:
                self._ping(now)
            self._review_by(now + beat)
        self._retry_refused(now)
        for channel in list(self._channels.values()):
            self._judge(channel, now)
            if channel.health == "live":
                self._review_by(channel.heard + channel.stale_after)
        return None

    def receive(self, text: str | bytes, now: float) -> None:
        """A message of the hub."""
        if self._state.phase not in ("connecting", "open"):
            return
        try:
            frame = json.loads(text)
        except (ValueError, RecursionError):
            frame = None
        if not isinstance(frame, dict):
            # The peer does not follow the protocol, so its later frames cannot be trusted either.
            return self._lost(now, message="a frame was not a JSON object", disconnect=True)
        self._last_frame_at = now
        self.counters.frames += 1
        self.counters.bytes += len(text)
        try:
            if "replay" in frame or frame.get("id") in self._replay_commands:
                self._replayed(frame)
            elif handle := _HANDLERS.get(frame.get("type", "")):
                handle(self, frame, now)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            return self._lost(now, message=f"a frame was malformed: {error!r}", disconnect=True)
        # Frames of other types are from a newer hub. A client that does not know them loses nothing.
        return None

    # --------------------------------------------------------------------------------- subscriptions

    def subscribe(self, ch: str, options: Options, now: float) -> Subscription:
        """Follows a channel or a pattern. Those who subscribe to the same one share a subscription, at the rate of the first, until
        `set_rate`. If they want different parts of the documents, or other events, all of them get everything."""
        subscription = self._subscriptions.get(ch)
        if subscription is None:
            subscription = Subscription(ch, options)
            self._subscriptions[ch] = subscription
            if subscription.is_pattern:
                self._patterns.append(subscription)
            else:
                self._open(ch, now)
            for channel in self._channels.values():
                if subscription not in channel.subscriptions and subscription.covers(channel.name):
                    channel.subscriptions.append(subscription)
            if self.is_open:
                self._ask([subscription], now)
        else:
            before, subscription.options = subscription.options, subscription.options.widened(options)
            refused = [it for it in self.covered(subscription) if it.error is not None and not subscription.is_pattern]
            for channel in refused:
                # It may exist by now. What was known of it is not what it has then.
                subscription.error = channel.error = None
                channel.synced = False
            if self.is_open and (refused or subscription.options != before):
                self._ask([subscription], now)
            for channel in refused:
                self._judge(channel, now)
        subscription.users += 1
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Ends one use of a subscription, and with the last one the subscription."""
        subscription.users -= 1
        if subscription.users > 0 or self._subscriptions.get(subscription.ch) is not subscription:
            return
        del self._subscriptions[subscription.ch]
        if subscription.is_pattern:
            self._patterns.remove(subscription)
        for channel in self.covered(subscription):
            channel.subscriptions.remove(subscription)
            if not channel.subscriptions:
                del self._channels[channel.name]
        if self.is_open:
            self._hand_over(subscription)
            self._send({"op": "unsubscribe", "id": self._id(), "ch": subscription.ch})

    def _hand_over(self, subscription: Subscription) -> None:
        """Gives a channel that was followed by name the options of the pattern that still covers it: the hub would leave it those
        of the name."""
        channel = self._channels.get(subscription.ch)
        pattern = next((it for it in channel.subscriptions if it.error is None), None) if channel else None
        if pattern is None or subscription.error is not None:
            return
        if changes := pattern.options.changes(replace(subscription.options, every_ms=subscription.requested_ms)):
            self._send({"op": "set", "id": self._id(), "ch": subscription.ch, **changes})

    def set_rate(self, subscription: Subscription, every_ms: int) -> None:
        """Changes the rate of a subscription, without an image and without a gap."""
        if subscription.options.every_ms == every_ms:
            return
        subscription.options = replace(subscription.options, every_ms=every_ms)
        # While it is being requested, `set` might be refused: the answer makes up for it.
        if self.is_open and subscription.pending is None and subscription.error is None:
            subscription.requested_ms = every_ms
            self._send({"op": "set", "id": self._id(), "ch": subscription.ch, "every_ms": every_ms})

    def covered(self, subscription: Subscription) -> list[Channel]:
        """The channels of a subscription that are known now."""
        if not subscription.is_pattern:
            channel = self._channels.get(subscription.ch)
            return [channel] if channel is not None and subscription in channel.subscriptions else []
        return [it for it in self._channels.values() if subscription in it.subscriptions]

    def request_hash(self, name: str) -> int:
        """Asks the hub for the hash of a document. `Replied` brings the comparison."""
        id = self._id()
        if self.is_open:
            self._expected[id] = name
            self._send({"op": "hash", "id": id, "ch": name})
        else:
            self._outputs.append(Replied(id, None))
        return id

    def request_ping(self, now: float) -> int:
        """Asks the hub for its clock. `Replied` follows."""
        if not self.is_open:
            id = self._id()
            self._outputs.append(Replied(id, None))
            return id
        id = self._ping(now)
        self._expected[id] = None
        return id

    def replay(self, chs: Iterable[str], *, start: Any = "start", speed: float | Literal["max"] = 1, now: float) -> Replay:
        """Plays recorded channels. What comes of it are `ReplayOutput`s."""
        replay = Replay(list(chs), start, speed)
        self._replays.append(replay)
        if self.is_open:
            self._begin_replay(replay)
        return replay

    def change_replay(self, replay: Replay, now: float, **change: Any) -> None:
        """Sends `pause`, `speed` or `seek`. With `seek`, a replay that has ended plays again."""
        if replay.phase == "ended" and "seek" in change:
            replay.rewind(change.pop("seek"))
            self._replays.append(replay)
            replay.change(change)
            if self.is_open:
                self._begin_replay(replay)
            return
        self._send_replay(replay, replay.change(change))

    def hold_replay(self, replay: Replay, held: bool) -> None:
        """Pauses the hub while the program does not keep up, and lets it go on."""
        self._send_replay(replay, replay.hold(held))

    def stop_replay(self, replay: Replay) -> None:
        if replay in self._replays:
            self._replays.remove(replay)
        self._send_replay(replay, replay.stop())

    # ------------------------------------------------------------------------------------ connection

    def _connect(self, now: float) -> None:
        self._opened_at = None
        self._bye = None
        self._refusal = None
        self._last_frame_at = now
        self._enter(replace(self._state, phase="connecting", retry_at=None, is_fixed=False), now)
        self._outputs.append(Connect())
        self._review_by(now + CONNECT_TIMEOUT_S)

    def _lost(
        self, now: float, *, code: int | None = None, why: str | None = None, message: str | None = None, disconnect: bool = False
    ) -> None:
        if self._opened_at is not None:
            self._backoff.ended(now - self._opened_at)
        if disconnect:
            self._outputs.append(Disconnect(1000))
        self._pings.clear()
        self.lag = None
        said = self._refusal or message
        bye = self._bye or {}
        why = bye.get("why") or why
        if code is not None and code in FINAL_CODES:
            self._enter(State("closed", self._backoff.attempt, code, why, said or FINAL_CODES[code]), now)
            return
        # Counted even if the hub named the time, so that a refusal after it waits longer.
        wait = self._backoff.next()
        fixed = bye.get("reconnect_after_ms")
        is_fixed = isinstance(fixed, (int, float)) and not isinstance(fixed, bool)
        if is_fixed:
            wait = max(0.0, float(fixed or 0) / 1000)
        self._enter(State("waiting", self._backoff.attempt, code, why, said, now + wait, is_fixed), now)

    def _enter(self, state: State, now: float) -> None:
        was_open, self._state = self.is_open, state
        if was_open and state.phase != "open":
            for channel in self._channels.values():
                channel.synced = False
                channel.image_due = None
                channel.owed = None
            for subscription in self._subscriptions.values():
                subscription.pending = None
            self._asked.clear()
            self._resuming.clear()
            self._retries.clear()
            self._hub_stale = False
            for replay in self._replays:
                replay.lost()
            self._replay_commands.clear()
            self._outputs += [Replied(id, None) for id in self._expected]
            self._expected.clear()
        self._review_at = state.retry_at
        self._outputs.append(StateChanged(state))
        for channel in list(self._channels.values()):
            self._judge(channel, now)

    def _send(self, command: Mapping[str, Any]) -> None:
        self._outputs.append(Send(encode(command)))

    def _id(self) -> int:
        id, self._next_id = self._next_id, self._next_id + 1
        return id

    def _review_by(self, at: float) -> None:
        """One deadline for everything. Frames only move it later, so it may come early, never late."""
        if self._review_at is None or at < self._review_at:
            self._review_at = at

    # ---------------------------------------------------------------------------------------- frames

    def _on_hello(self, frame: Mapping[str, Any], now: float) -> None:
        if self._state.phase != "connecting":
            return
        limits = frame.get("limits") or {}
        self.hello = Hello(
            str(frame.get("conn", "")), str(frame.get("server", "")),
            max(BEAT_MIN_S, frame.get("beat_ms", DEFAULT_BEAT_S * 1000) / 1000), limits, frozenset(frame.get("features") or ()),
        )  # fmt: skip
        self.counters.connections += 1
        self.limited = None
        self._opened_at = now
        self._clock.start(frame["now"], now)
        self._enter(State("open", self._backoff.attempt), now)
        self._ask(list(self._subscriptions.values()), now)
        for replay in self._replays:
            if replay.phase == "lost":
                self._begin_replay(replay)
        self._ping(now)
        self._review_by(now + self.hello.beat_s)

    def _on_subscribed(self, frame: Mapping[str, Any], now: float) -> None:
        asked, resumed = self._answered(frame)
        answers: Mapping[str, Any] | None = frame.get("chs")
        for subscription in asked:
            answer: Mapping[str, Any] = frame if answers is None else answers.get(subscription.ch) or {"error": "not_tracked"}
            if "error" in answer:
                self._refuse(subscription, _refusal(answer), now)
                continue
            subscription.error = None
            subscription.refusals = 0
            if subscription.is_pattern:
                subscription.left_out = answer.get("left_out", 0)
                subscription.not_entitled = answer.get("not_entitled", 0)
            elif channel := self._channels.get(subscription.ch):
                self._position(channel, answer, now)
            # The rate was changed while the command was under way.
            every_ms = subscription.options.every_ms
            if every_ms != subscription.requested_ms:
                subscription.requested_ms = every_ms
                self._send({"op": "set", "id": self._id(), "ch": subscription.ch, "every_ms": every_ms})
        for name in resumed:
            answer = frame if answers is None else answers.get(name) or {"error": "not_tracked"}
            if (channel := self._channels.get(name)) is None:
                continue
            if "error" in answer:
                # It ended while we were away.
                self._gone(channel, _refusal(answer), now)
            else:
                self._position(channel, answer, now)
        self._reply(frame)

    def _position(self, channel: Channel, answer: Mapping[str, Any], now: float) -> None:
        channel.error = None
        if answer.get("resumed"):
            channel.synced = True
            channel.heard = now
            self._review_by(now + channel.stale_after)
        else:
            channel.image_due = answer.get("why") or "subscribed"
            channel.synced = False
        self._judge(channel, now)

    def _on_image(self, frame: Mapping[str, Any], now: float) -> None:
        channel = self._open(frame["ch"], now)
        if channel is None:
            return
        self.counters.images += 1
        epoch, seq, data = frame["epoch"], integer(frame, "seq"), frame["data"]
        if not isinstance(data, dict):
            raise TypeError("the document is no object")
        continues = channel.epoch == epoch and channel.image_due != "ahead"
        previous, missed = channel.data, None
        if previous is not None and not (continues and seq <= channel.seq):
            missed = Missed(channel.seq, seq, channel.image_due or ("image" if continues else "epoch"))
            self.counters.missed += 1
        channel.data = data
        channel.part = channel.sent_part
        channel.epoch = epoch
        channel.seq = seq
        channel.at = at_of(frame.get("at"))
        # An image may be older than what we had, and be overtaken again by updates that we already know: their values
        # are due, their events are not.
        channel.delivered = max(channel.delivered, seq) if continues else seq
        self._current(channel, now)
        self._changed(channel, "image", previous, now, missed=missed)

    def _on_update(self, frame: Mapping[str, Any], now: float) -> None:
        channel = self._channels.get(frame["ch"])
        # Updates that were on their way when an image was announced belong to a document that we give up.
        if channel is None or channel.data is None or channel.image_due:
            return
        seq = integer(frame, "seq")
        if seq <= channel.seq:
            self.counters.skipped += 1
            return
        if integer(frame, "prev") > channel.seq:
            self._missing(channel, now)
            return
        previous, patch = channel.data, frame.get("patch")
        if patch is not None and not isinstance(patch, dict):
            raise TypeError("the patch is no object")
        raw = frame.get("events") if seq > channel.delivered else None
        events = [parse_event(it) for it in raw] if raw else []
        if patch is not None:
            channel.data = merge_patch(previous, patch)
        channel.delivered = max(channel.delivered, seq)
        channel.seq = seq
        channel.at = at_of(frame.get("at"))
        n = frame.get("n", 1)
        merged = Merged(n, frame.get("why", "")) if n > 1 else None
        counters = self.counters
        counters.updates += 1
        counters.events += len(events)
        counters.merged += merged is not None
        self._current(channel, now)
        self._changed(channel, "update", previous, now, events=events, merged=merged, frame_patch=patch or {})

    def _on_resync(self, frame: Mapping[str, Any], now: float) -> None:
        channel = self._channels.get(frame["ch"])
        if channel is None:
            return
        self.counters.resyncs += 1
        channel.image_due = frame.get("why") or "resync"
        channel.synced = False
        self._judge(channel, now)

    def _current(self, channel: Channel, now: float) -> None:
        """The document is the newest as of now: a frame has just written it."""
        channel.image_due = None
        channel.synced = True
        channel.error = None
        channel.heard = now
        channel.doubts = 0
        if channel.owed and channel.seq >= channel.owed[0]:
            channel.owed = None
        self._heard_hub(now)
        self._review_by(now + channel.stale_after)

    def _on_beat(self, frame: Mapping[str, Any], now: float) -> None:
        self._heard_hub(now)
        for name, head in (frame.get("heads") or {}).items():
            channel = self._open(name, now)
            if channel is None:
                continue
            is_whole = channel.data is not None and not channel.image_due
            if is_whole and channel.part != EVERYTHING:
                # What a pick leaves out has no update: the beat says that nothing of the rest is missing.
                channel.seq = max(channel.seq, head)
            if is_whole and head <= channel.seq:
                channel.heard = now
                channel.synced = True
                channel.owed = None
            else:
                self._compare(channel, head, now)
            self._judge(channel, now)

    def _compare(self, channel: Channel, head: int, now: float) -> None:
        """A beat may overtake values that are queued or held back by our own rate, so being behind once is no loss. Still
        lacking, after a grace, what an earlier beat showed, is."""
        if channel.owed is None:
            rate = max((it.options.every_ms for it in channel.subscriptions), default=0) / 1000
            channel.owed = (head, now + rate + self.hello.beat_s / 2)
        elif now >= channel.owed[1]:
            channel.owed = None
            self._missing(channel, now)

    def _missing(self, channel: Channel, now: float, *, certain: bool = False) -> None:
        """Something is missing. Requests it from the current position; if that has failed, requests the image. With
        `certain`, the document is wrong, and only the image helps."""
        channel.synced = False
        # One answer is enough: with two subscriptions, the exact one provides it.
        subscription = channel.subscription
        # While a request is under way more such updates are expected: they cross it on the wire.
        if subscription.pending is not None and now - subscription.requested_at < 3 * self.hello.beat_s and not certain:
            return
        channel.doubts += 2 if certain else 1
        # Subscribing to a pattern again covers nothing new: unsubscribe before starting elsewhere.
        if subscription.is_pattern:
            self._send({"op": "unsubscribe", "id": self._id(), "ch": subscription.ch})
        self._ask([subscription], now)
        self._judge(channel, now)

    def _on_stale(self, frame: Mapping[str, Any], now: float) -> None:
        """This node of the hub hears nothing itself."""
        self._hub_stale = True
        for channel in list(self._channels.values()):
            self._judge(channel, now)

    def _heard_hub(self, now: float) -> None:
        if self._hub_stale:
            self._hub_stale = False
            for channel in list(self._channels.values()):
                self._judge(channel, now)

    def _on_unsubscribed(self, frame: Mapping[str, Any], now: float) -> None:
        if frame.get("id") is not None:
            self._reply(frame)
        elif channel := self._channels.get(frame["ch"]):
            error = RefusalInfo("not_tracked", "the hub no longer follows it", retry=channel.may_return)
            self._gone(channel, error, now)

    def _gone(self, channel: Channel, error: RefusalInfo, now: float) -> None:
        """The hub has ended a channel. A subscription by name keeps the last document, marked as such, and asks again if it may
        return; a pattern drops it."""
        self._blame(channel, error, now)
        subscription = self._subscriptions.get(channel.name)
        if subscription is None:
            self._channels.pop(channel.name, None)
            return
        subscription.part = None
        if error.retry:
            subscription.error = error
            self._ask_later(subscription, now)

    def _on_entitlement(self, frame: Mapping[str, Any], now: float) -> None:
        """An add-on has begun or ended. The hub itself sends the channels that a pattern covers from now on."""
        for name in frame.get("ended") or ():
            if channel := self._channels.get(name):
                self._gone(channel, RefusalInfo("not_entitled", "an add-on that it needs has ended"), now)

    def _on_error(self, frame: Mapping[str, Any], now: float) -> None:
        asked, resumed = self._answered(frame)
        error = _refusal(frame)
        for subscription in asked:
            self._refuse(subscription, error, now)
        for name in resumed:
            if (channel := self._channels.get(name)) and error.code == "not_tracked":
                self._gone(channel, error, now)
        if asked or resumed or self._reply(frame):
            return
        if error.code == "limit" and frame.get("ch") in self._subscriptions:
            self.limited = error
            self._outputs.append(StateChanged(self._state))
        elif frame.get("id") is None:
            self._refusal = error.message

    def _refuse(self, subscription: Subscription, error: RefusalInfo, now: float) -> None:
        subscription.error = error
        subscription.part = None
        for channel in self.covered(subscription):
            # What another subscription covers goes on, unless it has ended already.
            if len(channel.subscriptions) == 1 or (channel.error is not None and not subscription.is_pattern):
                self._blame(channel, error, now)
        if subscription.is_pattern:
            self._outputs.append(StateChanged(self._state))
        if error.retry:
            self._ask_later(subscription, now)

    def _blame(self, channel: Channel, error: RefusalInfo, now: float) -> None:
        """The channel is refused. That it is so for good is news, even of one that was refused for now."""
        is_news = channel.error is not None and channel.error.retry and not error.retry
        channel.error = error
        if is_news:
            self._changed(channel, "health", channel.data, now)
        else:
            self._judge(channel, now)

    def _ask_later(self, subscription: Subscription, now: float) -> None:
        """Asks again after a beat, then after waits that double: a match that is over never comes back."""
        at = now + min(RETRY_MAX_S, self.hello.beat_s * 2 ** min(subscription.refusals, RETRY_DOUBLINGS))
        subscription.refusals += 1
        self._retries[subscription] = at
        self._review_by(at)

    def _retry_refused(self, now: float) -> None:
        due = [subscription for subscription, at in self._retries.items() if at <= now]
        for subscription in due:
            del self._retries[subscription]
        wanted = [it for it in due if self._subscriptions.get(it.ch) is it and it.pending is None and it.error is not None]
        if wanted and self.is_open:
            self._ask(wanted, now)
        for at in self._retries.values():
            self._review_by(at)

    def _on_pong(self, frame: Mapping[str, Any], now: float) -> None:
        sent = self._pings.pop(frame["id"], None)
        if sent is not None:
            self._clock.sample(frame["now"], sent, now)
        self._reply(frame)

    def _on_lag(self, frame: Mapping[str, Any], now: float) -> None:
        self.lag = frame if frame.get("queued_bytes", 0) > 0 else None
        self._outputs.append(StateChanged(self._state))

    def _on_bye(self, frame: Mapping[str, Any], now: float) -> None:
        self._bye = frame

    def _on_hash(self, frame: Mapping[str, Any], now: float) -> None:
        name = self._expected.pop(frame["id"], None)
        if name is None:
            return
        channel, expected = self._channels.get(name), str(frame["sha256"])
        proof = Proof(name, None, frame.get("epoch"), frame.get("seq"), expected, None)
        if channel and channel.data is not None and (channel.epoch, channel.seq) == (proof.epoch, proof.seq):
            is_picked = channel.part[0] is not None
            actual = digest(pruned(channel.data) if is_picked else channel.data)
            proof = replace(proof, ok=actual == expected, actual=actual)
            if not proof.ok:
                logger.error("%s differs from the hub's document at %s/%s; requesting it", name, proof.epoch, proof.seq)
                self._missing(channel, now, certain=True)
        self._outputs.append(Replied(frame["id"], frame, proof))

    def _reply(self, frame: Mapping[str, Any]) -> bool:
        id = frame.get("id")
        if id not in self._expected:
            return False
        del self._expected[id]
        self._outputs.append(Replied(id, frame))
        return True

    def _ping(self, now: float) -> int:
        id = self._id()
        self._last_ping_at = now
        self._pings[id] = now
        self._send({"op": "ping", "id": id})
        return id

    # ------------------------------------------------------------------------------ asking, channels

    def _answered(self, frame: Mapping[str, Any]) -> tuple[list[Subscription], list[str]]:
        """The subscriptions that a frame answers, now no longer pending, and the names that were resumed for a pattern."""
        id = frame.get("id")
        if not isinstance(id, int):
            return [], []
        asked: list[Subscription] = []
        for subscription, part in self._asked.pop(id, ()):
            subscription.part = part
            if subscription.pending == id:
                subscription.pending = None
                asked.append(subscription)
        return asked, self._resuming.pop(id, [])

    def _ask(self, subscriptions: list[Subscription], now: float) -> None:
        """Sends the commands that subscribe, each from its position."""
        for subscription in subscriptions:
            subscription.requested_at = now
            subscription.requested_ms = subscription.options.every_ms
        writer = CommandWriter(self.hello, self._channels, self._subscriptions, self.covered)
        for request in writer.subscribe(subscriptions):
            id = self._id()
            for subscription in request.asked:
                subscription.pending = id
            if request.asked:
                self._asked[id] = [(it, it.options.part) for it in request.asked]
            if request.resumed:
                self._resuming[id] = request.resumed
            self._send({"op": request.op, "id": id, **request.fields})

    def _open(self, name: str, now: float) -> Channel | None:
        """The channel of this name, created if a subscription covers it; otherwise None: it was given up."""
        channel = self._channels.get(name)
        if channel is None:
            covering = [it for it in (self._subscriptions.get(name),) if it is not None]
            covering += [it for it in self._patterns if it.covers(name)]
            if not covering:
                return None
            channel = Channel(name)
            channel.subscriptions = covering
            self._channels[name] = channel
        return channel

    def _judge(self, channel: Channel, now: float) -> None:
        """Reports a change of health that no frame of the channel caused."""
        if self.health(channel, now) != channel.health:
            self._changed(channel, "health", channel.data, now)

    def _changed(
        self, channel: Channel, kind: Literal["image", "update", "health"], previous: Mapping[str, Any] | None, now: float,
        **more: Any,
    ) -> None:  # fmt: skip
        before, channel.health = channel.health, self.health(channel, now)
        change = Change(
            channel.name, kind, channel.data, previous, channel.health, before, channel.epoch,
            channel.seq if channel.epoch is not None else None, channel.at, error=channel.error, **more,
        )  # fmt: skip
        self._outputs.append(Changed(channel, change, tuple(channel.subscriptions)))

    # --------------------------------------------------------------------------------------- replays

    def _begin_replay(self, replay: Replay) -> None:
        self._send_replay(replay, replay.begin())

    def _send_replay(self, replay: Replay, command: dict[str, Any] | None) -> None:
        if command is None or not self.is_open:
            return
        id = self._id()
        self._replay_commands[id] = replay
        replay.sent(id, command)
        self._send({**command, "id": id})

    def _replayed(self, frame: Mapping[str, Any]) -> None:
        id = frame.get("id")
        replay = self._replay_commands.pop(id, None) if isinstance(id, int) else None
        # The answer to a subscription brings the name by which its frames are known.
        replay = replay or next((it for it in self._replays if it.name == frame.get("replay")), None)
        if replay is None:
            return
        outputs, command = replay.receive(frame)
        self._outputs += outputs
        self._send_replay(replay, command)
        if replay.phase in ("ended", "refused", "stopped") and replay in self._replays:
            self._replays.remove(replay)


def _refusal(frame: Mapping[str, Any]) -> RefusalInfo:
    # In the answer to a batch an entry has its code as `error`, and no message.
    code = str(frame.get("code") or frame.get("error") or "")
    addons = tuple(frame.get("addons") or ())
    message = str(frame.get("message") or _MESSAGES.get(code, code))
    return RefusalInfo(code, message, bool(frame.get("retry", code == "not_tracked")), addons)


_MESSAGES = {
    "not_tracked": "no such channel now",
    "not_entitled": "this channel needs an add-on that the account lacks",
    "bad_channel": "this is no channel name",
    "limit": "the socket has as many channels as it may have",
}
_HANDLERS: dict[str, Callable[[Session, Mapping[str, Any], float], None]] = {
    "hello": Session._on_hello,
    "subscribed": Session._on_subscribed,
    "image": Session._on_image,
    "update": Session._on_update,
    "resync": Session._on_resync,
    "beat": Session._on_beat,
    "stale": Session._on_stale,
    "unsubscribed": Session._on_unsubscribed,
    "entitlement": Session._on_entitlement,
    "error": Session._on_error,
    "pong": Session._on_pong,
    "lag": Session._on_lag,
    "bye": Session._on_bye,
    "hash": Session._on_hash,
}
