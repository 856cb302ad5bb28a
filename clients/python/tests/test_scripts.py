"""The corpus of frame scripts (tools/conformance/README.md), against the session without a socket, with a clock moved by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from script import Script

from matchwire.protocol.proof import digest

SCRIPTS = sorted((Path(__file__).resolve().parents[3] / "tools" / "conformance" / "scripts").glob("*.jsonl"))
# How long the client may take to connect, to ask, or to give up a silent connection.
PATIENCE_S = 60.0


class Play:
    """One script. What the hub does goes in, what the script expects is compared."""

    def __init__(self, path: Path) -> None:
        self.head, *self.steps = map(json.loads, path.read_text().splitlines())
        # Half of the ceiling, and never none: a client that returns in no time would not show that it waits.
        self.client = Script(rand=lambda: 0.5)
        for ch in self.head["follow"]:
            self.client.follow(ch)
        self.opened = 0
        self.ended_at = 0.0
        # Commands of this connection that are handled, and what the hub answers if they come.
        self.handled = 0
        self.muted = False
        self.hello: dict[str, Any] = {}
        self.seen = 0

    def run(self) -> None:
        for number, step in enumerate(self.steps, 2):
            options = {name: value for name, value in step.items() if name == "after_ms"}
            ((kind, value),) = [it for it in step.items() if it[0] not in ("after_ms", "beyond")]
            try:
                getattr(self, f"do_{kind}")(value, **options)
            except AssertionError as error:
                raise AssertionError(f"line {number}, {kind}: {error}") from error

    def passes_until(self, holds: Any) -> bool:
        """Moves the clock from deadline to deadline."""
        until = self.client.now + PATIENCE_S
        while not holds():
            deadline = self.client.session.deadline()
            if deadline is None or deadline > until:
                return False
            self.client.passes(max(0.0, deadline - self.client.now))
            self.pong()
        return True

    def pong(self) -> None:
        if self.muted or not self.client.session.is_open:
            return
        for ping in [it for it in self.client.connections[-1] if it["op"] == "ping" and not it.get("answered")]:
            ping["answered"] = True
            self.client.say({"type": "pong", "id": ping["id"], "now": int(self.client.now * 1e6)})

    def do_open(self, hello: dict[str, Any], after_ms: int | None = None) -> None:
        if self.opened:
            assert self.passes_until(lambda: len(self.client.connections) > self.opened), "the client does not come back"
        if after_ms is not None:
            assert self.client.now >= self.ended_at + after_ms / 1000, "the client comes back too early"
        self.opened = len(self.client.connections)
        self.handled, self.muted, self.hello = 0, False, hello
        self.client.say(hello)
        self.pong()

    def do_subscribe(self, wanted: dict[str, Any]) -> None:
        left = dict(wanted)
        assert self.passes_until(lambda: self.answer(left)), f"the client does not ask for {sorted(left)}"

    def answer(self, left: dict[str, Any]) -> bool:
        commands = self.client.connections[-1]
        while self.handled < len(commands) and left:
            command = commands[self.handled]
            self.handled += 1
            if command["op"] not in ("subscribe", "unsubscribe"):
                continue
            entries = [it if isinstance(it, dict) else {"ch": it} for it in command.get("chs", [command])]
            limits, size = self.hello["limits"], len(json.dumps(command, separators=(",", ":")).encode())
            many = "chs" in command or any("*" in it["ch"] for it in entries)
            assert size <= limits["from_bytes" if many else "command_bytes"], f"a command of {size} bytes"
            assert "chs" not in command or "batch" in self.hello["features"], "`chs` without the feature `batch`"
            if command["op"] == "unsubscribe":
                self.client.say({"type": "unsubscribed", "id": command["id"], "ch": command["ch"]})
                continue
            answers = {}
            for entry in entries:
                ch = entry["ch"]
                assert ch in left, f"nobody expects a subscription to {ch}"
                want = left.pop(ch)
                assert (entry.get("from") or None) == want["from"], f"{ch} from {entry.get('from')}"
                answers[ch] = want["answer"]
            self.client.say(answered(command, answers))
        return not left

    def do_send(self, frame: dict[str, Any]) -> None:
        self.client.say(frame)

    def do_close(self, value: dict[str, Any]) -> None:
        self.ended_at = self.client.now
        self.client.hang_up(value["code"], value["reason"])

    def do_cut(self, _: bool) -> None:
        self.ended_at = self.client.now
        self.client.hang_up(1006)

    def do_mute(self, _: bool) -> None:
        self.muted = True

    def do_wait_ms(self, ms: int) -> None:
        self.client.passes(ms / 1000)
        self.pong()

    def do_expect(self, expected: dict[str, Any]) -> None:
        ch = expected["ch"]
        channel = self.client.session.channels.get(ch)
        events = [event.eid for name, change in self.client.seen for event in change.events if name == ch]
        assert events == expected["events"], f"events of {ch}"
        self.client.seen = [it for it in self.client.seen if it[0] != ch]
        if expected.get("gone"):
            assert channel is None or self.client.health(ch) == "refused", f"{ch} is still there"
            return
        assert channel is not None, f"{ch} is not there"
        assert (channel.epoch, channel.seq) == (expected["epoch"], expected["seq"])
        assert digest(channel.data) == expected["sha256"], json.dumps(channel.data)
        assert self.client.health(ch) == expected["health"]


def answered(command: dict[str, Any], answers: dict[str, Any]) -> dict[str, Any]:
    """The hub's answer to a `subscribe`."""
    options = {"every_ms": command.get("every_ms", 0), "on_slow": "merge"}
    if "chs" in command:
        return {"type": "subscribed", "id": command["id"], "chs": answers} | options
    ((ch, answer),) = answers.items()
    if "error" in answer:
        retry = answer["error"] == "not_tracked"
        error = {"type": "error", "id": command["id"], "ch": ch, "code": answer["error"], "message": "refused", "retry": retry}
        return error | ({"addons": answer["addons"]} if "addons" in answer else {})
    return {"type": "subscribed", "id": command["id"], "ch": ch} | options | answer


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) > 30


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script(path: Path) -> None:
    Play(path).run()


def test_a_wrong_hash_is_found() -> None:
    """The runner compares: what is changed in a script makes it fail."""
    play = Play(next(path for path in SCRIPTS if path.stem == "patches"))
    next(step for step in play.steps if "expect" in step)["expect"]["sha256"] = "0" * 64
    with pytest.raises(AssertionError, match="line 5, expect"):
        play.run()
