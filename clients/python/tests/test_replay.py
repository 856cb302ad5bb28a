"""Recordings: files of frames, films of a hub, and the commands of the command line."""

import asyncio
import gzip
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from script import Script, event

import matchwire
from matchwire import Client, Goal
from matchwire.protocol import Player
from matchwire.replay import read_frames, replay, replay_async


def image(ch, seq, data, at, epoch="e"):
    return {"type": "image", "ch": ch, "epoch": epoch, "seq": seq, "at": {"src": None, "in": at, "pub": at}, "data": data}


def update(ch, seq, patch, at, events=(), prev=None):
    frame = {
        "type": "update",
        "ch": ch,
        "seq": seq,
        "prev": seq - 1 if prev is None else prev,
        "at": {"src": None, "in": at, "pub": at},
    }
    return frame | {"patch": patch} | ({"events": list(events)} if events else {})


FRAMES = [
    {"type": "hello", "conn": "c", "now": 0},
    image("football/1", 5, {"life": "live", "feed": "live", "score": {"home": 0, "away": 0}}, 1_000_000),
    image("football/1/odds/a", 2, {"life": "live", "feed": "live", "suspended": False, "markets": {}}, 1_000_000),
    update("football/1", 6, {"score": {"home": 1}}, 1_500_000, [event("g1", side="home")]),
    {"type": "beat", "now": 0, "heads": {}},
    update("football/1/odds/a", 3, {"suspended": True}, 1_500_000, [event("s1", "suspend", why="goal")]),
    # What a reconnect repeats.
    image("football/1", 5, {"life": "live", "feed": "live", "score": {"home": 0, "away": 0}}, 1_000_000),
    update("football/1", 6, {"score": {"home": 1}}, 1_500_000, [event("g1", side="home")]),
    update("football/1", 7, {"life": "ended"}, 2_000_000),
]


@pytest.fixture(params=["plain", "gzip"])
def file(request, tmp_path):
    text = "".join(json.dumps(it) + "\n" for it in FRAMES)
    path = tmp_path / "match.frames"
    if request.param == "gzip":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


class TestFiles:
    def test_yields_what_a_hub_would(self, file):
        pairs = [
            (view.name, change.kind, change.seq, [it.eid for it in change.events], dict(change.data))
            for view, change in replay(file)
        ]
        assert [it[:4] for it in pairs] == [
            ("football/1", "image", 5, []),
            ("football/1/odds/a", "image", 2, []),
            ("football/1", "update", 6, ["g1"]),
            ("football/1/odds/a", "update", 3, ["s1"]),
            ("football/1", "update", 7, []),
        ]
        assert pairs[-1][4]["score"] == {"home": 1, "away": 0}

    def test_views_work_at_the_recorded_time(self, tmp_path):
        path = tmp_path / "r"
        clock = {"at": 1_000_000, "s": 60, "running": True}
        book = {
            "m": {
                "kind": "match_winner",
                "status": "open",
                "selections": {"h": {"outcome": "home", "status": "active", "price": "2.10"}},
            }
        }
        frames = [
            image("football/1", 1, {"life": "live", "feed": "live", "clock": clock}, 1_000_000),
            image("football/1/odds/a", 1, {"life": "live", "feed": "live", "suspended": False, "markets": book}, 1_000_000),
            update("football/1", 2, {"x": 1}, 31_000_000),
        ]
        path.write_text("\n".join(map(json.dumps, frames)))
        pairs = list(replay(path))
        assert pairs[-1][0].clock_s() == 90
        assert pairs[-1][0].health == "replay"
        assert str(pairs[1][0].last_price("1x2", "HOME").price) == "2.10"

    def test_channels_can_be_chosen(self, file):
        assert {view.name for view, _ in replay(file, "football/*/odds/*")} == {"football/1/odds/a"}
        assert {view.name for view, _ in replay(file, ["football/1"])} == {"football/1"}

    def test_start_begins_with_the_document_as_it_is_then(self, file):
        view, change = next(iter(replay(file, start=1_500_000)))
        assert (view.name, change.kind, change.data["score"]["home"]) == ("football/1", "image", 1)

    def test_speed_is_that_of_the_recording(self, file):
        began = time.monotonic()
        assert len(list(replay(file, speed=5))) == 5
        assert 0.2 <= time.monotonic() - began < 10

    def test_for_a_loop(self, file):
        async def test():
            return [change.seq async for _, change in replay_async(file, "football/1")]

        assert asyncio.run(test()) == [5, 6, 7]

    def test_gap_is_reported(self):
        player = Player()
        player.play(image("football/1", 1, {}, 1))
        _, change = player.play(update("football/1", 9, {"x": 1}, 2, prev=8))
        assert (change.missed.from_seq, change.missed.to_seq, change.missed.why) == (1, 8, "gap")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"not json\n", "after line 1"), (b'{"type":"image"\n', "after line 1"), (b'{"x":1}\n', "line 1: not a frame"),
            (b"[]\n", "line 1: not a frame"), (b'{"type":"image","ch":"a/1"}\n', "malformed"), (b"\xff\xfe\x00\n", "after line 1"),
            (gzip.compress(json.dumps(FRAMES[1]).encode() + b"\n")[:-9], "after line"), (b"\x1f\x8b\x00\x00", "after line"),
        ],
    )  # fmt: skip
    def test_damaged_file_says_where(self, tmp_path, content, message):
        path = tmp_path / "bad"
        path.write_bytes(content)
        with pytest.raises(matchwire.RecordingError, match=message):
            list(replay(path))

    def test_bad_arguments(self, file):
        with pytest.raises(ValueError, match="speed"):
            next(replay(file, speed=0))
        with pytest.raises(ValueError, match="named"):
            next(replay("ws://127.0.0.1:1"))
        with pytest.raises(FileNotFoundError):
            next(replay("/nowhere"))


def started(**more):
    """A replay that plays from the start."""
    script = Script().hello(features=["replay"])
    replay = script.session.replay(["football/1"], now=script.now)
    script.perform()
    answer = {"type": "subscribed", "chs": {"football/1": {"epoch": "e", "seq": 5}}, "replay": "r1"}
    script.answer = answer | {"span": {"first": 1, "last": 9}, "at": 1, "speed": 1, "paused": False}
    script.say(script.answer | {"id": script.commands("subscribe")[-1]["id"]} | more)
    return script, replay


def recorded(frame, name="r1"):
    return frame | {"replay": name}


class TestSessions:
    """Replays on the socket, with a scripted hub."""

    def test_frames_of_a_replay_do_not_touch_the_live_channel(self):
        script, _ = started()
        script.follow("football/1")
        script.subscribed(epoch="e", seq=50, resumed=False).image("football/1", 50, {"x": "live"})
        script.say(
            recorded(image("football/1", 5, {"x": "old"}, 1)), recorded(update("football/1", 6, {"x": "new"}, 2, [event("g")]))
        )
        assert script.data()["x"] == "live"
        changes = [it.change for it in script.replayed if it.change]
        assert [it.data["x"] for it in changes] == ["old", "new"]
        assert isinstance(changes[1].events[0], Goal)

    def test_lost_connection_goes_on_where_it_was_and_repeats_nothing(self):
        script, replay = started()
        script.say(recorded(image("football/1", 5, {"x": 5}, 100)), recorded(update("football/1", 6, {"x": 6}, 200, [event("a")])))
        script.again(features=["replay"])
        command = script.commands("subscribe")[-1]
        assert command["replay"] == {"from": {"at": 199}, "speed": 1}
        script.say(script.answer | {"id": command["id"], "replay": "r9"})
        script.say(
            recorded(image("football/1", 5, {"x": 5}, 100), "r9"),
            recorded(update("football/1", 6, {"x": 6}, 200, [event("a")]), "r9"),
            recorded(update("football/1", 7, {"x": 7}, 200, [event("b")]), "r9"),
        )
        changes = [it.change for it in script.replayed if it.change]
        assert [it.seq for it in changes] == [5, 6, 7]
        assert [it.eid for change in changes for it in change.events] == ["a", "b"]
        assert replay.at == 200

    def test_seek_ignores_frames_of_the_old_position_and_goes_back(self):
        script, replay = started()
        script.say(recorded(image("football/1", 5, {"x": 5}, 100)), recorded(update("football/1", 6, {"x": 6}, 200)))
        script.session.change_replay(replay, script.now, seek={"at": 50})
        script.perform()
        script.say(recorded(update("football/1", 7, {"x": 7}, 300)))
        command = script.commands("replay")[-1]
        assert command["seek"] == {"at": 50}
        script.say(script.answer | {"id": command["id"], "at": 50}, recorded(image("football/1", 2, {"x": 2}, 50)))
        assert [it.change.seq for it in script.replayed if it.change] == [5, 6, 2]

    def test_refusal_ends_it(self):
        script = Script().hello(features=["replay"])
        replay = script.session.replay(["football/1"], now=script.now)
        script.perform()
        id = script.commands("subscribe")[-1]["id"]
        script.say({"type": "error", "id": id, "code": "not_tracked", "message": "no film", "retry": False})
        assert (replay.phase, replay.error.code) == ("refused", "not_tracked")

    def test_pause_for_a_slow_program_is_not_that_of_the_program(self):
        script, replay = started()
        script.session.hold_replay(replay, True)
        script.perform()
        script.session.change_replay(replay, script.now, pause=False)
        script.perform()
        assert [it["pause"] for it in script.commands("replay")] == [True, True], "still held"
        script.session.hold_replay(replay, False)
        script.perform()
        assert script.commands("replay")[-1]["pause"] is False

    def test_seek_that_was_not_answered_before_a_cut_is_repeated(self):
        script, replay = started()
        script.say(recorded(image("football/1", 5, {"x": 5}, 100)))
        script.session.change_replay(replay, script.now, seek={"at": 50})
        script.perform()
        script.again(features=["replay"])
        script.say(script.answer | {"id": script.commands("subscribe")[-1]["id"], "replay": "r9"})
        script.say(recorded(image("football/1", 5, {"x": 5}, 100), "r9"))
        (command,) = script.commands("replay")
        assert (command["replay"], command["seek"]) == ("r9", {"at": 50})
        script.say(script.answer | {"id": command["id"], "replay": "r9", "at": 50})
        script.say(recorded(image("football/1", 2, {"x": 2}, 50), "r9"))
        assert [it.change.seq for it in script.replayed if it.change] == [5, 2]
        script.again(features=["replay"])
        assert script.commands("subscribe")[-1]["replay"]["from"] == {"at": 49}
        script.say(script.answer | {"id": script.commands("subscribe")[-1]["id"]})
        assert script.commands("replay") == [], "it has been answered"

    def test_replay_that_plays_again_is_not_held(self):
        script, replay = started()
        script.session.hold_replay(replay, True)
        script.say({"type": "replay_end", "replay": "r1", "why": "end"})
        script.session.change_replay(replay, script.now, seek={"at": 1})
        script.perform()
        script.say(script.answer | {"id": script.commands("subscribe")[-1]["id"]})
        assert [it["pause"] for it in script.commands("replay")] == [True]
        assert replay.held is False

    def test_patterns_are_refused(self):
        with pytest.raises(ValueError, match="no patterns"):
            Script().session.replay(["football/*"], now=0)


@pytest.fixture(scope="module")
def film(hub):
    """A match that the hub has recorded."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = hub.get("/stream/v1/replays/?sport=tennis&limit=50")["replays"]
        found = [it for it in found if it["channels"][0]["last"] > 30 and it["span"]["last"] - it["span"]["first"] > 2_000_000]
        if found:
            return found[0]
        time.sleep(0.5)
    raise AssertionError("the hub has recorded nothing")


class TestHub:
    def test_film_is_played_to_its_end_without_a_gap(self, hub, film):
        channels = [it["ch"] for it in film["channels"][:3]]
        match = film["match"]
        seqs, eids = [], []
        for view, change in replay(hub.url, channels, speed="max", key=hub.key):
            assert change.missed is None
            if view.name == match:
                seqs.append(change.seq)
                eids += [it.eid for it in change.events]
        assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
        assert len(eids) == len(set(eids)) > 10

    def test_program_that_is_slow_holds_the_hub_and_misses_nothing(self, hub, film, monkeypatch):
        monkeypatch.setattr(matchwire.LiveReplay, "HIGH", 10)
        monkeypatch.setattr(matchwire.LiveReplay, "LOW", 5)

        async def test():
            async with Client(hub.url, key=hub.key) as client:
                seqs = []
                async with client.replay(film["match"], speed="max") as replay:
                    async for _, change in replay:
                        seqs.append(change.seq)
                        await asyncio.sleep(0.002)
                assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
                assert len(seqs) > 30

        asyncio.run(asyncio.wait_for(test(), 60))

    def test_controls(self, hub, film):
        async def test():
            async with Client(hub.url, key=hub.key) as client, client.replay(film["match"], speed=100) as replay:
                _, first = await replay.__anext__()
                assert first.kind == "image"
                replay.pause()
                await client.ping()
                replay.seek(replay.span[0])
                replay.set_speed("max")
                replay.resume()
                changes = [change async for _, change in replay]
                assert changes[-1].seq > 10
                assert replay.phase == "ended"
                replay.seek(replay.span[0])
                again = [change async for _, change in replay]
                assert [it.seq for it in again][: len(changes)] == [it.seq for it in changes][: len(again)]

        asyncio.run(asyncio.wait_for(test(), 60))

    def test_match_without_a_film(self, hub):
        with pytest.raises(matchwire.NotTracked):
            next(replay(hub.url, "football/1", key=hub.key))


def command(hub, *arguments, **options):
    env = os.environ | {"MATCHWIRE_URL": hub.url, "MATCHWIRE_KEY": hub.key, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "matchwire", *arguments], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


class TestCommands:
    def test_record_and_replay(self, hub, live_match, tmp_path):
        path = tmp_path / "recorded.frames"
        with path.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "matchwire", "record", live_match, f"{live_match}/odds/*"], stdout=output, stderr=subprocess.PIPE,
                env=os.environ | {"MATCHWIRE_URL": hub.url, "MATCHWIRE_KEY": hub.key},
            )  # fmt: skip
        deadline = time.monotonic() + 60
        while path.read_bytes().count(b"\n") < 40:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0, process.stderr.read()
        process.stderr.close()
        names = {view.name for view, _ in replay(path)}
        assert live_match in names
        assert len(names) > 1
        assert all(change.missed is None for _, change in replay(path))
        frames = list(read_frames(path))
        assert {it["type"] for it in frames} <= {"image", "update"}
        shown = subprocess.run(
            [sys.executable, "-m", "matchwire", "replay", path], capture_output=True, text=True, check=True
        ).stdout
        assert f"{live_match}  [replay]" in shown

    def test_watch(self, hub, live_match):
        process = command(hub, "watch", live_match, "football/*/odds")
        try:
            wanted = {f"{live_match}  [live]  ", f"{live_match}/odds  [live]  home "}
            for line in process.stdout:
                wanted = {it for it in wanted if not line.decode().startswith(it)}
                if not wanted:
                    break
        finally:
            process.terminate()
            process.communicate()
        assert process.returncode == 0
        assert wanted == set()

    @pytest.mark.parametrize("arguments", [("watch", "football/1"), ("record", "football/1")])
    def test_errors_are_one_line(self, hub, arguments):
        process = command(hub, *arguments)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 1
        assert errors.decode() == "matchwire: football/1: no such channel now\n"
