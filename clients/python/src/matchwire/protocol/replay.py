"""Recorded channels: those that the hub plays on a socket, and frames from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..events import parse_event
from .change import Change, Merged, Missed, RefusalInfo
from .channel import Channel, at_of, feed_health, integer
from .patch import merge_patch

__all__ = ["Player", "Replay", "ReplayOutput", "Speed"]

Speed = float | Literal["max"]
"""How many times as fast as recorded, from 0.1 to 100, or `max`: without pauses."""


class Player:
    """Applies recorded frames to documents, as the session does with live ones."""

    def __init__(self) -> None:
        self.channels: dict[str, Channel] = {}

    def forget(self) -> None:
        """Starts elsewhere: what is recorded there may be earlier than what the documents have."""
        for channel in self.channels.values():
            channel.data, channel.epoch, channel.seq, channel.delivered = None, None, -1, -1

    def play(self, frame: Mapping[str, Any]) -> tuple[Channel, Change] | None:
        """Applies a frame; returns None if it changes nothing."""
        name = frame.get("ch")
        if not isinstance(name, str):
            return None
        match frame.get("type"):
            case "image":
                return self._image(self.channels.setdefault(name, Channel(name)), frame)
            case "update":
                return self._update(self.channels.get(name), frame)
            case "resync":
                if channel := self.channels.get(name):
                    channel.image_due = str(frame.get("why") or "resync")
                return None
            case "unsubscribed" if frame.get("id") is None:
                channel = self.channels.get(name)
                if channel is None or channel.data is None:
                    return None
                channel.error = RefusalInfo("not_tracked", "it ended")
                return channel, self._change(channel, "health", channel.data)
            case _:
                return None

    def _image(self, channel: Channel, frame: Mapping[str, Any]) -> tuple[Channel, Change] | None:
        epoch, seq = frame["epoch"], integer(frame, "seq")
        if not isinstance(frame["data"], dict):
            raise TypeError("the document is no object")
        same, previous, missed = channel.epoch == epoch, channel.data, None
        if same and previous is not None and seq <= channel.seq:
            # Played before a cut, or recorded after a reconnect.
            channel.image_due = None
            return None
        if previous is not None:
            missed = Missed(channel.seq, seq, channel.image_due or ("image" if same else "epoch"))
        channel.data, channel.epoch, channel.seq = frame["data"], epoch, seq
        channel.delivered, channel.image_due, channel.error = seq, None, None
        channel.at = at_of(frame.get("at"))
        return channel, self._change(channel, "image", previous, missed=missed)

    def _update(self, channel: Channel | None, frame: Mapping[str, Any]) -> tuple[Channel, Change] | None:
        if channel is None or channel.data is None or channel.image_due or integer(frame, "seq") <= channel.seq:
            return None
        seq, n, previous = frame["seq"], frame.get("n", 1), channel.data
        missed = None
        if integer(frame, "prev") > channel.seq:
            # Values are absolute, so it is better to go on than to stop.
            missed = Missed(channel.seq, frame["prev"], "gap")
        patch = frame.get("patch")
        if patch is not None and not isinstance(patch, dict):
            raise TypeError("the patch is no object")
        events = [parse_event(it) for it in frame.get("events") or ()]
        if patch is not None:
            channel.data = merge_patch(previous, patch)
        channel.seq = channel.delivered = seq
        channel.at = at_of(frame.get("at"))
        merged = Merged(n, frame.get("why", "")) if n > 1 else None
        return channel, self._change(
            channel, "update", previous, events=events, merged=merged, missed=missed, frame_patch=patch or {}
        )

    @staticmethod
    def _change(channel: Channel, kind: Literal["image", "update", "health"], previous: Any, **more: Any) -> Change:
        before = channel.health
        if channel.error is not None:
            channel.health = "refused"
        else:
            health = feed_health(channel.data or {})
            ended = (channel.data or {}).get("life") == "ended"
            channel.health = "replay" if ended or health == "live" else health
        return Change(
            channel.name, kind, channel.data, previous, channel.health, before, channel.epoch, channel.seq, channel.at,
            error=channel.error, **more,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReplayOutput:
    """A change of a replayed channel, or, without one, of the replay itself."""

    replay: Replay
    channel: Channel | None = None
    change: Change | None = None


class Replay:
    """A recording that the hub plays, or that has ended. After a lost connection it goes on where it was: no change
    comes twice, and none is left out."""

    def __init__(self, chs: list[str], start: Any, speed: Speed) -> None:
        if not chs or any("*" in ch for ch in chs):
            raise ValueError("a replay has at least one channel, and no patterns")
        self.chs = chs
        self.start = start
        self.speed: Speed = speed
        self.paused = False
        self.phase: Literal["lost", "starting", "playing", "ended", "refused", "stopped"] = "lost"
        self.name: str | None = None
        """Its name on this connection."""
        self.span: tuple[int, int] | None = None
        """The recorded times of the first and the last frame, in microseconds."""
        self.at: int | None = None
        """The recorded time of the last frame, in microseconds."""
        self.why: str | None = None
        """Why it has ended: `end`, `unsubscribed` or `limit`."""
        self.error: RefusalInfo | None = None
        self.player = Player()
        self.held = False
        """Whether it is paused because this program does not keep up."""
        # The command that moves it: until its answer, frames belong to the old position.
        self._moving: int | None = None
        # Where that command seeks; None if it starts the replay.
        self._target: Any = None
        self._waiting: dict[str, Any] = {}

    def begin(self) -> dict[str, Any]:
        # Frames of the same microsecond may be on their way; those that are known are skipped.
        start = {"at": self.at - 1} if self.at is not None else self.start
        self.phase = "starting"
        self.name = None
        return {"op": "subscribe", "chs": self.chs, "replay": {"from": start, "speed": self.speed}}

    def rewind(self, start: Any) -> None:
        """Makes a replay that has ended ready to play again from `start`."""
        self.phase, self.why, self.at, self.start, self.held = "lost", None, None, start, False
        self.player.forget()

    def sent(self, id: int, command: Mapping[str, Any]) -> None:
        if command["op"] == "subscribe" or "seek" in command:
            self._moving, self._target = id, command.get("seek")

    def change(self, change: dict[str, Any]) -> dict[str, Any] | None:
        self.paused = change.get("pause", self.paused)
        self.speed = change.get("speed", self.speed)
        if "pause" in change:
            change["pause"] = self.paused or self.held
        if self.phase == "playing":
            return {"op": "replay", "replay": self.name, **change}
        self._waiting.update(change)
        return None

    def hold(self, held: bool) -> dict[str, Any] | None:
        """Pauses the hub while this program does not keep up. What is on its way still arrives."""
        if held == self.held:
            return None
        self.held = held
        return self.change({"pause": self.paused})

    def stop(self) -> dict[str, Any] | None:
        was, self.phase = self.phase, "stopped"
        return {"op": "unsubscribe", "replay": self.name} if was == "playing" else None

    def lost(self) -> None:
        if self.phase in ("starting", "playing"):
            if self._moving is not None and self._target is not None:
                self._waiting["seek"] = self._target
            self.phase, self.name, self._moving = "lost", None, None

    def receive(self, frame: Mapping[str, Any]) -> tuple[list[ReplayOutput], dict[str, Any] | None]:
        match frame.get("type"):
            case "subscribed":
                return self._subscribed(frame)
            case "error":
                return self._refused(frame), None
            case "replay_end":
                self.name = None
                if self.phase != "stopped":
                    self.phase, self.why = "ended", str(frame.get("why"))
                return [ReplayOutput(self)], None
            case _ if self._moving is None and self.phase == "playing":
                played = self.player.play(frame)
                if played is None:
                    return [], None
                if played[1].at is not None and played[1].at.published is not None:
                    self.at = played[1].at.published
                    if self.span and self.at > self.span[1]:
                        self.span = (self.span[0], self.at)
                return [ReplayOutput(self, *played)], None
            case _:
                return [], None

    def _subscribed(self, frame: Mapping[str, Any]) -> tuple[list[ReplayOutput], dict[str, Any] | None]:
        if self.phase == "stopped":
            # Stopped while it was starting.
            return [], {"op": "unsubscribe", "replay": frame["replay"]}
        moved = self._moving is not None and frame.get("id") == self._moving
        if self._moving is not None and not moved:
            return [], None
        self.name = frame["replay"]
        self.span = (frame["span"]["first"], frame["span"]["last"])
        outputs = [ReplayOutput(self)]
        if moved:
            if self._target is not None:
                self.player.forget()
                self.at = frame["at"]
            self._moving = None
            for name, answer in (frame.get("chs") or {}).items():
                channel = self.player.channels.setdefault(name, Channel(name))
                if "error" in answer and channel.error is None:
                    channel.error = RefusalInfo(str(answer["error"]), "there is no recording of it")
                    outputs.append(ReplayOutput(self, channel, Player._change(channel, "health", None)))
        self.phase = "playing"
        waiting, self._waiting = self._waiting, {}
        if (self.paused or self.held) and not frame.get("paused") and "pause" not in waiting:
            waiting["pause"] = True
        return outputs, self.change(waiting) if waiting else None

    def _refused(self, frame: Mapping[str, Any]) -> list[ReplayOutput]:
        if self.phase == "starting":
            code = str(frame.get("code", ""))
            self.error = RefusalInfo(code, str(frame.get("message") or code), addons=tuple(frame.get("addons") or ()))
            self.phase = "refused"
            return [ReplayOutput(self)]
        if frame.get("id") == self._moving:
            # A seek that is refused changes nothing.
            self._moving = None
        return []
