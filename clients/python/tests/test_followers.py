"""Several who follow one channel, loops that are left, and channels that end, without a network."""

import asyncio
import gc
import json

import pytest
from offline import Offline
from websockets.asyncio.server import serve

import matchwire
from matchwire import Client, LiveReplay, sync

MATCH, BOOK = "football/1", "football/1/odds/acme"


def run(test):
    """Runs a coroutine function with a client."""

    async def main():
        async with Offline() as client:
            await test(client)

    asyncio.run(asyncio.wait_for(main(), 60))


def rates(client):
    return [it["every_ms"] for it in client.commands("set")]


async def slow_down(client, changes, ch=MATCH):
    """Takes a change in a loop and works on it for so long that the rate falls. Returns the loop, which is not left yet."""
    loop = aiter(changes)
    client.update(ch, 2)
    await anext(loop)
    client.update(ch, 3)
    client.time += 3
    client.update(ch, 4)
    return loop


class TestBeginning:
    @pytest.mark.parametrize("lossless", [True, False])
    def test_changes_begin_after_the_document_that_follow_returns(self, lossless):
        async def test(client):
            task = asyncio.ensure_future(client.follow(MATCH, lossless=lossless))
            await asyncio.sleep(0)
            client.subscribed(epoch="e", seq=1, resumed=False)
            # One read of the socket can have all of these.
            client.image(MATCH, 1)
            client.update(MATCH, 2, {"score": 1}, [{"kind": "goal"}])
            match = await task
            assert (match.seq, match.data["score"]) == (2, 1)
            assert match.take() == []
            client.update(MATCH, 3, {"score": 2}, [{"kind": "goal"}])
            client.update(MATCH, 4)
            changes = match.take()
            assert [it.seq for it in changes] == ([3, 4] if lossless else [4])
            assert [len(it.events) for it in changes] == ([1, 0] if lossless else [1])

        run(test)


class TestRates:
    def test_the_fastest_decides_and_the_others_when_it_has_left(self):
        async def test(client):
            slow = await client.following(MATCH, every_ms=2000)
            fast = await client.follow(MATCH, every_ms=100)
            assert rates(client) == [100]
            assert slow.every_ms == 100
            middle = await client.follow(MATCH, every_ms=500)
            fast.close()
            assert rates(client) == [100, 500]
            middle.close()
            assert rates(client) == [100, 500, 2000]

        run(test)

    def test_who_joins_a_slow_one_gets_its_own_rate(self):
        async def test(client):
            match = await client.following(MATCH)
            loop = await slow_down(client, match)
            assert rates(client) == [5000]
            lossless = await client.follow(MATCH, lossless=True)
            assert rates(client) == [5000, 0]
            lossless.close()
            assert rates(client) == [5000, 0, 5000]
            del loop

        run(test)

    def test_rate_of_a_lossless_follower_is_the_one_that_it_asked_for(self):
        async def test(client):
            await client.following(MATCH, every_ms=1000, lossless=True)
            await client.follow(MATCH, every_ms=5000)
            assert rates(client) == []

        run(test)

    def test_rate_that_is_joined_while_the_first_subscribes_is_set_after_the_answer(self):
        async def test(client):
            tasks = [asyncio.ensure_future(client.follow(MATCH, every_ms=ms)) for ms in (1000, 250)]
            await asyncio.sleep(0)
            assert rates(client) == []
            client.subscribed(epoch="e", seq=1, resumed=False)
            assert rates(client) == [250]
            client.image(MATCH, 1)
            await asyncio.gather(*tasks)

        run(test)

    def test_lag_is_reported_to_whoever_asks(self):
        async def test(client):
            await client.following(MATCH)
            await client.follow(MATCH, lag=True)
            command = client.commands("subscribe")[-1]
            assert (command["lag"], command["from"]) == (True, {"epoch": "e", "seq": 1})

        run(test)


class TestLeavingALoop:
    def test_single_pulls_are_not_slow(self):
        async def test(client):
            match, updates = await client.following(MATCH), client.updates("football/*")
            client.subscribed(channels=1)
            client.update(MATCH, 2)
            await match.next_change(timeout=1)
            await updates.next_change(timeout=1)
            client.update(MATCH, 3)
            await anext(updates)
            for seq in range(4, 20):
                client.time += 1
                client.update(MATCH, seq)
            assert rates(client) == []

        run(test)

    @pytest.mark.parametrize("follow", [lambda client: client.updates("football/1"), lambda client: client.books(BOOK)])
    def test_loop_over_a_pattern_that_is_left_gives_the_rate_back(self, follow):
        async def test(client):
            updates = follow(client)
            ch = updates._subscription.ch
            client.subscribed(epoch="e", seq=1, resumed=False)
            client.image(ch, 1)
            client.update(ch, 2)
            async for _ in updates:
                client.update(ch, 3)
                client.time += 3
                client.update(ch, 4)
                break
            assert rates(client) == [5000]
            gc.collect()
            await asyncio.sleep(0)
            assert rates(client) == [5000, 0]
            for seq in range(5, 20):
                client.time += 1
                client.update(ch, seq)
            assert rates(client) == [5000, 0]

        run(test)

    def test_loop_of_a_thread_that_is_left_gives_the_rate_back(self, monkeypatch):
        monkeypatch.setattr(sync, "AsyncClient", Offline)
        with sync.Client("ws://hub.invalid") as hub:
            inner, do = hub._client, hub._do
            updates = hub.updates("football/*")
            do(inner.subscribed, channels=1)
            do(inner.image, MATCH, 1)

            def work():
                for _ in updates:
                    do(inner.update, MATCH, 2)
                    inner.time += 3
                    do(inner.update, MATCH, 3)
                    assert do(rates, inner) == [5000]
                    return

            work()
            gc.collect()
            assert do(rates, inner) == [5000, 0]


class TestParts:
    def test_board_is_whole_though_a_part_of_it_is_followed(self):
        async def test(client):
            board = await client.following("football", pick=["/matches/*/score"])
            task = asyncio.ensure_future(client.snap("football"))
            await asyncio.sleep(0)
            command = client.commands("subscribe")[-1]
            assert not command.keys() & {"pick", "events", "from"}, "an image of everything"
            client.update("football", 2, {"matches": {"1": {"score": 2}}})
            assert board.data["matches"] == {"1": {"score": 2}}, "nothing is lost until the answer"
            client.subscribed(epoch="e", seq=2, resumed=False)
            await asyncio.sleep(0)
            assert not task.done()
            client.image("football", 2, {"matches": {"1": {"score": 2, "status": "first_half"}}})
            assert await task == {1: {"score": 2, "status": "first_half"}}
            client.update("football", 3, {"matches": {"1": {"score": 3}}})
            assert board.data["matches"]["1"] == {"score": 3, "status": "first_half"}
            await client.cut()
            assert client.commands("subscribe")[-1].get("from") == {"epoch": "e", "seq": 3}

        run(test)

    def test_same_part_is_shared(self):
        async def test(client):
            await client.following(MATCH, pick=["/score"], events=["goal"])
            await client.follow(MATCH, pick=["/score"], events=["goal"])
            assert len(client.commands("subscribe")) == 1

        run(test)

    def test_image_of_the_part_is_not_taken_for_the_whole(self):
        """Both follow before the first answer."""

        async def test(client):
            part = asyncio.ensure_future(client.follow(MATCH, events=["goal"]))
            whole = asyncio.ensure_future(client.follow(MATCH))
            await asyncio.sleep(0)
            first, _ = client.commands("subscribe")
            answer = {"type": "subscribed", "ch": MATCH, "epoch": "e", "seq": 1, "resumed": False}
            client.say(answer | {"id": first["id"]})
            client.image(MATCH, 1, {"x": "part"})
            await asyncio.sleep(0)
            assert not whole.done()
            await client.cut()
            assert "from" not in client.commands("subscribe")[-1]
            client.subscribed(epoch="e", seq=1, resumed=False)
            client.image(MATCH, 1, {"x": "whole"})
            assert (await whole).data["x"] == "whole"
            assert whole.result().take() == [], "the document is no change of itself"
            await part

        run(test)

    def test_pattern_that_is_followed_in_another_part_starts_with_images_of_everything(self):
        async def test(client):
            client.updates("football/*", pick=["/score"])
            client.subscribed(channels=1)
            client.image(MATCH, 1, {"score": 1})
            updates = client.updates("football/*")
            assert not client.commands("subscribe")[-1].keys() & {"pick", "from"}
            client.subscribed(channels=1)
            client.image(MATCH, 1, {"score": 1, "clock": 2})
            _, change = await updates.next_change(timeout=1)
            assert (change.kind, change.data["clock"]) == ("image", 2)

        run(test)

    def test_name_below_a_pattern_with_a_pick_gets_its_own_image(self):
        async def test(client):
            client.updates("football/*", pick=["/score"])
            client.subscribed(channels=1)
            client.image(MATCH, 1, {"score": 1})
            task = asyncio.ensure_future(client.follow(MATCH))
            await asyncio.sleep(0)
            assert "from" not in client.commands("subscribe")[-1]
            client.image(MATCH, 1, {"score": 1})
            await asyncio.sleep(0)
            assert not task.done(), "that was the image of the pattern"
            client.subscribed(epoch="e", seq=1, resumed=False)
            client.image(MATCH, 1, {"score": 1, "clock": 2})
            assert (await task).data["clock"] == 2

        run(test)

    def test_pattern_has_its_own_options_again_when_a_follower_by_name_has_left(self):
        async def test(client):
            updates = client.updates("football/*", events=["goal"])
            client.subscribed(channels=1)
            client.image(MATCH, 1, {"score": 1, "clock": 2})
            match = await client.following(MATCH, pick=["/score"], every_ms=1000)
            match.close()
            restored, left = list(map(json.loads, client._outgoing))[-2:]
            id = restored.pop("id")
            assert restored == {"op": "set", "ch": MATCH, "pick": None, "events": ["goal"], "every_ms": 0}
            assert (left["op"], left["ch"]) == ("unsubscribe", MATCH)
            updates._reader.get_nowait()
            client.say({"type": "subscribed", "id": id, "ch": MATCH, "epoch": "e", "seq": 1, "resumed": False})
            client.image(MATCH, 1, {"score": 1, "clock": 3})
            channel, change = await updates.next_change(timeout=1)
            assert (change.data["clock"], channel.health) == (3, "live")
            await client.cut()
            assert client.commands("subscribe")[-1]["from"] == {MATCH: {"epoch": "e", "seq": 1}}

        run(test)

    @pytest.mark.parametrize("pattern", ["football/*", "tennis/*"])
    def test_follower_by_name_with_the_options_of_the_pattern_or_without_one_just_leaves(self, pattern):
        async def test(client):
            options = {} if pattern == "tennis/*" else {"pick": ["/score"], "events": ["goal"], "every_ms": 500}
            client.updates(pattern, **options)
            client.subscribed(channels=1)
            (await client.following(MATCH, pick=["/score"], events=["goal"], every_ms=500)).close()
            assert [it["ch"] for it in client.commands("unsubscribe")] == [MATCH]
            assert client.commands("set") == []

        run(test)

    def test_refused_name_changes_nothing_of_the_pattern_when_it_is_left(self):
        async def test(client):
            client.updates("football/*/odds/acme")
            client.subscribed(channels=1)
            book = await client.following(BOOK, pick=["/markets"])
            client.say({"type": "unsubscribed", "ch": BOOK, "why": "gone"})
            client.image(BOOK, 5, epoch="f")
            book.close()
            assert client.commands("set") == []

        run(test)


class TestEnds:
    def test_loop_over_a_book_goes_on_when_another_source_takes_over(self):
        async def test(client):
            book = await client.following(BOOK)
            healths = []

            async def read():
                async for change in book:
                    healths.append((change.health, change.epoch))

            reading = asyncio.ensure_future(read())
            await asyncio.sleep(0)
            client.say({"type": "unsubscribed", "ch": BOOK, "why": "gone"})
            await asyncio.sleep(0)
            client.time += 5
            client._tick()
            client.subscribed(epoch="f", seq=0, resumed=False, why="epoch")
            await asyncio.sleep(0)
            client.image(BOOK, 0, epoch="f")
            await asyncio.sleep(0)
            assert healths == [("refused", "e"), ("catching_up", "e"), ("live", "f")]
            assert book.health == "live"
            reading.cancel()

        run(test)

    @pytest.mark.parametrize(("code", "error"), [("not_entitled", matchwire.NotEntitled), ("limit", matchwire.LimitReached)])
    def test_loop_and_wait_end_if_what_was_gone_is_refused_for_good(self, code, error):
        async def test(client):
            book = await client.following(BOOK)

            async def read():
                async for _ in book:
                    pass

            reading = asyncio.ensure_future(read())
            await asyncio.sleep(0)
            client.say({"type": "unsubscribed", "ch": BOOK, "why": "gone"})
            await asyncio.sleep(0)
            waiting = asyncio.ensure_future(client.follow(BOOK, wait=True, timeout=None))
            await asyncio.sleep(0)
            assert (book.health, waiting.done()) == ("catching_up", False), "the document is from before"

            def refuse(code, retry):
                id = client.commands("subscribe")[-1]["id"]
                client.say({"type": "error", "id": id, "ch": BOOK, "code": code, "message": "m", "retry": retry})

            refuse("not_tracked", True)
            asked = len(client.commands("subscribe"))
            client.time += 10
            client._tick()
            assert len(client.commands("subscribe")) == asked + 1
            refuse(code, False)
            for _ in range(3):
                await asyncio.sleep(0)
            assert (reading.done(), waiting.done()) == (True, True)
            with pytest.raises(error):
                await reading
            with pytest.raises(error):
                await waiting

        run(test)

    def test_loop_over_a_match_ends_with_it(self):
        async def test(client):
            match = await client.following(MATCH)
            client.say({"type": "unsubscribed", "ch": MATCH, "why": "gone"})
            with pytest.raises(matchwire.NotTracked):
                async for _ in match:
                    pass

        run(test)


def test_events_without_room_for_one_reader_reach_the_others():
    async def test(client):
        full, other = await client.following(MATCH, lossless=True), await client.follow(MATCH, lossless=True)
        client.update(MATCH, 2, events=[{"kind": "card", "eid": str(number)} for number in range(1000)])
        other.take()
        client.update(MATCH, 3, events=[{"kind": "goal", "eid": "g"}])
        (change,) = other.take()
        assert ([it.eid for it in change.events], change.missed) == (["g"], None)
        assert full.take()[-1].missed.events == 1

    run(test)


def test_callback_for_frames_that_raises_costs_nothing(caplog):
    frames = []

    def on_frame(message):
        frames.append(message)
        raise ValueError("a broken callback")

    async def hub(socket):
        await socket.send(json.dumps({"type": "hello", "conn": "c", "server": "s", "now": 0, "beat_ms": 5000}))
        async for text in socket:
            command = json.loads(text)
            if command["op"] == "ping":
                await socket.send(json.dumps({"type": "pong", "id": command["id"], "now": 0}))

    async def test():
        async with serve(hub, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with Client(f"ws://127.0.0.1:{port}", on_frame=on_frame, open_timeout=10) as client:
                await client.ping()
                assert client.metrics().connections == 1
                assert client.metrics().callback_errors == len(frames) >= 2

    asyncio.run(asyncio.wait_for(test(), 60))
    assert "a broken callback" in caplog.text


class TestReplays:
    @pytest.fixture(autouse=True)
    def _small(self, monkeypatch):
        monkeypatch.setattr(LiveReplay, "HIGH", 10)
        monkeypatch.setattr(LiveReplay, "LOW", 5)

    @staticmethod
    def answer(client, id, at=1):
        span = {"first": 1, "last": 99}
        answer = {"chs": {MATCH: {"epoch": "e", "seq": 1}}, "replay": "r1", "span": span, "at": at, "speed": "max", "paused": False}
        client.say({"type": "subscribed", "id": id} | answer)

    @staticmethod
    def play(client, first, count):
        at = {"src": None, "in": first, "pub": first}
        client.say({"type": "image", "ch": MATCH, "epoch": "e", "seq": first, "at": at, "data": {}, "replay": "r1"})
        for seq in range(first + 1, first + count):
            at = {"src": None, "in": seq, "pub": seq}
            client.say({"type": "update", "ch": MATCH, "seq": seq, "prev": seq - 1, "at": at, "patch": {"x": seq}, "replay": "r1"})

    @pytest.mark.parametrize("has_ended", [False, True])
    def test_seek_of_a_replay_that_is_held_goes_on(self, has_ended):
        async def test(client):
            replay = client.replay(MATCH, speed="max")
            self.answer(client, client.commands("subscribe")[-1]["id"])
            self.play(client, 1, 12)
            assert client.commands("replay")[-1]["pause"] is True
            if has_ended:
                client.say({"type": "replay_end", "replay": "r1", "why": "end"})
            await anext(replay)
            replay.seek(3)
            if has_ended:
                self.answer(client, client.commands("subscribe")[-1]["id"], at=3)
            else:
                self.answer(client, client.commands("replay")[-1]["id"], at=3)
            assert client.commands("replay")[-1].get("pause") is not True
            assert [it["pause"] for it in client.commands("replay") if "pause" in it][-1] is False
            for first in (3, 30):
                self.play(client, first, 15)
                for _ in range(15):
                    await anext(replay)
                assert [it["pause"] for it in client.commands("replay") if "pause" in it][-1] is False

        run(test)
